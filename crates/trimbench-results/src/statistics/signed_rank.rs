//! Where differences lie that are as likely as their opposites when there is no effect: the
//! median of Walsh averages and the interval of the signed-rank test.
//!
//! Two measurements of a pair whose order was drawn by lot differ by as much in the one direction
//! as in the other, whatever the noise, and however it depends on what the pairs have in common:
//! the level of the interval is exact for that alone.
//!
//! Sources: F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945)
//! 80, for the test; \[HODG63\] for the estimate and the interval.

use super::kendall::normal_upper;
use super::{median, sorted, whole};
use crate::record::Interval;

/// The most values for which the sums of ranks are counted.
const EXACT_VALUES: usize = 50;

/// The median of the means of all pairs of `values`, each value with itself among them; `None` if
/// empty or not finite.
pub fn walsh_median(values: &[f64]) -> Option<f64> {
    median(&walsh_averages(values))
}

/// The interval of [`walsh_median`]: from the k-th smallest to the k-th largest of the means, k the
/// largest whole number with `P(W < k) <= (1 - level) / 2`; W is the sum of the ranks of the
/// positive values when each sign is as likely as the other. Up to 50 values P is exact; beyond,
/// the normal approximation with mean `n(n+1)/4` and variance `n(n+1)(2n+1)/24`. Ties only make it
/// wider.
///
/// `None` without enough values for the level: 95 % takes 6, 97.5 % takes 7.
pub fn signed_rank_interval(values: &[f64], level: f64) -> Option<Interval> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let averages = sorted(&walsh_averages(values))?;
    let below = tail_count(values.len(), (1.0 - level) / 2.0).checked_sub(1)?;
    let low = *averages.get(below)?;
    let high = *averages.get(averages.len().checked_sub(below + 1)?)?;
    Interval::new(low, high, level)
}

fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let pairs = values.iter().enumerate();
    pairs.flat_map(|(at, one)| values[at..].iter().map(move |two| one.midpoint(*two))).collect()
}

/// The largest k such that a sum of ranks below k has a probability of at most `tail`.
fn tail_count(values: usize, tail: f64) -> usize {
    let n = values as f64;
    if values > EXACT_VALUES {
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        return whole((n * (n + 1.0) / 4.0 - normal_upper(tail) * deviation).max(0.0));
    }
    let mut sum = 0.0;
    let fits = sums_of_ranks(values).into_iter().take_while(|probability| {
        sum += probability;
        sum <= tail
    });
    fits.count()
}

/// The probability of each sum of the ranks 1 to `values`, each in it or not by the toss of a coin.
fn sums_of_ranks(values: usize) -> Vec<f64> {
    let mut probabilities = vec![1.0];
    for rank in 1..=values {
        let mut next = vec![0.0; probabilities.len() + rank];
        for (sum, probability) in probabilities.iter().enumerate() {
            next[sum] += probability / 2.0;
            next[sum + rank] += probability / 2.0;
        }
        probabilities = next;
    }
    probabilities
}
