//! From events to requests.
//!
//! A request carries one bio or several that were merged; a large bio becomes several requests. So
//! a request is the range of sectors that was issued, and it entered when the first of its bios
//! did. Waiting bios are kept as ranges, and an issue cuts its own range out of them. (An empty
//! flush is the range of no sectors; one flush by the device serves all that wait.)

use std::collections::VecDeque;

use trimbench_claim::sysfs::BlockDevice;
use trimbench_core::{BlockRequest, Bytes, Instant, OperationKind};

use super::TracingError;
use super::events::{BlockEvent, EventTask, Happened};

#[cfg(test)]
mod tests;

/// More waiting ranges on one device than any has tags, or threads wait: something is not seen.
const WAITING_MAX: usize = 65_536;
/// Requests that are kept until they are taken: 160 MB. What comes later is lost.
const ENDED_MAX: usize = 4 << 20;

/// Bytes of a sector, whatever the device's logical block.
const SECTOR: u64 = 512;

/// A request of the block layer, and who caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedRequest {
    /// Its device and times.
    pub request: BlockRequest,
    /// How long it is; 0 for a flush.
    pub length: Bytes,
    /// Who gave the first of its bios to the block layer. A worker of the kernel, where a
    /// filesystem or device-mapper leaves the work to one.
    pub task: EventTask,
}

/// A disk with a queue of requests, and the numbers that its events may carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Disk {
    /// Its place in the list that the caller gave.
    pub(super) device: u16,
    /// Its own, then its partitions': bios carry the partition's, requests the disk's.
    pub(super) numbers: Vec<u32>,
}

/// The disks that do the work of `devices`: those below stacked devices, whole.
pub(super) fn disks(devices: &[BlockDevice]) -> Result<Vec<Disk>, TracingError> {
    let mut disks = Vec::new();
    for (device, top) in devices.iter().enumerate() {
        let device = u16::try_from(device).unwrap_or(u16::MAX);
        for leaf in leaves(top) {
            if !leaf.disk().join("mq").exists() {
                return Err(TracingError::NoRequests { device: leaf.name });
            }
            disks.push(Disk { device, numbers: event_numbers(&leaf) });
        }
    }
    if disks.is_empty() { Err(TracingError::NoDevice) } else { Ok(disks) }
}

pub(super) fn leaves(device: &BlockDevice) -> Vec<BlockDevice> {
    let whole = device.whole();
    let below = whole.below();
    if below.is_empty() { vec![whole] } else { below.iter().flat_map(leaves).collect() }
}

/// The numbers that events of a disk and of its partitions carry (`MKDEV`).
pub(super) fn event_numbers(disk: &BlockDevice) -> Vec<u32> {
    let parts = disk.partitions();
    let numbers = std::iter::once(disk).chain(&parts).filter_map(BlockDevice::numbers);
    numbers.map(|(major, minor)| (major << 20) | minor).collect()
}

/// Joins events to requests. Events come in the order of their times.
#[derive(Debug)]
pub(super) struct Requests {
    disks: Vec<(Disk, Queue)>,
    ended: Vec<TracedRequest>,
    lost: u64,
}

/// What is under way on one disk, the oldest first.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Range>,
    held: VecDeque<Held>,
}

/// Sectors of one class that entered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    kind: OperationKind,
    start: u64,
    end: u64,
    entered: Instant,
    task: EventTask,
}

/// A request that the device has.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// What is left of it.
    range: Range,
    issued: Instant,
    /// What it had when it was issued.
    sectors: u64,
}

impl Requests {
    pub(super) fn new(disks: Vec<Disk>) -> Self {
        let disks = disks.into_iter().map(|disk| (disk, Queue::default())).collect();
        Self { disks, ended: Vec::new(), lost: 0 }
    }

    /// The event happened at `at` on the target's clock.
    pub(super) fn apply(&mut self, event: &BlockEvent, at: Instant) {
        let mut disks = self.disks.iter_mut();
        let Some((disk, queue)) = disks.find(|(disk, _)| disk.numbers.contains(&event.device))
        else {
            return;
        };
        let end = event.sector + event.sectors;
        let (start, kind, task) = (event.sector, event.kind, event.task);
        let range = Range { kind, start, end, entered: at, task };
        match event.happened {
            Happened::Queued => queue.waiting.push_back(range),
            Happened::Issued => queue.issue(range),
            Happened::Requeued => queue.requeue(range),
            Happened::BioEnded => queue.bio_ended(range),
            Happened::Completed => {
                if let Some(held) = queue.complete(range) {
                    self.ended.push(held.traced(disk.device, at));
                }
            }
        }
        if queue.waiting.len() > WAITING_MAX {
            self.lose(1);
        }
        if self.ended.len() > ENDED_MAX {
            self.ended.pop();
            self.lost += 1;
        }
    }

