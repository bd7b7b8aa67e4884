//! The filesystem as a whole: admission, events, and who waits for what.
//!
//! A command first takes its processor time. Then it has its effect and sends what it needs to the
//! device, or waits: for its file, for space in the cache, for free space, for a commit. The event
//! that it waits for continues it. Events of one instant come in this order: the device's events;
//! commands in the order in which they were due; the timers of journal and flusher.
//!
//! Units: time in nanoseconds on the caller's clock, space in filesystem blocks of 4 KiB.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use trimbench_block::QueueEvent;
use trimbench_core::units::index;
use trimbench_core::{
    BlockCommand, BlockRequest, Bytes, Capabilities, Clock, Completion, DeviceStatistics,
    DirectoryId, Errno, FileCommand, FileId, Instant, LbaRange, Medium, Model, Nanos, Rejected,
    Status, Storage, Support, Tag,
};

use crate::allocator::Allocator;
use crate::cache::PageCache;
use crate::commands::{
    Commands, Progress, Slot, Stage, Stop, Task, check_transfer, require, status_after,
};
use crate::config::{FS_BLOCK, FsConfig, FsConfigError};
use crate::discards::{DiscardCounters, Discards, bytes};
use crate::extent::Extent;
use crate::files::Files;
use crate::journal::Journal;
use crate::kind::FsKind;
use crate::layout::{Layout, Metadata};
use crate::lower::{Lower, Owner};

mod check;
mod commit;
mod data;
mod discard_thread;
mod extent_tree;
mod names;
mod policy;
mod trim;
mod trim_f2fs;
mod trim_xfs;
mod whole;
mod write_back;

use names::Directory;
use policy::{OwnPath, Policy};

pub use policy::{FsPolicy, policy};

#[cfg(test)]
mod tests;

/// What a filesystem has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FsCounters {
    /// Transactions committed.
    pub commits: u64,
    /// Bytes written to the journal.
    pub journal_written: Bytes,
    /// Bytes of metadata written to their places.
    pub checkpoint_written: Bytes,
    /// Bytes of data written back from the page cache.
    pub written_back: Bytes,
    /// Times that a writer waited for room in the page cache.
    pub throttled: u64,
    /// What became of freed space.
    pub discards: DiscardCounters,
}

/// A modelled filesystem over a block device. Made by [`FileSystem::make`]; mounted.
#[derive(Debug)]
pub struct FileSystem<M> {
    config: FsConfig,
    capabilities: Capabilities,
    lower: Lower<M>,
    layout: Layout,
    allocator: Allocator,
    journal: Journal,
    cache: PageCache,
    discards: Discards,
    /// Of f2fs.
    thread: discard_thread::DiscardThread,
    /// Blocks for data and directories.
    room: u64,
    /// A trim policy in the place of the discard path.
    policy: Option<Policy>,
    /// An account of the discard path.
    own_path: Option<OwnPath>,
    files: Files,
    directories: BTreeMap<DirectoryId, Directory>,
    /// Files that were opened for writing, in this order; some may be gone.
    opened: VecDeque<FileId>,
    /// Inodes that were used and are free, and the first that never was.
    free_inodes: BinaryHeap<Reverse<u64>>,
    next_inode: u64,
    commands: Commands,
    /// When the flusher looks again.
    flusher_at: Instant,
    /// Data that are dirty since before this instant are written back.
    expired: Option<Instant>,
    /// Writes of write-back under way.
    requests: u32,
    /// Files that an fsync waits for.
    urgent: VecDeque<FileId>,
    /// Everything that became dirty up to here is written back: a sync waits.
    sync_until: u64,
    /// Commands that wait for the commit of a transaction.
    commit_waiters: Vec<(u32, Slot)>,
    /// Commands that wait for a transaction to join.
    handle_waiters: Vec<Slot>,
    /// Commands that wait for free space.
    space_waiters: Vec<Slot>,
    /// Commands that wait for the end of all write-back that a sync asked for.
    sync_waiters: Vec<Slot>,
    checkpoint: whole::Checkpoint,
    checkpoint_waiters: Vec<Slot>,
    /// Groups without free space that no FITRIM has discarded since.
    trimmed: Vec<bool>,
    /// Blocks that FITRIM withholds.
    withheld: u64,
    /// Where each FITRIM of XFS is.
    trims: BTreeMap<Slot, trim_xfs::Cursor>,
    mounted: bool,
    /// The unmount that waits for the last discard.
    unmounting: Option<Slot>,
    /// The journal could not be written.
    aborted: bool,
    /// Data or a journal was written since the last flush.
    unflushed: bool,
    counters: FsCounters,
    events: Vec<QueueEvent<Owner>>,
    completions: Vec<Completion>,
}

