//! Statistics of a trace: commands and bytes by kind, sizes, gaps, how sequential it is, how much
//! of the drive is live, and what happens to trimmed space.
//!
//! Definitions:
//! - *Sequential*: a read, write or TRIM that begins where the command of its kind before ended.
//! - *Live*: a unit (4 KiB unless chosen) that was written, even in part, and not trimmed since.
//!   What was on the drive before the trace is not known, and counts as never written.
//! - *Trimmed*: a unit that a TRIM covered whole, and that was not written since. A TRIM's bytes
//!   outside of whole units are *partial*: a drive with such units cannot free them.
//! - *Freed*: live before the TRIM. *Double*: trimmed before it. *Unwritten*: neither.
//! - *Distance*: from the TRIM that a unit was trimmed by last to the write that writes it again,
//!   in bytes written and in commands, between the two and without them. By bytes rewritten.
//!
//! One pass. Memory: live units take a bit each in chunks that are touched, at most [`CHUNKS_MAX`]
//! of 32 KiB, and none for chunks that are entirely live or entirely not; trimmed extents about 64
//! bytes each, at most [`EXTENTS_MAX`]: 1.3 GiB in all. Units beyond that are counted
//! ([`TrimStatistics::unfollowed_bytes`], [`Live::unfollowed_bytes`]) and are in no other figure of
//! the two.

mod live;
mod table;
mod trimmed;

use trimbench_core::{BlockSize, Bytes, Nanos};

use crate::record::{Record, RecordKind};

use live::LiveMap;
use trimmed::TrimmedMap;

pub use live::CHUNKS_MAX;
pub use table::Table;
pub use trimmed::EXTENTS_MAX;

/// Points of the series of live bytes, at most.
pub const POINTS_MAX: usize = 256;

/// What a trace does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStatistics {
    /// The unit of what is live and trimmed.
    pub unit: BlockSize,
    /// Of each kind, in the order of [`RecordKind::ALL`].
    pub kinds: [OfKind; RecordKind::ALL.len()],
    /// From the first stamp to the last.
    pub duration: Nanos,
    /// Nanoseconds between one command and the next.
    pub gaps: Table,
    /// The first byte that a command covers; none if no command covers any.
    pub lowest: Option<Bytes>,
    /// One past the last byte that a command covers: the least capacity of a drive that takes all.
    pub span: Bytes,
    /// What is live.
    pub live: Live,
    /// What TRIMs do.
    pub trims: TrimStatistics,
}

/// The commands of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfKind {
    /// How many.
    pub commands: u64,
    /// Bytes that they cover, counted as often as they are covered.
    pub bytes: u128,
    /// Those that are sequential.
    pub sequential_commands: u64,
    /// Bytes of those.
    pub sequential_bytes: u128,
    /// Their sizes in bytes.
    pub sizes: Table,
    next: u64,
}

/// What is live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Bytes at the end of the trace.
    pub end_bytes: u64,
    /// At the most.
    pub most_bytes: u64,
    /// Over the trace, at even distances in commands, the last at its end.
    pub series: Vec<LivePoint>,
    /// Written or trimmed beyond what the map of live units can hold.
    pub unfollowed_bytes: u128,
}

/// Live bytes at one point of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivePoint {
    /// Commands so far.
    pub commands: u64,
    /// The stamp of the last of them.
    pub time: Nanos,
    /// Bytes written so far.
    pub written_bytes: u128,
    /// Live bytes.
    pub live_bytes: u64,
}

/// What TRIMs do. Bytes are those of whole units, if nothing else is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrimStatistics {
    /// Bytes that were live before their TRIM.
    pub freed_bytes: u128,
    /// Bytes that were trimmed before their TRIM.
    pub double_bytes: u128,
    /// TRIMs with such bytes.
    pub double_commands: u64,
    /// Bytes that were neither.
    pub unwritten_bytes: u128,
    /// Bytes of TRIMs outside of whole units.
    pub partial_bytes: u128,
    /// TRIMs with such bytes.
    pub partial_commands: u64,
    /// Bytes that are trimmed at the end of the trace.
    pub end_bytes: u128,
    /// Bytes that were written again after their TRIM.
    pub rewritten_bytes: u128,
    /// Bytes written from a TRIM to the write; by bytes rewritten.
    pub distance_bytes: Table,
    /// Commands from a TRIM to the write; by bytes rewritten.
    pub distance_commands: Table,
    /// Bytes trimmed that are not followed, because there were too many extents.
    pub unfollowed_bytes: u128,
}

/// Takes a trace and works out its statistics.
#[derive(Debug)]
pub struct StatisticsCollector {
    statistics: TraceStatistics,
    live: LiveMap,
    trimmed: TrimmedMap,
    commands: u64,
    written: u128,
    first: Option<Nanos>,
    last: Nanos,
    /// Commands between two points of the series.
    step: u64,
}

/// Where in the trace something is: what distances are measured in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    commands: u64,
    written: u64,
}

impl StatisticsCollector {
    /// With nothing seen, for units of this size.
    pub fn new(unit: BlockSize) -> Self {
        let statistics = TraceStatistics {
            unit,
            kinds: Default::default(),
            duration: Nanos::ZERO,
            gaps: Table::default(),
            lowest: None,
            span: Bytes(0),
            live: Live::default(),
            trims: TrimStatistics::default(),
        };
        Self {
            statistics,
            live: LiveMap::default(),
            trimmed: TrimmedMap::default(),
            commands: 0,
            written: 0,
            first: None,
            last: Nanos::ZERO,
            step: 1,
        }
    }

