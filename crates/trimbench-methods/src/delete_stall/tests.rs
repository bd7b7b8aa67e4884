use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Caveat, Errno, FileCommand, FileId, ForceDiscards, Instant, Lba,
    LbaRange, Nanos, Next, Status,
};
use trimbench_results::{DeletionStep, Figure, LatencyHistogram, Role, Series, Step};

use super::subject::FIRST_VICTIM;
use super::window::{LOAD, PROBE, SCRIPT, Window};
use super::*;
use trimbench_engine::testing::{assert_defined, settings};
use trimbench_engine::{MethodDefinition as _, Observer, Preset, Sample};

fn method(set: &[(&str, &str)]) -> DeleteStall {
    DeleteStall::resolve(Preset::Quick, &settings(set)).unwrap()
}

fn at(millis: u64) -> Instant {
    Instant::from_start(Nanos::from_millis(millis))
}

fn sample(stream: usize, intended: u64, completed: u64) -> Sample<BlockCommand> {
    let range = LbaRange::new(Lba(0), Blocks(8)).unwrap();
    Sample {
        stream,
        command: BlockCommand::Read(range),
        intended: at(intended),
        issued: at(intended),
        completed: at(completed),
        status: Status::Done,
    }
}

/// A window of ten seconds with a deletion after one, observed through the samples.
fn observed(samples: &[Sample<BlockCommand>]) -> Window {
    let mut window = Window::new(at(0), at(1_000), at(11_000), Nanos::from_millis(10));
    for sample in samples {
        window.observe(sample);
    }
    window
}

/// The worst responses of a window.
fn responses(window: &Window) -> Series {
    window.deletion(Bytes(0)).response_max.unwrap()
}

#[test]
fn overdue_spans_are_merged_and_counted_once() {
    // 2.0 to 3.0 s and 2.5 to 3.5 s overlap; 5.0 to 5.02 s stands alone; 8 ms is not overdue.
    let found = observed(&[
        sample(LOAD, 2_000, 3_000),
        sample(LOAD, 2_500, 3_500),
        sample(LOAD, 5_000, 5_020),
        sample(LOAD, 6_000, 6_008),
    ]);
    let found = found.measured();
    assert!((found.overdue_s - 1.52).abs() < 1e-9);
    assert!((found.drained_s - 4.02).abs() < 1e-9, "5.02 s less the deletion's 1 s");
    assert!((found.response_s_max.unwrap() - 1.0).abs() < 0.001);
}

#[test]
fn accesses_before_the_deletion_count_only_if_it_held_them_up() {
    let found = observed(&[
        sample(LOAD, 500, 502),
        sample(LOAD, 999, 1_001),
        sample(LOAD, 995, 1_400),
        sample(PROBE, 200, 203),
        sample(PROBE, 1_000, 1_004),
    ]);
    let found = found.measured();
    assert_eq!(found.load_count, 1);
    assert!((found.load_response_s_sum - 0.405).abs() < 1e-9);
    assert!((found.probe_latency_s_sum - 0.004).abs() < 1e-9);
}

#[test]
fn the_longest_gap_is_between_completions_of_one_kind() {
    let found = observed(&[
        sample(LOAD, 1_000, 1_001),
        sample(LOAD, 1_002, 3_001),
        sample(LOAD, 1_003, 3_002),
    ]);
    let found = found.measured();
    assert!((found.read_gap_s - 2.0).abs() < 1e-9);
    assert!(found.write_gap_s.abs() < 1e-9, "nothing was written");
}

#[test]
fn a_stall_beyond_the_window_is_noticed() {
    let mut window = Window::new(at(0), at(1_000), at(2_000), Nanos::from_millis(10));
    window.observe(&sample(LOAD, 1_990, 2_005));
    assert!(!window.outlasted());
    window.observe(&sample(LOAD, 1_980, 2_500));
    assert!(window.outlasted());
}

#[test]
fn failures_are_kept_with_their_reason() {
    let mut window = Window::new(at(0), at(1_000), at(2_000), Nanos::from_millis(10));
    window.observe(&Sample { status: Status::Failed(Errno::EIO), ..sample(LOAD, 1_100, 1_101) });
    assert_eq!(window.failures(), Some((1, Errno::EIO)));
}

