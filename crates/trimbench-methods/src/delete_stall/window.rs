//! The data collected while one deletion is measured.
//!
//! Times are nanoseconds on the target's clock. Every request with an intended start within the
//! window counts, however late it ended: if a stall outlasts the window, the requests that it
//! delays still show its full length.

use trimbench_core::{Bytes, Errno, Instant, Nanos, Operation, OperationKind, Status};
use trimbench_results::{DeletionStep, LatencyHistogram, Series};

use super::level::Level;
use super::steps::{StallCurvesStep, StallWindowStep};
use trimbench_engine::{Observer, Sample};

/// Streams of the run, in the order in which the runner is given them.
pub(super) const SCRIPT: usize = 0;
/// The serial probe.
pub(super) const PROBE: usize = 1;
/// The open-loop load.
pub(super) const LOAD: usize = 2;

/// Points of the pictures: enough for a wide terminal, and for a stall of a fiftieth of the window.
const BINS: u64 = 160;

/// The bins of the picture, one of which begins with the deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bins {
    /// From the beginning to the first bin, which has what was before it, too. Zero unless the
    /// deletion comes within half a bin.
    first: Nanos,
    width: Nanos,
    /// In [[`BINS`] / 2, 2 [`BINS`]].
    count: u64,
}

impl Bins {
    /// Those of a window of this length, with the deletion so long after its beginning.
    fn of(lead: Nanos, length: Nanos) -> Self {
        let about = length.0 / BINS + 1;
        let before = (lead.0 + about / 2) / about;
        // Rounded down: what that leaves at the end, some nanoseconds of all bins, is no bin.
        let (first, width) = match before {
            0 => (lead, Nanos(about)),
            before => (Nanos::ZERO, Nanos(lead.0 / before)),
        };
        let binned = length.0.saturating_sub(first.0 + 2 * BINS);
        Self { first, width, count: binned.div_ceil(width.0).max(1) }
    }
}

/// Sum and count of latencies.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    sum: u128,
    count: u64,
}

impl Total {
    fn add(&mut self, latency: Nanos) {
        self.sum += u128::from(latency.0);
        self.count += 1;
    }

    fn seconds(self) -> f64 {
        self.sum as f64 / 1e9
    }
}

/// Completions of one kind of operation: the longest time without one.
#[derive(Clone, Copy, Debug)]
struct Gap {
    last: Instant,
    longest: Nanos,
}

impl Gap {
    fn completion(&mut self, at: Instant) {
        self.longest = self.longest.max(at.since(self.last));
        self.last = self.last.max(at);
    }
}

/// The collection of one window.
#[derive(Debug)]
pub(super) struct Window {
    /// When the picture begins.
    begin: Instant,
    /// When the deletion began.
    deleted_at: Instant,
    /// When the window closes.
    end: Instant,
    overdue_after: Nanos,
    /// Latencies of the probe before the deletion and from then on, as they came.
    lead: Vec<Nanos>,
    after: Vec<Nanos>,
    probe: Total,
    load: Total,
    probe_latency: LatencyHistogram,
    response_time: LatencyHistogram,
    lateness: LatencyHistogram,
    /// Spans in which the kernel held a submission, in order.
    held: Vec<(Instant, Instant)>,
    read_gap: Gap,
    write_gap: Gap,
    /// Spans in which a request was overdue, as they came.
    overdue: Vec<(Instant, Instant)>,
    /// Worst response of the accesses that were intended in each bin.
    bins: Bins,
    responses: Vec<Option<Nanos>>,
    /// Accesses of the load that ended in each bin.
    ended: Vec<u64>,
    /// Bytes discarded by the end of each sample, `(time, bytes)`.
    discarded: Vec<(Instant, Bytes)>,
    deletion: Nanos,
    /// Accesses of load and probe, those before the deletion included.
    accesses: u64,
    failures: u64,
    last_errno: Option<Errno>,
}

