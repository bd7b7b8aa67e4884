//! Durations of flash operations, by reservation of dies and channels.
//!
//! Model: die `g mod dies` holds program group `g`; channel `die mod channels` serves it. A program
//! transfers over the channel, then occupies the die; an erase occupies the die. Host reads occupy
//! the die first and the channel after, in two steps (see `ssd`). The collector's reads reserve the
//! channel without waiting for the die, so that work queued far ahead on one die does not block the
//! channel for the others; this moves their transfer earlier than it would be, not its length.
//!
//! With suspension a die keeps a list of what it has to do in place of one instant (`suspend`).
//!
//! Not modelled: read disturb, differences between pages.

use trimbench_core::{Instant, Nanos};

use crate::config::{SsdConfig, UNIT_BYTES};

mod map;
mod suspend;

use map::MapTiming;
use suspend::{Kind, SuspendingDies};

#[cfg(test)]
mod tests;

/// A resource that does one thing at a time: the instant at which it is next free.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resource(Instant);

impl Resource {
    /// Takes the resource for `span` as soon as possible from `from` on; when it is done.
    #[inline]
    pub(crate) fn reserve(&mut self, from: Instant, span: Nanos) -> Instant {
        self.0 = self.0.max(from) + span;
        self.0
    }

    /// When it is next free.
    #[inline]
    pub(crate) fn free_at(self) -> Instant {
        self.0
    }
}

/// Time to move one byte, as a reciprocal that needs no division on the hot path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Nanoseconds for 2^20 bytes, rounded to nearest: below 1 ppm of error at any real rate.
    per_mib: u64,
}

impl Rate {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        debug_assert!(bytes_per_second > 0);
        let exact = u128::from(1_000_000_000_u64) << 20;
        let per_mib = (exact + u128::from(bytes_per_second) / 2) / u128::from(bytes_per_second);
        Self { per_mib: u64::try_from(per_mib).expect("a rate of at least a byte a second") }
    }

    #[inline]
    pub(crate) fn span(self, bytes: u64) -> Nanos {
        Nanos((bytes * self.per_mib) >> 20)
    }
}

/// The dies and channels.
#[derive(Debug)]
pub(crate) struct Nand {
    dies: Vec<Resource>,
    /// In their place, where reads interrupt programs and erases.
    suspending: Option<SuspendingDies>,
    channels: Vec<Resource>,
    read: Nanos,
    program: Nanos,
    /// The same for one bit a cell.
    cache_read: Nanos,
    cache_program: Nanos,
    /// Of an emulated superblock's part on one die: the real erase, in proportion to its size.
    erase: Nanos,
    program_transfer: Nanos,
    rate: Rate,
    /// Of translation pages.
    map: MapTiming,
}

impl Nand {
    pub(crate) fn new(config: &SsdConfig) -> Self {
        let geometry = &config.geometry;
        let rate = Rate::new(config.nand.channel_rate.0);
        // Programs of one superblock on one die, in millionths so that small superblocks, which do
        // not reach every die, are charged the right total.
        let programs = geometry.superblock.0 / geometry.program_bytes.0;
        let scaled = u128::from(config.nand.erase.0) * u128::from(programs)
            / (u128::from(geometry.dies) * u128::from(geometry.programs_per_erase));
        let cache = config.slc_cache.as_ref();
        Self {
            cache_read: cache.map_or(config.nand.read, |cache| cache.read),
            cache_program: cache.map_or(config.nand.program, |cache| cache.program),
            dies: vec![Resource::default(); geometry.dies as usize],
            suspending: config
                .nand
                .suspend
                .map(|suspend| SuspendingDies::new(suspend, geometry.dies as usize)),
            channels: vec![Resource::default(); geometry.channels as usize],
            read: config.nand.read,
            program: config.nand.program,
            erase: Nanos(u64::try_from(scaled).unwrap_or(u64::MAX)),
            program_transfer: rate.span(geometry.program_bytes.0),
            rate,
            map: config.mapping_cache.as_ref().map_or_else(MapTiming::default, MapTiming::new),
        }
    }

    /// How many dies there are.
    pub(crate) fn die_count(&self) -> u32 {
        u32::try_from(self.dies.len()).expect("configured as u32")
    }

