//! Sweeps of a drive of which every number is known.

use proptest::prelude::*;
use trimbench_core::fault::FaultPlan;
use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Caveat, Errno, Instant, Lba, LbaRange, Nanos, Ppm, PurgeMeans,
    Status, Virtual,
};
use trimbench_results::{Limit, PercentilesStep, Step};
use trimbench_ssd::{SsdConfig, TrimMode};

use super::load_alone::{LoadAlone, SeenAlone};
use super::row::median_interval;
use super::*;
use trimbench_engine::testing::{
    KeptSteps, Lying, assert_defined, assert_needs_discards, close, drive, figure, resume, run,
    says, settings,
};
use trimbench_engine::{
    ASSUMED_RATE, Arrivals, DeviceArea, MethodDefinition as _, MethodResult, Observer as _,
    OpenLoop, Preset, RandomAccess, RunError, Sample,
};

const SMALL: [(&str, &str); 7] = [
    ("commands", "40"),
    ("row-bytes-max", "80MiB"),
    ("reference", "4MiB"),
    ("load-span", "16MiB"),
    ("queue-depths", "1,8"),
    ("row-time-max", "60s"),
    ("load-time", "1s"),
];

fn method(set: &[(&str, &str)]) -> TrimSweep {
    TrimSweep::resolve(Preset::Quick, &settings(&[&SMALL, set].concat())).unwrap()
}

fn sweep(mode: TrimMode, set: &[(&str, &str)]) -> MethodResult {
    let mut device = Virtual::new(Lying::new(drive(mode)));
    run(&method(set), &mut device, &mut KeptSteps::default()).unwrap()
}

fn step<'a>(steps: &'a [Step], id: &str) -> &'a Step {
    steps.iter().find(|step| step.id == id).unwrap_or_else(|| panic!("{id} was measured"))
}

fn row(found: &MethodResult, id: &str) -> TrimRowStep {
    step(&found.steps, id).read().unwrap()
}

fn alone(found: &MethodResult) -> LoadAloneStep {
    step(&found.steps, "load-alone").read().unwrap()
}

fn median(found: &MethodResult, id: &str) -> f64 {
    row(found, id).latency_s.percentiles.p50.unwrap()
}

#[test]
fn a_queued_trim_costs_command_and_size_by_content_to_the_nanosecond() {
    let found = sweep(TrimMode::Queued, &[]);
    // 10 controller + 100 TRIM + 20 latency, and 1 us (100 ns) for each of 1024 units.
    close(median(&found, "mapped-4MiB-qd1"), 1_154e-6);
    close(median(&found, "trimmed-4MiB-qd1"), 232.4e-6);
    close(median(&found, "never-written-4MiB-qd1"), 232.4e-6);
    close(median(&found, "mapped-4KiB-qd1"), 131e-6);
    // Cut at their end: 1023 whole units, and none.
    close(median(&found, "mapped-unaligned-4MiB-qd1"), 1_153e-6);
    close(median(&found, "mapped-unaligned-4KiB-qd1"), 130e-6);
    let headline = figure(&found.figures, "trim-p50");
    assert!(headline.headline && headline.title.contains("4MiB"));
    close(headline.value, 1.154);
    close(figure(&found.figures, "command-cost").value, 0.130);
    // 262.144 ms a GiB.
    close(figure(&found.figures, "cost-per-gb-mapped").value, 0.262_144 / 1.073_741_824);
    close(figure(&found.figures, "cost-per-gb-trimmed").value, 0.026_214_4 / 1.073_741_824);
    close(figure(&found.figures, "cost-per-gb-never-written").value, 0.026_214_4 / 1.073_741_824);
    let interval = figure(&found.figures, "cost-per-gb-mapped").interval.unwrap();
    assert!(interval.high - interval.low < 1e-6, "the points lie on a line");
    assert_eq!(found.caveats, []);
    assert!(found.steps.iter().all(|step| step.caveats.is_empty()), "nothing is wrong with it");
}