/// What a filesystem with this room can do, over a device that can do `below`.
fn capabilities(config: &FsConfig, below: &Capabilities, room: Bytes) -> Capabilities {
    let online = config.discard.is_some();
    Capabilities {
        discard: if online { below.discard } else { Support::None },
        clock: Clock::Virtual,
        medium: Medium::Directory { available: room, fs_block: FS_BLOCK },
        drain: config.kind.drain(),
        ..below.clone()
    }
}

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// Makes a filesystem on `device` and mounts it: in no time, and without a command to the
    /// device. (What mkfs discards is the caller's to send before.) On a device that takes no
    /// discards it has no discard path.
    ///
    /// # Errors
    /// A value out of its range; a device that is too small, or none.
    pub fn make(mut config: FsConfig, device: M) -> Result<Self, FsConfigError> {
        config.check()?;
        let lower = Lower::new(device, &config)?;
        let Medium::Device { capacity, .. } = lower.capabilities().medium else {
            return Err(FsConfigError::NotABlockDevice);
        };
        let layout = Layout::new(&config, capacity)?;
        let too_small =
            || FsConfigError::DeviceTooSmall { capacity, group: bytes(layout.group_fs_blocks()) };
        let mut allocator = fresh_space(&config, &layout);
        let length = layout.journal_length(&config);
        let region = allocator.take_region(layout.journal_goal(), length).ok_or_else(too_small)?;
        if length < 64 || allocator.free() < layout.group_fs_blocks() / 4 {
            return Err(too_small());
        }
        allocator.forget_touched();
        let room = allocator.free();
        let journal = Journal::new(&config, region, layout.ids());
        if lower.capabilities().discard == Support::None {
            config.discard = None;
        }
        let capabilities = capabilities(&config, lower.capabilities(), bytes(room));
        let mut filesystem = Self {
            trimmed: vec![false; index(layout.groups())],
            cache: PageCache::new(&config),
            config,
            capabilities,
            lower,
            layout,
            allocator,
            journal,
            discards: Discards::default(),
            thread: discard_thread::DiscardThread::new(config.made_trimmed),
            room,
            policy: None,
            own_path: None,
            files: Files::default(),
            directories: BTreeMap::new(),
            opened: VecDeque::new(),
            free_inodes: BinaryHeap::new(),
            next_inode: 0,
            commands: Commands::default(),
            flusher_at: Instant::NEVER,
            expired: None,
            requests: 0,
            urgent: VecDeque::new(),
            sync_until: 0,
            commit_waiters: Vec::new(),
            handle_waiters: Vec::new(),
            space_waiters: Vec::new(),
            sync_waiters: Vec::new(),
            checkpoint: whole::Checkpoint::default(),
            checkpoint_waiters: Vec::new(),
            withheld: 0,
            trims: BTreeMap::new(),
            mounted: true,
            unmounting: None,
            aborted: false,
            unflushed: false,
            counters: FsCounters::default(),
            events: Vec::new(),
            completions: Vec::new(),
        };
        filesystem.make_own_directory();
        Ok(filesystem)
    }

    /// The device below.
    pub fn device(&self) -> &M {
        self.lower.device()
    }

    /// The device below, to put it into a stated condition. Commands to it are the filesystem's.
    pub fn device_mut(&mut self) -> &mut M {
        self.lower.device_mut()
    }

    /// The device, without the filesystem.
    ///
    /// # Panics
    /// If commands are outstanding.
    pub fn into_device(self) -> M {
        assert!(self.commands.outstanding() == 0, "the filesystem is in use");
        self.lower.into_device()
    }

    /// What it was made as.
    pub fn config(&self) -> &FsConfig {
        &self.config
    }

    /// What it has counted.
    pub fn counters(&self) -> FsCounters {
        FsCounters { discards: self.discard_counters(), ..self.counters }
    }

    /// Freed bytes that are neither discarded nor given up: of transactions that have not
    /// committed, and waiting for the worker.
    pub fn discards_pending(&self) -> Bytes {
        let none = self.config.discard.is_none() && self.policy.is_none();
        let uncommitted = if none { 0 } else { self.journal.freed() };
        bytes(uncommitted + self.discards.pending() + self.policy_pending())
    }

    /// Its free space, in filesystem blocks of the device, by groups.
    pub fn free_space(&self) -> impl Iterator<Item = LbaRange> {
        let size = self.layout.group_fs_blocks();
        (0..self.layout.groups()).flat_map(move |group| {
            let mut from = group * size;
            std::iter::from_fn(move || {
                let within = from < (group + 1) * size;
                let extent = within.then(|| self.allocator.free_from(from)).flatten()?;
                from = extent.end();
                Some(extent.range(1))
            })
        })
    }

    /// Unmounts: everything is written and committed, discards that wait for the worker are given
    /// up (on f2fs those that are left after 5 s), the page cache is emptied. The end comes as a
    /// completion of `tag`.
    ///
    /// # Errors
    /// If it is not mounted, or commands are outstanding (`EBUSY`).
    pub fn unmount(&mut self, now: Instant, tag: Tag) -> Result<(), Rejected> {
        self.check_mounted(true)?;
        self.check_unused()?;
        self.mounted = false;
        self.start_whole(now, tag, Task::Unmount);
        Ok(())
    }

    /// Mounts again: reads the group descriptors and writes the superblock.
    ///
    /// # Errors
    /// If it is mounted, or its unmount has not ended (`EBUSY`).
    pub fn mount(&mut self, now: Instant, tag: Tag) -> Result<(), Rejected> {
        self.check_mounted(false)?;
        self.check_unused()?;
        self.mounted = true;
        self.start_whole(now, tag, Task::Mount);
        Ok(())
    }

    fn check_mounted(&self, wanted: bool) -> Result<(), Rejected> {
        if self.mounted == wanted {
            return Ok(());
        }
        let is = if self.mounted { "mounted" } else { "not mounted" };
        Err(Rejected::Refused { reason: format!("the filesystem is {is}") })
    }

    fn check_unused(&self) -> Result<(), Rejected> {
        if self.commands.outstanding() == 0 {
            return Ok(());
        }
        Err(Rejected::Kernel { errno: Errno::EBUSY })
    }

    fn start_whole(&mut self, now: Instant, tag: Tag, task: Task) {
        self.thread.starts(now);
        let slot = self.commands.add(tag, task);
        self.commands.schedule(now + self.config.cpu.metadata, slot);
    }

    fn processor_time(&self, command: FileCommand) -> Nanos {
        let cpu = self.config.cpu;
        match command {
            FileCommand::Store { length, stream, .. }
            | FileCommand::Append { length, stream, .. }
            | FileCommand::Load { length, stream, .. } => {
                let piece = if stream.buffered { STDIO_BUFFER } else { stream.piece.into() };
                let calls = length.pieces(Bytes(piece));
                let copying = Nanos(cpu.kib.times(length.0).0 / 1024);
                cpu.metadata + cpu.call.times(calls) + copying
            }
            FileCommand::Read { .. } | FileCommand::Write { .. } => cpu.call,
            _ => cpu.metadata,
        }
    }

    fn admit(&mut self, file: FileId, slot: Slot, command: FileCommand) -> bool {
        self.files.or_default(file).order.admit(slot, command)
    }

    fn step(&mut self, slot: Slot, now: Instant) {
        let task = self.commands.get(slot).task;
        let progress = match task {
            Task::File(command) => self.step_file_command(slot, command, now),
            Task::Unmount => self.unmount_step(slot, now),
            Task::Mount => self.mount_step(slot, now),
        };
        if let Some(status) = status_after(progress) {
            self.finish(slot, status, now);
        }
    }

    fn step_file_command(&mut self, slot: Slot, command: FileCommand, now: Instant) -> Progress {
        let stage = self.commands.get(slot).stage;
        require(!(self.aborted && stage == Stage::Start), Errno::EROFS)?;
        if stage == Stage::Discarding {
            return self.discard_as_caller(slot, now);
        }
        let begins = stage == Stage::Start;
        match command {
            FileCommand::Create { file } => {
                self.create(slot, file, DirectoryId::OWN, now)?;
                self.keep_open(file);
                Ok(())
            }
            FileCommand::Store { file, directory, length, .. } => {
                if begins {
                    self.create(slot, file, directory, now)?;
                    self.begin_write(slot, Extent::new(0, length.0));
                }
                self.write_cached(slot, file, now)
            }
            FileCommand::Append { file, length, .. } => self.append(slot, file, length.0, now),
            FileCommand::Load { file, length, .. } => self.load(slot, file, length.0, now),
            FileCommand::Write { file, offset, length } => {
                self.write_direct(slot, file, Extent::new(offset.0, length.0), now)
            }
            FileCommand::Read { file, offset, length } => {
                self.read_direct(slot, file, Extent::new(offset.0, length.0), now)
            }
            FileCommand::Truncate { file, length } => self.truncate(slot, file, length.0, now),
            FileCommand::PunchHole { file, offset, length } => {
                self.punch(slot, file, Extent::new(offset.0, length.0), now)
            }
            FileCommand::Unlink { file } => self.unlink(slot, file, now),
            FileCommand::Fsync { file } => self.fsync(slot, file, now),
            FileCommand::SyncFilesystem => self.sync(slot, now),
            FileCommand::TrimFreeSpace => match self.config.kind {
                FsKind::Ext4 | FsKind::Btrfs => self.trim_step(slot, now),
                FsKind::Xfs => self.trim_xfs_step(slot, now),
                FsKind::F2fs => self.trim_f2fs_step(slot, now),
            },
            FileCommand::MakeDirectory { directory } => self.make_directory(slot, directory, now),
            FileCommand::RemoveDirectory { directory } => {
                self.remove_directory(slot, directory, now)
            }
        }
    }

    fn finish(&mut self, slot: Slot, status: Status, now: Instant) {
        let command = self.commands.remove(slot);
        self.completions.push(Completion { tag: command.tag, at: now, status });
        let Task::File(what) = command.task else { return };
        self.thread.note_request(what, now);
        let Some(id) = what.file() else { return };
        let file = self.files.get_mut(id).expect("commands under way keep their file");
        file.order.ended();
        if let Status::Failed(errno) = status
            && what.makes()
            && errno != Errno::EEXIST
            && file.inode.is_none()
        {
            file.order.expected = false;
        }
        while let Some((next, what)) =
            self.files.get_mut(id).and_then(|file| file.order.startable())
        {
            self.commands.schedule(now + self.processor_time(what), next);
        }
        let file = &self.files[id];
        if file.inode.is_none() && file.order.is_idle() && !file.order.expected {
            self.files.remove(id);
        }
    }

    /// Something became of what the filesystem has sent.
    fn happened(&mut self, event: QueueEvent<Owner>, now: Instant) {
        let (owner, at, failure, latency) = match event {
            QueueEvent::Ended { owner, at, failure, latency } => (owner, at, failure, latency),
            QueueEvent::Submitted(Owner::Batch(id)) => return self.batch_submitted(id, now),
            QueueEvent::Submitted(_) => return,
        };
        if let Some(latency) = latency {
            self.policy_sees(latency, at);
        }
        match owner {
            Owner::Command(slot) => {
                let command = self.commands.get(slot);
                command.io -= 1;
                command.failure = command.failure.or(failure);
                if command.io == 0 {
                    self.step(slot, at);
                }
            }
            Owner::WriteBack(what) => self.written_back(what, failure, at),
            Owner::Commit => self.commit_io_ended(failure, at),
            Owner::Checkpoint => self.checkpoint_io_ended(failure, at),
            Owner::Worker => self.worker_io_ended(at),
            Owner::Batch(id) => self.batch_io_ended(id, at),
            Owner::Policy(which) => self.policy_io_ended(which, at),
        }
    }

    fn timer_at(&self) -> Instant {
        let discards = self.discards.next_event().min(self.thread_looks_at());
        self.flusher_at.min(self.commit_at()).min(self.policy_wakes_at()).min(discards)
    }

    /// A transaction is joined: metadata change in it.
    fn touch(&mut self, now: Instant, metadata: Metadata) {
        let id = self.layout.id(metadata);
        self.journal.touch(now, id);
    }

    /// A command changes metadata; it waits until it may.
    fn join(&mut self, slot: Slot, now: Instant) -> Progress {
        if !self.journal.is_full() {
            return Ok(());
        }
        self.handle_waiters.push(slot);
        self.try_commit(now);
        Err(Stop::Waits)
    }

    /// Blocks that are neither taken nor promised to dirty pages.
    fn available(&self) -> u64 {
        self.allocator.obtainable().saturating_sub(self.cache.delayed)
    }

    /// There is no space: waits for what will become free, or fails.
    fn no_space(&mut self, slot: Slot, now: Instant) -> Stop {
        let freed = self.journal.freed() > 0;
        let withheld = self.withheld > 0 || !self.discards.is_idle() || self.policy_withholds() > 0;
        if !freed && !withheld {
            return Errno::ENOSPC.into();
        }
        self.space_waiters.push(slot);
        if self.config.kind == FsKind::Ext4 {
            self.discards.drop_pending();
        }
        if freed {
            self.want_commit(now);
        }
        Stop::Waits
    }

    /// Steps everyone who waits for space.
    fn space_came(&mut self, now: Instant) {
        for slot in std::mem::take(&mut self.space_waiters) {
            self.step(slot, now);
        }
    }
}

