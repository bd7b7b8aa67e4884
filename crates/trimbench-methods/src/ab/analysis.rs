//! Computes figures from recorded visits. A pure function of the record.
//!
//! Of each measure the differences within blocks count, an arm less `nodiscard`: the median of
//! their Walsh averages, with the interval of the signed-rank test. Visits of a block have a random
//! order, so that a drift of the target falls out of the mean and is no difference; it is shown by
//! itself.

use trimbench_core::Caveat;
use trimbench_core::settings::Named as _;
use trimbench_core::units::rounded;
use trimbench_results::number::{at_most, quantity};
use trimbench_results::statistics::{
    median, sen_interval, signed_rank_interval, theil_sen, walsh_median,
};
use trimbench_results::{Figure, Interval, Step, StepOf, Verdict};

use super::metrics::{LEVEL, Measure, drifting, measures};
use super::options::{Ab, AbArm};
use super::steps::AbVisitStep;
use trimbench_engine::{Findings, is_spoiled_by_others};

/// Level of the intervals of single arms, and of the drift.
const ALONE: f64 = 0.95;
/// How many half widths of an interval a difference must have to be found in nine of ten runs: with
/// normal noise `(z(0.9975) + z(0.9)) / z(0.9975) = (2.8070 + 1.2816) / 2.8070`, for [`LEVEL`].
const FOUND: f64 = 1.456_6;

/// Work that differs by less between arms is the same: bytes, and a share of all. Journals and
/// metadata of the same work differ by some percent from run to run.
const WORK_NOTICED: f64 = 1e6;
const WORK_SHARE: f64 = 0.1;

type Measured<'a> = StepOf<'a, AbVisitStep>;

/// An arm's visit and that of `nodiscard` in the same block.
struct Pair<'a> {
    with: &'a Measured<'a>,
    without: &'a Measured<'a>,
}

/// Computes all figures.
pub fn analyse(method: &Ab, steps: &[Step]) -> Findings {
    let visits: Vec<Measured<'_>> = steps.iter().filter_map(StepOf::read).collect();
    let arms: Vec<AbArm> = AbArm::NAMES
        .iter()
        .map(|(_, arm)| *arm)
        .filter(|arm| of_arm(&visits, *arm).count() > 0)
        .collect();
    let mut figures = Vec::new();
    let mut caveats = Vec::new();
    let others = || arms.iter().copied().filter(|arm| *arm != AbArm::Nodiscard);
    let mut found_from = Vec::new();
    for arm in others() {
        let pairs = pairs(&visits, arm, method.blocks as usize);
        for &measure in measures(method) {
            let Some((difference, limit)) = difference(method, measure, arm, &pairs) else {
                continue;
            };
            figures.push(difference);
            found_from.extend(limit);
        }
    }
    if !figures.iter().any(|figure| figure.headline && figure.interval.is_some()) {
        caveats.push(Caveat::TooFewPoints);
    }
    for arm in &arms {
        let visits = sound(&visits, *arm, method.blocks as usize);
        figures.extend(measures(method).iter().filter_map(|it| alone(*it, *arm, &visits)));
    }
    figures.extend(found_from);
    let without = sound(&visits, AbArm::Nodiscard, method.blocks as usize);
    figures.extend(drifting(method).iter().filter_map(|it| drift(*it, &without)));
    Findings::new(figures, caveats)
}

