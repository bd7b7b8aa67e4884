//! Intervals by resampling, where no formula is at hand.
//!
//! The percentile bootstrap: the statistic of many samples drawn with replacement from the sample
//! itself; the interval holds their middle share. Source: B. Efron and R. Tibshirani, "An
//! Introduction to the Bootstrap" (1993), ch. 13. With few observations it is too narrow (the
//! extremes of 3 repetitions are all there is): prefer [`super::sen_interval`] for slopes.
//!
//! The same generator state gives the same interval.

use std::collections::BTreeMap;

use trimbench_core::rng::Rng;
use trimbench_core::units::index;

use super::{all_finite, mean, median, quantile_of_sorted, sorted};
use crate::record::Interval;

/// The fewest observations in a sample that is resampled: below, the interval says nothing.
const FEWEST: usize = 3;

/// How to resample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Samples to draw, at least 100; 2,000 settle a 95 % interval to about its second digit.
    pub resamples: u32,
    /// The confidence level, in (0, 1).
    pub level: f64,
}

impl Default for Bootstrap {
    /// 2,000 resamples, 95 %.
    fn default() -> Self {
        Self { resamples: 2_000, level: 0.95 }
    }
}

/// The interval of `statistic` over points, resampling the points of each x among themselves: the
/// x were set, not drawn. Resamples for which the statistic is `None` are left out.
///
/// `None` if there are fewer than three points, `points` or `bootstrap` is out of range, no x
/// repeats (nothing to resample), or the statistic failed on more than a tenth of the resamples.
pub fn bootstrap_interval(
    points: &[(f64, f64)],
    rng: &mut Rng,
    bootstrap: Bootstrap,
    statistic: impl Fn(&[(f64, f64)]) -> Option<f64>,
) -> Option<Interval> {
    if points.len() < FEWEST || !all_finite(points) {
        return None;
    }
    let strata = strata(points);
    if strata.iter().all(|stratum| stratum.len() == 1) {
        return None;
    }
    bootstrap.interval(|| {
        let drawn: Vec<(f64, f64)> = strata.iter().flat_map(|part| resample(part, rng)).collect();
        statistic(&drawn)
    })
}

/// The interval of the mean. `None` with fewer than three values, or one that is not finite.
pub fn bootstrap_mean(values: &[f64], rng: &mut Rng, bootstrap: Bootstrap) -> Option<Interval> {
    if values.len() < FEWEST || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    bootstrap.interval(|| mean(&resample(values, rng)))
}

/// The interval of `median(numerator) / median(denominator)`, the two resampled independently.
/// `None` with fewer than three values in either, one that is not finite, or a denominator whose
/// median is 0 in more than a tenth of the resamples.
pub fn bootstrap_ratio_of_medians(
    numerator: &[f64],
    denominator: &[f64],
    rng: &mut Rng,
    bootstrap: Bootstrap,
) -> Option<Interval> {
    if numerator.len().min(denominator.len()) < FEWEST {
        return None;
    }
    bootstrap.interval(|| {
        let above = median(&resample(numerator, rng))?;
        let below = median(&resample(denominator, rng))?;
        (below != 0.0).then(|| above / below)
    })
}

impl Bootstrap {
    /// The middle share of what `draw` gives.
    fn interval(self, mut draw: impl FnMut() -> Option<f64>) -> Option<Interval> {
        if self.resamples < 100 || !(self.level > 0.0 && self.level < 1.0) {
            return None;
        }
        let drawn: Vec<f64> = (0..self.resamples)
            .filter_map(|_| draw())
            .filter(|statistic| statistic.is_finite())
            .collect();
        if (drawn.len() as f64) < 0.9 * f64::from(self.resamples) {
            return None;
        }
        let drawn = sorted(&drawn)?;
        let tail = (1.0 - self.level) / 2.0;
        let low = quantile_of_sorted(&drawn, tail)?;
        let high = quantile_of_sorted(&drawn, 1.0 - tail)?;
        Interval::new(low, high, self.level)
    }
}

/// As many values as there are, each drawn from all of them.
fn resample<T: Copy>(values: &[T], rng: &mut Rng) -> Vec<T> {
    let count = values.len() as u64;
    values.iter().map(|_| values[index(rng.below(count))]).collect()
}

/// The points by x, ascending. Finite x: adding zero makes -0 and 0 one key, and then the order of
/// the bits' keys is of no consequence but that it is the same in every run.
fn strata(points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    let mut by_x: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for &(x, y) in points {
        by_x.entry((x + 0.0).to_bits()).or_default().push((x, y));
    }
    by_x.into_values().collect()
}
