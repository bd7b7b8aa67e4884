use proptest::prelude::*;
use trimbench_core::OperationKind::{Discard, Flush, Metadata, Read, Write};

use super::*;

/// Callers that wait longer are stalled; requests that take as long count indirectly.
const THRESHOLD: Nanos = Nanos(10);

fn at(time: u64) -> Instant {
    if time == u64::MAX { Instant::NEVER } else { Instant::from_start(Nanos(time)) }
}

fn wait(kind: OperationKind, from: u64, to: u64) -> CallerWait {
    CallerWait { kind, from: at(from), to: at(to) }
}

/// On device 0: when it entered, was issued and was completed.
fn request(kind: OperationKind, times: [u64; 3]) -> BlockRequest {
    let [entered, issued, completed] = times.map(at);
    BlockRequest { device: 0, kind, entered, issued, completed }
}

/// Asserts where the stalled time lies: its slices as (from, to, place).
#[track_caller]
fn check(waits: &[CallerWait], requests: &[BlockRequest], expected: &[(u64, u64, StallLayer)]) {
    let located = attribute_stalls(waits, requests, THRESHOLD);
    let slices: Vec<(u64, u64, StallLayer)> = located
        .slices
        .iter()
        .map(|slice| (slice.from.since_start().0, slice.to.since_start().0, slice.place))
        .collect();
    assert_eq!(slices, expected);
}

#[test]
fn a_wait_counts_from_its_start_and_only_above_the_threshold() {
    check(&[wait(Write, 100, 110)], &[], &[]);
    check(&[wait(Write, 100, 111)], &[], &[(100, 111, StallLayer::Above)]);
    check(&[], &[request(Write, [0, 0, 500])], &[]);
    assert_eq!(attribute_stalls(&[], &[], THRESHOLD).share(StallLayer::Above), None);
}

#[test]
fn what_the_device_holds_is_the_devices() {
    // The first 2 belong to the filesystem, the next 3 to the block layer: the device is empty.
    let slices = [
        (0, 2, StallLayer::Above),
        (2, 5, StallLayer::BlockLayer),
        (5, 95, StallLayer::Device),
        (95, 100, StallLayer::Above),
    ];
    check(&[wait(Write, 0, 100)], &[request(Write, [2, 5, 95])], &slices);
    let located =
        attribute_stalls(&[wait(Write, 0, 100)], &[request(Write, [2, 5, 95])], THRESHOLD);
    assert_eq!(located.stalled(), Nanos(100));
    assert_eq!(located.share(StallLayer::Device), Some(0.9));
    assert_eq!(located.share(StallLayer::BlockLayer), Some(0.03));
    // A device that never answers.
    let never = u64::MAX;
    check(&[wait(Read, 0, 50)], &[request(Read, [0, 0, never])], &[(0, 50, StallLayer::Device)]);
}

#[test]
fn a_slow_device_that_answers_one_by_one_is_the_devices() {
    let requests: Vec<_> = (0..20).map(|n| request(Write, [n * 5, n * 5, n * 5 + 5])).collect();
    check(&[wait(Flush, 0, 100)], &requests, &[(0, 100, StallLayer::Device)]);
}

#[test]
fn writes_that_never_come_while_the_device_discards_are_held_above() {
    // The storm of FreeBSD: discards fill the device, writes wait in the filesystem.
    let requests: Vec<_> =
        (0..10).map(|n| request(Discard, [n * 10, n * 10, n * 10 + 30])).collect();
    for kind in [Write, Flush, Metadata, Read] {
        check(
            &[wait(kind, 0, 150)],
            &requests,
            &[(0, 120, StallLayer::Above), (120, 150, StallLayer::Above)],
        );
    }
    let located = attribute_stalls(&[wait(Write, 0, 150)], &requests, THRESHOLD);
    assert_eq!(located.time(StallLayer::Above), Nanos(150));
    assert_eq!(located.above_while_discarding(), Nanos(120));
    // Who asked for the discards waits for the device.
    let slices = [(0, 120, StallLayer::Device), (120, 150, StallLayer::Above)];
    check(&[wait(Discard, 0, 150)], &requests, &slices);
}