/// Steps as recorded, with `S` of each deletion as given and a baseline of 1 ms a probe, 2 ms a
/// request of the load.
fn steps(points: &[(f64, f64)]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut add = |id: String, kind: &str, gigabytes: f64, stutter: f64| {
        let window = StallWindowStep {
            window_s: 10.0,
            probe_count: 1_000,
            probe_latency_s_sum: 1.0 + stutter,
            load_count: 10_000,
            load_response_s_sum: 20.0 + 1_000.0 * stutter * stutter / 2.0,
            overdue_s: stutter,
            ..StallWindowStep::default()
        };
        let label_bytes = Bytes(trimbench_core::units::rounded(gigabytes * 1e9));
        let trial = StallTrialStep { label_bytes, window, ..StallTrialStep::default() };
        steps.push(Step::of(id, kind, &trial));
    };
    for (index, &(gigabytes, stutter)) in points.iter().enumerate() {
        add(format!("delete-{index}"), "delete", gigabytes, stutter);
    }
    for (index, &(gigabytes, _)) in points.iter().enumerate() {
        add(format!("placebo-{index}"), "placebo", gigabytes, 0.0);
    }
    steps
}

/// Changes what load and probe came to.
fn change(step: &mut Step, change: impl FnOnce(&mut StallWindowStep)) {
    let mut window = step.read().unwrap();
    change(&mut window);
    step.store(&window);
}

fn figure<'a>(figures: &'a [Figure], id: &str) -> &'a Figure {
    figures.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("{id} is found"))
}

const SIZES: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

#[test]
fn the_worst_response_is_a_maximum_and_the_mean_of_maxima_is_called_so() {
    let mut steps = steps(&SIZES.map(|gb| (gb, 0.25 * gb)));
    for (index, worst) in [0.9, 0.1, 0.2, 0.3, 0.4].into_iter().enumerate() {
        change(&mut steps[index], |it| it.response_s_max = Some(worst));
    }
    let of_placebo = steps.iter_mut().find(|step| step.kind == "placebo").unwrap();
    change(of_placebo, |it| it.response_s_max = Some(7.0));
    let same_size = Step { id: "delete-9".into(), ..steps[4].clone() };
    steps.insert(5, same_size);
    change(&mut steps[5], |it| it.response_s_max = Some(0.8));
    let figures = analyse(&method(&[]), &mut steps, &mut Rng::new(1)).figures;
    let worst = figure(&figures, "response-max");
    assert_eq!((worst.value, worst.role.clone()), (0.9, Some(Role::WaitAfterDeletion)));
    let mean = figure(&figures, "largest-response-max");
    assert!((mean.value - 0.6).abs() < 1e-9 && mean.role.is_none(), "{mean:?}");
    assert_eq!(mean.title, "mean of the worst responses, 4GB deleted");
}

#[test]
fn a_proportional_stall_gives_its_slope_and_a_delay_that_grows_with_the_square() {
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, 0.25 * gb); 3]).collect();
    let mut steps = steps(&points);
    let Findings { figures, caveats } = analyse(&method(&[]), &mut steps, &mut Rng::new(1));
    let headline = figure(&figures, "stutter");
    assert!((headline.value - 0.25).abs() < 1e-9 && headline.headline);
    assert_eq!(headline.words().as_deref(), Some("differs from placebo"));
    assert!((figure(&figures, "delay-exponent").value - 2.0).abs() < 1e-6);
    assert!(figure(&figures, "stutter-intercept").value.abs() < 1e-9);
    assert!(figure(&figures, "stutter-curvature").value.abs() < 1e-9);
    // A = r T^2 / 2 with r = 1000 and T = 1 s.
    assert!((figure(&figures, "largest-delay").value - 500.0).abs() < 1e-6);
    assert!((figure(&figures, "largest-equivalent-stop").value - 1.0).abs() < 1e-9);
    assert!((figure(&figures, "overdue").value - 0.25).abs() < 1e-9);
    assert_eq!(caveats, []);
}

