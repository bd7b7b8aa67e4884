//! Transaction groups: one open, one syncing.
//!
//! A group is open until it is five seconds old, has 64 MiB of dirty data, or someone waits for it,
//! and until the previous group is synced. It is then quiesced, which takes no time here, because
//! no command holds a group for longer than an instant. Syncing first waits for the discards that
//! were queued while the group was open (`OpenZFS` only, where they are its children); writes its
//! records to free space, file by file; frees, record by record, the replaced and deleted data;
//! writes metadata, then the uberblock, and flushes. Freed space is available two groups later.
//! Source: \[FBZFS\] `txg.c`, `dsl_pool.c`, `spa.c` (`spa_sync`).
//!
//! From 60 % of their limit on, dirty data delay commands, increasingly; at 100 % they stop them.
//! Source: \[FBZFS\] `dmu_tx_delay`.

use std::collections::{BTreeSet, VecDeque};

use trimbench_core::{BlockCommand, Bytes, Errno, FileId, Instant, Model, Nanos, Status};

use super::Pool;
use crate::commands::{Progress, Slot, Stage, Stop};
use crate::config::FS_BLOCK;
use crate::cow::drive::{Owner, Work};
use crate::cow::queue::Class;
use crate::cow::stripe::{Columns, Run};
use crate::extent::Extent;

/// Groups between giving back and being free. Source: \[FBZFS\] `TXG_DEFER_SIZE`.
const DEFERRED_GROUPS: usize = 2;
/// Sectors that a request to a drive has at most. Source: \[FBZFS\] `zfs_vdev_aggregation_limit`,
/// 128 KiB.
const REQUEST_SECTORS: u64 = 32;
/// Records whose places one block of metadata holds. Source: \[FBZFS\] 16 KiB of 128 bytes each.
const RECORDS_PER_INDIRECT: u64 = 128;
/// Sectors of a block of metadata: 16 KiB, written uncompressed.
const METADATA_SECTORS: u64 = 4;
/// Copies of metadata. Source: \[FBZFS\] `dmu_write_policy`.
const METADATA_COPIES: u64 = 2;
/// Blocks of metadata that every group writes. Assumed.
const METADATA_LEAST: u64 = 2;
/// Runs that are given back at a time.
const FREED_AT_ONCE: usize = 64;
/// The delay at 80 % of the most dirty data, and the longest. Source: \[FBZFS\] `zfs_delay_scale`,
/// `zfs_delay_max_ns`.
const DELAY_SCALE: Nanos = Nanos::from_micros(500);
const DELAY_MAX: Nanos = Nanos::from_millis(100);

#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Bytes that are not written yet, of both.
    pub(super) dirty_total: u64,
    pub(super) open: Group,
    pub(super) syncing: Option<Syncing>,
    /// When the last groups were synced, the youngest first.
    pub(super) synced: VecDeque<Instant>,
    /// What the last groups gave back.
    deferred: VecDeque<GivenBack>,
    /// Groups before this one are synced as soon as they can be.
    pub(super) forced: u64,
    /// Sectors of it, and of what the syncing group gives back.
    pub(super) returning: u64,
    /// Commands that wait for less dirty data.
    waiters: VecDeque<Slot>,
    /// When the last command that was delayed goes on: the next one goes on after it.
    delayed_until: Instant,
}

/// What a group gave back.
#[derive(Debug)]
struct GivenBack {
    extents: Vec<Extent>,
    /// Whether some of it was deleted, not only replaced.
    deleted: bool,
}

/// What changed together.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Groups are numbered from 0.
    pub(super) number: u64,
    /// Since when; the first change where nothing was to be done before.
    pub(super) since: Instant,
    pub(super) changed: bool,
    /// Files with data of it.
    pub(super) files: BTreeSet<FileId>,
    /// Someone waits for it.
    pub(super) wanted: bool,
    pub(super) freed: Vec<Run>,
    pub(super) waiters: Vec<Slot>,
    /// `OpenZFS`: discards queued since it is open that have not ended.
    pub(super) trims: u64,
}

/// A group on its way to the drives.
#[derive(Debug)]
pub(super) struct Syncing {
    pub(super) number: u64,
    step: SyncStep,
    /// Discards that it waits for, and requests of its own under way.
    trims: u64,
    io: u64,
    /// Files with data to write.
    files: BTreeSet<FileId>,
    deleted: bool,
    /// Records written or given back.
    records: u64,
    freed: Vec<Run>,
    given: usize,
    give_at: Instant,
    pub(super) waiters: Vec<Slot>,
    failure: Option<Errno>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncStep {
    Discards,
    Data,
    Freeing,
    Metadata,
    Uberblock,
    Flush,
}

impl Syncing {
    pub(super) fn free(&mut self, run: Run) {
        self.freed.push(run);
    }
}

impl<M: Model<Command = BlockCommand>> Pool<M> {
    /// Something changes in the open group.
    pub(super) fn touch(&mut self, now: Instant) {
        let idle = !self.is_group_due();
        let open = &mut self.groups.open;
        if idle {
            open.since = now;
        }
        open.changed = true;
    }

