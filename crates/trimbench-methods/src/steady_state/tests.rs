use trimbench_core::fault::FaultPlan;
use trimbench_core::units::rounded;
use trimbench_core::{Caveat, Errno, Instant, Nanos, Ppm, Virtual};
use trimbench_results::{LatencyHistogram, Step};

use super::steps::{SteadyCurvesStep, SteadyRoundStep, SteadyShareStep};
use super::*;
use trimbench_core::BlockCommand;
use trimbench_engine::testing::{
    KeptSteps, Toy, assert_defined, emulated, faulty, figure, profile, run, says, settings,
    small_tlc,
};
use trimbench_engine::{
    ASSUMED_RATE, Criterion, LatencySummary, Method, MethodDefinition as _, PhaseLatencyStep,
    PhaseStep, Preset, RoundStep, RunError, Shape, SteadyStep, WearStep,
};

fn phase(step: &Step) -> PhaseStep {
    step.read().unwrap()
}

fn method(set: &[(&str, &str)]) -> SteadyState {
    SteadyState::resolve(Preset::Quick, &settings(set)).unwrap()
}

/// Write amplification of greedy collection under uniform random writes, superblocks of 64 units,
/// `alpha` = physical / exported without the reserve \[DESN12\]: `alpha (1 - v / n) = H(n) - H(v)`,
/// `A = n / (n - v)`.
fn greedy_waf(alpha: f64) -> f64 {
    let n = 64.0;
    let harmonic = |v: f64| {
        let whole: f64 = (1..=64).map(f64::from).take_while(|i| *i <= v).map(|i| 1.0 / i).sum();
        whole + v.fract() / (v.floor() + 1.0)
    };
    let (mut low, mut high) = (0.0, n - 1e-6);
    for _ in 0..60 {
        let v = f64::midpoint(low, high);
        if alpha * (1.0 - v / n) < harmonic(n) - harmonic(v) { low = v } else { high = v }
    }
    n / (n - f64::midpoint(low, high))
}

#[test]
fn trimmed_shares_amplify_as_the_formulas_say() {
    // With published values of the first formula, superblocks of 64 units.
    for (over_provisioning, published) in [(Ppm(125_000), 4.389), (Ppm(280_000), 2.403)] {
        let alpha = 1.0 + over_provisioning.fraction();
        assert!((greedy_waf(alpha) - published).abs() < 0.002);
        let method = method(&[("round-share", "200%"), ("trimmed-shares", "0,10%,25%,50%")]);
        let mut drive = emulated(small_tlc(Bytes::mib(128), over_provisioning));
        let found = run(&method, &mut drive, &mut KeptSteps::default()).unwrap();
        for (share, suffix) in
            [(0.0, ""), (0.1, "-trimmed-10"), (0.25, "-trimmed-25"), (0.5, "-trimmed-50")]
        {
            // Trimmed space is over-provisioning [FRAN12].
            let expected = greedy_waf(alpha / (1.0 - share));
            let measured = figure(&found.figures, &format!("write-amplification{suffix}")).value;
            let error = measured / expected - 1.0;
            assert!(error.abs() < 0.02, "{share} of {alpha}: {measured}, expected {expected}");
        }
    }
}

#[test]
fn what_is_not_used_of_a_drive_is_spare_area_only_if_it_is_empty() {
    let over_provisioning = Ppm(280_000);
    let method = method(&[("span", "64MiB"), ("round-share", "200%"), ("trimmed-shares", "0")]);
    // Of 128 MiB half is used, and has the spare area of all to itself.
    for (empty, alpha, caveat) in
        [(false, 1.56, Caveat::PartOfFullDrive), (true, 2.56, Caveat::PartOfDrive)]
    {
        let mut drive = emulated(small_tlc(Bytes::mib(128), over_provisioning));
        if empty {
            drive.model_mut().inner_mut().stay_empty();
        }
        let found = run(&method, &mut drive, &mut KeptSteps::default()).unwrap();
        let measured = figure(&found.figures, "write-amplification").value;
        let expected = greedy_waf(alpha);
        let error = measured / expected - 1.0;
        assert!(error.abs() < 0.03, "{alpha}: {measured}, expected {expected}");
        assert_eq!(found.caveats, [caveat]);
    }
}

