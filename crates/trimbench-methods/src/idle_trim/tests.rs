//! Whole-device TRIMs of a drive of which every number is known.

use trimbench_core::fault::FaultPlan;
use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Caveat, Errno, Instant, Nanos, PurgeMeans, Virtual};
use trimbench_results::Step;
use trimbench_ssd::TrimMode;

use super::steps::{IdleRoundStep, TimedTrimStep};
use super::*;
use trimbench_engine::testing::{
    KeptSteps, Lying, assert_defined, assert_needs_discards, close, drive, emulated, figure,
    resume, run, settings,
};
use trimbench_engine::{ASSUMED_RATE, MethodDefinition as _, MethodResult, Preset, RunError, Span};

fn method(set: &[(&str, &str)]) -> IdleTrim {
    IdleTrim::resolve(Preset::Quick, &settings(set)).unwrap()
}

fn of(mode: TrimMode, set: &[(&str, &str)]) -> MethodResult {
    let mut device = Virtual::new(Lying::new(drive(mode)));
    run(&method(set), &mut device, &mut KeptSteps::default()).unwrap()
}

/// A GiB in GB.
const GIB: f64 = 1.073_741_824;

#[test]
fn a_gb_costs_what_the_full_drive_takes_longer_than_the_empty_one() {
    for mode in [TrimMode::Queued, TrimMode::Blocking] {
        let found = of(mode, &[]);
        // 32 pieces of 130 us; 26.2144 ms a GiB empty, 262.144 ms full.
        close(figure(&found.figures, "idle-trim-empty").value, 32.0 * 130e-6 + 0.026_214_4);
        close(figure(&found.figures, "idle-trim-full").value, 32.0 * 130e-6 + 0.262_144);
        close(figure(&found.figures, "never-written").value, 32.0 * 130e-6 + 0.026_214_4);
        let headline = figure(&found.figures, "idle-trim");
        assert!(headline.headline);
        close(headline.value, (0.262_144 - 0.026_214_4) / GIB);
        // 16 chunks of 64 MiB, but the drive takes 32 MiB.
        close(figure(&found.figures, "chunked").value, headline.value);
        close(figure(&found.figures, "idle-trim-command-max").value, 130e-6 + 8_192e-6);
        assert_eq!(found.caveats, []);
    }
}

#[test]
fn a_drive_with_nothing_to_do_or_that_puts_it_off_costs_nothing_at_once() {
    for mode in [TrimMode::None, TrimMode::Ignored] {
        let found = of(mode, &[]);
        close(figure(&found.figures, "idle-trim-full").value, 32.0 * 130e-6);
        assert!(figure(&found.figures, "idle-trim").value.abs() < 1e-9);
    }
    // Put-off work steals from the commands after it, a quarter of the time at the most.
    let found = of(TrimMode::Background, &[]);
    let full = figure(&found.figures, "idle-trim-full").value;
    assert!((32.0 * 130e-6..32.0 * 130e-6 / 0.7).contains(&full), "{full}");
}

#[test]
fn chunks_pay_the_command_more_often() {
    let found = of(TrimMode::Queued, &[("chunk", "1MiB")]);
    close(figure(&found.figures, "chunked-full").value, 1_024.0 * 130e-6 + 0.262_144);
    close(figure(&found.figures, "idle-trim-full").value, 32.0 * 130e-6 + 0.262_144);
    let found = of(TrimMode::Queued, &[("chunk", "none")]);
    assert!(!found.figures.iter().any(|figure| figure.id.starts_with("chunked")));
}

#[test]
fn copies_of_one_repetition_make_no_interval() {
    let found = of(TrimMode::Queued, &[("repetitions", "4")]);
    let headline = figure(&found.figures, "idle-trim");
    assert_eq!((headline.n, headline.interval), (1, None));
    // 32 commands of 130 us, and 262.144 or 26.2144 ms for the GiB.
    let words = "266 ms full, 30.4 ms empty: a TRIM of all 1GiB; 4 repetitions came to the same";
    assert_eq!(headline.words().as_deref(), Some(words));
    close(figure(&found.figures, "idle-trim-spread").value, 0.0);
}

