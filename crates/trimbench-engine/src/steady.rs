//! The criterion of the steady state: when a series of rounds counts as steady.
//!
//! Source: SNIA Solid State Storage Performance Test Specification \[PTS\], definition of the
//! steady state. Within a measurement window of five rounds, with `y` what each round came to:
//!
//! - the excursion, `max(y) - min(y)`, is at most 20 % of the mean of y, **and**
//! - the rise of the least-squares line over the window, `|slope| * (rounds - 1)`, is at most 10 %
//!   of the mean of y; its abscissa is the number of the round.
//!
//! Pure: a later report, or anybody with the record, computes the same verdict.

use trimbench_results::statistics::{least_squares, mean};

#[cfg(test)]
mod tests;

/// When a series counts as steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    /// Rounds of the window, at least 2.
    pub window: usize,
    /// The largest excursion, over the mean.
    pub excursion_max: f64,
    /// The largest rise of the line, over the mean.
    pub rise_max: f64,
}

/// What a window of rounds came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyVerdict {
    /// Mean of y.
    pub mean: f64,
    /// `max(y) - min(y)` over the mean.
    pub excursion: f64,
    /// `|slope| * (rounds - 1)` over the mean.
    pub rise: f64,
    /// Whether both are within their limits.
    pub steady: bool,
}

impl Criterion {
    /// The criterion of \[PTS\].
    pub const PTS: Self = Self { window: 5, excursion_max: 0.2, rise_max: 0.1 };

    /// Judges one window. `None` unless it has as many rounds as the criterion asks for, all of
    /// them finite, and a mean above 0.
    pub fn judge(&self, window: &[f64]) -> Option<SteadyVerdict> {
        if window.len() != self.window {
            return None;
        }
        let points: Vec<(f64, f64)> =
            window.iter().enumerate().map(|(round, y)| (round as f64, *y)).collect();
        let slope = least_squares(&points)?.slope;
        let mean = mean(window).filter(|mean| *mean > 0.0)?;
        let (low, high) = window
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, y| (ends.0.min(*y), ends.1.max(*y)));
        let (excursion, rise) = (high - low, slope.abs() * (window.len() - 1) as f64);
        let steady = excursion <= self.excursion_max * mean && rise <= self.rise_max * mean;
        Some(SteadyVerdict { mean, excursion: excursion / mean, rise: rise / mean, steady })
    }

    /// Judges the window that ends with the last of the rounds; `None` before there is one.
    pub fn judge_last(&self, rounds: &[f64]) -> Option<SteadyVerdict> {
        self.judge(&rounds[rounds.len().checked_sub(self.window)?..])
    }

    /// The number, from 1 on, of the first round that ends a steady window; `None` if none does.
    pub fn steady_at(&self, rounds: &[f64]) -> Option<usize> {
        let reached =
            |end: &usize| self.judge_last(&rounds[..*end]).is_some_and(|verdict| verdict.steady);
        (self.window..=rounds.len()).find(reached)
    }
}
