//! A block device that does one command after the other in a stated time, and keeps what it was
//! sent.

use std::collections::VecDeque;

use trimbench_core::{BlockSize, Blocks, DrainRule, Storage};

use super::*;

/// One command, and when it came and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) command: BlockCommand,
    pub(super) from: Instant,
    pub(super) to: Instant,
}

#[derive(Debug)]
pub(super) struct Recorder {
    capabilities: Capabilities,
    log: Vec<Entry>,
    under_way: VecDeque<(Tag, Instant)>,
    free_at: Instant,
    /// Ranges of a discard, at most.
    pub(super) ranges: usize,
    /// Time of a discard.
    pub(super) discard: Nanos,
    /// Time of a write of 4 KiB.
    pub(super) write: Nanos,
}

impl Recorder {
    pub(super) fn new(capacity: Bytes) -> Self {
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
            under_way: VecDeque::new(),
            free_at: Instant::START,
            ranges: 1,
            discard: Nanos::from_millis(1),
            write: Nanos::from_micros(10),
        }
    }

    pub(super) fn limit_discards(&mut self, maximum: Bytes) {
        self.capabilities.discard_max = maximum;
    }

    pub(super) fn refuse_discards(&mut self) {
        self.capabilities.discard = Support::None;
    }

    pub(super) fn log(&self) -> &[Entry] {
        &self.log
    }

    pub(super) fn clear(&mut self) {
        self.log.clear();
    }
}

impl Storage for Recorder {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        DeviceStatistics::default()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for Recorder {
    fn submit(&mut self, now: Instant, tag: Tag, command: BlockCommand) -> Result<(), Rejected> {
        let span = match command {
            BlockCommand::Read(range) | BlockCommand::Write { range, .. } => {
                self.write.times(range.length().0 / 8)
            }
            BlockCommand::Discard(_) => self.discard,
            BlockCommand::Flush => Nanos::from_micros(100),
        };
        if let Some(extent) = extent(command) {
            let capacity = self.capabilities.medium;
            let Medium::Device { capacity, .. } = capacity else { unreachable!("it is one") };
            assert!(extent.end() * FS_BLOCK.0 <= capacity.0, "within the device");
        }
        self.free_at = self.free_at.max(now) + span;
        self.log.push(Entry { command, from: now, to: self.free_at });
        self.under_way.push_back((tag, self.free_at));
        Ok(())
    }

    /// One command takes the time of one discard; each range is an entry.
    fn submit_discard(
        &mut self,
        now: Instant,
        tag: Tag,
        ranges: &[LbaRange],
    ) -> Result<(), Rejected> {
        self.free_at = self.free_at.max(now) + self.discard;
        let entry = |range: &LbaRange| Entry {
            command: BlockCommand::Discard(*range),
            from: now,
            to: self.free_at,
        };
        self.log.extend(ranges.iter().map(entry));
        self.under_way.push_back((tag, self.free_at));
        Ok(())
    }

    fn discard_ranges(&self) -> usize {
        self.ranges
    }

    fn next_event(&self) -> Instant {
        self.under_way.front().map_or(Instant::NEVER, |(_, at)| *at)
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        while let Some(&(tag, at)) = self.under_way.front()
            && at <= now
        {
            self.under_way.pop_front();
            out.push(Completion { tag, at, status: Status::Done });
        }
    }
}

/// The filesystem blocks of a command.
pub(super) fn extent(command: BlockCommand) -> Option<Extent> {
    let (BlockCommand::Read(range)
    | BlockCommand::Write { range, .. }
    | BlockCommand::Discard(range)) = command
    else {
        return None;
    };
    let range: LbaRange = range;
    let (Lba(start), Blocks(length)) = (range.start(), range.length());
    assert!(start % 8 == 0 && length % 8 == 0, "whole blocks of the filesystem");
    Some(Extent::new(start / 8, length / 8))
}
