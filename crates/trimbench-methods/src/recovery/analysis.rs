//! Computes figures from recorded passes. A pure function of the record.
//!
//! A pass is represented by its mean throughput: bytes over the time from its first command to the
//! end of its last. Ratios compare two passes. If the drive could be purged by TRIM only, fresh
//! means trimmed, and the ratio of the two is left out.

use trimbench_core::{Caveat, PurgeMeans};
use trimbench_results::{Figure, Step, Verdict};

use super::files::TRIM;
use super::metrics::{
    COPIED, COPIED_OVER_FRAGMENTED, COPY_TIME, FLATTERED, FRAGMENTED, FRESH, FSTRIM_TIME, HEALED,
    PASSES, PassName, TRIMMED, amplification, compared, of_fresh, of_fresh_compared, rate,
};
use super::steps::{RecoveryFitrimStep, RecoveryPassStep};
use trimbench_engine::{Findings, SteadyStep};

/// From this share of fresh on, a drive counts as back to new.
const AS_NEW: f64 = 0.98;
/// From this write amplification on the drive worked on what was fragmented.
const WORKED: f64 = 1.1;
/// A gain of this share of fresh counts as one.
const GAIN: f64 = 0.02;

/// The passes of a session, MB/s.
struct Passes<'a> {
    steps: &'a [Step],
}

impl Passes<'_> {
    fn pass(&self, id: &str) -> Option<RecoveryPassStep> {
        let step = self.steps.iter().find(|step| step.kind == "pass" && step.id == id);
        step?.read().ok()
    }

    fn rate(&self, id: &str) -> Option<f64> {
        self.pass(id)?.throughput_mb_per_s.filter(|rate| *rate > 0.0)
    }

    fn amplification(&self, (id, _): PassName) -> Option<f64> {
        self.pass(id)?.write_amplification_ratio
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
    figures.extend(cures(&passes));
    figures.extend(comparison(&passes));
    if let Some(headline) = figures.iter_mut().find(|figure| figure.headline) {
        headline.rests_on(steps);
    }
    let caveats = if unsteady(steps) { vec![Caveat::NoSteadyState] } else { Vec::new() };
    Findings::new(figures, caveats)
}

/// The passes against the fresh one, the headline first.
fn ratios(passes: &Passes<'_>, by_trim: bool) -> Vec<Figure> {
    let ratio = |(id, _): PassName| passes.ratio(id, FRESH.0);
    let fragmented = ratio(FRAGMENTED);
    let figure = |pass, value: Option<f64>, verdict: Option<Verdict>| {
        of_fresh(pass).measured(value).map(|figure| figure.judged(verdict))
    };
    let trimmed = ratio(TRIMMED).filter(|_| !by_trim);
    let verdict = trimmed.zip(fragmented).map(|(ratio, before)| recovered(ratio, before));
    let headline = figure(TRIMMED, trimmed, verdict);
    let healed_by = |pass| {
        let ratio = ratio(pass);
        figure(pass, ratio, ratio.zip(fragmented).map(|(ratio, before)| healed(ratio, before)))
    };
    let others = [HEALED, COPIED].map(healed_by);
    let worked = passes.amplification(FRAGMENTED);
    let hidden = fragmented.is_some_and(|ratio| ratio >= AS_NEW)
        && worked.is_some_and(|amplification| amplification > WORKED);
    let verdict = fragmented.map(|ratio| match ratio {
        ratio if ratio > 1.0 / AS_NEW => Verdict::FasterThanFresh,
        _ if hidden => Verdict::NoTraceInSpeed,
        ratio if ratio >= AS_NEW => Verdict::NoTrace,
        _ => Verdict::SlowerThanFresh,
    });
    let fragmented = figure(FRAGMENTED, fragmented, verdict);
    [headline, fragmented].into_iter().chain(others).flatten().collect()
}

