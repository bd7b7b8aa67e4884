//! Passes on a device of which every number is known.

use trimbench_core::Caveat;

use super::*;
use trimbench_engine::testing::{assert_defined, close, figure};

const STRIPPED: &[(&str, &str)] = &[("passes", "stripped"), ("queue-depths", "1")];

fn is_trim(command: &BlockCommand) -> bool {
    matches!(command, BlockCommand::Discard(_))
}

/// A pass that is kept as this step.
fn passed(step: &Step) -> ReplayPassStep {
    step.read().expect("it is whole")
}

/// What the toy was sent in one pass, without the fill; TRIMs take `trim` longer than 100 us.
fn pass(set: &[(&str, &str)], trim: Nanos) -> Vec<(Nanos, BlockCommand)> {
    let mut toy = Virtual::new(Toy { slower_by_trim: trim, ..Toy::new() });
    let (found, _) = run(&replay(set), &mut toy, &Shelf::of(mixed()), Vec::new());
    found.expect("it is replayed");
    sent(&toy.model().log, FILL)
}

#[test]
fn stripping_trims_leaves_the_issue_of_all_other_commands_where_it_was() {
    let paced = |trims, trim| pass(&[("pace", "100%"), ("passes", trims)], trim);
    // Two seconds a TRIM: some hundred commands are due meanwhile.
    let mut kept = paced("kept", Nanos::from_secs(2));
    let stripped = paced("stripped", Nanos::ZERO);
    assert_eq!((kept.len(), stripped.len()), (2_000, 1_800));
    kept.retain(|(_, command)| !is_trim(command));
    assert_eq!(kept, stripped);
    let first = mixed()[0].time;
    let due: Vec<Nanos> = mixed()
        .iter()
        .filter(|record| record.kind == RecordKind::Write)
        .map(|record| record.time - first)
        .collect();
    let issued: Vec<Nanos> = stripped.iter().map(|(at, _)| *at).collect();
    assert_eq!(issued, due, "at the trace's own times");
}

#[test]
fn times_are_stretched_by_the_scale() {
    let log = pass(&[("pace", "50%"), ("passes", "kept")], Nanos::ZERO);
    let records = mixed();
    let at = |index: usize| (records[index].time - records[0].time).0;
    for index in [100, 1_999] {
        let off = log[index].0.0.abs_diff(at(index) / 2);
        assert!(off <= 1, "command {index} is {off} ns off");
    }
}

#[test]
fn commands_come_in_the_order_of_the_trace_and_trims_take_no_place_in_the_queue() {
    let expected: Vec<u64> = mixed().iter().map(|record| record.offset.0).collect();
    for (depth, text) in [(1, "1"), (4, "4")] {
        let set = [("queue-depths", text), ("passes", "kept")];
        let log = pass(&set, Nanos::from_millis(3));
        let starts: Vec<u64> = log.iter().map(|(_, command)| place(command).0).collect();
        assert_eq!(starts, expected);
        // 1,800 writes of 100 us each, so many at a time; 200 TRIMs of 3.1 ms cost them nothing.
        let last = log.last().unwrap().0;
        assert_eq!(last, Nanos::from_micros(1_800 / depth * 100 - 100), "depth {depth}");
    }
}

#[test]
fn too_many_trims_under_way_hold_the_next_one_and_what_follows() {
    let mut records: Vec<Record> =
        (0..1_030).map(|number| record(0, RecordKind::Discard, number, 1)).collect();
    records.push(record(0, RecordKind::Write, 0, 1));
    let set = [("passes", "kept"), ("queue-depths", "1")];
    let mut toy = Virtual::new(Toy::new());
    run(&replay(&set), &mut toy, &Shelf::of(records), Vec::new()).0.expect("it is replayed");
    let log = sent(&toy.model().log, FILL);
    let late: Vec<usize> = (0..log.len()).filter(|&at| log[at].0 > Nanos::ZERO).collect();
    assert_eq!(late, (1_024..1_031).collect::<Vec<_>>());
}

