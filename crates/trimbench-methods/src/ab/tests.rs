use std::sync::LazyLock;

use trimbench_core::{Caveat, MountDiscard, Nanos, Opened};
use trimbench_results::{DeletionDiscardsStep, LatencyHistogram, StepOf, Verdict};

use super::analysis::blocks_needed;
use super::metrics::{BLOCKS_MIN, LEVEL, measures};
use super::program::reported;
use super::*;
use trimbench_engine::testing::{KeptSteps, figure, run_on, settings};
use trimbench_engine::{MethodDefinition as _, MethodResult, Preset};

/// Small files on a small drive.
const SMALL: [(&str, &str); 6] = [
    ("deletes", "64MiB"),
    ("files", "4"),
    ("span", "64MiB"),
    ("blocks-max", "9"),
    ("rest", "10ms"),
    ("lead", "100ms"),
];

fn method(set: &[(&str, &str)]) -> Ab {
    let mut all = settings(&SMALL);
    all.extend(settings(set));
    Ab::resolve(Preset::Quick, &all).unwrap()
}

fn refused(set: &[(&str, &str)]) -> String {
    Ab::resolve(Preset::Quick, &settings(set)).unwrap_err().to_string()
}

fn run(method: &Ab, target: &str, done: Vec<Step>) -> Result<MethodResult, MethodError> {
    let mut filesystems = trimbench_engine::testing::modelled(target);
    run_on(method, Opened::Filesystems(&mut filesystems), &mut KeptSteps::default(), done)
}

/// A drive whose TRIMs take 90 ms each and delay everything else.
static SLOW: LazyLock<MethodResult> =
    LazyLock::new(|| run(&method(&[]), "ext4:sim:vendor2,capacity=2GiB", Vec::new()).unwrap());

fn near(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value}, not {expected}");
}

fn visits(result: &MethodResult) -> Vec<StepOf<'_, AbVisitStep>> {
    result.steps.iter().map(|step| StepOf::read(step).unwrap()).collect()
}

#[test]
fn a_drive_with_slow_trims_is_told_from_itself_without_them() {
    let added = figure(&SLOW.figures, "access-p99.9-discard-added");
    assert!(added.headline, "{added:?}");
    assert_eq!(added.verdict, Some(Verdict::MoreThanIsNoticed { limit: "10 ms".to_owned() }));
    assert!(added.value > 80.0 && added.value < 1_000.0, "{added:?}");
    let (with, without) = (
        figure(&SLOW.figures, "access-p99.9-discard"),
        figure(&SLOW.figures, "access-p99.9-nodiscard"),
    );
    near(added.value, with.value - without.value, 0.1 * with.value);
    let fsync = figure(&SLOW.figures, "fsync-max-discard-added");
    assert!(fsync.value > 80.0, "a commit waits for the discards, too: {fsync:?}");
}

#[test]
fn every_arm_discards_what_it_should_and_nothing_else() {
    for visit in visits(&SLOW) {
        let DeletionDiscardsStep { discarded_bytes_window, discarded_bytes_total } = visit.discards;
        let (window, total) = (discarded_bytes_window.unwrap(), discarded_bytes_total.unwrap());
        match visit.step.kind.as_str() {
            "nodiscard" => assert_eq!((window, total), (Bytes(0), Bytes(0)), "{}", visit.step.id),
            _ => assert!(window >= visit.deleted_bytes, "{}: {window}", visit.step.id),
        }
        assert_eq!(visit.step.caveats, Vec::<String>::new(), "{}", visit.step.id);
    }
}

#[test]
fn every_block_has_each_arm_once_in_an_order_by_lot() {
    let visits = visits(&SLOW);
    assert_eq!(visits.len(), 2 * BLOCKS_MIN as usize);
    let mut begins_with_discard = 0;
    for block in visits.chunks(2) {
        assert_eq!(block[0].block, block[1].block);
        assert_ne!(block[0].step.kind, block[1].step.kind);
        assert!(block[0].place < block[1].place);
        begins_with_discard += usize::from(block[0].step.kind == "discard");
    }
    assert!((1..BLOCKS_MIN as usize).contains(&begins_with_discard), "{begins_with_discard}");
}

