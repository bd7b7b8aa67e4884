//! Whether the probe's pace before a deletion is that of the drive at rest. No I/O.

use trimbench_core::{Nanos, Ppm};

#[cfg(test)]
mod tests;

/// Parts into which the probes of a lead are divided, in their order.
const PARTS: usize = 10;
/// Probes of a part, at the least: of fewer the means say little.
const PROBES_MIN: usize = 5;
/// A difference within this share of the latency is none: beside 3,000 probes of 100 us it is half
/// a millisecond of stutter.
const RESOLUTION: Ppm = Ppm(2_000);
/// Standard errors by which two means may differ by chance.
const ERRORS_MAX: u128 = 3;

/// The pace of the probe in one lead: the mean latency of each tenth of its probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Level {
    parts: Vec<Nanos>,
}

impl Level {
    /// Of these latencies, in order; `None` if there are too few to tell.
    pub(super) fn of(latencies: &[Nanos]) -> Option<Self> {
        if latencies.len() < PARTS * PROBES_MIN {
            return None;
        }
        let bound = |part: usize| part * latencies.len() / PARTS;
        let mean = |part: usize| {
            let probes = &latencies[bound(part)..bound(part + 1)];
            Nanos(probes.iter().map(|latency| latency.0).sum::<u64>() / probes.len() as u64)
        };
        Some(Self { parts: (0..PARTS).map(mean).collect() })
    }

    /// Whether it neither fell nor rose: not all later parts lie on one side of all earlier ones.
    /// Of a level that only scatters, 2 in 252 look like that by chance.
    pub(super) fn is_flat(&self) -> bool {
        let (early, late) = self.parts.split_at(PARTS / 2);
        let apart = |low: &[Nanos], high: &[Nanos]| {
            let (low, high) = (low.iter().max(), high.iter().min());
            low.zip(high).is_some_and(|(low, high)| high.0 > low.0 + resolution(low.0))
        };
        !apart(early, late) && !apart(late, early)
    }

    /// Whether it may be that of a drive at rest, of a lead or window as long: the means of the two
    /// differ by no more than three standard errors, as both scatter. Of two levels that scatter
    /// alike, 1 in 100 look different by chance.
    pub(super) fn may_be_that_of(&self, rest: &Self) -> bool {
        self.differs_within(rest, self.sums().1 + rest.sums().1)
    }

    /// Whether it surely is: the same, as a drive at rest scatters. What scatters more than that is
    /// not at rest.
    pub(super) fn is_that_of(&self, rest: &Self) -> bool {
        self.differs_within(rest, 2 * rest.sums().1)
    }

    fn differs_within(&self, rest: &Self, scatter: u128) -> bool {
        let (here, there) = (self.sums().0, rest.sums().0);
        let apart = here.abs_diff(there);
        let errors = ERRORS_MAX * ERRORS_MAX * scatter;
        apart * apart * (PARTS as u128 - 1) <= errors || narrow(apart) <= resolution(narrow(there))
    }

    /// The sum of the parts, and as many times the sum of their squared distances from the mean.
    fn sums(&self) -> (u128, u128) {
        let parts = || self.parts.iter().map(|part| u128::from(part.0));
        let sum: u128 = parts().sum();
        let squares: u128 = parts().map(|part| part * part).sum();
        (sum, PARTS as u128 * squares - sum * sum)
    }
}

/// Sums of ten latencies, which are below an hour each.
fn narrow(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

fn resolution(latency: u64) -> u64 {
    RESOLUTION.of(latency)
}