/// How many blocks it takes until the headline's interval is half as wide as what is noticed, in
/// each direction, going by the noise of those that were measured; within the method's bounds.
pub(super) fn blocks_needed(method: &Ab, steps: &[Step]) -> u32 {
    let mut visits: Vec<Measured<'_>> = steps.iter().filter_map(StepOf::read).collect();
    // A run that goes on after an interruption comes to the same number.
    visits.retain(|visit| visit.block <= u64::from(method.blocks));
    let headline = measures(method)[0];
    let arms = AbArm::NAMES.iter().map(|(_, arm)| *arm).filter(|arm| *arm != AbArm::Nodiscard);
    let needed = arms.filter_map(|arm| {
        let pairs = pairs(&visits, arm, method.blocks as usize);
        let half = half_width(interval(headline, &pairs)?);
        let wanted = headline.noticeable(method, without(headline, &pairs)?) / 2.0;
        let blocks = f64::from(method.blocks) * (half / wanted).powi(2);
        Some(rounded(blocks.ceil()).min(method.blocks_max.into()))
    });
    // Those that are spoiled are made up for, once.
    let is_spoiled_block =
        |block: &u32| visits.iter().any(|it| it.block == u64::from(*block) && is_spoiled(it));
    let spoiled = (1..=method.blocks).filter(is_spoiled_block).count() as u64;
    let needed = needed.max().unwrap_or(0).max(u64::from(method.blocks) + spoiled);
    u32::try_from(needed).unwrap_or(method.blocks_max).clamp(method.blocks, method.blocks_max)
}

fn of_arm<'a>(
    visits: &'a [Measured<'a>],
    arm: AbArm,
) -> impl Iterator<Item = &'a Measured<'a>> + Clone {
    visits.iter().filter(move |visit| visit.step.kind == arm.id())
}

/// The visits of an arm; without those that are spoiled, as long as enough remain.
fn sound<'a>(visits: &'a [Measured<'a>], arm: AbArm, enough: usize) -> Vec<&'a Measured<'a>> {
    let all: Vec<&Measured<'_>> = of_arm(visits, arm).collect();
    let sound: Vec<&Measured<'_>> = all.iter().copied().filter(|it| !is_spoiled(it)).collect();
    if sound.len() < enough { all } else { sound }
}

