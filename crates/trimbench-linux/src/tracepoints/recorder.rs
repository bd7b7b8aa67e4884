//! Records the commands of one device, for a trace.

use std::path::Path;

use trimbench_claim::mounts::mount_of;
use trimbench_claim::sysfs::{BlockDevice, devices_of};
use trimbench_core::{Bytes, Nanos, OperationKind};

use crate::clock::MonotonicClock;

use super::TracingError;
use super::events::{BlockEvent, Happened};
use super::instance::Instance;
use super::requests::{event_numbers, leaves};
use super::stream::EventStream;

#[cfg(test)]
mod tests;

/// Bytes of a sector, whatever the device's logical block.
const SECTOR: u64 = 512;

/// Which event of the block layer is a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedEvent {
    /// A bio is given to the device's queue: what a filesystem or program asked for.
    Queued,
    /// The driver takes a request: what the device is sent, after merging and splitting.
    Issued,
}

/// One command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedCommand {
    /// Since the recording began.
    pub at: Nanos,
    /// Its class; a write that carries a flush is a write. A flush has no place: of a partition
    /// those of its whole disk are recorded.
    pub kind: OperationKind,
    /// Where it begins, on the device that was named; 0 for a flush.
    pub offset: Bytes,
    /// How long it is; 0 for a flush.
    pub length: Bytes,
}

/// Records until it is dropped. The kernel's buffers hold about 48,000 events a processor: it must
/// be emptied often enough.
#[derive(Debug)]
pub struct Recorder {
    stream: EventStream,
    begin: Nanos,
    /// First sector of the device on its disk, and its sectors.
    place: (u64, u64),
    disk: BlockDevice,
    lost: u64,
}

impl Recorder {
    /// Begins to record the device of this node. Needs root.
    ///
    /// # Errors
    /// Of a partition what is *issued* cannot be told, nor of a device without a queue of requests:
    /// [`TracingError::NoRequests`].
    pub fn start(node: &Path, event: RecordedEvent) -> Result<Self, TracingError> {
        let device = BlockDevice::from_node(node).ok_or(TracingError::NoDevice)?;
        let disk = device.whole();
        let happened = match event {
            RecordedEvent::Queued => Happened::Queued,
            RecordedEvent::Issued => Happened::Issued,
        };
        let has_requests = !device.is_partition() && disk.disk().join("mq").exists();
        if event == RecordedEvent::Issued && !has_requests {
            return Err(TracingError::NoRequests { device: device.name });
        }
        // Kernels differ in whether a bio carries its partition's number or the disk's; the sectors
        // are the disk's in both.
        let numbers = event_numbers(&disk);
        let start = if device.is_partition() { device.own_number("start") } else { None };
        let sectors = device.own_number("size").unwrap_or(u64::MAX);
        let stream = EventStream::new(Instance::create()?, &numbers, &[happened])?;
        let begin = MonotonicClock::monotonic();
        Ok(Self { stream, begin, place: (start.unwrap_or(0), sectors), disk, lost: 0 })
    }

    /// The name of the tracefs instance that records, and whether it is removed at once if this
    /// process is killed; else the next recording removes it.
    pub fn instance(&self) -> (&str, bool) {
        self.stream.instance()
    }

    /// Whether what is written below `path` reaches the recorded disk, so that a recording there
    /// would record itself.
    pub fn records(&self, path: &Path) -> bool {
        let below = |device: &BlockDevice| leaves(device).into_iter().map(|leaf| leaf.name);
        let ours: Vec<String> = below(&self.disk).collect();
        let devices = mount_of(path).map(|mount| devices_of(&mount)).unwrap_or_default();
        devices.iter().flat_map(below).any(|name| ours.contains(&name))
    }

    /// Appends the commands that came since the last call. Those of the last 0.2 ms may come with
    /// the next.
    pub fn take(&mut self, out: &mut Vec<RecordedCommand>) {
        self.take_until(EventStream::settles_at(), out);
    }

    /// The same with all that came until now, for the end.
    pub fn take_rest(&mut self, out: &mut Vec<RecordedCommand>) {
        self.take_until(MonotonicClock::monotonic(), out);
    }

    /// How long it has been recording.
    pub fn elapsed(&self) -> Nanos {
        MonotonicClock::monotonic().saturating_sub(self.begin)
    }

    /// Events that the kernel dropped so far because its buffers were full, at least.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn take_until(&mut self, until: Nanos, out: &mut Vec<RecordedCommand>) {
        self.lost += self.stream.drain();
        let (begin, place) = (self.begin, self.place);
        let events = self.stream.settled(until).filter(|event| event.at >= begin);
        out.extend(events.filter_map(|event| command(&event, begin, place)));
    }
}

/// The command of an event; `None` if it lies beside the device.
fn command(
    event: &BlockEvent,
    begin: Nanos,
    (start, sectors): (u64, u64),
) -> Option<RecordedCommand> {
    let at = event.at.saturating_sub(begin);
    if event.kind == OperationKind::Flush {
        return Some(RecordedCommand { at, kind: event.kind, offset: Bytes(0), length: Bytes(0) });
    }
    let first = event.sector.checked_sub(start)?;
    let end = first.checked_add(event.sectors).filter(|end| *end <= sectors)?;
    let (offset, length) = (Bytes(first * SECTOR), Bytes((end - first) * SECTOR));
    Some(RecordedCommand { at, kind: event.kind, offset, length })
}
