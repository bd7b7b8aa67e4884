//! Computes figures from recorded steps. A pure function of the record.

use trimbench_core::Caveat;
use trimbench_core::rng::Rng;
use trimbench_results::statistics::{Bootstrap, bootstrap_mean, mean, paired_ratio};
use trimbench_results::{Figure, Interval, Step};

use super::formulas::METRICS;
use super::session::REPETITION;
use super::variants::{UNMOUNT, Variant, buffering};
use trimbench_engine::method::Findings;

/// Repetitions that make an interval.
const FEW: usize = 3;

/// Metrics of a step, in the order of [`METRICS`].
pub(super) const KEYS: [&str; 13] = [
    "total_s",
    super::session::TRANSACTIONS,
    "transactions_per_s",
    "created_per_s",
    "creation_alone_per_s",
    "creation_mixed_per_s",
    "read_per_s",
    "append_per_s",
    "deleted_per_s",
    "deletion_alone_per_s",
    "deletion_mixed_per_s",
    "read_bytes_per_s",
    "written_bytes_per_s",
];
/// Ids of their figures.
const IDS: [&str; 13] = [
    "total-duration",
    "duration-of-transactions",
    "transactions",
    "files-created",
    "creation-alone",
    "creation-mixed",
    "read",
    "append",
    "deleted",
    "deletion-alone",
    "deletion-mixed",
    "read-bytes",
    "write-bytes",
];
/// Figures that PostMark has not: id, title, metric, unit.
const BESIDE: [(&str, &str, &str, &str); 4] = [
    ("deletion-per-gb", "deletion phase, per GB deleted", "deletion_s_per_gb", "s/GB"),
    ("sync", "sync after the end", "sync_s", "s"),
    ("drain", "discards after the sync", "drain_s", "s"),
    ("unmount", "unmount", UNMOUNT, "s"),
];

/// Computes all figures: of one filesystem as it is, or of each arm and what `discard` changes.
pub fn analyse(steps: &[Step], rng: &mut Rng) -> Findings {
    let of_variant = |variant: &Variant| -> Vec<&Step> {
        steps.iter().filter(|step| step.kind == variant.id()).collect()
    };
    let variants: Vec<(Variant, Vec<&Step>)> =
        Variant::ALL.map(|variant| (variant, of_variant(&variant))).into();
    let mut figures = Vec::new();
    for buffered in [true, false] {
        let steps = |discard| {
            let found =
                variants.iter().find(|(variant, _)| *variant == Variant { discard, buffered });
            found.map_or(&[][..], |(_, steps)| &steps[..])
        };
        figures.extend(differences(steps(false), steps(true), buffered));
    }
    for (variant, steps) in &variants {
        figures.extend(means(steps, Some(*variant), rng));
    }
    let plain: Vec<&Step> = steps.iter().filter(|step| step.kind == REPETITION).collect();
    figures.extend(means(&plain, None, rng));
    if let Some(first) = figures.first_mut() {
        first.headline = true;
    }
    Findings { figures, caveats: Vec::new() }
}

/// All rows: id, title, metric, unit.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str, &'static str)> {
    let of_postmark = IDS.iter().zip(METRICS).zip(KEYS);
    of_postmark.map(|((id, (title, unit)), key)| (*id, title, key, unit)).chain(BESIDE)
}

/// The means over repetitions of one arm; of a directory without.
fn means(steps: &[&Step], variant: Option<Variant>, rng: &mut Rng) -> Vec<Figure> {
    let suffix = variant.map_or_else(String::new, |variant| format!("-{}", variant.id()));
    let of =
        variant.map_or_else(String::new, |variant| format!(", {}", variant.id().replace('-', " ")));
    let mut figures = Vec::new();
    for (id, title, key, unit) in rows() {
        let values: Vec<f64> =
            steps.iter().filter_map(|step| step.metrics.get(key).copied()).collect();
        let Some(mut figure) = mean(&values).and_then(|mean| {
            Figure::new(&format!("{id}{suffix}"), &format!("{title}{of}"), mean, unit)
        }) else {
            continue;
        };
        figure.n = values.len() as u64;
        if values.len() < FEW {
            figure.caveat(Caveat::TooFewPoints);
        } else {
            figure.interval = bootstrap_mean(&values, rng, Bootstrap::default());
        }
        inherit(&mut figure, steps);
        figures.push(figure);
    }
    figures
}

/// What mounting with `discard` changes, in percent of what it is without, as \[S0\] has it: from
/// the means. Intervals and verdicts come from the repetitions, pair by pair.
fn differences(without: &[&Step], with: &[&Step], buffered: bool) -> Vec<Figure> {
    let suffix = buffering(buffered);
    let mut figures = Vec::new();
    for (id, title, key, _) in rows() {
        let pairs: Vec<(f64, f64)> = pairs(without, with, key);
        let (before, after): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (Some(before), Some(after)) = (mean(&before), mean(&after)) else { continue };
        if before <= 0.0 {
            continue;
        }
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let (id, title) = (format!("{id}-diff-{suffix}"), format!("{title}, DIFF {suffix}"));
        let Some(mut figure) = Figure::new(&id, &title, percent(after / before), "%") else {
            continue;
        };
        figure.n = pairs.len() as u64;
        match paired_ratio(&pairs) {
            None => figure.caveat(Caveat::TooFewPoints),
            Some(Interval { low, high, level }) => {
                figure.interval = Interval::new(percent(low), percent(high), level);
                let noise = low <= 1.0 && high >= 1.0;
                figure.verdict = Some(if noise { "noise" } else { "differs" }.to_owned());
            }
        }
        inherit(&mut figure, without);
        inherit(&mut figure, with);
        figures.push(figure);
    }
    figures
}

/// The metric without and with `discard`, of each repetition that has both.
fn pairs(without: &[&Step], with: &[&Step], key: &str) -> Vec<(f64, f64)> {
    let of = |step: &Step| Some((*step.parameters.get("repetition")?, *step.metrics.get(key)?));
    let partner = |repetition: f64| {
        let mut after = with.iter().filter_map(|step| of(step));
        after.find(|(other, _)| other.total_cmp(&repetition).is_eq()).map(|(_, after)| after)
    };
    let before = without.iter().filter_map(|step| of(step));
    before.filter_map(|(repetition, before)| Some((before, partner(repetition)?))).collect()
}

/// What limits a step limits what is computed from it.
fn inherit(figure: &mut Figure, steps: &[&Step]) {
    for id in steps.iter().flat_map(|step| &step.caveats) {
        if let Some(caveat) = Caveat::from_id(id) {
            figure.caveat(caveat);
        }
    }
}

/// The ids of all figures that the method may find, with their units.
pub fn announced_figures() -> Vec<(String, &'static str)> {
    let mut announced: Vec<(String, &'static str)> = Vec::new();
    for (id, _, _, unit) in rows() {
        announced.push((id.to_owned(), unit));
        announced.extend(Variant::ALL.map(|variant| (format!("{id}-{}", variant.id()), unit)));
        announced.extend([true, false].map(|it| (format!("{id}-diff-{}", buffering(it)), "%")));
    }
    announced
}