#[test]
fn no_cost_is_claimed_of_a_drive_whose_trims_cost_nothing() {
    let free = run(&method(&[]), "ext4:sim:like-optane-900p,capacity=2GiB", Vec::new()).unwrap();
    for measure in measures(&method(&[])) {
        let id = format!("{}-discard-added", measure.id);
        let verdict = figure(&free.figures, &id).verdict.clone().unwrap();
        assert!(!matches!(verdict, Verdict::MoreThanIsNoticed { .. }), "{id}: {verdict}");
    }
}

#[test]
fn btrfs_is_compared_in_each_of_its_modes() {
    let set = [("arms", "discard,discard-async"), ("rate", "100"), ("fsync-interval", "100ms")];
    let btrfs = run(&method(&set), "btrfs:sim:vendor2,capacity=2GiB", Vec::new()).unwrap();
    for visit in visits(&btrfs) {
        let total = visit.discards.discarded_bytes_total.unwrap();
        let is_quiet = visit.step.kind == "nodiscard";
        assert_eq!(total == Bytes(0), is_quiet, "{}: {total}", visit.step.id);
    }
    let max = |arm: &str| figure(&btrfs.figures, &format!("access-max-{arm}-added")).value;
    assert!(max("discard") > 80.0, "{}", max("discard"));
    let auto = method(&[]).arms_among(&[MountDiscard::Off, MountDiscard::Deferred]);
    assert_eq!(auto, [AbArm::Nodiscard, AbArm::DiscardAsync]);
}

#[test]
fn a_filesystem_that_cannot_be_switched_is_refused_before_anything_is_written() {
    let error = run(&method(&[]), "f2fs:sim:vendor2,capacity=2GiB", Vec::new()).unwrap_err();
    assert!(matches!(error, MethodError::Unfit { .. }), "{error}");
    let set = [("arms", "discard-async")];
    let error = run(&method(&set), "ext4:sim:vendor2,capacity=2GiB", Vec::new()).unwrap_err();
    assert!(error.to_string().contains("no `discard=async`"), "{error}");
    for set in [("arms", "trimpace"), ("command", "true")] {
        let error = run(&method(&[set]), "ext4:sim:vendor2,capacity=2GiB", Vec::new()).unwrap_err();
        assert!(error.to_string().contains("on a real filesystem only"), "{error}");
    }
}

#[test]
fn fstrim_in_the_window_trims_what_was_deleted() {
    let set = [("arms", "fstrim"), ("rate", "100")];
    let trimmed = run(&method(&set), "ext4:sim:vendor2,capacity=2GiB", Vec::new()).unwrap();
    for visit in visits(&trimmed) {
        let window = visit.discards.discarded_bytes_window.unwrap();
        match visit.step.kind.as_str() {
            "nodiscard" => assert_eq!(window, Bytes(0)),
            _ => assert!(window >= visit.deleted_bytes, "{}: {window}", visit.step.id),
        }
    }
}

/// A visit whose reads and writes took so long, all of them.
fn visit(block: u64, arm: AbArm, took_ms: f64) -> Step {
    use trimbench_core::settings::Named as _;
    let mut response_time = LatencyHistogram::new();
    for _ in 0..10_000 {
        response_time.record(Nanos::from_seconds(took_ms / 1e3));
    }
    let mut step = Step::new(format!("block-{block}-{}", arm.id()), arm.id());
    let load = AbLoadStep {
        response_s_max: took_ms / 1e3,
        served_per_s: 1_000.0,
        response_time,
        ..AbLoadStep::default()
    };
    step.store(&AbVisitStep { block, load: Some(load), ..AbVisitStep::default() });
    step
}

/// A visit whose command took so long and moved so much.
fn program(block: u64, arm: AbArm, (took_s, moved): (f64, u64)) -> Step {
    use trimbench_core::settings::Named as _;
    let mut step = Step::new(format!("block-{block}-{}", arm.id()), arm.id());
    let program = AbProgramStep {
        program_s: took_s,
        program_written_bytes: Bytes(moved),
        ..AbProgramStep::default()
    };
    step.store(&AbVisitStep { block, program: Some(program), ..AbVisitStep::default() });
    step
}

