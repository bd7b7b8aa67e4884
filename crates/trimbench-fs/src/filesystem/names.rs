//! Commands on names and sizes.
//!
//! Charged to the journal: for a new file its inode, the inode bitmap, the group's descriptor, a
//! leaf of the directory and the directory's inode; for a deleted file the same, and bitmap and
//! descriptor of each group in which it frees blocks. A directory has one leaf for 140 names (24
//! bytes each); a name's leaf is that of its hash. Inodes are taken from the lowest group with a
//! free one, as ext4 does for files of a directory in the first group.
//!
//! Not modelled: the wait for a directory's lock, reading of metadata that is not in memory, blocks
//! of extent trees (a file of more than 4 extents has one for 340 of them), the orphan list.

use std::cmp::Reverse;

use trimbench_core::units::index;
use trimbench_core::{BlockCommand, DirectoryId, Errno, FileId, Instant, Model};
use trimbench_policy::Sender;

use crate::commands::{Progress, Slot, Stage, Stop, require};
use crate::config::FS_BLOCK;
use crate::extent::Extent;
use crate::file::{File, Inode};
use crate::kind::sender;
use crate::layout::{Metadata, MetadataId};

use super::FileSystem;

/// Files that stay open, the oldest is closed first: as the target of a real directory keeps them.
const OPEN_FILES: usize = 256;
/// Names in a leaf of a directory: entries of 24 bytes, leaves five sixths full.
const NAMES_PER_LEAF: u64 = 140;