#[test]
fn windows_are_the_same_part_of_the_trace_with_and_without_trims() {
    let mut toy = Virtual::new(Toy::new());
    let set = [("queue-depths", "1"), ("window-counts", "all")];
    let method = replay(&set);
    let (found, keeper) = run(&method, &mut toy, &Shelf::of(mixed()), Vec::new());
    let found = found.expect("it is replayed");
    assert_eq!(keeper.kept(), ["trace", "qd1-kept", "qd1-stripped"]);
    for step in &found.steps[1..] {
        let meter = passed(step).meter;
        let iops = meter.windows.iops.unwrap();
        // 20 windows of 100 commands, of which 90 are writes: one every 100 us.
        assert_eq!(iops.y.len(), 20, "{}", step.id);
        iops.y.iter().for_each(|rate| close(rate.unwrap(), 10_000.0));
        close(meter.write_iops.unwrap(), 10_000.0);
        assert_eq!(meter.write_count, 1_800);
    }
    let [kept, stripped] = [1, 2].map(|index: usize| passed(&found.steps[index]));
    assert_eq!((kept.meter.discard_count, stripped.meter.discard_count), (200, 0));
    assert_eq!(stripped.feed.stripped_trim_count, 200);
    close(figure(&found.figures, "gain-qd1-kept").value, 1.0);
    assert_defined(&method.metrics(), &found.figures);

    let of_writes = replay(&[("window-counts", "writes"), ("queue-depths", "1")]);
    let (found, _) = run(&of_writes, &mut toy, &Shelf::of(mixed()), Vec::new());
    for step in &found.expect("it is replayed").steps[1..] {
        let iops = passed(step).meter.windows.iops.unwrap();
        assert_eq!(iops.y.len(), 18, "windows of 100 writes");
    }
}

#[test]
fn a_real_device_is_purged_and_filled_before_each_pass() {
    let mut toy = Virtual::new(Toy::new());
    let method = replay(&[("queue-depths", "1,4")]);
    let (found, _) = run(&method, &mut toy, &Shelf::of(mixed()), Vec::new());
    let found = found.expect("it is replayed");
    assert_eq!(toy.model().purges, 4);
    assert!(found.caveats.contains(&trimbench_core::Caveat::PurgedByTrim));
    let log = &toy.model().log;
    assert_eq!(log.len(), 4 * FILL + 2 * (2_000 + 1_800));
    let fills = [0, FILL + 2_000, 2 * FILL + 3_800, 3 * FILL + 5_800];
    for start in fills {
        let fill = log[start..start + FILL].iter().map(|(_, piece)| place(piece));
        let expected = (0..16).map(|number| (number << 20, (number + 1) << 20));
        assert!(fill.eq(expected), "each byte once, in order");
    }
}

#[test]
fn lateness_is_measured_when_more_is_due_than_may_be_under_way() {
    // A burst larger than what may be under way, and one command behind it.
    let mut records = vec![record(0, RecordKind::Write, 0, 1); 65_600];
    records.push(record(1_000, RecordKind::Write, 1, 1));
    let set = [("pace", "100%"), ("passes", "kept")];
    let mut toy = Virtual::new(Toy::new());
    let (found, _) = run(&replay(&set), &mut toy, &Shelf::of(records), Vec::new());
    let found = found.expect("it is replayed");
    let ReplayPassStep { held_count, meter, .. } = passed(&found.steps[1]);
    assert_eq!(held_count, Some(1));
    close(meter.lateness.unwrap().lateness_ms_max, 0.1);
    close(meter.response_ms_max, 0.2);
    close(meter.service_ms_max, 0.1);
}

#[test]
fn a_pass_that_is_more_than_10_ms_late_says_so() {
    // One TRIM more than may be under way, and writes behind it: all wait for the first to end.
    let mut records = vec![record(0, RecordKind::Discard, 0, 1); 1_025];
    records.extend((0..100).map(|unit| record(0, RecordKind::Write, unit, 1)));
    let set = [("pace", "100%"), ("passes", "kept")];
    for (millis, late) in [(9, false), (11, true)] {
        let slower_by_trim = Nanos::from_millis(millis);
        let mut toy = Virtual::new(Toy { slower_by_trim, ..Toy::new() });
        let (found, _) = run(&replay(&set), &mut toy, &Shelf::of(records.clone()), Vec::new());
        let step = &found.expect("it is replayed").steps[1];
        let lateness = passed(step).meter.lateness.unwrap();
        close(lateness.lateness_ms_max, millis as f64 + 0.1);
        let said = step.caveats.iter().any(|id| id == Caveat::LateSchedule.id());
        assert_eq!(said, late, "{millis} ms");
    }
}

