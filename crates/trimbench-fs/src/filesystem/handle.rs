//! A handle on the running transaction: what changes metadata, and with them who owns which blocks.
//!
//! Charged: a metadata block is changed in the transaction, however often.

use trimbench_core::Instant;

use crate::allocator::Allocator;
use crate::config::FsConfig;
use crate::extent::Extent;
use crate::file::File;
use crate::journal::Journal;
use crate::layout::{Metadata, MetadataId};

/// What a change of metadata may touch, and when it is.
#[derive(Debug)]
pub(super) struct Handle<'a> {
    pub(super) config: &'a FsConfig,
    pub(super) allocator: &'a mut Allocator,
    pub(super) journal: &'a mut Journal,
    now: Instant,
}

impl<'a> Handle<'a> {
    pub(super) fn new(
        config: &'a FsConfig,
        allocator: &'a mut Allocator,
        journal: &'a mut Journal,
        now: Instant,
    ) -> Self {
        Self { config, allocator, journal, now }
    }

    pub(super) fn touch(&mut self, metadata: Metadata) {
        let id = self.journal.layout.id(metadata);
        self.touch_block(id);
    }

    pub(super) fn touch_block(&mut self, metadata: MetadataId) {
        self.journal.touch(self.now, metadata);
    }

    /// The blocks of the group of this address change hands.
    pub(super) fn touch_group(&mut self, address: u64) {
        let group = address / self.allocator.group_fs_blocks();
        self.touch(Metadata::FsBlockBitmap(group));
        self.touch(Metadata::Descriptor(group));
    }

    pub(super) fn touch_inode(&mut self, file: &mut File) {
        file.transaction = self.journal.running();
        let inode = file.inode.expect("a file that changes has an inode");
        self.touch(Metadata::Inode(inode.number));
    }

    /// Takes a block for metadata, from the group of `near` on, and gives it a number.
    pub(super) fn take_block(&mut self, near: u64) -> Option<(Extent, MetadataId)> {
        let block = self.allocator.take_metadata(near)?;
        self.touch_group(block.start);
        let metadata = self.journal.layout.add_fs_block(block.start);
        self.touch_block(metadata);
        Some((block, metadata))
    }

    /// Frees blocks: they can be taken again after the commit.
    pub(super) fn free(&mut self, extent: Extent) {
        let border = self.config.kind.border(self.allocator.group_fs_blocks());
        for part in extent.pieces_within(border) {
            self.journal.free(part);
        }
        for part in self.allocator.split(extent) {
            self.touch_group(part.start);
        }
    }
}
