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

use trimbench_core::{BlockCommand, Instant, Model, Nanos};
use trimbench_policy::Issuer;

use super::thread::{ROUND, cut};
use crate::commands::{Progress, Slot, Stage, Stop, ended};
use crate::extent::{Extent, bytes};
use crate::filesystem::FileSystem;

/// Between rounds (`DEFAULT_IO_TIMEOUT`).
const PAUSE: Nanos = Nanos::from_millis(20);

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    pub(super) fn trim_f2fs_step(&mut self, slot: Slot, now: Instant) -> Progress {
        if self.commands.get(slot).stage == Stage::Start {
            self.commands.set_stage(slot, Stage::Committing);
            if let Some(last) = self.journal.uncommitted() {
                self.await_commit(slot, last, now);
                return Err(Stop::Waits);
            }
        }
        if self.commands.get(slot).stage == Stage::Committing {
            self.commands.set_stage(slot, Stage::Moving);
            let online = self.config.discard == Some(Issuer::F2fs);
            let longest = self.lower.discard_max();
            let thread = &mut self.discards.thread;
            let filed = thread.file_free_space(&self.allocator, longest, online);
            if online {
                thread.wake(self.lower.foreground(), now);
                self.discards.counters.freed += bytes(filed);
                return Ok(());
            }
        }
        if self.discards.batches.iter().any(|batch| batch.trim == Some(slot)) {
            return Err(Stop::Waits);
        }
        let round = self.gather_trim(slot);
        if round.is_empty() {
            return ended(self.commands.get(slot).failure);
        }
        self.discards.send_batch(&mut self.lower, Some(slot), round, now);
        Err(Stop::Waits)
    }

    /// All discards of a round of so many ended.
    pub(super) fn trim_f2fs_goes_on(&mut self, slot: Slot, round: usize, now: Instant) {
        let pause = if round == ROUND { PAUSE } else { Nanos::ZERO };
        self.commands.schedule(now + pause, slot);
    }

    /// The next round: what is still free of the candidates from the command's place on.
    fn gather_trim(&mut self, slot: Slot) -> Vec<Extent> {
        let (longest, least) = (self.lower.discard_max(), self.trim_least());
        let untrimmed = &mut self.discards.thread.untrimmed;
        let command = self.commands.get(slot);
        let mut round = Vec::new();
        while round.len() < ROUND
            && let Some(candidate) = untrimmed.ending_behind(command.at)
        {
            let free: Vec<Extent> = self.allocator.free_runs(candidate).collect();
            if free != [candidate] {
                untrimmed.leave(candidate, &free);
                continue;
            }
            if candidate.length < least || candidate.length > self.allocator.available() {
                command.at = candidate.end();
                continue;
            }
            untrimmed.remove(candidate.start);
            let (pieces, rest) = cut(candidate, longest, ROUND - round.len());
            if let Some(rest) = rest {
                untrimmed.insert(rest);
            }
            for piece in pieces {
                self.allocator.withhold_for_trim(piece);
                command.at = piece.end();
                round.push(piece);
            }
        }
        round
    }
}
