//! One drive of a pool: its queue, the discards in flight, and the writes that wait for them.
//!
//! Requests are recorded when they are passed to the drive. The queue of classes belongs to the
//! filesystem: requests that wait there have reached no block layer.
//!
//! Units: sectors of 4 KiB of this drive.

use std::collections::BTreeMap;

use trimbench_core::{
    BlockCommand, BlockRequest, Blocks, Bytes, Completion, Errno, Instant, LbaRange, Medium, Model,
    Operation, Support, Tag,
};
use trimbench_policy::{Extents, Foreground, Options, Trimmer, TrimmerStep};

use super::config::{PoolConfig, TrimManner};
use super::queue::{Class, ClassQueue};
use crate::commands::Slot;
use crate::config::{FS_BLOCK, FsConfigError};
use crate::extent::Extent;
use crate::lower::logical_block;
use crate::slab::Slab;

/// Extents of freed space that a drive remembers: more than any pool that fits into memory has.
const EXTENTS_MAX: usize = 1 << 26;
/// Discards in the queue of a drive at most. Source: \[OPENZFS\] `zfs_trim_queue_limit`.
const TRIMS_QUEUED: u64 = 10;

/// Whom the end of a request concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A command of the caller.
    Command(Slot),
    /// The group that is synced, which then has so many dirty bytes less.
    Group { cleaned: u64 },
    /// Freed space.
    Trim,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) owner: Owner,
    pub(crate) failure: Option<Errno>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Read(Extent),
    Write(Extent),
    Flush,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    class: Class,
    owner: Owner,
    command: BlockCommand,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    request: Request,
    issued: Instant,
}

#[derive(Debug)]
pub(crate) struct Drive<M> {
    number: u16,
    device: M,
    /// Logical blocks of the device in a sector.
    ratio: u64,
    manner: TrimManner,
    queue: ClassQueue<Request>,
    pub(super) trimmer: Trimmer,
    /// When the policy wants to be asked again.
    ask_at: Instant,
    /// Places that a discard holds: until its end, or until the end of its pass. Start to end, in
    /// logical blocks.
    discarding: BTreeMap<u64, u64>,
    /// Writes that wait for one of these. They count as active.
    parked: Vec<Request>,
    /// By tag.
    active: Slab<Active>,
    completions: Vec<Completion>,
    /// Requests that ended, where they are watched.
    noted: Option<Vec<BlockRequest>>,
    /// Writes that had to wait for a discard.
    parked_count: u64,
}

impl<M: Model<Command = BlockCommand>> Drive<M> {
    pub(crate) fn new(number: u16, device: M, config: &PoolConfig) -> Result<Self, FsConfigError> {
        let capabilities = device.capabilities();
        let logical_block = logical_block(capabilities)?;
        let policy = match capabilities.discard {
            Support::None => "none".parse()?,
            _ => config.policy.clone(),
        };
        let options = Options {
            discard_max: capabilities.discard_max.blocks_floor(logical_block).max(Blocks(1)),
            extents: Extents::Divisible,
            extents_max: EXTENTS_MAX,
        };
        Ok(Self {
            number,
            ratio: FS_BLOCK.0 / logical_block.bytes().0,
            manner: config.manner,
            queue: ClassQueue::new(config.limits),
            trimmer: Trimmer::new(policy.build(logical_block)?, options),
            ask_at: Instant::NEVER,
            discarding: BTreeMap::new(),
            parked: Vec::new(),
            active: Slab::default(),
            completions: Vec::new(),
            noted: None,
            parked_count: 0,
            device,
        })
    }

    pub(crate) fn device(&self) -> &M {
        &self.device
    }

    pub(crate) fn into_device(self) -> M {
        self.device
    }