#[test]
fn a_command_is_compared_by_its_time_and_must_do_the_same_work() {
    let method = method(&[("command", "make check")]);
    let steps = |added_s: f64, moved| -> Vec<Step> {
        let block = |number: u32| {
            let took = 100.0 + f64::from(number % 3);
            let without = program(number.into(), AbArm::Nodiscard, (took, 1_000_000_000));
            [without, program(number.into(), AbArm::Discard, (took + added_s, moved))]
        };
        (1..=9).flat_map(block).collect()
    };
    let found = headline(&method, &steps(20.0, 1_010_000_000));
    assert_eq!((found.id.as_str(), found.unit.as_str()), ("command-discard-added", "s"));
    assert_eq!(found.verdict.unwrap().to_string(), "noticeable: more than 5.05 s");
    assert!(found.caveats.is_empty(), "{:?}", found.caveats);
    let found = headline(&method, &steps(20.0, 1_200_000_000));
    assert_eq!(found.caveats, [Caveat::UnlikeWork.id()]);
    assert!(!found.is_valid());
}

#[test]
fn what_fio_reports_is_the_worst_of_its_jobs() {
    let latencies = |factor: u64| {
        format!(
            r#""clat_ns": {{"max": {}, "percentile": {{"50.000000": {}, "99.000000": {},
               "99.900000": {}}}}}"#,
            9_000 * factor,
            1_000 * factor,
            5_000 * factor,
            7_000 * factor
        )
    };
    let idle = r#""write": {"clat_ns": {"max": 0}}"#;
    let jobs = format!(
        r#"fio: a note {{"jobs": [{{"read": {{{}}}, {idle}}}, {{"read": {{{}}}, {idle}}}]}} end"#,
        latencies(1),
        latencies(3)
    );
    let jobs = jobs.replacen(
        "fio: a note {",
        "fio: a note
{",
        1,
    );
    let found = reported(&jobs).unwrap();
    near(found.reported_s_p50 * 1e9, 3_000.0, 1e-6);
    near(found.reported_s_p999 * 1e9, 21_000.0, 1e-6);
    near(found.reported_s_max * 1e9, 27_000.0, 1e-6);
    for nothing in ["", "done", "{", "{}", r#"{"jobs": []}"#, r#"{"jobs": 3}"#] {
        assert_eq!(reported(nothing), None, "{nothing}");
    }
}

/// Blocks in which `discard` adds these, to a target that becomes slower by `drift` a block.
fn blocks(added_ms: &[f64], drift_ms: f64) -> Vec<Step> {
    let block = |(index, added): (usize, &f64)| {
        let without = 100.0 + drift_ms * index as f64;
        let number = index as u64 + 1;
        let with = visit(number, AbArm::Discard, without + added);
        [visit(number, AbArm::Nodiscard, without), with]
    };
    added_ms.iter().enumerate().flat_map(block).collect()
}

fn headline(method: &Ab, steps: &[Step]) -> trimbench_results::Figure {
    let found = analyse(method, steps);
    found.figures.into_iter().find(|figure| figure.headline).unwrap()
}

#[test]
fn a_drift_of_the_target_is_no_difference_and_is_shown() {
    let noise = [0.1, -0.2, 0.3, -0.1, 0.2, -0.3, 0.15, -0.15, 0.05];
    let steps = blocks(&noise, 30.0 / 8.0);
    let found = analyse(&method(&[]), &steps);
    let headline = found.figures.iter().find(|figure| figure.headline).unwrap();
    assert!(matches!(headline.verdict, Some(Verdict::NoDifferenceFound { .. })), "{headline:?}");
    let drift = found.figures.iter().find(|it| it.id == "access-p99-drift").unwrap();
    near(drift.value, 100.0 * 30.0 / 115.0, 0.5);
}

#[test]
fn the_verdict_says_on_which_side_of_the_limit_the_whole_interval_is() {
    let about = |middle: f64, spread: f64| -> Vec<f64> {
        (0..9).map(|index| middle + spread * (f64::from(index) - 4.0) / 4.0).collect()
    };
    let verdict = |middle, spread| {
        headline(&method(&[]), &blocks(&about(middle, spread), 0.0)).verdict.unwrap().to_string()
    };
    assert_eq!(verdict(30.0, 5.0), "noticeable: more than 10 ms");
    assert_eq!(verdict(5.0, 2.0), "differs, by less than 10 ms: not noticeable");
    assert_eq!(verdict(10.0, 5.0), "differs; whether by more than 10 ms is not told");
    assert_eq!(verdict(-3.0, 1.0), "better than with `nodiscard`");
    assert!(
        verdict(0.0, 1.0).starts_with("no difference found (at most 1"),
        "{}",
        verdict(0.0, 1.0)
    );
}

