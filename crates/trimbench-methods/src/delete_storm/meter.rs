//! Measurements of a run, interval by interval: the callers, the devices' counters, the probe.

use trimbench_core::contract::ClassStatistics;
use trimbench_core::{Bytes, DeviceStatistics, Instant, Nanos};
use trimbench_results::Series;

use super::steps::{StormClassStep, StormMeterStep};

/// A curve has at most so many points; neighbouring intervals are then taken together.
const POINTS: usize = 400;

/// One interval, which ends at `at`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tick {
    pub(super) from: Instant,
    pub(super) at: Instant,
    /// Of the devices, within the interval.
    pub(super) read: ClassStatistics,
    pub(super) write: ClassStatistics,
    pub(super) discard: ClassStatistics,
    /// What the writers read and wrote.
    pub(super) callers_read: Bytes,
    pub(super) callers_wrote: Bytes,
    /// The slowest probe that ended.
    pub(super) probe_max: Option<Nanos>,
}

/// Fills the intervals.
#[derive(Debug)]
pub(super) struct Meter {
    before: DeviceStatistics,
    from: Instant,
    callers_read: Bytes,
    callers_wrote: Bytes,
    probe_max: Option<Nanos>,
    pub(super) ticks: Vec<Tick>,
}

impl Meter {
    pub(super) fn new(statistics: DeviceStatistics, now: Instant) -> Self {
        Self {
            before: statistics,
            from: now,
            callers_read: Bytes(0),
            callers_wrote: Bytes(0),
            probe_max: None,
            ticks: Vec::new(),
        }
    }

    pub(super) fn read(&mut self, bytes: Bytes) {
        self.callers_read += bytes;
    }

    pub(super) fn wrote(&mut self, bytes: Bytes) {
        self.callers_wrote += bytes;
    }

    pub(super) fn probed(&mut self, latency: Nanos) {
        self.probe_max = self.probe_max.max(Some(latency));
    }

    /// The interval ends.
    pub(super) fn tick(&mut self, statistics: DeviceStatistics, now: Instant) {
        let before = std::mem::replace(&mut self.before, statistics);
        self.ticks.push(Tick {
            from: std::mem::replace(&mut self.from, now),
            at: now,
            read: since(statistics.read, before.read),
            write: since(statistics.write, before.write),
            discard: since(statistics.discard, before.discard),
            callers_read: std::mem::take(&mut self.callers_read),
            callers_wrote: std::mem::take(&mut self.callers_wrote),
            probe_max: self.probe_max.take(),
        });
    }

    /// The intervals that lie in a span, for the most part.
    pub(super) fn within(&self, from: Instant, to: Instant) -> &[Tick] {
        let middle = |tick: &Tick| tick.from + Nanos((tick.at - tick.from).0 / 2);
        let first = self.ticks.partition_point(|tick| middle(tick) < from);
        let last = self.ticks.partition_point(|tick| middle(tick) < to);
        &self.ticks[first..last]
    }
}

fn since(now: ClassStatistics, before: ClassStatistics) -> ClassStatistics {
    ClassStatistics {
        completed: now.completed.saturating_sub(before.completed),
        bytes: now.bytes.saturating_sub(before.bytes),
        time: now.time.saturating_sub(before.time),
    }
}

/// Several intervals as one.
fn together(ticks: &[Tick]) -> Tick {
    let mut sum = ticks[0];
    for tick in &ticks[1..] {
        sum.at = tick.at;
        for (sum, one) in [
            (&mut sum.read, tick.read),
            (&mut sum.write, tick.write),
            (&mut sum.discard, tick.discard),
        ] {
            sum.completed += one.completed;
            sum.bytes += one.bytes;
            sum.time += one.time;
        }
        sum.callers_read += tick.callers_read;
        sum.callers_wrote += tick.callers_wrote;
        sum.probe_max = sum.probe_max.max(tick.probe_max);
    }
    sum
}

/// The curves and sums of a phase that began at `begin`; `None` without an interval.
pub(super) fn measured(ticks: &[Tick], begin: Instant) -> Option<StormMeterStep> {
    if ticks.is_empty() {
        return None;
    }
    let points: Vec<Tick> = ticks.chunks(ticks.len().div_ceil(POINTS)).map(together).collect();
    let x: Vec<f64> = points
        .iter()
        .map(|point| point.at.since_start().seconds() - begin.since_start().seconds())
        .collect();
    let sum = together(ticks);
    let seconds = |point: &Tick| (point.at - point.from).seconds();
    let curve = |unit: &str, of: &dyn Fn(&Tick) -> Option<f64>| {
        Series::new("s", unit, x.clone(), points.iter().map(of).collect())
    };
    let throughput = |of: fn(&Tick) -> Bytes| {
        curve("MB/s", &|point| Some(of(point).0 as f64 / 1e6 / seconds(point)))
    };
    let service_time = |of: fn(&Tick) -> ClassStatistics| {
        curve("ms", &|point| {
            let ClassStatistics { completed, time, .. } = of(point);
            (completed > 0).then(|| time.0 as f64 / 1e6 / completed as f64)
        })
    };
    let queue = |of: fn(&Tick) -> ClassStatistics| {
        curve("requests", &|point| Some(of(point).time.seconds() / seconds(point)))
    };
    let class = |of: fn(&Tick) -> ClassStatistics, bytes: fn(&Tick) -> Bytes| {
        let ClassStatistics { completed, time, .. } = of(&sum);
        StormClassStep {
            bytes: bytes(&sum),
            count: completed,
            service_time_s_mean: (completed > 0).then(|| time.seconds() / completed as f64),
            throughput: throughput(bytes),
            service_time: service_time(of),
            queue: queue(of),
        }
    };
    Some(StormMeterStep {
        callers_read_bytes: sum.callers_read,
        callers_written_bytes: sum.callers_wrote,
        probe_latency_s_max: sum.probe_max.map(Nanos::seconds),
        callers_read_throughput: throughput(|tick| tick.callers_read),
        callers_write_throughput: throughput(|tick| tick.callers_wrote),
        probe_max: curve("ms", &|point| point.probe_max.map(|worst| worst.0 as f64 / 1e6)),
        read: class(|tick| tick.read, |tick| tick.read.bytes),
        write: class(|tick| tick.write, |tick| tick.write.bytes),
        discard: class(|tick| tick.discard, |tick| tick.discard.bytes),
    })
}
