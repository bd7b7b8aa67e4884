//! The device below, in filesystem blocks, and who waits for which of its commands.

use trimbench_block::{BlockLayer, QueueEvent, Urgency};
use trimbench_core::{
    BlockCommand, BlockRequest, BlockSize, Capabilities, FileId, Instant, LbaRange, Medium, Model,
};

use crate::commands::Slot;
use crate::config::{FS_BLOCK, FsConfig, FsConfigError};
use crate::extent::Extent;

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
    /// This batch of discards of XFS.
    Batch(u32),
    /// The trim policy, and which of its discards.
    Policy(u32),
}

impl Owner {
    /// Of a patient one the writes stay behind everything else.
    fn urgency(self) -> Urgency {
        match self {
            Self::WriteBack(_) | Self::Checkpoint => Urgency::Patient,
            _ => Urgency::Foreground,
        }
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

/// A block device under a filesystem, and the block layer between.
#[derive(Debug)]
pub(crate) struct Lower<M> {
    queue: BlockLayer<M, Owner>,
    logical_per_fs_block: u64,
    request_max: u64,
    /// Data, or metadata in their places, were written since the last flush.
    unflushed: bool,
    /// Kept for its memory.
    events: Vec<QueueEvent<Owner>>,
}

impl<M: Model<Command = BlockCommand>> Lower<M> {
    pub(crate) fn new(device: M, config: &FsConfig) -> Result<Self, FsConfigError> {
        let logical_block = logical_block(device.capabilities())?;
        Ok(Self {
            logical_per_fs_block: FS_BLOCK.0 / logical_block.bytes().0,
            request_max: config.queue.request_max.0 / FS_BLOCK.0,
            queue: BlockLayer::new(device, &config.queue).ok_or(FsConfigError::NotABlockDevice)?,
            unflushed: false,
            events: Vec::new(),
        })
    }

    pub(crate) fn device(&self) -> &M {
        self.queue.device()
    }

    pub(crate) fn device_mut(&mut self) -> &mut M {
        self.queue.device_mut()
    }

    pub(crate) fn into_device(self) -> M {
        self.queue.into_device()
    }

    pub(crate) fn capabilities(&self) -> &Capabilities {
        self.queue.capabilities()
    }

    /// See [`trimbench_core::Storage::watch_requests`].
    pub(crate) fn watch_requests(&mut self, watch: bool) {
        self.queue.watch_requests(watch);
    }

    /// See [`trimbench_core::Storage::take_requests`].
    pub(crate) fn take_requests(&mut self, out: &mut Vec<BlockRequest>) {
        self.queue.take_requests(out);
    }

    /// Commands under way that are no discards.
    pub(crate) fn foreground(&self) -> u64 {
        self.queue.foreground()
    }

    pub(crate) fn discard_max(&self) -> u64 {
        (self.queue.discard_max() / self.logical_per_fs_block).max(1)
    }

    /// Whether this owner waits to send more.
    pub(crate) fn is_submitting(&self, owner: Owner) -> bool {
        self.queue.is_submitting(owner)
    }

    /// Sends a transfer; in how many pieces it ends.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        owner: Owner,
        transfer: Transfer,
        extent: Extent,
    ) -> u32 {
        if transfer == Transfer::Discard {
            return self.discard(now, owner, &[extent], false);
        }
        let mut sent = 0;
        // The end of each piece of write-back says how long it is.
        for piece in extent.pieces(self.request_max) {
            let range = piece.range(self.logical_per_fs_block);
            let owner = match owner {
                Owner::WriteBack(whole) => {
                    Owner::WriteBack(WriteBack { length: piece.length, ..whole })
                }
                other => other,
            };
            let command = match transfer {
                Transfer::Read => BlockCommand::Read(range),
                _ => BlockCommand::write(range),
            };
            sent += self.queue.submit(now, owner, command, owner.urgency());
        }
        self.queue.dispatch(now);
        sent
    }

    /// Sends discards, in one plug if `plugs`; in how many pieces they end.
    pub(crate) fn discard(
        &mut self,
        now: Instant,
        owner: Owner,
        extents: &[Extent],
        plugs: bool,
    ) -> u32 {
        let range = |extent: &Extent| extent.range(self.logical_per_fs_block);
        let ranges: Vec<LbaRange> = extents.iter().map(range).collect();
        let sent = self.queue.discard(now, owner, &ranges, plugs);
        self.queue.dispatch(now);
        sent
    }

    /// What was written has to be flushed.
    pub(crate) fn note_written(&mut self) {
        self.unflushed = true;
    }

    /// Whether something was written since the last call, whose caller flushes it.
    pub(crate) fn take_unflushed(&mut self) -> bool {
        std::mem::take(&mut self.unflushed)
    }

    pub(crate) fn flush(&mut self, now: Instant, owner: Owner) {
        self.queue.submit(now, owner, BlockCommand::Flush, Urgency::Foreground);
    }

    pub(crate) fn next_event(&self) -> Instant {
        self.queue.next_event()
    }

    /// Advances the device. Returns what became of what was sent; [`Self::go_on`] follows.
    pub(crate) fn advance(&mut self, now: Instant) -> Vec<QueueEvent<Owner>> {
        let mut events = std::mem::take(&mut self.events);
        self.queue.advance(now, &mut events);
        events
    }

    /// All these events were taken out: gives the device as many of the writes that nobody waits
    /// for as it may have.
    pub(crate) fn go_on(&mut self, now: Instant, events: Vec<QueueEvent<Owner>>) {
        self.events = events;
        self.queue.dispatch(now);
    }
}
