use std::collections::BTreeMap;

use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::{
    Capabilities, Clock, Completion, Content, Data, DrainRule, DriveError, Errno, Interrupt,
    Medium, Model, Ppm, PurgeMeans, Rejected, Statistics, Status, Support, Tag, TrimPromise,
    Virtual,
};
use trimbench_ssd::{BUILT_IN, Profile, Ssd, SsdConfig};

use super::*;
use crate::method::{Found, KeepFailed, Procedure};
use crate::runner::RunError;

/// An emulated drive as the methods get it.
pub(crate) type Emulated = Virtual<Faulty<Ssd>>;

/// What a session showed and kept.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) kept: Vec<String>,
    pub(crate) stages: Vec<(String, usize, usize, Nanos)>,
    /// Ask for the end when this step has been kept.
    pub(crate) stop_after: Option<(String, Interrupt)>,
}

impl Monitor for Seen {
    fn stage(&mut self, stage: &Stage<'_>) {
        self.stages.push((stage.text.to_owned(), stage.done, stage.total, stage.left));
    }

    fn keep(&mut self, step: &Step) -> Result<(), KeepFailed> {
        self.kept.push(step.id.clone());
        if let Some((id, interrupt)) = &self.stop_after
            && *id == step.id
        {
            interrupt.request();
        }
        Ok(())
    }
}

/// The numbers of a built-in profile.
pub(crate) fn profile(name: &str, capacity: Bytes) -> SsdConfig {
    let text = BUILT_IN.iter().find(|profile| profile.name == name).unwrap();
    SsdConfig { capacity, ..Profile::parse(text.text).unwrap().config }
}

/// A SATA TLC drive that is small enough for a test: superblocks of 64 units, spare space in whole
/// ones.
pub(crate) fn small_tlc(capacity: Bytes, over_provisioning: Ppm) -> SsdConfig {
    let mut config = profile("generic-sata-tlc", capacity);
    config.over_provisioning = over_provisioning;
    config.geometry.superblock = Bytes(64 * 4_096);
    config.geometry.program_bytes = Bytes(65_536);
    config.geometry.channels = 4;
    config.geometry.dies = 4;
    config.write_buffer = Bytes::mib(1);
    config
}

pub(crate) fn emulated(config: SsdConfig) -> Emulated {
    faulty(config, FaultPlan::default())
}

pub(crate) fn faulty(config: SsdConfig, plan: FaultPlan) -> Emulated {
    Virtual::new(Faulty::new(config.build().unwrap(), plan))
}

pub(crate) fn settings(set: &[(&str, &str)]) -> BTreeMap<String, String> {
    set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Runs a method on a drive.
pub(crate) fn run<P, D>(method: &P, drive: &mut D, seen: &mut Seen) -> Result<Found, MethodError>
where
    P: Procedure,
    D: Target<Command = BlockCommand> + Drive,
{
    let interrupt = match &seen.stop_after {
        Some((_, interrupt)) => interrupt.clone(),
        None => Interrupt::default(),
    };
    let (rng, done) = (&Rng::new(7), Vec::new());
    method.run_on_device(drive, Context { rng, interrupt: &interrupt, monitor: seen, done })
}

/// A device of which every number is known: each command takes 100 us.
pub(crate) struct Toy {
    pub(crate) capabilities: Capabilities,
    pub(crate) means: PurgeMeans,
    /// Where its first unit of the granularity begins.
    pub(crate) alignment: Bytes,
    /// Never answers from this instant on.
    pub(crate) hangs_from: Instant,
    /// Is gone from this instant on.
    pub(crate) gone_from: Instant,
    /// Bytes that others write for each command of ours.
    pub(crate) foreign: Bytes,
    pub(crate) purges: u32,
    /// Each command takes so much longer for each purge.
    pub(crate) slower_by_purge: Nanos,
    pub(crate) queue: Vec<(Instant, Tag)>,
    pub(crate) statistics: Statistics,
    pub(crate) log: Vec<(Instant, BlockCommand)>,
}

impl Toy {
    pub(crate) fn new() -> Self {
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
            queue: Vec::new(),
            statistics: Statistics::default(),
            log: Vec::new(),
        }
    }
}

impl Model for Toy {
    type Command = BlockCommand;

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
        let taken = Nanos(100_000) + self.slower_by_purge.times(u64::from(self.purges));
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

