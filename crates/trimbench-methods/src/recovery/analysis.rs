//! Computes figures from recorded passes. A pure function of the record.
//!
//! A pass is represented by its mean throughput: bytes over the time from its first command to the
//! end of its last. Ratios compare two passes. If the drive could be purged by TRIM only, fresh
//! means trimmed, and the ratio of the two is left out.

use trimbench_core::{Caveat, PurgeMeans};
use trimbench_results::{Figure, Step};

use super::options::Recovery;
use trimbench_engine::method::Findings;

/// From this share of fresh on, a drive counts as back to new.
const AS_NEW: f64 = 0.98;
/// From this write amplification on the drive worked on what was fragmented.
const WORKED: f64 = 1.1;
/// A gain of this share of fresh counts as one.
const GAIN: f64 = 0.02;

/// The passes, with what they are called in titles.
const PASSES: [(&str, &str); 4] = [
    ("fresh", "fresh"),
    ("fragmented", "fragmented"),
    ("self-healed", "after a second pass"),
    ("trimmed", "fragmented, then trimmed"),
];

/// The passes of a session, MB/s.
struct Passes<'a> {
    steps: &'a [Step],
}

impl<'a> Passes<'a> {
    fn step(&self, id: &str) -> Option<&'a Step> {
        self.steps.iter().find(|step| step.kind == "pass" && step.id == id)
    }

    fn metric(&self, id: &str, key: &str) -> Option<f64> {
        self.step(id)?.metrics.get(key).copied()
    }

    fn rate(&self, id: &str) -> Option<f64> {
        self.metric(id, "throughput_mb_per_s").filter(|rate| *rate > 0.0)
    }

    fn ratio(&self, id: &str, of: &str) -> Option<f64> {
        Some(self.rate(id)? / self.rate(of)?)
    }

    /// Whether the drive was purged by nothing better than TRIM.
    fn purged_by_trim(&self) -> bool {
        let suffix = format!("-by-{}", PurgeMeans::Trim.id());
        self.steps.iter().any(|step| step.kind == "purge" && step.id.ends_with(&suffix))
    }
}

/// Computes all figures.
pub fn analyse(steps: &[Step]) -> Findings {
    let passes = Passes { steps };
    let by_trim = passes.purged_by_trim();
    let mut figures = ratios(&passes, by_trim);
    figures.extend(rates(&passes, by_trim));
    figures.extend(comparison(&passes));
    if let Some(headline) = figures.iter_mut().find(|figure| figure.headline) {
        for id in steps.iter().flat_map(|step| &step.caveats) {
            if let Some(caveat) = Caveat::from_id(id) {
                headline.caveat(caveat);
            }
        }
    }
    let caveats = if unsteady(steps) { vec![Caveat::NoSteadyState] } else { Vec::new() };
    Findings { figures, caveats }
}

/// The ids of all figures that the method may find, with their units.
pub fn announced_figures(method: &Recovery) -> Vec<(String, &'static str)> {
    let mut figures: Vec<(String, &str)> =
        ["trimmed-of-fresh", "fragmented-of-fresh", "self-healed-of-fresh"]
            .map(|id| (id.to_owned(), ""))
            .to_vec();
    for (id, _) in PASSES {
        figures.push((id.to_owned(), "MB/s"));
        figures.push((format!("write-amplification-{id}"), ""));
    }
    if method.compare_data.is_some() {
        figures.push(("fresh-compared".to_owned(), "MB/s"));
        figures.push(("fragmented-compared".to_owned(), "MB/s"));
        figures.push(("fragmented-of-fresh-compared".to_owned(), ""));
        figures.push(("flattered-by".to_owned(), ""));
    }
    figures
}

