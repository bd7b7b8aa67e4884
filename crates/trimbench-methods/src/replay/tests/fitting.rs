//! Commands of a trace on devices of another size, granularity and discard limit.

use super::super::feed::{Boundaries, Feed};
use super::super::fit::Fit;
use super::super::synthesis::Synthesis;
use super::*;
use trimbench_engine::Shape;

const MIB: u64 = 1 << 20;

/// A device that takes discards of at most `discard_max` in units of `granularity`.
fn shape(capacity: u64, block: u64, (discard_max, granularity): (u64, u64)) -> Shape {
    let toy = Toy::new();
    let logical_block = BlockSize::new(Bytes(block)).expect("a power of two");
    let capabilities = Capabilities {
        medium: trimbench_core::Medium::Device { capacity: Bytes(capacity), logical_block },
        discard_max: Bytes(discard_max),
        discard_granularity: Bytes(granularity),
        ..toy.capabilities
    };
    Shape::of(&capabilities, Bytes(0)).expect("it is a device")
}

/// Where a command of the trace goes, and whether it was altered.
fn fitted(
    scaling: Scaling,
    kind: RecordKind,
    (offset, length): (u64, u64),
) -> (Option<(u64, u64)>, bool) {
    let shape = shape(MIB, 512, (MIB, 512));
    let fit = Fit::new(scaling, Bytes(MIB), Bytes(4 * MIB), shape);
    let (offset, length) = (Bytes(offset), Bytes(length));
    let fitted = fit.fit(&Record { time: Nanos::ZERO, kind, offset, length });
    (fitted.range, fitted.altered)
}

#[test]
fn addresses_beyond_the_device_are_scaled_as_asked() {
    use Scaling::{Linear, Modulo, Refuse, Truncate};
    let write = |scaling, place| fitted(scaling, RecordKind::Write, place);
    for scaling in [Refuse, Modulo, Truncate] {
        assert_eq!(write(scaling, (4_096, 8_192)), (Some((4_096, 12_288)), false), "{scaling:?}");
    }
    // Modulo: the rest, and moved before the end where it would cross it.
    assert_eq!(write(Modulo, (3 * MIB + 512, 512)), (Some((512, 1_024)), true));
    assert_eq!(write(Modulo, (2 * MIB - 512, 4_096)), (Some((MIB - 4_096, MIB)), true));
    assert_eq!(write(Modulo, (5 * MIB, 2 * MIB)), (Some((0, MIB)), true));
    // Truncate: left out, or cut at the end.
    assert_eq!(write(Truncate, (MIB, 512)), (None, true));
    assert_eq!(write(Truncate, (MIB - 512, 4_096)), (Some((MIB - 512, MIB)), true));
    // Linear: a quarter of the address, aligned as it was, the length kept.
    assert_eq!(write(Linear, (0, 4_096)), (Some((0, 4_096)), false));
    assert_eq!(write(Linear, (MIB, 8_192)), (Some((MIB / 4, MIB / 4 + 8_192)), true));
    assert_eq!(write(Linear, (20_480, 4_096)), (Some((4_096, 8_192)), true));
    assert_eq!(write(Linear, (4 * MIB - 4_096, 4_096)), (Some((MIB - 4_096, MIB)), true));
    assert_eq!(write(Linear, (4 * 1_024 + 512, 512)), (Some((1_024, 2_048)), true));
}

#[test]
fn parts_of_blocks_are_written_whole_and_not_trimmed() {
    let place = (1_000, 3_000);
    let whole = (Some((512, 4_096)), true);
    assert_eq!(fitted(Scaling::Refuse, RecordKind::Write, place), whole);
    assert_eq!(fitted(Scaling::Refuse, RecordKind::Read, place), whole);
    assert_eq!(fitted(Scaling::Refuse, RecordKind::Discard, place), (Some((1_024, 3_584)), true));
    assert_eq!(fitted(Scaling::Refuse, RecordKind::Discard, (100, 500)), (None, true));
    assert_eq!(fitted(Scaling::Refuse, RecordKind::Write, (512, 0)), (None, true));
}

