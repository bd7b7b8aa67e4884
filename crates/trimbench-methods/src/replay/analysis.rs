//! Computes figures from recorded passes. A pure function of the record.
//!
//! The gain of a pass is its write IOPS over those of the pass without TRIMs at the same pace: on
//! average, and window by window of the trace. A window is a mean over its own time; the average is
//! over all time, so slow windows weigh more in it.

use trimbench_core::Caveat;
use trimbench_core::settings::Named as _;
use trimbench_results::{Figure, Metric, Step, StepOf, Verdict};

use super::metrics::{Gain, of_pass};
use super::options::ReplayedTrims;
use super::steps::ReplayPassStep;
use trimbench_engine::Findings;

/// A gain or loss of this much counts as one.
const EFFECT: f64 = 0.02;
/// Of fewer windows a gain is a coincidence.
const FEW: usize = 10;

type PassOf<'a> = StepOf<'a, ReplayPassStep>;

/// Computes all figures.
pub fn analyse(steps: &[Step]) -> Findings {
    let passes = steps.iter().filter(|step| step.kind == "pass");
    let passes: Vec<PassOf<'_>> = passes.filter_map(StepOf::read).collect();
    let mut figures: Vec<Figure> = passes.iter().flat_map(|pass| gains(pass, &passes)).collect();
    // The headline is that of the last pass: of the deepest queue.
    if let Some(last) = figures.iter().rposition(|figure| figure.headline) {
        figures[..=last].rotate_right(1);
    }
    figures.extend(passes.iter().flat_map(rates));
    let altered = passes.iter().any(|pass| pass.feed.altered_count > 0);
    let altered = altered.then_some(Caveat::TraceAltered);
    let none = passes.iter().any(sent_none).then_some(Caveat::NoTrims);
    Findings::new(figures, altered.into_iter().chain(none).collect())
}

/// Whether a pass that should have TRIMs had none: it is the pass without them once more.
fn sent_none(pass: &PassOf<'_>) -> bool {
    let stripped = pass.step.id.ends_with(ReplayedTrims::Stripped.id());
    !stripped && pass.meter.discard_count == 0
}

/// A pass over the one without TRIMs at the same pace.
fn gains(pass: &PassOf<'_>, passes: &[PassOf<'_>]) -> Vec<Figure> {
    let id = &pass.step.id;
    let Some((pace, trims)) = id.rsplit_once('-') else { return Vec::new() };
    let stripped = format!("{pace}-{}", ReplayedTrims::Stripped.id());
    let without = passes.iter().find(|other| other.step.id == stripped && stripped != *id);
    let Some(without) = without.filter(|_| !sent_none(pass)) else { return Vec::new() };
    let rate = |pass: &ReplayPassStep| pass.meter.write_iops.filter(|rate| *rate > 0.0);
    let average = rate(pass).zip(rate(without)).map(|(with, without)| with / without);
    let ratios = ratios(pass, without);
    let gain = Gain::of(pace, trims);
    let average = gain.average.measured(average).map(|figure| {
        let verdict = match figure.value {
            value if value >= 1.0 + EFFECT => Verdict::TrimPays,
            value if value <= 1.0 - EFFECT => Verdict::TrimCosts,
            _ => Verdict::TrimMakesNoDifference,
        };
        let few = ratios.len() < FEW;
        let mut figure = figure.judged((!few).then_some(verdict));
        figure.caveat(few.then_some(Caveat::TooFewPoints));
        figure
    });
    let of_windows = |metric: Metric, pick: fn(f64, f64) -> f64| {
        let figure = metric.measured(ratios.iter().copied().reduce(pick))?;
        Some(figure.with_n(ratios.len() as u64))
    };
    let (least, most) = (of_windows(gain.least, f64::min), of_windows(gain.most, f64::max));
    let mut figures: Vec<Figure> = [average, least, most].into_iter().flatten().collect();
    for figure in &mut figures {
        figure.rests_on([pass.step]);
    }
    figures
}

/// Window by window, the write IOPS of one pass over another's.
fn ratios(with: &ReplayPassStep, without: &ReplayPassStep) -> Vec<f64> {
    let curves = (&with.meter.windows.iops, &without.meter.windows.iops);
    let (Some(with), Some(without)) = curves else { return Vec::new() };
    let pairs = with.y.iter().zip(&without.y);
    let ratios = pairs.filter_map(|(with, without)| {
        without.filter(|rate| *rate > 0.0).and_then(|without| Some((*with)? / without))
    });
    ratios.collect()
}

/// What a pass came to.
fn rates(pass: &PassOf<'_>) -> Vec<Figure> {
    let Some((pace, trims)) = pass.step.id.rsplit_once('-') else { return Vec::new() };
    let figures = of_pass(pace, trims).into_iter().filter_map(|(metric, value)| {
        let mut figure = metric.measured(value(pass))?;
        figure.rests_on([pass.step]);
        Some(figure)
    });
    figures.collect()
}
