use std::collections::VecDeque;

use proptest::prelude::*;
use trimbench_core::{
    BlockSize, Clock, DeviceStatistics, DrainRule, Rejected, Status, Storage, Support,
};

use super::*;
use crate::Scheduler;

const BLOCK: u64 = 4096;
const MILLI: Nanos = Nanos::from_millis(1);

/// One command after the other, a millisecond each; keeps what it was sent.
#[derive(Debug)]
struct Serial {
    capabilities: Capabilities,
    ranges: usize,
    under_way: VecDeque<(Tag, Instant)>,
    free_at: Instant,
    log: Vec<(Instant, OperationKind, Vec<LbaRange>)>,
}

impl Serial {
    fn new(depth: u32, discard_max: u64) -> Self {
        let capabilities = Capabilities {
            clock: Clock::Virtual,
            medium: Medium::Device {
                capacity: Bytes(BLOCK << 32),
                logical_block: BlockSize::new(Bytes(BLOCK)).expect("4 KiB"),
            },
            discard: Support::Native,
            discard_max: Bytes(discard_max * BLOCK),
            discard_granularity: Bytes(BLOCK),
            queue_depth: depth,
            drain: DrainRule::IMMEDIATE,
        };
        let (under_way, log) = (VecDeque::new(), Vec::new());
        Self { capabilities, ranges: 1, under_way, free_at: Instant::START, log }
    }

    /// The same, with so many ranges in a discard.
    fn taking(self, ranges: usize) -> Self {
        Self { ranges, ..self }
    }

    fn take(&mut self, now: Instant, tag: Tag, kind: OperationKind, ranges: &[LbaRange]) {
        self.free_at = self.free_at.max(now) + MILLI;
        self.under_way.push_back((tag, self.free_at));
        self.log.push((now, kind, ranges.to_vec()));
    }
}

impl Storage for Serial {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        DeviceStatistics::default()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for Serial {
    fn submit(&mut self, now: Instant, tag: Tag, command: BlockCommand) -> Result<(), Rejected> {
        let ranges = match command {
            BlockCommand::Read(range)
            | BlockCommand::Discard(range)
            | BlockCommand::Write { range, .. } => vec![range],
            BlockCommand::Flush => Vec::new(),
        };
        self.take(now, tag, command.kind(), &ranges);
        Ok(())
    }

