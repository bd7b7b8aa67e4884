//! What an attached drive counts: requests, the model's times, and how late its replies were.

use std::fmt;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use trimbench_core::Nanos;

#[cfg(test)]
mod tests;

/// The largest time that a histogram holds, ns: longer ones count as this.
const LONGEST: u64 = 3_600_000_000_000;
/// Of a power of two, a histogram tells so many parts apart as two digits need: within 1 %.
const DIGITS: u8 = 2;
/// The timer was woken so much later than it asked for: the process did not run.
pub(crate) const PAUSE: Nanos = Nanos::from_millis(100);
/// Lateness may be this part of the model's own time, at the 99th percentile, %.
const LATE_MAX: f64 = 5.0;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// Zeroes are written.
    Zero,
    /// A discard.
    Discard,
    /// A flush.
    Flush,
}

impl RequestKind {
    /// Each of them.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Zero, Self::Discard, Self::Flush];

    const fn place(self) -> usize {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::Zero => 2,
            Self::Discard => 3,
            Self::Flush => 4,
        }
    }
}

impl fmt::Display for RequestKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Zero => "zero",
            Self::Discard => "discard",
            Self::Flush => "flush",
        })
    }
}

/// What stands under the engine's lock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) power_is_off: bool,
    pub(crate) under_way: u64,
    pub(crate) most_under_way: u64,
    pub(crate) discard_backlog: u64,
    pub(crate) host_written: u64,
    pub(crate) media_written: u64,
}

/// Times of requests that ended, up to when somebody last asked for those since, and since then.
#[derive(Debug)]
pub(crate) struct Timings {
    before: Timing,
    pub(crate) now: Timing,
}

/// Times of requests that ended, by kind.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    slow_down: u32,
    took: [Histogram<u64>; 5],
    late: [Histogram<u64>; 5],
    bytes: [u64; 5],
    longest_pause: Nanos,
}

/// What an attached drive has counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Whether its power was cut, and not brought back.
    pub power_is_off: bool,
    /// Requests under way.
    pub under_way: u64,
    /// The most that were under way at once.
    pub most_under_way: u64,
    /// TRIM work that the drive has put off, ns of its time.
    pub discard_backlog_ns: u64,
    /// Bytes that the host wrote, since the drive was made.
    pub host_written: u64,
    /// Bytes that its flash was programmed with.
    pub media_written: u64,
    /// How often its time runs slower than the machine's.
    pub slow_down: u32,
    /// The longest time for which this process did not run though it was to, ns; pauses of less
    /// than 100 ms are left out.
    pub longest_pause_ns: u64,
    /// Requests that have ended, by kind.
    pub kinds: Vec<KindStatistics>,
}

/// Requests of a kind that have ended. Times are ns; percentiles are of the histogram's classes,
/// within 1 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindStatistics {
    /// What they asked for.
    pub kind: RequestKind,
    /// How many.
    pub count: u64,
    /// Their bytes; 0 for flushes.
    pub bytes: u64,
    /// What the model took, in the drive's time: median, 99th percentile, longest.
    pub model_ns: [u64; 3],
    /// How much later than the model says the reply was sent, in the machine's time: median, 99th
    /// percentile, longest.
    pub late_ns: [u64; 3],
    /// The part that was sent at most 50 us late, in [0, 1].
    pub within_50_us: f64,
}

impl Timings {
    pub(crate) fn new(slow_down: u32) -> Self {
        Self { before: Timing::new(slow_down), now: Timing::new(slow_down) }
    }

    /// Of all requests.
    pub(crate) fn all(&self) -> Timing {
        let mut all = self.before.clone();
        all.add(&self.now);
        all
    }

    /// Of those since the last such call.
    pub(crate) fn take(&mut self) -> Timing {
        self.before.add(&self.now);
        std::mem::replace(&mut self.now, Timing::new(self.before.slow_down))
    }
}