    /// Whether a request waits or is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.queue.foreground() + self.queue.trims() > 0
    }

    pub(crate) fn give_up_discards(&mut self) {
        self.trimmer.give_up();
    }

    /// Whole sectors of the device.
    pub(crate) fn sectors(&self) -> u64 {
        match self.device.capabilities().medium {
            Medium::Device { capacity, .. } => capacity.0 / FS_BLOCK.0,
            Medium::Directory { .. } => unreachable!("a drive is a block device"),
        }
    }

    /// Freed bytes that wait for their discard.
    pub(crate) fn pending(&self) -> Bytes {
        Bytes(self.trimmer.backlog().blocks.0 * FS_BLOCK.0 / self.ratio)
    }

    pub(crate) fn parked_count(&self) -> u64 {
        self.parked_count
    }

    pub(crate) fn next_event(&self) -> Instant {
        self.device.next_event().min(self.ask_at)
    }

    /// Queues a request.
    pub(crate) fn add(&mut self, class: Class, owner: Owner, work: Work) {
        let command = match work {
            Work::Read(extent) => BlockCommand::Read(self.range(extent)),
            Work::Write(extent) => BlockCommand::write(self.range(extent)),
            Work::Flush => BlockCommand::Flush,
        };
        self.queue.add(class, Request { class, owner, command });
    }

    /// Sectors were freed, and may be discarded.
    pub(crate) fn freed(&mut self, now: Instant, extent: Extent) {
        self.trimmer.freed(now, self.range(extent));
    }

    /// Takes from the freed space what one pass of the old manner discards: what is as old as
    /// `ripe`, and more where too many extents wait, but nothing younger than `safe`. Returns how
    /// many discards.
    pub(crate) fn start_pass(
        &mut self,
        now: Instant,
        ripe: Instant,
        safe: Instant,
        config: &PoolConfig,
    ) -> u64 {
        let pending = self.trimmer.backlog().extents;
        let seconds = config.trim_timeout.0 / config.trim_interval.0;
        let mut forced = pending.saturating_sub(config.trim_pending_max.into()) / 4;
        let mut quota = (forced + pending / seconds + 1).next_multiple_of(64);
        let mut taken = 0;
        while quota > 0 {
            let oldest = self.trimmer.backlog().oldest;
            let due = oldest <= safe && (oldest <= ripe || forced > 0);
            let Some(range) = due.then(|| self.take_discard(now)).flatten() else { break };
            self.queue_discard(range);
            (quota, forced) = (quota - 1, forced.saturating_sub(1));
            taken += 1;
        }
        taken
    }

    /// The pass is over: its places are free for writes.
    pub(crate) fn end_pass(&mut self, now: Instant) {
        self.discarding.clear();
        self.unpark(now);
    }

    /// Hands to the device what may go.
    pub(crate) fn pump(&mut self, now: Instant, async_writes: u32) {
        if now >= self.ask_at {
            self.ask(now);
        }
        while let Some(request) = self.queue.take(async_writes) {
            match request.command {
                BlockCommand::Write { range, .. } if self.is_discarding(range) => {
                    self.parked_count += 1;
                    self.parked.push(request);
                }
                _ => self.issue(now, request),
            }
        }
    }

    /// Something changed that the policy may answer otherwise to. In the old manner it is asked at
    /// a pass only.
    pub(crate) fn ask_again(&mut self, now: Instant) {
        if self.manner == TrimManner::OpenZfs {
            self.ask_at = now;
        }
    }

    /// Advances the device and appends what ended.
    pub(crate) fn advance(&mut self, now: Instant, out: &mut Vec<Ended>) {
        let mut completions = std::mem::take(&mut self.completions);
        self.device.advance(now, &mut completions);
        for Completion { tag, at, status } in completions.drain(..) {
            let active = self.active.remove(tag.0);
            self.note_end(active, at);
            self.queue.ended(active.request.class);
            self.tell_trimmer(now, active);
            out.push(Ended { owner: active.request.owner, failure: status.failure() });
        }
        self.completions = completions;
    }

    /// Begins or ends to note requests.
    pub(crate) fn watch(&mut self, watch: bool) {
        self.noted = watch.then(Vec::new);
    }

    pub(crate) fn take_ended(&mut self, out: &mut Vec<BlockRequest>) {
        out.append(self.noted.as_mut().unwrap_or(&mut Vec::new()));
    }

    /// Appends the requests under way.
    pub(crate) fn list_active(&self, out: &mut Vec<BlockRequest>) {
        if self.noted.is_some() {
            out.extend(self.active.iter().map(|active| self.noted(*active, Instant::NEVER)));
        }
    }

    fn noted(&self, active: Active, completed: Instant) -> BlockRequest {
        let Active { request, issued } = active;
        let kind = request.command.kind();
        BlockRequest { device: self.number, kind, entered: issued, issued, completed }
    }

    fn note_end(&mut self, active: Active, at: Instant) {
        let request = self.noted(active, at);
        if let Some(noted) = &mut self.noted {
            noted.push(request);
        }
    }

    /// Tells the policy of a request that ended.
    fn tell_trimmer(&mut self, now: Instant, active: Active) {
        if let BlockCommand::Discard(range) = active.request.command {
            self.trimmer.completed(now);
            if self.manner == TrimManner::OpenZfs {
                self.discarding.remove(&range.start().0);
                self.unpark(now);
            }
        } else {
            let latency = Some(now.since(active.issued));
            let outstanding = self.queue.foreground();
            self.trimmer.foreground(now, Foreground { outstanding, latency });
        }
        self.ask_again(now);
    }

    /// Queues discards as the policy allows.
    fn ask(&mut self, now: Instant) {
        self.ask_at = Instant::NEVER;
        while self.queue.trims() < TRIMS_QUEUED {
            let Some(range) = self.take_discard(now) else { break };
            self.queue_discard(range);
        }
    }

    fn take_discard(&mut self, now: Instant) -> Option<LbaRange> {
        match self.trimmer.next(now) {
            TrimmerStep::Discard(range) => Some(range),
            TrimmerStep::Until(at) => {
                if self.manner == TrimManner::OpenZfs {
                    self.ask_at = at;
                }
                None
            }
            TrimmerStep::Idle => None,
        }
    }

    fn queue_discard(&mut self, range: LbaRange) {
        let command = BlockCommand::Discard(range);
        self.discarding.insert(range.start().0, range.end().0);
        self.queue.add(Class::Trim, Request { class: Class::Trim, owner: Owner::Trim, command });
    }

    fn is_discarding(&self, range: LbaRange) -> bool {
        let before = self.discarding.range(..range.end().0).next_back();
        before.is_some_and(|(_, &end)| end > range.start().0)
    }

    /// Issues the parked writes that no discard holds any more.
    fn unpark(&mut self, now: Instant) {
        for request in std::mem::take(&mut self.parked) {
            match request.command {
                BlockCommand::Write { range, .. } if self.is_discarding(range) => {
                    self.parked.push(request);
                }
                _ => self.issue(now, request),
            }
        }
    }

    fn issue(&mut self, now: Instant, request: Request) {
        if let BlockCommand::Write { range, .. } = request.command {
            self.trimmer.rewritten(range);
        }
        let tag = Tag(self.active.add(Active { request, issued: now }));
        self.device
            .submit(now, tag, request.command)
            .expect("a pool stays within its drives and their limits");
    }

    fn range(&self, extent: Extent) -> LbaRange {
        extent.range(self.ratio)
    }
}
