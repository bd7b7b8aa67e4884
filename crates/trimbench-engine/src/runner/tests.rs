use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockCommand, BlockSize, Blocks, Bytes, Capabilities, Clock, Data, DeviceStatistics, DrainRule,
    Lba, LbaRange, Medium, Model, Ppm, Storage, Support, Virtual,
};

use super::*;
use crate::workload::{Arrivals, OpenLoop, RandomAccess, Script};

/// Reads take 10 us side by side; writes fail; discards never end.
struct Toy {
    capabilities: Capabilities,
    read: Nanos,
    queue: Vec<(Instant, Tag, Status)>,
}

impl Toy {
    fn target() -> Virtual<Self> {
        Self::reading_in(Nanos::from_micros(10))
    }

    fn reading_in(read: Nanos) -> Virtual<Self> {
        let capabilities = Capabilities {
            clock: Clock::Virtual,
            medium: Medium::Device { capacity: Bytes::mib(1), logical_block: BlockSize::SECTOR },
            discard: Support::Native,
            discard_max: Bytes::mib(1),
            discard_granularity: Bytes(512),
            queue_depth: 8,
            drain: DrainRule::IMMEDIATE,
        };
        Virtual::new(Self { capabilities, read, queue: Vec::new() })
    }
}

impl Storage for Toy {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        DeviceStatistics::default()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for Toy {
    fn submit(&mut self, now: Instant, tag: Tag, command: BlockCommand) -> Result<(), Rejected> {
        let end = now + self.read;
        match command {
            BlockCommand::Read(_) => self.queue.push((end, tag, Status::Done)),
            BlockCommand::Write { .. } => {
                self.queue.push((end, tag, Status::Failed(Errno::ENOSPC)));
            }
            BlockCommand::Discard(_) => self.queue.push((Instant::NEVER, tag, Status::Done)),
            BlockCommand::Flush => return Err(Rejected::Unsupported { operation: "flush" }),
        }
        Ok(())
    }