#[test]
fn repetitions_that_differ_have_a_spread_and_an_interval() {
    let rounds = [0.10, 0.12, 0.14].iter().enumerate().map(|(index, full)| {
        let timed = |trim_s| TimedTrimStep { trim_s, ..TimedTrimStep::default() };
        let round = IdleRoundStep {
            span_bytes: Bytes(2_000_000_000),
            device_bytes: Some(Bytes(15_000_000_000_000)),
            empty: timed(0.02),
            full: timed(*full),
            ..IdleRoundStep::default()
        };
        Step::of(format!("one-go-{index}"), "one-go", &round)
    });
    let Findings { figures, .. } = analyse(&rounds.collect::<Vec<_>>(), &mut Rng::new(1));
    let headline = figure(&figures, "idle-trim");
    close(headline.value, 0.05);
    assert!(headline.interval.unwrap().contains(0.05) && headline.n == 3);
    assert_eq!(
        headline.words().as_deref(),
        Some("120 ms full, 20 ms empty: a TRIM of the first 2GB of 15TB")
    );
    close(figure(&figures, "idle-trim-spread").value, 0.02);
    let two = analyse(&[], &mut Rng::new(1));
    assert_eq!(two, Findings { figures: Vec::new(), caveats: vec![Caveat::TooFewPoints] });
}

#[test]
fn each_round_begins_with_a_trim_and_the_drive_rests_before_each_timed_one() {
    let mut device = Virtual::new(Lying::new(drive(TrimMode::Queued)));
    let method = method(&[("rest", "100s"), ("repetitions", "2"), ("chunk", "none")]);
    run(&method, &mut device, &mut KeptSteps::default()).unwrap();
    // One after the purge; in each round one that is not timed and two that are, of 32 pieces.
    assert_eq!(device.model().discards.len(), 32 * (1 + 2 * 3));
    let rests = trimbench_core::Target::now(&device).since(Instant::START).seconds() / 100.0;
    assert!((5.0..6.0).contains(&rests), "{rests}");
}

#[test]
fn a_part_of_the_drive_says_so_and_touches_nothing_else() {
    let mut device = Virtual::new(Lying::new(drive(TrimMode::Queued)));
    let method = method(&[("span", "100MiB")]);
    let found = run(&method, &mut device, &mut KeptSteps::default()).unwrap();
    assert_eq!(found.caveats, [Caveat::PartOfDrive]);
    let mut full = emulated(drive(TrimMode::Queued));
    let found = run(&method, &mut full, &mut KeptSteps::default()).unwrap();
    assert_eq!(found.caveats, [], "the rest of the drive is full");
    close(figure(&found.figures, "idle-trim").value, (0.262_144 - 0.026_214_4) / GIB);
    let end = device.model().discards.iter().map(|range| range.end().0 * 512).max();
    assert_eq!(end, Some(Bytes::mib(100).0));
    let written = trimbench_core::Storage::statistics(&device).write.bytes;
    assert_eq!(written, method.demand(Bytes::gib(1), ASSUMED_RATE).written);
    assert_eq!(written, Bytes(3 * Bytes::mib(100).0), "twice in one go, once in chunks");
}

#[test]
fn the_curve_rises_from_nothing_to_everything() {
    let found = of(TrimMode::Queued, &[("chunk", "1MiB")]);
    for step in found.steps.iter().filter(|step| step.id != "purge") {
        let round = step.read::<IdleRoundStep>().unwrap();
        let curve = round.trimmed_full.unwrap();
        assert!(curve.x.len() <= 202 && curve.x.is_sorted(), "{}", curve.x.len());
        close(curve.y.last().unwrap().unwrap(), GIB);
        close(*curve.x.last().unwrap(), round.full.trim_s);
        assert_eq!(curve.y[0], Some(0.0));
    }
}

#[test]
fn a_drive_purged_by_trim_has_no_first_time() {
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.means = PurgeMeans::Trim;
    let mut device = Virtual::new(lying);
    let found = run(&method(&[]), &mut device, &mut KeptSteps::default()).unwrap();
    assert!(!found.figures.iter().any(|figure| figure.id == "never-written"));
    assert_eq!(found.steps[0].kind, "purge-by-trim");
    assert_eq!(found.steps[0].caveats, [Caveat::PurgedByTrim.id()]);
    assert!(figure(&found.figures, "idle-trim").caveats.is_empty());
}

