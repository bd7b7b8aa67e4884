//! Write-back: from dirty pages to writes of the device.
//!
//! Files that an fsync waits for are taken first, then the oldest dirty ones, as long as there is a
//! reason: a sync, the background limit, their age. The blocks of one contiguous dirty range are
//! allocated at once, up to 2048 (`MAX_WRITEPAGES_EXTENT_LEN` in fs/ext4/inode.c), and sent at
//! once, so that ordered data are in flight when their transaction commits. At most
//! `write_back_depth` requests are in flight, not counting those of the last range. While a sync
//! waits for its last writes, nothing younger is written.

use trimbench_core::{BlockCommand, Errno, FileId, Instant, Model};

use crate::extent::Extent;
use crate::lower::{Owner, Transfer, WriteBack};

use super::FileSystem;
use super::handle::Handle;

/// Blocks that are allocated at once.
const ALLOCATION_MAX: u64 = 2_048;

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// Starts as much write-back as there is reason and room for.
    pub(super) fn write_back(&mut self, now: Instant) {
        while let Some(id) = self.cache.next_to_write(&self.files) {
            if self.journal.is_full() {
                self.try_commit(now);
                if self.journal.is_full() {
                    break;
                }
                // The commit writes back too: there may be another file to write, or none.
                continue;
            }
            self.write_some(id, now);
        }
        // Syncs go on once everything is written that they wait for.
        for slot in self.cache.take_synced() {
            self.step(slot, now);
        }
    }

    /// Writers that wait for room in the cache go on as far as there is some.
    pub(super) fn room_came(&mut self, now: Instant) {
        while let Some(slot) = self.cache.take_throttled() {
            self.step(slot, now);
        }
    }

    /// A write of pages of a file ended.
    pub(super) fn written_back(&mut self, what: WriteBack, failure: Option<Errno>, now: Instant) {
        let file = &mut self.files[what.file];
        let waiters = self.cache.written(&mut file.pages, what.length, failure);
        self.lower.note_written();
        if waiters.is_some() {
            let mut handle = Handle::new(&self.config, &mut self.allocator, &mut self.journal, now);
            handle.fold_extents(file);
        }
        if what.transaction.is_some_and(|transaction| self.journal.ordered_ended(transaction)) {
            self.advance_commit(now);
        }
        for slot in waiters.into_iter().flatten() {
            self.step(slot, now);
        }
        self.room_came(now);
        self.write_back(now);
    }

    /// The flusher looks for what has been dirty for too long.
    pub(super) fn flusher_looks(&mut self, now: Instant) {
        let expired = self.cache.flusher_looks(now);
        if let Some(last) = expired.and_then(|expired| self.journal.committed_by(expired)) {
            self.start_checkpoint(last, now);
        }
        self.write_back(now);
        if self.cache.dirty() > 0 || !self.journal.is_checkpointed() {
            self.cache.arm_flusher(now);
        }
    }

    /// Writes the beginning of the first dirty range of a file.
    fn write_some(&mut self, id: FileId, now: Instant) {
        let file = &mut self.files[id];
        let first = file.pages.dirty().first().expect("the file is dirty");
        let mut range = Extent::new(first.start, first.length.min(ALLOCATION_MAX));
        let mut transaction = None;
        match file.map.first_hole(range) {
            Some(hole) if hole.start == range.start => {
                self.allocator.end_promise(hole.length);
                Handle::new(&self.config, &mut self.allocator, &mut self.journal, now)
                    .allocate(file, hole);
                range = hole;
                transaction = Some(self.journal.running());
            }
            Some(hole) => range = Extent::between(range.start, hole.start),
            None => {}
        }
        let mut sent = 0;
        let owner = Owner::WriteBack(WriteBack { file: id, length: range.length, transaction });
        for mapped in file.map.within(range) {
            sent += self.lower.send(now, owner, Transfer::Write, mapped.extent);
        }
        self.cache.write(&mut file.pages, range, sent);
        if transaction.is_some() {
            self.journal.add_ordered(sent);
        }
    }
}