#[test]
fn noise_around_zero_is_called_noise() {
    let mut rng = Rng::new(9);
    let noise = |rng: &mut Rng| (rng.below(2_001) as f64 - 1_000.0) / 1e5;
    let points: Vec<_> =
        SIZES.iter().flat_map(|&gb| [gb; 3]).map(|gb| (gb, noise(&mut rng))).collect();
    let Findings { figures, .. } = analyse(&method(&[]), &mut steps(&points), &mut Rng::new(1));
    let headline = figure(&figures, "stutter");
    assert!(headline.interval.unwrap().contains(0.0));
    assert_eq!(headline.words().as_deref(), Some("no slowdown found (at most 0.007 s/GB)"));
    assert_eq!(headline.caveats, [Caveat::Noise.id()]);
}

#[test]
fn an_effect_that_rounds_to_nothing_is_called_nothing() {
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, 0.000_04 * gb); 3]).collect();
    let Findings { figures, .. } = analyse(&method(&[]), &mut steps(&points), &mut Rng::new(1));
    let headline = figure(&figures, "stutter");
    assert_eq!(headline.words().as_deref(), Some("nothing to notice"));
}

#[test]
fn a_stall_that_is_the_same_for_every_size_is_not_called_nothing() {
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, 2.0); 3]).collect();
    let Findings { figures, .. } = analyse(&method(&[]), &mut steps(&points), &mut Rng::new(1));
    let headline = figure(&figures, "stutter");
    assert!(headline.value.abs() < 1e-9);
    assert_eq!(headline.words().as_deref(), Some("stalls, whatever the size"));
    assert!((figure(&figures, "stutter-per-deletion").value - 2.0).abs() < 1e-9);
}

#[test]
fn deletions_that_are_quicker_than_placebos_are_invalid() {
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, -0.002); 3]).collect();
    let Findings { figures, .. } = analyse(&method(&[]), &mut steps(&points), &mut Rng::new(1));
    assert!(figure(&figures, "stutter-per-deletion").interval.unwrap().high < 0.0);
    assert_eq!(figure(&figures, "stutter").caveats, [Caveat::FasterThanPlacebo.id()]);
}

#[test]
fn what_follows_the_writes_alone_is_no_stutter() {
    // Both of a pair wait by as much after a large file was written.
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, 0.25 * gb); 3]).collect();
    let mut steps = steps(&points);
    for step in steps.iter_mut().filter(|step| step.kind == "placebo") {
        let trial: StallTrialStep = step.read().unwrap();
        let after = 1.0 + 0.25 * trial.label_bytes.0 as f64 / 1e9;
        change(step, |it| it.probe_latency_s_sum = after);
    }
    let Findings { figures, .. } = analyse(&method(&[]), &mut steps, &mut Rng::new(1));
    let headline = figure(&figures, "stutter");
    assert!(headline.value.abs() < 1e-9, "{}", headline.value);
    assert_eq!(headline.words().as_deref(), Some("nothing to notice"));
    assert!(figure(&figures, "largest-stutter").value.abs() < 1e-9);
}

#[test]
fn accesses_that_take_no_time_are_below_the_resolution() {
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, 0.0); 3]).collect();
    for (nanos, expected) in [(1, vec![]), (0, vec![Caveat::BelowResolution])] {
        let mut steps = steps(&points);
        let mut histogram = LatencyHistogram::new();
        (0..9).for_each(|_| histogram.record(Nanos(nanos)));
        for step in &mut steps {
            change(step, |it| it.probe_latency = histogram.clone());
        }
        assert_eq!(analyse(&method(&[]), &mut steps, &mut Rng::new(1)).caveats, expected);
    }
}

#[test]
fn one_size_has_no_slope_and_says_so() {
    let Findings { figures, caveats } =
        analyse(&method(&[]), &mut steps(&[(1.0, 0.5); 3]), &mut Rng::new(1));
    assert!(figures.iter().all(|figure| !figure.headline));
    assert_eq!(caveats, [Caveat::TooFewPoints]);
}

