//! Commands on files: names, and records that become dirty, are read, or are freed.
//!
//! A command first takes its processor time, then has its effect: data in pieces of 1 MiB, one
//! after the other, each with the processor time of its bytes before it.

use std::collections::BTreeMap;

use trimbench_core::units::narrow;
use trimbench_core::{
    BlockCommand, DirectoryId, Errno, FileCommand, FileId, FileOrder, Instant, Model, Nanos,
    Rejected, Status,
};

use super::Pool;
use crate::commands::{
    Progress, Slot, Stage, Stop, Task, check_transfer, ended, require, status_after,
};
use crate::config::FS_BLOCK;
use crate::cow::drive::{Owner, Work};
use crate::cow::queue::Class;
use crate::cow::stripe::{Columns, Run};
use crate::extent::{Extent, RangeSet};

/// Bytes that a command moves at a time.
const PIECE: u64 = 1 << 20;
/// The largest file: beyond any pool.
const SIZE_MAX: u64 = 1 << 60;

/// A file, or a name that commands wait for.
#[derive(Debug, Default)]
pub(super) struct File {
    /// The directory with its name, if it is there.
    directory: Option<DirectoryId>,
    size: u64,
    /// By the first record.
    pub(super) runs: BTreeMap<u64, Run>,
    /// Records of the open group, and of one that waits for its discards before it is written.
    pub(super) dirty: RangeSet,
    pub(super) quiesced: RangeSet,
    pub(super) order: FileOrder<Slot>,
}

impl File {
    /// Sectors of a record: a file of one record has as many as it needs.
    pub(super) fn record_sectors(&self, record: u64) -> u64 {
        self.size.clamp(1, record).div_ceil(FS_BLOCK.0)
    }
}

impl<M: Model<Command = BlockCommand>> Pool<M> {
    /// Whether the command may start; its file may get it in any case.
    pub(super) fn admit(&mut self, file: FileId, slot: Slot, command: FileCommand) -> bool {
        self.files.entry(file).or_default().order.admit(slot, command)
    }

    pub(super) fn step(&mut self, slot: Slot, now: Instant) {
        let Task::File(command) = self.commands.get(slot).task else {
            unreachable!("a pool is neither mounted nor unmounted");
        };
        if let Some(status) = status_after(self.step_command(slot, command, now)) {
            self.finish(slot, status, now);
        }
    }

    fn step_command(&mut self, slot: Slot, command: FileCommand, now: Instant) -> Progress {
        match command {
            FileCommand::Create { file } => self.create(slot, file, DirectoryId::OWN, now),
            FileCommand::Store { file, directory, length, .. } => {
                if self.commands.get(slot).stage == Stage::Start {
                    self.create(slot, file, directory, now)?;
                }
                self.write(slot, file, Extent::new(0, length.0), now)
            }
            FileCommand::Append { file, length, .. } => {
                let size = self.file(file).size;
                self.write(slot, file, Extent::new(size, length.0), now)
            }
            FileCommand::Write { file, offset, length } => {
                self.write(slot, file, Extent::new(offset.0, length.0), now)
            }
            FileCommand::Load { file, length, .. } => {
                self.read(slot, file, Extent::new(0, length.0), now)
            }
            FileCommand::Read { file, offset, length } => {
                self.read(slot, file, Extent::new(offset.0, length.0), now)
            }
            FileCommand::Truncate { file, length } => self.truncate(slot, file, length.0, now),
            FileCommand::Unlink { file } => self.unlink(slot, file, now),
            FileCommand::Fsync { .. } | FileCommand::SyncFilesystem => {
                self.wait_for_group(slot, now)
            }
            FileCommand::MakeDirectory { directory } => self.make_directory(slot, directory, now),
            FileCommand::RemoveDirectory { directory } => {
                self.remove_directory(slot, directory, now)
            }
            FileCommand::PunchHole { .. }
            | FileCommand::TrimFreeSpace
            | FileCommand::TrimPaced { .. }
            | FileCommand::RunProgram => {
                unreachable!("such a command is refused")
            }
        }
    }

    pub(super) fn finish(&mut self, slot: Slot, status: Status, now: Instant) {
        let Task::File(what) = self.commands.end(slot, status, now) else { return };
        let Some(id) = what.file() else { return };
        let file = self.files.get_mut(&id).expect("commands under way keep their file");
        file.order.ended();
        if what.makes() && file.directory.is_none() {
            file.order.expected = false;
        }
        while let Some((next, _)) = self.files.get_mut(&id).and_then(|file| file.order.startable())
        {
            self.commands.schedule(now + self.config.cpu.metadata, next);
        }
        let file = &self.files[&id];
        if file.directory.is_none() && file.order.is_idle() && !file.order.expected {
            self.files.remove(&id);
        }
    }

    fn file(&mut self, id: FileId) -> &mut File {
        self.files.get_mut(&id).expect("a file with commands is kept")
    }