/// The free space of a new filesystem, without the journal.
fn fresh_space(config: &FsConfig, layout: &Layout) -> Allocator {
    let mut allocator =
        Allocator::new(config.allocation, layout.groups(), layout.group_fs_blocks());
    if config.kind != FsKind::Ext4 {
        allocator.begin_at(layout.goal(0));
    }
    layout.metadata().for_each(|extent| allocator.withhold(extent));
    allocator
}

/// Bytes that the C library moves at a time (`BUFSIZ` on ext4: `st_blksize`).
const STDIO_BUFFER: u64 = 4096;

impl<M: Model<Command = BlockCommand>> Storage for FileSystem<M> {
    type Command = FileCommand;

    fn statistics(&self) -> DeviceStatistics {
        let none = self.config.discard.is_none() && self.policy.is_none();
        let pending = (!none).then(|| self.discards_pending());
        DeviceStatistics {
            outstanding: self.commands.outstanding(),
            discard_pending: pending,
            ..self.lower.device().statistics()
        }
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn watch_requests(&mut self, watch: bool) -> Result<(), Rejected> {
        self.lower.watch_requests(watch);
        Ok(())
    }

    fn take_requests(&mut self, out: &mut Vec<BlockRequest>) {
        self.lower.take_requests(out);
    }

    /// Data without a place yet count as none.
    fn extent_count(&self, file: FileId) -> Option<u64> {
        Some(self.files.get(file)?.map.extents().len() as u64)
    }
}

impl<M: Model<Command = BlockCommand>> Model for FileSystem<M> {
    fn submit(&mut self, now: Instant, tag: Tag, command: FileCommand) -> Result<(), Rejected> {
        self.check_mounted(true)?;
        validate(command)?;
        self.thread.starts(now);
        let Some(file) = command.file() else {
            let slot = self.commands.add(tag, Task::File(command));
            self.commands.schedule(now + self.processor_time(command), slot);
            return Ok(());
        };
        if !command.makes() && !self.files.get(file).is_some_and(|file| file.order.expected) {
            return Err(Rejected::UnknownFile { file });
        }
        let slot = self.commands.add(tag, Task::File(command));
        if self.admit(file, slot, command) {
            self.commands.schedule(now + self.processor_time(command), slot);
        }
        Ok(())
    }

