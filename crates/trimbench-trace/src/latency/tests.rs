use trimbench_core::rng::Rng;

use super::*;
use RecordKind::{Discard, Read, Write};

fn played(events: &[LatencyEvent]) -> TraceLatencies {
    let mut latencies = TraceLatencies::default();
    for event in events {
        latencies.add(*event);
    }
    latencies
}

fn issued(kind: RecordKind, offset: u64, at: u64) -> LatencyEvent {
    LatencyEvent::Issued(kind, Bytes(offset), Bytes(4_096), at)
}

fn completed(kind: RecordKind, offset: u64, length: u64, at: u64) -> LatencyEvent {
    LatencyEvent::Completed(kind, Bytes(offset), Bytes(length), at)
}

#[test]
fn each_number_is_in_a_step_that_ends_at_most_one_in_64_later() {
    let mut rng = Rng::new(1);
    let mut last = (0, 0);
    let mut numbers: Vec<u64> = (0..100_000).map(|_| rng.bits() >> rng.below(64)).collect();
    numbers.extend(0..1_000);
    numbers.extend([u64::MAX, 1 << 63]);
    numbers.sort_unstable();
    for number in numbers {
        let step = step_of(number);
        let end = last_of(step);
        assert!(end >= number && end - number <= number / 64, "{number} {step} {end}");
        assert!(last.0 <= step && last.1 <= end, "steps ascend");
        last = (step, end);
    }
}

#[test]
fn pairs_give_latencies_with_and_without_discards() {
    let found = played(&[
        issued(Read, 0, 100),
        completed(Read, 0, 4_096, 200),
        issued(Write, 8_192, 300),
        issued(Discard, 0, 310),
        issued(Read, 0, 320),
        completed(Write, 8_192, 4_096, 400),
        completed(Discard, 0, 4_096, 500),
        completed(Read, 0, 4_096, 510),
        issued(Read, 0, 600),
        completed(Read, 0, 4_096, 650),
        completed(Read, 0, 4_096, 660),
    ]);
    let of = |kind, with| {
        let steps = found.of(kind, with);
        (steps.count(), steps.longest().0)
    };
    assert_eq!(of(Read, false), (2, 100));
    assert_eq!(of(Read, true), (1, 190));
    assert_eq!(of(Write, true), (1, 100));
    assert_eq!(of(Discard, true), (1, 190));
    assert_eq!(found.unpaired(), 1);
    assert_eq!(found.of(Read, false).permille(500), Some(Nanos(50)));
    assert_eq!(found.of(Write, false).permille(500), None);
}

#[test]
fn a_command_that_ends_in_parts_ends_with_the_last() {
    let parts = [issued(Read, 0, 100), completed(Read, 0, 512, 150)];
    assert_eq!(played(&parts).of(Read, false).count(), 0);
    let rest = completed(Read, 512, 3_584, 180);
    let found = played(&[parts[0], parts[1], rest]);
    assert_eq!(found.of(Read, false).longest(), Nanos(80));
    assert_eq!(found.unpaired(), 0);
}

#[test]
fn what_is_never_seen_to_end_takes_no_more_room() {
    let mut latencies = TraceLatencies::default();
    for number in 0..3 * OPEN_MAX as u64 {
        latencies.add(issued(Discard, number * 4_096, number));
    }
    assert!(latencies.open.len() <= OPEN_MAX && latencies.discards <= OPEN_MAX);
    assert_eq!(latencies.unpaired(), 3 * OPEN_MAX as u64);
}