#[test]
fn placebos_that_other_load_spoiled_are_not_the_baseline() {
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, 0.25 * gb); 3]).collect();
    let mut steps = steps(&points);
    let spoiled = steps.last_mut().unwrap();
    change(spoiled, |it| it.probe_latency_s_sum = 9.0);
    spoiled.caveat(Caveat::OtherLoad);
    let Findings { figures, .. } = analyse(&method(&[]), &mut steps, &mut Rng::new(1));
    assert!(figure(&figures, "stutter-intercept").value.abs() < 1e-9);
}

#[test]
fn without_placebos_there_are_no_figures() {
    let mut steps = steps(&[(1.0, 0.1), (2.0, 0.2)]);
    steps.retain(|step| step.kind != "placebo");
    let Findings { figures, caveats } = analyse(&method(&[]), &mut steps, &mut Rng::new(1));
    assert_eq!((figures, caveats), (Vec::new(), vec![Caveat::TooFewPoints]));
}

#[test]
fn every_figure_found_is_one_of_the_metrics() {
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, 0.25 * gb); 3]).collect();
    let Findings { figures, .. } = analyse(&method(&[]), &mut steps(&points), &mut Rng::new(1));
    let mut planted = method(&[]);
    planted.sizes = vec![Bytes(4_000_000_000)];
    assert_defined(&planted.metrics(), &figures);
}

#[test]
fn the_plan_interleaves_all_trials_in_an_order_of_the_seed() {
    let method = method(&[("sizes", "1GB,1MiB,1GB"), ("repetitions", "2")]);
    let plan = DeleteStallPlan::new(&method, &Rng::new(1));
    assert_eq!(plan.trials.len(), 2 * 2 * 2);
    for block in plan.trials.chunks(4) {
        let written: u64 = block.iter().map(|trial| trial.label.0).sum();
        assert_eq!(written, 2 * (1_048_576 + 1_000_000_000 / 4_096 * 4_096), "in each block");
    }
    assert_eq!(plan, DeleteStallPlan::new(&method, &Rng::new(1)));
    assert_ne!(plan, DeleteStallPlan::new(&method, &Rng::new(2)));
    let sizes: u64 = plan.trials.iter().map(|trial| trial.size.0).sum();
    assert_eq!(sizes, 2 * (1_048_576 + 1_000_000_000 / 4_096 * 4_096));
}

#[test]
fn a_placebo_only_plan_deletes_nothing() {
    let plan = DeleteStallPlan::new(&method(&[("placebo-only", "yes")]), &Rng::new(1));
    assert!(plan.trials.iter().all(|trial| trial.size == Bytes(0)));
    assert_eq!(plan.trials.iter().filter(|trial| trial.kind == "mock").count(), 15);
}

/// What a deletion on a device sends at once, again and again, when all of it has ended; discards
/// as first and length, MiB.
fn sent_in_turn(method: &DeleteStall, limit: Bytes, size: Bytes) -> Vec<Vec<(u64, u64)>> {
    let subject = DeviceSubject::new(method, trimbench_core::BlockSize::SECTOR, limit);
    let mut deletion = subject.deletion(at(0), 0, size);
    let mut turns = Vec::new();
    let mut now = at(0);
    loop {
        let mut sent = Vec::new();
        let next = loop {
            match deletion.next(now) {
                Next::Issue { command, .. } => sent.push(command),
                next => break next,
            }
        };
        turns.push(sent.iter().filter_map(mebibytes).collect());
        for command in &sent {
            deletion.completed(command, now);
        }
        match next {
            Next::Done => return turns,
            Next::NotBefore(at) => now = at,
            _ => assert!(!sent.is_empty(), "it waits for something"),
        }
    }
}

fn mebibytes(command: &BlockCommand) -> Option<(u64, u64)> {
    match command {
        BlockCommand::Discard(range) => Some((range.start().0 / 2_048, range.length().0 / 2_048)),
        _ => None,
    }
}