#[test]
fn the_largest_trim_is_the_worst_and_rates_are_those_of_the_controller() {
    let found = sweep(TrimMode::Queued, &[("load-rate", "0")]);
    // 16 MiB: 4096 units.
    close(figure(&found.figures, "trim-max").value, 4_226e-6);
    // At depth 8 the controller never waits: 110 us and 1 us a unit.
    let rate = row(&found, "mapped-4KiB-qd8").commands_per_s.unwrap();
    assert!((rate * 111e-6 - 1.0).abs() < 0.01, "{rate}");
    close(figure(&found.figures, "command-rate").value, rate);
    close(median(&found, "mapped-1MiB-qd8"), 8.0 * 366e-6);
    assert!(row(&found, "mapped-1MiB-qd8").outstanding_mean.unwrap() > 7.0);
    assert!(!found.figures.iter().any(|figure| figure.id.starts_with("loaded")));
}

#[test]
fn blocking_trims_wait_for_each_other_whole() {
    let found = sweep(TrimMode::Blocking, &[("load-rate", "0")]);
    close(median(&found, "mapped-1MiB-qd1"), 386e-6);
    // Nothing starts beside a TRIM: the host's 20 us are not hidden either.
    close(median(&found, "mapped-1MiB-qd8"), 8.0 * 386e-6);
}

#[test]
fn background_none_and_ignored_trims_cost_the_command_alone() {
    for mode in [TrimMode::Background, TrimMode::None, TrimMode::Ignored] {
        let found = sweep(mode, &[("load-rate", "0")]);
        close(median(&found, "mapped-4KiB-qd1"), 130e-6);
        close(median(&found, "mapped-4MiB-qd1"), 130e-6);
        assert!(figure(&found.figures, "cost-per-gb-mapped").value.abs() < 1e-9, "{mode:?}");
        close(figure(&found.figures, "command-cost").value, 0.130);
    }
}

#[test]
fn the_chunk_is_the_largest_size_that_keeps_the_latency() {
    let found = sweep(TrimMode::Queued, &[("keep", "1154us")]);
    let chunk = figure(&found.figures, "chunk");
    close(chunk.value, 4.0 * 1_048_576.0);
    let verdict = chunk.words().unwrap();
    assert!(verdict.starts_with("write 4194304 into `queue/discard_max_bytes`"), "{verdict}");
    let found = sweep(TrimMode::Queued, &[("keep", "1153us")]);
    close(figure(&found.figures, "chunk").value, 1_048_576.0);
    let found = sweep(TrimMode::Queued, &[("keep", "130us")]);
    let none = figure(&found.figures, "chunk");
    close(none.value, 0.0);
    assert!(none.words().as_deref().unwrap().starts_with("no size keeps 130us"));
    let found = sweep(TrimMode::Queued, &[("keep", "1s")]);
    assert!(figure(&found.figures, "chunk").words().as_deref().unwrap().contains("nothing"));
}

#[test]
fn percentiles_come_only_with_samples_enough_and_agree_with_the_histogram() {
    let found = sweep(TrimMode::Queued, &[("commands", "100")]);
    let long = row(&found, "mapped-4KiB-qd1");
    let PercentilesStep { p90, p99, .. } = long.latency_s.percentiles;
    assert!(p90.is_some() && p99.is_none());
    let short = row(&found, "mapped-16MiB-qd1");
    assert_eq!(short.commands_issued, 5);
    assert_eq!(short.latency_s.percentiles.p50, None, "five have no median here");
    close(short.latency_s.max.unwrap(), 4_226e-6);
    let times: TrimRowTimesStep = step(&found.steps, "mapped-4KiB-qd1").read().unwrap();
    assert_eq!(times.latency.count(), 100);
}

#[test]
fn merged_commands_invalidate_their_rows_and_all_that_rests_on_them() {
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.merged = 2;
    let mut device = Virtual::new(lying);
    let method = method(&[("load-rate", "0")]);
    let found = run(&method, &mut device, &mut KeptSteps::default()).unwrap();
    assert_eq!(step(&found.steps, "mapped-4MiB-qd1").caveats, [Caveat::CommandsMerged.id()]);
    let row = row(&found, "mapped-4MiB-qd1");
    assert_eq!((row.commands_issued, row.commands_completed), (20, 10));
    assert_eq!(figure(&found.figures, "trim-p50").caveats, [Caveat::CommandsMerged.id()]);
}