    /// The die of a program group.
    #[inline]
    pub(crate) fn die_of(&self, group: u32) -> u32 {
        group % self.die_count()
    }

    /// Programs a group that the collector fills; when it is durable.
    #[inline]
    pub(crate) fn program(&mut self, die: u32, from: Instant) -> Instant {
        self.program_for(self.program, die, from, None)
    }

    /// Programs a group of the host's, in the SLC cache or beside it; when it is durable.
    #[inline]
    pub(crate) fn program_host(&mut self, group: u32, cached: bool, from: Instant) -> Instant {
        let span = if cached { self.cache_program } else { self.program };
        self.program_for(span, self.die_of(group), from, Some(group))
    }

    #[inline]
    fn program_for(&mut self, span: Nanos, die: u32, from: Instant, group: Option<u32>) -> Instant {
        if let Some(dies) = &mut self.suspending {
            dies.forget(die, from);
        }
        let transfer = self.program_transfer;
        let transferred = self.channel(die).reserve(from, transfer);
        self.operate(die, transferred, span, Kind::Program(group))
    }

    /// An operation of a die that is not a read by the host.
    #[inline]
    fn operate(&mut self, die: u32, from: Instant, span: Nanos, kind: Kind) -> Instant {
        match &mut self.suspending {
            None => self.dies[die as usize].reserve(from, span),
            Some(dies) => dies.operate(die, from, span, kind),
        }
    }

    /// The programs of the host's groups that a die has to do, and their ends; nothing where reads
    /// do not change them.
    #[inline]
    pub(crate) fn programs_of(&self, die: u32) -> impl Iterator<Item = (u32, Instant)> {
        self.suspending.iter().flat_map(move |dies| dies.programs(die))
    }

    /// The die phase of a host read; the channel phase follows when it ends.
    #[inline]
    pub(crate) fn sense(&mut self, die: u32, from: Instant) -> Instant {
        self.sense_for(self.read, die, from)
    }

    /// The same for a group of the SLC cache.
    #[inline]
    pub(crate) fn sense_cache(&mut self, die: u32, from: Instant) -> Instant {
        self.sense_for(self.cache_read, die, from)
    }

    #[inline]
    fn sense_for(&mut self, span: Nanos, die: u32, from: Instant) -> Instant {
        match &mut self.suspending {
            None => self.dies[die as usize].reserve(from, span),
            Some(dies) => dies.sense(die, from, span),
        }
    }

    /// The channel phase of a host read of `units` from `die`.
    #[inline]
    pub(crate) fn transfer(&mut self, die: u32, units: u32, from: Instant) -> Instant {
        let span = self.rate.span(u64::from(units) * UNIT_BYTES);
        self.channel(die).reserve(from, span)
    }

    /// A read by the collector: die and channel independently.
    #[inline]
    pub(crate) fn collect(&mut self, die: u32, units: u32, from: Instant) {
        self.operate(die, from, self.read, Kind::Other);
        self.transfer(die, units, from);
    }

    /// The same from a group of the SLC cache.
    #[inline]
    pub(crate) fn collect_cache(&mut self, die: u32, units: u32, from: Instant) {
        self.operate(die, from, self.cache_read, Kind::Other);
        self.transfer(die, units, from);
    }

    /// Erases one die's part of a superblock.
    #[inline]
    pub(crate) fn erase(&mut self, die: u32, from: Instant) {
        self.operate(die, from, self.erase, Kind::Erase);
    }

    /// When a die is next free.
    #[inline]
    pub(crate) fn die_free_at(&self, die: u32) -> Instant {
        match &self.suspending {
            None => self.dies[die as usize].free_at(),
            Some(dies) => dies.free_at(die),
        }
    }

    /// Occupies every die for `span` from `from` on: what a slice of background TRIM steals.
    pub(crate) fn occupy_dies(&mut self, from: Instant, span: Nanos) {
        for die in 0..self.die_count() {
            self.operate(die, from, span, Kind::Other);
        }
    }

    #[inline]
    fn channel(&mut self, die: u32) -> &mut Resource {
        let channel = die as usize % self.channels.len();
        &mut self.channels[channel]
    }
}
