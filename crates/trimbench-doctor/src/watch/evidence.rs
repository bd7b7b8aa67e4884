//! Whether stalls are due to discards, or would coincide with as many by chance.
//!
//! # Units
//!
//! A unit is a request (or a thread's wait) that stalled, chosen so that units of a place do not
//! overlap: the first one, then the next that began after its end, and so on. So a device that
//! stands still with 64 requests counts once, while 100 discards that delay one read each count 100
//! times.
//!
//! A unit is *exposed* if a discard was in flight when it began, and if discards were in flight for
//! at least half of its time. The order matters: a disk that stands still for reasons of its own
//! also holds the discards that come after, and these cannot have caused it.
//!
//! Counters do not tell the order within a sample, and of many requests only the mean. Then
//! discards count for as long as half of them take: where the disk stands still, the others are
//! short. The upper end of the interval takes them in full.
//!
//! # Chance
//!
//! Had stalls and discards nothing to do with each other, the discards might as well have come at
//! other times. So they are shifted in time, all by the same amount, around the end of the watch:
//! the bursts of both stay as they are, only their relation is lost. `chance_share_ratio` is the
//! mean share of exposed units over [`SHIFTS`] such shifts, and the p-value is the share of shifts
//! that expose as many units as were.
//!
//! A disk that stands still may hold the discard that happened to come before the next request, and
//! then the discard seems to come first. Shifted discards therefore count as exposing a unit if
//! they are in flight at any time since the disk last completed a request. That counts chance
//! rather too high, so the test errs towards accusing nobody. The upper end of the interval, with
//! which TRIM is acquitted, takes the share for which they are in flight right at the beginning.
//!
//! # Share
//!
//! With a share `e` of the units exposed and `c` expected by chance, `(e - c) / (1 - c)` of them
//! are due to discards (the attributable fraction among the exposed). Its interval is that of
//! Wilson for `e` at 95 %, with `c` as known.
//!
//! What this cannot exclude is a common cause: a program whose writes stall the disk each time just
//! after it discards.

use trimbench_core::rng::Rng;
use trimbench_core::{Nanos, Ppm};

use super::busy::BusyIntervals;
use super::scene::WatchScene;

/// Shifts that are tried. The least p-value is 1 in so many and one.
const SHIFTS: u64 = 999;
/// Units that are looked at for each shift; of more, so many evenly.
const UNITS_MAX: usize = 1_000;
/// The quantile of the normal distribution for an interval of 95 %.
const WILSON_Z: f64 = 1.959_964;
/// The seed of the shifts: the same observation has the same answer.
const SEED: u64 = 45;

/// A stall that is independent of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StallUnit {
    /// Where, in the scene.
    pub(super) place: usize,
    pub(super) from: Nanos,
    pub(super) to: Nanos,
    /// How much later than its beginning a discard may have begun that was there before it: the
    /// uncertainty of times, and what a request takes anyway.
    pub(super) slack: Nanos,
}

/// How stalls and discards go together.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StallEvidence {
    /// Stalls that do not overlap.
    pub stalls_count_independent: u64,
    /// Of these, the ones that began while a discard was in flight and spent half their time or
    /// more with one.
    pub stalls_count_exposed: u64,
    /// Of these, the ones that had a discard in flight at any time.
    pub stalls_count_overlapped: u64,
    /// The share of stalls that would be exposed if discards came at other times.
    pub chance_share_ratio: f64,
    /// The share of the shifts of discards in time that expose as many stalls.
    pub chance_p_value: f64,
    /// The share of stalls that discards account for beyond chance.
    pub trim_share_ratio: f64,
    /// Lower end of its interval of 95 %.
    pub trim_share_ratio_low: f64,
    /// Upper end.
    pub trim_share_ratio_high: f64,
}

impl StallEvidence {
    /// `None` without units.
    pub(super) fn of(scene: &WatchScene<'_>, units: &[StallUnit]) -> Option<Self> {
        let exposed = units.iter().filter(|unit| is_exposed(scene, unit)).count();
        let perhaps = units.iter().filter(|unit| {
            let discards = &scene.place(unit.place).discards;
            is_exposed_to(discards, unit)
        });
        let perhaps = perhaps.count() as u64;
        let overlapped = units.iter().filter(|unit| {
            let discards = &scene.place(unit.place).discards;
            discards.covered(unit.from, unit.to) > Nanos::ZERO
        });
        let (count, overlapped) = (units.len() as u64, overlapped.count() as u64);
        let (chance, least_chance, p_value) = by_chance(scene, units)?;
        let ([low, _], [_, high]) = (wilson(exposed as u64, count), wilson(perhaps, count));
        let share = |exposed: f64, chance: f64| {
            // Where chance explains everything nothing is known of the share.
            (chance < 1.0).then(|| ((exposed - chance) / (1.0 - chance)).clamp(0.0, 1.0))
        };
        Some(Self {
            stalls_count_independent: count,
            stalls_count_exposed: exposed as u64,
            stalls_count_overlapped: overlapped,
            chance_share_ratio: chance,
            chance_p_value: p_value,
            trim_share_ratio: share(exposed as f64 / count as f64, chance).unwrap_or(0.0),
            trim_share_ratio_low: share(low, chance).unwrap_or(0.0),
            trim_share_ratio_high: share(high, least_chance).unwrap_or(1.0),
        })
    }
}