impl Window {
    pub(super) fn new(
        begin: Instant,
        deleted_at: Instant,
        end: Instant,
        overdue_after: Nanos,
    ) -> Self {
        debug_assert!(begin <= deleted_at && deleted_at < end);
        let gap = Gap { last: deleted_at, longest: Nanos::ZERO };
        let bins = Bins::of(deleted_at - begin, end - begin);
        Self {
            begin,
            deleted_at,
            end,
            overdue_after,
            lead: Vec::new(),
            after: Vec::new(),
            probe: Total::default(),
            load: Total::default(),
            probe_latency: LatencyHistogram::new(),
            response_time: LatencyHistogram::new(),
            lateness: LatencyHistogram::new(),
            held: Vec::new(),
            read_gap: gap,
            write_gap: gap,
            overdue: Vec::new(),
            responses: vec![None; trimbench_core::units::index(bins.count)],
            ended: vec![0; trimbench_core::units::index(bins.count)],
            bins,
            discarded: Vec::new(),
            deletion: Nanos::ZERO,
            accesses: 0,
            failures: 0,
            last_errno: None,
        }
    }

    /// The pace of the probe before the deletion; `None` if it tells nothing.
    pub(super) fn level(&self) -> Option<Level> {
        Level::of(&self.lead)
    }

    /// The pace of the probe from the deletion on.
    pub(super) fn level_after(&self) -> Option<Level> {
        Level::of(&self.after)
    }

    /// Notes how much has been discarded since the deletion.
    pub(super) fn discarded(&mut self, at: Instant, bytes: Bytes) {
        self.discarded.push((at, bytes));
    }

    /// Commands that failed, and the last reason.
    pub(super) fn failures(&self) -> Option<(u64, Errno)> {
        self.last_errno.map(|errno| (self.failures, errno))
    }

    /// Accesses of load and probe, those before the deletion included.
    pub(super) fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Whether a request was still overdue when the window closed.
    pub(super) fn outlasted(&self) -> bool {
        self.overdue.iter().any(|span| span.1 > self.end + self.overdue_after)
    }

    /// The 99th percentile of how late this machine issued the load, without the time in which the
    /// kernel held submissions: that is part of the stall.
    pub(super) fn lateness(&self) -> Nanos {
        self.lateness.percentile(trimbench_results::Quantile::P99).unwrap_or(Nanos::ZERO)
    }

    /// By how much a request was issued too late, apart from the time in which the kernel held the
    /// submissions before it.
    fn lateness_of<C>(&self, sample: &Sample<C>) -> Nanos {
        let held = self.held_within(sample.intended, sample.issued);
        Nanos(sample.issued.since(sample.intended).0.saturating_sub(held.0))
    }

    /// For how long of this span submissions were held.
    fn held_within(&self, from: Instant, until: Instant) -> Nanos {
        let spans = self.held.iter().rev().take_while(|span| span.1 > from);
        Nanos(spans.map(|span| span.1.min(until).since(span.0.max(from)).0).sum())
    }

    fn picture<C>(&mut self, sample: &Sample<C>) {
        let response = sample.response_time();
        // What the deletion met under way is drawn with it: no stall begins before its cause.
        let met = sample.intended < self.deleted_at && sample.completed > self.deleted_at;
        let bin = self.bin(if met { self.deleted_at } else { sample.intended });
        if let Some(worst) = self.responses.get_mut(bin) {
            *worst = Some(worst.map_or(response, |worst| worst.max(response)));
        }
        let bin = self.bin(sample.completed);
        if let Some(ended) = self.ended.get_mut(bin) {
            *ended += 1;
        }
    }

    /// The time that a bin is wide.
    fn bin(&self, at: Instant) -> usize {
        let since = at.since(self.begin).0.saturating_sub(self.bins.first.0);
        trimbench_core::units::index(since / self.bins.width.0)
    }

    /// Merges the overdue spans; total length and the end of the last.
    fn overdue_time(&self) -> (Nanos, Option<Instant>) {
        let mut spans = self.overdue.clone();
        spans.sort_unstable();
        let mut total = Nanos::ZERO;
        let mut covered_to = Instant::START;
        for (start, end) in spans {
            let from = start.max(covered_to);
            total += end.since(from);
            covered_to = covered_to.max(end);
        }
        (total, (total > Nanos::ZERO).then_some(covered_to))
    }

    /// Its deletion, of so many bytes.
    pub(super) fn deletion(&self, size: Bytes) -> DeletionStep {
        let deleted_at_s = (self.deleted_at - self.begin).seconds();
        DeletionStep { size_bytes: size, deleted_at_s, response_max: self.response_series() }
    }