#[test]
fn too_few_blocks_have_no_verdict() {
    let found = headline(&method(&[]), &blocks(&[30.0; 8], 0.0));
    assert_eq!((found.interval, found.verdict), (None, None));
    assert_eq!(found.caveats, [Caveat::TooFewPoints.id()]);
    let found = headline(&method(&[]), &blocks(&[30.0; BLOCKS_MIN as usize], 0.0));
    assert!(found.interval.is_some_and(|interval| interval.level == LEVEL), "{found:?}");
}

#[test]
fn pairs_beside_other_load_are_left_out_while_enough_remain() {
    let mut steps = blocks(&[1.0; 10], 0.0);
    steps.extend([visit(11, AbArm::Nodiscard, 100.0), visit(11, AbArm::Discard, 500.0)]);
    let last = steps.last_mut().unwrap();
    last.caveat(Caveat::OtherLoad);
    assert_eq!(headline(&method(&[]), &steps).n, 10);
    // One less than the method's blocks would remain.
    let few = &steps[4..];
    assert_eq!(headline(&method(&[]), few).n, 9);
}

#[test]
fn a_pause_spoils_its_block_and_not_the_run() {
    let method = method(&[("blocks-max", "100")]);
    let mut steps = blocks(&[30.0; 9], 0.0);
    steps[3].caveat(Caveat::Paused);
    assert!(!headline(&method, &steps).is_valid(), "too few blocks are left without it");
    assert_eq!(blocks_needed(&method, &steps), 10);
    steps.extend([visit(10, AbArm::Nodiscard, 100.0), visit(10, AbArm::Discard, 130.0)]);
    let found = analyse(&method, &steps);
    assert!(found.figures.iter().all(trimbench_results::Figure::is_valid));
    assert!(found.caveats.is_empty(), "{:?}", found.caveats);
}

#[test]
fn the_noise_decides_how_many_blocks_there_are_and_the_difference_does_not() {
    let method = method(&[("blocks-max", "100")]);
    let spread = |middle: f64, half: f64| -> Vec<Step> {
        let added: Vec<f64> =
            (0..9).map(|index| middle + half * (f64::from(index) - 4.0) / 4.0).collect();
        blocks(&added, 0.0)
    };
    // The interval of nine is from the least to the largest difference; half of 10 ms is wanted.
    assert_eq!(blocks_needed(&method, &spread(100.0, 4.8)), 9);
    for middle in [0.0, 100.0] {
        let blocks = blocks_needed(&method, &spread(middle, 10.0));
        assert!((35..=37).contains(&blocks), "{blocks} at {middle} ms");
    }
    assert_eq!(blocks_needed(&method, &spread(0.0, 50.0)), 100);
    // What was measured beyond the first blocks changes nothing.
    let mut more = spread(100.0, 4.8);
    more.extend([visit(10, AbArm::Nodiscard, 100.0), visit(10, AbArm::Discard, 900.0)]);
    assert_eq!(blocks_needed(&method, &more), 9);
}

#[test]
fn wrong_options_are_refused_with_what_to_give() {
    assert!(refused(&[("arms", "nodiscard")]).contains("name what `nodiscard` is compared with"));
    assert!(refused(&[("blocks", "8")]).contains('9'));
    assert!(refused(&[("blocks", "30"), ("blocks-max", "20")]).contains("as many or more"));
    assert!(refused(&[("arms", "weekly")]).contains("fstrim"));
}

#[test]
fn an_interrupted_run_goes_on_with_the_visits_that_are_left() {
    let half = SLOW.steps[..7].to_vec();
    let whole = run(&method(&[]), "ext4:sim:vendor2,capacity=2GiB", half.clone()).unwrap();
    assert_eq!(whole.steps.len(), SLOW.steps.len());
    assert_eq!(whole.steps[..7], half[..]);
    let ids = |result: &MethodResult| -> Vec<String> {
        result.steps.iter().map(|step| step.id.clone()).collect()
    };
    assert_eq!(ids(&whole), ids(&SLOW));
}
