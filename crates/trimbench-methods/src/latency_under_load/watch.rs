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
use trimbench_results::{LatencyHistogram, PercentilesStep, Quantile, statistics};

use super::steps::{GrowthStep, ResponseStep};

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

/// Parts of what counts, in the order of time: five of its first half, five of its second.
const PARTS: usize = 10;
/// By so much the p99 of the second half exceeds that of the first, at the least, if it grows.
const GROWS: f64 = 1.1;
/// And its accesses above the p99 of all exceed those of the first half by so many standard errors:
/// Student's t of 8 degrees of freedom, 99.5 % of one side.
const GROWS_SURELY: f64 = 3.355;

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
    /// Of each part of what counts.
    responses: [LatencyHistogram; PARTS],
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
        let age = u128::from(sample.intended.since(self.began).0);
        let part = age * PARTS as u128 / u128::from(self.length.0.max(1));
        seen.responses[usize::try_from(part).unwrap_or(PARTS).min(PARTS - 1)].record(response);
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

    /// The response times of a class, and all of them; `None` where there are none.
    pub(super) fn responses(&self, class: Class) -> Option<(ResponseStep, LatencyHistogram)> {
        let seen = &self.classes[class as usize];
        let all = merged(&seen.responses);
        let responses = ResponseStep {
            count: all.count(),
            mean: all.mean()? / 1e9,
            max: seen.longest.seconds(),
            percentiles: PercentilesStep::of(&all),
            growth: growth(&seen.responses),
        };
        Some((responses, all))
    }
}

fn merged(parts: &[LatencyHistogram]) -> LatencyHistogram {
    let mut all = LatencyHistogram::new();
    for part in parts {
        all.merge(part);
    }
    all
}

/// Compares the halves; `None` where one has too few for a p99. The parts, and not the accesses,
/// are the observations: those that a stall delays come together.
pub(super) fn growth(parts: &[LatencyHistogram; PARTS]) -> Option<GrowthStep> {
    let (early, late) = parts.split_at(PARTS / 2);
    let p99 = |parts: &[LatencyHistogram]| merged(parts).percentile(Quantile::P99);
    let (first, second, level) = (p99(early)?, p99(late)?, p99(parts)?);
    let above =
        |part: &LatencyHistogram| part.count_above(level) as f64 / part.count().max(1) as f64;
    let spread = |parts: &[LatencyHistogram]| {
        let shares: Vec<f64> = parts.iter().map(above).collect();
        let count = shares.len() as f64;
        let mean = shares.iter().sum::<f64>() / count;
        let squares: f64 = shares.iter().map(|share| (share - mean).powi(2)).sum();
        (mean, squares / (count - 1.0) / count)
    };
    let ((before, noise_before), (after, noise_after)) = (spread(early), spread(late));
    let surely = after - before > GROWS_SURELY * (noise_before + noise_after).sqrt();
    let grows = surely && second.0 as f64 > GROWS * first.0 as f64;
    Some(GrowthStep { first_half: first.seconds(), second_half: second.seconds(), grows })
}
