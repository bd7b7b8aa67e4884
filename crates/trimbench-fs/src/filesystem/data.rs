//! Reads and writes, through the page cache and past it.
//!
//! Charged: through the cache, reading a page that is not in it (window by window, one after the
//! other, as readahead grows) and one that a write changes in part; past it, every block touched. A
//! transfer past the cache first has the file's dirty pages written back.
//!
//! Not modelled: readahead beyond what was asked for, conversion of unwritten extents, the partial
//! block at the edge of a transfer past the cache (it is transferred whole).

use trimbench_core::{BlockCommand, Errno, FileId, Instant, Model};

use crate::allocator::AllocationRequest;
use crate::commands::{Progress, Slot, Stage, Stop, ended};
use crate::config::FS_BLOCK;
use crate::extent::Extent;
use crate::file::File;
use crate::lower::{Owner, Transfer};

use super::FileSystem;

/// Blocks that the first read of a file brings (`get_init_ra_size` in mm/readahead.c).
const READ_AHEAD_FIRST: u64 = 4;

fn fs_blocks(bytes: Extent) -> Extent {
    Extent::between(bytes.start / FS_BLOCK.0, bytes.end().div_ceil(FS_BLOCK.0))
}

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// Writes behind the end of a file, through the cache.
    pub(super) fn append(&mut self, slot: Slot, id: FileId, length: u64, now: Instant) -> Progress {
        let stage = self.commands.get(slot).stage;
        if stage == Stage::Start {
            let file = self.existing(id)?;
            let (at, edge) = (file.size, Extent::new(file.size / FS_BLOCK.0, 1));
            let partial = !at.is_multiple_of(FS_BLOCK.0);
            self.begin_write(slot, Extent::new(at, length));
            if partial && self.read_pages(slot, id, edge, now) {
                self.set_stage(slot, Stage::Edges);
                return Err(Stop::Waits);
            }
        } else if stage == Stage::Edges {
            let command = self.commands.get(slot);
            ended(command.failure)?;
            let edge = Extent::new(command.at / FS_BLOCK.0, 1);
            self.keep_pages(id, edge);
            self.set_stage(slot, Stage::Moving);
        }
        self.write_cached(slot, id, now)
    }

    /// Reads the first `length` bytes of a file, through the cache.
    pub(super) fn load(&mut self, slot: Slot, id: FileId, length: u64, now: Instant) -> Progress {
        let range = fs_blocks(Extent::new(0, length.min(self.existing(id)?.size)));
        self.set_stage(slot, Stage::Moving);
        loop {
            let command = *self.commands.get(slot);
            ended(command.failure)?;
            if command.end > command.at {
                // A window has come.
                self.keep_pages(id, Extent::between(command.at, command.end));
            }
            if command.end >= range.end() {
                return Ok(());
            }
            let window = self.next_window(Extent::between(command.at, command.end));
            let end = range.end().min(command.end + window);
            let state = self.commands.get(slot);
            (state.at, state.end) = (command.end, end);
            if self.read_pages(slot, id, Extent::between(command.end, end), now) {
                return Err(Stop::Waits);
            }
        }
    }

    /// Blocks that are read ahead after `last`: four to begin with, then twice as many each time.
    fn next_window(&self, last: Extent) -> u64 {
        let most = (self.config.read_ahead.0 / FS_BLOCK.0).max(1);
        if last.end() == 0 { READ_AHEAD_FIRST.min(most) } else { (2 * last.length).min(most) }
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
            self.unflushed = true;
            self.fold_extents(id, now);
            return ended(command.failure);
        }
        self.existing(id)?;
        self.keep_open(id);
        self.clean(slot, id, now)?;
        self.join(slot, now)?;
        let range = fs_blocks(bytes);
        if range.length - self.files[id].map.count(range) > self.available() {
            return Err(self.no_space(slot, now));
        }
        self.forget_pages(id, range);
        let size = self.files[id].size.max(bytes.end());
        self.file(id).size = size;
        while let Some(hole) = self.files[id].map.first_hole(range) {
            self.allocate(id, hole, now);
        }
        self.touch_inode(id, now);
        let extents = self.mapped(id, &[range]);
        self.send(slot, Transfer::Write, &extents, now);
        self.set_stage(slot, Stage::Moving);
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
        let inside = bytes.overlap(Extent::new(0, self.existing(id)?.size));
        self.keep_open(id);
        self.clean(slot, id, now)?;
        let extents = self.mapped(id, inside.map(fs_blocks).as_slice());
        if !self.send(slot, Transfer::Read, &extents, now) {
            return Ok(());
        }
        self.set_stage(slot, Stage::Moving);
        Err(Stop::Waits)
    }

    /// Maps a hole of a file, all of it: the space was found to be there.
    pub(super) fn allocate(&mut self, id: FileId, hole: Extent, now: Instant) {
        let mut hole = hole;
        while hole.length > 0 {
            let file = &self.files[id];
            let inode = file.inode.expect("a file with data has an inode");
            let (before, after) = file.map.around(hole.start);
            let request = AllocationRequest {
                inode: inode.number,
                hole,
                size: file.size.div_ceil(FS_BLOCK.0),
                open: inode.open || !file.order.is_idle(),
                before: before.map(|mapped| (mapped.range().end(), mapped.extent.end())),
                after: after.map(|mapped| (mapped.logical, mapped.extent.start)),
                home: self.layout.goal(inode.number),
            };
            let taken = self.allocator.take(&request).expect("the space was found to be there");
            self.map(id, hole, taken, now);
            hole = Extent::between(hole.start + taken.length, hole.end());
        }
        self.touch_inode(id, now);
    }

    /// The file's dirty pages are written back; the command waits until none is dirty or being
    /// written.
    pub(super) fn clean(&mut self, slot: Slot, id: FileId, now: Instant) -> Progress {
        let file = self.file(id);
        if file.dirty.is_empty() && file.in_flight == 0 {
            return Ok(());
        }
        file.waiters.push(slot);
        self.urgent.push_back(id);
        self.write_back(now);
        Err(Stop::Waits)
    }

    pub(super) fn existing(&self, id: FileId) -> Result<&File, Stop> {
        let file = &self.files[id];
        if file.inode.is_some() { Ok(file) } else { Err(Errno::ENOENT.into()) }
    }

    pub(super) fn begin_write(&mut self, slot: Slot, bytes: Extent) {
        let command = self.commands.get(slot);
        command.stage = Stage::Moving;
        command.at = bytes.start;
        command.end = bytes.end();
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
                self.cache.throttled.push_back(slot);
                self.counters.throttled += 1;
                self.write_back(now);
                return Err(Stop::Waits);
            }
            self.join(slot, now)?;
            let mut range = fs_blocks(Extent::between(command.at, command.end));
            range.length = range.length.min(room);
            let file = &self.files[id];
            let fresh = file.dirty.gaps(range).into_iter();
            let fresh = fresh.map(|gap| gap.length - file.map.count(gap)).sum::<u64>();
            if fresh > self.available() {
                return Err(self.no_space(slot, now));
            }
            let at = command.end.min(range.end() * FS_BLOCK.0);
            self.commands.get(slot).at = at;
            let size = file.size.max(at);
            self.file(id).size = size;
            self.touch_inode(id, now);
            self.make_dirty(id, range, fresh, now);
        }
    }

    /// Reads those pages that are not in the cache but on the device; `false` if there are none.
    fn read_pages(&mut self, slot: Slot, id: FileId, range: Extent, now: Instant) -> bool {
        let gaps = self.files[id].cached.gaps(range);
        let extents = self.mapped(id, &gaps);
        self.send(slot, Transfer::Read, &extents, now)
    }

    /// Where these blocks of a file are, as far as they are anywhere.
    fn mapped(&self, id: FileId, ranges: &[Extent]) -> Vec<Extent> {
        let map = &self.files[id].map;
        ranges.iter().flat_map(|range| map.within(*range)).map(|mapped| mapped.extent).collect()
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
