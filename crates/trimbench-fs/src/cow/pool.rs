//! The pool as a whole: admission, events, and who waits for what.
//!
//! Events of one instant come in this order: the drives' events, in the order of the drives;
//! commands in the order in which they were due; the group's event; a pass of discards (FreeBSD).
//!
//! Not modelled: a cache of data read or written (reads of data that are not dirty go to the
//! drives), the intent log (an fsync waits for its group), compression, gang blocks, snapshots,
//! unmounting, and active redundancy: a request that fails fails the commands that wait for it.
//! Metadata are written cyclically in an area of their own, so their bytes count but they free
//! nothing.
//!
//! Units: time in nanoseconds on the caller's clock, space in sectors of 4 KiB, files in records.

use std::collections::BTreeMap;

use trimbench_core::contract::ClassStatistics;
use trimbench_core::units::narrow;
use trimbench_core::{
    BlockCommand, BlockRequest, Bytes, Capabilities, Clock, Completion, DeviceStatistics,
    DirectoryId, DriveDiscards, FileCommand, FileId, Instant, Medium, Model, Rejected, Storage,
    Support, Tag,
};

use super::config::PoolConfig;
use super::drive::{Drive, Ended, Owner};
use super::space::{Space, metaslab_bytes};
use super::stripe::{Piece, Stripe};
use crate::commands::{Commands, Task};
use crate::config::{FS_BLOCK, FsConfigError};
use files::File;
use group::Groups;

mod files;
mod group;
mod trim;

#[cfg(test)]
mod tests;

/// One sector in so many of each drive is for metadata. Assumed.
const METADATA_SHARE: u64 = 128;
/// One sector in so many is kept free, so that there is always somewhere to write to. Source:
/// \[OPENZFS\] `spa_slop_shift`.
const SLOP_SHARE: u64 = 32;

/// What a pool has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// Groups synced.
    pub groups: u64,
    /// Bytes of records written, without parity.
    pub written: Bytes,
    /// Bytes of records given back, without parity.
    pub freed: Bytes,
    /// Times that a command waited for dirty data to become less.
    pub throttled: u64,
    /// Writes that waited for a discard of their place.
    pub parked: u64,
    /// Passes of FreeBSD, or metaslabs of `OpenZFS`, for which discards were considered.
    pub passes: u64,
    /// Bytes, with parity, that `OpenZFS` was to trim and allocated again before it did.
    pub reused: Bytes,
}

/// A modelled pool. Made by [`Pool::make`]; mounted.
#[derive(Debug)]
pub struct Pool<M> {
    config: PoolConfig,
    capabilities: Capabilities,
    drives: Vec<Drive<M>>,
    /// The next event of each drive.
    next: Vec<Instant>,
    stripe: Stripe,
    space: Space,
    slop: u64,
    /// Where the next metadata go: drive and sector.
    metadata_at: (usize, u64),
    metadata_sectors: u64,
    files: BTreeMap<FileId, File>,
    directories: BTreeMap<DirectoryId, u64>,
    commands: Commands,
    groups: Groups,
    trim: trim::Trimming,
    counters: PoolCounters,
    /// Kept for its memory.
    pieces: Vec<Piece>,
    ended: Vec<Ended>,
}

