//! The block for a file's extents when its inode cannot hold them.
//!
//! Charged: its allocation and, once its extents fit again, its deletion, both journaled like those
//! of a directory's block; so it is discarded like data. From Linux 5.6 on (`dioread_nolock`, here
//! with [`Allocation::ByIndex`]) blocks that are being written are a separate extent until the
//! write ends, even if they continue another one: a file that grows by appending needs this block
//! for a moment again and again.
//!
//! Simplified: one block, of however many extents; none if free space is promised to dirty pages.

use crate::config::Allocation;
use crate::extent::Extent;
use crate::file::{ExtentTree, File};

use super::handle::Handle;

impl Handle<'_> {
    /// The first blocks of a hole of a file get their place.
    pub(super) fn map(&mut self, file: &mut File, hole: Extent, extent: Extent) {
        let left = hole.length - extent.length;
        let apart = matches!(self.config.allocation, Allocation::ByIndex { .. });
        let before = file.map.extents().len();
        file.map.insert(hole.start, extent);
        let after = file.map.extents().len();
        file.seam |= apart && after == before;
        let count = after + usize::from(file.seam);
        self.touch_group(extent.start);
        if count <= self.config.kind.extents_in_inode()
            || file.tree.is_some()
            || self.allocator.available() <= left
        {
            return;
        }
        let inode = file.inode.expect("a file with data has an inode");
        let block = self.take_block(self.journal.layout.goal(inode.number));
        file.tree = block.map(|(extent, metadata)| ExtentTree { extent, metadata });
    }

    /// Extents of a file are written, or gone: the inode holds them if they are few enough.
    pub(super) fn fold_extents(&mut self, file: &mut File) {
        file.seam = false;
        if file.map.extents().len() > self.config.kind.extents_in_inode() {
            return;
        }
        if let Some(tree) = file.tree.take() {
            self.journal.revoke(tree.metadata);
            self.free(tree.extent);
            self.touch_inode(file);
        }
    }
}