impl Timing {
    pub(crate) fn new(slow_down: u32) -> Self {
        let empty = || Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("constants");
        Self {
            slow_down,
            took: std::array::from_fn(|_| empty()),
            late: std::array::from_fn(|_| empty()),
            bytes: [0; 5],
            longest_pause: Nanos::ZERO,
        }
    }

    /// A request has ended.
    pub(crate) fn count(&mut self, (kind, bytes): (RequestKind, u64), took: Nanos, late: Nanos) {
        self.bytes[kind.place()] += bytes;
        self.took[kind.place()].saturating_record(took.0);
        self.late[kind.place()].saturating_record(late.0);
    }

    /// This process did not run for so long though it was to: at least [`PAUSE`].
    pub(crate) fn paused(&mut self, span: Nanos) {
        self.longest_pause = self.longest_pause.max(span);
    }

    fn add(&mut self, other: &Self) {
        let Self { took, late, bytes, longest_pause, .. } = self;
        for (all, more) in took.iter_mut().zip(&other.took).chain(late.iter_mut().zip(&other.late))
        {
            all.add(more).expect("the bounds are the same");
        }
        bytes.iter_mut().zip(other.bytes).for_each(|(all, more)| *all += more);
        *longest_pause = (*longest_pause).max(other.longest_pause);
    }

    pub(crate) fn statistics(&self, counted: Counted) -> Statistics {
        let three = |times: &Histogram<u64>| {
            [times.value_at_quantile(0.5), times.value_at_quantile(0.99), times.max()]
        };
        let kinds = RequestKind::ALL.into_iter().filter_map(|kind| {
            let (took, late) = (&self.took[kind.place()], &self.late[kind.place()]);
            let count = took.len();
            let within = late.count_between(0, 50_000);
            (count > 0).then(|| KindStatistics {
                kind,
                count,
                bytes: self.bytes[kind.place()],
                model_ns: three(took),
                late_ns: three(late),
                within_50_us: within as f64 / count as f64,
            })
        });
        Statistics {
            power_is_off: counted.power_is_off,
            under_way: counted.under_way,
            most_under_way: counted.most_under_way,
            discard_backlog_ns: counted.discard_backlog,
            host_written: counted.host_written,
            media_written: counted.media_written,
            slow_down: self.slow_down,
            longest_pause_ns: self.longest_pause.0,
            kinds: kinds.collect(),
        }
    }
}

impl Statistics {
    /// Why times that a program measures on this device are not the drive's; none if they may be
    /// believed.
    pub fn invalid_because(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.longest_pause_ns > 0 {
            let seconds = self.longest_pause_ns as f64 / 1e9;
            reasons.push(format!(
                "the process that serves the drive did not run, or waited for its own file, for \
                 {seconds:.1} s"
            ));
        }
        for kind in &self.kinds {
            let ([late, model], part) = (self.p99_ns(kind), self.late_percent_of(kind));
            if part > LATE_MAX {
                reasons.push(format!(
                    "{}: the 99th percentile of lateness is {:.1} us, {part:.0} % of the drive's \
                     own 99th percentile of {:.1} us; the limit is {LATE_MAX} %",
                    kind.kind,
                    late / 1e3,
                    model / 1e3
                ));
            }
        }
        reasons
    }

    /// The 99th percentile of lateness over the drive's own, in percent, of the kind of request of
    /// which it is the largest; `None` if no request has ended.
    pub fn late_percent(&self) -> Option<f64> {
        self.kinds.iter().map(|kind| self.late_percent_of(kind)).reduce(f64::max)
    }

    fn late_percent_of(&self, kind: &KindStatistics) -> f64 {
        let [late, model] = self.p99_ns(kind);
        100.0 * late / model.max(1.0)
    }

    /// Of lateness, and of the model's time, both in the machine's ns.
    fn p99_ns(&self, kind: &KindStatistics) -> [f64; 2] {
        let ([_, late, _], [_, model, _]) = (kind.late_ns, kind.model_ns);
        [late as f64, model as f64 * f64::from(self.slow_down)]
    }
}