#[test]
fn a_device_extent_is_discarded_whole_range_after_range() {
    let method = method(&[("chunk", "4MiB"), ("span", "1MiB")]);
    let (limit, size) = (Bytes::mib(3), Bytes::mib(7));
    let turns = sent_in_turn(&method, limit, size);
    // A flush, then ranges of 4 MiB one after the other, each in pieces that the device takes.
    assert_eq!(turns, [vec![], vec![(1, 3), (4, 1)], vec![(5, 3)], vec![]]);
    assert_eq!(sent_in_turn(&method, limit, Bytes(0)), [vec![], vec![]], "a placebo");
    let of_any_length =
        DeleteStall { chunk: None, issuer: trimbench_policy::Issuer::Xfs, ..method };
    assert_eq!(sent_in_turn(&of_any_length, limit, Bytes(0)), [vec![], vec![]], "a placebo");
}

#[test]
fn issuers_send_as_many_ranges_at_once_as_they_do() {
    let turns = |set: &[(&str, &str)]| {
        let method = method(&[&[("span", "1MiB")], set].concat());
        let turns = sent_in_turn(&method, Bytes::gib(2), Bytes::mib(400));
        turns.into_iter().map(|turn| turn.len()).filter(|sent| *sent > 0).collect::<Vec<_>>()
    };
    assert_eq!(turns(&[]), [1; 4], "ext4 sends one group at a time");
    assert_eq!(turns(&[("as", "ext4-4.13")]), [4], "all of a transaction");
    assert_eq!(turns(&[("as", "xfs")]), [1], "the extent as it is");
    assert_eq!(turns(&[("as", "btrfs-async")]), [1; 7], "64 MiB");
    assert_eq!(turns(&[("as", "f2fs"), ("chunk", "16MiB")]), [8, 8, 8, 1], "rounds of eight");
    assert_eq!(turns(&[("discard-depth", "3")]), [3, 1]);
    assert_eq!(turns(&[("as", "xfs"), ("chunk", "128MiB"), ("discard-depth", "all")]), [4]);
}

#[test]
fn an_issuer_that_pauses_waits_after_each_round() {
    let method = method(&[("as", "f2fs"), ("chunk", "16MiB"), ("span", "1MiB")]);
    let subject = DeviceSubject::new(&method, trimbench_core::BlockSize::SECTOR, Bytes::gib(2));
    let mut deletion = subject.deletion(at(0), 0, Bytes::mib(256));
    deletion.next(at(0));
    deletion.completed(&BlockCommand::Flush, at(0));
    let mut sent = Vec::new();
    while let Next::Issue { command, .. } = deletion.next(at(0)) {
        sent.push(command);
    }
    assert_eq!((sent.len(), deletion.next(at(0))), (8, Next::Await));
    for (command, ended) in sent.iter().zip(1..) {
        assert_eq!(deletion.next(at(ended)), Next::Await, "a round begins together");
        deletion.completed(command, at(ended));
    }
    assert_eq!(deletion.next(at(8)), Next::NotBefore(at(58)), "50 ms after the last");
}

#[test]
fn a_directory_deletion_syncs_and_forces_the_log_where_it_must() {
    let unlink = DirectorySubject::new(&method(&[]), ForceDiscards::Sync);
    let groups = unlink.delete(3, Bytes::mib(1));
    assert!(matches!(groups[0][..], [FileCommand::Unlink { .. }]));
    assert_eq!(groups[1..], [[FileCommand::SyncFilesystem]]);
    assert_eq!(unlink.tidy(3), Vec::<Vec<FileCommand>>::new());
    let xfs = DirectorySubject::new(&method(&[]), ForceDiscards::FsyncDirtyFile);
    assert!(matches!(xfs.delete(3, Bytes(0)).last().unwrap()[..], [FileCommand::Fsync { .. }]));
    let truncate = DirectorySubject::new(&method(&[("mode", "truncate")]), ForceDiscards::Sync);
    assert!(matches!(truncate.delete(3, Bytes(1))[0][..], [FileCommand::Truncate { .. }]));
    assert!(matches!(truncate.tidy(3)[0][..], [FileCommand::Unlink { .. }]));
}