#[test]
fn the_end_of_all_addresses_overflows_nothing() {
    for scaling in [Scaling::Refuse, Scaling::Truncate] {
        assert_eq!(fitted(scaling, RecordKind::Write, (u64::MAX - 4_096, 4_096)), (None, true));
    }
    for scaling in [Scaling::Modulo, Scaling::Linear] {
        let (range, altered) = fitted(scaling, RecordKind::Discard, (0, u64::MAX));
        assert_eq!((range, altered), (Some((0, MIB)), true), "{scaling:?}");
    }
}

/// What of a trace of these commands is issued, on a device of 8 GiB.
fn fed(
    set: &[(&str, &str)],
    trims: ReplayedTrims,
    limits: (u64, u64),
    records: &[Record],
) -> Vec<(u64, u64)> {
    let method = replay(set);
    let shape = shape(8 << 30, 512, limits);
    let boundaries = Boundaries::new();
    let (records, given) = (records.to_vec(), false);
    let source = Box::new(Listed { records, timed: true, given, broken: false });
    let fit = Fit::new(method.scaling, shape.size, shape.size, shape);
    let mut feed = Feed::new(&method, trims, source, fit, &boundaries);
    let commands = std::iter::from_fn(|| {
        let planned = feed.next()?;
        Some(feed.command(&planned))
    });
    let discards = commands.filter(|command| matches!(command, BlockCommand::Discard(_)));
    discards.map(|command| place(&command)).collect()
}

#[test]
fn a_trim_of_more_than_4_gib_arrives_whole() {
    const GIB: u64 = 1 << 30;
    let trim = Record {
        time: Nanos::ZERO,
        kind: RecordKind::Discard,
        offset: Bytes(4_096),
        length: Bytes(4 * GIB + 4_096),
    };
    let end = 4 * GIB + 8_192;
    let trims = |limits| fed(&[], ReplayedTrims::Kept, limits, &[trim]);
    assert_eq!(trims((8 * GIB, 4_096)), [(4_096, end)], "as one where the device takes it");
    // Cut where the device's units end.
    let unit = MIB;
    let cut = [(4_096, 2 * GIB), (2 * GIB, 4 * GIB), (4 * GIB, end)];
    assert_eq!(trims((2 * GIB, unit)), cut);
}

#[test]
fn what_was_not_accessed_for_long_is_trimmed_where_that_is_asked_for() {
    let mut synthesis = Synthesis::new(Bytes(8 * MIB), Bytes(4 * MIB));
    let chunk = |number: u64| (number * MIB, (number + 1) * MIB);
    synthesis.access(chunk(0), true);
    synthesis.access(chunk(7), false);
    for number in [1, 2, 3] {
        synthesis.access(chunk(number), true);
        assert_eq!(synthesis.due(), None);
    }
    // Chunk 0 was read again meanwhile, chunk 1 was not.
    synthesis.access((100, 200), false);
    synthesis.access(chunk(4), true);
    assert_eq!(synthesis.due(), None);
    synthesis.access(chunk(5), true);
    assert_eq!(synthesis.due(), Some(chunk(1)));
    assert_eq!(synthesis.due(), None);
    // It is trimmed once, until it is written again; what was only read never.
    synthesis.access(chunk(1), false);
    for _ in 0..4 {
        synthesis.access(chunk(6), true);
    }
    let mut due = std::iter::from_fn(|| synthesis.due()).collect::<Vec<_>>();
    due.sort_unstable();
    assert_eq!(due, [chunk(0), chunk(2), chunk(3), chunk(4), chunk(5)]);
}

#[test]
fn a_pass_with_synthesised_trims_has_none_of_the_traces_own() {
    let writes = (0..40).map(|number| record(number, RecordKind::Write, number * 256, 256));
    let mut records: Vec<Record> = writes.collect();
    records.insert(3, record(3, RecordKind::Discard, 0, 1));
    let set = [("trim-after", "32MiB")];
    let limits = (MIB / 2, 4_096);
    let half = MIB / 2;
    let halves: Vec<(u64, u64)> =
        (0..16).map(|number| (number * half, (number + 1) * half)).collect();
    assert_eq!(fed(&set, ReplayedTrims::Synthesised, limits, &records), halves);
    assert_eq!(fed(&set, ReplayedTrims::Stripped, limits, &records), []);
}