#[test]
fn what_cannot_be_replayed_is_refused_before_anything_is_written() {
    let beyond = || {
        let mut records = mixed();
        records.insert(5, record(0, RecordKind::Write, 4_095, 2));
        records.push(record(0, RecordKind::Discard, 9_000, 1));
        records
    };
    let trims = vec![record(0, RecordKind::Discard, 0, 1), record(0, RecordKind::Flush, 0, 0)];
    let untimed = Shelf { timed: false, ..Shelf::of(mixed()) };
    for (shelf, set, expected) in [
        (
            Shelf::of(beyond()),
            STRIPPED,
            "command 6 (8192 bytes at byte 16773120) and 1 more end beyond the 16777216 bytes",
        ),
        (Shelf::of(trims), STRIPPED, "it has no writes"),
        (Shelf::of(Vec::new()), STRIPPED, "it has no writes"),
        (untimed, &[("pace", "100%")], "its commands have no times"),
    ] {
        let mut toy = Virtual::new(Toy::new());
        let (found, keeper) = run(&replay(set), &mut toy, &shelf, Vec::new());
        let message = found.expect_err("it is refused").to_string();
        assert!(message.contains(expected), "{message}");
        assert!(toy.model().log.is_empty() && toy.model().purges == 0, "nothing happened");
        assert_eq!(keeper.kept(), [""; 0]);
    }
}

#[test]
fn passes_before_a_trace_that_breaks_off_are_kept() {
    let shelf = Shelf { broken: &[2], ..Shelf::of(mixed()) };
    let mut toy = Virtual::new(Toy::new());
    let (found, keeper) = run(&replay(&[]), &mut toy, &shelf, Vec::new());
    let error = found.expect_err("it breaks off");
    let cause = std::error::Error::source(&error).expect("the trace says why").to_string();
    assert!(cause.contains("the disk is gone"), "{cause}");
    assert_eq!(keeper.kept(), ["trace", "qd1-kept"]);
    let early = Shelf { broken: &[0], ..Shelf::of(mixed()) };
    let (found, keeper) = run(&replay(&[]), &mut toy, &early, Vec::new());
    assert!(found.is_err() && keeper.kept().is_empty(), "the look at it comes first");
}

#[test]
fn a_resumed_session_goes_on_with_its_next_pass_of_the_same_trace() {
    let mut toy = Virtual::new(Toy::new());
    let whole = run(&replay(&[]), &mut toy, &Shelf::of(mixed()), Vec::new()).0.unwrap();
    let purges = toy.model().purges;
    let done = whole.steps[..3].to_vec();
    let (resumed, keeper) = run(&replay(&[]), &mut toy, &Shelf::of(mixed()), done.clone());
    assert_eq!(keeper.kept(), ["qd32-kept", "qd32-stripped"]);
    assert_eq!(toy.model().purges - purges, 2);
    assert_eq!(resumed.unwrap().figures, whole.figures);
    let other = Shelf::of(mixed()[1..].to_vec());
    let message = run(&replay(&[]), &mut toy, &other, done).0.unwrap_err().to_string();
    assert!(message.contains("another trace than when the run was begun"), "{message}");
}

#[test]
fn reads_are_stripped_unless_they_are_kept() {
    let mut records = mixed();
    records.iter_mut().step_by(3).for_each(|record| record.kind = RecordKind::Read);
    for (reads, issued, stripped) in [("stripped", 0, 667), ("kept", 667, 0)] {
        let set = [("reads", reads), ("passes", "kept"), ("queue-depths", "1")];
        let mut toy = Virtual::new(Toy::new());
        let shelf = Shelf::of(records.clone());
        let found = run(&replay(&set), &mut toy, &shelf, Vec::new()).0.expect("it is replayed");
        let ReplayPassStep { meter, feed, .. } = passed(&found.steps[1]);
        assert_eq!((meter.read_count, feed.stripped_read_count), (issued, stripped));
    }
}