    fn create(&mut self, slot: Slot, id: FileId, directory: DirectoryId, now: Instant) -> Progress {
        self.await_room(slot)?;
        require(self.file(id).directory.is_none(), Errno::EEXIST)?;
        *self.directories.get_mut(&directory).ok_or(Errno::ENOENT)? += 1;
        self.file(id).directory = Some(directory);
        self.touch(now);
        Ok(())
    }

    fn make_directory(&mut self, slot: Slot, id: DirectoryId, now: Instant) -> Progress {
        self.await_room(slot)?;
        require(!self.directories.contains_key(&id), Errno::EEXIST)?;
        self.directories.insert(id, 0);
        self.touch(now);
        Ok(())
    }

    fn remove_directory(&mut self, slot: Slot, id: DirectoryId, now: Instant) -> Progress {
        self.await_room(slot)?;
        let count = *self.directories.get(&id).ok_or(Errno::ENOENT)?;
        require(count == 0 && id != DirectoryId::OWN, Errno::ENOTEMPTY)?;
        self.directories.remove(&id);
        self.touch(now);
        Ok(())
    }

    /// Goes on with making `range` of the file dirty, in bytes; called first with the whole range.
    fn write(&mut self, slot: Slot, id: FileId, range: Extent, now: Instant) -> Progress {
        let command = self.commands.get(slot);
        if command.stage == Stage::Start {
            (command.at, command.end) = (range.start, range.end());
            return self.next_piece(slot, self.config.cpu.write_kib, now);
        }
        let (at, end, waited) = (command.at, command.end, command.stage == Stage::Delayed);
        let end = end.min(at + PIECE);
        let record = self.config.record.0;
        let records = Extent::between(at / record, end.div_ceil(record));
        self.await_room(slot)?;
        if !waited && let Some(until) = self.delay(records.length, now) {
            self.commands.get(slot).stage = Stage::Delayed;
            self.commands.schedule(until, slot);
            return Err(Stop::Waits);
        }
        require(self.fits(id, records), Errno::ENOSPC)?;
        let file = self.file(id);
        file.size = file.size.max(end);
        let added = file.dirty.insert(records);
        self.groups.open.files.insert(id);
        self.commands.get(slot).at = end;
        self.dirtied(added * record, now);
        self.next_piece(slot, self.config.cpu.write_kib, now)
    }

    /// Whether the records would find room: free space, what is on its way back, and what they will
    /// replace, less what is dirty already.
    fn fits(&self, id: FileId, records: Extent) -> bool {
        let allocated = self.stripe.allocated(self.record_sectors());
        let dirty = self.groups.dirty_total / self.config.record.0;
        let file = &self.files[&id];
        let new: u64 = file.dirty.gaps(records).iter().map(|gap| gap.length).sum();
        let needed = (dirty + new) * allocated + self.slop;
        needed <= self.space.free() + self.groups.returning
    }

    /// Goes on with reading `range` of the file; called first with the whole range.
    fn read(&mut self, slot: Slot, id: FileId, range: Extent, now: Instant) -> Progress {
        let size = self.file(id).size;
        let record = self.config.record.0;
        let command = self.commands.get(slot);
        if command.stage == Stage::Start {
            (command.at, command.end) = (range.start.min(size), range.end().min(size));
            return self.next_piece(slot, self.config.cpu.read_kib, now);
        }
        let (at, end) = (command.at, command.end.min(command.at + PIECE));
        command.at = end;
        let wanted = Extent::between(at / record, end.div_ceil(record));
        self.pieces.clear();
        let file = &self.files[&id];
        let gaps = file.dirty.gaps(wanted).into_iter();
        for clean in gaps.flat_map(|gap| file.quiesced.gaps(gap)) {
            for Part { run, offset, count, .. } in parts(&file.runs, clean) {
                let behind = self.stripe.split(run, offset).1.expect("the part is in the run");
                let wanted = self.stripe.split(behind, count).0.expect("the part is not empty");
                self.stripe.pieces(wanted, Columns::Data, &mut self.pieces);
            }
        }
        self.commands.get(slot).io = narrow(self.pieces.len() as u64);
        for piece in &self.pieces {
            let work = Work::Read(Extent::new(piece.start, piece.sectors));
            self.drives[piece.drive].add(Class::SyncRead, Owner::Command(slot), work);
        }
        if self.pieces.is_empty() {
            return self.next_piece(slot, self.config.cpu.read_kib, now);
        }
        self.pump_all(now);
        Err(Stop::Waits)
    }

    pub(super) fn read_ended(&mut self, slot: Slot, failure: Option<Errno>, now: Instant) {
        let command = self.commands.get(slot);
        command.io -= 1;
        command.failure = command.failure.or(failure);
        if command.io > 0 {
            return;
        }
        let failed = ended(command.failure);
        let progress = failed.and_then(|()| self.next_piece(slot, self.config.cpu.read_kib, now));
        if let Some(status) = status_after(progress) {
            self.finish(slot, status, now);
        }
    }