#[test]
fn a_write_behind_discards_that_hold_all_tags_waits_for_the_device() {
    let mut requests = vec![request(Write, [10, 60, 65])];
    requests.extend((0..4).map(|_| request(Discard, [0, 0, 60])));
    let slices = [(10, 60, StallLayer::Tags), (60, 65, StallLayer::Device)];
    check(&[wait(Write, 10, 65)], &requests, &slices);
}

#[test]
fn a_write_kept_from_a_device_with_room_waits_in_the_block_layer() {
    // It once held 8 at a time; now 3 reads of others, then none.
    let mut requests = vec![request(Write, [100, 160, 161])];
    requests.extend((0..8).map(|_| request(Read, [0, 0, 9])));
    requests.extend((0..3).map(|_| request(Read, [131, 131, 140])));
    let slices = [(100, 160, StallLayer::BlockLayer), (160, 161, StallLayer::Device)];
    check(&[wait(Write, 100, 161)], &requests, &slices);
    // 4 of 8 are taken for full.
    requests.push(request(Read, [131, 131, 140]));
    let slices = [
        (100, 131, StallLayer::BlockLayer),
        (131, 140, StallLayer::Tags),
        (140, 160, StallLayer::BlockLayer),
        (160, 161, StallLayer::Device),
    ];
    check(&[wait(Write, 100, 161)], &requests, &slices);
}

#[test]
fn what_takes_long_in_the_device_holds_callers_of_other_classes_too() {
    // One write of the journal takes 40; a metadata operation waits for the commit.
    let requests = [request(Write, [5, 5, 45])];
    let slices =
        [(0, 5, StallLayer::Above), (5, 45, StallLayer::Device), (45, 50, StallLayer::Above)];
    check(&[wait(Metadata, 0, 50)], &requests, &slices);
    check(&[wait(Read, 0, 50)], &requests, &slices);
    // Short ones are other people's business.
    let requests: Vec<_> = (0..10).map(|n| request(Write, [n * 5, n * 5, n * 5 + 5])).collect();
    check(&[wait(Metadata, 0, 50)], &requests, &[(0, 50, StallLayer::Above)]);
    // So it is with what waits long before the device.
    check(
        &[wait(Metadata, 0, 50)],
        &[request(Flush, [0, 50, 51])],
        &[(0, 50, StallLayer::BlockLayer)],
    );
}

#[test]
fn the_caller_who_waits_longest_decides_and_devices_are_told_apart() {
    let waits = [wait(Read, 30, 90), wait(Write, 0, 60)];
    let requests = [request(Read, [30, 30, 90])];
    // Until 60 it is the writer: the read that takes long may be what it waits for.
    check(&waits, &requests, &[(0, 30, StallLayer::Above), (30, 90, StallLayer::Device)]);
    let short: Vec<_> =
        (0..30).map(|n| request(Read, [30 + 2 * n, 30 + 2 * n, 32 + 2 * n])).collect();
    check(&waits, &short, &[(0, 60, StallLayer::Above), (60, 90, StallLayer::Device)]);
    // Another device's load does not take the tags of the first.
    let mut requests = vec![request(Write, [0, 50, 51])];
    requests.push(BlockRequest { device: 3, ..request(Read, [0, 0, 9]) });
    check(&[wait(Write, 0, 50)], &requests, &[(0, 50, StallLayer::BlockLayer)]);
}

#[test]
fn a_request_that_failed_before_it_was_issued_waits_no_longer() {
    let requests = [request(Write, [0, u64::MAX, 20])];
    check(
        &[wait(Write, 0, 50)],
        &requests,
        &[(0, 20, StallLayer::BlockLayer), (20, 50, StallLayer::Above)],
    );
}

