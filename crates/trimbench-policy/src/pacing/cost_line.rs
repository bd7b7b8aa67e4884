//! What discards cost, as a line: so long for each command, and so long for each MiB.
//!
//! A step of n commands and B bytes that took t is a point: B / n bytes took t / n a command.
//! Points are kept as moving means, one for each power of two of bytes; the line goes through the
//! means of the shortest and of the longest commands seen within [`KEPT`] steps. A drive whose cost
//! changes shows it in whichever size is used next, and all other points are scaled with it: a line
//! needs two points, and one that is old would bend it.

use trimbench_core::units::{index, narrow};
use trimbench_core::{Bytes, Nanos, Ppm};

use super::{Amount, scaled};

/// Powers of two of bytes that a command may have.
const OCTAVES: usize = 64;
const MIB: u64 = 1 << 20;
/// A point that so many steps have not refreshed is dropped, while two others make a line.
const KEPT: u64 = 32;
/// The same of a point of one step, which may have been a hiccup.
const KEPT_ALONE: u64 = 8;

/// Learns what discards cost.
#[derive(Clone, Debug)]
pub struct CostLine {
    points: [Option<Point>; OCTAVES],
    /// Moving mean of how far a step was from what was expected of it.
    error: Ppm,
    steps: u64,
}

/// A line: `command + bytes * mib / 1 MiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiscardCost {
    /// Of each command, however short.
    pub command: Nanos,
    /// Of each MiB.
    pub mib: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    bytes: Bytes,
    took: Nanos,
    /// The number of the step that it was refreshed by.
    step: u64,
    /// Whether it is of one step only.
    is_alone: bool,
}

impl Default for CostLine {
    fn default() -> Self {
        Self { points: [None; OCTAVES], error: Ppm(0), steps: 0 }
    }
}

impl CostLine {
    /// A step that discarded this much took so long. Nothing is learned from one without discards.
    pub fn learn(&mut self, done: Amount, took: Nanos) {
        if done.discards == 0 {
            return;
        }
        let expected = self.cost().map(|cost| cost.of(done));
        let point = Point {
            bytes: Bytes(done.bytes.0 / done.discards),
            took: Nanos(took.0 / done.discards),
            step: self.steps,
            is_alone: true,
        };
        let octave = index(u64::from(point.bytes.0.max(1).ilog2()));
        if let Some(expected) = expected {
            let off = took.0.abs_diff(expected.0);
            let off = scaled(Nanos(off), u64::from(Ppm::ONE.0), expected.0.max(1)).0;
            let off = narrow(off.min(u64::from(Ppm::ONE.0)));
            self.error = Ppm(self.error.0 - self.error.0 / 8 + off / 8);
            // One point says nothing of commands of another length.
            let is_known =
                self.points[octave].is_some() || self.points.iter().flatten().count() > 1;
            if is_known {
                self.follow(octave, took, expected);
            }
        }
        self.points[octave] = Some(match self.points[octave] {
            Some(old) => Point {
                bytes: Bytes(u64::midpoint(old.bytes.0, point.bytes.0)),
                // What delays a command is more often something else than what makes it fast.
                took: Nanos(u64::midpoint(old.took.0.min(2 * point.took.0), point.took.0)),
                is_alone: false,
                ..point
            },
            None => point,
        });
        self.steps += 1;
        self.drop_old();
    }

    /// The line; `None` before the first step. With commands of one length only, half of their cost
    /// is taken to be that of the command.
    pub fn cost(&self) -> Option<DiscardCost> {
        let mut known = self.points.iter().flatten();
        let short = *known.next()?;
        let Some(long) = known.next_back().filter(|long| long.bytes.0 >= 2 * short.bytes.0) else {
            let half = Nanos(short.took.0 / 2);
            return Some(DiscardCost { command: half, mib: scaled(half, MIB, short.bytes.0) });
        };
        let more = long.took.saturating_sub(short.took);
        let mib = scaled(more, MIB, long.bytes.0 - short.bytes.0);
        let command = short.took.saturating_sub(scaled(mib, short.bytes.0, MIB));
        Some(DiscardCost { command, mib })
    }

    /// The mean length of commands where all were about as long; `None` once two lengths make a
    /// line.
    pub fn only_length(&self) -> Option<Bytes> {
        let mut known = self.points.iter().flatten();
        let short = known.next()?;
        let long = known.next_back().filter(|long| long.bytes.0 >= 2 * short.bytes.0);
        long.is_none().then_some(short.bytes)
    }

    /// The mean length of the shortest commands; `None` before the first.
    pub fn shortest_length(&self) -> Option<Bytes> {
        self.points.iter().flatten().next().map(|point| point.bytes)
    }

    /// The mean length of the longest commands; `None` before the first.
    pub fn longest_length(&self) -> Option<Bytes> {
        self.points.iter().flatten().next_back().map(|point| point.bytes)
    }

    /// Moving mean of how far a step was from what was expected of it, as a share of that.
    pub fn error(&self) -> Ppm {
        self.error
    }

    /// Steps that it has learned from.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    fn drop_old(&mut self) {
        let steps = self.steps;
        let is_old =
            |point: &Point| steps - point.step > if point.is_alone { KEPT_ALONE } else { KEPT };
        let fresh = self.points.iter().flatten().filter(|point| !is_old(point)).count();
        if fresh >= 2 {
            self.points.iter_mut().for_each(|point| *point = point.filter(|it| !is_old(it)));
        }
    }

    /// Scales all points but that of `octave`, where a step shows that the cost has changed.
    fn follow(&mut self, octave: usize, took: Nanos, expected: Nanos) {
        let changed = took.0 > expected.0.saturating_mul(3) || took.0 < expected.0 / 3;
        if !changed {
            return;
        }
        // By half the way, as the point of the step itself moves.
        let half = u64::midpoint(took.0, expected.0);
        for (at, point) in self.points.iter_mut().enumerate() {
            if let Some(point) = point.as_mut().filter(|_| at != octave) {
                point.took = scaled(point.took, half, expected.0.max(1));
            }
        }
    }
}

impl DiscardCost {
    /// What this much takes.
    pub fn of(&self, amount: Amount) -> Nanos {
        let commands = Nanos(self.command.0.saturating_mul(amount.discards));
        commands.saturating_add(scaled(self.mib, amount.bytes.0, MIB))
    }

    /// How long a command may be to take no longer than `limit`; `None` if none is short enough.
    pub fn longest_within(&self, limit: Nanos) -> Option<Bytes> {
        let room = limit.0.checked_sub(self.command.0)?;
        let bytes = u128::from(room) * u128::from(MIB);
        let bytes = bytes.checked_div(u128::from(self.mib.0)).unwrap_or(u128::MAX);
        Some(Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests;