    /// So many events were lost: what is under way may have ended, and is forgotten.
    pub(super) fn lose(&mut self, events: u64) {
        self.lost += events;
        for (_, queue) in &mut self.disks {
            *queue = Queue::default();
        }
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Appends what ended since the last call, then what is under way.
    pub(super) fn take(&mut self, out: &mut Vec<TracedRequest>) {
        self.take_ended(out);
        for (disk, queue) in &self.disks {
            let waiting = queue.waiting.iter().map(|range| Held::of(*range, Instant::NEVER));
            let all = queue.held.iter().copied().chain(waiting);
            out.extend(all.map(|held| held.traced(disk.device, Instant::NEVER)));
        }
    }

    /// Appends what ended since the last call.
    pub(super) fn take_ended(&mut self, out: &mut Vec<TracedRequest>) {
        out.append(&mut self.ended);
    }
}

impl Queue {
    /// The device takes a request of this range: what waits of it waits no more. A request of
    /// which nothing was seen waiting entered now.
    fn issue(&mut self, request: Range) {
        let (mut entered, mut task) = (request.entered, request.task);
        let mut taken: Vec<Range> = Vec::new();
        let mut at = 0;
        while let Some(&range) = self.waiting.get(at) {
            let part = request.common(range);
            // Of two that want the same sectors only the older one is in this request.
            let is_new = |part: Range| !taken.iter().any(|old| old.common(part).is_some());
            match part {
                Some(part) if part.is_empty() || is_new(part) => {
                    if range.entered < entered {
                        (entered, task) = (range.entered, range.task);
                    }
                    taken.push(part);
                    let before = Range { end: part.start, ..range };
                    let after = Range { start: part.end, ..range };
                    self.waiting.remove(at);
                    for rest in [after, before].into_iter().filter(|rest| !rest.is_empty()) {
                        self.waiting.insert(at, rest);
                        at += 1;
                    }
                }
                _ => at += 1,
            }
        }
        self.held.push_back(Held::of(Range { entered, task, ..request }, request.entered));
    }

    fn requeue(&mut self, request: Range) {
        if let Some(at) = self.find_held(request) {
            self.waiting.extend(self.held.remove(at).map(|held| held.range));
        }
    }

    /// A bio that failed before it was issued, told by its first sector; or one that is done, told
    /// by its last, for it has nothing left. Of the latter some were in a request whose range does
    /// not show them.
    fn bio_ended(&mut self, bio: Range) {
        let is_it = |range: &Range| {
            range.kind == bio.kind
                && if bio.is_empty() { range.end == bio.end } else { range.start == bio.start }
        };
        if let Some(at) = self.waiting.iter().position(is_it) {
            self.waiting.remove(at);
        }
    }

    /// The request that is done; `None` if a part of it is left, or it was never seen.
    fn complete(&mut self, request: Range) -> Option<Held> {
        let at = self.find_held(request)?;
        let range = &mut self.held[at].range;
        if request.end < range.end {
            range.start = request.end;
            return None;
        }
        self.held.remove(at)
    }

    fn find_held(&self, request: Range) -> Option<usize> {
        let mut ranges = self.held.iter().map(|held| held.range);
        ranges.position(|held| held.kind == request.kind && held.start == request.start)
    }
}

impl Held {
    fn of(range: Range, issued: Instant) -> Self {
        Self { range, issued, sectors: range.end - range.start }
    }

    fn traced(self, device: u16, completed: Instant) -> TracedRequest {
        let Range { kind, entered, task, .. } = self.range;
        let request = BlockRequest { device, kind, entered, issued: self.issued, completed };
        TracedRequest { request, length: Bytes(self.sectors * SECTOR), task }
    }
}

impl Range {
    fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The sectors that both have; of two flushes the same nothing. `None` if they have none.
    fn common(self, other: Self) -> Option<Self> {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        let meets = start < end || (self.is_empty() && other.is_empty());
        (self.kind == other.kind && meets).then_some(Self { start, end, ..other })
    }
}