#[test]
fn discards_that_arrive_shorter_invalidate_their_rows() {
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.short = Bytes(512);
    let mut device = Virtual::new(lying);
    let method = method(&[("load-rate", "0")]);
    let found = run(&method, &mut device, &mut KeptSteps::default()).unwrap();
    let invalid = Caveat::CommandsMerged.id();
    assert!(figure(&found.figures, "trim-p50").caveats.iter().any(|id| id == invalid));
}

/// A row at queue depth 1 of so many discards, with their p50, p99 and longest.
fn made(kind: &str, size: u64, count: u64, [p50, p99, max]: [Option<f64>; 3]) -> Step {
    let percentiles = PercentilesStep { p50, p99, ..PercentilesStep::default() };
    let row = TrimRowStep {
        size_bytes: Bytes(size),
        queue_depth: 1,
        commands_issued: count,
        latency_s: TrimLatencyStep { max, percentiles, ..TrimLatencyStep::default() },
        ..TrimRowStep::default()
    };
    Step::of(format!("{kind}-{size}"), kind, &row)
}

#[test]
fn the_worst_is_that_of_every_content() {
    let made = |kind, size, max| made(kind, size, 2_000, [None, None, Some(max)]);
    let steps = [
        made("mapped", 4_096, 0.1),
        made("trimmed", 4_096, 0.4),
        made("never-written", 8_192, 0.2),
    ];
    let figures = analyse(&method(&[]), &steps).figures;
    let worst = figure(&figures, "trim-max");
    close(worst.value, 0.4);
    assert_eq!((worst.words().as_deref(), worst.n), (Some("in the row trimmed-4096"), 6_000));
}

#[test]
fn the_headline_is_of_the_reference_size_and_of_none_above() {
    let method = method(&[("reference", "1MiB")]);
    let made = |size, p50| made("mapped", size, 2_000, [Some(p50), None, None]);
    let steps = [made(1 << 18, 1e-3), made(1 << 20, 2e-3), made(1 << 22, 9e-3)];
    close(figure(&analyse(&method, &steps).figures, "trim-p50").value, 2.0);
    let larger = analyse(&method, &steps[2..]).figures;
    assert!(larger.iter().all(|figure| figure.id != "trim-p50"));
}

#[test]
fn of_many_discards_the_chunk_goes_by_the_99th_percentile_and_of_few_by_the_longest() {
    let method = method(&[("keep", "10ms")]);
    for (count, chunk) in [(2_000, 1_048_576.0), (999, 0.0)] {
        let steps = [made("mapped", 1 << 20, count, [None, Some(5e-3), Some(0.5)])];
        close(figure(&analyse(&method, &steps).figures, "chunk").value, chunk);
    }
}

#[test]
fn units_that_begin_elsewhere_are_met_there() {
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.alignment = Bytes(1_536);
    let mut device = Virtual::new(lying);
    let method = method(&[("load-rate", "0"), ("unaligned", "no"), ("sizes", "4KiB,1MiB")]);
    run(&method, &mut device, &mut KeptSteps::default()).unwrap();
    let discards = &device.model().discards;
    assert!(!discards.is_empty() && discards.iter().all(|range| range.start().0 % 8 == 3));
}

#[test]
fn a_drive_purged_by_trim_has_no_never_written_rows() {
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.means = PurgeMeans::Trim;
    let mut device = Virtual::new(lying);
    let method = method(&[("load-rate", "0")]);
    let found = run(&method, &mut device, &mut KeptSteps::default()).unwrap();
    assert!(found.steps.iter().all(|step| step.kind != "never-written"));
    let purge = step(&found.steps, "purge");
    assert_eq!(purge.kind, "purge-by-trim");
    assert_eq!(purge.caveats, [Caveat::PurgedByTrim.id()]);
    assert_eq!(device.model().purges, 1);
    assert!(figure(&found.figures, "trim-p50").caveats.is_empty(), "it does not depend on that");
}

