//! One drive of a pool: its queue, the discards in flight, and the writes that wait for them.
//!
//! Requests are recorded when they are passed to the drive. The queue of classes belongs to the
//! filesystem: requests that wait there have reached no block layer.
//!
//! Units: sectors of 4 KiB of this drive.

use std::collections::BTreeMap;

use trimbench_core::slab::Slab;
use trimbench_core::{
    BlockCommand, BlockRequest, BlockSize, Blocks, Bytes, Completion, DriveDiscards, Errno,
    Instant, LbaRange, Medium, Model, Operation, Support, Tag,
};
use trimbench_policy::{
    AtOnce, Choice, Extents, Foreground, Options, TrimPolicy, Trimmer, TrimmerStep,
};

use super::config::{PoolConfig, TrimManner};
use super::gate::Gate;
use super::queue::{Class, ClassQueue};
use super::range_tree::RangeTree;
use crate::commands::Slot;
use crate::config::{FS_BLOCK, FsConfigError};
use crate::extent::Extent;
use crate::lower::logical_block;

/// Extents of freed space that a drive remembers: more than any pool that fits into memory has.
const EXTENTS_MAX: usize = 1 << 26;
/// The longest discard of `OpenZFS`, and the shortest. Source: \[OPENZFS\]
/// `zfs_trim_extent_bytes_max` and `zfs_trim_extent_bytes_min`.
pub(crate) const TRIM_MOST: Bytes = Bytes::mib(128);
const TRIM_LEAST: Bytes = Bytes(32 << 10);