    fn statistics(&self) -> Statistics {
        self.statistics
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
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

/// What `use_bench` does on a bench over the toy.
fn bench<R>(
    toy: &mut Virtual<Toy>,
    seen: &mut Seen,
    use_bench: impl FnOnce(&mut Bench<'_, Virtual<Toy>>) -> R,
) -> R {
    let (rng, interrupt) = (&Rng::new(1), &Interrupt::default());
    let context = Context { rng, interrupt, monitor: seen, done: Vec::new() };
    let rig = Rig::new(toy, context.interrupt);
    let mut bench = Bench::new(rig, context, Planned { steps: 4, bytes: 64 << 20 });
    use_bench(&mut bench)
}

const MIB: (Bytes, u32) = (Bytes::mib(1), 2);

#[test]
fn a_phase_lasts_from_its_first_command_to_the_end_of_its_last() {
    let (mut toy, mut seen) = (Virtual::new(Toy::new()), Seen::default());
    let phase = bench(&mut toy, &mut seen, |bench| {
        bench.rig.rest(Nanos::from_millis(7)).unwrap();
        bench
            .write(
                "fill",
                bench.rig.shape.first(Bytes::mib(16), Data::Random),
                MIB,
                &mut unobserved,
            )
            .unwrap()
    });
    let mut step = Step::new("fill", "fill");
    phase.store(&mut step);
    // 16 commands, two at a time, 100 us each.
    assert!((step.metrics["elapsed_s"] - 0.0008).abs() < 1e-12);
    assert!((step.metrics["throughput_mb_per_s"] - 16.0 * 1.048_576 / 0.0008).abs() < 1e-6);
    assert!((phase.rate().unwrap() - 20_000.0).abs() < 1e-6);
    assert!((step.metrics["latency_ns_max"] - 100_000.0).abs() < 1e-9);
    assert!(!step.metrics.contains_key("write_amplification_ratio"), "the drive does not say");
    assert_eq!(toy.model().log[0].0, Instant::from_start(Nanos::from_millis(7)));
}

#[test]
fn a_trim_names_everything_once_in_pieces_that_the_device_takes() {
    let (mut toy, mut seen) = (Virtual::new(Toy::new()), Seen::default());
    bench(&mut toy, &mut seen, |bench| {
        bench.trim("trim", (Bytes::mib(2), Bytes::mib(10))).unwrap();
    });
    let named = toy.model().log.iter().map(|(_, command)| match command {
        BlockCommand::Discard(range) => (range.start().0 / 2_048, range.length().0 / 2_048),
        other => panic!("{other:?} in a TRIM"),
    });
    assert_eq!(named.collect::<Vec<_>>(), [(2, 3), (5, 3), (8, 2)]);
    let at = |index: usize| toy.model().log[index].0;
    assert!(at(1) > at(0) && at(2) > at(1), "one after the other");
    assert_eq!(seen.kept, ["trim"]);
}

#[test]
fn the_pieces_of_a_trim_end_where_the_units_of_the_granularity_do() {
    let mut toy = Toy { alignment: Bytes(512 << 10), ..Toy::new() };
    toy.capabilities.discard_granularity = Bytes::mib(1);
    let (mut toy, mut seen) = (Virtual::new(toy), Seen::default());
    bench(&mut toy, &mut seen, |bench| {
        bench.trim("trim", (Bytes(0), Bytes::mib(8))).unwrap();
    });
    // In KiB; units end at 512, 1536, 2560, ...
    let named = toy.model().log.iter().map(|(_, command)| match command {
        BlockCommand::Discard(range) => (range.start().0 / 2, range.end().0 / 2),
        other => panic!("{other:?} in a TRIM"),
    });
    assert_eq!(named.collect::<Vec<_>>(), [(0, 2_560), (2_560, 5_632), (5_632, 8_192)]);
}

#[test]
fn a_device_that_is_gone_breaks_the_step_that_it_was_in() {
    let gone_from = Instant::from_start(Nanos::from_micros(350));
    let mut toy = Virtual::new(Toy { gone_from, ..Toy::new() });
    let error = bench(&mut toy, &mut Seen::default(), |bench| {
        let area = bench.rig.shape.first(Bytes::mib(16), Data::Random);
        bench.write("fill", area, MIB, &mut unobserved).map(|phase| phase.commands)
    });
    let Err(MethodError::Broken { step, errno, .. }) = error else { panic!("{error:?}") };
    assert_eq!((step.as_str(), errno), ("fill", Errno::EIO));
}

#[test]
fn a_device_that_hangs_is_given_up() {
    let hangs_from = Instant::from_start(Nanos::from_micros(350));
    let mut toy = Virtual::new(Toy { hangs_from, ..Toy::new() });
    let error = bench(&mut toy, &mut Seen::default(), |bench| {
        let area = bench.rig.shape.first(Bytes::mib(16), Data::Random);
        bench.write("fill", area, MIB, &mut unobserved).map(|phase| phase.commands)
    });
    let hung = matches!(error, Err(MethodError::Run(RunError::Hung { outstanding: 2, .. })));
    assert!(hung, "{error:?}");
    assert!(toy.now() < Instant::from_start(Nanos::from_secs(1_801)));
}

#[test]
fn a_device_that_knows_no_flush_is_durable_without() {
    let mut toy = Virtual::new(Toy::new());
    bench(&mut toy, &mut Seen::default(), |bench| bench.rig.flush("fill")).unwrap();
}

#[test]
fn others_on_a_real_device_are_noticed() {
    let foreign = |foreign, clock| {
        let mut toy = Toy { foreign, ..Toy::new() };
        toy.capabilities.clock = clock;
        bench(&mut Virtual::new(toy), &mut Seen::default(), |bench| {
            let area = bench.rig.shape.first(Bytes::mib(16), Data::Random);
            let mut step = Step::new("fill", "fill");
            bench.write("fill", area, MIB, &mut unobserved).unwrap().store(&mut step);
            step.caveats == [Caveat::OtherLoad.id()]
        })
    };
    assert!(foreign(Bytes(200_000), Clock::Wall));
    assert!(!foreign(Bytes(50_000), Clock::Wall), "5 %");
    assert!(!foreign(Bytes(200_000), Clock::Virtual), "nobody else has an emulated drive");
}

#[test]
fn progress_is_shown_with_what_is_left_at_the_measured_rate() {
    let (mut toy, mut seen) = (Virtual::new(Toy::new()), Seen::default());
    bench(&mut toy, &mut seen, |bench| {
        bench.rig.rest(Nanos::from_secs(2)).unwrap();
        for id in ["fill-1", "fill-2"] {
            bench
                .write(
                    id,
                    bench.rig.shape.first(Bytes::mib(16), Data::Random),
                    MIB,
                    &mut unobserved,
                )
                .unwrap();
        }
    });
    let (text, done, total, left) = seen.stages.last().unwrap();
    assert_eq!((text.as_str(), *done, *total), ("fill-2", 0, 4));
    // A quarter took 2 s.
    assert!((left.seconds() - 6.0).abs() < 0.01, "{left}");
}
