//! FITRIM.
//!
//! After `ext4_trim_fs`: group by group, one free extent after the other, each withheld from
//! allocation while it is discarded. A trimmed group is skipped until blocks of it are freed; a
//! mount resets that. btrfs remembers nothing, and its block groups are of 1 GiB. XFS has
//! `trim_xfs.rs`, f2fs `trim_f2fs.rs` and `thread.rs`. Unlike ext4, all skip an extent if this
//! would withhold space that dirty pages were promised.

use trimbench_core::{BlockCommand, Errno, Instant, Model, Support};

use crate::commands::{Progress, Slot, Stage, Stop, ended, require};
use crate::config::FS_BLOCK;
use crate::extent::Extent;
use crate::filesystem::FileSystem;
use crate::kind::FsKind;
use crate::lower::{Owner, Transfer};

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// A step of FITRIM.
    pub(crate) fn trim_step(&mut self, slot: Slot, now: Instant) -> Progress {
        require(self.lower.capabilities().discard != Support::None, Errno::EOPNOTSUPP)?;
        match self.config.kind {
            FsKind::Ext4 | FsKind::Btrfs => self.trim_by_groups(slot, now),
            FsKind::Xfs => self.trim_xfs_step(slot, now),
            FsKind::F2fs => self.trim_f2fs_step(slot, now),
        }
    }

    /// The shortest free extent that ext4, btrfs and f2fs discard.
    pub(super) fn trim_least(&self) -> u64 {
        let granularity = self.lower.capabilities().discard_granularity;
        self.config.trim_minimum.max(granularity).pieces(FS_BLOCK).max(1)
    }

    fn trim_by_groups(&mut self, slot: Slot, now: Instant) -> Progress {
        let command = self.commands.get(slot);
        let (mut at, failure, withheld) = (command.at, command.failure, command.withheld.take());
        if let Some(extent) = withheld {
            self.allocator.give(extent);
            self.discards.trimming -= extent.length;
            self.space_came(now);
        }
        let (least, size) = (self.trim_least(), self.allocator.group_fs_blocks());
        // btrfs trims whatever is free each time, by block groups of its own.
        let is_ext4 = self.config.kind == FsKind::Ext4;
        let border = self.config.kind.border(size).unwrap_or(size);
        while failure.is_none() && at < self.allocator.total() {
            let (from, next) = (at, (at / border + 1) * border);
            let skips = is_ext4 && from.is_multiple_of(size) && self.allocator.is_trimmed(from);
            let free = if skips { None } else { self.allocator.free_run(from, next) };
            at = free.map_or(next, Extent::end);
            if is_ext4 && at == next {
                self.allocator.note_trimmed(from);
            }
            let spare = self.allocator.available();
            let Some(free) = free.filter(|free| free.length >= least && free.length <= spare)
            else {
                continue;
            };
            self.allocator.withhold_for_trim(free);
            self.discards.trimming += free.length;
            let sent = self.lower.send(now, Owner::Command(slot), Transfer::Discard, free);
            self.discards.count_trim(sent, free.length);
            let command = self.commands.get(slot);
            (command.at, command.withheld) = (at, Some(free));
            (command.io, command.stage) = (sent, Stage::Moving);
            return Err(Stop::Waits);
        }
        ended(failure)
    }
}