#[test]
fn merged_commands_invalidate_the_round() {
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.merged = 2;
    let mut device = Virtual::new(lying);
    let found = run(&method(&[]), &mut device, &mut KeptSteps::default()).unwrap();
    assert!(
        figure(&found.figures, "idle-trim")
            .caveats
            .contains(&Caveat::CommandsMerged.id().to_owned())
    );
}

#[test]
fn other_load_on_a_real_device_is_noticed() {
    for (foreign, expected) in [(0, false), (100_000, true)] {
        let mut lying = Lying::real(drive(TrimMode::Queued));
        lying.foreign = Bytes(foreign);
        let mut device = Virtual::new(lying);
        let found = run(&method(&[]), &mut device, &mut KeptSteps::default()).unwrap();
        let headline = figure(&found.figures, "idle-trim");
        let noticed = headline.caveats.iter().any(|id| trimbench_engine::is_spoiled_by_others(id));
        assert_eq!(noticed, expected);
    }
}

#[test]
fn the_page_has_every_figure() {
    for Metric { id, .. } in method(&[]).metrics() {
        assert!(IdleTrim::INFO.page.contains(&format!("`{id}`")), "{id}");
    }
}

#[test]
fn a_resumed_run_equals_one_without_a_break() {
    let method = method(&[]);
    let new = || Virtual::new(Lying::new(drive(TrimMode::Queued)));
    let whole = run(&method, &mut new(), &mut KeptSteps::default()).unwrap();
    assert_eq!(whole.steps.len(), 4, "the purge and three rounds");
    let mut keeper = KeptSteps::stopping_after(2);
    let error = run(&method, &mut new(), &mut keeper).unwrap_err();
    assert!(matches!(error, MethodError::Run(RunError::Interrupted)), "{error}");
    let mut rest = KeptSteps::default();
    let resumed = resume(&method, &mut new(), &mut rest, keeper.steps).unwrap();
    assert_eq!(rest.steps.len(), 2, "nothing is measured twice");
    assert_eq!(resumed.figures, whole.figures);
    // Filling depends on what the drive has been through; the TRIMs do not.
    let timed = |mut steps: Vec<Step>| {
        for step in &mut steps {
            if let Ok(round) = step.read::<IdleRoundStep>() {
                step.store(&IdleRoundStep { fill_s: 0.0, ..round });
            }
        }
        steps
    };
    assert_eq!(timed(resumed.steps), timed(whole.steps));
}

#[test]
fn a_drive_that_fails_ends_the_run_and_what_was_measured_stays() {
    let at = Instant::from_start(Nanos::from_secs(6));
    let plan = FaultPlan { fail_from: Some(at), ..FaultPlan::default() };
    let mut device = Virtual::new(Lying::broken(drive(TrimMode::Queued), plan));
    let mut keeper = KeptSteps::default();
    let error = run(&method(&[]), &mut device, &mut keeper).unwrap_err();
    let MethodError::Broken { step, errno, .. } = error else { panic!("{error}") };
    assert_eq!(errno, Errno::EIO);
    assert!(!keeper.steps.is_empty() && keeper.steps.iter().all(|kept| kept.id != step), "{step}");
}

#[test]
fn every_figure_found_is_one_of_the_metrics() {
    assert_defined(&method(&[]).metrics(), &of(TrimMode::Queued, &[]).figures);
}

#[test]
fn a_directory_and_a_device_without_discards_do_not_fit() {
    assert_needs_discards(&method(&[]));
}

#[test]
fn words_stand_for_all_and_none() {
    let plain = method(&[("span", "all"), ("chunk", "none")]);
    assert_eq!((plain.span, plain.chunk, plain.rounds()), (Span::All, None, 2));
    let set = settings(&[("span", "everything")]);
    assert!(IdleTrim::resolve(Preset::Quick, &set).is_err());
}

#[test]
fn a_forecast_that_no_clock_holds_is_the_longest_that_one_does() {
    let method = method(&[("repetitions", "8192"), ("chunk", "none")]);
    assert_eq!(method.demand(Bytes(1 << 60), 1).time, Nanos(u64::MAX));
}