#[test]
fn a_directory_deletes_chunks_as_whole_files_or_from_the_end_of_one() {
    let chunks = |mode: &str| {
        let subject = DirectorySubject::new(&method(&[("mode", mode)]), ForceDiscards::Sync);
        let (size, chunk) = (Bytes::mib(5), Bytes::mib(2));
        let first = |groups: Groups<FileCommand>| groups[0][0];
        let deletions = subject.delete_chunks(size, chunk).into_iter().map(first).collect();
        (subject.chunk_files(size, chunk), deletions)
    };
    let (one, last) = (Bytes::mib(1), Bytes::mib(4));
    let file = FileId(FIRST_VICTIM);
    let unlinked: Vec<FileCommand> =
        (0..3).map(|it| FileCommand::Unlink { file: FileId(FIRST_VICTIM + it) }).collect();
    assert_eq!(
        chunks("unlink"),
        (vec![(0, Bytes::mib(2)), (1, Bytes::mib(2)), (2, one)], unlinked)
    );
    let cut = [last, Bytes::mib(2), Bytes(0)].map(|length| FileCommand::Truncate { file, length });
    assert_eq!(chunks("truncate"), (vec![(0, Bytes::mib(5))], cut.into()));
    let punch = |offset, length| FileCommand::PunchHole { file, offset, length };
    let two = Bytes::mib(2);
    let holes = vec![punch(last, one), punch(two, two), punch(Bytes(0), two)];
    assert_eq!(chunks("punch-hole"), (vec![(0, Bytes::mib(5))], holes));
}

#[test]
fn what_was_intended_after_the_window_does_not_count() {
    let window = observed(&[sample(LOAD, 10_999, 11_003), sample(LOAD, 11_000, 11_001)]);
    assert_eq!(window.measured().load_count, 1);
}

#[test]
fn the_deletion_lasts_until_its_last_command_has_ended() {
    let window = observed(&[sample(SCRIPT, 1_000, 1_500), sample(SCRIPT, 1_500, 2_100)]);
    assert!((window.measured().deletion_s - 1.1).abs() < 1e-9);
}

#[test]
fn a_schedule_that_was_not_kept_shows_in_the_lateness() {
    let late = Sample { issued: at(2_020), ..sample(LOAD, 2_000, 2_025) };
    let window = observed(&vec![late; 1_000]);
    assert!((window.measured().lateness_s_p99 - 0.02).abs() < 0.001);
}

#[test]
fn what_the_kernel_held_is_not_this_machines_lateness() {
    // Due at 2,000 to 2,090 and issued at 2,100: held from 1,990 to 2,060, and from 2,070 to 2,098.
    let mut window = Window::new(at(0), at(1_000), at(11_000), Nanos::from_millis(10));
    Observer::<BlockCommand>::held(&mut window, at(500), at(1_010));
    Observer::<BlockCommand>::held(&mut window, at(1_990), at(2_060));
    Observer::<BlockCommand>::held(&mut window, at(2_070), at(2_098));
    for number in 0..1_000 {
        let intended = 2_000 + number % 10 * 10;
        window.observe(&Sample { issued: at(2_100), ..sample(LOAD, intended, 2_101) });
    }
    // A later span says nothing of them.
    Observer::<BlockCommand>::held(&mut window, at(2_200), at(2_300));
    let found = window.measured();
    assert!((found.lateness_s_p99 - 0.012).abs() < 1e-4, "{found:?}");
    assert!((found.held_s.unwrap() - 0.208).abs() < 1e-9, "10 ms of the first count");
    assert!(found.response_s_max > Some(0.1));
}

#[test]
fn the_picture_shows_the_worst_response_of_each_bin() {
    // 15 bins lead to the deletion after a second: one is 66.7 ms wide.
    let window = observed(&[sample(LOAD, 0, 50), sample(LOAD, 10, 12), sample(LOAD, 67, 68)]);
    let series = responses(&window);
    assert_eq!(series.y[..3], [Some(50.0), Some(1.0), None]);
    assert_eq!((series.x[0], series.x.len()), (0.0, 165));
}

