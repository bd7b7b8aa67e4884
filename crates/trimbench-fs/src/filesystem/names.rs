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
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use trimbench_core::units::index;
use trimbench_core::{BlockCommand, DirectoryId, Errno, FileId, Instant, Model};
use trimbench_policy::Sender;

use crate::allocator::Allocator;
use crate::commands::{Progress, Slot, Stop, require};
use crate::config::FS_BLOCK;
use crate::extent::Extent;
use crate::file::Inode;
use crate::files::Files;
use crate::kind::sender;
use crate::layout::{Layout, Metadata, MetadataId};

use super::FileSystem;
use super::handle::Handle;

/// Files that stay open, the oldest is closed first: as the target of a real directory keeps them.
const OPEN_FILES: usize = 256;
/// Names in a leaf of a directory: entries of 24 bytes, leaves five sixths full.
const NAMES_PER_LEAF: u64 = 140;

/// Directories, inodes, and which files are open.
#[derive(Debug)]
pub(super) struct Names {
    directories: BTreeMap<DirectoryId, Directory>,
    /// Files that were opened for writing, in this order; some may be gone.
    opened: VecDeque<FileId>,
    /// Inodes that were used and are free, and the first that never was.
    free_inodes: BinaryHeap<Reverse<u64>>,
    next_inode: u64,
}

#[derive(Debug, Default)]
struct Directory {
    inode: u64,
    names: u64,
    leaves: Vec<MetadataId>,
    extents: Vec<Extent>,
}

impl Names {
    /// With the directory that mkfs makes; not in a transaction.
    pub(super) fn new(allocator: &mut Allocator, layout: &mut Layout) -> Self {
        let block = allocator.take_metadata(0).expect("a fresh filesystem has space");
        let leaves = vec![layout.add_fs_block(block.start)];
        let own = Directory { leaves, extents: vec![block], ..Directory::default() };
        Self {
            directories: BTreeMap::from([(DirectoryId::OWN, own)]),
            opened: VecDeque::new(),
            free_inodes: BinaryHeap::new(),
            next_inode: 1,
        }
    }

    /// The blocks of directories.
    pub(super) fn extents(&self) -> impl Iterator<Item = Extent> {
        self.directories.values().flat_map(|directory| directory.extents.iter().copied())
    }

    /// A command opens a file for writing, and it stays open until so many others came.
    pub(super) fn keep_open(&mut self, id: FileId, files: &mut Files, allocator: &mut Allocator) {
        let inode = files[id].inode.as_mut().expect("a file that is opened is there");
        if std::mem::replace(&mut inode.open, true) {
            return;
        }
        self.opened.push_back(id);
        if self.opened.len() > OPEN_FILES {
            let oldest = self.opened.pop_front().expect("there are more than none");
            close(oldest, files, allocator);
        }
    }

    /// No file is open any more.
    pub(super) fn forget_opened(&mut self) {
        self.opened.clear();
    }

    fn inodes_left(&self, layout: &Layout) -> u64 {
        layout.inodes() - self.next_inode + self.free_inodes.len() as u64
    }

    fn take_inode(&mut self, handle: &mut Handle<'_>) -> u64 {
        let inode = self.free_inodes.pop().map_or(self.next_inode, |Reverse(inode)| inode);
        self.next_inode = self.next_inode.max(inode + 1);
        touch_inode_change(inode, handle);
        inode
    }

    fn give_inode(&mut self, inode: u64, handle: &mut Handle<'_>) {
        self.free_inodes.push(Reverse(inode));
        touch_inode_change(inode, handle);
    }

    /// Adds a name; `false` if the directory would have to grow and cannot.
    fn enter(&mut self, directory: DirectoryId, name: u32, handle: &mut Handle<'_>) -> bool {
        let its = self.directory(directory);
        if its.names == NAMES_PER_LEAF * its.leaves.len() as u64 && !its.grow(handle) {
            return false;
        }
        its.names += 1;
        its.touch_leaf(name, handle);
        true
    }

    fn leave(&mut self, directory: DirectoryId, name: u32, handle: &mut Handle<'_>) {
        let its = self.directory(directory);
        its.names -= 1;
        its.touch_leaf(name, handle);
    }

    fn directory(&mut self, directory: DirectoryId) -> &mut Directory {
        self.directories.get_mut(&directory).expect("a directory with names is there")
    }
}

impl Directory {
    fn touch_leaf(&self, name: u32, handle: &mut Handle<'_>) {
        let hash = u64::from(name.wrapping_mul(0x9E37_79B1));
        handle.touch_block(self.leaves[index((hash * self.leaves.len() as u64) >> 32)]);
        handle.touch(Metadata::Inode(self.inode));
    }

