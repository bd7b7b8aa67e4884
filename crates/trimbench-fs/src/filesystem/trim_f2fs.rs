//! FITRIM of f2fs, after `f2fs_trim_fs` (fs/f2fs/segment.c, Linux 6.6 to 7.3). By reading only.
//!
//! It writes a checkpoint, which files what is free and neither discarded nor a candidate. f2fs
//! remembers that as long as it is mounted, and across mounts if everything was discarded at the
//! unmount, or by mkfs. If the filesystem discards online, that is all: the thread discards it some
//! time later, and FITRIM says that it trimmed 0 bytes. Else the candidates go in the order of
//! addresses in rounds of 8, each in one plug; the next comes 20 ms after the last discard of the
//! round ended.
//!
//! Simplified: the lock against the cleaner (`gc_lock`) holds up nothing here.

use trimbench_core::{BlockCommand, Errno, Instant, Model, Nanos, Support};
use trimbench_policy::Issuer;

use crate::commands::{Progress, Slot, Stage, Stop, ended, require};
use crate::config::FS_BLOCK;
use crate::discards::bytes;
use crate::extent::Extent;

use super::FileSystem;
use super::discard_thread::{ROUND, cut};

/// Between rounds (`DEFAULT_IO_TIMEOUT`).
const PAUSE: Nanos = Nanos::from_millis(20);

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    pub(super) fn trim_f2fs_step(&mut self, slot: Slot, now: Instant) -> Progress {
        require(self.lower.capabilities().discard != Support::None, Errno::EOPNOTSUPP)?;
        if self.commands.get(slot).stage == Stage::Start {
            self.set_stage(slot, Stage::Committing);
            if let Some(last) = self.last_transaction() {
                self.await_commit(slot, last, now);
                return Err(Stop::Waits);
            }
        }
        if self.commands.get(slot).stage == Stage::Committing {
            self.set_stage(slot, Stage::Moving);
            let filed = self.file_free_space();
            if self.config.discard == Some(Issuer::F2fs) {
                self.discards.counters.freed += bytes(filed);
                self.wake_thread(now);
                return Ok(());
            }
        }
        let under_way = self.discards.batches.iter().any(|batch| batch.trim == Some(slot));
        if under_way {
            return Err(Stop::Waits);
        }
        let round = self.gather_trim(slot);
        if round.is_empty() {
            return ended(self.commands.get(slot).failure);
        }
        let length: u64 = round.iter().map(|extent| extent.length).sum();
        let (_, sent) = self.send_batch(Some(slot), round, now);
        self.discards.counters.trim_issued += u64::from(sent);
        self.discards.counters.trimmed += bytes(length);
        Err(Stop::Waits)
    }

    /// All discards of a round of so many ended.
    pub(super) fn trim_f2fs_goes_on(&mut self, slot: Slot, round: usize, now: Instant) {
        let pause = if round == ROUND { PAUSE } else { Nanos::ZERO };
        self.commands.schedule(now + pause, slot);
    }

    /// The next round: what is still free of the candidates from the command's place on.
    fn gather_trim(&mut self, slot: Slot) -> Vec<Extent> {
        let longest = self.lower.discard_max();
        let granularity = self.capabilities.discard_granularity;
        let least = self.config.trim_minimum.max(granularity).pieces(FS_BLOCK).max(1);
        let mut round = Vec::new();
        let mut at = self.commands.get(slot).at;
        while round.len() < ROUND
            && let Some(candidate) = self.discards.untrimmed.ending_behind(at)
        {
            let free = self.free_parts(candidate);
            if free != [candidate] {
                self.discards.untrimmed.leave(candidate, &free);
                continue;
            }
            let room = self.allocator.obtainable() >= self.cache.delayed + candidate.length;
            if candidate.length < least || !room {
                at = candidate.end();
                continue;
            }
            self.discards.untrimmed.remove(candidate.start);
            let (pieces, rest) = cut(candidate, longest, ROUND - round.len());
            if let Some(rest) = rest {
                self.discards.untrimmed.insert(rest);
            }
            for piece in pieces {
                self.allocator.withhold(piece);
                self.allocator.use_up(piece);
                at = piece.end();
                round.push(piece);
            }
        }
        self.commands.get(slot).at = at;
        round
    }
}
