use trimbench_core::{BlockCommand, Bytes, Caveat, Nanos, Ppm, Support, Virtual};
use trimbench_results::{Chart, LatencyHistogram, PercentilesStep, Step};

use super::*;
use crate::testing::{charts, curve, find};
use trimbench_engine::testing::{
    KeptSteps, Toy, assert_defined, emulated, figure, resume, run, settings, small_tlc,
};
use trimbench_engine::{ASSUMED_RATE, MethodDefinition as _, MethodError, Preset};

/// Short for a drive of 64 MiB.
const SHORT: [(&str, &str); 5] = [
    ("warm-up", "200ms"),
    ("rate-time", "1s"),
    ("queue-depth", "32"),
    ("trim-rate", "0"),
    ("confirm-time", "none"),
];

fn method(set: &[(&str, &str)]) -> LatencyUnderLoad {
    let all = [&SHORT[..], set].concat();
    LatencyUnderLoad::resolve(Preset::Quick, &settings(&all)).unwrap()
}

fn drive() -> trimbench_engine::testing::Emulated {
    emulated(small_tlc(Bytes::mib(64), Ppm(125_000)))
}

fn rates(steps: &[Step]) -> Vec<OfferedRateStep> {
    let rates = steps.iter().filter(|step| step.kind == "rate");
    rates.map(|step| step.read().unwrap()).collect()
}

/// The step of a rate that was kept up with, with these reads and writes.
fn rate(
    id: &str,
    kind: &str,
    offered_per_s: f64,
    [read, write]: [Option<ResponseStep>; 2],
) -> Step {
    let kept_up = true;
    Step::of(
        id,
        kind,
        &OfferedRateStep { offered_per_s, kept_up, read, write, ..OfferedRateStep::default() },
    )
}

fn with_p99(p99: f64) -> ResponseStep {
    let percentiles = PercentilesStep { p99: Some(p99), ..PercentilesStep::default() };
    ResponseStep { percentiles, ..ResponseStep::default() }
}

fn sustained(rounds: u64, iops: f64) -> Step {
    Step::of("sustained", "sustained", &SustainedStep { rounds, iops })
}

#[test]
fn a_curve_ends_at_the_first_rate_that_the_drive_does_not_keep_up_with() {
    let set = method(&[("rates", "10%,50%,150%,190%")]);
    let found = run(&set, &mut drive(), &mut KeptSteps::default()).unwrap();
    let rates = rates(&found.steps);
    let kept: Vec<bool> = rates.iter().map(|rate| rate.kept_up).collect();
    assert_eq!(kept, [true, true, false], "190 % is not tried");
    for rate in &rates[..2] {
        let (offered, achieved) = (rate.offered_per_s, rate.achieved_per_s.unwrap());
        assert!((achieved / offered - 1.0).abs() < 0.05, "{achieved} of {offered}");
        let read = rate.read.unwrap();
        let (p50, p99) = (read.percentiles.p50.unwrap(), read.percentiles.p99.unwrap());
        assert!(0.0 < p50 && p50 <= p99 && p99 <= read.max);
    }
    let last = found.steps.iter().rfind(|step| step.kind == "rate").unwrap();
    let is_time = |key: &String| key.contains("response") || key.contains("latency");
    assert!(last.histograms.is_empty() && !last.metrics.keys().any(is_time));
    let sustained = figure(&found.figures, "sustained").value;
    let served = figure(&found.figures, "at-150-percent-achieved").value;
    assert!((served / sustained - 1.0).abs() < 0.2, "{served} of {sustained}");
    assert!(found.figures.iter().all(|it| !it.id.starts_with("at-150-percent-read")));
    let half = figure(&found.figures, "rate-kept");
    assert!(half.headline && (half.value / sustained - 0.5).abs() < 0.001, "{}", half.value);
    assert_defined(&set.metrics(), &found.figures);
}

use super::watch::growth;