    fn next_event(&self) -> Instant {
        self.lower.next_event().min(self.commands.next_at()).min(self.timer_at())
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        loop {
            let at = self.next_event();
            if at > now {
                break;
            }
            if self.lower.next_event() <= at {
                let mut events = std::mem::take(&mut self.events);
                self.lower.advance(at, &mut events);
                for event in events.drain(..) {
                    self.happened(event, at);
                }
                self.events = events;
                self.lower.dispatch(at);
            } else if let Some(slot) = self.commands.take_due(at) {
                self.step(slot, at);
            } else if self.commit_at() <= at {
                self.try_commit(at);
            } else if self.flusher_at <= at {
                self.flusher_looks(at);
            } else if self.discards.next_event() <= at {
                self.work_off_discards(at);
            } else if self.thread_looks_at() <= at {
                self.thread_looks(at);
            }
            self.run_policy(at);
        }
        out.append(&mut self.completions);
    }
}

/// Refuses transfers of nothing, and beyond what a file of ext4 may hold.
fn validate(command: FileCommand) -> Result<(), Rejected> {
    /// The largest file: 2^32 blocks.
    const SIZE_MAX: u64 = FS_BLOCK.0 << 32;
    let (offset, length) = match command {
        FileCommand::Read { offset, length, .. }
        | FileCommand::Write { offset, length, .. }
        | FileCommand::PunchHole { offset, length, .. } => (offset.0, length.0),
        FileCommand::Store { length, stream, .. }
        | FileCommand::Append { length, stream, .. }
        | FileCommand::Load { length, stream, .. } => {
            if stream.piece == 0 {
                return Err(Rejected::Kernel { errno: Errno::EINVAL });
            }
            (0, length.0.max(1))
        }
        _ => return Ok(()),
    };
    check_transfer(offset, length, SIZE_MAX)
}