#[test]
fn what_was_never_written_is_used_up_and_then_purged_again() {
    // 40 x 16 MiB + 40 x 4 MiB are more than the drive holds.
    let set = [("load-rate", "0"), ("row-bytes-max", "640MiB"), ("sizes", "4MiB,16MiB,12MiB")];
    let mut device = Virtual::new(Lying::new(drive(TrimMode::Queued)));
    let found = run(&method(&set), &mut device, &mut KeptSteps::default()).unwrap();
    assert_eq!(device.model().purges, 4, "5 rows of 160, 480 and 640 MiB, at depth 1 and 8");
    for size in ["4MiB", "12MiB", "16MiB"] {
        let id = format!("never-written-{size}-qd1");
        let units = row(&found, &id).size_bytes.0 as f64 / 4_096.0;
        close(median(&found, &id), 130e-6 + units * 100e-9);
    }
}

#[test]
fn the_load_meets_the_trims_and_its_worst_is_found() {
    let mut config = drive(TrimMode::Blocking);
    config.trim.command = Nanos::from_millis(200);
    let mut device = Virtual::new(Lying::new(config));
    let set = [("sizes", "4MiB"), ("queue-depths", "1"), ("unaligned", "no")];
    let found = run(&method(&set), &mut device, &mut KeptSteps::default()).unwrap();
    let row = row(&found, "mapped-loaded-4MiB-qd1");
    let load = row.load.unwrap();
    // 20 TRIMs of 201 ms one after the other, 1000 accesses a second meanwhile.
    assert_eq!(row.commands_issued, 20);
    assert!((3_600..4_800).contains(&load.accesses), "{}", load.accesses);
    // Whoever comes as a TRIM begins waits for all of it.
    let longest = figure(&found.figures, "loaded-max");
    assert!((0.2..0.3).contains(&longest.value), "{}", longest.value);
    close(longest.value, load.response_s_max);
    let most = figure(&found.figures, "loaded-p98.5").value;
    assert!(most > 0.15 && most <= longest.value * 1.001, "{most}");
    close(load.read_response_s_max.max(load.write_response_s_max), longest.value);
    assert_eq!(row.commands_per_s, None, "paced discards have no rate");
    let times: TrimRowTimesStep = step(&found.steps, "mapped-loaded-4MiB-qd1").read().unwrap();
    assert_eq!(times.response_time.unwrap().count(), load.accesses);
}

/// A drive that serves 500 commands a second.
fn slow() -> SsdConfig {
    let mut config = drive(TrimMode::None);
    config.host.command = Nanos::from_millis(2);
    config
}

#[test]
fn a_load_that_the_drive_does_not_serve_is_halved_until_it_does() {
    let mut device = Virtual::new(Lying::new(slow()));
    let set = [("sizes", "4KiB,1MiB"), ("unaligned", "no"), ("row-time-max", "5s")];
    let found = run(&method(&set), &mut device, &mut KeptSteps::default()).unwrap();
    let LoadAloneStep { asked_per_s, load_per_s: rate, .. } = alone(&found);
    assert_eq!(asked_per_s, 1_000);
    assert!((240..=250).contains(&rate), "half of 500 a second: {rate}");
    let loaded: Vec<&Step> = found.steps.iter().filter(|it| it.kind == "mapped-loaded").collect();
    assert_eq!(loaded.len(), 2);
    for row in loaded {
        let TrimRowStep { load_per_s, load, .. } = row.read().unwrap();
        let load = load.unwrap();
        assert_eq!(load_per_s, Some(rate));
        assert!(load.accesses > 900 && load.response_s_p98_5.is_some());
    }
    let figure_of = |id| figure(&found.figures, id);
    let words = figure_of("load-rate").words().unwrap();
    assert!(words.starts_with("of 1,000 a second the drive serves 49"), "{words}");
    // Nothing waits for a TRIM here: beside TRIMs as without them.
    assert!(figure_of("alone-max").value < 0.1 && figure_of("loaded-max").value < 0.1);
    assert!(found.figures.iter().all(trimbench_results::Figure::is_valid));
}