    fn submit_discard(
        &mut self,
        now: Instant,
        tag: Tag,
        ranges: &[LbaRange],
    ) -> Result<(), Rejected> {
        self.take(now, tag, OperationKind::Discard, ranges);
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

fn range(start: u64, length: u64) -> LbaRange {
    LbaRange::new(Lba(start), Blocks(length)).expect("not empty")
}

/// Every second block: nothing to merge by address.
fn apart(count: u64) -> Vec<LbaRange> {
    (0..count).map(|at| range(2 * at, 1)).collect()
}

fn queue(config: QueueConfig) -> BlockLayer<Serial, char> {
    BlockLayer::new(Serial::new(128, 1 << 20), &config).expect("it is a block device")
}

fn free() -> QueueConfig {
    QueueConfig { write_back_throttling: None, ..QueueConfig::default() }
}

/// Runs until nothing happens any more; when each owner's pieces ended and were all submitted.
fn run(queue: &mut BlockLayer<Serial, char>) -> Vec<(char, &'static str, u64)> {
    let (mut seen, mut out) = (Vec::new(), Vec::new());
    while !queue.is_idle() {
        let now = queue.next_event();
        queue.advance(now, &mut out);
        for event in out.drain(..) {
            let millis = now.since_start().0 / 1_000_000;
            seen.push(match event {
                QueueEvent::Submitted(owner) => (owner, "submitted", millis),
                QueueEvent::Ended { owner, .. } => (owner, "ended", millis),
            });
        }
        queue.dispatch(now);
    }
    seen
}

fn sent(queue: &BlockLayer<Serial, char>) -> Vec<u64> {
    queue.device().log.iter().map(|(at, ..)| at.since_start().0 / 1_000_000).collect()
}

#[test]
fn long_requests_are_cut_and_end_piece_by_piece() {
    let mut queue = queue(free());
    let command = BlockCommand::Read(range(10, 300));
    assert_eq!(queue.submit(Instant::START, 'r', command, Urgency::Foreground), 3);
    let lengths: Vec<u64> =
        queue.device().log.iter().map(|(_, _, ranges)| ranges[0].length().0).collect();
    assert_eq!(lengths, [128, 128, 44]);
    assert_eq!(run(&mut queue), [('r', "ended", 1), ('r', "ended", 2), ('r', "ended", 3)]);
}

#[test]
fn discards_are_cut_at_the_devices_limit_and_at_four_gib() {
    let mut queue = BlockLayer::new(Serial::new(128, 100), &free()).expect("a block device");
    assert_eq!(queue.discard(Instant::START, 'd', &[range(50, 250)], true), 3);
    let starts = |queue: &BlockLayer<Serial, char>| -> Vec<u64> {
        queue.device().log.iter().map(|(_, _, ranges)| ranges[0].start().0).collect()
    };
    // Pieces that the device's limit cut off are not merged again.
    assert_eq!(starts(&queue), [50, 150, 250]);
    // A device without a limit of its own: the 32 bits of a bio.
    let mut queue = self::queue(free());
    assert_eq!(queue.discard(Instant::START, 'd', &[range(0, 3 << 20)], false), 4);
    assert_eq!(starts(&queue), [0, (1 << 20) - 1, (2 << 20) - 2, (3 << 20) - 3]);
}

#[test]
fn neighbours_in_a_plug_are_one_command_and_on_nvme_everything_is() {
    let neighbours: Vec<LbaRange> = [range(0, 4), range(4, 4), range(20, 4), range(16, 4)].into();
    let commands = |segments, plugs| {
        let device = Serial::new(128, 1 << 20).taking(segments);
        let mut queue = BlockLayer::new(device, &free()).expect("it is a block device");
        assert_eq!(queue.discard(Instant::START, 'd', &neighbours, plugs), 4);
        let ranges: Vec<usize> = queue.device().log.iter().map(|(.., it)| it.len()).collect();
        assert_eq!(run(&mut queue).len(), 4, "each piece ends");
        ranges
    };
    assert_eq!(commands(1, false), [1, 1, 1, 1]);
    assert_eq!(commands(1, true), [1, 1]);
    assert_eq!(commands(256, true), [4]);
    assert_eq!(commands(3, true), [3, 1]);
}

#[test]
fn without_throttling_a_sender_waits_for_tags_alone() {
    let mut queue = queue(QueueConfig { tags: Some(3), ..free() });
    queue.discard(Instant::START, 'd', &apart(5), false);
    assert!(queue.is_submitting('d'));
    assert_eq!(sent(&queue), [0, 0, 0]);
    let seen = run(&mut queue);
    assert_eq!(sent(&queue), [0, 0, 0, 1, 2]);
    assert_eq!(seen.iter().find(|it| it.1 == "submitted"), Some(&('d', "submitted", 2)));
}

/// The requests of a queue, in milliseconds: entered, issued, completed.
fn noted(queue: &mut BlockLayer<Serial, char>) -> Vec<[Option<u64>; 3]> {
    let mut requests = Vec::new();
    queue.take_requests(&mut requests);
    let millis =
        |at: Instant| (at != Instant::NEVER).then(|| at.since_start().0 / Nanos::from_millis(1).0);
    let times = |it: &BlockRequest| [it.entered, it.issued, it.completed].map(millis);
    requests.iter().map(times).collect()
}

#[test]
fn a_piece_that_waits_for_a_tag_is_in_the_block_layer_and_those_behind_it_are_not_yet() {
    let mut queue = queue(QueueConfig { tags: Some(3), ..free() });
    queue.watch_requests(true);
    queue.discard(Instant::START, 'd', &apart(5), false);
    let at_device = [Some(0), Some(0), None];
    assert_eq!(noted(&mut queue), [at_device, at_device, at_device, [Some(0), None, None]]);
    run(&mut queue);
    let ended = [[0, 0, 1], [0, 0, 2], [0, 0, 3], [0, 1, 4], [1, 2, 5]].map(|it| it.map(Some));
    assert_eq!(noted(&mut queue), ended);
    queue.watch_requests(false);
    queue.discard(Instant::START, 'd', &apart(1), false);
    assert_eq!(noted(&mut queue), [[None; 3]; 0], "nobody watches");
}

#[test]
fn what_the_throttle_or_the_scheduler_holds_is_in_the_block_layer() {
    let mut queue = queue(QueueConfig::default());
    queue.watch_requests(true);
    queue.discard(Instant::START, 'd', &apart(5), false);
    let at_device = [Some(0), Some(0), None];
    let waits = [Some(0), None, None];
    assert_eq!(noted(&mut queue), [at_device, at_device, at_device, at_device, waits]);
    run(&mut queue);
    // It came when the fourth went, and half of the limit was free after two.
    assert_eq!(noted(&mut queue).last(), Some(&[Some(0), Some(2), Some(5)]));

    let config = QueueConfig { scheduler: Scheduler::MqDeadline, tags: Some(8), ..free() };
    let mut queue = BlockLayer::new(Serial::new(1, 1 << 20), &config).expect("a block device");
    queue.watch_requests(true);
    for owner in ['a', 'b'] {
        let command = BlockCommand::Read(range(0, 1));
        queue.submit(Instant::START, owner, command, Urgency::Foreground);
    }
    queue.dispatch(Instant::START);
    assert_eq!(noted(&mut queue), [at_device, waits]);
    run(&mut queue);
    assert_eq!(noted(&mut queue), [[0, 0, 1], [0, 1, 2]].map(|it| it.map(Some)));
}

#[test]
fn throttled_senders_take_turns_and_reads_pass_them() {
    let mut queue = queue(QueueConfig::default());
    queue.discard(Instant::START, 'a', &apart(8), false);
    queue.discard(Instant::START, 'b', &apart(4), false);
    queue.submit(Instant::START, 'r', BlockCommand::Read(range(0, 1)), Urgency::Foreground);
    // Four of the first, and the read behind them.
    assert_eq!(sent(&queue), [0; 5]);
    let seen = run(&mut queue);
    // Pairs, as half of the limit becomes free: one of each while both wait.
    assert_eq!(sent(&queue), [0, 0, 0, 0, 0, 2, 2, 4, 4, 7, 7, 9, 9]);
    let submitted: Vec<_> = seen.iter().filter(|it| it.1 == "submitted").collect();
    assert_eq!(submitted, [&('a', "submitted", 9), &('b', "submitted", 9)]);
    assert_eq!(seen.iter().find(|it| it.0 == 'r'), Some(&('r', "ended", 5)));
}

#[test]
fn mq_deadline_lets_reads_pass_discards_but_not_for_ever() {
    let config = QueueConfig { scheduler: Scheduler::MqDeadline, ..free() };
    let mut queue =
        BlockLayer::new(Serial::new(1, 1 << 20), &QueueConfig { tags: Some(256), ..config })
            .expect("a block device");
    queue.discard(Instant::START, 'd', &apart(20), false);
    queue.dispatch(Instant::START);
    for _ in 0..40 {
        queue.submit(Instant::START, 'r', BlockCommand::Read(range(0, 1)), Urgency::Foreground);
    }
    run(&mut queue);
    let kinds: Vec<bool> =
        queue.device().log.iter().map(|it| it.1 == OperationKind::Discard).collect();
    let places: Vec<usize> = (0..kinds.len()).filter(|at| kinds[*at]).collect();
    // The batch that was begun goes on; the others come after two batches of sixteen reads.
    assert_eq!(places, (0..16).chain(48..52).collect::<Vec<_>>());
}

/// `discard_max_bytes`: the smaller of the host's limit and the drive's counts, and at least a
/// granule.
#[test]
fn the_host_may_cut_discards_smaller_than_the_drive_and_no_larger() {
    for (limit, pieces, longest) in
        [(None, 1, 64), (Some(16), 4, 16), (Some(0), 64, 1), (Some(128), 1, 64)]
    {
        let config = QueueConfig { discard_max: limit.map(|it: u64| Bytes(it * BLOCK)), ..free() };
        let mut queue: BlockLayer<Serial, char> =
            BlockLayer::new(Serial::new(128, 64), &config).expect("it is a block device");
        assert_eq!(queue.discard_max(), longest, "{limit:?}");
        assert_eq!(queue.discard(Instant::START, 'x', &[range(0, 64)], true), pieces, "{limit:?}");
        run(&mut queue);
        assert_eq!(queue.device().log.len(), pieces as usize, "{limit:?}");
    }
}

proptest! {
    #[test]
    fn every_piece_ends_once_and_limits_hold(
        sizes in prop::collection::vec((0..4_u8, 1..400_u64), 1..40),
        tags in 1..40_u32,
        segments in prop::sample::select(vec![1, 2, 256]),
        throttled in any::<bool>(),
        plugs in any::<bool>(),
    ) {
        let config = QueueConfig {
            tags: Some(tags),
            write_back_throttling: throttled.then_some(Nanos::from_millis(2)),
            ..QueueConfig::default()
        };
        let device = Serial::new(tags, 64).taking(segments);
        let mut queue = BlockLayer::new(device, &config).expect("a block device");
        let (mut pieces, now) = (0, Instant::START);
        for (at, (kind, length)) in sizes.iter().enumerate() {
            let its = range(1_000 * at as u64, *length);
            pieces += match kind {
                0 => queue.submit(now, 'x', BlockCommand::Read(its), Urgency::Foreground),
                1 => queue.submit(now, 'x', BlockCommand::write(its), Urgency::Patient),
                2 => queue.submit(now, 'x', BlockCommand::Flush, Urgency::Foreground),
                _ => queue.discard(now, 'x', &[its, range(its.end().0 + 1, 1)], plugs),
            };
        }
        let seen = run(&mut queue);
        let ended = seen.iter().filter(|it| it.1 == "ended").count();
        prop_assert_eq!(ended as u64, u64::from(pieces));
        prop_assert!(!queue.is_submitting('x'));
        for (_, kind, ranges) in &queue.device().log {
            if *kind == OperationKind::Discard {
                let length: u64 = ranges.iter().map(|range| range.length().0).sum();
                prop_assert!(length <= 64 && ranges.len() <= segments);
            }
        }
    }
}
