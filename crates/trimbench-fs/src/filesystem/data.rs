//! Reads and writes, through the page cache and past it.
//!
//! Charged: through the cache, reading a page that is not in it (window by window, one after the
//! other, as readahead grows) and one that a write changes in part; past it, every block touched. A
//! transfer past the cache first has the file's dirty pages written back.
//!
//! Not modelled: readahead beyond what was asked for, conversion of unwritten extents, the partial
//! block at the edge of a transfer past the cache (it is transferred whole).

use trimbench_core::{BlockCommand, Bytes, FileId, Instant, Model};

use crate::allocator::AllocationRequest;
use crate::commands::{Progress, Slot, Stage, Stop, ended};
use crate::config::FS_BLOCK;
use crate::extent::Extent;
use crate::file::File;
use crate::lower::{Owner, Transfer};

use super::FileSystem;
use super::handle::Handle;

/// Blocks that the first read of a file brings (`get_init_ra_size` in mm/readahead.c).
const READ_AHEAD_FIRST: u64 = 4;

fn fs_blocks(bytes: Extent) -> Extent {
    Extent::between(bytes.start / FS_BLOCK.0, bytes.end().div_ceil(FS_BLOCK.0))
}

/// Blocks that are read ahead after `last`: four to begin with, then twice as many each time.
fn next_window(read_ahead: Bytes, last: Extent) -> u64 {
    let most = (read_ahead.0 / FS_BLOCK.0).max(1);
    if last.end() == 0 { READ_AHEAD_FIRST.min(most) } else { (2 * last.length).min(most) }
}

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// Writes behind the end of a file, through the cache.
    pub(super) fn append(&mut self, slot: Slot, id: FileId, length: u64, now: Instant) -> Progress {
        let stage = self.commands.get(slot).stage;
        if stage == Stage::Start {
            let file = self.files.existing(id)?;
            let (at, edge) = (file.size, Extent::new(file.size / FS_BLOCK.0, 1));
            let partial = !at.is_multiple_of(FS_BLOCK.0);
            self.commands.begin_moving(slot, Extent::new(at, length));
            if partial && self.read_pages(slot, id, edge, now) {
                self.commands.set_stage(slot, Stage::Edges);
                return Err(Stop::Waits);
            }
        } else if stage == Stage::Edges {
            let command = self.commands.get(slot);
            ended(command.failure)?;
            let edge = Extent::new(command.at / FS_BLOCK.0, 1);
            self.cache.keep(&mut self.files, id, edge);
            self.commands.set_stage(slot, Stage::Moving);
        }
        self.write_cached(slot, id, now)
    }

    /// Reads the first `length` bytes of a file, through the cache.
    pub(super) fn load(&mut self, slot: Slot, id: FileId, length: u64, now: Instant) -> Progress {
        let range = fs_blocks(Extent::new(0, length.min(self.files.existing(id)?.size)));
        self.commands.set_stage(slot, Stage::Moving);
        loop {
            let command = *self.commands.get(slot);
            ended(command.failure)?;
            if command.end > command.at {
                // A window has come.
                let window = Extent::between(command.at, command.end);
                self.cache.keep(&mut self.files, id, window);
            }
            if command.end >= range.end() {
                return Ok(());
            }
            let last = Extent::between(command.at, command.end);
            let end = range.end().min(command.end + next_window(self.config.read_ahead, last));
            let state = self.commands.get(slot);
            (state.at, state.end) = (command.end, end);
            if self.read_pages(slot, id, Extent::between(command.end, end), now) {
                return Err(Stop::Waits);
            }
        }
    }

    /// Writes past the cache.
    pub(super) fn write_direct(
        &mut self,
        slot: Slot,
        id: FileId,
        bytes: Extent,
        now: Instant,
    ) -> Progress {
        let command = *self.commands.get(slot);
        if command.stage == Stage::Moving {
            self.lower.note_written();
            Handle::new(&self.config, &mut self.allocator, &mut self.journal, now)
                .fold_extents(&mut self.files[id]);
            return ended(command.failure);
        }
        self.files.existing(id)?;
        self.names.keep_open(id, &mut self.files, &mut self.allocator);
        self.clean(slot, id, now)?;
        self.join(slot, now)?;
        let range = fs_blocks(bytes);
        let file = &mut self.files[id];
        if range.length - file.map.count(range) > self.allocator.available() {
            return Err(self.no_space(slot, now));
        }
        self.cache.forget(file, range, &mut self.allocator);
        file.size = file.size.max(bytes.end());
        let mut handle = Handle::new(&self.config, &mut self.allocator, &mut self.journal, now);
        while let Some(hole) = file.map.first_hole(range) {
            handle.allocate(file, hole);
        }
        handle.touch_inode(file);
        let extents = file.map.places(&[range]);
        self.send(slot, Transfer::Write, &extents, now);
        self.commands.set_stage(slot, Stage::Moving);
        Err(Stop::Waits)
    }

    /// Reads past the cache.
    pub(super) fn read_direct(
        &mut self,
        slot: Slot,
        id: FileId,
        bytes: Extent,
        now: Instant,
    ) -> Progress {
        let command = *self.commands.get(slot);
        if command.stage == Stage::Moving {
            return ended(command.failure);
        }
        let inside = bytes.overlap(Extent::new(0, self.files.existing(id)?.size));
        self.names.keep_open(id, &mut self.files, &mut self.allocator);
        self.clean(slot, id, now)?;
        let extents = self.files[id].map.places(inside.map(fs_blocks).as_slice());
        if !self.send(slot, Transfer::Read, &extents, now) {
            return Ok(());
        }
        self.commands.set_stage(slot, Stage::Moving);
        Err(Stop::Waits)
    }

    /// The file's dirty pages are written back; the command waits until none is dirty or being
    /// written.
    pub(super) fn clean(&mut self, slot: Slot, id: FileId, now: Instant) -> Progress {
        let pages = &mut self.files[id].pages;
        if !pages.any_dirty() && !pages.any_in_flight() {
            return Ok(());
        }
        pages.await_written(slot);
        self.cache.hurry(id);
        self.write_back(now);
        Err(Stop::Waits)
    }

    /// Makes pages dirty until the write is done or has to wait.
    pub(super) fn write_cached(&mut self, slot: Slot, id: FileId, now: Instant) -> Progress {
        loop {
            let command = *self.commands.get(slot);
            if command.at == command.end {
                return Ok(());
            }
            let room = self.cache.room();
            if room == 0 {
                self.cache.throttle(slot);
                self.write_back(now);
                return Err(Stop::Waits);
            }
            self.join(slot, now)?;
            let mut range = fs_blocks(Extent::between(command.at, command.end));
            range.length = range.length.min(room);
            let file = &mut self.files[id];
            let fresh = file.pages.dirty().gaps(range).into_iter();
            let fresh = fresh.map(|gap| gap.length - file.map.count(gap)).sum::<u64>();
            if fresh > self.allocator.available() {
                return Err(self.no_space(slot, now));
            }
            let at = command.end.min(range.end() * FS_BLOCK.0);
            self.commands.get(slot).at = at;
            file.size = file.size.max(at);
            Handle::new(&self.config, &mut self.allocator, &mut self.journal, now)
                .touch_inode(file);
            self.allocator.promise(fresh);
            self.cache.make_dirty(&mut self.files, id, range, now);
            self.write_back(now);
        }
    }

    /// Reads those pages that are not in the cache but on the device; `false` if there are none.
    fn read_pages(&mut self, slot: Slot, id: FileId, range: Extent, now: Instant) -> bool {
        let file = &self.files[id];
        let extents = file.map.places(&file.pages.cached().gaps(range));
        self.send(slot, Transfer::Read, &extents, now)
    }

    /// Transfers these extents of the device; `false` if there are none.
    fn send(&mut self, slot: Slot, transfer: Transfer, extents: &[Extent], now: Instant) -> bool {
        let mut sent = 0;
        for extent in extents {
            sent += self.lower.send(now, Owner::Command(slot), transfer, *extent);
        }
        self.commands.get(slot).io += sent;
        sent > 0
    }
}

impl Handle<'_> {
    /// Maps a hole of a file, all of it: the space was found to be there.
    pub(super) fn allocate(&mut self, file: &mut File, mut hole: Extent) {
        while hole.length > 0 {
            let inode = file.inode.expect("a file with data has an inode");
            let (before, after) = file.map.around(hole.start);
            let request = AllocationRequest {
                inode: inode.number,
                hole,
                size: file.size.div_ceil(FS_BLOCK.0),
                open: inode.open || !file.order.is_idle(),
                before: before.map(|mapped| (mapped.range().end(), mapped.extent.end())),
                after: after.map(|mapped| (mapped.logical, mapped.extent.start)),
                home: self.journal.layout.goal(inode.number),
            };
            let taken = self.allocator.take(&request).expect("the space was found to be there");
            self.map(file, hole, taken);
            hole = Extent::between(hole.start + taken.length, hole.end());
        }
        self.touch_inode(file);
    }
}
