//! Simple mixes: shares of kinds, one size, a share of sequential writes.

use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Nanos, Ppm};

use super::{BATCH, UNIT};
use crate::record::{Record, RecordKind};
use crate::source::{TraceError, TraceSource};

/// Writes that are remembered, for TRIMs of what was written.
const REMEMBERED: usize = 65_536;

/// Which mix is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixConfig {
    /// The space in which it reads and writes.
    pub capacity: Bytes,
    /// Commands in all.
    pub commands: u64,
    /// Shares of reads, TRIMs and flushes; the rest are writes.
    pub reads: Ppm,
    /// See `reads`.
    pub discards: Ppm,
    /// See `reads`.
    pub flushes: Ppm,
    /// Bytes of a command: a multiple of 4 KiB.
    pub size: Bytes,
    /// The share of reads and writes that go on where the one before ended.
    pub sequential: Ppm,
    /// Time between two commands, on average.
    pub gap: Nanos,
}

/// A mix that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MixError {
    /// The shares of reads, TRIMs and flushes are more than all.
    #[error("reads, TRIMs and flushes are {0} of all commands; give at most 100% together")]
    Shares(Ppm),
    /// The size is not a multiple of 4 KiB, or zero.
    #[error("`{0}` is not a multiple of {UNIT}; give one")]
    Size(Bytes),
    /// The capacity does not hold one command.
    #[error("a capacity of {capacity} is too small for a command of {size}")]
    Capacity {
        /// The space.
        capacity: Bytes,
        /// Bytes of a command.
        size: Bytes,
    },
}

/// Its commands.
#[derive(Clone, Debug)]
pub struct Mix {
    config: MixConfig,
    rng: Rng,
    /// Where commands of the size were written and not trimmed since, the oldest overwritten.
    remembered: Vec<Bytes>,
    next: Bytes,
    made: u64,
    time: Nanos,
}

impl Mix {
    /// From its beginning.
    pub fn new(config: MixConfig, rng: Rng) -> Result<Self, MixError> {
        let MixConfig { capacity, size, reads, discards, flushes, .. } = config;
        let shares = [reads, discards, flushes].map(|share| u64::from(share.0)).iter().sum::<u64>();
        if shares > u64::from(Ppm::ONE.0) {
            return Err(MixError::Shares(Ppm(u32::try_from(shares).unwrap_or(u32::MAX))));
        }
        if size.0 == 0 || !size.0.is_multiple_of(UNIT.0) {
            return Err(MixError::Size(size));
        }
        if capacity < size {
            return Err(MixError::Capacity { capacity, size });
        }
        let (next, time) = (Bytes(0), Nanos::ZERO);
        Ok(Self { config, rng, remembered: Vec::new(), next, made: 0, time })
    }

    /// The kind of the next command. A TRIM needs something to trim, and is else a write.
    fn kind(&mut self) -> RecordKind {
        let mut drawn = self.rng.below(u64::from(Ppm::ONE.0));
        let MixConfig { reads, discards, flushes, .. } = self.config;
        for (kind, share) in [
            (RecordKind::Read, reads),
            (RecordKind::Discard, discards),
            (RecordKind::Flush, flushes),
        ] {
            if drawn < u64::from(share.0) {
                let nothing = kind == RecordKind::Discard && self.remembered.is_empty();
                return if nothing { RecordKind::Write } else { kind };
            }
            drawn -= u64::from(share.0);
        }
        RecordKind::Write
    }

    /// Where the next read or write goes.
    fn place(&mut self) -> Bytes {
        let MixConfig { capacity, size, sequential, .. } = self.config;
        let offset = if self.rng.chance(sequential) && self.next + size <= capacity {
            self.next
        } else {
            Bytes(self.rng.below((capacity - size).0 / UNIT.0 + 1) * UNIT.0)
        };
        self.next = offset + size;
        offset
    }

    fn remember(&mut self, offset: Bytes) {
        if self.remembered.len() < REMEMBERED {
            self.remembered.push(offset);
        } else {
            let place = index(self.rng.below(REMEMBERED as u64));
            self.remembered[place] = offset;
        }
    }

    fn command(&mut self) -> Record {
        let (kind, time, size) = (self.kind(), self.time, self.config.size);
        self.time += Nanos(self.rng.below(2 * self.config.gap.0 + 1));
        let offset = match kind {
            RecordKind::Flush => return Record { time, kind, offset: Bytes(0), length: Bytes(0) },
            RecordKind::Discard => {
                let place = index(self.rng.below(self.remembered.len() as u64));
                self.remembered.swap_remove(place)
            }
            RecordKind::Read => self.place(),
            RecordKind::Write => {
                let offset = self.place();
                self.remember(offset);
                offset
            }
        };
        Record { time, kind, offset, length: size }
    }
}

impl TraceSource for Mix {
    fn is_timed(&self) -> bool {
        true
    }

    fn read(&mut self, batch: &mut Vec<Record>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < BATCH && self.made < self.config.commands {
            self.made += 1;
            let record = self.command();
            batch.push(record);
        }
        Ok(())
    }
}