#[test]
fn trimmed_space_makes_a_flash_drive_faster_and_3d_xpoint_not() {
    let gain = |name| {
        let mut drive = emulated(profile(name, Bytes::gib(1)));
        let found = run(&method(&[]), &mut drive, &mut KeptSteps::default()).unwrap();
        let gain = figure(&found.figures, "gain-trimmed-25").clone();
        let steady = figure(&found.figures, "steady-iops").clone();
        assert!(steady.headline && steady.words().unwrap().starts_with("steady at round "));
        assert_eq!(found.caveats, []);
        gain
    };
    let flash = gain("generic-nvme-tlc");
    assert!(flash.value > 2.0, "{}", flash.value);
    assert_eq!(flash.words().as_deref(), Some("trimmed space helps"));
    let in_place = gain("like-optane-900p");
    assert!((in_place.value - 1.0).abs() < 0.01, "{}", in_place.value);
    assert_eq!(in_place.words().as_deref(), Some("no difference"));
}

#[test]
fn the_load_leaves_what_was_trimmed_alone() {
    let mut toy = Virtual::new(Toy::new());
    let method = method(&[("trimmed-shares", "50%"), ("rest", "3s"), ("queue-depth", "4")]);
    run(&method, &mut toy, &mut KeptSteps::default()).unwrap();
    let log = &toy.model().log;
    assert_eq!(toy.model().purges, 1);
    let end = |index: usize| match log[index].1 {
        BlockCommand::Write { range, .. } => range.end().0,
        other => panic!("{other:?} in the load"),
    };
    let is_discard = |entry: &(Instant, BlockCommand)| matches!(entry.1, BlockCommand::Discard(_));
    let trims: Vec<usize> = (0..log.len()).filter(|index| is_discard(&log[*index])).collect();
    let middle = Bytes::mib(8).0 / 512;
    assert_eq!(trims.len(), 3, "8 MiB by at most 3 MiB");
    let first = trims[0];
    // Twice the capacity by 128 KiB, then accesses over the whole span, then over the first half.
    assert!(log[255].0 + Nanos::from_secs(3) <= log[256].0, "the rest after preconditioning");
    assert!((256..first).any(|index| end(index) > middle));
    assert!((trims[2] + 1..log.len()).all(|index| end(index) <= middle));
    assert!(log[trims[2]].0 + Nanos::from_secs(3) <= log[trims[2] + 1].0, "the rest after TRIM");
}

#[test]
fn no_space_is_trimmed_twice() {
    let mut toy = Virtual::new(Toy::new());
    let set = method(&[("trimmed-shares", "0,25%,50%")]);
    let found = run(&set, &mut toy, &mut KeptSteps::default()).unwrap();
    for id in ["trim-25", "trim-50"] {
        let step = found.steps.iter().find(|step| step.id == id).unwrap();
        assert_eq!(phase(step).discarded_bytes, Some(Bytes::mib(4)), "{id}");
    }
}

#[test]
fn a_trim_begins_with_a_whole_unit_of_the_device() {
    let mut toy = Toy::new();
    toy.capabilities.discard_granularity = Bytes::mib(1);
    let mut toy = Virtual::new(toy);
    run(&method(&[("trimmed-shares", "30%")]), &mut toy, &mut KeptSteps::default()).unwrap();
    // 30 % of 16 MiB would begin at 11.2 MiB.
    let first = toy.model().log.iter().find_map(|(_, command)| match command {
        BlockCommand::Discard(range) => Some(range.start().0 / 2_048),
        _ => None,
    });
    assert_eq!(first, Some(12));
}

