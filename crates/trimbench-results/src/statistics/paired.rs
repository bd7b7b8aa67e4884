//! What a change made of a positive quantity, from pairs of measurements side by side.

use crate::record::Interval;

/// Student's t for a two-sided interval of 95 %, by degrees of freedom from 1 on. Source: any table
/// of the distribution; G. Snedecor and W. Cochran, "Statistical Methods" (1989), table A 4.
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// The fewest pairs: of two the interval is too wide to say anything.
const FEWEST: usize = 3;

/// The interval (95 %) of the ratio `after / before`, by Student's t on the logarithms of the
/// pairs' ratios: exact for ratios whose logarithms scatter normally. What both of a pair share,
/// drift and seed, falls out. Beyond 31 pairs it is a little too wide.
///
/// `None` with fewer than three pairs, or a value that is not positive and finite.
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Interval> {
    let positive = |value: f64| value > 0.0 && value.is_finite();
    let sound = pairs.iter().all(|(before, after)| positive(*before) && positive(*after));
    if pairs.len() < FEWEST || !sound {
        return None;
    }
    let logarithms: Vec<f64> = pairs.iter().map(|(before, after)| (after / before).ln()).collect();
    let count = logarithms.len() as f64;
    let mean = super::mean(&logarithms)?;
    let squares: f64 = logarithms.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let half = T_95[(logarithms.len() - 2).min(T_95.len() - 1)] * error;
    Interval::new((mean - half).exp(), (mean + half).exp(), 0.95)
}
