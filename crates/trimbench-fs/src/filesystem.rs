//! The filesystem as a whole: admission, events, and who waits for what.
//!
//! A command first takes its processor time. Then it has its effect and sends what it needs to the
//! device, or waits: for its file, for space in the cache, for free space, for a commit. The event
//! that it waits for continues it. Events of one instant come in this order: the device's events;
//! commands in the order in which they were due; the timers of journal and flusher.
//!
//! Units: time in nanoseconds on the caller's clock, space in filesystem blocks of 4 KiB.

use trimbench_block::QueueEvent;
use trimbench_core::{
    BlockCommand, BlockRequest, Bytes, Capabilities, Clock, Completion, DeviceStatistics,
    DirectoryId, Errno, FileCommand, FileId, Instant, LbaRange, Medium, Model, MountDiscard,
    Rejected, Status, Storage, Support, Tag,
};
use trimbench_policy::Issuer;

use crate::allocator::Allocator;
use crate::cache::PageCache;
use crate::commands::{
    Commands, Progress, Slot, Stage, Stop, Task, check_transfer, require, status_after,
};
use crate::config::{FS_BLOCK, FsConfig, FsConfigError};
use crate::extent::{Extent, bytes};
use crate::files::Files;
use crate::journal::Journal;
use crate::kind::FsKind;
use crate::layout::Layout;
use crate::lower::{Lower, Owner};

mod check;
mod commit;
mod data;
mod discards;
mod extent_tree;
mod handle;
mod names;
mod whole;
mod write_back;

use discards::Discards;
use names::Names;

