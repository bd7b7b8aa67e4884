//! The cost of a TRIM, and the work that a drive postpones.
//!
//! Model: `cost = command + ranges * range + (mapped - uncharged) * per_gib_mapped + unmapped *
//! per_gib_unmapped + tail`, where the tail is 0 or, by chance, exponentially distributed with a
//! mean that grows with what is mapped. Fitted and measured: command 0 to 82 ms (about 70 us on
//! NVMe drives), mapped 0.2 ms to about 0.27 s a GiB (S0, S1, SSDIQ; `docs/references.md`). In
//! background mode only `command` is paid at once; the rest becomes a backlog that is processed in
//! slices. While the host is busy, each period takes a share of the controller and of all dies;
//! while it is idle, all of the time (and then delays nobody). A drive may bound the backlog: then
//! a TRIM is acknowledged when all work up to and including its own, minus the bound, is done.

use std::collections::VecDeque;
use std::ops::Range;

use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{Bytes, Instant, Nanos, Ppm};

use crate::config::{SsdConfig, TrimConfig};
use crate::mapping::Deallocated;
use crate::slots::Slot;
use crate::unit::UnitSize;

#[cfg(test)]
mod tests;

/// What a discard found, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    mapped: Bytes,
    unmapped: Bytes,
}

impl Found {
    pub(crate) fn new(units: Deallocated, unit: UnitSize) -> Self {
        Self { mapped: unit.bytes(units.mapped), unmapped: unit.bytes(units.unmapped) }
    }
}

/// What one discard of so many ranges of the protocol costs beyond its command overhead.
pub(crate) fn work(config: &TrimConfig, ranges: u64, found: Found) -> Nanos {
    let ranges = config.range.times(ranges);
    let charged = Bytes(found.mapped.0.saturating_sub(config.uncharged.0));
    ranges + share(charged, config.per_gib_mapped) + share(found.unmapped, config.per_gib_unmapped)
}

/// So much at a price for a GiB.
fn share(bytes: Bytes, per_gib: Nanos) -> Nanos {
    let product = (u128::from(bytes.0) * u128::from(per_gib.0)) >> 30;
    Nanos(u64::try_from(product).unwrap_or(u64::MAX))
}

/// What a TRIM costs by chance beyond its [`work`].
#[derive(Debug)]
pub(crate) struct Tail(Rng);

impl Default for Tail {
    fn default() -> Self {
        Self(Rng::new(0).split("trim-tail"))
    }
}

impl Tail {
    /// Of the next discard.
    pub(crate) fn next(&mut self, config: &TrimConfig, found: Found) -> Nanos {
        if config.tail_chance == Ppm(0) || !self.0.chance(config.tail_chance) {
            return Nanos::ZERO;
        }
        self.0.exponential(share(found.mapped, config.tail_per_gib))
    }
}

/// The granules, which a drive frees as a whole, in mapping units.
///
/// ```text
/// alignment        granularity
///    |<-------------------->|                      |                      |
///  --+----------------------+----------------------+----------------------+--
///            [ ............. a discard ................... ]
///                           [ what is freed        ]
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granules {
    size: u32,
    offset: u32,
}

impl Granules {
    pub(crate) fn new(config: &SsdConfig) -> Self {
        let units = |bytes: Bytes| narrow(config.unit().units(bytes));
        Self { size: units(config.discard_granularity()), offset: units(config.trim.alignment) }
    }

    /// Those of these units that make whole granules; empty if there are none.
    pub(crate) fn within(self, units: Range<u32>) -> Range<u32> {
        if self.size == 1 {
            return units;
        }
        let (size, offset) = (u64::from(self.size), u64::from(self.offset));
        let begin = u64::from(units.start).saturating_sub(offset).div_ceil(size) * size + offset;
        let stop = u64::from(units.end).saturating_sub(offset) / size * size + offset;
        if begin < stop { narrow(begin)..narrow(stop) } else { units.start..units.start }
    }
}

/// TRIM work that was put off.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// All work that was ever put off, and what of it is done.
    added: Nanos,
    done: Nanos,
    /// TRIMs that wait until the backlog has shrunk, in their order.
    held: VecDeque<Held>,
    /// When the next slice begins; meaningful while something is pending.
    slice_at: Instant,
    /// When the period of the last slice ends: no other begins before.
    paused_until: Instant,
    config: TrimConfig,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    slot: Slot,
    /// The work that must be done before.
    until_done: Nanos,
    /// No earlier than this.
    at: Instant,
}

impl Backlog {
    pub(crate) fn new(config: &TrimConfig) -> Self {
        Self {
            added: Nanos::ZERO,
            done: Nanos::ZERO,
            held: VecDeque::new(),
            slice_at: Instant::NEVER,
            paused_until: Instant::START,
            config: *config,
        }
    }

    pub(crate) fn add(&mut self, now: Instant, work: Nanos) {
        if self.pending() == Nanos::ZERO && work > Nanos::ZERO {
            self.slice_at = now.max(self.paused_until);
        }
        self.added += work;
    }

    /// Whether the TRIM whose work was added last must wait for the backlog. If so,
    /// [`Self::acknowledged`] gives it back, at `at` or later.
    pub(crate) fn hold(&mut self, slot: Slot, at: Instant) -> bool {
        let until_done = self
            .config
            .background_bound
            .map_or(Nanos::ZERO, |bound| self.added.saturating_sub(bound));
        let waits = until_done > self.done;
        if waits {
            self.held.push_back(Held { slot, until_done, at });
        }
        waits
    }

    /// Work still to do.
    pub(crate) fn pending(&self) -> Nanos {
        self.added - self.done
    }

    pub(crate) fn held(&self) -> u32 {
        narrow(self.held.len() as u64)
    }

    /// When the next slice begins; never when there is nothing to do.
    #[inline]
    pub(crate) fn next_slice(&self) -> Instant {
        self.slice_at
    }

    /// Does the slice that is due; how long it takes, of the foreground unless it is `idle`.
    pub(crate) fn run_slice(&mut self, idle: bool) -> Nanos {
        debug_assert!(self.pending() > Nanos::ZERO, "slices end with the work");
        let done = self.config.slice(idle).min(self.pending());
        self.done += done;
        self.paused_until = self.slice_at + self.config.background_slice;
        let left = self.pending() > Nanos::ZERO;
        self.slice_at = if left { self.paused_until } else { Instant::NEVER };
        done
    }

    /// The next TRIM that is acknowledged by a slice that began at `at` and took `took`: the first
    /// that waits, if the work before it is done, and when.
    pub(crate) fn acknowledged(&mut self, at: Instant, took: Nanos) -> Option<(Slot, Instant)> {
        let first = *self.held.front()?;
        if first.until_done > self.done {
            return None;
        }
        self.held.pop_front();
        let begun_with = self.done - took;
        Some((first.slot, (at + first.until_done.saturating_sub(begun_with)).max(first.at)))
    }

    /// Forgets all work.
    pub(crate) fn clear(&mut self) {
        debug_assert!(self.held.is_empty(), "no command is outstanding");
        (self.added, self.done) = (Nanos::ZERO, Nanos::ZERO);
        self.slice_at = Instant::NEVER;
        self.paused_until = Instant::START;
    }
}
