//! Measurements of a run, interval by interval: the callers, the devices' counters, the probe.

use trimbench_core::contract::ClassStatistics;
use trimbench_core::{Bytes, DeviceStatistics, Instant, Nanos};
use trimbench_results::{Series, Step};

/// A curve has at most so many points; neighbouring intervals are then taken together.
const POINTS: usize = 400;

/// What is looked at of an interval.
type OfCallers = fn(&Tick) -> Bytes;
type OfDevices = fn(&Tick) -> ClassStatistics;

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

/// Notes the curves and sums of a phase that began at `begin`.
pub(super) fn note(step: &mut Step, ticks: &[Tick], begin: Instant) {
    let Some(first) = ticks.first() else { return };
    let per_point = ticks.len().div_ceil(POINTS);
    let points: Vec<Tick> = ticks.chunks(per_point).map(together).collect();
    let x: Vec<f64> = points
        .iter()
        .map(|point| point.at.since_start().seconds() - begin.since_start().seconds())
        .collect();
    let seconds = |point: &Tick| (point.at - point.from).seconds();
    let mut curve = |key: String, unit: &str, y: Vec<Option<f64>>| {
        step.add_series(&key, Series::new("s", unit, x.clone(), y));
    };
    let callers: [(&str, OfCallers); 2] = [
        ("callers-read", |point| point.callers_read),
        ("callers-write", |point| point.callers_wrote),
    ];
    for (name, of) in callers {
        let y = points.iter().map(|point| Some(of(point).0 as f64 / 1e6 / seconds(point)));
        curve(format!("{name}-throughput"), "MB/s", y.collect());
    }
    let classes: [(&str, OfDevices); 3] = [
        ("read", |tick| tick.read),
        ("write", |tick| tick.write),
        ("discard", |tick| tick.discard),
    ];
    for (name, of) in classes {
        let each = |value: fn(ClassStatistics, f64) -> Option<f64>| {
            points.iter().map(|point| value(of(point), seconds(point))).collect()
        };
        let throughput = each(|class, seconds| Some(class.bytes.0 as f64 / 1e6 / seconds));
        curve(format!("{name}-throughput"), "MB/s", throughput);
        let service = each(|class, _| {
            (class.completed > 0).then(|| class.time.0 as f64 / 1e6 / class.completed as f64)
        });
        curve(format!("{name}-service-time"), "ms", service);
        let queue = each(|class, seconds| Some(class.time.seconds() / seconds));
        curve(format!("{name}-queue"), "requests", queue);
    }
    let probes = points.iter().map(|point| point.probe_max.map(|worst| worst.0 as f64 / 1e6));
    curve("probe-max".to_owned(), "ms", probes.collect());

    let sum = ticks[1..].iter().fold(*first, |sum, tick| together(&[sum, *tick]));
    for (name, of) in classes {
        let class = of(&sum);
        step.measure(&format!("{name}_bytes"), class.bytes.0 as f64);
        step.measure(&format!("{name}_count"), class.completed as f64);
        if class.completed > 0 {
            let mean = class.time.seconds() / class.completed as f64;
            step.measure(&format!("{name}_service_time_s_mean"), mean);
        }
    }
    step.measure("callers_read_bytes", sum.callers_read.0 as f64);
    step.measure("callers_written_bytes", sum.callers_wrote.0 as f64);
    if let Some(worst) = sum.probe_max {
        step.measure("probe_latency_s_max", worst.seconds());
    }
}
