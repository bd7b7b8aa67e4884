//! Durations of flash operations, by reservation of dies and channels.
//!
//! Model: die `g mod dies` holds program group `g`; channel `die mod channels` serves it. A program
//! transfers over the channel, then occupies the die; an erase occupies the die. Host reads occupy
//! the die first and the channel after, in two steps (see `ssd`). Garbage-collection reads reserve
//! the channel without waiting for the die, so work queued far ahead on one die does not block the
//! channel for others; this moves their transfer earlier than it would be, but keeps its length.
//!
//! With suspension a die keeps a list of its operations instead of one instant (`suspend`).
//!
//! Not modelled: read disturb, differences between pages.

use trimbench_core::units::narrow;
use trimbench_core::{Instant, Nanos};

use crate::config::SsdConfig;
use crate::unit::PIECE_BYTES;

mod suspend;

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

/// What a page is kept in: how long it takes depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cells {
    /// Host data, in as many bits a cell as the drive has.
    Data,
    /// Host data in the SLC cache, one bit a cell.
    Cache,
    /// Translation pages: page `p` lies on die `p mod dies`, read and programmed alone.
    Map,
}

impl Cells {
    /// Those of host data.
    pub(crate) fn of(cached: bool) -> Self {
        if cached { Self::Cache } else { Self::Data }
    }
}

/// How long the operations of a kind of cells take.
#[derive(Clone, Copy, Debug, Default)]
struct CellTiming {
    read: Nanos,
    /// Of a read by the collector.
    collected: Nanos,
    program: Nanos,
    /// Over the channel, before a program.
    transfer: Nanos,
}

/// The dies and channels.
#[derive(Debug)]
pub(crate) struct Nand {
    dies: Vec<Resource>,
    /// In their place, where reads interrupt programs and erases.
    suspending: Option<SuspendingDies>,
    channels: Vec<Resource>,
    /// The same for the host's reads alone, where they go first; else empty.
    reads_first: Vec<Resource>,
    /// By [`Cells`].
    timings: [CellTiming; 3],
    /// Of an emulated superblock's part on one die: the real erase, in proportion to its size.
    erase: Nanos,
    rate: Rate,
    /// Pieces of a translation page.
    map_pieces: u32,
}

impl Nand {
    pub(crate) fn new(config: &SsdConfig) -> Self {
        let (geometry, nand) = (&config.geometry, &config.nand);
        let rate = Rate::new(nand.channel_rate.0);
        // Programs of one superblock on one die, in millionths so that small superblocks, which do
        // not reach every die, are charged the right total.
        let programs = geometry.superblock.0 / geometry.program_bytes.0;
        let scaled = u128::from(nand.erase.0) * u128::from(programs)
            / (u128::from(geometry.dies) * u128::from(geometry.programs_per_erase));
        let transfer = rate.span(geometry.program_bytes.0);
        let collected = config.gc.read.unwrap_or(nand.read);
        let data = CellTiming { read: nand.read, collected, program: nand.program, transfer };
        let cache = config.slc_cache.map_or(data, |cache| CellTiming {
            read: cache.read,
            collected: cache.read,
            program: cache.program,
            transfer,
        });
        let map = config.mapping_cache.map_or_else(CellTiming::default, |map| CellTiming {
            read: map.read,
            collected: map.read,
            program: map.program,
            transfer: rate.span(map.page.0),
        });
        let dies = geometry.dies as usize;
        Self {
            dies: vec![Resource::default(); dies],
            suspending: nand.suspend.map(|suspend| SuspendingDies::new(suspend, dies)),
            channels: vec![Resource::default(); geometry.channels as usize],
            reads_first: match nand.suspend {
                Some(suspend) if suspend.channel => {
                    vec![Resource::default(); geometry.channels as usize]
                }
                _ => Vec::new(),
            },
            timings: [data, cache, map],
            erase: Nanos(u64::try_from(scaled).unwrap_or(u64::MAX)),
            rate,
            map_pieces: config.mapping_cache.map_or(0, |map| narrow(map.page.0 / PIECE_BYTES)),
        }
    }

    pub(crate) fn die_count(&self) -> u32 {
        u32::try_from(self.dies.len()).expect("configured as u32")
    }

    #[inline]
    pub(crate) fn die_of(&self, group: u32) -> u32 {
        group % self.die_count()
    }

    /// Mapping units that a translation page is as large as.
    pub(crate) fn map_pieces(&self) -> u32 {
        self.map_pieces
    }

    /// How long `pages` translation pages take that are read on all dies at once.
    pub(crate) fn map_reads(&self, pages: u32) -> Nanos {
        let map = self.timings[Cells::Map as usize];
        (map.read + map.transfer).times(pages.div_ceil(self.die_count()).into())
    }

    /// Programs a group or a translation page; when it is durable. `host` is the group if it is the
    /// host's: reads that move its end are told of it by [`Self::programs_of`].
    #[inline]
    pub(crate) fn program(
        &mut self,
        cells: Cells,
        die: u32,
        from: Instant,
        host: Option<u32>,
    ) -> Instant {
        if let Some(dies) = &mut self.suspending {
            dies.forget(die, from);
        }
        let CellTiming { program, transfer, .. } = self.timings[cells as usize];
        let transferred = self.channel(die).reserve(from, transfer);
        self.operate(die, transferred, program, Kind::Program(host))
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

    /// When the program began that ends at `end`, if no read interrupts it.
    #[inline]
    pub(crate) fn begun(&self, cells: Cells, end: Instant) -> Instant {
        let span = self.timings[cells as usize].program;
        Instant::from_start(end.since_start().saturating_sub(span))
    }

    /// The die phase of a read that a command waits for; the channel phase follows when it ends.
    #[inline]
    pub(crate) fn sense(&mut self, cells: Cells, die: u32, from: Instant) -> Instant {
        let span = self.timings[cells as usize].read;
        match &mut self.suspending {
            None => self.dies[die as usize].reserve(from, span),
            Some(dies) => dies.sense(die, from, span),
        }
    }

    /// The channel phase of a host read of so many pieces from `die`.
    #[inline]
    pub(crate) fn transfer(&mut self, die: u32, pieces: u32, from: Instant) -> Instant {
        let span = self.rate.span(u64::from(pieces) * PIECE_BYTES);
        if self.reads_first.is_empty() {
            return self.channel(die).reserve(from, span);
        }
        // What is reserved already is moved back by as much.
        let channel = self.channel(die);
        channel.reserve(channel.free_at().max(from), span);
        let channel = die as usize % self.channels.len();
        self.reads_first[channel].reserve(from, span)
    }

    /// Reads of so many pages by the collector, with so many pieces to move: die and channel
    /// independently.
    #[inline]
    pub(crate) fn collect(
        &mut self,
        cells: Cells,
        die: u32,
        (pages, pieces): (u32, u32),
        from: Instant,
    ) {
        let span = self.timings[cells as usize].collected.times(pages.into());
        self.operate(die, from, span, Kind::Collected);
        let span = self.rate.span(u64::from(pieces) * PIECE_BYTES);
        self.channel(die).reserve(from, span);
    }

    /// Erases one die's part of a superblock.
    #[inline]
    pub(crate) fn erase(&mut self, die: u32, from: Instant) {
        self.operate(die, from, self.erase, Kind::Erase);
    }

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