#[test]
fn beside_a_given_load_that_is_not_served_nothing_is_measured() {
    let mut device = Virtual::new(Lying::new(slow()));
    let set = [("sizes", "4KiB"), ("unaligned", "no"), ("load-rate", "1000")];
    let found = run(&method(&set), &mut device, &mut KeptSteps::default()).unwrap();
    assert_eq!(step(&found.steps, "load-alone").caveats, [Caveat::Overloaded.id()]);
    assert!(found.steps.iter().all(|step| step.kind != "mapped-loaded"));
    assert!(found.figures.iter().all(|figure| !figure.id.starts_with("loaded-")));
    assert!(figure(&found.figures, "trim-max").is_valid(), "no load was beside these");
    let rate = figure(&found.figures, "load-rate");
    assert!(!rate.is_valid() && rate.words().unwrap().contains("serves 500"), "{rate:?}");
    // It ended when a tenth of the arrivals waited: half a backlog of 60 s would be 30,000.
    assert!(alone(&found).load.accesses < 20_000);
}

#[test]
fn a_resumed_run_keeps_the_rate_that_the_drive_serves() {
    let method = method(&[("sizes", "4KiB"), ("unaligned", "no"), ("row-time-max", "5s")]);
    let mut keeper = KeptSteps::default();
    let whole = run(&method, &mut Virtual::new(Lying::new(slow())), &mut keeper).unwrap();
    let until_alone = whole.steps.iter().position(|step| step.kind == "load-alone").unwrap();
    let done = whole.steps[..=until_alone].to_vec();
    // Now it would serve any load: the rows beside it are those of the run that is continued.
    let mut fast = Virtual::new(Lying::new(drive(TrimMode::None)));
    let resumed = resume(&method, &mut fast, &mut KeptSteps::default(), done).unwrap();
    let rate = alone(&resumed).load_per_s;
    assert_eq!(row(&resumed, "mapped-loaded-4KiB-qd1").load_per_s, Some(rate));
}

/// Whether a drive serves 1,000 accesses a second for 5 s that serves `served` a second, and stops
/// once for `stall` before the load ends.
fn serves(served: u64, stall: Nanos) -> bool {
    let length = Nanos::from_secs(5);
    let start = Instant::START;
    let area = DeviceArea {
        start: Bytes(0),
        length: Bytes::mib(1),
        logical_block: trimbench_core::BlockSize::SECTOR,
        data: trimbench_core::Data::Random,
    };
    let access = RandomAccess::new(area, Bytes(4_096), Ppm::ONE, Rng::new(1));
    let gap = Nanos::from_millis(1);
    let open = OpenLoop::new(access, Arrivals::Constant, gap, start..start + length);
    let load = LoadAlone::new(open, 1_000, length);
    let mut seen = SeenAlone::new(start, length);
    let mut free = start;
    for arrival in 0..5_000 {
        let intended = start + gap.times(arrival);
        if arrival == 4_950 {
            free = free.max(intended) + stall;
        }
        free = free.max(intended) + Nanos(1_000_000_000 / served);
        let command = BlockCommand::Read(LbaRange::new(Lba(0), Blocks(8)).unwrap());
        let (issued, completed, status) = (intended, free, Status::Done);
        seen.observe(&Sample { stream: 0, command, intended, issued, completed, status });
    }
    seen.is_served(&load)
}

#[test]
fn a_backlog_that_grows_is_not_served_and_one_stall_is_no_overload() {
    assert!(serves(1_001, Nanos::ZERO) && serves(995, Nanos::ZERO));
    assert!(!serves(970, Nanos::ZERO) && !serves(400, Nanos::ZERO));
    assert!(serves(2_000, Nanos::from_millis(300)), "a stall at the very end");
}

#[test]
fn a_fast_drive_has_its_trims_spread_over_the_load() {
    let found = sweep(TrimMode::None, &[("load-time", "2s")]);
    for step in found.steps.iter().filter(|step| step.kind == "mapped-loaded") {
        let row: TrimRowStep = step.read().unwrap();
        let (span, count) = (row.duration_s, row.commands_issued as f64);
        assert!((span - 2.0 * (count - 1.0) / count).abs() < 0.01, "{}: {span}", step.id);
        assert!(row.load.unwrap().response_s_p98_5.is_some(), "{}", step.id);
    }
}

