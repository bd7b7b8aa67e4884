//! Write-back: from dirty pages to writes of the device.
//!
//! Files that an fsync waits for are taken first, then the oldest dirty ones, as long as there is a
//! reason: a sync, the background limit, their age. The blocks of one contiguous dirty range are
//! allocated at once, up to 2048 (`MAX_WRITEPAGES_EXTENT_LEN` in fs/ext4/inode.c), and sent at
//! once, so that ordered data are in flight when their transaction commits. At most
//! `write_back_depth` requests are in flight, not counting those of the last range. While a sync
//! waits for its last writes, nothing younger is written.

use trimbench_core::{BlockCommand, Errno, FileId, Instant, Model};

use crate::discards::bytes;
use crate::extent::Extent;
use crate::lower::{Owner, Transfer, WriteBack};

use super::FileSystem;

/// Blocks that are allocated at once.
const ALLOCATION_MAX: u64 = 2_048;

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// Pages of a file become dirty; `fresh` of them have no place on the device and are none of
    /// those that were promised one.
    pub(super) fn make_dirty(&mut self, id: FileId, range: Extent, fresh: u64, now: Instant) {
        let file = self.files.get_mut(id).expect("commands under way keep their file");
        self.cache.dirty += file.dirty.insert(range);
        self.cache.delayed += fresh;
        if file.dirty_order.is_none() {
            file.dirty_order = Some(self.cache.add_dirty_file(id, now));
        }
        self.keep_pages(id, range);
        self.arm_flusher(now);
        self.write_back(now);
    }

    /// Pages of a file are in the cache and were just used.
    pub(super) fn keep_pages(&mut self, id: FileId, range: Extent) {
        let file = self.files.get_mut(id).expect("commands under way keep their file");
        self.cache.cached += file.cached.insert(range);
        file.used_order = Some(self.cache.used(id, file.used_order));
        let files = &self.files;
        let last = |order, id| files.get(id).is_some_and(|file| file.used_order == Some(order));
        self.cache.tidy_uses(last);
        self.evict();
    }

    pub(super) fn forget_pages(&mut self, id: FileId, range: Extent) {
        let file = self.files.get_mut(id).expect("commands under way keep their file");
        let promised = |part: Extent| part.length - file.map.count(part);
        let delayed: u64 = file.dirty.within(range).map(promised).sum();
        self.cache.delayed -= delayed;
        self.cache.dirty -= file.dirty.remove(range);
        self.cache.cached -= file.cached.remove(range);
        if file.dirty.is_empty()
            && let Some(order) = file.dirty_order.take()
        {
            self.cache.remove_dirty_file(order);
        }
        if file.cached.is_empty() && file.used_order.take().is_some() {
            self.cache.forget();
        }
    }

    /// Starts as much write-back as there is reason and room for.
    pub(super) fn write_back(&mut self, now: Instant) {
        while self.requests < self.config.write_back_depth {
            let Some(id) = self.next_to_write() else { break };
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
        self.end_sync(now);
    }

    /// Writers that wait for room in the cache go on as far as there is some.
    pub(super) fn room_came(&mut self, now: Instant) {
        for _ in 0..self.cache.throttled.len() {
            if self.cache.room() == 0 {
                break;
            }
            let Some(slot) = self.cache.throttled.pop_front() else { break };
            self.step(slot, now);
        }
    }

    /// A write of pages of a file ended.
    pub(super) fn written_back(&mut self, what: WriteBack, failure: Option<Errno>, now: Instant) {
        let WriteBack { file: id, length, transaction } = what;
        self.requests -= 1;
        self.cache.in_flight -= length;
        self.counters.written_back += bytes(length);
        self.unflushed = true;
        let file = self.file(id);
        file.in_flight -= 1;
        file.write_error = file.write_error.or(failure);
        let idle = file.in_flight == 0;
        let waiters = if idle { std::mem::take(&mut file.waiters) } else { Vec::new() };
        if idle {
            self.fold_extents(id, now);
        }
        if let Some(transaction) = transaction {
            self.ordered_ended(transaction, now);
        }
        for slot in waiters {
            self.step(slot, now);
        }
        self.room_came(now);
        self.write_back(now);
    }

    /// The flusher looks for what has been dirty for too long.
    pub(super) fn flusher_looks(&mut self, now: Instant) {
        let expire = self.config.dirty_expire;
        self.flusher_at = Instant::NEVER;
        if now.since_start() >= expire {
            let expired = now - expire;
            self.expired = Some(expired);
            let old = self.journal.history.iter().take_while(|committed| committed.at <= expired);
            if let Some(id) = old.last().map(|committed| committed.id) {
                self.start_checkpoint(id, now);
            }
        }
        self.write_back(now);
        if self.cache.dirty > 0 || !self.journal.history.is_empty() {
            self.arm_flusher(now);
        }
    }

    /// The flusher is to look in a while, if it is not to anyway.
    pub(super) fn arm_flusher(&mut self, now: Instant) {
        if self.flusher_at == Instant::NEVER {
            self.flusher_at = now + self.config.write_back_interval;
        }
    }

    /// The file whose pages are written next, if any are to be.
    fn next_to_write(&mut self) -> Option<FileId> {
        while let Some(&id) = self.urgent.front() {
            if self.files.get(id).is_some_and(|file| !file.dirty.is_empty()) {
                return Some(id);
            }
            self.urgent.pop_front();
        }
        let (order, id, since) = self.cache.oldest_dirty()?;
        let wanted = if self.sync_waiters.is_empty() {
            self.cache.over_background() || self.expired.is_some_and(|expired| since <= expired)
        } else {
            order <= self.sync_until
        };
        wanted.then_some(id)
    }

    /// Writes the beginning of the first dirty range of a file.
    fn write_some(&mut self, id: FileId, now: Instant) {
        let file = &self.files[id];
        let first = file.dirty.first().expect("the file is dirty");
        let mut range = Extent::new(first.start, first.length.min(ALLOCATION_MAX));
        let mut transaction = None;
        match file.map.first_hole(range) {
            Some(hole) if hole.start == range.start => {
                self.cache.delayed -= hole.length;
                self.allocate(id, hole, now);
                range = hole;
                transaction = Some(self.journal.running.id);
            }
            Some(hole) => range = Extent::between(range.start, hole.start),
            None => {}
        }
        let file = self.files.get_mut(id).expect("it is there");
        let mut sent = 0;
        let owner = Owner::WriteBack(WriteBack { file: id, length: range.length, transaction });
        for mapped in file.map.within(range) {
            sent += self.lower.send(now, owner, Transfer::Write, mapped.extent);
        }
        file.in_flight += sent;
        let pages = file.dirty.remove(range);
        self.cache.dirty -= pages;
        self.cache.in_flight += pages;
        self.requests += sent;
        if transaction.is_some() {
            self.journal.running.ordered += sent;
        }
        if file.dirty.is_empty()
            && let Some(order) = file.dirty_order.take()
        {
            self.cache.remove_dirty_file(order);
        }
    }

    /// Ends the wait of syncs if everything that they wait for is written.
    fn end_sync(&mut self, now: Instant) {
        let left = self.cache.oldest_dirty().is_some_and(|(order, ..)| order <= self.sync_until);
        if self.sync_waiters.is_empty() || self.requests > 0 || left {
            return;
        }
        for slot in std::mem::take(&mut self.sync_waiters) {
            self.step(slot, now);
        }
    }

    /// Forgets clean files until the rest fits.
    fn evict(&mut self) {
        // What is in use at present comes up once.
        for _ in 0..self.cache.uses() {
            if !self.cache.over_memory() {
                return;
            }
            let Some((order, id)) = self.cache.pop_use() else { return };
            let Some(file) = self.files.get_mut(id) else { continue };
            if file.used_order != Some(order) {
                continue;
            }
            if file.dirty.is_empty() && file.in_flight == 0 {
                self.forget_pages(id, Extent::between(0, u64::MAX));
            } else {
                // It stays until it is clean.
                file.used_order = Some(self.cache.used(id, file.used_order));
            }
        }
    }
}