    fn next_event(&self) -> Instant {
        self.queue.iter().map(|entry| entry.0).min().unwrap_or(Instant::NEVER)
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        self.queue.retain(|&(at, tag, status)| {
            let due = at <= now;
            if due {
                out.push(Completion { tag, at, status });
            }
            !due
        });
    }
}

fn range() -> LbaRange {
    LbaRange::new(Lba(0), Blocks(8)).unwrap()
}

fn at(micros: u64) -> Instant {
    Instant::from_start(Nanos::from_micros(micros))
}

fn script(commands: Vec<BlockCommand>) -> Single<Script<BlockCommand>> {
    Single(Script::new(Instant::START, [commands]))
}

#[test]
fn every_command_is_observed_once_with_its_times() {
    let mut target = Toy::target();
    let mut runner = Runner::new(Interrupt::default());
    let mut seen = Vec::new();
    let mut observer = |sample: &Sample<BlockCommand>| seen.push((sample.issued, sample.completed));
    let mut reads = script(vec![BlockCommand::Read(range()); 3]);
    let done = runner.run_until(&mut target, &mut reads, &mut observer, at(1_000));
    assert_eq!(done, Ok(true));
    assert_eq!(seen, [(at(0), at(10)); 3]);
    assert_eq!(runner.outstanding(), 0);
}

#[test]
fn what_is_outstanding_at_a_deadline_is_observed_later() {
    let mut target = Toy::target();
    let mut runner = Runner::new(Interrupt::default());
    let mut count = 0;
    let mut observer = |_: &Sample<BlockCommand>| count += 1;
    let mut reads = script(vec![BlockCommand::Read(range()); 2]);
    assert_eq!(runner.run_until(&mut target, &mut reads, &mut observer, at(5)), Ok(false));
    assert_eq!(runner.outstanding(), 2);
    assert_eq!(runner.run_until(&mut target, &mut reads, &mut observer, at(50)), Ok(true));
    assert_eq!(count, 2);
}

#[test]
fn a_hanging_device_is_left_at_the_deadline() {
    let mut target = Toy::target();
    let mut runner = Runner::new(Interrupt::default());
    let mut observer = |_: &Sample<BlockCommand>| {};
    let mut hang = script(vec![BlockCommand::Discard(range())]);
    assert_eq!(runner.run_until(&mut target, &mut hang, &mut observer, at(70)), Ok(false));
    assert_eq!((target.now(), runner.outstanding()), (at(70), 1));
}

#[test]
fn a_preparation_fails_with_the_command_and_its_error() {
    let mut target = Toy::target();
    let mut runner = Runner::new(Interrupt::default());
    let error = runner.prepare(&mut target, &mut script(vec![BlockCommand::write(range())]));
    let message = error.unwrap_err().to_string();
    assert_eq!(message, "write failed: ENOSPC (no space left on device)");
}

#[test]
fn a_preparation_issues_nothing_after_a_failure() {
    let mut target = Toy::target();
    let mut runner = Runner::new(Interrupt::default());
    let writes: Vec<Vec<BlockCommand>> =
        (0..1_000).map(|_| vec![BlockCommand::write(range())]).collect();
    let mut script = Single(Script::new(Instant::START, writes));
    assert!(runner.prepare(&mut target, &mut script).is_err());
    assert_eq!((target.now(), runner.outstanding()), (at(10), 0));
}

#[test]
fn a_rejected_command_ends_the_run_and_leaves_nothing_outstanding() {
    let mut target = Toy::target();
    let mut runner = Runner::new(Interrupt::default());
    let result = runner.prepare(&mut target, &mut script(vec![BlockCommand::Flush]));
    assert!(matches!(result, Err(RunError::Rejected(_))));
    assert_eq!(runner.outstanding(), 0);
}

/// A load that no target serves ends with an error before memory does.
#[test]
fn a_load_that_is_not_served_ends_the_run() {
    let hanging = vec![BlockCommand::Discard(range()); WAITING_MAX + 1];
    let mut runner = Runner::new(Interrupt::default());
    let mut observer = |_: &Sample<BlockCommand>| {};
    let mut target = Toy::target();
    let ended = runner.run_until(&mut target, &mut script(hanging), &mut observer, at(70));
    assert_eq!(ended, Err(RunError::Overloaded { outstanding: WAITING_MAX }));
}

#[test]
fn a_wish_to_stop_is_heard() {
    let interrupt = Interrupt::default();
    let mut target = Toy::target();
    let mut runner: Runner<BlockCommand> = Runner::new(interrupt.clone());
    interrupt.request();
    let result = runner.prepare(&mut target, &mut script(vec![BlockCommand::Read(range())]));
    assert_eq!(result, Err(RunError::Interrupted));
    assert_eq!(runner.idle_until(&mut target, at(1)), Err(RunError::Interrupted));
}

#[test]
fn the_trace_hash_tells_runs_apart() {
    let hash = |count| {
        let mut runner = Runner::new(Interrupt::default());
        let commands = vec![BlockCommand::Read(range()); count];
        runner.prepare(&mut Toy::target(), &mut script(commands)).unwrap();
        runner.trace_hash()
    };
    assert_eq!(hash(3), hash(3));
    assert_ne!(hash(3), hash(4));
}

#[test]
fn response_time_counts_from_the_intended_start() {
    let mut target = Toy::target();
    let mut runner = Runner::new(Interrupt::default());
    runner.idle_until(&mut target, at(50)).unwrap();
    let area = crate::area::DeviceArea {
        start: Bytes(0),
        length: Bytes::mib(1),
        logical_block: BlockSize::SECTOR,
        data: Data::Random,
    };
    let access = RandomAccess::new(area, Bytes(4_096), Ppm::ONE, Rng::new(1));
    let gap = Nanos::from_micros(20);
    let load = OpenLoop::new(access, Arrivals::Constant, gap, at(10)..at(40));
    let mut seen = Vec::new();
    let mut observer = |sample: &Sample<BlockCommand>| {
        seen.push((sample.response_time().0, sample.latency().0));
    };
    runner.run_until(&mut target, &mut Single(load), &mut observer, at(1_000)).unwrap();
    assert_eq!(seen, [(50_000, 10_000), (30_000, 10_000)], "intended at 10 and 30, issued at 50");
}

#[test]
fn the_trace_hash_sees_when_a_command_ended() {
    let hash = |read| {
        let mut runner = Runner::new(Interrupt::default());
        let mut one = script(vec![BlockCommand::Read(range())]);
        runner.prepare(&mut Toy::reading_in(Nanos(read)), &mut one).unwrap();
        runner.trace_hash()
    };
    assert_ne!(hash(10), hash(11));
}

#[test]
fn idle_time_ends_at_its_deadline() {
    let mut target = Toy::target();
    let mut runner: Runner<BlockCommand> = Runner::new(Interrupt::default());
    runner.idle_until(&mut target, at(60_001)).unwrap();
    assert_eq!(target.now(), at(60_001));
}

/// A target on which every submission takes a while.
struct Holding {
    inner: Virtual<Toy>,
    each: Nanos,
    held: Nanos,
}

impl Storage for Holding {
    type Command = BlockCommand;

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn statistics(&self) -> DeviceStatistics {
        self.inner.statistics()
    }
}

impl Target for Holding {
    fn now(&self) -> Instant {
        self.inner.now() + self.held
    }

    fn submit(&mut self, tag: Tag, command: BlockCommand) -> Result<(), Rejected> {
        self.held += self.each;
        self.inner.submit(tag, command)
    }

    fn reap(&mut self, deadline: Instant, out: &mut Vec<Completion>) {
        let before = out.len();
        self.inner.reap(Instant::START + deadline.since(Instant::START + self.held), out);
        out[before..].iter_mut().for_each(|completion| completion.at += self.held);
    }
}

/// The spans in which submissions were held.
#[derive(Default)]
struct Held(Vec<(Instant, Instant)>);

impl Observer<BlockCommand> for Held {
    fn observe(&mut self, _: &Sample<BlockCommand>) {}

    fn held(&mut self, from: Instant, until: Instant) {
        self.0.push((from, until));
    }
}

#[test]
fn the_observer_hears_of_submissions_that_were_held() {
    let held = |each| {
        let mut target = Holding { inner: Toy::target(), each, held: Nanos::ZERO };
        let mut held = Held::default();
        let mut one = script(vec![BlockCommand::Read(range())]);
        Runner::new(Interrupt::default())
            .run_until(&mut target, &mut one, &mut held, at(100_000))
            .unwrap();
        held.0
    };
    assert_eq!(held(Nanos::from_millis(30)), [(at(0), at(30_000))]);
    assert_eq!(held(Nanos::from_micros(99)), []);
}