    /// Data became dirty.
    pub(super) fn dirtied(&mut self, bytes: u64, now: Instant) {
        self.touch(now);
        self.groups.dirty_total += bytes;
        self.try_sync(now);
    }

    /// Dirty data are no longer so: written, or gone with their file.
    pub(super) fn cleaned(&mut self, bytes: u64, now: Instant) {
        assert!(bytes <= self.groups.dirty_total, "what is cleaned was dirty");
        self.groups.dirty_total -= bytes;
        while self.groups.dirty_total < self.config.dirty_max.0
            && let Some(slot) = self.groups.waiters.pop_front()
        {
            self.step(slot, now);
        }
    }

    /// A command changes something; it waits until it may.
    pub(super) fn await_room(&mut self, slot: Slot) -> Progress {
        if self.groups.dirty_total < self.config.dirty_max.0 {
            return Ok(());
        }
        self.counters.throttled += 1;
        self.groups.waiters.push_back(slot);
        Err(Stop::Waits)
    }

    /// Until when a command waits that makes so many records dirty: one after the other, each the
    /// longer the more is dirty.
    pub(super) fn delay(&mut self, records: u64, now: Instant) -> Option<Instant> {
        let (dirty, most) = (self.groups.dirty_total, self.config.dirty_max.0);
        let above = dirty.saturating_sub(most * 6 / 10);
        if above == 0 {
            return None;
        }
        let left = most.saturating_sub(dirty).max(1);
        let one = u128::from(DELAY_SCALE.0) * u128::from(above) / u128::from(left);
        let one = Nanos(u64::try_from(one).unwrap_or(u64::MAX)).min(DELAY_MAX);
        let until = now.max(self.groups.delayed_until) + one.times(records);
        self.groups.delayed_until = until;
        Some(until)
    }

    pub(super) fn group_event(&self) -> Instant {
        match &self.groups.syncing {
            Some(syncing) if syncing.step == SyncStep::Freeing => syncing.give_at,
            Some(_) => Instant::NEVER,
            None => self.group_due(),
        }
    }

    fn group_due(&self) -> Instant {
        if self.is_group_due() {
            self.groups.open.since + self.config.group_timeout
        } else {
            Instant::NEVER
        }
    }

    /// Whether the open group is synced once it is old enough: something changes with it, or
    /// trimming waits for it.
    fn is_group_due(&self) -> bool {
        let groups = &self.groups;
        groups.open.changed
            || !groups.deferred.is_empty()
            || self.trim.waits_for_groups(&self.space)
    }

    pub(super) fn group_step(&mut self, now: Instant) {
        if self.groups.syncing.is_some() {
            self.give_back(now);
        } else {
            self.start_sync(now);
        }
    }

    /// Syncs the open group if it is time to.
    pub(super) fn try_sync(&mut self, now: Instant) {
        let full = self.groups.dirty_total >= self.config.dirty_sync.0;
        let wanted = self.groups.open.wanted || self.groups.open.number < self.groups.forced;
        let due = full || wanted || self.group_due() <= now;
        if self.groups.syncing.is_none() && due {
            self.start_sync(now);
        }
    }

    /// A request of the syncing group ended.
    pub(super) fn group_io_ended(&mut self, cleaned: u64, failure: Option<Errno>, now: Instant) {
        let syncing = self.groups.syncing.as_mut().expect("its requests end before the group");
        syncing.io -= 1;
        syncing.failure = syncing.failure.or(failure);
        let over = syncing.io == 0;
        self.cleaned(cleaned, now);
        if over {
            self.sync_step_over(now);
        }
    }

    fn start_sync(&mut self, now: Instant) {
        let number = self.groups.open.number + 1;
        let next = Group { number, since: now, ..Group::default() };
        let open = std::mem::replace(&mut self.groups.open, next);
        for id in &open.files {
            let file = self.files.get_mut(id).expect("a dirty file is there");
            file.quiesced = std::mem::take(&mut file.dirty);
        }
        self.groups.syncing = Some(Syncing {
            number: open.number,
            step: SyncStep::Discards,
            trims: open.trims,
            io: 0,
            files: open.files,
            deleted: !open.freed.is_empty(),
            records: 0,
            freed: open.freed,
            given: 0,
            give_at: Instant::NEVER,
            waiters: open.waiters,
            failure: None,
        });
        if open.trims == 0 {
            self.write_data(now);
        }
    }

