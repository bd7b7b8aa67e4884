//! One offered rate while it runs: what arrives, what was seen of it, and whether the drive kept
//! up.
//!
//! Accesses arrive whatever became of the earlier ones, so a drive that serves fewer than arrive
//! has a backlog that grows for as long as the rate lasts, and every wait would say how long that
//! was.
//! The drive *keeps up* if the backlog does not grow: of the accesses that arrive in the last fifth
//! of what counts, the median of the reads, that of the writes and that of the TRIMs wait at most a
//! fiftieth of its length. A drive that lags behind the arrivals by 2.5 % or more fails that; a
//! single stall that is shorter than half of that fifth does not. Where what is outstanding is
//! limited, waits say nothing of that: then at least 97.5 % of what is offered must have ended.

use trimbench_core::rng::Rng;
use trimbench_core::{BlockCommand, Instant, LbaRange, Nanos, Next, Workload};
use trimbench_engine::{Observer, Sample, Several, Streams};
use trimbench_results::{LatencyHistogram, Quantile, Step, statistics};

/// The last accesses of what counts: those of a fifth of it.
const LATE: u64 = 5;
/// What must have ended of what is offered.
const SERVED: f64 = 0.975;
/// They wait at most this part of it.
const WAIT: u64 = 50;

/// Commands with response times of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Read,
    Write,
    Trim,
}

impl Class {
    pub(super) const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Trim];

    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
        }
    }

    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Trim => "TRIMs",
        }
    }

    /// The key of one of its metrics in a step: `read_response_s_p99`.
    pub(super) fn key(self, what: &str) -> String {
        format!("{}_response_s_{}", self.id(), what.replace('.', "_"))
    }

    /// The name of its histogram in a step.
    pub(super) fn histogram(self) -> String {
        format!("{}-response-time", self.id())
    }
}

/// TRIMs that arrive at random, each of the next of some ranges, whatever became of those before.
pub(super) struct TrimStream {
    ranges: std::vec::IntoIter<LbaRange>,
    gap: Nanos,
    due: Instant,
    until: Instant,
    gaps: Rng,
}

impl TrimStream {
    /// `per_second` a second from `start` to `until`; none at 0.
    pub(super) fn new(
        ranges: Vec<LbaRange>,
        per_second: u64,
        times: std::ops::Range<Instant>,
        gaps: Rng,
    ) -> Self {
        let gap = Nanos(1_000_000_000 / per_second.max(1));
        let mut trims =
            Self { ranges: ranges.into_iter(), gap, due: times.start, until: times.end, gaps };
        trims.due += trims.gaps.exponential(gap);
        trims
    }
}

impl Workload for TrimStream {
    type Command = BlockCommand;

    fn next(&mut self, now: Instant) -> Next<BlockCommand> {
        if self.due >= self.until {
            return Next::Done;
        }
        if self.due > now {
            // Without ranges there is nothing to wait for.
            return if self.ranges.len() == 0 { Next::Done } else { Next::NotBefore(self.due) };
        }
        let Some(range) = self.ranges.next() else { return Next::Done };
        let intended = self.due;
        self.due += self.gaps.exponential(self.gap);
        Next::Issue { intended, command: BlockCommand::Discard(range) }
    }

    fn completed(&mut self, _: &BlockCommand, _: Instant) {}
}

/// Streams that end when too much is outstanding: a drive that does not keep up would work it off
/// for long.
pub(super) struct Limited<'a> {
    streams: Several<'a, BlockCommand>,
    outstanding: u64,
    outstanding_max: u64,
    /// With so many outstanding, what arrives waits unseen.
    places: u64,
    /// They were ended because of that.
    pub(super) has_overflowed: bool,
}

impl<'a> Limited<'a> {
    pub(super) fn new(
        streams: Several<'a, BlockCommand>,
        outstanding_max: u64,
        places: Option<u64>,
    ) -> Self {
        let places = places.unwrap_or(u64::MAX);
        Self { streams, outstanding: 0, outstanding_max, places, has_overflowed: false }
    }
}