#[test]
fn a_row_stops_when_its_time_is_up() {
    let mut config = drive(TrimMode::Queued);
    config.trim.command = Nanos::from_millis(100);
    let mut device = Virtual::new(Lying::new(config));
    let set = [("row-time-max", "1s"), ("load-rate", "0"), ("sizes", "4KiB")];
    let found = run(&method(&set), &mut device, &mut KeptSteps::default()).unwrap();
    let TrimRowStep { commands_issued, commands_planned, .. } = row(&found, "mapped-4KiB-qd1");
    assert_eq!((commands_issued, commands_planned), (10, 40));
    let caveats = &step(&found.steps, "mapped-4KiB-qd1").caveats;
    assert!(caveats.is_empty(), "what was not issued was not merged");
}

#[test]
fn a_queue_that_was_never_full_says_so() {
    let mut config = drive(TrimMode::Queued);
    config.trim.command = Nanos::from_millis(100);
    let mut device = Virtual::new(Lying::new(config));
    // Eight begin at once; when the first ends, the time is up.
    let set = [("row-time-max", "100ms"), ("load-rate", "0"), ("sizes", "4KiB")];
    let found = run(&method(&set), &mut device, &mut KeptSteps::default()).unwrap();
    let row = row(&found, "mapped-4KiB-qd8");
    assert_eq!(row.commands_issued, 8);
    assert!((row.outstanding_mean.unwrap() - 4.5).abs() < 0.01);
    assert_eq!(step(&found.steps, "mapped-4KiB-qd8").caveats, [Caveat::QueueNotFull.id()]);
}

#[test]
fn other_load_on_a_real_device_is_noticed_and_our_own_is_not() {
    let method = method(&[("sizes", "4KiB,1MiB"), ("load-rate", "10000")]);
    for (foreign, expected) in [(0, false), (20_000, false), (100_000, true)] {
        let mut lying = Lying::real(drive(TrimMode::Queued));
        lying.foreign = Bytes(foreign);
        let mut device = Virtual::new(lying);
        let found = run(&method, &mut device, &mut KeptSteps::default()).unwrap();
        let id = Caveat::OtherLoad.id().to_owned();
        let quiet = found.steps.iter().filter(|step| !step.kind.ends_with("loaded"));
        let noticed = quiet.filter(|step| step.caveats.contains(&id)).count();
        // 40 discards a row: 0.8 MB are let pass, 4 MB are not.
        assert_eq!(noticed > 0, expected, "{foreign}");
        // The load itself moves some 40 MB a row.
        let loaded = step(&found.steps, "mapped-loaded-4KiB-qd1");
        assert!(loaded.caveats.is_empty(), "{foreign}: {:?}", loaded.caveats);
    }
}

#[test]
fn the_page_has_every_figure() {
    let metrics = method(&[]).metrics();
    for Metric { id, .. } in metrics.iter().filter(|it| !it.id.starts_with("trim-p")) {
        assert!(TrimSweep::INFO.page.contains(&format!("`{id}`")), "{id}");
    }
}

#[test]
fn the_whole_device_is_discarded_in_the_largest_pieces() {
    let mut device = Virtual::new(Lying::new(drive(TrimMode::Queued)));
    let set = [("whole", "yes"), ("load-rate", "0"), ("sizes", "4KiB")];
    let found = run(&method(&set), &mut device, &mut KeptSteps::default()).unwrap();
    let mapped = row(&found, "mapped-whole-32MiB-qd1");
    assert_eq!(mapped.commands_issued, 32);
    // Of each: 130 us and 8192 units.
    close(mapped.duration_s, 32.0 * 8_322e-6);
    assert_eq!(mapped.discarded_bytes_issued, Bytes::gib(1));
    close(row(&found, "trimmed-whole-32MiB-qd1").duration_s, 32.0 * 949.2e-6);
}