#[test]
fn a_bin_begins_with_the_deletion_however_short_the_lead() {
    for lead in [0, 1, 3, 20, 500, 5_000] {
        let mut window = Window::new(at(0), at(lead), at(lead + 3_000), Nanos::from_millis(10));
        window.observe(&sample(LOAD, lead, lead + 7));
        window.observe(&sample(LOAD, lead + 2_999, lead + 3_000));
        let series = responses(&window);
        let place = series.y.iter().position(Option::is_some).unwrap();
        let (begins, lead) = (series.x[place], lead as f64 / 1e3);
        assert!((begins - lead).abs() < 1e-6, "{lead}: {begins}");
        assert!(series.y.last().unwrap().is_some() && series.x.len() <= 321, "{lead}");
    }
}

#[test]
fn a_stall_is_drawn_from_the_deletion_on_and_not_before() {
    let window = observed(&[sample(LOAD, 998, 1_400), sample(LOAD, 990, 995)]);
    let series = responses(&window);
    let drawn: Vec<(f64, f64)> =
        series.x.iter().zip(&series.y).filter_map(|(x, y)| Some((*x, (*y)?))).collect();
    let [(before, low), (begins, high)] = drawn.as_slice() else { panic!("{drawn:?}") };
    assert!(*before < 0.94 && (low - 5.0).abs() < 1e-9);
    assert!((begins - window.deletion(Bytes(0)).deleted_at_s).abs() < 1e-6, "{begins}");
    assert!((high - 402.0).abs() < 1e-9);
}

#[test]
fn placebos_that_stalled_make_the_baseline_unsteady() {
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, 0.25 * gb); 3]).collect();
    for (overdue, caveats) in [(0.1, vec![]), (0.11, vec![Caveat::UnsteadyBaseline])] {
        let mut steps = steps(&points);
        change(steps.last_mut().unwrap(), |it| it.overdue_s = overdue);
        assert_eq!(
            analyse(&method(&[]), &mut steps, &mut Rng::new(1)).caveats,
            caveats,
            "{overdue} s"
        );
    }
}

#[test]
fn percentiles_of_deletions_and_placebos_are_kept_apart() {
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, 0.25 * gb); 3]).collect();
    let mut steps = steps(&points);
    for step in &mut steps {
        let mut histogram = LatencyHistogram::new();
        let millis = if step.kind == "placebo" { 1 } else { 4 };
        (0..20).for_each(|_| histogram.record(Nanos::from_millis(millis)));
        change(step, |it| it.response_time = histogram);
    }
    let Findings { figures, .. } = analyse(&method(&[]), &mut steps, &mut Rng::new(1));
    assert!((figure(&figures, "response-p50").value - 4.0).abs() < 0.01);
    assert!((figure(&figures, "response-p50-placebo").value - 1.0).abs() < 0.01);
}

#[test]
fn the_headline_carries_the_caveats_of_its_steps() {
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, 0.25 * gb); 3]).collect();
    let mut steps = steps(&points);
    steps[3].caveat(Caveat::DiscardsIncomplete);
    let Findings { figures, .. } = analyse(&method(&[]), &mut steps, &mut Rng::new(1));
    assert_eq!(figure(&figures, "stutter").caveats, [Caveat::DiscardsIncomplete.id()]);
}

#[test]
fn spoiled_pairs_are_no_part_of_the_difference() {
    let points: Vec<_> = SIZES.iter().flat_map(|&gb| [(gb, 0.25 * gb); 3]).collect();
    let mut steps = steps(&points);
    steps.last_mut().unwrap().caveat(Caveat::OtherLoad);
    let Findings { figures, .. } = analyse(&method(&[]), &mut steps, &mut Rng::new(1));
    assert_eq!(figure(&figures, "stutter-per-deletion").n, 14);
}

