//! Lines: slope, intercept, the slope's interval, curvature, power laws. All but
//! [`least_squares`] are robust.
//!
//! Sources: H. Theil, "A rank-invariant method of linear and polynomial regression analysis"
//! (1950); P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63
//! (1968) 1379. The slope of Theil and Sen withstands up to 29 % of wild points.

use super::kendall::tail_count;
use super::{all_finite, median, sorted};
use crate::record::Interval;

/// `y = slope * x + intercept`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Change of y for each unit of x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
}

/// The line of Theil and Sen: its slope is the median of the slopes of all pairs of points with
/// distinct x, its intercept the median of `y - slope * x`. `None` without two distinct x.
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Line> {
    let slope = median(&pair_slopes(points)?)?;
    let offsets: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    Some(Line { slope, intercept: median(&offsets)? })
}

/// The line with the least sum of squared distances in y. One wild point moves it at will: for
/// criteria that are defined by it, not for estimates. `None` without two distinct x, or where a
/// number is not finite.
pub fn least_squares(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x, sum.1 + y));
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    // Around the means, which keeps the digits that large x or y would cancel.
    let (mut square, mut product) = (0.0, 0.0);
    for (x, y) in points {
        square += (x - mean_x) * (x - mean_x);
        product += (x - mean_x) * (y - mean_y);
    }
    let slope = product / square;
    let line = Line { slope, intercept: mean_y - slope * mean_x };
    (line.slope.is_finite() && line.intercept.is_finite()).then_some(line)
}

/// The interval of the slope of [`theil_sen`], free of assumptions on the noise's distribution but
/// that the points are independent and the noise is alike at every x.
///
/// With the N slopes of pairs of distinct x in ascending order, it reaches from the k-th smallest
/// to the k-th largest, k the largest whole number with `P(D < k) <= (1 - level) / 2`; D is how
/// many of N pairs stand in falling order when y does not depend on x (Kendall's statistic with
/// ties in x). Up to 32 points P is exact, by counting arrangements; beyond, Sen's normal
/// approximation `k = floor((N - z * sqrt(V)) / 2)` with
/// `V = (n(n-1)(2n+5) - sum of t(t-1)(2t+5) over groups of t equal x) / 18`.
/// Ties in y only make it wider.
///
/// `None` without enough points for the level: 95 % takes 5 distinct x, or 3 x twice.
pub fn sen_interval(points: &[(f64, f64)], level: f64) -> Option<Interval> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let slopes = sorted(&pair_slopes(points)?)?;
    let tail = tail_count(&tie_groups(points), (1.0 - level) / 2.0)?;
    let low = *slopes.get(tail.checked_sub(1)?)?;
    let high = *slopes.get(slopes.len().checked_sub(tail)?)?;
    Interval::new(low, high, level)
}

/// How far the points bend from a line: the median, over all triples of points with three distinct
/// x, of the second divided difference. It is `c` where `y = a + b x + c x^2`, and 0 on a line.
/// Unit: y's over x's squared. `None` without three distinct x.
pub fn curvature(points: &[(f64, f64)]) -> Option<f64> {
    if !all_finite(points) {
        return None;
    }
    let mut ascending = points.to_vec();
    ascending.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut differences = Vec::new();
    for (i, first) in ascending.iter().enumerate() {
        for (j, second) in ascending.iter().enumerate().skip(i + 1) {
            for third in &ascending[j + 1..] {
                if let (Some(early), Some(late)) = (slope(first, second), slope(second, third)) {
                    differences.push((late - early) / (third.0 - first.0));
                }
            }
        }
    }
    median(&differences)
}

/// The exponent p of `y = a x^p`: the slope of [`theil_sen`] of ln y over ln x. Points with x or y
/// of 0 or less have no logarithm and are left out. `None` without two distinct x left.
pub fn power_exponent(points: &[(f64, f64)]) -> Option<f64> {
    if !all_finite(points) {
        return None;
    }
    let logarithms: Vec<(f64, f64)> = points
        .iter()
        .filter(|(x, y)| *x > 0.0 && *y > 0.0)
        .map(|(x, y)| (x.ln(), y.ln()))
        .collect();
    theil_sen(&logarithms).map(|line| line.slope)
}

/// The slopes of all pairs with distinct x, in no order; `None` if a number is not finite.
fn pair_slopes(points: &[(f64, f64)]) -> Option<Vec<f64>> {
    if !all_finite(points) {
        return None;
    }
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (index, first) in points.iter().enumerate() {
        slopes.extend(points[index + 1..].iter().filter_map(|second| slope(first, second)));
    }
    Some(slopes)
}

/// The slope from one point to another; `None` if one stands above the other.
fn slope(from: &(f64, f64), to: &(f64, f64)) -> Option<f64> {
    let run = to.0 - from.0;
    (run != 0.0).then(|| (to.1 - from.1) / run)
}

/// How many points share each distinct x.
#[expect(clippy::float_cmp, reason = "x was set, not measured: equal means equal")]
fn tie_groups(points: &[(f64, f64)]) -> Vec<u64> {
    let mut xs: Vec<f64> = points.iter().map(|point| point.0).collect();
    xs.sort_by(f64::total_cmp);
    xs.chunk_by(|a, b| a == b).map(|group| group.len() as u64).collect()
}
