//! The block for a file's extents when its inode cannot hold them.
//!
//! Charged: its allocation and, once its extents fit again, its deletion, both journaled like those
//! of a directory's block; so it is discarded like data. From Linux 5.6 on (`dioread_nolock`, here
//! with [`Allocation::ByIndex`]) blocks that are being written are a separate extent until the
//! write ends, even if they continue another one: a file that grows by appending needs this block
//! for a moment again and again.
//!
//! Simplified: one block, of however many extents; none if free space is promised to dirty pages.

use trimbench_core::{BlockCommand, FileId, Instant, Model};

use crate::config::Allocation;
use crate::extent::Extent;
use crate::file::ExtentTree;

use super::FileSystem;

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// The first blocks of a hole of a file get their place.
    pub(super) fn map(&mut self, id: FileId, hole: Extent, extent: Extent, now: Instant) {
        let left = hole.length - extent.length;
        let apart = matches!(self.config.allocation, Allocation::ByIndex { .. });
        let file = self.file(id);
        let before = file.map.extents().len();
        file.map.insert(hole.start, extent);
        let after = file.map.extents().len();
        file.seam |= apart && after == before;
        let count = after + usize::from(file.seam);
        self.touch_group(extent.start, now);
        if count <= self.config.kind.extents_in_inode()
            || self.files[id].tree.is_some()
            || self.available() <= left
        {
            return;
        }
        let inode = self.files[id].inode.expect("a file with data has an inode");
        let home = self.layout.goal(inode.number);
        let Some(block) = self.allocator.take_metadata(home) else { return };
        self.touch_group(block.start, now);
        let metadata = self.layout.add_fs_block(block.start);
        self.journal.touch(now, metadata);
        self.file(id).tree = Some(ExtentTree { extent: block, metadata });
    }

    /// Extents of a file are written, or gone: the inode holds them if they are few enough.
    pub(super) fn fold_extents(&mut self, id: FileId, now: Instant) {
        let most = self.config.kind.extents_in_inode();
        let file = self.file(id);
        file.seam = false;
        if file.map.extents().len() > most {
            return;
        }
        if let Some(tree) = file.tree.take() {
            self.journal.revoke(tree.metadata);
            self.free(tree.extent, now);
            self.touch_inode(id, now);
        }
    }
}