#[test]
fn the_deletion_that_is_asked_about_is_measured_with_smaller_ones() {
    assert_eq!(DeleteStall::sizes_about(Bytes::gib(16)), "4GiB,8GiB,16GiB");
    assert_eq!(DeleteStall::sizes_about(Bytes::mib(3)), "1536KiB,3MiB");
    let odd = DeleteStall::sizes_about(Bytes(1_000_000_001));
    assert_eq!(
        method(&[("sizes", &odd)]).sizes.last(),
        Some(&Bytes(1_000_000_001 / 4_096 * 4_096))
    );
    // Too small for the method, which says so.
    assert_eq!(DeleteStall::sizes_about(Bytes(4_096)), "4KiB");
}

#[test]
fn sizes_and_span_are_whole_units() {
    let method = method(&[("span", "1234567B"), ("sizes", "1048577B")]);
    assert_eq!((method.span, method.sizes), (Bytes(1_232_896), vec![Bytes(1_048_576)]));
}

/// A closed loop of 1,000 reads a second, of which 100 are left for this time after a deletion.
fn slow_for(seconds: f64) -> Step {
    let x: Vec<f64> = (0..110).map(|bin| f64::from(bin) / 10.0).collect();
    let is_slow = |x: f64| (1.0..1.0 + seconds - 0.01).contains(&x);
    let y = x.iter().map(|&x| Some(if is_slow(x) { 100.0 } else { 1_000.0 }));
    let reads = Series::new("s", "1/s", x.clone(), y.collect());
    let trial = StallTrialStep {
        deletion: DeletionStep { deleted_at_s: 1.0, ..DeletionStep::default() },
        label_bytes: Bytes(1_000_000_000),
        curves: StallCurvesStep { reads, discarded: None },
        ..StallTrialStep::default()
    };
    Step::of("delete-1", "delete", &trial)
}

#[test]
fn a_closed_loop_tells_how_long_and_how_deep_it_was_slow() {
    let method = method(&[("readers", "8")]);
    let mut steps: Vec<Step> = steps(&[(1.0, 0.0); 4]);
    steps.extend([slow_for(2.0), slow_for(4.0)]);
    let Findings { figures, .. } = analyse(&method, &mut steps, &mut Rng::new(1));
    let value = |id: &str| figure(&figures, id).value;
    assert!((value("reads-at-rest") - 1_000.0).abs() < 1e-9);
    assert!((value("largest-slow-time") - 3.0).abs() < 1e-9, "{}", value("largest-slow-time"));
    assert!((value("largest-slow-reads") - 100.0).abs() < 1e-9);
    assert!(figures.iter().all(|figure| figure.id != "largest-delay"), "of the open loop");
    let planted = DeleteStall { sizes: vec![Bytes(1_000_000_000)], ..method };
    assert_defined(&planted.metrics(), &figures);
}

#[test]
fn a_closed_loop_that_was_never_slow_has_no_reads_meanwhile() {
    let method = method(&[("readers", "8")]);
    let mut steps: Vec<Step> = steps(&[(1.0, 0.0); 4]);
    steps.push(slow_for(0.0));
    let Findings { figures, .. } = analyse(&method, &mut steps, &mut Rng::new(1));
    assert!(figure(&figures, "largest-slow-time").value.abs() < 1e-9);
    assert!(figures.iter().all(|figure| figure.id != "largest-slow-reads"));
}

#[test]
fn the_search_wants_the_open_loop() {
    let set = settings(&[("readers", "8"), ("p999-limit", "5ms")]);
    let error = DeleteStall::resolve(Preset::Quick, &set).unwrap_err().to_string();
    assert!(error.contains("readers") && error.contains("open-loop"), "{error}");
}

#[test]
fn the_reads_that_end_in_each_bin_are_counted() {
    let mut window = Window::new(at(0), at(1_000), at(11_000), Nanos::from_millis(10));
    // A bin is 66.7 ms wide.
    for (intended, completed) in [(0, 10), (10, 60), (60, 70)] {
        window.observe(&sample(LOAD, intended, completed));
    }
    let rates = window.curves(true).reads.unwrap().y;
    let counts: Vec<f64> = rates.iter().take(3).map(|rate| rate.unwrap() / 15.0).collect();
    assert!((counts[0] - 2.0).abs() < 0.01 && (counts[1] - 1.0).abs() < 0.01, "{counts:?}");
    assert_eq!(rates[2], Some(0.0));
}