    /// A discard ended that was queued while this group was open.
    pub(super) fn discard_of_group_ended(&mut self, group: u64, now: Instant) {
        match &mut self.groups.syncing {
            Some(syncing) if syncing.number == group => {
                syncing.trims -= 1;
                if syncing.trims == 0 {
                    self.write_data(now);
                }
            }
            _ => self.groups.open.trims -= 1,
        }
    }

    fn write_data(&mut self, now: Instant) {
        self.syncing().step = SyncStep::Data;
        for id in std::mem::take(&mut self.syncing().files) {
            self.write_file(id, now);
        }
        self.pump_all(now);
        if self.syncing().io == 0 {
            self.sync_step_over(now);
        }
    }

    fn syncing(&mut self) -> &mut Syncing {
        self.groups.syncing.as_mut().expect("a group is synced")
    }

    /// Writes the dirty records of a file to free space.
    fn write_file(&mut self, id: FileId, now: Instant) {
        // It may have been deleted while the group waited for its discards.
        let Some(file) = self.files.get_mut(&id) else { return };
        let sectors = file.record_sectors(self.config.record.0);
        let dirty = std::mem::take(&mut file.quiesced);
        let allocated = self.stripe.allocated(sectors);
        // So many that what a drive gets of them is one request.
        let longest = ((REQUEST_SECTORS - 1) * self.stripe.drives / allocated).max(1);
        for range in dirty.ranges() {
            let mut at = range.start;
            while at < range.end() {
                let Some(run) = self.place(longest.min(range.end() - at), sectors) else {
                    self.unplaced(id, Extent::between(at, range.end()), allocated, now);
                    break;
                };
                let replaced = Extent::new(at, run.records);
                at += run.records;
                self.free_records(id, replaced, true);
                let file = self.files.get_mut(&id).expect("a dirty file is there");
                file.runs.insert(replaced.start, run);
                self.write_run(run);
            }
        }
    }

    /// Free space for `records` records, or for one.
    fn place(&mut self, records: u64, sectors: u64) -> Option<Run> {
        let allocated = self.stripe.allocated(sectors);
        [records, 1].into_iter().find_map(|records| {
            let start = self.space.take(records * allocated)?;
            Some(Run { start, records, sectors })
        })
    }

    /// There is no room for a record in one piece: the records stay dirty, for the next group, when
    /// what is on its way back is free. Whoever waits for this group is told; where metaslabs that
    /// are trimmed have room, waits for the next group as well.
    fn unplaced(&mut self, id: FileId, range: Extent, allocated: u64, now: Instant) {
        let file = self.files.get_mut(&id).expect("a dirty file is there");
        let added = file.dirty.insert(range);
        self.groups.open.files.insert(id);
        self.touch(now);
        let syncing = self.groups.syncing.as_mut().expect("a group is synced");
        if self.space.withheld() < allocated {
            syncing.failure = Some(Errno::ENOSPC);
        } else {
            self.groups.open.waiters.append(&mut syncing.waiters);
        }
        if added < range.length {
            // Some were written again meanwhile: they were dirty twice.
            self.cleaned((range.length - added) * self.config.record.0, now);
        }
    }

    fn write_run(&mut self, run: Run) {
        let bytes = run.records * self.config.record.0;
        let spans = self.stripe.spans(run);
        let parts = self.stripe.spans(run).count() as u64;
        let syncing = self.groups.syncing.as_mut().expect("a group is synced");
        syncing.records += run.records;
        for (number, span) in (0_u64..).zip(spans) {
            // The first one has what does not divide.
            let rest = if number == 0 { bytes % parts } else { 0 };
            let cleaned = bytes / parts + rest;
            let work = Work::Write(Extent::new(span.start, span.sectors));
            self.drives[span.drive].add(Class::AsyncWrite, Owner::Group { cleaned }, work);
            syncing.io += 1;
        }
        self.counters.written += Bytes(run.records * run.sectors * FS_BLOCK.0);
    }

