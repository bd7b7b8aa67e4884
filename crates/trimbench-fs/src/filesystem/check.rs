//! Checks all invariants of the filesystem. Slow: it visits all blocks.

use trimbench_core::units::index;
use trimbench_core::{BlockCommand, Model};

use crate::discards::bytes;
use crate::extent::Extent;

use super::FileSystem;

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// Checks every invariant: each block has exactly one owner (free space, a file, metadata, the
    /// journal, a directory, what is kept for files, a transaction that freed it, or a discard
    /// that withholds it); free extents are merged; freed = discarded + pending + dropped + reused;
    /// the sums of the cache are those of its files. Slow.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn check(&self) {
        let mut owners = vec![0_u8; index(self.layout.total())];
        let mut own = |extent: Extent| {
            for owner in &mut owners[index(extent.start)..index(extent.end())] {
                *owner += 1;
            }
        };
        self.allocator.check(&mut own);
        self.owned(&mut own);
        let wrong = owners.iter().position(|owners| *owners != 1);
        assert_eq!(wrong, None, "each block has one owner");
        self.check_cache();
        let counters = self.discard_counters();
        let known = counters.discarded + counters.dropped + counters.reused;
        let pending = bytes(self.discards.pending() + self.policy_pending());
        let ahead = self.discarded_ahead();
        assert_eq!(counters.freed + ahead, known + pending, "no freed block is forgotten");
    }

    /// What was discarded, or is in a batch, of a transaction that does not count as freed yet.
    pub(super) fn discarded_ahead(&self) -> trimbench_core::Bytes {
        let Some(commit) = &self.journal.committing else { return bytes(0) };
        let discarded = &commit.transaction.freed[..commit.discarded.max(commit.given)];
        bytes(discarded.iter().map(|extent| extent.length).sum())
    }

    /// Calls `own` for everything that is not free.
    fn owned(&self, own: &mut impl FnMut(Extent)) {
        self.layout.metadata().for_each(&mut *own);
        self.journal.region().iter().copied().for_each(&mut *own);
        self.allocator.reserved().for_each(&mut *own);
        for directory in self.directories.values() {
            directory.extents.iter().copied().for_each(&mut *own);
        }
        for (_, file) in self.files.iter() {
            file.map.extents().iter().for_each(|mapped| own(mapped.extent));
            file.tree.into_iter().for_each(|tree| own(tree.extent));
        }
        self.journal.running.freed.iter().copied().for_each(&mut *own);
        if let Some(commit) = &self.journal.committing {
            commit.transaction.freed[commit.given..].iter().copied().for_each(&mut *own);
        }
        let batches = self.discards.batches.iter().flat_map(|batch| &batch.extents);
        batches.copied().for_each(&mut *own);
        self.discards.of_callers.values().flatten().copied().for_each(&mut *own);
        self.discards.job.and_then(|job| job.withheld).into_iter().for_each(&mut *own);
        self.policy_withheld().for_each(&mut *own);
        self.commands.iter().filter_map(|command| command.withheld).for_each(&mut *own);
    }

    fn check_cache(&self) {
        let (mut dirty, mut cached, mut delayed, mut requests) = (0, 0, 0, 0);
        for (_, file) in self.files.iter() {
            dirty += file.dirty.total();
            cached += file.cached.total();
            requests += file.in_flight;
            for range in file.dirty.ranges() {
                delayed += range.length - file.map.count(*range);
                assert!(file.cached.gaps(*range).is_empty(), "dirty pages are in the cache");
            }
            assert_eq!(file.dirty.is_empty(), file.dirty_order.is_none(), "dirty files are known");
            assert_eq!(file.cached.is_empty(), file.used_order.is_none(), "users are known");
        }
        assert_eq!(dirty, self.cache.dirty, "the cache knows what is dirty");
        assert_eq!(cached, self.cache.cached, "the cache knows what it holds");
        assert_eq!(delayed, self.cache.delayed, "the cache knows what has no place");
        assert_eq!(requests, self.requests, "every write of the cache is a file's");
        assert!(delayed <= self.allocator.obtainable(), "promised space is there");
    }
}
