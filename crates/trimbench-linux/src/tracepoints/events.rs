//! The recorded block events, and the positions of their fields: the kernel describes each in its
//! `format` file, and the layouts differ between versions.

use trimbench_core::units::index;
use trimbench_core::{Nanos, OperationKind};

use super::pages::{u16_at, u32_at, u64_at};

#[cfg(test)]
mod tests;

/// Bytes of a thread's name (`TASK_COMM_LEN`).
const NAME: usize = 16;

/// What happened to a bio or request. In the order in which it does, for events of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happened {
    /// The filesystem gave a bio to the block layer.
    Queued,
    /// The driver took a request.
    Issued,
    /// The driver gave it back untouched; it will be issued again.
    Requeued,
    /// A request, or its first part, is done.
    Completed,
    BioEnded,
}

/// The thread in whose context something happened, in the kernel's own numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventTask {
    /// The thread's number; 0 where an interrupt found the processor idle.
    pub thread: u32,
    /// Its name, ended by a zero byte; empty where the event does not tell.
    pub(super) name: [u8; NAME],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockEvent {
    /// On `CLOCK_MONOTONIC`.
    pub(super) at: Nanos,
    pub(super) happened: Happened,
    /// The kernel's number of the device: major and minor in 12 and 20 bits.
    pub(super) device: u32,
    pub(super) kind: OperationKind,
    /// First sector; 0 for flushes.
    pub(super) sector: u64,
    /// Sectors; 0 for flushes.
    pub(super) sectors: u64,
    /// Who did it.
    pub(super) task: EventTask,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    happened: Happened,
    id: u16,
    device: usize,
    sector: usize,
    sectors: usize,
    /// The class as text, `WSM`, and how many bytes there are for it.
    class: (usize, usize),
    /// The number of the thread.
    thread: usize,
    /// The name of the thread, which only some events have.
    name: Option<usize>,
}

impl Happened {
    pub(super) const ALL: [Self; 5] =
        [Self::Queued, Self::Issued, Self::Requeued, Self::Completed, Self::BioEnded];

    pub(super) const fn event(self) -> &'static str {
        match self {
            Self::Queued => "block_bio_queue",
            Self::Issued => "block_rq_issue",
            Self::Requeued => "block_rq_requeue",
            Self::Completed => "block_rq_complete",
            Self::BioEnded => "block_bio_complete",
        }
    }

    /// What the kernel is to record of it, beside the device. Ends of bios are wanted only where
    /// requests do not tell them: those that failed before they were issued (would have had to
    /// wait, and may not), and discards, of which one request may carry several.
    pub(super) const fn condition(self) -> &'static str {
        match self {
            Self::BioEnded => " && (error != 0 || rwbs ~ \"D*\")",
            _ => "",
        }
    }
}

impl EventTask {
    /// As `/proc/PID/comm` shows it; bytes that are no text are replaced.
    pub fn name(&self) -> String {
        let length = self.name.iter().position(|byte| *byte == 0).unwrap_or(NAME);
        String::from_utf8_lossy(&self.name[..length]).into_owned()
    }
}

impl Layout {
    /// From the text of a `format` file; `None` if a field is missing or has another size.
    pub(super) fn parse(happened: Happened, text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: "))?.trim().parse().ok()?;
        let sized = |name: &str, size: usize| {
            field(text, name).filter(|found| found.1 == size).map(|found| found.0)
        };
        Some(Self {
            happened,
            id,
            device: sized("dev", 4)?,
            sector: sized("sector", 8)?,
            sectors: sized("nr_sector", 4)?,
            class: field(text, "rwbs")?,
            thread: sized("common_pid", 4)?,
            name: sized("comm", NAME),
        })
    }

    /// The event in `data`; `None` if it is of another type, or concerns no data and is no flush.
    pub(super) fn read(&self, at: Nanos, data: &[u8]) -> Option<BlockEvent> {
        if u16_at(data, 0)? != self.id {
            return None;
        }
        let sectors = u64::from(u32_at(data, self.sectors)?);
        let (start, size) = self.class;
        let kind = kind_of(data.get(start..start + size)?, sectors)?;
        let flush = kind == OperationKind::Flush;
        // A flush has no place; the kernel says 0, or its highest number.
        let sector = if flush { 0 } else { u64_at(data, self.sector)? };
        let device = u32_at(data, self.device)?;
        let name = self.name.and_then(|start| data.get(start..start + NAME)?.try_into().ok());
        let task = EventTask { thread: u32_at(data, self.thread)?, name: name.unwrap_or_default() };
        Some(BlockEvent { at, happened: self.happened, device, kind, sector, sectors, task })
    }
}

/// Offset and size of a field: `field:sector_t sector; offset:16; size:8; signed:0;`, with tabs.
pub(super) fn field(text: &str, name: &str) -> Option<(usize, usize)> {
    text.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let declared = parts.next()?.rsplit([' ', '\t']).next()?;
        let number = |part: Option<&str>, key| part?.strip_prefix(key)?.parse::<u64>().ok();
        let offset = number(parts.next(), "offset:")?;
        let size = number(parts.next(), "size:")?;
        let is_it = declared.split('[').next() == Some(name);
        is_it.then(|| (index(offset), index(size)))
    })
}

/// The class in the kernel's text (`blk_fill_rwbs`): the operation, after an `F` if the device is
/// to flush before it. An operation that moves no data is no request of ours, unless it flushes.
fn kind_of(text: &[u8], sectors: u64) -> Option<OperationKind> {
    let (operation, flushes) = match *text.get(..2)? {
        [b'F', next @ (b'W' | b'R' | b'D' | b'N' | b'Z')] => (next, true),
        [first, _] => (first, first == b'F'),
        _ => return None,
    };
    match operation {
        _ if sectors == 0 => flushes.then_some(OperationKind::Flush),
        b'R' => Some(OperationKind::Read),
        b'D' => Some(OperationKind::Discard),
        // Data, zeroes, and what writes zones.
        b'W' | b'N' | b'Z' => Some(OperationKind::Write),
        _ => None,
    }
}