/// The passes against the fresh one, the headline first.
fn ratios(passes: &Passes<'_>, by_trim: bool) -> Vec<Figure> {
    let of_fresh = |id: &str| passes.ratio(id, "fresh");
    let fragmented = of_fresh("fragmented");
    let figure = |id: &str, what: &str, value: Option<f64>, verdict: Option<&str>| {
        let (id, title) = (format!("{id}-of-fresh"), format!("{what}, as a share of fresh"));
        let figure = Figure::new(&id, &title, value?, "")?;
        Some(Figure { verdict: verdict.map(str::to_owned), ..figure })
    };
    let trimmed = of_fresh("trimmed").filter(|_| !by_trim);
    let verdict = trimmed.zip(fragmented).map(|(ratio, before)| recovered(ratio, before));
    let headline = figure("trimmed", "after TRIM", trimmed, verdict)
        .map(|figure| Figure { headline: true, ..figure });
    let healed = of_fresh("self-healed");
    let verdict = healed.zip(fragmented).map(|(ratio, before)| match ratio {
        ratio if ratio > 1.0 / AS_NEW => "faster than fresh, which is no reference here",
        _ if before >= AS_NEW => "nothing to heal",
        ratio if ratio >= AS_NEW => "healed",
        ratio if ratio >= before + GAIN => "partly healed",
        _ => "not healed",
    });
    let healed = figure("self-healed", "after a second pass", healed, verdict);
    let worked = passes.metric("fragmented", "write_amplification_ratio");
    let hidden = fragmented.is_some_and(|ratio| ratio >= AS_NEW)
        && worked.is_some_and(|amplification| amplification > WORKED);
    let verdict = fragmented.map(|ratio| match ratio {
        ratio if ratio > 1.0 / AS_NEW => "faster than fresh, which is no reference here",
        _ if hidden => "no trace in the speed: something else than the flash limits it",
        ratio if ratio >= AS_NEW => "random writes leave no trace",
        _ => "slower than fresh",
    });
    let fragmented = figure("fragmented", "fragmented", fragmented, verdict);
    [headline, fragmented, healed].into_iter().flatten().collect()
}

/// What TRIM gave back, from `before` to `after` as shares of fresh.
fn recovered(after: f64, before: f64) -> &'static str {
    match after {
        _ if before >= AS_NEW && after >= AS_NEW => "nothing to recover from",
        after if after >= AS_NEW => "back to new",
        after if after >= before + GAIN => "partly recovered",
        _ => "not recovered",
    }
}

/// Throughput and write amplification of each pass. Where the ratio cannot be measured, the pass
/// after TRIM is the headline and says so.
fn rates(passes: &Passes<'_>, by_trim: bool) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (id, what) in PASSES {
        let title = format!("sequential writes, {what}");
        let figure = passes.rate(id).and_then(|rate| Figure::new(id, &title, rate, "MB/s"));
        let Some(mut figure) = figure else { continue };
        if by_trim && id == "trimmed" {
            figure.headline = true;
            figure.verdict = Some("not measurable against fresh: purged by TRIM".to_owned());
        }
        if by_trim && (id == "trimmed" || id == "fresh") {
            figure.caveat(Caveat::PurgedByTrim);
        }
        figures.push(figure);
    }
    for (id, what) in PASSES {
        let (key, title) = (
            format!("write-amplification-{id}"),
            format!("write amplification of sequential writes, {what}"),
        );
        let value = passes.metric(id, "write_amplification_ratio");
        figures.extend(value.and_then(|value| Figure::new(&key, &title, value, "")));
    }
    figures
}

/// What the same drive looks like with other data.
fn comparison(passes: &Passes<'_>) -> Vec<Figure> {
    let flattered = passes.ratio("fragmented-compared", "fragmented");
    let table = [
        ("fresh-compared", "fresh, other data", passes.rate("fresh-compared"), "MB/s"),
        (
            "fragmented-compared",
            "fragmented, other data",
            passes.rate("fragmented-compared"),
            "MB/s",
        ),
        (
            "fragmented-of-fresh-compared",
            "fragmented, other data, as a share of fresh with it",
            passes.ratio("fragmented-compared", "fresh-compared"),
            "",
        ),
        ("flattered-by", "fragmented, with other data over without", flattered, ""),
    ];
    let mut figures = Vec::new();
    for (id, title, value, unit) in table {
        let Some(mut figure) = value.and_then(|value| Figure::new(id, title, value, unit)) else {
            continue;
        };
        figure.caveat(Caveat::CompressibleData);
        if id == "flattered-by" {
            let flatters = figure.value >= 1.0 + GAIN;
            let verdict = if flatters {
                "compressible data make the drive look better than it is"
            } else {
                "the data make no difference"
            };
            figure.verdict = Some(verdict.to_owned());
        }
        figures.push(figure);
    }
    figures
}

/// Whether a torture in rounds ended before it was steady.
fn unsteady(steps: &[Step]) -> bool {
    let in_rounds = |step: &&Step| step.kind == "torture" && step.parameters.contains_key("round");
    let last = steps.iter().rfind(in_rounds);
    last.is_some_and(|step| step.metrics.get("window_steady").is_none_or(|steady| *steady < 0.5))
}
