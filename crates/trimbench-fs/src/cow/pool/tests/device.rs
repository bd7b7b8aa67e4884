//! A block device on which each command takes its time, however many there are.

use std::collections::{BTreeMap, BTreeSet};

use trimbench_core::{BlockSize, Operation as _, OperationKind, Status, Storage};

use super::*;

/// One command, and when it came and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: OperationKind,
    pub(super) start: u64,
    pub(super) sectors: u64,
    pub(super) from: Instant,
    pub(super) to: Instant,
}

#[derive(Clone, Debug)]
pub(super) struct Device {
    capabilities: Capabilities,
    pub(super) log: Vec<Entry>,
    /// Sectors written since their last discard.
    pub(super) written: BTreeSet<u64>,
    under_way: BTreeMap<(Instant, u64), Tag>,
    sequence: u64,
    pub(super) read: Nanos,
    pub(super) write: Nanos,
    pub(super) discard: Nanos,
}

impl Device {
    pub(super) fn new() -> Self {
        let capacity = Bytes::mib(64);
        let capabilities = Capabilities {
            clock: Clock::Virtual,
            medium: Medium::Device { capacity, logical_block: BlockSize::SECTOR },
            discard: Support::Native,
            discard_max: Bytes::gib(1),
            discard_granularity: FS_BLOCK,
            queue_depth: 32,
            drain: DrainRule::IMMEDIATE,
        };
        Self {
            capabilities,
            log: Vec::new(),
            written: BTreeSet::new(),
            under_way: BTreeMap::new(),
            sequence: 0,
            read: Nanos::from_micros(100),
            write: Nanos::from_micros(50),
            discard: Nanos::from_millis(1),
        }
    }
}

impl Storage for Device {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        DeviceStatistics::default()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for Device {
    fn submit(&mut self, now: Instant, tag: Tag, command: BlockCommand) -> Result<(), Rejected> {
        let (span, range) = match command {
            BlockCommand::Read(range) => (self.read, Some(range)),
            BlockCommand::Write { range, .. } => (self.write, Some(range)),
            BlockCommand::Discard(range) => (self.discard, Some(range)),
            BlockCommand::Flush => (self.write, None),
        };
        let start = range.map_or(0, |range| range.start().0 / 8);
        let sectors = range.map_or(0, |range| range.length().0 / 8);
        assert!((start + sectors) * FS_BLOCK.0 <= Bytes::mib(64).0, "within the device");
        for sector in start..start + sectors {
            match command {
                BlockCommand::Write { .. } => self.written.insert(sector),
                BlockCommand::Discard(_) => self.written.remove(&sector),
                _ => false,
            };
        }
        self.sequence += 1;
        self.under_way.insert((now + span, self.sequence), tag);
        let kind = command.kind();
        self.log.push(Entry { kind, start, sectors, from: now, to: now + span });
        Ok(())
    }

    fn next_event(&self) -> Instant {
        self.under_way.first_key_value().map_or(Instant::NEVER, |((at, _), _)| *at)
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        while let Some(entry) = self.under_way.first_entry()
            && entry.key().0 <= now
        {
            let ((at, _), tag) = entry.remove_entry();
            out.push(Completion { tag, at, status: Status::Done });
        }
    }
}
