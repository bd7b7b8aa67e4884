//! A host over a drive whose every discard takes a millisecond.

use trimbench_core::{
    BlockSize, Blocks, Clock, DrainRule, Lba, Operation as _, OperationKind, Storage, Support,
    Target as _, Virtual,
};

use super::*;

/// A discard takes 1 ms, all others nothing; all go on side by side.
struct Side {
    capabilities: Capabilities,
    under_way: Vec<(Instant, Tag)>,
    most: usize,
    lengths: Vec<Blocks>,
    statistics: DeviceStatistics,
}

impl Side {
    fn new() -> Self {
        let medium = Medium::Device { capacity: Bytes::mib(256), logical_block: BlockSize::SECTOR };
        let capabilities = Capabilities {
            clock: Clock::Virtual,
            medium,
            discard: Support::Native,
            discard_max: Bytes::mib(1),
            discard_granularity: Bytes(4_096),
            queue_depth: 128,
            drain: DrainRule::IMMEDIATE,
        };
        Self {
            capabilities,
            under_way: Vec::new(),
            most: 0,
            lengths: Vec::new(),
            statistics: DeviceStatistics::default(),
        }
    }
}

impl Storage for Side {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        self.statistics
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for Side {
    fn submit(&mut self, now: Instant, tag: Tag, what: BlockCommand) -> Result<(), Rejected> {
        let mut end = now;
        if let (OperationKind::Discard, BlockCommand::Discard(range)) = (what.kind(), what) {
            self.lengths.push(range.length());
            end = now + Nanos::from_millis(1);
        }
        self.under_way.push((end, tag));
        self.most = self.most.max(self.under_way.len());
        Ok(())
    }

    fn next_event(&self) -> Instant {
        self.under_way.iter().map(|(at, _)| *at).min().unwrap_or(Instant::NEVER)
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        let ended = |(at, tag): &(Instant, Tag)| {
            (*at <= now).then_some(Completion { tag: *tag, at: *at, status: Status::Done })
        };
        out.extend(self.under_way.iter().filter_map(ended));
        self.under_way.retain(|(at, _)| *at > now);
    }
}

fn mebibytes(start: u64, length: u64) -> LbaRange {
    LbaRange::new(Lba(start * 2_048), Blocks(length * 2_048)).unwrap()
}

/// One discard of 32 MiB on a host with this throttling: when it ended, and the most commands that
/// the drive had at once.
fn discarded(write_back_throttling: Option<Nanos>) -> (Instant, usize) {
    let config = QueueConfig { write_back_throttling, ..QueueConfig::default() };
    let mut host = Virtual::new(HostQueue::new(Side::new(), &config).unwrap());
    host.submit(Tag(7), BlockCommand::Discard(mebibytes(0, 32))).unwrap();
    let mut ended = Vec::new();
    host.reap(Instant::NEVER, &mut ended);
    let [Completion { tag: Tag(7), at, status: Status::Done }] = ended[..] else {
        panic!("one command ends once: {ended:?}");
    };
    assert_eq!(host.model().device().lengths, [Blocks(2_048); 32], "the drive's limit");
    (at, host.model().device().most)
}

#[test]
fn a_command_ends_with_the_last_of_its_pieces() {
    let at = |millis| Instant::from_start(Nanos::from_millis(millis));
    assert_eq!(discarded(None), (at(1), 32), "all side by side");
    assert_eq!(discarded(Some(Nanos::from_millis(2))), (at(8), 4), "four at a time");
}

#[test]
fn what_lies_outside_the_device_is_refused() {
    let mut host = HostQueue::new(Side::new(), &QueueConfig::default()).unwrap();
    let beyond = BlockCommand::Discard(mebibytes(255, 2));
    let refused = host.submit(Instant::START, Tag(0), beyond);
    assert!(matches!(refused, Err(Rejected::OutOfRange { .. })), "{refused:?}");
    let refused = host.submit_discard(Instant::START, Tag(0), &[]);
    assert!(matches!(refused, Err(Rejected::DiscardRanges { count: 0, .. })), "{refused:?}");
    assert_eq!(host.statistics().outstanding, 0);
}
