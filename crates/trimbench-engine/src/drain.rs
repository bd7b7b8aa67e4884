//! Makes a filesystem send its discards, and watches them until they are over.

use trimbench_core::{
    Bytes, DeviceStatistics, FileCommand, FileId, ForceDiscards, Instant, Nanos, Operation, Target,
};

use crate::runner::{RunError, Runner};

/// How often the device's counters are read meanwhile.
const LOOK_EVERY: Nanos = Nanos::from_millis(50);

/// What is written to the file that forces the log.
pub const SCRATCH_LENGTH: Bytes = Bytes(4_096);

/// A file to make dirty and sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scratch {
    /// It is made for that and removed.
    Made(FileId),
    /// It is there.
    Kept(FileId),
}

/// What makes a filesystem send the discards of what was deleted: one after the other.
pub fn force(rule: ForceDiscards, scratch: Scratch) -> Vec<FileCommand> {
    let sync = FileCommand::SyncFilesystem;
    let (Scratch::Made(file) | Scratch::Kept(file)) = scratch;
    let dirty = FileCommand::Write { file, offset: Bytes(0), length: SCRATCH_LENGTH };
    let fsync = FileCommand::Fsync { file };
    match (rule, scratch) {
        (ForceDiscards::Sync, _) => vec![sync],
        (ForceDiscards::FsyncDirtyFile, Scratch::Kept(_)) => vec![sync, dirty, fsync],
        (ForceDiscards::FsyncDirtyFile, Scratch::Made(_)) => {
            let (create, unlink) = (FileCommand::Create { file }, FileCommand::Unlink { file });
            vec![sync, create, dirty, fsync, unlink]
        }
    }
}

/// When the device was last seen to discard.
#[derive(Debug)]
pub struct Discards {
    bytes: Bytes,
    /// What the filesystem still means to discard. On btrfs some is never discarded: each overwrite
    /// of the load frees a piece that is too small. So it counts while it falls, not while it is.
    pending: Option<Bytes>,
    last_change: Instant,
}

impl Discards {
    /// Of a target as it is now.
    pub fn of<T: Target + ?Sized>(target: &T) -> Self {
        let DeviceStatistics { discard, discard_pending: pending, .. } = target.statistics();
        Self { bytes: discard.bytes, pending, last_change: target.now() }
    }

    /// Takes in what the counters show.
    pub fn note(&mut self, statistics: DeviceStatistics, now: Instant) {
        let falls = statistics.discard_pending < self.pending;
        if falls || statistics.discard.bytes != self.bytes {
            self.bytes = statistics.discard.bytes;
            self.last_change = now;
        }
        self.pending = statistics.discard_pending;
    }

    /// When they last changed.
    pub fn last_change(&self) -> Instant {
        self.last_change
    }

    /// Waits until no discard has come for as long as the target's drain rule says, nor before
    /// `latest_start`.
    pub fn quiet<T>(
        &mut self,
        target: &mut T,
        runner: &mut Runner<T::Command>,
        latest_start: Instant,
    ) -> Result<(), RunError>
    where
        T: Target<Command: Operation> + ?Sized,
    {
        let drain = target.capabilities().drain;
        let give_up = target.now() + drain.timeout;
        loop {
            let now = target.now();
            self.note(target.statistics(), now);
            let quiet_since = self.last_change.max(latest_start);
            let is_quiet = now >= quiet_since && now.since(quiet_since) >= drain.quiet;
            if is_quiet || now >= give_up {
                return Ok(());
            }
            runner.idle_until(target, now + LOOK_EVERY)?;
        }
    }
}