#[test]
fn a_resumed_run_equals_one_without_a_break() {
    let method = method(&[("load-rate", "0"), ("sizes", "4KiB,256KiB,4MiB")]);
    let new = || Virtual::new(Lying::new(drive(TrimMode::Blocking)));
    let whole = run(&method, &mut new(), &mut KeptSteps::default()).unwrap();
    let mut keeper = KeptSteps::stopping_after(7);
    let error = run(&method, &mut new(), &mut keeper).unwrap_err();
    assert!(matches!(error, MethodError::Run(RunError::Interrupted)), "{error}");
    assert_eq!(keeper.steps.len(), 7);
    let mut rest = KeptSteps::default();
    let mut after = new();
    let resumed = resume(&method, &mut after, &mut rest, keeper.steps).unwrap();
    assert_eq!(after.model().purges, 1, "nobody knows what was on the drive meanwhile");
    assert_eq!(rest.steps.len(), whole.steps.len() - 7, "nothing is measured twice");
    assert_eq!(resumed.steps, whole.steps);
    assert_eq!(resumed.figures, whole.figures);
    let mut again = new();
    resume(&method, &mut again, &mut KeptSteps::default(), resumed.steps).unwrap();
    assert_eq!(again.model().purges, 0, "a run that is done leaves the drive alone");
}

#[test]
fn the_same_seed_gives_the_same_steps() {
    let once = sweep(TrimMode::Background, &[]);
    assert_eq!(once, sweep(TrimMode::Background, &[]));
}

#[test]
fn a_drive_that_fails_ends_the_run_and_what_was_measured_stays() {
    let at = Instant::from_start(Nanos::from_secs(8));
    let plan = FaultPlan { fail_from: Some(at), ..FaultPlan::default() };
    let mut device = Virtual::new(Lying::broken(drive(TrimMode::Queued), plan));
    let mut keeper = KeptSteps::default();
    let error = run(&method(&[]), &mut device, &mut keeper).unwrap_err();
    let MethodError::Broken { step, errno, .. } = error else { panic!("{error}") };
    assert_eq!(errno, Errno::EIO);
    assert!(keeper.steps.len() > 2 && keeper.steps.iter().all(|kept| kept.id != step), "{step}");
}

#[test]
fn progress_counts_all_rows_and_what_is_left_falls() {
    let mut device = Virtual::new(Lying::new(drive(TrimMode::Queued)));
    let mut keeper = KeptSteps::default();
    let found = run(&method(&[]), &mut device, &mut keeper).unwrap();
    // The purge is one of them.
    let steps = found.steps.len();
    assert!(keeper.stages.iter().all(|&(_, done, total, _)| total == steps && done < steps));
    let last = keeper.stages.last().unwrap();
    assert_eq!(last.1, steps - 1);
    assert!(last.3 < keeper.stages[1].3);
}

#[test]
fn a_directory_a_device_without_discards_and_a_small_one_do_not_fit() {
    let method = method(&[]);
    assert_needs_discards(&method);
    let small = says(Bytes::mib(31), Bytes(4_096), Bytes::gib(1));
    assert!(method.fits(&small).unwrap_err().to_string().contains("needs 32MiB"));
}

#[test]
fn the_published_limits_are_on_figures_that_exist() {
    for text in HLK {
        let limit: Limit = text.parse().unwrap();
        let metrics = method(&[]).metrics();
        assert_eq!(metrics.iter().filter(|metric| limit.names(&metric.id)).count(), 1, "{text}");
        assert_eq!(limit.check_metrics(&metrics), Ok(()), "{text}");
    }
}

#[test]
fn every_figure_found_is_one_of_the_metrics() {
    let found = sweep(TrimMode::Queued, &[("commands", "1000"), ("sizes", "4KiB,64KiB,1MiB")]);
    assert_defined(&method(&[("reference", "1MiB")]).metrics(), &found.figures);
    assert!(found.figures.iter().any(|figure| figure.id == "loaded-p98.5"));
}