#[test]
fn the_headline_keeps_its_response_time() {
    let rate = |id: &str, offered: f64, p99: f64, longest: f64| {
        let write = ResponseStep { max: longest, ..ResponseStep::default() };
        rate(id, "rate", offered, [Some(with_p99(p99)), Some(write)])
    };
    let set = method(&[("rates", "1000,2000,3000,4000"), ("keep", "5ms")]);
    let mut steps = vec![
        rate("rate-1000-per-s", 1e3, 1e-3, 1e-3),
        rate("rate-2000-per-s", 2e3, 5e-3, 1e-3),
        rate("rate-3000-per-s", 3e3, 6e-3, 1e-3),
        rate("rate-4000-per-s", 4e3, 1e-3, 1e-3),
    ];
    let value = |steps: &[Step]| figure(&analyse(&set, steps).figures, "rate-kept").value;
    assert!((value(&steps) - 2e3).abs() < 0.5, "above a rate that keeps it not there is none");
    steps[2] = rate("rate-3000-per-s", 3e3, 4e-3, 1e-3);
    assert!((value(&steps) - 4e3).abs() < 0.5);
    let behind = OfferedRateStep { kept_up: false, ..steps[1].read().unwrap() };
    steps[1].store(&behind);
    assert!((value(&steps) - 1e3).abs() < 0.5, "not kept up with");
    steps[0] = rate("rate-1000-per-s", 1e3, 1e-3, 1.0);
    assert!(value(&steps).abs() < 0.5, "the longest counts where there are few");
}

/// Parts of what counts with so many accesses above 1 ms each, of a thousand.
fn parts(slow: [u64; 10]) -> [LatencyHistogram; 10] {
    slow.map(|slow| {
        let mut part = LatencyHistogram::new();
        for at in 0..1_000 {
            part.record(Nanos::from_micros(if at < slow { 5_000 + 100 * slow } else { 100 + at }));
        }
        part
    })
}

#[test]
fn a_p99_grows_that_is_higher_in_the_second_half_beyond_the_noise_of_the_parts() {
    let grows = |slow: [u64; 10]| growth(&parts(slow)).unwrap().grows;
    assert!(grows([0, 0, 0, 0, 0, 20, 22, 24, 26, 28]));
    assert!(grows([2, 4, 6, 8, 10, 20, 22, 24, 26, 28]));
    assert!(!grows([20, 22, 24, 26, 28, 0, 0, 0, 0, 0]), "it falls");
    assert!(!grows([15; 10]));
    assert!(!grows([15, 5, 40, 0, 20, 12, 30, 0, 25, 18]), "stalls come now and then");
    assert!(!grows([0, 0, 0, 0, 0, 0, 0, 60, 0, 0]), "one of them");
    assert_eq!(growth(&Default::default()), None);
}

#[test]
fn a_rate_is_confirmed_from_the_highest_down() {
    let rate = |id: &str, kind: &str, offered: f64, grows: bool| {
        let growth = Some(GrowthStep { grows, ..GrowthStep::default() });
        let read = ResponseStep { growth, ..with_p99(1e-3) };
        rate(id, kind, offered, [Some(read), None])
    };
    let set = method(&[("rates", "1000,2000,3000"), ("confirm-time", "3s")]);
    let mut steps = vec![
        rate("rate-1000-per-s", "rate", 1e3, false),
        rate("rate-2000-per-s", "rate", 2e3, false),
        rate("rate-3000-per-s", "rate", 3e3, true),
        sustained(5, 4e3),
    ];
    let headline = |steps: &[Step]| figure(&analyse(&set, steps).figures, "rate-kept").clone();
    assert!((headline(&steps).value - 2e3).abs() < 0.5, "its p99 grows at 3000");
    steps[0] = rate("rate-1000-per-s", "rate", 1e3, true);
    assert!((headline(&steps).value - 2e3).abs() < 0.5, "chance: it does not at a higher rate");
    steps.push(rate("confirm-2000-per-s", "confirm", 2e3, true));
    steps.push(rate("confirm-1000-per-s", "confirm", 1e3, false));
    let found = headline(&steps);
    assert!((found.value - 1e3).abs() < 0.5, "in the longer run it grows at 2000, too");
    let words = "25 % of the 4,000 a second that the drive sustains";
    assert_eq!(found.words().as_deref(), Some(words));
    steps.pop();
    steps.push(rate("confirm-1000-per-s", "confirm", 1e3, true));
    assert!(headline(&steps).value.abs() < 0.5);
}

#[test]
fn the_default_has_a_curve_beside_trims_and_a_confirmation_of_each() {
    let default = LatencyUnderLoad::resolve(Preset::Quick, &settings(&[])).unwrap();
    assert!(default.trim_rates.iter().any(|rate| *rate > 0));
    let set = method(&[
        ("rates", "10%,20%"),
        ("trim-rate", "0,20"),
        ("trim-chunk", "64KiB"),
        ("confirm-time", "2s"),
    ]);
    let found = run(&set, &mut Virtual::new(Toy::new()), &mut KeptSteps::default()).unwrap();
    let ids: Vec<&str> = found.steps.iter().map(|step| step.id.as_str()).collect();
    let confirmed: Vec<&&str> = ids.iter().filter(|id| id.starts_with("confirm")).collect();
    assert_eq!(confirmed, [&"confirm-20-percent", &"confirm-20-percent-trim-20"], "{ids:?}");
    assert_defined(&set.metrics(), &found.figures);
    let words = figure(&found.figures, "rate-kept-trim-20").words().unwrap();
    assert!(words.contains("; without TRIMs "), "{words}");
}

