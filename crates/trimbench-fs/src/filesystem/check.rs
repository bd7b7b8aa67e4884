//! Checks all invariants of the filesystem. Slow: it visits all blocks.

use trimbench_core::units::index;
use trimbench_core::{BlockCommand, Model};

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
        let mut owners = vec![0_u8; index(self.allocator.total())];
        let mut own = |extent: Extent| {
            for owner in &mut owners[index(extent.start)..index(extent.end())] {
                *owner += 1;
            }
        };
        self.allocator.check(&mut own);
        self.owned(&mut own);
        let wrong = owners.iter().position(|owners| *owners != 1);
        assert_eq!(wrong, None, "each block has one owner");
        self.allocator.check_promised(self.cache.check(&self.files));
        self.discards.check(self.journal.discarded_ahead());
    }

    /// Calls `own` for everything that is not free.
    fn owned(&self, own: &mut impl FnMut(Extent)) {
        self.allocator.reserved().for_each(&mut *own);
        self.journal.owned(own);
        self.names.extents().for_each(&mut *own);
        for (_, file) in self.files.iter() {
            file.map.extents().iter().for_each(|mapped| own(mapped.extent));
            file.tree.into_iter().for_each(|tree| own(tree.extent));
        }
        self.discards.owned(own);
        self.commands.iter().filter_map(|command| command.withheld).for_each(own);
    }
}