    /// What load and probe came to.
    pub(super) fn measured(&self) -> StallWindowStep {
        let (overdue, last) = self.overdue_time();
        let drained = last.map_or(Nanos::ZERO, |last| last.since(self.deleted_at));
        let held = self.held_within(self.deleted_at, self.end);
        StallWindowStep {
            window_s: (self.end - self.deleted_at).seconds(),
            probe_latency_s_sum: self.probe.seconds(),
            probe_count: self.probe.count,
            load_response_s_sum: self.load.seconds(),
            load_count: self.load.count,
            overdue_s: overdue.seconds(),
            drained_s: drained.seconds(),
            read_gap_s: self.read_gap.longest.seconds(),
            write_gap_s: self.write_gap.longest.seconds(),
            deletion_s: self.deletion.seconds(),
            lateness_s_p99: self.lateness().seconds(),
            held_s: (!self.held.is_empty()).then(|| held.seconds()),
            response_s_max: self.response_time.max().map(Nanos::seconds),
            probe_latency: self.probe_latency.clone(),
            response_time: self.response_time.clone(),
        }
    }

    /// The curves; the reads a second only of a closed loop.
    pub(super) fn curves(&self, is_closed: bool) -> StallCurvesStep {
        let reads = if is_closed { self.read_rate() } else { None };
        StallCurvesStep { discarded: self.discarded_series(), reads }
    }

    /// When each bin begins, in seconds.
    fn begins(&self) -> Vec<f64> {
        let Bins { first, width, count } = self.bins;
        (0..count).map(|bin| Nanos(first.0 + width.times(bin).0).seconds()).collect()
    }

    /// The accesses that ended, a second, bin by bin.
    fn read_rate(&self) -> Option<Series> {
        let Bins { first, width, .. } = self.bins;
        let width = |bin: usize| match bin {
            0 => Nanos(first.0 + width.0).seconds(),
            _ => width.seconds(),
        };
        let rates = self.ended.iter().enumerate();
        let rates = rates.map(|(bin, ended)| Some(*ended as f64 / width(bin))).collect();
        Series::new("s", "1/s", self.begins(), rates)
    }

    fn response_series(&self) -> Option<Series> {
        let x = self.begins();
        let y = self.responses.iter().map(|worst| worst.map(|worst| worst.0 as f64 / 1e6));
        Series::new("s", "ms", x, y.collect())
    }

    fn discarded_series(&self) -> Option<Series> {
        let x = self.discarded.iter().map(|(at, _)| at.since(self.begin).seconds()).collect();
        let mebibytes = |bytes: Bytes| bytes.0 as f64 / f64::from(1 << 20);
        let y = self.discarded.iter().map(|(_, bytes)| Some(mebibytes(*bytes))).collect();
        Series::new("s", "MiB", x, y)
    }
}

impl<C: Operation> Observer<C> for Window {
    fn observe(&mut self, sample: &Sample<C>) {
        if let Status::Failed(errno) = sample.status {
            self.failures += 1;
            self.last_errno = Some(errno);
        }
        if sample.stream == SCRIPT {
            self.deletion = self.deletion.max(sample.completed.since(self.deleted_at));
            return;
        }
        self.accesses += 1;
        let response = sample.response_time();
        if sample.stream == LOAD {
            self.picture(sample);
            let gap = match sample.command.kind() {
                OperationKind::Read => &mut self.read_gap,
                _ => &mut self.write_gap,
            };
            if sample.completed >= self.deleted_at {
                gap.completion(sample.completed);
            }
        }
        if sample.stream == PROBE && sample.completed < self.deleted_at {
            self.lead.push(sample.latency());
        }
        // A request of before the deletion counts only if the deletion held it up.
        let counts = if sample.intended < self.deleted_at {
            sample.completed > self.deleted_at && response > self.overdue_after
        } else {
            sample.intended < self.end
        };
        if !counts {
            return;
        }
        if sample.stream == PROBE {
            self.after.push(sample.latency());
            self.probe.add(sample.latency());
            self.probe_latency.record(sample.latency());
            return;
        }
        self.load.add(response);
        self.response_time.record(response);
        self.lateness.record(self.lateness_of(sample));
        if response > self.overdue_after {
            self.overdue.push((sample.intended, sample.completed));
        }
    }

    fn held(&mut self, from: Instant, until: Instant) {
        self.held.push((from, until));
    }
}