#[test]
fn figures_are_a_function_of_the_record() {
    let method = method(&[]);
    let mut device = Virtual::new(Lying::new(drive(TrimMode::Queued)));
    let found = run(&method, &mut device, &mut KeptSteps::default()).unwrap();
    let mut shuffled = found.steps.clone();
    shuffled.reverse();
    assert_eq!(analyse(&method, &found.steps).figures, found.figures);
    assert_eq!(analyse(&method, &shuffled).figures.len(), found.figures.len());
}

#[test]
fn what_the_plan_writes_is_what_the_device_is_written() {
    let method = method(&[("load-rate", "0"), ("fill", "50%")]);
    let mut device = Virtual::new(Lying::new(drive(TrimMode::Queued)));
    run(&method, &mut device, &mut KeptSteps::default()).unwrap();
    let written = trimbench_core::Storage::statistics(&device).write.bytes;
    let shape = Shape::of(trimbench_core::Storage::capabilities(&device), Bytes(0)).unwrap();
    let plan = TrimSweepPlan::new(&method, shape, true, &Rng::new(7));
    assert_eq!(plan.written(&method), written);
    assert!(
        method.demand(Bytes::gib(1), ASSUMED_RATE).written >= written,
        "an estimate from above"
    );
}

#[test]
fn the_interval_of_a_median_holds_it_in_at_least_95_of_100_samples() {
    // P(B < k) summed exactly for n = 20: ranks 5 and 16 hold it with 0.988.
    assert_eq!(median_interval(20), (4, 15));
    let mut rng = Rng::new(3);
    let (mut held, rounds) = (0, 2_000);
    for _ in 0..rounds {
        let mut values: Vec<u64> = (0..200).map(|_| rng.below(1_000_000)).collect();
        values.sort_unstable();
        let (low, high) = median_interval(values.len());
        held += u32::from((values[low]..=values[high]).contains(&500_000));
    }
    assert!((1_890..=1_950).contains(&held), "{held} of {rounds}");
}

proptest! {
    #[test]
    fn discards_are_never_adjacent_and_lie_in_their_slots_behind_the_load(
        granularity in 9_u32..16,
        capacity in 64_u64..4_096,
        discard_max in 1_u64..512,
        commands in 3_u64..300,
        alignment in 0_u64..9,
        seed in any::<u64>(),
    ) {
        let unit = Bytes(1 << granularity);
        let capacity = Bytes::mib(capacity) + Bytes(12_345);
        let capabilities = says(capacity, unit, Bytes::mib(discard_max));
        let shape = Shape::of(&capabilities, Bytes(alignment * 512)).unwrap();
        let origin = shape.origin.0;
        prop_assert!(origin < unit.0 && (origin == alignment * 512 || unit.0 <= alignment * 512));
        let commands = commands.to_string();
        let method = method(&[("commands", commands.as_str())]);
        let plan = TrimSweepPlan::new(&method, shape, true, &Rng::new(seed));
        for row in &plan.rows {
            let slots = plan.slots(&method, row, Bytes(0)).unwrap();
            let ranges = plan.discards(row, &slots);
            let (first, last) = (ranges[0], ranges[ranges.len() - 1]);
            prop_assert!(last.end().0 * 512 <= capacity.0);
            prop_assert_eq!(ranges.len() as u64, row.count);
            let behind = row.kind == SweepKind::NeverWritten || row.kind.is_whole();
            prop_assert!(behind || first.start().0 * 512 >= method.load_span.0);
            for pair in ranges.windows(2) {
                let gap = (pair[1].start().0 - pair[0].end().0) * 512;
                prop_assert!(gap >= unit.0 || row.kind.is_whole(), "{}: {gap}", row.id);
            }
            for range in ranges {
                let bytes = range.length().0 * 512;
                prop_assert!(bytes <= shape.discard_max.0);
                let whole = range.start().0 * 512 % unit.0 == origin && bytes % unit.0 == 0;
                prop_assert!(row.kind.is_unaligned() || row.kind.is_whole() || whole);
                // The kernel would make two of one that begins within a unit.
                prop_assert_eq!(range.start().0 * 512 % unit.0, origin);
                let cut = row.kind.is_unaligned() && (bytes + 512) % unit.0 == 0;
                prop_assert!(cut || !row.kind.is_unaligned());
            }
        }
    }
}