/// Whom the end of a request concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A command of the caller.
    Command(Slot),
    /// The group that is synced, which then has so many dirty bytes less.
    Group { cleaned: u64 },
    /// Freed space; the group that was open when the discard was queued.
    Trim { group: u64 },
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
    gate: Gate,
    /// When the policy is to be asked again.
    ask_at: Instant,
    /// The open group.
    group: u64,
    /// Discards queued since the last [`Self::take_queued`].
    queued: u64,
    /// Discards queued whose end the pool has not been told.
    unended: u64,
    /// Places that a discard holds: until its end, or until the end of its pass. Start to end, in
    /// logical blocks.
    discarding: BTreeMap<u64, u64>,
    /// Writes that wait for one of these; none with `OpenZFS`, where nothing is allocated in the
    /// meantime. They count as active.
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
        let choice = match capabilities.discard {
            Support::None => Some("none".parse::<Choice>()?),
            _ => config.policy.clone(),
        };
        let policy: Box<dyn TrimPolicy> = match choice {
            Some(choice) => choice.build(logical_block)?,
            None => Box::new(AtOnce),
        };
        let most = if config.manner.is_openzfs() { TRIM_MOST } else { Bytes(u64::MAX) };
        let longest = capabilities.discard_max.min(most);
        let options = Options {
            discard_max: longest.blocks_floor(logical_block).max(Blocks(1)),
            extents: Extents::Divisible,
            extents_max: EXTENTS_MAX,
        };
        Ok(Self {
            number,
            ratio: FS_BLOCK.0 / logical_block.bytes().0,
            manner: config.manner,
            queue: ClassQueue::new(config.limits),
            trimmer: Trimmer::new(policy, options),
            gate: Gate::new(config, logical_block.bytes()),
            ask_at: Instant::NEVER,
            group: 0,
            queued: 0,
            unended: 0,
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
        self.bytes(self.trimmer.backlog().blocks)
    }

    /// What became of what was freed here.
    pub(crate) fn discards(&self) -> DriveDiscards {
        let block_size = BlockSize::new(self.bytes(Blocks(1)));
        self.trimmer.discards(block_size.expect("a sector is so many of the drive's blocks"))
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

    /// FreeBSD: a pass begins; see [`Gate::begin_pass`].
    pub(crate) fn begin_pass(&mut self, now: Instant, due: (Instant, Instant)) {
        self.gate.begin_pass(&self.trimmer.backlog(), due);
        self.ask(now);
    }

    /// Whether more of the pass may be sent, once the policy allows it.
    pub(crate) fn is_in_pass(&self) -> bool {
        self.gate.is_in_pass()
    }

    /// No discard of the pass is under way: its places are free for writes.
    pub(crate) fn free_places(&mut self, now: Instant) {
        self.discarding.clear();
        self.unpark(now);
    }

    /// `OpenZFS`: free space of a metaslab, of which the first was freed at `since`, comes up for
    /// its discard. What is too short is skipped.
    pub(crate) fn hand_in(&mut self, now: Instant, since: Instant, free: &RangeTree) {
        for extent in free.iter() {
            let range = self.range(extent);
            if extent.length * FS_BLOCK.0 < TRIM_LEAST.0 {
                self.trimmer.passed_over(now, range);
            } else {
                self.trimmer.freed_since(now, since, range);
            }
        }
        self.gate.begin_metaslab(now);
        self.ask_at = now;
    }

    /// Whether all that came up has been queued.
    pub(crate) fn is_handed_in(&self) -> bool {
        self.trimmer.backlog().blocks == Blocks(0)
    }

    /// Discards queued since the last call.
    pub(crate) fn take_queued(&mut self) -> u64 {
        std::mem::take(&mut self.queued)
    }

    /// Discards queued whose end the pool has not been told.
    pub(crate) fn unended(&self) -> u64 {
        self.unended
    }

    /// The pool is told of the end of a discard.
    pub(crate) fn discard_ended(&mut self) {
        self.unended -= 1;
    }

    /// Hands to the device what may go. `group` is the open one.
    pub(crate) fn pump(&mut self, now: Instant, async_writes: u32, group: u64) {
        self.group = group;
        if now >= self.ask_at {
            self.ask(now);
        }
        while let Some(request) = self.queue.take(async_writes) {
            match request.command {
                BlockCommand::Write { range, .. } if self.is_discarding(range) => {
                    assert!(!self.manner.is_openzfs(), "a metaslab that is trimmed is disabled");
                    self.parked_count += 1;
                    self.parked.push(request);
                }
                _ => self.issue(now, request),
            }
        }
    }

    /// Something changed that the policy may answer otherwise to.
    fn ask_again(&mut self, now: Instant) {
        if self.manner.is_openzfs() || self.gate.is_in_pass() {
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
            if self.manner.is_openzfs() {
                self.discarding.remove(&range.start().0);
            }
        } else {
            let latency = Some(now.since(active.issued));
            let outstanding = self.queue.foreground();
            self.trimmer.foreground(now, Foreground { outstanding, latency });
        }
        self.ask_again(now);
    }

    /// Queues discards, each as gate and policy allow.
    fn ask(&mut self, now: Instant) {
        self.ask_at = loop {
            let opens = self.gate.opens(now, &self.trimmer.backlog(), self.queue.trims());
            if opens > now {
                break opens;
            }
            match self.trimmer.next(now) {
                TrimmerStep::Discard(range) => self.queue_discard(range),
                TrimmerStep::Until(at) => break at,
                TrimmerStep::Idle => break Instant::NEVER,
            }
        };
    }

    fn queue_discard(&mut self, range: LbaRange) {
        self.gate.passed(self.bytes(range.length()).0);
        self.discarding.insert(range.start().0, range.end().0);
        (self.queued, self.unended) = (self.queued + 1, self.unended + 1);
        let (owner, command) = (Owner::Trim { group: self.group }, BlockCommand::Discard(range));
        self.queue.add(Class::Trim, Request { class: Class::Trim, owner, command });
    }

    fn is_discarding(&self, range: LbaRange) -> bool {
        let before = self.discarding.range(..range.end().0).next_back();
        before.is_some_and(|(_, &end)| end > range.start().0)
    }

    /// Issues the parked writes: no discard holds them any more.
    fn unpark(&mut self, now: Instant) {
        for request in std::mem::take(&mut self.parked) {
            self.issue(now, request);
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

    fn bytes(&self, blocks: Blocks) -> Bytes {
        Bytes(blocks.0 * FS_BLOCK.0 / self.ratio)
    }
}
