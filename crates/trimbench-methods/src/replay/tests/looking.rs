//! What the look at a trace finds.

use super::super::steps::{ReplayKindStep, ReplaySurveyStep};
use super::super::survey::Survey;
use super::*;
use trimbench_engine::ASSUMED_RATE;
use trimbench_engine::testing::close;

/// The look's step, on a device of 8 MiB.
fn look(records: Vec<Record>) -> ReplaySurveyStep {
    let mut source = Listed { records, timed: true, given: false, broken: false };
    let survey = Survey::of(&mut source, Bytes::mib(8)).expect("it can be read");
    survey.step().read().expect("it is whole")
}

#[test]
fn commands_bytes_and_sequential_writes_are_counted() {
    let found = look(vec![
        record(5, RecordKind::Write, 0, 2),
        record(4, RecordKind::Write, 2, 1),
        record(6, RecordKind::Read, 9, 1),
        record(7, RecordKind::Write, 3, 4),
        record(9, RecordKind::Write, 100, 1),
        record(9, RecordKind::Flush, 0, 0),
        record(9, RecordKind::Discard, 2_047, 9),
    ]);
    let of = |count, units: u64| ReplayKindStep { count, bytes: Bytes(units * 4_096) };
    assert_eq!((found.write, found.read), (of(4, 8), of(1, 1)));
    assert_eq!((found.trim, found.flush), (of(1, 9), of(1, 0)));
    assert_eq!((found.span_bytes, found.beyond_count), (Bytes(2_056 * 4_096), 1));
    assert_eq!(found.backwards_count, Some(1));
    close(found.sequential_share, 0.5);
    close(found.duration_s.unwrap(), 9e-6);
    // The last unit of the device.
    close(found.trimmed_share, 1.0 / 2_048.0);
}

/// What a plan with the shelf's trace takes on a device of 16 MiB.
fn demand(shelf: &Shelf, set: &[(&str, &str)]) -> Demand {
    replay(set).demand_with_traces(Bytes::mib(16), ASSUMED_RATE, shelf).expect("it can be replayed")
}

#[test]
fn a_plan_takes_what_the_trace_writes_and_how_long_it_lasts() {
    // 4 MiB within 8 s, of which the last MiB lies half beyond the device; and what is not written.
    let shelf = Shelf::of(vec![
        record(0, RecordKind::Write, 0, 768),
        record(2_000_000, RecordKind::Discard, 0, 2_048),
        record(8_000_000, RecordKind::Write, 4_096 - 128, 256),
    ]);
    let (fill, written) = (Bytes::mib(16), Bytes::mib(4));
    let modulo = demand(&shelf, &[("scaling", "modulo")]);
    assert_eq!(modulo.written, Bytes(4 * (fill + written).0));
    close(modulo.time.seconds(), modulo.written.0 as f64 / ASSUMED_RATE as f64);
    let cut = [("scaling", "truncate"), ("passes", "kept"), ("queue-depths", "1")];
    assert_eq!(demand(&shelf, &cut).written, Bytes(20_447_232));
    let paced = [("scaling", "modulo"), ("passes", "kept"), ("pace", "50%"), ("rest", "3s")];
    let seconds = 3.0 + 4.0 + fill.0 as f64 / ASSUMED_RATE as f64;
    close(demand(&shelf, &paced).time.seconds(), seconds);
    let refused = replay(&[]).demand_with_traces(fill, ASSUMED_RATE, &shelf).unwrap_err();
    assert!(matches!(refused, MethodError::Unreplayable { .. }), "{refused}");
}

#[test]
fn space_counts_as_trimmed_until_it_is_written_again() {
    let mut rng = Rng::new(11);
    let mut held = vec![false; 2_048];
    let mut records = Vec::new();
    for number in 0..3_000 {
        let (first, bytes) = (rng.below(2_000 * 8), 512 * (1 + rng.below(1_000)));
        let kind = if rng.below(2) == 0 { RecordKind::Discard } else { RecordKind::Write };
        let offset = Bytes(first * 512);
        let record = Record { time: Nanos(number), kind, offset, length: Bytes(bytes) };
        for (unit, held) in held.iter_mut().enumerate() {
            let (start, end) = (unit as u64 * 4_096, (unit as u64 + 1) * 4_096);
            let (from, to) = (record.offset.0, record.end().0);
            *held = match kind {
                RecordKind::Discard => *held || (from <= start && end <= to),
                _ => *held && !(from < end && start < to),
            };
        }
        records.push(record);
    }
    let expected = held.iter().filter(|held| **held).count() as f64 / 2_048.0;
    assert!(expected > 0.05, "something is left: {expected}");
    close(look(records).trimmed_share, expected);
}