#[test]
fn neighbours_of_one_kind_are_one_slice() {
    let requests = [request(Write, [0, 0, 20]), request(Write, [20, 20, 40])];
    let located = attribute_stalls(&[wait(Write, 0, 40)], &requests, THRESHOLD);
    assert_eq!(located.slices.len(), 1, "{:?}", located.slices);
    // Two callers, of which one goes: the second is asked on.
    let waits = [wait(Write, 0, 20), wait(Write, 5, 40)];
    assert_eq!(attribute_stalls(&waits, &requests, THRESHOLD).slices.len(), 1);
}

/// The place at one instant, from the definition and nothing else.
fn naive(waits: &[CallerWait], requests: &[BlockRequest], time: u64) -> Option<(StallLayer, bool)> {
    let now = at(time);
    let stalled = waits.iter().filter(|wait| wait.to.since(wait.from) > THRESHOLD);
    let asked = stalled.filter(|wait| wait.from <= now && now < wait.to);
    // The last of those who began first, as `rev` and `min_by_key` have it.
    let caller = asked.rev().min_by_key(|wait| wait.from)?.kind;
    let held_at =
        |request: &BlockRequest, time: Instant| request.issued <= time && time < request.completed;
    let load = |device: u16, time: Instant| {
        requests.iter().filter(|each| each.device == device && held_at(each, time)).count()
    };
    let counts = |request: &BlockRequest, span: Nanos| match (caller, request.kind) {
        (Read | Metadata, Read) | (Write, Write) | (Flush, Write | Flush) | (Discard, Discard) => {
            true
        }
        (_, Discard) => false,
        _ => span >= THRESHOLD,
    };
    let discarding = requests.iter().any(|each| each.kind == Discard && held_at(each, now));
    let span = |request: &BlockRequest| request.completed.since(request.issued);
    if requests.iter().any(|each| held_at(each, now) && counts(each, span(each))) {
        return Some((StallLayer::Device, discarding));
    }
    let waiting: Vec<_> = requests
        .iter()
        .filter(|each| each.entered <= now && now < each.issued)
        .filter(|each| counts(each, each.issued.since(each.entered)))
        .collect();
    let full = |device: u16| {
        let most = (0..200).map(|time| load(device, at(time))).max().unwrap_or(0);
        load(device, now) > 0 && load(device, now) * 2 >= most
    };
    let place = match waiting.as_slice() {
        [] => StallLayer::Above,
        some if some.iter().any(|each| full(each.device)) => StallLayer::Tags,
        _ => StallLayer::BlockLayer,
    };
    Some((place, discarding))
}

fn any_kind() -> impl Strategy<Value = OperationKind> {
    prop::sample::select(vec![Read, Write, Discard, Flush])
}

fn any_request() -> impl Strategy<Value = BlockRequest> {
    (0..2_u16, any_kind(), 0..90_u64, 0..30_u64, 0..30_u64).prop_map(
        |(device, kind, entered, waits, takes)| BlockRequest {
            device,
            ..request(kind, [entered, entered + waits, entered + waits + takes])
        },
    )
}

fn any_wait() -> impl Strategy<Value = CallerWait> {
    let kinds = prop::sample::select(OperationKind::ALL.to_vec());
    (kinds, 0..100_u64, 0..60_u64).prop_map(|(kind, from, takes)| wait(kind, from, from + takes))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_sweep_finds_what_the_definition_says_at_every_instant(
        waits in prop::collection::vec(any_wait(), 0..6),
        requests in prop::collection::vec(any_request(), 0..12),
    ) {
        let located = attribute_stalls(&waits, &requests, THRESHOLD);
        for time in 0..200 {
            let now = at(time);
            let slice = located.slices.iter().find(|slice| slice.from <= now && now < slice.to);
            let found = slice.map(|slice| (slice.place, slice.discarding));
            prop_assert_eq!(found, naive(&waits, &requests, time), "at {}", time);
        }
    }
}