#[test]
fn a_round_lasts_until_both_its_time_and_its_bytes_are_over() {
    // The toy writes 4 of 4 KiB in 100 us: 409.6 of its accesses are 10 % of its 16 MiB.
    let round = |time, share| {
        let set = [("round-time", time), ("round-share", share), ("queue-depth", "4")];
        let found =
            run(&method(&set), &mut Virtual::new(Toy::new()), &mut KeptSteps::default()).unwrap();
        let step = found.steps.iter().find(|step| step.id == "trimmed-0-round-1").unwrap();
        let PhaseStep { command_count, elapsed_s, .. } = phase(step);
        (command_count, elapsed_s)
    };
    let near = |left: (u64, f64), right: (u64, f64)| {
        assert!(left.0 == right.0 && (left.1 - right.1).abs() < 1e-9, "{left:?}");
    };
    near(round("0", "10%"), (410, 0.0103));
    near(round("20ms", "10%"), (800, 0.02));
    near(round("1ms", "10%"), (410, 0.0103));
}

/// A GB, which the drive wrote so often.
fn worn(amplification: f64) -> WearStep {
    WearStep {
        host_written_bytes: Bytes(1_000_000_000),
        media_written_bytes: Bytes(rounded(1e9 * amplification)),
        write_amplification_ratio: amplification,
    }
}

/// Recorded rounds with these IOPS at this share, each with its own amplification and latency.
pub(super) fn rounds(percent: u32, kind: &str, iops: &[f64]) -> Vec<Step> {
    let step = |(index, iops): (usize, &f64)| {
        let latency = Nanos::from_millis(index as u64 + 1);
        let mut latencies = LatencyHistogram::new();
        (0..1_000).for_each(|_| latencies.record(latency));
        let phase = PhaseStep {
            elapsed_s: 1.0,
            command_count: 1_000,
            read_bytes: None,
            written_bytes: Some(Bytes(2_000_000_000)),
            discarded_bytes: None,
            throughput_mb_per_s: Some(iops * 4_096.0 / 1e6),
            wear: Some(worn((index + 1) as f64)),
        };
        let latency = LatencySummary { ns_max: latency.0, all: latencies };
        let values = SteadyRoundStep {
            share: SteadyShareStep { trimmed_percent: percent, used_bytes: Bytes::gib(1) },
            phase,
            latencies: PhaseLatencyStep { latency, trim_latency: None },
            round: RoundStep {
                began_s: index as f64,
                began_gb: index as f64 * 2.0,
                iops: Some(*iops),
            },
        };
        Step::of(format!("{kind}-{percent}-{index}"), kind, &values)
    };
    iops.iter().enumerate().map(step).collect()
}

