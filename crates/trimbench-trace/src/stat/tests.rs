//! Statistics against a slow and obvious account of every unit.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trimbench_core::{BlockSize, Bytes, Nanos};

use super::*;

const UNIT: u64 = 4096;

fn record(kind: RecordKind, offset: u64, length: u64) -> Record {
    Record { time: Nanos::ZERO, kind, offset: Bytes(offset), length: Bytes(length) }
}

fn unit() -> BlockSize {
    BlockSize::new(Bytes(UNIT)).unwrap()
}

fn statistics(records: &[Record]) -> TraceStatistics {
    let mut collector = StatisticsCollector::new(unit());
    for batch in records.chunks(7) {
        collector.add(batch);
    }
    collector.finish()
}

/// What an account of every unit comes to.
#[derive(Debug, Default)]
struct Oracle {
    /// Whether it is live, and if not, commands and bytes written when it was trimmed.
    units: BTreeMap<u64, Option<(u64, u64)>>,
    commands: u64,
    written: u64,
    trims: TrimStatistics,
    most: u64,
}

impl Oracle {
    fn take(&mut self, record: &Record) {
        let (start, end) = (record.offset.0, record.end().0);
        match record.kind {
            RecordKind::Write => {
                for unit in start / UNIT..end.div_ceil(UNIT) {
                    if let Some(Some((commands, written))) = self.units.insert(unit, None) {
                        self.trims.rewritten_bytes += u128::from(UNIT);
                        self.trims.distance_bytes.add(self.written - written, UNIT);
                        self.trims.distance_commands.add(self.commands - commands - 1, UNIT);
                    }
                }
                self.written += record.length.0;
            }
            RecordKind::Discard => {
                let mut whole = 0;
                let mut double = false;
                for unit in start.div_ceil(UNIT)..end / UNIT {
                    whole += 1;
                    let bytes = u128::from(UNIT);
                    match self.units.insert(unit, Some((self.commands, self.written))) {
                        None => self.trims.unwritten_bytes += bytes,
                        Some(None) => self.trims.freed_bytes += bytes,
                        Some(Some(_)) => {
                            self.trims.double_bytes += bytes;
                            double = true;
                        }
                    }
                }
                self.trims.double_commands += u64::from(double);
                let partial = record.length.0 - whole * UNIT;
                self.trims.partial_bytes += u128::from(partial);
                self.trims.partial_commands += u64::from(partial > 0);
            }
            RecordKind::Read | RecordKind::Flush => {}
        }
        self.commands += 1;
        self.most = self.most.max(self.live());
    }

    fn live(&self) -> u64 {
        self.units.values().filter(|state| state.is_none()).count() as u64 * UNIT
    }
}

fn commands() -> impl Strategy<Value = Vec<Record>> {
    // Two chunks of units and their edge, in units and in parts of them.
    let offset = prop_oneof![0..64 * UNIT, (1 << 30) - 8 * UNIT..(1 << 30) + 8 * UNIT];
    let whole =
        (offset.clone().prop_map(|it| it / UNIT * UNIT), (1..16_u64).prop_map(|it| it * UNIT));
    let range = prop_oneof![whole, (offset, 1..9 * UNIT)];
    let one = (0..3_usize, range)
        .prop_map(|(kind, (offset, length))| record(RecordKind::ALL[kind], offset, length));
    prop::collection::vec(one, 1..200)
}

proptest! {
    #[test]
    fn live_and_trimmed_units_are_those_of_the_account(records in commands()) {
        let found = statistics(&records);
        let mut oracle = Oracle::default();
        for record in &records {
            oracle.take(record);
        }
        prop_assert_eq!(found.live.end_bytes, oracle.live());
        prop_assert_eq!(found.live.most_bytes, oracle.most);
        let trimmed = oracle.units.values().filter(|state| state.is_some()).count() as u64 * UNIT;
        oracle.trims.end_bytes = trimmed.into();
        prop_assert_eq!(found.trims, oracle.trims);
    }
}

#[test]
fn commands_bytes_span_and_gaps_are_counted() {
    let at = |time, record: Record| Record { time: Nanos(time), ..record };
    let found = statistics(&[
        at(10, record(RecordKind::Write, 8192, 4096)),
        at(11, record(RecordKind::Write, 12_288, 8192)),
        at(11, record(RecordKind::Read, 20_480, 512)),
        at(15, record(RecordKind::Write, 0, 4096)),
        at(500, Record { length: Bytes(0), ..record(RecordKind::Flush, 0, 0) }),
    ]);
    let writes = &found.kinds[RecordKind::Write as usize];
    assert_eq!((writes.commands, writes.bytes), (3, 16_384));
    assert_eq!((writes.sequential_commands, writes.sequential_bytes), (1, 8192));
    assert_eq!(
        found.kinds[RecordKind::Read as usize].sequential_commands,
        0,
        "other kinds do not count"
    );
    assert_eq!(
        (found.lowest, found.span, found.duration),
        (Some(Bytes(0)), Bytes(20_992), Nanos(490))
    );
    let gaps: Vec<_> = found.gaps.bins().map(|bin| (bin.from, bin.to, bin.count)).collect();
    assert_eq!(gaps, [(0, 0, 1), (1, 1, 1), (4, 7, 1), (256, 511, 1)]);
    assert_eq!(writes.sizes.median().map(|bin| bin.from), Some(4096));
}

#[test]
fn the_series_of_live_bytes_has_few_points_and_ends_at_the_end() {
    for count in [1, 255, 256, 1000, 5000] {
        let records: Vec<Record> =
            (0..count).map(|n| record(RecordKind::Write, n * UNIT, UNIT)).collect();
        let found = statistics(&records);
        let series = &found.live.series;
        assert!(series.len() <= POINTS_MAX && series.len() as u64 >= count.min(100), "{count}");
        let last = series.last().unwrap();
        assert_eq!((last.commands, last.live_bytes), (count, count * UNIT));
        assert!(series.iter().all(|point| point.live_bytes == point.commands * UNIT));
    }
}

#[test]
fn what_is_beyond_the_maps_is_counted_and_takes_no_time() {
    let far = 1 << 60;
    let found = statistics(&[
        record(RecordKind::Write, far, 1 << 62),
        record(RecordKind::Discard, 0, u64::MAX),
        record(RecordKind::Write, 0, u64::MAX),
        record(RecordKind::Discard, 512, u64::MAX - 512),
    ]);
    assert_eq!(found.live.unfollowed_bytes, (1 << 62) + (u128::from(u64::MAX) + 1) - (1 << 48));
    assert_eq!(found.live.most_bytes, 1 << 48, "what is followed of a write of everything");
    assert_eq!(found.live.end_bytes, UNIT, "the first unit is not whole in the last TRIM");
}
