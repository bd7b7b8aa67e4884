//! The device below, in filesystem blocks, and who waits for which of its commands.
//!
//! Reads and writes are split at the block layer's largest request, discards at the device's
//! largest. Neighbouring requests of different files are not merged.

use std::collections::VecDeque;

use trimbench_core::units::narrow;
use trimbench_core::{
    BlockCommand, BlockSize, Capabilities, Completion, Errno, FileId, Instant, Medium, Model,
    Nanos, Operation, OperationKind, Tag,
};

use crate::commands::Slot;
use crate::config::{FS_BLOCK, FsConfig, FsConfigError, Scheduler};
use crate::extent::Extent;
use crate::slab::Slab;

/// A slice of CFQ's: the time after which writes get one in beside reads, and after which each time
/// one more is let into the device (`cfq_slice_sync`, block/cfq-iosched.c).
const SLICE: Nanos = Nanos::from_millis(100);

/// The logical block of a device that a filesystem can lie on.
pub(crate) fn logical_block(device: &Capabilities) -> Result<BlockSize, FsConfigError> {
    match device.medium {
        Medium::Device { logical_block, .. } if logical_block.bytes() <= FS_BLOCK => {
            Ok(logical_block)
        }
        _ => Err(FsConfigError::NotABlockDevice),
    }
}

/// Whom the end of a device command concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A command of the caller.
    Command(Slot),
    /// The page cache.
    WriteBack(WriteBack),
    /// The commit.
    Commit,
    /// The checkpoint.
    Checkpoint,
    /// The worker that discards.
    Worker,
    /// The trim policy, and which of its discards.
    Policy(u32),
}

impl Owner {
    /// Whether nobody waits for it: its writes stay behind everything else.
    fn is_patient(self) -> bool {
        matches!(self, Self::WriteBack(_) | Self::Checkpoint)
    }
}

/// A write of pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteBack {
    pub(crate) file: FileId,
    pub(crate) length: u64,
    /// The transaction in which their place was allocated: its commit waits for them.
    pub(crate) transaction: Option<u32>,
}

/// What is done to blocks of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    Read,
    Write,
    Discard,
}

/// One command of the device ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) owner: Owner,
    pub(crate) at: Instant,
    pub(crate) failure: Option<Errno>,
    /// How long it took; `None` for a discard.
    pub(crate) latency: Option<Nanos>,
}

/// A command under way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    owner: Owner,
    at: Instant,
    kind: OperationKind,
}

/// A block device under a filesystem.
#[derive(Debug)]
pub(crate) struct Lower<M> {
    device: M,
    logical_per_fs_block: u64,
    request_max: u64,
    discard_max: u64,
    scheduler: Scheduler,
    /// Writes that nobody waits for and that wait for their turn, since when, and how many of their
    /// kind the device has.
    patient: VecDeque<(Instant, Owner, BlockCommand)>,
    patient_in_device: u32,
    /// Reads that the device has, and when it last had one.
    reads: u32,
    last_read: Instant,
    /// Commands under way, by tag.
    sent: Slab<Sent>,
    foreground: u64,
    completions: Vec<Completion>,
}

impl<M: Model<Command = BlockCommand>> Lower<M> {
    pub(crate) fn new(device: M, config: &FsConfig) -> Result<Self, FsConfigError> {
        let capabilities = device.capabilities();
        Ok(Self {
            logical_per_fs_block: FS_BLOCK.0 / logical_block(capabilities)?.bytes().0,
            request_max: config.request_max.0 / FS_BLOCK.0,
            discard_max: (capabilities.discard_max.0 / FS_BLOCK.0).max(1),
            scheduler: config.scheduler,
            patient: VecDeque::new(),
            patient_in_device: 0,
            reads: 0,
            last_read: Instant::START,
            device,
            sent: Slab::default(),
            foreground: 0,
            completions: Vec::new(),
        })
    }

    pub(crate) fn device(&self) -> &M {
        &self.device
    }

    pub(crate) fn device_mut(&mut self) -> &mut M {
        &mut self.device
    }

    pub(crate) fn into_device(self) -> M {
        self.device
    }

    pub(crate) fn capabilities(&self) -> &Capabilities {
        self.device.capabilities()
    }

    /// Commands under way that are no discards.
    pub(crate) fn foreground(&self) -> u64 {
        self.foreground
    }

    pub(crate) fn discard_max(&self) -> u64 {
        self.discard_max
    }

    /// Sends a transfer in as many requests as it takes; returns how many.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        owner: Owner,
        transfer: Transfer,
        extent: Extent,
    ) -> u32 {
        let longest = match transfer {
            Transfer::Discard => self.discard_max,
            Transfer::Read | Transfer::Write => self.request_max,
        };
        let mut sent = 0;
        for piece in extent.pieces(longest) {
            let range = piece.range(self.logical_per_fs_block);
            let owner = match owner {
                Owner::WriteBack(whole) => {
                    Owner::WriteBack(WriteBack { length: piece.length, ..whole })
                }
                other => other,
            };
            let command = match transfer {
                Transfer::Read => BlockCommand::Read(range),
                Transfer::Write => BlockCommand::write(range),
                Transfer::Discard => BlockCommand::Discard(range),
            };
            if owner.is_patient() {
                self.patient.push_back((now, owner, command));
            } else {
                self.submit(now, owner, command);
            }
            sent += 1;
        }
        self.dispatch(now);
        sent
    }

    pub(crate) fn flush(&mut self, now: Instant, owner: Owner) {
        self.submit(now, owner, BlockCommand::Flush);
    }

    pub(crate) fn next_event(&self) -> Instant {
        self.device.next_event()
    }

    /// Advances the device and appends what ended.
    pub(crate) fn advance(&mut self, now: Instant, out: &mut Vec<Ended>) {
        self.device.advance(now, &mut self.completions);
        for Completion { tag, at, status } in self.completions.drain(..) {
            let Sent { owner, at: since, kind } = self.sent.remove(tag.0);
            self.patient_in_device -= u32::from(owner.is_patient());
            if kind == OperationKind::Read {
                self.reads -= 1;
                self.last_read = at;
            }
            let is_foreground = kind != OperationKind::Discard;
            self.foreground -= u64::from(is_foreground);
            let latency = is_foreground.then(|| at.since(since));
            out.push(Ended { owner, at, failure: status.failure(), latency });
        }
    }

    /// Gives the device as many of the writes that nobody waits for as it may have.
    pub(crate) fn dispatch(&mut self, now: Instant) {
        while let Some(&(since, owner, command)) = self.patient.front()
            && self.patient_in_device < self.patient_most(now, since)
        {
            self.patient.pop_front();
            self.patient_in_device += 1;
            self.submit(now, owner, command);
        }
    }

    /// How many such writes the device may have, the first of those that wait having waited since
    /// `since`.
    fn patient_most(&self, now: Instant, since: Instant) -> u32 {
        match self.scheduler {
            Scheduler::None => u32::MAX,
            Scheduler::Cfq if self.reads > 0 => u32::from(now - since >= SLICE),
            Scheduler::Cfq => narrow(((now - self.last_read).0 / SLICE.0).max(1)),
        }
    }

    fn submit(&mut self, now: Instant, owner: Owner, command: BlockCommand) {
        let sent = Sent { owner, at: now, kind: command.kind() };
        self.reads += u32::from(sent.kind == OperationKind::Read);
        self.foreground += u64::from(sent.kind != OperationKind::Discard);
        let tag = Tag(self.sent.add(sent));
        self.device
            .submit(now, tag, command)
            .expect("a filesystem stays within its device and that device's limits");
    }
}
