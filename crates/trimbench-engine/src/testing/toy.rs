//! A device with completely known behaviour.

use trimbench_core::{
    BlockCommand, BlockSize, Bytes, Capabilities, Clock, Completion, Content, DeviceStatistics,
    DrainRule, Drive, DriveError, Errno, Instant, LbaRange, Medium, Model, Nanos, PurgeMeans,
    Rejected, Status, Storage, Support, Tag, TrimPromise, Wear,
};

/// Each command takes 100 us, a TRIM longer on request.
pub struct Toy {
    pub capabilities: Capabilities,
    pub means: PurgeMeans,
    /// Where its first unit of the granularity begins.
    pub alignment: Bytes,
    /// Never answers from this instant on.
    pub hangs_from: Instant,
    /// Is gone from this instant on.
    pub gone_from: Instant,
    /// Bytes that others write for each command of ours.
    pub foreign: Bytes,
    pub purges: u32,
    /// Each command takes so much longer for each purge.
    pub slower_by_purge: Nanos,
    /// Each TRIM takes so much longer.
    pub slower_by_trim: Nanos,
    pub queue: Vec<(Instant, Tag)>,
    pub statistics: DeviceStatistics,
    pub log: Vec<(Instant, BlockCommand)>,
}

impl Toy {
    pub fn new() -> Self {
        let capabilities = Capabilities {
            clock: Clock::Virtual,
            medium: Medium::Device { capacity: Bytes::mib(16), logical_block: BlockSize::SECTOR },
            discard: Support::Native,
            discard_max: Bytes::mib(3),
            discard_granularity: Bytes(512),
            queue_depth: 32,
            drain: DrainRule::IMMEDIATE,
        };
        Self {
            capabilities,
            means: PurgeMeans::Trim,
            alignment: Bytes(0),
            hangs_from: Instant::NEVER,
            gone_from: Instant::NEVER,
            foreign: Bytes(0),
            purges: 0,
            slower_by_purge: Nanos::ZERO,
            slower_by_trim: Nanos::ZERO,
            queue: Vec::new(),
            statistics: DeviceStatistics::default(),
            log: Vec::new(),
        }
    }
}

impl Storage for Toy {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        self.statistics
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for Toy {
    fn submit(&mut self, now: Instant, tag: Tag, what: BlockCommand) -> Result<(), Rejected> {
        if now >= self.gone_from {
            return Err(Rejected::Kernel { errno: Errno::EIO });
        }
        if what == BlockCommand::Flush {
            return Err(Rejected::Unsupported { operation: "flush" });
        }
        self.log.push((now, what));
        if let BlockCommand::Write { range, .. } = what {
            self.statistics.write.bytes += range.length().bytes(BlockSize::SECTOR);
        }
        self.statistics.write.bytes += self.foreign;
        let mut taken = Nanos(100_000) + self.slower_by_purge.times(u64::from(self.purges));
        if matches!(what, BlockCommand::Discard(_)) {
            taken += self.slower_by_trim;
        }
        let hangs = now >= self.hangs_from;
        self.queue.push((if hangs { Instant::NEVER } else { now + taken }, tag));
        Ok(())
    }

    fn next_event(&self) -> Instant {
        self.queue.iter().map(|entry| entry.0).min().unwrap_or(Instant::NEVER)
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        let due = self.queue.extract_if(.., |entry| entry.0 <= now);
        out.extend(due.map(|(at, tag)| Completion { tag, at, status: Status::Done }));
    }
}

impl Drive for Toy {
    fn purge_means(&self) -> PurgeMeans {
        self.means
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        assert!(self.queue.is_empty(), "a purge needs an idle drive");
        self.purges += 1;
        Ok(())
    }

    fn examine(&mut self, _: LbaRange, _: &mut Vec<Content>) -> Result<(), DriveError> {
        let reason = "it keeps no contents".to_owned();
        Err(DriveError::Refused { operation: "examine", reason })
    }

    fn trim_promise(&self) -> TrimPromise {
        TrimPromise::Unknown
    }

    fn discard_alignment(&self) -> Bytes {
        self.alignment
    }

    fn wear(&mut self) -> Option<Wear> {
        assert!(self.queue.is_empty(), "counters are read from an idle drive");
        None
    }
}
