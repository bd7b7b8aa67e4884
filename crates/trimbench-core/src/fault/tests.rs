use super::*;
use crate::command::BlockCommand;
use crate::contract::{Clock, DrainRule, Medium, Storage, Support, Target};
use crate::units::{BlockSize, Blocks, Bytes, Lba, LbaRange};
use crate::virtual_time::Virtual;

/// A device on which every command takes exactly this long, side by side with all others.
struct Constant {
    capabilities: Capabilities,
    latency: Nanos,
    queue: Vec<(Instant, Tag)>,
}

impl Constant {
    fn new(latency: Nanos) -> Self {
        let capabilities = Capabilities {
            clock: Clock::Virtual,
            medium: Medium::Device { capacity: Bytes::gib(1), logical_block: BlockSize::SECTOR },
            discard: Support::Native,
            discard_max: Bytes::gib(1),
            discard_granularity: Bytes(512),
            queue_depth: 32,
            drain: DrainRule::IMMEDIATE,
        };
        Self { capabilities, latency, queue: Vec::new() }
    }
}

impl Storage for Constant {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        DeviceStatistics::default()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for Constant {
    fn submit(&mut self, now: Instant, tag: Tag, _: BlockCommand) -> Result<(), Rejected> {
        self.queue.push((now + self.latency, tag));
        Ok(())
    }

    fn next_event(&self) -> Instant {
        self.queue.iter().map(|entry| entry.0).min().unwrap_or(Instant::NEVER)
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        let (due, later) = self.queue.iter().partition(|entry| entry.0 <= now);
        self.queue = later;
        let due: Vec<(Instant, Tag)> = due;
        out.extend(due.iter().map(|&(at, tag)| Completion { tag, at, status: Status::Done }));
    }
}

fn range() -> LbaRange {
    LbaRange::new(Lba(0), Blocks(8)).unwrap()
}

fn completion_times(target: &mut Virtual<Faulty<Constant>>, count: usize) -> Vec<(u32, u64)> {
    let mut out = Vec::new();
    while out.len() < count {
        target.reap(Instant::from_start(Nanos::from_secs(100)), &mut out);
    }
    out.iter().map(|c| (c.tag.0, c.at.since_start().0)).collect()
}

fn frozen(freeze: Nanos) -> Virtual<Faulty<Constant>> {
    let plan = FaultPlan { freeze_on_discard: freeze, ..FaultPlan::default() };
    Virtual::new(Faulty::new(Constant::new(Nanos(100)), plan))
}

#[test]
fn a_freeze_delays_everything_by_exactly_its_length() {
    let mut target = frozen(Nanos(1_000));
    let mut out = Vec::new();
    target.submit(Tag(0), BlockCommand::Read(range())).unwrap();
    target.reap(Instant::from_start(Nanos(40)), &mut out);
    target.submit(Tag(1), BlockCommand::Discard(range())).unwrap();
    // Within the freeze: the inner clock stands at 40.
    target.reap(Instant::from_start(Nanos(500)), &mut out);
    assert!(out.is_empty());
    target.submit(Tag(2), BlockCommand::Read(range())).unwrap();
    assert_eq!(completion_times(&mut target, 3), [(0, 1_100), (1, 1_140), (2, 1_140)]);
    // After it: no delay any more, and the lag stays.
    target.submit(Tag(3), BlockCommand::Read(range())).unwrap();
    assert_eq!(completion_times(&mut target, 1), [(3, 1_240)]);
}

#[test]
fn overlapping_freezes_run_one_after_the_other() {
    let mut target = frozen(Nanos(1_000));
    target.submit(Tag(0), BlockCommand::Discard(range())).unwrap();
    target.submit(Tag(1), BlockCommand::Discard(range())).unwrap();
    assert_eq!(completion_times(&mut target, 2), [(0, 2_100), (1, 2_100)]);
    target.submit(Tag(2), BlockCommand::Discard(range())).unwrap();
    assert_eq!(completion_times(&mut target, 1), [(2, 3_200)]);
}

#[test]
fn a_broken_device_fails_every_command_from_then_on() {
    let plan =
        FaultPlan { fail_from: Some(Instant::from_start(Nanos(150))), ..FaultPlan::default() };
    let mut target = Virtual::new(Faulty::new(Constant::new(Nanos(100)), plan));
    let mut out = Vec::new();
    for tag in 0..2 {
        target.submit(Tag(tag), BlockCommand::Read(range())).unwrap();
        target.reap(Instant::NEVER, &mut out);
    }
    assert_eq!(out[0].status, Status::Done);
    assert_eq!(out[1].status, Status::Failed(Errno::EIO));
}

#[test]
fn a_second_freeze_holds_up_what_was_under_way_after_the_first() {
    let mut target = frozen(Nanos(1_000));
    target.submit(Tag(0), BlockCommand::Discard(range())).unwrap();
    assert_eq!(completion_times(&mut target, 1), [(0, 1_100)]);
    target.submit(Tag(1), BlockCommand::Read(range())).unwrap();
    let mut out = Vec::new();
    target.reap(Instant::from_start(Nanos(1_150)), &mut out);
    target.submit(Tag(2), BlockCommand::Discard(range())).unwrap();
    assert_eq!(completion_times(&mut target, 2), [(1, 2_200), (2, 2_250)]);
}

#[test]
fn a_device_breaks_at_its_instant_and_not_after_it() {
    let fail_from = Some(Instant::from_start(Nanos(100)));
    let plan = FaultPlan { fail_from, ..FaultPlan::default() };
    let mut target = Virtual::new(Faulty::new(Constant::new(Nanos(100)), plan));
    target.submit(Tag(0), BlockCommand::Read(range())).unwrap();
    let mut out = Vec::new();
    target.reap(Instant::NEVER, &mut out);
    assert_eq!(out[0].status, Status::Failed(Errno::EIO));
}

#[test]
fn a_device_that_vanishes_says_so_whatever_it_said_before() {
    let at = |nanos| Some(Instant::from_start(Nanos(nanos)));
    let plan = FaultPlan { fail_from: at(150), vanish_from: at(250), ..FaultPlan::default() };
    let mut target = Virtual::new(Faulty::new(Constant::new(Nanos(100)), plan));
    let mut out = Vec::new();
    for tag in 0..4 {
        target.submit(Tag(tag), BlockCommand::Read(range())).unwrap();
        target.reap(Instant::NEVER, &mut out);
    }
    let statuses: Vec<Status> = out.iter().map(|completion| completion.status).collect();
    let failed = Status::Failed;
    assert_eq!(
        statuses,
        [Status::Done, failed(Errno::EIO), failed(Errno::ENODEV), failed(Errno::ENODEV)]
    );
}