#[test]
fn reads_and_writes_arrive_as_often_as_offered() {
    let set = method(&[("rates", "2000"), ("read-share", "25%"), ("reads", "1000")]);
    let mut toy = Virtual::new(Toy::new());
    let found = run(&set, &mut toy, &mut KeptSteps::default()).unwrap();
    let rate = rates(&found.steps)[0];
    let [reads, writes] = [rate.read, rate.write].map(|class| class.unwrap().count as f64);
    assert!((rate.offered_reads_per_s - 1_500.0).abs() < 0.5);
    // Five standard deviations of a Poisson count.
    assert!((reads - 1_500.0).abs() < 5.0 * 1_500_f64.sqrt(), "{reads}");
    assert!((writes - 1_500.0).abs() < 5.0 * 1_500_f64.sqrt(), "{writes}");
}

#[test]
fn trims_discard_what_was_written_and_reads_and_writes_stay_away_from_it() {
    let set = method(&[("rates", "20%"), ("trim-rate", "0,20"), ("trim-chunk", "64KiB")]);
    let mut toy = Virtual::new(Toy::new());
    let found = run(&set, &mut toy, &mut KeptSteps::default()).unwrap();
    let steps = found.steps.iter().filter(|step| step.kind == "rate");
    let ids: Vec<&str> = steps.map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["rate-20-percent", "rate-20-percent-trim-20"]);
    assert!(figure(&found.figures, "at-20-percent-trim-max-trim-20").value > 0.0);
    assert!(figure(&found.figures, "rate-kept-trim-20").value > 0.0);
    assert_defined(&set.metrics(), &found.figures);
    let log = &toy.model().log;
    let discards: Vec<_> = log
        .iter()
        .filter_map(|(at, command)| match command {
            BlockCommand::Discard(range) => Some((*at, *range)),
            _ => None,
        })
        .filter(|(_, range)| range.length().0 == (64 << 10) / 512)
        .collect();
    assert!((10..=45).contains(&discards.len()), "{} in 1.2 s", discards.len());
    for (index, (at, range)) in discards.iter().enumerate() {
        let twice = discards[..index].iter().any(|(_, other)| other.start() == range.start());
        assert!(!twice, "each chunk once");
        let small = |command: &BlockCommand| match command {
            BlockCommand::Read(other) | BlockCommand::Write { range: other, .. } => {
                other.length().0 == 8 && other.end() > range.start() && other.start() < range.end()
            }
            _ => false,
        };
        assert!(!log.iter().any(|(_, command)| small(command)), "apart from the load");
        let filled = log.iter().any(|(then, command)| match command {
            BlockCommand::Write { range: other, .. } => {
                then < at && other.start() <= range.start() && other.end() >= range.end()
            }
            _ => false,
        });
        assert!(filled, "it held data");
    }
}

#[test]
fn a_limit_on_what_is_outstanding_hides_an_overload_but_not_that_there_is_one() {
    let set = [("rates", "50%,140%"), ("places", "8"), ("accesses-max", "none")];
    let found = run(&method(&set), &mut drive(), &mut KeptSteps::default()).unwrap();
    let kept: Vec<bool> = rates(&found.steps).iter().map(|rate| rate.kept_up).collect();
    assert_eq!(kept, [true, false]);
}

#[test]
fn a_resumed_session_goes_on_with_the_rate_that_is_missing() {
    let set = method(&[("rates", "10%,20%,30%")]);
    let mut stopped = KeptSteps::stopping_after(3);
    run(&set, &mut drive(), &mut stopped).unwrap_err();
    assert_eq!(stopped.kept().last(), Some(&"rate-10-percent"));
    let done = stopped.steps.clone();
    let mut kept = KeptSteps::default();
    let found = resume(&set, &mut drive(), &mut kept, done.clone()).unwrap();
    assert_eq!(kept.kept(), ["rate-20-percent", "rate-30-percent"]);
    assert_eq!(found.steps[..done.len()], done[..]);
    let again = resume(&set, &mut drive(), &mut KeptSteps::default(), found.steps.clone()).unwrap();
    assert_eq!(again.figures, found.figures);
}