    /// Takes the next records.
    pub fn add(&mut self, records: &[Record]) {
        for record in records {
            self.one(record);
        }
    }

    /// The statistics of all that was taken.
    pub fn finish(mut self) -> TraceStatistics {
        if self.statistics.live.series.last().is_none_or(|it| it.commands < self.commands) {
            self.point();
        }
        let unit = self.statistics.unit.bytes().0;
        let first = self.first.unwrap_or_default();
        self.statistics.duration = self.last.saturating_sub(first);
        self.statistics.live.end_bytes = self.live.units().saturating_mul(unit);
        self.statistics.trims.end_bytes = u128::from(self.trimmed.units()) * u128::from(unit);
        self.statistics
    }

    fn one(&mut self, record: &Record) {
        let Record { time, kind, offset, length } = *record;
        if self.first.is_some() {
            self.statistics.gaps.add(time.saturating_sub(self.last).0, 1);
        }
        self.first.get_or_insert(time);
        self.last = time;
        self.statistics.kinds[kind as usize].add(record);
        if length.0 > 0 {
            let lowest = self.statistics.lowest.get_or_insert(offset);
            *lowest = (*lowest).min(offset);
            self.statistics.span = self.statistics.span.max(record.end());
        }
        match kind {
            RecordKind::Write => self.write(record),
            RecordKind::Discard => self.discard(record),
            RecordKind::Read | RecordKind::Flush => {}
        }
        self.commands += 1;
        if self.commands.is_multiple_of(self.step) {
            self.point();
        }
    }

    fn write(&mut self, record: &Record) {
        let unit = self.statistics.unit.bytes().0;
        let units = record.offset.0 / unit..record.end().0.div_ceil(unit);
        let set = self.live.set(units.clone());
        self.statistics.live.unfollowed_bytes += u128::from(set.unfollowed) * u128::from(unit);
        if set.changed + set.unfollowed > 0 && !self.trimmed.is_empty() {
            let now = self.position();
            let trims = &mut self.statistics.trims;
            let lost = self.trimmed.take(units, |count, then| {
                let bytes = count.saturating_mul(unit);
                trims.rewritten_bytes += u128::from(bytes);
                trims.distance_bytes.add(now.written - then.written, bytes);
                // The TRIM itself is not between.
                trims.distance_commands.add(now.commands - then.commands - 1, bytes);
            });
            trims.unfollowed_bytes += u128::from(lost) * u128::from(unit);
        }
        self.written += u128::from(record.length.0);
        let live = &mut self.statistics.live;
        live.most_bytes = live.most_bytes.max(self.live.units().saturating_mul(unit));
    }

    fn discard(&mut self, record: &Record) {
        let unit = self.statistics.unit.bytes().0;
        let (start, end) = (record.offset.0.div_ceil(unit), record.end().0 / unit);
        let units = start..end.max(start);
        let whole = units.end - units.start;
        let trims = &mut self.statistics.trims;
        let partial = record.length.0 - whole * unit;
        trims.partial_bytes += u128::from(partial);
        trims.partial_commands += u64::from(partial > 0);
        if whole == 0 {
            return;
        }
        let bytes = |count: u64| u128::from(count) * u128::from(unit);
        let cleared = self.live.clear(units.clone());
        self.statistics.live.unfollowed_bytes += bytes(cleared.unfollowed);
        let (freed, mut double) = (cleared.changed, 0);
        let lost = self.trimmed.take(units.clone(), |count, _| double += count);
        trims.unfollowed_bytes += bytes(lost);
        trims.freed_bytes += bytes(freed);
        trims.double_bytes += bytes(double);
        trims.double_commands += u64::from(double > 0);
        trims.unwritten_bytes += bytes(whole.saturating_sub(freed).saturating_sub(double));
        let now = self.position();
        if !self.trimmed.put(units, now) {
            self.statistics.trims.unfollowed_bytes += bytes(whole);
        }
    }

    fn position(&self) -> Position {
        // 2^64 bytes are more than any trace has written.
        let written = u64::try_from(self.written).unwrap_or(u64::MAX);
        Position { commands: self.commands, written }
    }

    /// Keeps a point of the series, and every second of them once there are too many.
    fn point(&mut self) {
        let unit = self.statistics.unit.bytes().0;
        let point = LivePoint {
            commands: self.commands,
            time: self.last,
            written_bytes: self.written,
            live_bytes: self.live.units().saturating_mul(unit),
        };
        let series = &mut self.statistics.live.series;
        series.push(point);
        if series.len() == POINTS_MAX {
            self.step *= 2;
            let step = self.step;
            series.retain(|point| point.commands.is_multiple_of(step));
        }
    }
}

impl OfKind {
    fn add(&mut self, record: &Record) {
        let bytes = u128::from(record.length.0);
        let sequential = self.commands > 0 && record.offset.0 == self.next && bytes > 0;
        self.commands += 1;
        self.bytes += bytes;
        self.sequential_commands += u64::from(sequential);
        if sequential {
            self.sequential_bytes += bytes;
        }
        self.sizes.add(record.length.0, 1);
        self.next = record.end().0;
    }
}

#[cfg(test)]
mod tests;