    /// All requests of a step have ended.
    fn sync_step_over(&mut self, now: Instant) {
        let syncing = self.syncing();
        match syncing.step {
            SyncStep::Data => {
                syncing.step = SyncStep::Freeing;
                self.plan_giving(now);
            }
            SyncStep::Discards | SyncStep::Freeing => unreachable!("it has no requests"),
            SyncStep::Metadata => {
                syncing.step = SyncStep::Uberblock;
                let sector = Extent::new(0, 1);
                self.on_all_drives(Work::Write(sector), now);
            }
            SyncStep::Uberblock => {
                syncing.step = SyncStep::Flush;
                self.on_all_drives(Work::Flush, now);
            }
            SyncStep::Flush => self.synced(now),
        }
    }

    fn on_all_drives(&mut self, work: Work, now: Instant) {
        self.syncing().io = self.drives.len() as u64;
        for drive in &mut self.drives {
            drive.add(Class::SyncWrite, Owner::Group { cleaned: 0 }, work);
        }
        self.pump_all(now);
    }

    /// The next runs are given back after their processor time; metadata follow the last.
    fn plan_giving(&mut self, now: Instant) {
        let cost = self.config.cpu.free_record;
        let syncing = self.syncing();
        let left = &syncing.freed[syncing.given..];
        if left.is_empty() {
            self.write_metadata(now);
            return;
        }
        let records = left.iter().take(FREED_AT_ONCE).map(|run| run.records).sum();
        syncing.give_at = now + cost.times(records);
    }

    fn give_back(&mut self, now: Instant) {
        let syncing = self.groups.syncing.as_mut().expect("a group is synced");
        let left = &syncing.freed[syncing.given..];
        let runs = &left[..left.len().min(FREED_AT_ONCE)];
        for &run in runs {
            syncing.records += run.records;
            self.counters.freed += Bytes(run.records * run.sectors * FS_BLOCK.0);
            if self.config.manner.is_openzfs() {
                continue;
            }
            self.pieces.clear();
            self.stripe.pieces(run, Columns::All, &mut self.pieces);
            for piece in &self.pieces {
                self.drives[piece.drive].freed(now, Extent::new(piece.start, piece.sectors));
            }
        }
        syncing.given += runs.len();
        self.plan_giving(now);
    }

    fn write_metadata(&mut self, now: Instant) {
        let syncing = self.syncing();
        syncing.step = SyncStep::Metadata;
        let blocks = METADATA_LEAST + syncing.records.div_ceil(RECORDS_PER_INDIRECT);
        for _ in 0..blocks * METADATA_COPIES {
            let (drive, mut at) = self.metadata_at;
            if at + METADATA_SECTORS > self.metadata_sectors {
                at = 1;
            }
            let work = Work::Write(Extent::new(at, METADATA_SECTORS));
            self.drives[drive].add(Class::AsyncWrite, Owner::Group { cleaned: 0 }, work);
            let next = (drive + 1) % self.drives.len();
            self.metadata_at = (next, if next == 0 { at + METADATA_SECTORS } else { at });
        }
        self.syncing().io = blocks * METADATA_COPIES;
        self.pump_all(now);
    }

    fn synced(&mut self, now: Instant) {
        let syncing = self.groups.syncing.take().expect("a group is synced");
        self.counters.groups += 1;
        let groups = &mut self.groups;
        groups.synced.push_front(now);
        groups.synced.truncate(self.config.trim_groups as usize + 1);
        let given = syncing.freed.iter().map(|&run| Extent::new(run.start, self.stripe.taken(run)));
        let given = GivenBack { extents: given.collect(), deleted: syncing.deleted };
        groups.deferred.push_back(given);
        let mut deleted = false;
        if groups.deferred.len() > DEFERRED_GROUPS {
            let given = groups.deferred.pop_front().expect("there is a first");
            deleted = given.deleted;
            for extent in given.extents {
                groups.returning -= extent.length;
                self.space.give(extent, now);
            }
        }
        if groups.deferred.iter().all(|given| given.extents.is_empty()) {
            groups.deferred.clear();
        }
        self.group_synced(syncing.number, deleted, now);
        let status = syncing.failure.map_or(Status::Done, Status::Failed);
        for slot in syncing.waiters {
            self.finish(slot, status, now);
        }
        self.try_sync(now);
    }

    /// An fsync or sync: waits for all that changed until now.
    pub(super) fn wait_for_group(&mut self, slot: Slot, now: Instant) -> Progress {
        self.commands.get(slot).stage = Stage::Committing;
        if self.groups.open.changed {
            self.groups.open.wanted = true;
            self.groups.open.waiters.push(slot);
            self.try_sync(now);
        } else if let Some(syncing) = &mut self.groups.syncing {
            syncing.waiters.push(slot);
        } else {
            return Ok(());
        }
        Err(Stop::Waits)
    }
}