impl Streams for Limited<'_> {
    type Command = BlockCommand;

    fn next(&mut self, now: Instant) -> (usize, Next<BlockCommand>) {
        self.has_overflowed |= self.outstanding > self.outstanding_max;
        if self.has_overflowed {
            return (0, Next::Done);
        }
        if self.outstanding >= self.places {
            return (0, Next::Await);
        }
        let (stream, mut next) = self.streams.next(now);
        if let (Next::Issue { intended, .. }, true) = (&mut next, self.places < u64::MAX) {
            *intended = now;
        }
        self.outstanding += u64::from(matches!(next, Next::Issue { .. }));
        (stream, next)
    }

    fn completed(&mut self, stream: usize, command: &BlockCommand, at: Instant) {
        self.outstanding -= 1;
        self.streams.completed(stream, command, at);
    }
}

/// What was seen of a rate.
pub(super) struct SeenRate {
    /// When what counts begins, and how long it lasts.
    began: Instant,
    length: Nanos,
    /// Reads and writes that ended meanwhile.
    ended: u64,
    classes: [SeenClass; 3],
}

#[derive(Default)]
struct SeenClass {
    responses: LatencyHistogram,
    longest: Nanos,
    /// Response times, in seconds, of what arrived late.
    late: Vec<f64>,
}

impl Observer<BlockCommand> for SeenRate {
    fn observe(&mut self, sample: &Sample<BlockCommand>) {
        let class = match sample.command {
            BlockCommand::Read(_) => Class::Read,
            BlockCommand::Write { .. } => Class::Write,
            BlockCommand::Discard(_) => Class::Trim,
            BlockCommand::Flush => return,
        };
        let end = self.began + self.length;
        let meanwhile = self.began <= sample.completed && sample.completed < end;
        self.ended += u64::from(meanwhile && class != Class::Trim);
        if sample.intended < self.began {
            return;
        }
        let response = sample.response_time();
        let seen = &mut self.classes[class as usize];
        seen.responses.record(response);
        seen.longest = seen.longest.max(response);
        if sample.intended.since(self.began) >= self.length - Nanos(self.length.0 / LATE) {
            seen.late.push(response.seconds());
        }
    }
}

impl SeenRate {
    /// Of what arrives from `began` on, and counts for `length`.
    pub(super) fn new(began: Instant, length: Nanos) -> Self {
        Self { began, length, ended: 0, classes: Default::default() }
    }

    /// Reads and writes a second that ended in what counts.
    pub(super) fn achieved(&self) -> f64 {
        self.ended as f64 / self.length.seconds()
    }

    /// Whether the backlog did not grow, and where some of it may be `hidden`, whether as much
    /// ended as was `offered` a second.
    pub(super) fn keeps_up(&self, offered: f64, hidden: bool) -> bool {
        if hidden && self.achieved() < SERVED * offered {
            return false;
        }
        let waits = self.classes.iter().filter_map(|seen| statistics::median(&seen.late));
        waits.fold(0.0, f64::max) <= Nanos(self.length.0 / WAIT).seconds()
    }

    /// Notes the response times.
    pub(super) fn store(&self, step: &mut Step) {
        for class in Class::ALL {
            let SeenClass { responses, longest, .. } = &self.classes[class as usize];
            if responses.count() == 0 {
                continue;
            }
            step.measure(&format!("{}_count", class.id()), responses.count() as f64);
            for quantile in Quantile::STANDARD {
                if let Some(response) = responses.percentile(quantile) {
                    step.measure(&class.key(&quantile.to_string()), response.seconds());
                }
            }
            step.measure(&class.key("max"), longest.seconds());
            if let Some(mean) = responses.mean() {
                step.measure(&class.key("mean"), mean / 1e9);
            }
            step.add_histogram(&class.histogram(), responses);
        }
    }
}