/// What sequential writes gave back, from `before` to `after` as shares of fresh.
fn healed(after: f64, before: f64) -> Verdict {
    match after {
        after if after > 1.0 / AS_NEW => Verdict::FasterThanFresh,
        _ if before >= AS_NEW => Verdict::NothingToHeal,
        after if after >= AS_NEW => Verdict::Healed,
        after if after >= before + GAIN => Verdict::PartlyHealed,
        _ => Verdict::NotHealed,
    }
}

/// On files: what copying and deleting a large file gains, and what either cure takes. The file of
/// the fragmented pass is the one that cures.
fn cures(passes: &Passes<'_>) -> Vec<Figure> {
    let trim = passes.steps.iter().find(|step| step.kind == "trim" && step.id == TRIM);
    let trim = trim.and_then(|step| step.read::<RecoveryFitrimStep>().ok());
    let cure = passes.pass(FRAGMENTED.0).and_then(|pass| pass.cure_s);
    let copied = passes.rate(COPIED.0);
    let table = [
        (COPIED_OVER_FRAGMENTED, passes.ratio(COPIED.0, FRAGMENTED.0)),
        (COPY_TIME, copied.and(cure)),
        (FSTRIM_TIME, copied.and(trim).map(|trim| trim.elapsed_s)),
    ];
    table.into_iter().filter_map(|(metric, value)| metric.measured(value)).collect()
}

/// What TRIM gave back, from `before` to `after` as shares of fresh.
fn recovered(after: f64, before: f64) -> Verdict {
    match after {
        _ if before >= AS_NEW && after >= AS_NEW => Verdict::NothingToRecover,
        after if after >= AS_NEW => Verdict::BackToNew,
        after if after >= before + GAIN => Verdict::PartlyRecovered,
        _ => Verdict::NotRecovered,
    }
}

/// Throughput and write amplification of each pass. Where the ratio cannot be measured, the pass
/// after TRIM is the headline and says so.
fn rates(passes: &Passes<'_>, by_trim: bool) -> Vec<Figure> {
    let mut figures = Vec::new();
    for pass in PASSES {
        let Some(mut figure) = rate(pass).measured(passes.rate(pass.0)) else { continue };
        if by_trim && pass == TRIMMED {
            figure = figure.judged(Verdict::PurgedByTrim);
        }
        if by_trim && (pass == TRIMMED || pass == FRESH) {
            figure.caveat(Caveat::PurgedByTrim);
        }
        figures.push(figure);
    }
    let wear = |pass| amplification(pass).measured(passes.amplification(pass));
    figures.extend(PASSES.into_iter().filter_map(wear));
    figures
}

/// What the same drive looks like with other data.
fn comparison(passes: &Passes<'_>) -> Vec<Figure> {
    let (fresh, fragmented) = (compared(FRESH), compared(FRAGMENTED));
    let (of_fresh, of_fragmented) = (fresh.id.clone(), fragmented.id.clone());
    let table = [
        (fresh, passes.rate(&of_fresh)),
        (fragmented, passes.rate(&of_fragmented)),
        (of_fresh_compared(), passes.ratio(&of_fragmented, &of_fresh)),
        (FLATTERED, passes.ratio(&of_fragmented, FRAGMENTED.0)),
    ];
    let figures = table.into_iter().filter_map(|(metric, value)| {
        let mut figure = metric.measured(value)?;
        figure.caveat(Caveat::CompressibleData);
        if metric == FLATTERED {
            let flatters = figure.value >= 1.0 + GAIN;
            figure = figure.judged(if flatters {
                Verdict::DataFlatter
            } else {
                Verdict::DataMakeNoDifference
            });
        }
        Some(figure)
    });
    figures.collect()
}

/// Whether a torture in rounds ended before it was steady.
fn unsteady(steps: &[Step]) -> bool {
    let tortures = steps.iter().filter(|step| step.kind == "torture");
    let last = tortures.rev().find_map(|step| step.read::<SteadyStep>().ok());
    last.is_some_and(|round| round.window.is_none_or(|window| !window.steady))
}