pub use discards::DiscardCounters;
pub use discards::policy::{FsPolicy, policy};

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
///
/// Each part keeps its state to itself, and those who wait for it. Here are the steps of commands,
/// which go from one part to the next.
#[derive(Debug)]
pub struct FileSystem<M> {
    config: FsConfig,
    /// Who discards when it is mounted with `discard`.
    online: Issuer,
    capabilities: Capabilities,
    mounted: bool,
    lower: Lower<M>,
    allocator: Allocator,
    journal: Journal,
    cache: PageCache,
    discards: Discards,
    files: Files,
    names: Names,
    commands: Commands,
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
        let mut layout = Layout::new(&config, capacity)?;
        let too_small =
            || FsConfigError::DeviceTooSmall { capacity, group: bytes(layout.group_fs_blocks()) };
        let mut allocator = fresh_space(&config, &layout);
        let length = layout.journal_length(&config);
        let region = allocator.take_region(layout.journal_goal(), length).ok_or_else(too_small)?;
        if length < 64 || allocator.free() < layout.group_fs_blocks() / 4 {
            return Err(too_small());
        }
        allocator.mounted();
        let room = allocator.free();
        let names = Names::new(&mut allocator, &mut layout);
        if lower.capabilities().discard == Support::None {
            config.discard = None;
        }
        Ok(Self {
            capabilities: capabilities(&config, lower.capabilities(), bytes(room)),
            online: config.discard.unwrap_or(config.kind.issuer()),
            mounted: true,
            lower,
            allocator,
            journal: Journal::new(&config, layout, region),
            cache: PageCache::new(&config),
            discards: Discards::new(&config, room),
            files: Files::default(),
            names,
            commands: Commands::default(),
            config,
        })
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
        FsCounters {
            // They are numbered from 1 on.
            commits: self.journal.committed().into(),
            journal_written: bytes(self.journal.written()),
            checkpoint_written: bytes(self.journal.checkpoint_written()),
            written_back: bytes(self.cache.written_back()),
            throttled: self.cache.throttled_count(),
            discards: self.discards.counters(),
        }
    }

    /// Freed bytes that are neither discarded nor given up: of transactions that have not
    /// committed, and waiting for the worker.
    pub fn discards_pending(&self) -> Bytes {
        let uncommitted = if self.is_discarding() { self.journal.freed() } else { 0 };
        bytes(uncommitted + self.discards.pending())
    }

    /// Its free space, in filesystem blocks of the device, by groups.
    pub fn free_space(&self) -> impl Iterator<Item = LbaRange> {
        let all = Extent::new(0, self.allocator.total());
        let groups = self.allocator.split(all);
        groups.flat_map(|group| self.allocator.free_runs(group)).map(|extent| extent.range(1))
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
        self.discards.thread.starts(now);
        let slot = self.commands.add(tag, task);
        self.commands.schedule(now + self.config.cpu.metadata, slot);
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
        let begins = stage == Stage::Start;
        require(!begins || self.journal.failure().is_none(), Errno::EROFS)?;
        if stage == Stage::Discarding {
            return self.discard_as_caller(slot, now);
        }
        match command {
            FileCommand::Create { file } => {
                self.create(slot, file, DirectoryId::OWN, now)?;
                self.names.keep_open(file, &mut self.files, &mut self.allocator);
                Ok(())
            }
            FileCommand::Store { file, directory, length, .. } => {
                if begins {
                    self.create(slot, file, directory, now)?;
                    self.commands.begin_moving(slot, Extent::new(0, length.0));
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
            FileCommand::TrimFreeSpace => self.trim_step(slot, now),
            FileCommand::RunProgram | FileCommand::TrimPaced { .. } => {
                Err(Stop::Failed(Errno::EOPNOTSUPP))
            }
            FileCommand::MakeDirectory { directory } => self.make_directory(slot, directory, now),
            FileCommand::RemoveDirectory { directory } => {
                self.remove_directory(slot, directory, now)
            }
        }
    }

    fn finish(&mut self, slot: Slot, status: Status, now: Instant) {
        let Task::File(what) = self.commands.end(slot, status, now) else { return };
        self.discards.thread.note_request(what, now);
        let Some(id) = what.file() else { return };
        let file = &mut self.files[id];
        file.order.ended();
        if let Status::Failed(errno) = status
            && what.makes()
            && errno != Errno::EEXIST
            && file.inode.is_none()
        {
            file.order.expected = false;
        }
        while let Some((next, what)) = file.order.startable() {
            self.commands.schedule(now + self.config.cpu.time(what), next);
        }
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
            self.discards.policy_sees(self.lower.foreground(), latency, at);
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
            Owner::Commit => {
                self.journal.commit_io_ended(failure);
                self.advance_commit(at);
            }
            Owner::Checkpoint => {
                self.journal.checkpoint_io_ended(failure);
                self.send_checkpoint(at);
            }
            Owner::Worker => self.worker_io_ended(at),
            Owner::Batch(id) => self.batch_io_ended(id, at),
            Owner::Policy(which) => self.policy_io_ended(which, at),
        }
    }

    /// A command changes metadata; it waits until it may.
    fn join(&mut self, slot: Slot, now: Instant) -> Progress {
        if !self.journal.is_full() {
            return Ok(());
        }
        self.journal.await_room(slot);
        self.try_commit(now);
        Err(Stop::Waits)
    }

    /// There is no space: waits for what will become free, or fails.
    fn no_space(&mut self, slot: Slot, now: Instant) -> Stop {
        let freed = self.journal.freed() > 0;
        if !freed && !self.discards.withholds() {
            return Errno::ENOSPC.into();
        }
        self.allocator.await_space(slot);
        if self.config.kind == FsKind::Ext4 {
            self.discards.drop_pending();
        }
        if freed {
            self.journal.want(self.journal.running());
            self.try_commit(now);
        }
        Stop::Waits
    }

    /// Steps everyone who waits for space.
    fn space_came(&mut self, now: Instant) {
        for slot in self.allocator.take_waiters() {
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

impl<M: Model<Command = BlockCommand>> Storage for FileSystem<M> {
    type Command = FileCommand;

    fn statistics(&self) -> DeviceStatistics {
        DeviceStatistics {
            outstanding: self.commands.outstanding(),
            discard_pending: self.is_discarding().then(|| self.discards_pending()),
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

    fn discard_ways(&self) -> Vec<MountDiscard> {
        self.ways_to_discard().to_vec()
    }

    fn switch_discard(&mut self, way: MountDiscard) -> Result<(), Rejected> {
        self.remount(way)
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
        self.discards.thread.starts(now);
        let Some(file) = command.file() else {
            let slot = self.commands.add(tag, Task::File(command));
            self.commands.schedule(now + self.config.cpu.time(command), slot);
            return Ok(());
        };
        if !command.makes() && !self.files.get(file).is_some_and(|file| file.order.expected) {
            return Err(Rejected::UnknownFile { file });
        }
        let slot = self.commands.add(tag, Task::File(command));
        if self.files.or_default(file).order.admit(slot, command) {
            self.commands.schedule(now + self.config.cpu.time(command), slot);
        }
        Ok(())
    }

    fn next_event(&self) -> Instant {
        let timers = self.cache.flusher_at().min(self.journal.commit_at());
        let timers = timers.min(self.discards.next_event());
        self.lower.next_event().min(self.commands.next_at()).min(timers)
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        loop {
            let at = self.next_event();
            if at > now {
                break;
            }
            if self.lower.next_event() <= at {
                let mut events = self.lower.advance(at);
                for event in events.drain(..) {
                    self.happened(event, at);
                }
                self.lower.go_on(at, events);
            } else if let Some(slot) = self.commands.take_due(at) {
                self.step(slot, at);
            } else if self.journal.commit_at() <= at {
                self.try_commit(at);
            } else if self.cache.flusher_at() <= at {
                self.flusher_looks(at);
            } else {
                self.discards_go_on(at);
            }
            self.discards.run_policy(&self.journal, &mut self.allocator, &mut self.lower, at);
        }
        self.commands.take_completions(out);
    }
}

/// Refuses transfers of nothing, and beyond what a file of ext4 may hold.
fn validate(command: FileCommand) -> Result<(), Rejected> {
    /// The largest file: 2^32 blocks.
    const SIZE_MAX: u64 = FS_BLOCK.0 << 32;
    let (offset, length) = match command {
        FileCommand::RunProgram | FileCommand::TrimPaced { .. } => {
            return Err(Rejected::Unsupported { operation: "running a program" });
        }
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