#[test]
fn figures_are_those_of_the_last_window() {
    let mut steps = rounds(0, "round", &[900.0, 500.0, 100.0, 101.0, 102.0, 98.0, 99.0]);
    let Findings { figures, caveats } = analyse(&method(&[("trimmed-shares", "0")]), &mut steps);
    assert_eq!(caveats, []);
    let iops = figure(&figures, "steady-iops");
    assert!((iops.value - 100.0).abs() < 1e-9 && iops.headline && iops.n == 5);
    assert_eq!(iops.words().as_deref(), Some("steady at round 7"));
    assert!((figure(&figures, "rounds-to-steady").value - 7.0).abs() < 1e-9);
    // The last five of 1, 2, ... 7 GB programmed for each GB written.
    assert!((figure(&figures, "write-amplification").value - 5.0).abs() < 1e-9);
    assert!((figure(&figures, "latency-p50").value - 5.0).abs() < 0.01);
    assert_eq!(figure(&figures, "latency-p50").n, 5_000);
    assert!((figure(&figures, "steady-throughput").value - 0.4096).abs() < 1e-9);
    assert!(figures.iter().all(|figure| figure.id != "latency-p99.9" || figure.n >= 10_000));
    let iops = steps.last().unwrap().read::<SteadyCurvesStep>().unwrap().iops;
    assert_eq!(iops.by_time.unwrap().x, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let by_bytes = iops.by_bytes.unwrap();
    assert_eq!(by_bytes.x[6].to_bits(), 14.0_f64.to_bits());
    assert_eq!(by_bytes.y[0], Some(900.0));
}

#[test]
fn a_drive_that_does_not_become_steady_is_said_not_to_be() {
    let falling: Vec<f64> = (0..6).map(|round| 1_000.0 - 100.0 * f64::from(round)).collect();
    let mut steps = rounds(0, "round", &falling);
    let Findings { figures, caveats } = analyse(&method(&[("rounds-max", "6")]), &mut steps);
    assert_eq!(caveats, [Caveat::NoSteadyState]);
    let iops = figure(&figures, "steady-iops");
    assert_eq!(iops.words().as_deref(), Some("not steady after 6 rounds"));
    assert!(figures.iter().all(|figure| figure.caveats == [Caveat::NoSteadyState.id()]));
    assert!(figures.iter().all(|figure| figure.id != "rounds-to-steady"));
}

#[test]
fn the_rounds_end_at_the_first_steady_window_or_at_the_last_round() {
    for (rounds_max, capacity) in [("25", 64), ("5", 64)] {
        let mut drive = emulated(small_tlc(Bytes::mib(capacity), Ppm(125_000)));
        let method = method(&[("rounds-max", rounds_max), ("trimmed-shares", "0")]);
        let found = run(&method, &mut drive, &mut KeptSteps::default()).unwrap();
        let rounds: Vec<&Step> = found.steps.iter().filter(|step| step.kind == "round").collect();
        let iops = |step: &&Step| step.read::<RoundStep>().unwrap().iops.unwrap();
        let iops: Vec<f64> = rounds.iter().map(iops).collect();
        let at = Criterion::PTS.steady_at(&iops);
        let limit: usize = rounds_max.parse().unwrap();
        assert!(at == Some(iops.len()) || at.is_none() && iops.len() == limit, "{iops:?}");
        assert_eq!(found.caveats.contains(&Caveat::NoSteadyState), at.is_none());
        for (index, step) in rounds.iter().enumerate() {
            let window = step.read::<SteadyStep>().unwrap().window;
            let verdict = window.map(|window| window.steady);
            assert_eq!(verdict, (index >= 4).then_some(at == Some(index + 1)), "{}", step.id);
        }
    }
}

#[test]
fn ageing_is_the_drift_after_the_steady_state() {
    let mut steps = rounds(0, "round", &[100.0; 5]);
    steps.extend(rounds(0, "ageing", &[99.0, 95.0, 90.0, 85.0, 80.0, 75.0]));
    let method = method(&[("ageing-rounds", "6"), ("trimmed-shares", "0")]);
    let Findings { figures, .. } = analyse(&method, &mut steps);
    assert!((figure(&figures, "aged-iops").value - 85.0).abs() < 1e-9);
    let drift = figure(&figures, "ageing-drift");
    assert!((drift.value + 15.0).abs() < 1e-9);
    assert_eq!(drift.words().as_deref(), Some("falls in the long run"));
    // The last five of 1 to 6.
    assert!((figure(&figures, "aged-write-amplification").value - 4.0).abs() < 1e-9);
}

#[test]
fn ageing_goes_on_after_the_steady_state_without_any_trim() {
    let set = [("ageing-rounds", "7"), ("trimmed-shares", "0")];
    let mut drive = emulated(small_tlc(Bytes::mib(32), Ppm(125_000)));
    let found = run(&method(&set), &mut drive, &mut KeptSteps::default()).unwrap();
    assert_eq!(found.steps.iter().filter(|step| step.kind == "ageing").count(), 7);
    assert!(found.steps.iter().all(|step| step.kind != "trim"));
    assert!(figure(&found.figures, "ageing-drift").value.abs() < 10.0);
    let of_rounds = |step: &&Step| ["round", "settle", "ageing"].contains(&&*step.kind);
    let rounds = found.steps.iter().filter(of_rounds);
    let (mut seconds, mut gigabytes) = (0.0, 0.0);
    for step in rounds {
        let SteadyRoundStep { phase, round, .. } = step.read().unwrap();
        assert!((round.began_s - seconds).abs() < 1e-6, "{}", step.id);
        assert!((round.began_gb - gigabytes).abs() < 1e-9, "{}", step.id);
        seconds += phase.elapsed_s;
        gigabytes += phase.written_bytes.unwrap().gigabytes();
    }
    assert!(seconds > 0.0);
}

/// The largest share by which the write amplification of four trimmed shares is off the formula,
/// and the verdicts.
fn residual(settle_rounds: &str) -> (f64, Vec<String>) {
    let set = [("trimmed-shares", "0,10%,30%,50%"), ("settle-rounds", settle_rounds)];
    let mut drive = emulated(small_tlc(Bytes::mib(128), Ppm(125_000)));
    let found = run(&method(&set), &mut drive, &mut KeptSteps::default()).unwrap();
    let shares = [(0.0, ""), (0.1, "-trimmed-10"), (0.3, "-trimmed-30"), (0.5, "-trimmed-50")];
    let off = shares.map(|(share, suffix)| {
        let measured = figure(&found.figures, &format!("write-amplification{suffix}")).value;
        (measured / greedy_waf(1.125 / (1.0 - share)) - 1.0).abs()
    });
    let words = shares.map(|(_, suffix)| {
        figure(&found.figures, &format!("steady-iops{suffix}")).words().unwrap()
    });
    (off.into_iter().fold(0.0, f64::max), words.to_vec())
}

#[test]
fn drive_writes_after_the_steady_state_leave_the_way_to_it_behind() {
    let (by_the_letter, words) = residual("0");
    assert!(by_the_letter > 0.04, "{by_the_letter}");
    assert!(words.iter().all(|words| !words.contains("drive write")), "{words:?}");
    let (settled, words) = residual("5");
    assert!(settled < 0.02, "{settled}");
    assert!(
        words.iter().all(|words| words.contains(", settled: write amplification changed")),
        "{words:?}"
    );
}

#[test]
fn the_verdict_says_how_far_a_steady_state_drifts() {
    let method = method(&[("trimmed-shares", "0")]);
    let words = |amplifications: &[f64]| {
        let mut steps = rounds(0, "round", &[100.0; 5]);
        let mut settling = rounds(0, "settle", &vec![120.0; amplifications.len()]);
        for (step, ratio) in settling.iter_mut().zip(amplifications) {
            step.store(&worn(*ratio));
        }
        steps.extend(settling);
        let figures = analyse(&method, &mut steps).figures;
        let iops = figure(&figures, "steady-iops");
        (iops.words().unwrap(), iops.value, figure(&figures, "write-amplification").value)
    };
    let (settled, iops, amplification) = words(&[3.0, 2.98]);
    assert!(settled.ends_with("changed by -0.667 % in the last of 2 drive writes after it"));
    assert!((iops - 120.0).abs() < 1e-9 && (amplification - 2.98).abs() < 1e-9);
    let (drifts, ..) = words(&[3.0, 2.9, 2.8]);
    assert!(drifts.starts_with("steady at round 5, still drifting: write"), "{drifts}");
    assert!(drifts.contains("-3.45 % in the last of 3"), "{drifts}");
}

#[test]
fn a_drive_that_does_not_count_its_writes_and_the_published_test_have_no_further_rounds() {
    let set = method(&[("trimmed-shares", "0")]);
    let found = run(&set, &mut Virtual::new(Toy::new()), &mut KeptSteps::default()).unwrap();
    assert!(found.steps.iter().all(|step| step.kind != "settle"));
    let published = SteadyState::resolve(Preset::Published, &settings(&[])).unwrap();
    assert_eq!(published.settle_rounds, 0);
    SteadyState::resolve(Preset::Quick, &settings(&[("settle-rounds", "1")])).unwrap_err();
}

#[test]
fn a_gain_is_that_over_the_untrimmed_drive() {
    let mut steps = rounds(0, "round", &[100.0; 5]);
    steps.extend(rounds(25, "round", &[150.0; 5]));
    let Findings { figures, .. } = analyse(&method(&[]), &mut steps);
    assert!((figure(&figures, "gain-trimmed-25").value - 1.5).abs() < 1e-9);
    assert!((figure(&figures, "steady-iops-trimmed-25").value - 150.0).abs() < 1e-9);
    assert_eq!(figures.iter().filter(|figure| figure.headline).count(), 1);
}

#[test]
fn a_drive_that_keeps_no_counters_has_no_amplification() {
    let set = method(&[("trimmed-shares", "0")]);
    let found = run(&set, &mut Virtual::new(Toy::new()), &mut KeptSteps::default()).unwrap();
    assert!(found.figures.iter().all(|figure| !figure.id.contains("amplification")));
    let curves = found.steps.iter().map(|step| step.read::<SteadyCurvesStep>().unwrap());
    assert!(curves.into_iter().all(|it| it.wear_by_time.is_none()));
}

#[test]
fn every_figure_found_is_one_of_the_metrics() {
    let set = [("ageing-rounds", "2"), ("trimmed-shares", "0,10%,25%")];
    let mut drive = emulated(small_tlc(Bytes::mib(32), Ppm(125_000)));
    let found = run(&method(&set), &mut drive, &mut KeptSteps::default()).unwrap();
    assert_defined(&method(&set).metrics(), &found.figures);
}

#[test]
fn options_that_make_no_round_or_no_share_are_errors() {
    let resolve = |set: &[(&str, &str)]| SteadyState::resolve(Preset::Quick, &settings(set));
    resolve(&[("round-share", "0")]).unwrap_err();
    resolve(&[("round-share", "0"), ("round-time", "1s")]).unwrap();
    resolve(&[("trimmed-shares", "0.5%")]).unwrap_err();
    resolve(&[("trimmed-shares", "95%")]).unwrap_err();
    assert_eq!(
        method(&[("trimmed-shares", "50%,10%,50%")]).trimmed_shares,
        [Ppm(0), Ppm(100_000), Ppm(500_000)]
    );
    for preset in Preset::ALL {
        SteadyState::resolve(preset, &settings(&[])).unwrap();
    }
}

#[test]
fn a_device_without_trim_fits_without_trimmed_shares_only() {
    let mut capabilities = Toy::new().capabilities;
    capabilities.discard = Support::None;
    let advice = method(&[]).fits(&capabilities).unwrap_err().to_string();
    assert!(advice.contains("--set trimmed-shares=0"), "{advice}");
    assert_eq!(method(&[("trimmed-shares", "0")]).fits(&capabilities), Ok(()));
}

#[test]
fn a_part_of_the_drive_and_data_that_compress_are_caveats() {
    let set = [("span", "8MiB"), ("data", "compressible-50%"), ("trimmed-shares", "0")];
    let mut toy = Virtual::new(Toy::new());
    let found = run(&method(&set), &mut toy, &mut KeptSteps::default()).unwrap();
    assert_eq!(found.caveats, [Caveat::PartOfDrive, Caveat::CompressibleData]);
    let half = Bytes::mib(8).0 / 512;
    for (_, command) in &toy.model().log {
        let BlockCommand::Write { range, data } = command else { panic!("{command:?}") };
        assert!(range.end().0 <= half && *data == trimbench_core::Data::Compressible(50));
    }
}

#[test]
fn what_is_demanded_covers_what_is_written() {
    let set = method(&[("precondition", "150%")]);
    let mut drive = emulated(small_tlc(Bytes::mib(32), Ppm(125_000)));
    let found = run(&set, &mut drive, &mut KeptSteps::default()).unwrap();
    let written = |step: &Step| Some(step.read::<PhaseStep>().ok()?.written_bytes?.0);
    let preconditions = found.steps.iter().filter(|step| step.kind == "precondition");
    let first: u64 = preconditions.filter_map(written).sum();
    assert_eq!(first, Bytes::mib(48).0);
    let written: u64 = found.steps.iter().filter_map(written).sum();
    let demand = set.demand(Bytes::mib(32), ASSUMED_RATE).written.0;
    assert!(written <= demand && demand <= written * 10, "{written} of {demand}");
}

#[test]
fn a_wish_to_stop_is_heard_and_what_was_kept_stays() {
    let mut drive = emulated(small_tlc(Bytes::mib(32), Ppm(125_000)));
    let mut keeper = KeptSteps::stopping_after(5);
    let error = run(&method(&[]), &mut drive, &mut keeper).unwrap_err();
    assert!(matches!(error, MethodError::Run(RunError::Interrupted)), "{error}");
    assert_eq!(keeper.kept().last().unwrap(), &"trimmed-0-round-2");
}

#[test]
fn a_drive_that_fails_breaks_the_round_that_it_was_in() {
    let config = small_tlc(Bytes::mib(32), Ppm(125_000));
    let mut whole = KeptSteps::default();
    let mut drive = emulated(config.clone());
    let found = run(&method(&[]), &mut drive, &mut whole).unwrap();
    let seconds = |kind: &str| -> f64 {
        let steps = found.steps.iter().filter(|step| step.kind == kind);
        steps.map(|step| phase(step).elapsed_s).sum()
    };
    let first = found.steps.iter().find(|step| step.kind == "round").unwrap();
    let at = seconds("precondition") + 1.5 * phase(first).elapsed_s;
    let plan = FaultPlan {
        fail_from: Some(Instant::from_start(Nanos::from_seconds(at))),
        ..FaultPlan::default()
    };
    let mut keeper = KeptSteps::default();
    let error = run(&method(&[]), &mut faulty(config, plan), &mut keeper).unwrap_err();
    let MethodError::Broken { step, errno, .. } = error else { panic!("{error}") };
    assert_eq!((step.as_str(), errno), ("trimmed-0-round-2", Errno::EIO));
    assert_eq!(keeper.kept().last().unwrap(), &"trimmed-0-round-1");
}

#[test]
fn one_seed_gives_one_run() {
    let run_once = || {
        let mut drive = emulated(small_tlc(Bytes::mib(32), Ppm(125_000)));
        run(&method(&[]), &mut drive, &mut KeptSteps::default()).unwrap()
    };
    assert_eq!(run_once(), run_once());
}

#[test]
fn it_is_behind_the_one_door() {
    let set = settings(&[("trimmed-shares", "0,30%"), ("sizes", "1GiB")]);
    let resolved = SteadyState::INFO.resolve(Preset::Quick, &set).unwrap();
    assert!(resolved.method.metrics().iter().any(|it| it.id == "gain-trimmed-30"));
}

#[test]
fn what_is_kept_ends_where_a_unit_of_the_granularity_does() {
    let kib = |count: u64| Bytes(count << 10);
    let kept = |share, origin, unit| {
        let shape = Shape::of(&says(kib(1_000), kib(unit), kib(1_000)), kib(origin)).unwrap();
        super::session::kept_of(kib(1_000), Ppm(share), &shape)
    };
    assert_eq!(kept(250_000, 0, 4), kib(752));
    assert_eq!(kept(250_000, 0, 64), kib(768));
    // Units end at 16, 80, ..., 720, 784.
    assert_eq!(kept(250_000, 16, 64), kib(784));
    assert_eq!(kept(280_000, 16, 64), kib(720));
    assert_eq!(kept(0, 16, 64), kib(1_000), "nothing is trimmed");
    assert_eq!(kept(900_000, 16, 4_096), kib(1_000), "no unit fits");
}