    /// Adds a leaf; `false` if there is no space.
    fn grow(&mut self, handle: &mut Handle<'_>) -> bool {
        if handle.allocator.available() == 0 {
            return false;
        }
        let goal = || handle.journal.layout.directory_goal(self.inode);
        let near = self.extents.last().map_or_else(goal, |last| last.start);
        let Some((extent, leaf)) = handle.take_block(near) else { return false };
        self.leaves.push(leaf);
        self.extents.push(extent);
        true
    }
}

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    pub(super) fn create(
        &mut self,
        slot: Slot,
        id: FileId,
        directory: DirectoryId,
        now: Instant,
    ) -> Progress {
        require(self.files[id].inode.is_none(), Errno::EEXIST)?;
        require(self.names.directories.contains_key(&directory), Errno::ENOENT)?;
        self.join(slot, now)?;
        require(self.names.inodes_left(&self.journal.layout) > 0, Errno::ENOSPC)?;
        let mut handle = Handle::new(&self.config, &mut self.allocator, &mut self.journal, now);
        if !self.names.enter(directory, id.0, &mut handle) {
            return Err(self.no_space(slot, now));
        }
        let number = self.names.take_inode(&mut handle);
        let file = &mut self.files[id];
        file.inode = Some(Inode { number, directory, open: false });
        file.size = 0;
        file.transaction = self.journal.running();
        Ok(())
    }

    pub(super) fn unlink(&mut self, slot: Slot, id: FileId, now: Instant) -> Progress {
        let inode = self.begin_cut(slot, id, now)?;
        self.cut(slot, id, Extent::between(0, u64::MAX), now);
        let mut handle = Handle::new(&self.config, &mut self.allocator, &mut self.journal, now);
        self.names.give_inode(inode.number, &mut handle);
        let file = &mut self.files[id];
        file.inode = None;
        file.size = 0;
        file.pages.take_failure();
        self.names.leave(inode.directory, id.0, &mut handle);
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
        self.names.keep_open(id, &mut self.files, &mut self.allocator);
        self.cut(slot, id, Extent::between(length.div_ceil(FS_BLOCK.0), u64::MAX), now);
        let file = &mut self.files[id];
        file.size = length;
        Handle::new(&self.config, &mut self.allocator, &mut self.journal, now).touch_inode(file);
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
        self.names.keep_open(id, &mut self.files, &mut self.allocator);
        let (from, to) = (bytes.start.div_ceil(FS_BLOCK.0), bytes.end() / FS_BLOCK.0);
        if from < to {
            self.cut(slot, id, Extent::between(from, to), now);
            Handle::new(&self.config, &mut self.allocator, &mut self.journal, now)
                .touch_inode(&mut self.files[id]);
        }
        self.discard_as_caller(slot, now)
    }

    pub(super) fn make_directory(
        &mut self,
        slot: Slot,
        directory: DirectoryId,
        now: Instant,
    ) -> Progress {
        require(!self.names.directories.contains_key(&directory), Errno::EEXIST)?;
        self.join(slot, now)?;
        require(self.names.inodes_left(&self.journal.layout) > 0, Errno::ENOSPC)?;
        let mut handle = Handle::new(&self.config, &mut self.allocator, &mut self.journal, now);
        let has_space = handle.allocator.available() >= 2;
        if !has_space || !self.names.enter(DirectoryId::OWN, !directory.0, &mut handle) {
            return Err(self.no_space(slot, now));
        }
        let inode = self.names.take_inode(&mut handle);
        let mut made = Directory { inode, ..Directory::default() };
        assert!(made.grow(&mut handle), "two blocks were there");
        self.names.directories.insert(directory, made);
        Ok(())
    }

    pub(super) fn remove_directory(
        &mut self,
        slot: Slot,
        directory: DirectoryId,
        now: Instant,
    ) -> Progress {
        let names = self.names.directories.get(&directory).ok_or(Errno::ENOENT)?.names;
        require(names == 0 && directory != DirectoryId::OWN, Errno::ENOTEMPTY)?;
        self.join(slot, now)?;
        let mut handle = Handle::new(&self.config, &mut self.allocator, &mut self.journal, now);
        let removed = self.names.directories.remove(&directory).expect("it was found");
        removed.leaves.into_iter().for_each(|leaf| handle.journal.revoke(leaf));
        removed.extents.into_iter().for_each(|extent| handle.free(extent));
        self.names.give_inode(removed.inode, &mut handle);
        self.names.leave(DirectoryId::OWN, !directory.0, &mut handle);
        Ok(())
    }

    /// The inode of a file whose blocks go: not while they are written, nor while the transaction
    /// is full.
    fn begin_cut(&mut self, slot: Slot, id: FileId, now: Instant) -> Result<Inode, Stop> {
        let file = &mut self.files[id];
        let inode = file.inode.ok_or(Errno::ENOENT)?;
        if file.pages.any_in_flight() {
            file.pages.await_written(slot);
            return Err(Stop::Waits);
        }
        self.join(slot, now)?;
        Ok(inode)
    }

    /// Takes blocks away from a file: pages, promises, what is kept for it, and extents.
    fn cut(&mut self, slot: Slot, id: FileId, range: Extent, now: Instant) {
        let file = &mut self.files[id];
        self.cache.forget(file, range, &mut self.allocator);
        let inode = file.inode.expect("commands under way keep their file");
        self.allocator.release(inode.number);
        let by_caller = sender(self.config.discard) == Some(Sender::Caller);
        let mut handle = Handle::new(&self.config, &mut self.allocator, &mut self.journal, now);
        file.map.cut(range, |extent| {
            if by_caller {
                self.discards.free_as_caller(slot, extent, &mut handle);
            } else {
                handle.free(extent);
            }
        });
        handle.fold_extents(file);
        self.room_came(now);
        self.write_back(now);
    }
}

/// A file is open no more; what was kept for it is free, unless it waits for its data.
fn close(id: FileId, files: &mut Files, allocator: &mut Allocator) {
    let Some(file) = files.get_mut(id) else { return };
    let Some(inode) = &mut file.inode else { return };
    inode.open = false;
    if !file.pages.any_dirty() {
        allocator.release(inode.number);
    }
}

fn touch_inode_change(inode: u64, handle: &mut Handle<'_>) {
    let group = handle.journal.layout.group_of_inode(inode);
    handle.touch(Metadata::Inode(inode));
    handle.touch(Metadata::InodeBitmap(group));
    handle.touch(Metadata::Descriptor(group));
}