/// Chooses units of one place that do not overlap, from stalls in any order.
pub(super) fn independent(mut stalls: Vec<StallUnit>) -> Vec<StallUnit> {
    stalls.sort_by_key(|stall| (stall.place, stall.from, stall.to));
    let mut units: Vec<StallUnit> = Vec::new();
    for stall in stalls {
        let overlaps =
            units.last().is_some_and(|last| last.place == stall.place && stall.from < last.to);
        if !overlaps {
            units.push(stall);
        }
    }
    units
}

fn is_exposed(scene: &WatchScene<'_>, unit: &StallUnit) -> bool {
    is_exposed_to(&scene.place(unit.place).own_time, unit)
}

fn is_exposed_to(discards: &BusyIntervals, unit: &StallUnit) -> bool {
    let span = unit.to.saturating_sub(unit.from);
    discards.meets(unit.from, unit.from + unit.slack)
        && discards.covered(unit.from, unit.to).times(2) >= span
}

/// Of all shifts: the mean share of units that discards expose, the same if they must be in flight
/// right at the beginning, and the p-value.
fn by_chance(scene: &WatchScene<'_>, units: &[StallUnit]) -> Option<(f64, f64, f64)> {
    let step = units.len().div_ceil(UNITS_MAX).max(1);
    let looked: Vec<&StallUnit> = units.iter().step_by(step).collect();
    let count = looked.len() as u64;
    let exposed = looked.iter().filter(|unit| is_exposed(scene, unit)).count() as u64;
    // The last sign of life before it, and its beginning.
    let signs: Vec<(Nanos, &StallUnit)> = looked
        .iter()
        .map(|unit| {
            let ends = &scene.place(unit.place).ends;
            let before = ends.partition_point(|end| *end <= unit.from).checked_sub(1);
            let last = before.map_or(Nanos::ZERO, |at| ends[at]);
            (last.min(unit.from.saturating_sub(unit.slack)), *unit)
        })
        .collect();
    let span = scene.seen.span;
    if count == 0 || span == Nanos::ZERO {
        return None;
    }
    let (mut rng, mut sum, mut least, mut as_many) = (Rng::new(SEED), 0, 0, 0);
    for shift in 0..SHIFTS {
        // One at random in each of so many equal parts.
        let within = Ppm(u32::try_from(rng.below(1_000_000)).expect("below a million"));
        let part = Nanos(span.0 / SHIFTS);
        let shift = part.times(shift) + part.scaled(within);
        let meets = |from: Nanos, unit: &StallUnit| {
            let window = (from + shift, unit.from + unit.slack + shift);
            meets_around(&scene.place(unit.place).own_time, window, span)
        };
        let met = signs.iter().filter(|(last, unit)| meets(*last, unit)).count() as u64;
        least += signs.iter().filter(|(_, unit)| meets(unit.from, unit)).count() as u64;
        sum += met;
        as_many += u64::from(met >= exposed);
    }
    let mean = |sum: u64| sum as f64 / SHIFTS as f64 / count as f64;
    Some((mean(sum), mean(least), (1 + as_many) as f64 / (1 + SHIFTS) as f64))
}

/// Whether intervals meet a window that reaches over the end of the span, and goes on at its
/// beginning.
fn meets_around(intervals: &BusyIntervals, (from, to): (Nanos, Nanos), span: Nanos) -> bool {
    let length = to.saturating_sub(from);
    let from = Nanos(from.0 % span.0);
    let over = (from + length).saturating_sub(span);
    intervals.meets(from, (from + length).min(span))
        || (over > Nanos::ZERO && intervals.meets(Nanos::ZERO, over))
}

/// The interval of 95 % of a share of which `hits` of `count` were seen. Source: E. B. Wilson,
/// "Probable inference, the law of succession, and statistical inference" (1927).
fn wilson(hits: u64, count: u64) -> [f64; 2] {
    let (n, z) = (count as f64, WILSON_Z);
    let share = hits as f64 / n;
    let middle = share + z * z / (2.0 * n);
    let spread = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let bound = |value: f64| (value / (1.0 + z * z / n)).clamp(0.0, 1.0);
    [bound(middle - spread), bound(middle + spread)]
}

#[cfg(test)]
mod tests;