/// The pairs of an arm; without those that are spoiled, as long as enough remain.
fn pairs<'a>(visits: &'a [Measured<'a>], arm: AbArm, enough: usize) -> Vec<Pair<'a>> {
    let pair = |with: &'a Measured<'a>| {
        let mut others = of_arm(visits, AbArm::Nodiscard);
        let without = others.find(|without| without.block == with.block)?;
        Some(Pair { with, without })
    };
    let is_sound = |pair: &&Pair<'_>| !is_spoiled(pair.with) && !is_spoiled(pair.without);
    let all: Vec<Pair<'_>> = of_arm(visits, arm).filter_map(pair).collect();
    if all.iter().filter(is_sound).count() < enough {
        return all;
    }
    all.into_iter().filter(|pair| is_sound(&pair)).collect()
}

/// Whether something else used the device beside the visit, or this process did not run.
fn is_spoiled(visit: &Measured<'_>) -> bool {
    let is_pause = |id: &str| id == Caveat::Paused.id();
    visit.step.caveats.iter().any(|id| is_spoiled_by_others(id) || is_pause(id))
}

fn differences(measure: Measure, pairs: &[Pair<'_>]) -> Vec<f64> {
    let of = |pair: &Pair<'_>| Some((measure.value)(pair.with)? - (measure.value)(pair.without)?);
    pairs.iter().filter_map(of).collect()
}

/// The median of a measure with `nodiscard`.
fn without(measure: Measure, pairs: &[Pair<'_>]) -> Option<f64> {
    let values: Vec<f64> = pairs.iter().filter_map(|pair| (measure.value)(pair.without)).collect();
    median(&values)
}

/// Whether a command of the user's read and wrote more in one arm than in the other, by more than
/// what a filesystem's own writes make of the same work.
fn differs_in_work(pairs: &[Pair<'_>]) -> bool {
    let of = |visit: &Measured<'_>| {
        let program = visit.program.as_ref()?;
        Some((program.program_read_bytes.0 + program.program_written_bytes.0) as f64)
    };
    let with: Vec<f64> = pairs.iter().filter_map(|pair| of(pair.with)).collect();
    let without: Vec<f64> = pairs.iter().filter_map(|pair| of(pair.without)).collect();
    match (median(&with), median(&without)) {
        (Some(with), Some(without)) => {
            let difference = (with - without).abs();
            difference > WORK_NOTICED && difference > WORK_SHARE * with.max(without)
        }
        _ => false,
    }
}

fn interval(measure: Measure, pairs: &[Pair<'_>]) -> Option<Interval> {
    signed_rank_interval(&differences(measure, pairs), LEVEL)
}

fn half_width(interval: Interval) -> f64 {
    f64::midpoint(interval.high, -interval.low)
}

/// What an arm adds, and the smallest difference that would have been found.
fn difference(
    method: &Ab,
    measure: Measure,
    arm: AbArm,
    pairs: &[Pair<'_>],
) -> Option<(Figure, Option<Figure>)> {
    let values = differences(measure, pairs);
    let n = values.len() as u64;
    let interval = interval(measure, pairs);
    let figure = measure.added_by(arm).measured(walsh_median(&values))?;
    let mut figure = figure.with_n(n).with_interval(interval);
    let noticeable = measure.noticeable(method, without(measure, pairs)?);
    figure.verdict = interval.map(|interval| verdict(measure, interval, noticeable));
    figure.caveat(figure.verdict.is_none().then_some(Caveat::TooFewPoints));
    figure.caveat(differs_in_work(pairs).then_some(Caveat::UnlikeWork));
    figure.rests_on(pairs.iter().flat_map(|pair| [pair.without.step, pair.with.step]));
    let limit = interval.map(|interval| half_width(interval) * FOUND);
    let limit = measure.found_from(arm).measured(limit).map(|figure| figure.with_n(n));
    Some((figure, limit))
}

/// What to make of a difference with this interval.
fn verdict(measure: Measure, interval: Interval, noticeable: f64) -> Verdict {
    let ends = [interval.low, interval.high].map(|end| measure.worse_by(end));
    let (least, most) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
    let limit = quantity(noticeable, measure.unit);
    if least > noticeable {
        Verdict::MoreThanIsNoticed { limit }
    } else if least > 0.0 && most <= noticeable {
        Verdict::LessThanIsNoticed { limit }
    } else if least > 0.0 {
        Verdict::NoticedOrNot { limit }
    } else if most < 0.0 {
        Verdict::BetterThanWithout
    } else {
        Verdict::NoDifferenceFound { at_most: at_most(most, measure.unit) }
    }
}

/// A measure in an arm.
fn alone(measure: Measure, arm: AbArm, visits: &[&Measured<'_>]) -> Option<Figure> {
    let values: Vec<f64> = visits.iter().filter_map(|visit| (measure.value)(visit)).collect();
    let figure = measure.in_arm(arm).measured(walsh_median(&values))?;
    let mut figure = figure.with_n(values.len() as u64);
    figure.interval = signed_rank_interval(&values, ALONE);
    figure.rests_on(visits.iter().map(|visit| visit.step));
    Some(figure)
}

/// How much a measure changed with `nodiscard` over the run, in percent of its median.
fn drift(measure: Measure, visits: &[&Measured<'_>]) -> Option<Figure> {
    let point = |visit: &&Measured<'_>| Some((visit.block as f64, (measure.value)(visit)?));
    let points: Vec<(f64, f64)> = visits.iter().filter_map(point).collect();
    let values: Vec<f64> = points.iter().map(|point| point.1).collect();
    let middle = median(&values).filter(|middle| *middle > 0.0)?;
    let (first, last) = (points.first()?.0, points.last()?.0);
    let percent = |slope: f64| 100.0 * slope * (last - first) / middle;
    let figure = measure.drift().measured(percent(theil_sen(&points)?.slope))?;
    let mut figure = figure.with_n(points.len() as u64);
    figure.interval = sen_interval(&points, ALONE)
        .and_then(|it| Interval::new(percent(it.low), percent(it.high), ALONE));
    figure.rests_on(visits.iter().map(|visit| visit.step));
    Some(figure)
}