    /// The processor time of the next piece passes, or the command is over.
    fn next_piece(&mut self, slot: Slot, per_kib: Nanos, now: Instant) -> Progress {
        let command = self.commands.get(slot);
        command.stage = Stage::Moving;
        let length = command.end.saturating_sub(command.at).min(PIECE);
        if length == 0 {
            return Ok(());
        }
        self.commands.schedule(now + Nanos(per_kib.times(length).0 / 1024), slot);
        Err(Stop::Waits)
    }

    fn truncate(&mut self, slot: Slot, id: FileId, length: u64, now: Instant) -> Progress {
        self.await_room(slot)?;
        let record = self.config.record.0;
        let file = self.file(id);
        let before = std::mem::replace(&mut file.size, length);
        if length < before {
            let kept = length.div_ceil(record);
            let cut = Extent::between(kept, before.div_ceil(record));
            let dirty = file.dirty.remove(cut) + file.quiesced.remove(cut);
            self.free_records(id, cut, false);
            self.cleaned(dirty * record, now);
            if !length.is_multiple_of(record) {
                // The last record is written anew, without its tail.
                let last = Extent::new(kept - 1, 1);
                let added = self.file(id).dirty.insert(last);
                self.groups.open.files.insert(id);
                self.dirtied(added * record, now);
            }
        }
        self.touch(now);
        Ok(())
    }

    fn unlink(&mut self, slot: Slot, id: FileId, now: Instant) -> Progress {
        self.await_room(slot)?;
        let directory = self.file(id).directory.take().ok_or(Errno::ENOENT)?;
        *self.directories.get_mut(&directory).expect("a file's directory is there") -= 1;
        let file = self.file(id);
        let dirty = std::mem::take(&mut file.dirty).total();
        let dirty = dirty + std::mem::take(&mut file.quiesced).total();
        self.groups.open.files.remove(&id);
        let all = Extent::new(0, self.file(id).size.div_ceil(self.config.record.0).max(1));
        self.free_records(id, all, false);
        self.file(id).size = 0;
        self.touch(now);
        self.cleaned(dirty * self.config.record.0, now);
        Ok(())
    }

    /// Gives back the places of records: with the syncing group where it replaces them, else with
    /// the open one.
    pub(super) fn free_records(&mut self, id: FileId, records: Extent, replaced: bool) {
        let stripe = self.stripe;
        let runs = &mut self.files.get_mut(&id).expect("a file with commands is kept").runs;
        let found: Vec<_> = parts(runs, records).collect();
        for Part { first, run, offset, count } in found {
            runs.remove(&first);
            let (before, behind) = stripe.split(run, offset);
            let (freed, after) = stripe.split(behind.expect("the part is in the run"), count);
            runs.extend(before.map(|before| (first, before)));
            runs.extend(after.map(|after| (first + offset + count, after)));
            let freed = freed.expect("the part is not empty");
            self.groups.returning += stripe.taken(freed);
            match &mut self.groups.syncing {
                Some(syncing) if replaced => syncing.free(freed),
                _ => self.groups.open.freed.push(freed),
            }
        }
    }
}

/// Some records of a run.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The first record of the run, within the file.
    first: u64,
    run: Run,
    /// The first record that is meant, within the run, and how many.
    offset: u64,
    count: u64,
}

/// The parts of runs that are in a range of records, in order.
fn parts(runs: &BTreeMap<u64, Run>, records: Extent) -> impl Iterator<Item = Part> {
    let before = runs.range(..=records.start).next_back().map(|(&first, _)| first);
    let from = before.unwrap_or(records.start);
    runs.range(from..records.end().max(from)).filter_map(move |(&first, &run)| {
        let part = Extent::new(first, run.records).overlap(records)?;
        Some(Part { first, run, offset: part.start - first, count: part.length })
    })
}

/// Refuses what is not supported, and transfers of nothing or beyond any pool.
pub(super) fn validate(command: FileCommand) -> Result<(), Rejected> {
    let (offset, length) = match command {
        FileCommand::PunchHole { .. } => {
            return Err(Rejected::Unsupported { operation: "punching holes" });
        }
        FileCommand::TrimFreeSpace => {
            return Err(Rejected::Unsupported { operation: "FITRIM" });
        }
        FileCommand::RunProgram | FileCommand::TrimPaced { .. } => {
            return Err(Rejected::Unsupported { operation: "running a program" });
        }
        FileCommand::Read { offset, length, .. } | FileCommand::Write { offset, length, .. } => {
            (offset.0, length.0)
        }
        FileCommand::Store { length, .. }
        | FileCommand::Append { length, .. }
        | FileCommand::Load { length, .. } => (0, length.0.max(1)),
        _ => return Ok(()),
    };
    check_transfer(offset, length, SIZE_MAX)
}
