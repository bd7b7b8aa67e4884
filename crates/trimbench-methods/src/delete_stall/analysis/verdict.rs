//! What pairs of a deletion and a placebo say of the stutter: slope, cost of any deletion, the
//! verdict, and the smallest slowdown that would have been found.
//!
//! Two intervals decide, the slope's and that of the difference within pairs, each of 97.5 %: where
//! a deletion changes nothing, at most one run in 20 says that it does.

use trimbench_core::Caveat;
use trimbench_results::number::at_most;
use trimbench_results::statistics::{sen_interval, signed_rank_interval, theil_sen, walsh_median};
use trimbench_results::{Figure, Interval, Verdict};

use super::super::metrics::{DETECTION_LIMIT, PER_DELETION, STUTTER};

#[cfg(test)]
mod tests;

/// Level of each of the two intervals: together they err in 5 % at the most (Bonferroni).
const LEVEL: f64 = 0.975;
/// An effect within this of zero, in s/GB or in s, prints as S1's 0.000.
const NOTICEABLE: f64 = 0.000_5;
/// How many half widths of an interval an effect must have to be found in nine of ten runs: with
/// normal noise `(z(0.9875) + z(0.9)) / z(0.9875) = (2.2414 + 1.2816) / 2.2414`.
const FOUND: f64 = 1.571_8;

/// The interval of the slope over these points (GB, s), if there are enough.
pub(super) fn slope_interval(points: &[(f64, f64)]) -> Option<Interval> {
    sen_interval(points, LEVEL)
}

/// Whether the headline says that larger files stall longer.
pub(super) fn is_slope_found(headline: &Figure) -> bool {
    headline.verdict == Some(Verdict::DiffersFromPlacebo)
}

/// The headline first, the slope of S on size, then what would have been found, and what a deletion
/// of any size costs: a stop that is the same for every size has no slope.
pub(super) fn stutter(points: &[(f64, f64)]) -> Vec<Figure> {
    let each = per_deletion(points);
    let slope = theil_sen(points).map(|line| line.slope);
    let Some(headline) = STUTTER.measured(slope) else { return each.into_iter().collect() };
    let n = points.len() as u64;
    let mut headline = headline.with_n(n).with_interval(slope_interval(points));
    headline.verdict = headline.interval.map(|slope| verdict(headline.value, slope, each.as_ref()));
    let caveat = match &headline.verdict {
        None => Some(Caveat::TooFewPoints),
        Some(Verdict::FasterThanPlacebo) => Some(Caveat::FasterThanPlacebo),
        Some(verdict) => verdict.is_noise().then_some(Caveat::Noise),
    };
    if let Some(caveat) = caveat {
        headline.caveat(caveat);
    }
    let limit = DETECTION_LIMIT.measured(detection_limit(points, headline.value));
    let limit = limit.map(|figure| figure.with_n(n));
    std::iter::once(headline).chain(limit).chain(each).collect()
}

/// What to make of the slope, with its interval, and of the cost of any deletion.
fn verdict(slope: f64, interval: Interval, each: Option<&Figure>) -> Verdict {
    let each = each.and_then(|figure| Some(effect(figure.value, figure.interval?)));
    let is_flat = interval.low > -NOTICEABLE && interval.high < NOTICEABLE;
    match (effect(slope, interval), each) {
        (Effect::Faster, _) | (_, Some(Effect::Faster)) => Verdict::FasterThanPlacebo,
        (Effect::Slower, _) => Verdict::DiffersFromPlacebo,
        (Effect::None, Some(Effect::Slower)) if is_flat => Verdict::StallsAtAnySize,
        (Effect::None, Some(Effect::Slower)) => Verdict::StallsBySizeOrNot,
        (Effect::None, _) if is_flat => Verdict::NothingToNotice,
        (Effect::None, _) => {
            Verdict::NoSlowdownFound { at_most: at_most(interval.high.max(0.0), "s/GB") }
        }
    }
}

/// What an interval says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Faster,
    /// It may be zero, or is so small that it prints as nothing.
    None,
    Slower,
}

fn effect(value: f64, interval: Interval) -> Effect {
    if interval.low > 0.0 && value > NOTICEABLE {
        Effect::Slower
    } else if interval.high < 0.0 && value < -NOTICEABLE {
        Effect::Faster
    } else {
        Effect::None
    }
}

/// By how much the stutter of a deletion, whatever its size, exceeds that of its placebo.
fn per_deletion(points: &[(f64, f64)]) -> Option<Figure> {
    let differences: Vec<f64> = points.iter().map(|point| point.1).collect();
    let figure = PER_DELETION.measured(walsh_median(&differences))?;
    let interval = signed_rank_interval(&differences, LEVEL);
    Some(figure.with_interval(interval).with_n(points.len() as u64))
}

/// The slowdown, s/GB, that nine of ten runs with this noise would find: by its slope or, at sizes
/// such as these, by what each deletion costs, whichever takes less. The noise is what is left
/// without the slope.
fn detection_limit(points: &[(f64, f64)], slope: f64) -> Option<f64> {
    let half = |interval: Interval| f64::midpoint(interval.high, -interval.low);
    let by_slope = slope_interval(points).map(half);
    let sizes: Vec<f64> = points.iter().map(|point| point.0).collect();
    let rest: Vec<f64> = points.iter().map(|(size, stutter)| stutter - slope * size).collect();
    let by_cost = signed_rank_interval(&rest, LEVEL).map(half).zip(walsh_median(&sizes));
    let by_cost = by_cost.map(|(cost, size)| cost / size);
    let half = by_slope.into_iter().chain(by_cost).min_by(f64::total_cmp)?;
    Some((half * FOUND).max(NOTICEABLE))
}
