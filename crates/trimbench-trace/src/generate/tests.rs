use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Nanos, Ppm};

use super::*;
use crate::record::{Record, RecordKind};
use crate::source::TraceSource;

/// Everything that a source hands out.
fn all(mut source: impl TraceSource) -> Vec<Record> {
    let (mut records, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.read(&mut batch).expect("generators do not fail");
        if batch.is_empty() {
            return records;
        }
        records.append(&mut batch);
    }
}

fn master(capacity: Bytes, length: Ppm, seed: u64) -> Vec<Record> {
    all(Master::new(MasterConfig { capacity, length }, Rng::new(seed)))
}

/// What one unit holds, as an oracle of its own knows it.
#[derive(Clone, Copy, PartialEq)]
enum Held {
    Filled,
    Written,
    Trimmed,
}

/// What a trace did, counted unit by unit.
#[derive(Default)]
struct ReadCounts {
    writes: u64,
    written: u64,
    sequential: u64,
    discards: u64,
    flushes: u64,
    trimmed: u64,
    rewritten: u64,
    /// The largest share that was trimmed at any time.
    most: u64,
}

impl ReadCounts {
    fn of(records: &[Record], capacity: Bytes) -> Self {
        let mut held = vec![Held::Filled; index(capacity.0 / UNIT.0)];
        let mut tally = Self::default();
        let mut end = None;
        for record in records {
            assert!(record.end() <= capacity, "{record:?} ends beyond {capacity}");
            let units = index(record.offset.0 / UNIT.0)..index(record.end().0 / UNIT.0);
            assert!(
                record.offset.0.is_multiple_of(UNIT.0) && record.length.0.is_multiple_of(UNIT.0)
            );
            match record.kind {
                RecordKind::Write => {
                    tally.writes += 1;
                    tally.written += record.length.0;
                    tally.sequential += u64::from(end == Some(record.offset));
                    end = Some(record.end());
                    for unit in &mut held[units] {
                        if std::mem::replace(unit, Held::Written) == Held::Trimmed {
                            tally.rewritten += 1;
                            tally.trimmed -= 1;
                        }
                    }
                }
                RecordKind::Discard => {
                    tally.discards += 1;
                    for unit in &mut held[units] {
                        assert!(*unit == Held::Written, "{record:?} trims what it did not write");
                        *unit = Held::Trimmed;
                        tally.trimmed += 1;
                    }
                    tally.most = tally.most.max(tally.trimmed);
                }
                RecordKind::Flush => tally.flushes += 1,
                RecordKind::Read => panic!("the master trace has no reads"),
            }
        }
        tally
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[test]
fn the_master_trace_has_the_published_statistics_at_any_capacity() {
    for capacity in [Bytes::gib(1), Bytes::gib(6) + Bytes(36 << 10)] {
        for seed in [1, 2] {
            let records = master(capacity, Ppm::ONE, seed);
            let tally = ReadCounts::of(&records, capacity);
            let of = format!("{capacity}, seed {seed}");
            let near = |what: &str, found: f64, published: f64, tolerance: f64| {
                let off = (found / published - 1.0).abs();
                assert!(off < tolerance, "{of}: {what} {found} and not {published}");
            };
            let whole = PUBLISHED.capacity.0 as f64 / capacity.0 as f64;
            near("bytes", tally.written as f64 * whole, PUBLISHED.written.0 as f64, 0.001);
            near("writes", tally.writes as f64 * whole, PUBLISHED.writes as f64, 0.02);
            near("sequential", share(tally.sequential, tally.writes), 0.25, 0.04);
            near("trimmed", share(tally.trimmed * UNIT.0, capacity.0), 0.13, 0.04);
            assert!(tally.rewritten > tally.trimmed, "{of}: much of what is trimmed is rewritten");
            assert!(share(tally.most * UNIT.0, capacity.0) < 0.19, "{of}: never far beyond");
            assert!(tally.flushes > 0 && tally.discards > 0, "{of}: it flushes and trims");
        }
    }
}

#[test]
fn equal_seeds_give_equal_traces_and_other_seeds_others() {
    let capacity = Bytes::mib(64);
    let [first, again, other] = [7, 7, 8].map(|seed| master(capacity, Ppm::ONE, seed));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn a_part_of_the_trace_is_its_share_and_the_least_space_is_enough() {
    let config = MasterConfig { capacity: SPACE_MIN, length: Ppm(500_000) };
    let records = all(Master::new(config, Rng::new(3)));
    let tally = ReadCounts::of(&records, SPACE_MIN);
    let expected = Master::written(config).0;
    assert!(tally.written >= expected && tally.written < expected + (128 << 10));
    assert_eq!(expected, SPACE_MIN.0 * 25 / 16, "half of 3.125 times the capacity");
    assert!(share(tally.writes, Master::writes(config)) > 0.9);
}

#[test]
fn stamps_never_fall_and_are_a_millisecond_apart_on_average() {
    let records = master(Bytes::mib(256), Ppm::ONE, 5);
    assert!(records.is_sorted_by_key(|record| record.time));
    let last = records.last().expect("it has records").time;
    let mean = last.seconds() / records.len() as f64;
    assert!((0.00097..0.00103).contains(&mean), "{mean}");
}

const MIX: MixConfig = MixConfig {
    capacity: Bytes::mib(64),
    commands: 100_000,
    reads: Ppm(300_000),
    discards: Ppm(50_000),
    flushes: Ppm(10_000),
    size: Bytes(8 << 10),
    sequential: Ppm(400_000),
    gap: Nanos::from_micros(100),
};

#[test]
fn a_mix_has_the_shares_that_were_asked_for() {
    let records = all(Mix::new(MIX, Rng::new(1)).unwrap());
    assert_eq!(records.len() as u64, MIX.commands);
    let count = |kind| records.iter().filter(|record| record.kind == kind).count() as f64;
    for (kind, share) in [
        (RecordKind::Read, 0.3),
        (RecordKind::Discard, 0.05),
        (RecordKind::Flush, 0.01),
        (RecordKind::Write, 0.64),
    ] {
        let found = count(kind) / 100_000.0;
        assert!((found / share - 1.0).abs() < 0.1, "{kind:?}: {found} and not {share}");
    }
    let moves: Vec<&Record> = records
        .iter()
        .filter(|record| matches!(record.kind, RecordKind::Read | RecordKind::Write))
        .collect();
    let sequential = moves.windows(2).filter(|pair| pair[0].end() == pair[1].offset).count() as f64;
    let found = sequential / moves.len() as f64;
    assert!((0.39..0.41).contains(&found), "sequential: {found}");
}

#[test]
fn a_mix_trims_only_what_it_wrote() {
    let mut written = std::collections::BTreeSet::new();
    for record in all(Mix::new(MixConfig { sequential: Ppm(0), ..MIX }, Rng::new(2)).unwrap()) {
        match record.kind {
            RecordKind::Write => drop(written.insert(record.offset.0)),
            RecordKind::Discard => assert!(written.contains(&record.offset.0), "{record:?}"),
            RecordKind::Read | RecordKind::Flush => {}
        }
    }
}

#[test]
fn a_mix_that_cannot_be_made_is_refused() {
    let refused = |config| Mix::new(config, Rng::new(1)).expect_err("it cannot be made");
    assert_eq!(refused(MixConfig { reads: Ppm(950_000), ..MIX }), MixError::Shares(Ppm(1_010_000)));
    assert_eq!(refused(MixConfig { size: Bytes(5_000), ..MIX }), MixError::Size(Bytes(5_000)));
    assert_eq!(refused(MixConfig { size: Bytes(0), ..MIX }), MixError::Size(Bytes(0)));
    let (capacity, size) = (Bytes(4 << 10), MIX.size);
    assert_eq!(refused(MixConfig { capacity, ..MIX }), MixError::Capacity { capacity, size });
}