impl<M: Model<Command = BlockCommand>> Pool<M> {
    /// Makes a pool on drives of one size, and mounts it: in no time, and without a command to
    /// them. Of larger drives the size of the smallest is used.
    ///
    /// # Errors
    /// A value out of its range; drives that are too small, or none.
    pub fn make(config: PoolConfig, devices: Vec<M>) -> Result<Self, FsConfigError> {
        config.check(devices.len())?;
        let drives = devices
            .into_iter()
            .enumerate()
            .map(|(number, device)| {
                let number = u16::try_from(number).expect("at most 255 drives");
                Drive::new(number, device, &config)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let stripe = Stripe { drives: drives.len() as u64, parity: config.parity.into() };
        let sectors = drives.iter().map(Drive::sectors).min().expect("at least one drive");
        let metadata_sectors = (sectors / METADATA_SHARE).max(64);
        let record = stripe.allocated(config.record.0 / FS_BLOCK.0);
        let (first, end) = (metadata_sectors * stripe.drives, sectors * stripe.drives);
        let (metaslabs, end) = metaslabs(&config, first, end);
        if end < first + metaslabs * record {
            return Err(FsConfigError::DeviceTooSmall {
                capacity: Bytes(sectors * FS_BLOCK.0),
                group: Bytes(metaslabs * record * FS_BLOCK.0 / stripe.drives),
            });
        }
        let mut space = Space::new(first, end, metaslabs);
        let below = drives[0].device().capabilities();
        let never = config.policy.as_ref().is_some_and(|policy| policy.info().id == "none");
        let discards = below.discard != Support::None && !never;
        let trim = trim::Trimming::new(config.manner, discards);
        space.keep_trims(trim.is_automatic());
        let slop = space.free() / SLOP_SHARE;
        let records = (space.free() - slop) / record;
        let capabilities = Capabilities {
            clock: Clock::Virtual,
            medium: Medium::Directory {
                available: Bytes(records * config.record.0),
                fs_block: FS_BLOCK,
            },
            drain: trim::drain(&config),
            ..below.clone()
        };
        Ok(Self {
            next: drives.iter().map(Drive::next_event).collect(),
            capabilities,
            drives,
            stripe,
            space,
            slop,
            metadata_at: (0, 1),
            metadata_sectors,
            files: BTreeMap::new(),
            directories: BTreeMap::from([(DirectoryId::OWN, 0)]),
            commands: Commands::default(),
            groups: Groups::default(),
            trim,
            counters: PoolCounters::default(),
            pieces: Vec::new(),
            ended: Vec::new(),
            config,
        })
    }

    /// The drives, without the pool.
    ///
    /// # Panics
    /// If [`Self::is_busy`].
    pub fn into_devices(self) -> Vec<M> {
        assert!(!self.is_busy(), "the pool is in use");
        self.drives.into_iter().map(Drive::into_device).collect()
    }

    /// Gives up the discards that wait. Those under way end.
    pub fn give_up_discards(&mut self) {
        if self.config.manner.is_openzfs() {
            self.space.keep_trims(false);
            self.trim = trim::Trimming::Off;
            self.groups.forced = 0;
        }
        self.drives.iter_mut().for_each(Drive::give_up_discards);
    }

    /// Whether a command, a group or a request to a drive is under way.
    pub fn is_busy(&self) -> bool {
        self.commands.outstanding() > 0
            || self.groups.syncing.is_some()
            || self.drives.iter().any(Drive::is_busy)
    }

    /// What it was made as.
    pub fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// What it has counted.
    pub fn counters(&self) -> PoolCounters {
        let parked = self.drives.iter().map(Drive::parked_count).sum();
        let reused = Bytes(self.space.reused() * FS_BLOCK.0);
        PoolCounters { parked, reused, ..self.counters }
    }

    fn record_sectors(&self) -> u64 {
        self.config.record.0 / FS_BLOCK.0
    }

    /// How many asynchronous writes a drive may be given now: by the share of dirty data, from the
    /// least below 30 % to the most above 60 %.
    fn async_writes(&self) -> u32 {
        let limits = self.config.limits.classes[super::queue::Class::AsyncWrite as usize];
        let (dirty, most) = (self.groups.dirty_total, self.config.dirty_max.0);
        let (from, to) = (most * 3 / 10, most * 6 / 10);
        let above = dirty.clamp(from, to) - from;
        limits.least + narrow(u64::from(limits.most - limits.least) * above / (to - from))
    }

    /// Gives a drive what it may have, after something changed for it.
    fn pump(&mut self, drive: usize, now: Instant) {
        let (async_writes, group) = (self.async_writes(), self.groups.open.number);
        self.drives[drive].pump(now, async_writes, group);
        let queued = self.drives[drive].take_queued();
        if self.config.manner.is_openzfs() {
            self.groups.open.trims += queued;
        }
        self.next[drive] = self.drives[drive].next_event();
    }

    fn pump_all(&mut self, now: Instant) {
        (0..self.drives.len()).for_each(|drive| self.pump(drive, now));
    }

    /// The drive whose event is next, and when.
    fn next_drive(&self) -> (Instant, usize) {
        let next = self.next.iter().enumerate().map(|(drive, at)| (*at, drive));
        next.min().expect("at least one drive")
    }

    fn drive_event(&mut self, drive: usize, now: Instant) {
        let mut ended = std::mem::take(&mut self.ended);
        self.drives[drive].advance(now, &mut ended);
        for each in ended.drain(..) {
            match each.owner {
                Owner::Command(slot) => self.read_ended(slot, each.failure, now),
                Owner::Group { cleaned } => self.group_io_ended(cleaned, each.failure, now),
                Owner::Trim { group } => self.discard_ended(drive, group, now),
            }
        }
        self.ended = ended;
        self.pump(drive, now);
        self.trim_on(now);
    }
}

/// How many metaslabs there are in sectors `[first, end)`, and where the last one ends.
fn metaslabs(config: &PoolConfig, first: u64, end: u64) -> (u64, u64) {
    if let Some(count) = config.metaslabs {
        return (count.into(), end);
    }
    let scale = u64::from(config.scale);
    let sectors = metaslab_bytes(end * FS_BLOCK.0 * scale) / scale / FS_BLOCK.0;
    let count = ((end - first) / sectors.max(1)).max(1);
    (count, end.min(first + count * sectors))
}

fn add(sum: &mut ClassStatistics, one: ClassStatistics) {
    sum.completed += one.completed;
    sum.bytes += one.bytes;
    sum.time += one.time;
}

impl<M: Model<Command = BlockCommand>> Storage for Pool<M> {
    type Command = FileCommand;

    fn statistics(&self) -> DeviceStatistics {
        let mut sum = DeviceStatistics {
            outstanding: self.commands.outstanding(),
            ..DeviceStatistics::default()
        };
        for drive in &self.drives {
            let one = drive.device().statistics();
            add(&mut sum.read, one.read);
            add(&mut sum.write, one.write);
            add(&mut sum.discard, one.discard);
            add(&mut sum.flush, one.flush);
        }
        if self.capabilities.discard != Support::None {
            let handed_in: u64 = self.drives.iter().map(|drive| drive.pending().0).sum();
            sum.discard_pending = Some(Bytes(handed_in + self.space.to_trim() * FS_BLOCK.0));
        }
        sum
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn drive_discards(&self) -> Vec<DriveDiscards> {
        self.drives.iter().map(Drive::discards).collect()
    }

    fn watch_requests(&mut self, watch: bool) -> Result<(), Rejected> {
        self.drives.iter_mut().for_each(|drive| drive.watch(watch));
        Ok(())
    }

    fn take_requests(&mut self, out: &mut Vec<BlockRequest>) {
        let from = out.len();
        self.drives.iter_mut().for_each(|drive| drive.take_ended(out));
        out[from..].sort_by_key(|request| (request.completed, request.device));
        self.drives.iter().for_each(|drive| drive.list_active(out));
    }
}

impl<M: Model<Command = BlockCommand>> Model for Pool<M> {
    fn submit(&mut self, now: Instant, tag: Tag, command: FileCommand) -> Result<(), Rejected> {
        files::validate(command)?;
        let slot = if let Some(file) = command.file() {
            if !command.makes() && !self.files.get(&file).is_some_and(|file| file.order.expected) {
                return Err(Rejected::UnknownFile { file });
            }
            let slot = self.commands.add(tag, Task::File(command));
            if !self.admit(file, slot, command) {
                return Ok(());
            }
            slot
        } else {
            self.commands.add(tag, Task::File(command))
        };
        self.commands.schedule(now + self.config.cpu.metadata, slot);
        Ok(())
    }

    fn next_event(&self) -> Instant {
        let due = self.commands.next_at();
        self.next_drive().0.min(due).min(self.group_event()).min(self.trim.next_pass())
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        loop {
            let at = self.next_event();
            if at > now || at == Instant::NEVER {
                break;
            }
            let (drive_at, drive) = self.next_drive();
            if drive_at <= at {
                self.drive_event(drive, at);
            } else if let Some(slot) = self.commands.take_due(at) {
                self.step(slot, at);
            } else if self.group_event() <= at {
                self.group_step(at);
            } else {
                self.start_pass(at);
            }
        }
        self.commands.take_completions(out);
    }
}
