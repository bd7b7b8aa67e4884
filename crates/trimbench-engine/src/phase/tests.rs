use trimbench_core::{Clock, Data, Errno, Interrupt, Target as _, Virtual};

use super::*;
use crate::method::session::SessionContext;
use crate::runner::RunError;
use crate::slots::Slots;
use crate::testing::{KeptSteps, Toy};
use crate::workload::SequentialWrite;
use trimbench_trace::NoTraces;

/// What `use_bench` does on a phases over the toy.
fn phases<R>(
    toy: &mut Virtual<Toy>,
    kept: &mut KeptSteps,
    use_bench: impl FnOnce(&mut PhaseRunner<'_, '_>) -> R,
) -> R {
    let (rng, interrupt) = (&Rng::new(1), &Interrupt::default());
    let slots = &Slots::new(1, Bytes(0));
    let traces = &NoTraces;
    let context = SessionContext { rng, interrupt, monitor: kept, traces, slots, done: Vec::new() };
    let mut session = MethodSession::new(context);
    let mut phases = PhaseRunner::new(
        DeviceRunner::new(toy, interrupt),
        &mut session,
        Planned { steps: 4, bytes: 64 << 20 },
    );
    use_bench(&mut phases)
}

/// Writes 16 MiB, two pieces of 1 MiB at a time.
fn fill(phases: &mut PhaseRunner<'_, '_>, id: &str) -> Result<Phase, MethodError> {
    let area = phases.runner.shape.first(Bytes::mib(16), Data::Random);
    phases.run(id, &mut Single(SequentialWrite::new(area, Bytes::mib(1), 2)), &mut unobserved)
}

#[test]
fn a_phase_lasts_from_its_first_command_to_the_end_of_its_last() {
    let (mut toy, mut kept) = (Virtual::new(Toy::new()), KeptSteps::default());
    let phase = phases(&mut toy, &mut kept, |phases| {
        phases.runner.rest(Nanos::from_millis(7)).unwrap();
        fill(phases, "fill").unwrap()
    });
    let mut step = Step::new("fill", "fill");
    phase.store(&mut step);
    let work: PhaseStep = step.read().unwrap();
    // 16 commands, two at a time, 100 us each.
    assert!((work.elapsed_s - 0.0008).abs() < 1e-12);
    assert!((work.throughput_mb_per_s.unwrap() - 16.0 * 1.048_576 / 0.0008).abs() < 1e-6);
    assert!((phase.rate().unwrap() - 20_000.0).abs() < 1e-6);
    assert_eq!(step.read::<PhaseLatencyStep>().unwrap().latency.ns_max, 100_000);
    assert!(work.wear.is_none(), "the drive does not say");
    assert_eq!(toy.model().log[0].0, Instant::from_start(Nanos::from_millis(7)));
}

#[test]
fn a_trim_names_everything_once_in_pieces_that_the_device_takes() {
    let (mut toy, mut kept) = (Virtual::new(Toy::new()), KeptSteps::default());
    phases(&mut toy, &mut kept, |phases| {
        phases.trim("trim", Bytes::mib(2), Bytes::mib(10)).unwrap();
    });
    let named = toy.model().log.iter().map(|(_, command)| match command {
        BlockCommand::Discard(range) => (range.start().0 / 2_048, range.length().0 / 2_048),
        other => panic!("{other:?} in a TRIM"),
    });
    assert_eq!(named.collect::<Vec<_>>(), [(2, 3), (5, 3), (8, 2)]);
    let at = |index: usize| toy.model().log[index].0;
    assert!(at(1) > at(0) && at(2) > at(1), "one after the other");
    assert_eq!(kept.kept(), ["trim"]);
}

#[test]
fn the_pieces_of_a_trim_end_where_the_units_of_the_granularity_do() {
    let mut toy = Toy { alignment: Bytes(512 << 10), ..Toy::new() };
    toy.capabilities.discard_granularity = Bytes::mib(1);
    let (mut toy, mut kept) = (Virtual::new(toy), KeptSteps::default());
    phases(&mut toy, &mut kept, |phases| {
        phases.trim("trim", Bytes(0), Bytes::mib(8)).unwrap();
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
    let error = phases(&mut toy, &mut KeptSteps::default(), |phases| {
        fill(phases, "fill").map(|phase| phase.commands)
    });
    let Err(MethodError::Broken { step, errno, .. }) = error else { panic!("{error:?}") };
    assert_eq!((step.as_str(), errno), ("fill", Errno::EIO));
}

#[test]
fn a_device_that_hangs_is_given_up() {
    let hangs_from = Instant::from_start(Nanos::from_micros(350));
    let mut toy = Virtual::new(Toy { hangs_from, ..Toy::new() });
    let error = phases(&mut toy, &mut KeptSteps::default(), |phases| {
        fill(phases, "fill").map(|phase| phase.commands)
    });
    let hung = matches!(error, Err(MethodError::Run(RunError::Hung { outstanding: 2, .. })));
    assert!(hung, "{error:?}");
    assert!(toy.now() < Instant::from_start(Nanos::from_secs(1_801)));
}

#[test]
fn a_device_that_knows_no_flush_is_durable_without() {
    let mut toy = Virtual::new(Toy::new());
    phases(&mut toy, &mut KeptSteps::default(), |phases| phases.runner.flush("fill")).unwrap();
}

#[test]
fn others_on_a_real_device_are_noticed() {
    let foreign = |foreign, clock| {
        let mut toy = Toy { foreign, ..Toy::new() };
        toy.capabilities.clock = clock;
        phases(&mut Virtual::new(toy), &mut KeptSteps::default(), |phases| {
            let mut step = Step::new("fill", "fill");
            fill(phases, "fill").unwrap().store(&mut step);
            step.caveats == [Caveat::OtherLoad.id()]
        })
    };
    assert!(foreign(Bytes(200_000), Clock::Wall));
    assert!(!foreign(Bytes(50_000), Clock::Wall), "5 %");
    assert!(!foreign(Bytes(200_000), Clock::Virtual), "nobody else has an emulated drive");
}

#[test]
fn progress_is_shown_with_what_is_left_at_the_measured_rate() {
    let (mut toy, mut kept) = (Virtual::new(Toy::new()), KeptSteps::default());
    phases(&mut toy, &mut kept, |phases| {
        phases.runner.rest(Nanos::from_secs(2)).unwrap();
        for id in ["fill-1", "fill-2"] {
            fill(phases, id).unwrap();
        }
    });
    let (text, done, total, left) = kept.stages.last().unwrap();
    assert_eq!((text.as_str(), *done, *total), ("fill-2", 0, 4));
    // A quarter took 2 s.
    assert!((left.seconds() - 6.0).abs() < 0.01, "{left}");
}