#[test]
fn rates_that_make_no_sense_are_errors() {
    let resolve = |set: &[(&str, &str)]| LatencyUnderLoad::resolve(Preset::Quick, &settings(set));
    for rates in ["0", "0%", "201%", "0.5%", "-1", "fast", "", "10000001"] {
        let error = resolve(&[("rates", rates)]).unwrap_err().to_string();
        assert!(error.contains("rates"), "{rates}: {error}");
    }
    resolve(&[("read-share", "100%"), ("precondition", "0")]).unwrap_err();
    let set = method(&[("rates", "5000000")]);
    let error = run(&set, &mut drive(), &mut KeptSteps::default()).unwrap_err();
    assert!(matches!(error, MethodError::Unfit { .. }), "{error}");
    let reason = error.to_string();
    assert!(reason.contains("5,000,000") && reason.contains("beyond"), "{reason}");
}

#[test]
fn trims_need_a_drive_that_takes_them_and_room() {
    let mut capabilities = Toy::new().capabilities;
    let trims = [("trim-rate", "0,10"), ("trim-chunk", "64KiB")];
    assert_eq!(method(&trims).fits(&capabilities), Ok(()));
    let large = method(&[("trim-rate", "1000"), ("trim-chunk", "1MiB")]);
    let reason = large.fits(&capabilities).unwrap_err().to_string();
    assert!(reason.contains("more than half"), "{reason}");
    capabilities.discard = Support::None;
    let reason = method(&trims).fits(&capabilities).unwrap_err().to_string();
    assert!(reason.contains("--set trim-rate=0"), "{reason}");
    assert_eq!(method(&[]).fits(&capabilities), Ok(()));
}

#[test]
fn what_is_demanded_covers_what_is_written() {
    let set = method(&[("rates", "10%,50%"), ("trim-rate", "0,50"), ("trim-chunk", "64KiB")]);
    let mut drive = drive();
    run(&set, &mut drive, &mut KeptSteps::default()).unwrap();
    let written = drive.model().inner().counters().host_written_units * 4_096;
    let Demand { written: demand, time } = set.demand(Bytes::mib(64), ASSUMED_RATE);
    assert!(written <= demand.0 && demand.0 <= 10 * written, "{written} of {demand}");
    assert!(time > Nanos::from_secs(2));
}

#[test]
fn a_part_of_the_drive_and_a_drive_that_is_not_steady_are_caveats() {
    let set = method(&[("span", "8MiB"), ("rates", "10%"), ("rounds-max", "5")]);
    let found = run(&set, &mut Virtual::new(Toy::new()), &mut KeptSteps::default()).unwrap();
    assert_eq!(found.caveats, [Caveat::PartOfDrive]);
    let steps = [{
        let mut step = sustained(25, 1e3);
        step.caveat(Caveat::NoSteadyState);
        step
    }];
    let findings = analyse(&set, &steps);
    assert_eq!(findings.caveats, [Caveat::NoSteadyState]);
}

#[test]
fn a_chart_has_a_curve_for_each_percentile_and_one_for_each_rate_of_trims() {
    let rate = |id: &str, offered_per_s: f64, trims_per_s: u64| {
        let [p50, p99, p99_9] = [Some(offered_per_s / 1e6); 3];
        let percentiles = PercentilesStep { p50, p99, p99_9, ..PercentilesStep::default() };
        let read = Some(ResponseStep { percentiles, ..ResponseStep::default() });
        let rate = OfferedRateStep { offered_per_s, trims_per_s, read, ..Default::default() };
        Step::of(id, "rate", &rate)
    };
    let steps = vec![
        rate("rate-1000-per-s", 1e3, 0),
        rate("rate-2000-per-s", 2e3, 0),
        rate("rate-1000-per-s-trim-5", 1e3, 5),
    ];
    let all = charts(&LatencyUnderLoad::INFO, steps.clone(), &[("sustained", 2_500.0, None)]);
    let reads = curve(find(&all, "curve"), "reads, p99");
    assert_eq!(reads.x, [1e3, 2e3]);
    assert_eq!(reads.y, [Some(1.0), Some(2.0)]);
    assert_eq!(find(&all, "curve").marks.len(), 1);
    let beside = find(&all, "reads-beside-trims");
    assert_eq!(curve(beside, "5 TRIMs/s").x, [1e3]);
    let one = charts(&LatencyUnderLoad::INFO, steps[..2].to_vec(), &[]);
    assert!(find(&one, "reads-beside-trims").is_empty(), "one rate of TRIMs has no other beside");
    assert!(one.iter().any(|chart: &Chart| chart.id == "latency-under-load-reads"));
}

#[test]
fn one_seed_gives_one_run() {
    let once = || run(&method(&[("rates", "20%")]), &mut drive(), &mut KeptSteps::default());
    assert_eq!(once().unwrap(), once().unwrap());
}