#[derive(Debug, Default)]
pub(crate) struct Directory {
    inode: u64,
    names: u64,
    leaves: Vec<MetadataId>,
    pub(crate) extents: Vec<Extent>,
}

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// The directory that mkfs makes; not in a transaction.
    pub(super) fn make_own_directory(&mut self) {
        let inode = self.next_inode;
        self.next_inode += 1;
        let mut own = Directory { inode, ..Directory::default() };
        let leaf = self.allocator.take_metadata(0).expect("a fresh filesystem has space");
        own.leaves.push(self.layout.add_fs_block(leaf.start));
        own.extents.push(leaf);
        self.directories.insert(DirectoryId::OWN, own);
    }

    pub(super) fn create(
        &mut self,
        slot: Slot,
        id: FileId,
        directory: DirectoryId,
        now: Instant,
    ) -> Progress {
        require(self.files[id].inode.is_none(), Errno::EEXIST)?;
        require(self.directories.contains_key(&directory), Errno::ENOENT)?;
        self.join(slot, now)?;
        require(self.inodes_left() > 0, Errno::ENOSPC)?;
        if !self.enter(directory, id.0, now) {
            return Err(self.no_space(slot, now));
        }
        let number = self.take_inode(now);
        let transaction = self.journal.running.id;
        let file = self.file(id);
        file.inode = Some(Inode { number, directory, open: false });
        file.size = 0;
        file.transaction = transaction;
        Ok(())
    }

    pub(super) fn unlink(&mut self, slot: Slot, id: FileId, now: Instant) -> Progress {
        let inode = self.begin_cut(slot, id, now)?;
        self.cut(slot, id, Extent::between(0, u64::MAX), now);
        self.give_inode(inode.number, now);
        let file = self.file(id);
        file.inode = None;
        file.size = 0;
        file.write_error = None;
        self.leave(inode.directory, id.0, now);
        self.discard_as_caller(slot, now)
    }

    pub(super) fn truncate(
        &mut self,
        slot: Slot,
        id: FileId,
        length: u64,
        now: Instant,
    ) -> Progress {
        self.begin_cut(slot, id, now)?;
        self.keep_open(id);
        self.cut(slot, id, Extent::between(length.div_ceil(FS_BLOCK.0), u64::MAX), now);
        self.file(id).size = length;
        self.touch_inode(id, now);
        self.discard_as_caller(slot, now)
    }

    pub(super) fn punch(
        &mut self,
        slot: Slot,
        id: FileId,
        bytes: Extent,
        now: Instant,
    ) -> Progress {
        self.begin_cut(slot, id, now)?;
        self.keep_open(id);
        let (from, to) = (bytes.start.div_ceil(FS_BLOCK.0), bytes.end() / FS_BLOCK.0);
        if from < to {
            self.cut(slot, id, Extent::between(from, to), now);
            self.touch_inode(id, now);
        }
        self.discard_as_caller(slot, now)
    }

    pub(super) fn make_directory(
        &mut self,
        slot: Slot,
        directory: DirectoryId,
        now: Instant,
    ) -> Progress {
        require(!self.directories.contains_key(&directory), Errno::EEXIST)?;
        self.join(slot, now)?;
        require(self.inodes_left() > 0, Errno::ENOSPC)?;
        if self.available() < 2 || !self.enter(DirectoryId::OWN, !directory.0, now) {
            return Err(self.no_space(slot, now));
        }
        let inode = self.take_inode(now);
        self.directories.insert(directory, Directory { inode, ..Directory::default() });
        let grown = self.grow(directory, now);
        assert!(grown, "two blocks were there");
        Ok(())
    }

    pub(super) fn remove_directory(
        &mut self,
        slot: Slot,
        directory: DirectoryId,
        now: Instant,
    ) -> Progress {
        let names = self.directories.get(&directory).ok_or(Errno::ENOENT)?.names;
        require(names == 0 && directory != DirectoryId::OWN, Errno::ENOTEMPTY)?;
        self.join(slot, now)?;
        let removed = self.directories.remove(&directory).expect("it was found");
        removed.leaves.into_iter().for_each(|leaf| self.journal.revoke(leaf));
        for extent in removed.extents {
            self.free(extent, now);
        }
        self.give_inode(removed.inode, now);
        self.leave(DirectoryId::OWN, !directory.0, now);
        Ok(())
    }

    /// The inode of a file whose blocks go: not while they are written, nor while the transaction
    /// is full.
    fn begin_cut(&mut self, slot: Slot, id: FileId, now: Instant) -> Result<Inode, Stop> {
        let file = self.file(id);
        let inode = file.inode.ok_or(Errno::ENOENT)?;
        if file.in_flight > 0 {
            file.waiters.push(slot);
            return Err(Stop::Waits);
        }
        self.join(slot, now)?;
        Ok(inode)
    }

    /// Takes blocks away from a file: pages, promises, what is kept for it, and extents.
    fn cut(&mut self, slot: Slot, id: FileId, range: Extent, now: Instant) {
        self.forget_pages(id, range);
        let inode = self.files[id].inode.expect("commands under way keep their file");
        self.allocator.release(inode.number);
        let mut freed = Vec::new();
        self.file(id).map.cut(range, |extent| freed.push(extent));
        for extent in freed {
            if sender(self.config.discard) == Some(Sender::Caller) {
                self.free_as_caller(slot, extent, now);
            } else {
                self.free(extent, now);
            }
        }
        self.fold_extents(id, now);
        self.room_came(now);
        self.write_back(now);
    }

    /// Frees blocks: they can be taken again after the commit.
    pub(super) fn free(&mut self, extent: Extent, now: Instant) {
        let border = self.config.kind.border(self.layout.group_fs_blocks());
        for part in extent.pieces_within(border) {
            self.journal.free(part);
        }
        for part in self.allocator.split(extent) {
            self.touch_group(part.start, now);
        }
    }

    /// Frees blocks that the process which frees them discards itself.
    fn free_as_caller(&mut self, slot: Slot, extent: Extent, now: Instant) {
        for part in self.allocator.split(extent) {
            self.touch_group(part.start, now);
            self.discards.of_callers.entry(slot).or_default().push_back(part);
        }
    }

    /// The blocks of the group of this address change hands.
    pub(super) fn touch_group(&mut self, address: u64, now: Instant) {
        let group = address / self.layout.group_fs_blocks();
        self.touch(now, Metadata::FsBlockBitmap(group));
        self.touch(now, Metadata::Descriptor(group));
    }

    pub(super) fn touch_inode(&mut self, id: FileId, now: Instant) {
        let transaction = self.journal.running.id;
        let file = self.file(id);
        file.transaction = transaction;
        let inode = file.inode.expect("a file that changes has an inode");
        self.touch(now, Metadata::Inode(inode.number));
    }

    /// A command opens the file for writing, and it stays open until so many others came.
    pub(super) fn keep_open(&mut self, id: FileId) {
        let inode = self.file(id).inode.as_mut().expect("a file that is opened is there");
        if std::mem::replace(&mut inode.open, true) {
            return;
        }
        self.opened.push_back(id);
        if self.opened.len() > OPEN_FILES {
            let oldest = self.opened.pop_front().expect("there are more than none");
            self.close(oldest);
        }
    }

    /// A file is open no more; what was kept for it is free, unless it waits for its data.
    fn close(&mut self, id: FileId) {
        let Some(file) = self.files.get_mut(id) else { return };
        let Some(inode) = &mut file.inode else { return };
        inode.open = false;
        if file.dirty.is_empty() {
            self.allocator.release(inode.number);
        }
    }

    pub(super) fn file(&mut self, id: FileId) -> &mut File {
        self.files.get_mut(id).expect("commands under way keep their file")
    }

    fn inodes_left(&self) -> u64 {
        self.layout.inodes() - self.next_inode + self.free_inodes.len() as u64
    }

    fn take_inode(&mut self, now: Instant) -> u64 {
        let inode = self.free_inodes.pop().map_or(self.next_inode, |Reverse(inode)| inode);
        self.next_inode = self.next_inode.max(inode + 1);
        self.touch_inode_change(inode, now);
        inode
    }

    fn give_inode(&mut self, inode: u64, now: Instant) {
        self.free_inodes.push(Reverse(inode));
        self.touch_inode_change(inode, now);
    }

    fn touch_inode_change(&mut self, inode: u64, now: Instant) {
        let group = self.layout.group_of_inode(inode);
        self.touch(now, Metadata::Inode(inode));
        self.touch(now, Metadata::InodeBitmap(group));
        self.touch(now, Metadata::Descriptor(group));
    }

    /// Adds a name; `false` if the directory would have to grow and cannot.
    fn enter(&mut self, directory: DirectoryId, name: u32, now: Instant) -> bool {
        let its = &self.directories[&directory];
        if its.names == NAMES_PER_LEAF * its.leaves.len() as u64 && !self.grow(directory, now) {
            return false;
        }
        self.directories.get_mut(&directory).expect("it is there").names += 1;
        self.touch_leaf(directory, name, now);
        true
    }

    fn leave(&mut self, directory: DirectoryId, name: u32, now: Instant) {
        let its = self.directories.get_mut(&directory).expect("a file's directory is there");
        its.names -= 1;
        self.touch_leaf(directory, name, now);
    }

    fn touch_leaf(&mut self, directory: DirectoryId, name: u32, now: Instant) {
        let its = &self.directories[&directory];
        let hash = u64::from(name.wrapping_mul(0x9E37_79B1));
        let leaf = its.leaves[index((hash * its.leaves.len() as u64) >> 32)];
        let inode = its.inode;
        self.journal.touch(now, leaf);
        self.touch(now, Metadata::Inode(inode));
    }

    /// Adds a leaf to a directory.
    fn grow(&mut self, directory: DirectoryId, now: Instant) -> bool {
        if self.available() == 0 {
            return false;
        }
        let its = &self.directories[&directory];
        let near = its
            .extents
            .last()
            .map_or_else(|| self.layout.directory_goal(its.inode), |last| last.start);
        let Some(extent) = self.allocator.take_metadata(near) else { return false };
        self.touch_group(extent.start, now);
        let leaf = self.layout.add_fs_block(extent.start);
        let its = self.directories.get_mut(&directory).expect("it is there");
        its.leaves.push(leaf);
        its.extents.push(extent);
        self.journal.touch(now, leaf);
        true
    }

    pub(super) fn set_stage(&mut self, slot: Slot, stage: Stage) {
        self.commands.get(slot).stage = stage;
    }
}
