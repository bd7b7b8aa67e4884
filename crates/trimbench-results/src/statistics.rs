//! Statistics that a few odd measurements cannot spoil: medians, robust lines, intervals.
//!
//! Points are `(x, y)`: x is what was set (bytes deleted, in GB), y what was measured (seconds of
//! stutter). Every function answers `None` where there is too little to answer with, or where a
//! number is not finite; none answers with NaN. Nothing here but [`paired_ratio`] assumes normal
//! noise.
//!
//! Complexity: pairs of points (lines), triples (curvature). Meant for up to some hundred points.

use trimbench_core::units::index;

mod bootstrap;
mod kendall;
mod lines;
mod paired;
mod signed_rank;
#[cfg(test)]
mod tests;

pub use bootstrap::{Bootstrap, bootstrap_interval, bootstrap_mean, bootstrap_ratio_of_medians};
pub use lines::{Line, curvature, least_squares, power_exponent, sen_interval, theil_sen};
pub use paired::paired_ratio;
pub use signed_rank::{signed_rank_interval, walsh_median};

/// The arithmetic mean; `None` if empty or not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

/// The middle value, or the mean of the two middle ones; `None` if empty or not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile_of_sorted(&sorted(values)?, 0.5)
}

/// The value at `share` in [0, 1] of ascending values, linear between neighbours: position
/// `share * (n - 1)` (type 7 of R. Hyndman and Y. Fan, "Sample quantiles in statistical packages",
/// 1996). `None` if empty or `share` lies outside.
fn quantile_of_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    if !(0.0..=1.0).contains(&share) {
        return None;
    }
    let position = share * last as f64;
    let below = whole(position).min(last);
    let above = (below + 1).min(last);
    let part = position - below as f64;
    // Written so that equal neighbours give their value exactly.
    Some(sorted[below] + part * (sorted[above] - sorted[below]))
}

/// The values in ascending order; `None` if empty or one is not finite.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

/// The whole part of a non-negative position.
fn whole(position: f64) -> usize {
    index(trimbench_core::units::rounded(position.floor()))
}

fn all_finite(points: &[(f64, f64)]) -> bool {
    points.iter().all(|(x, y)| x.is_finite() && y.is_finite())
}
