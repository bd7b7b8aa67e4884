//! `skip-by-latency`: while reads and writes take too long, what is freed is skipped, and so is all
//! that waits: the second form of the skipping that \[S3\] proposes.
//!
//! Latency is a moving average, in which each request weighs an eighth (assumed; `FreeBSD`'s CAM,
//! which steers writes by such an average, weighs 1/512). It is forgotten when none is outstanding
//! and none has completed for a while: else one bad moment before a pause would skip all through
//! it. The first request after a pause is the average.

use trimbench_core::{Blocks, Grant, Instant, Nanos};

use super::skip_by_queue::DEPTH;
use crate::catalogue::{Parameter, PolicyError, PolicyInfo, Values};
use crate::policy::{Backlog, Foreground, TrimPolicy};

const THRESHOLD: Parameter = Parameter {
    key: "threshold",
    default: "15ms",
    meaning: "mean latency of reads and writes beyond which is skipped (FreeBSD CAM, upper bound)",
};
const MEMORY: Parameter = Parameter {
    key: "memory",
    default: "1s",
    meaning: "the mean is forgotten when there was no request for so long (assumed)",
};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "skip-by-latency",
    summary: "discards at once, but skips everything while reads and writes take too long",
    parameters: &[THRESHOLD, MEMORY, DEPTH],
    build: |values| Ok(Box::new(SkipByLatency::read(values)?)),
};

#[derive(Clone, Copy, Debug)]
struct SkipByLatency {
    threshold: Nanos,
    memory: Nanos,
    depth: u64,
    mean: Nanos,
    outstanding: u64,
    /// When the last request completed, once one has.
    heard_at: Option<Instant>,
}

impl SkipByLatency {
    fn read(values: &Values<'_>) -> Result<Self, PolicyError> {
        Ok(Self {
            threshold: values.quantity(THRESHOLD.key, Nanos(1_000), Nanos::from_secs(3_600))?,
            memory: values.quantity(MEMORY.key, Nanos::from_millis(1), Nanos::from_secs(3_600))?,
            depth: values.quantity(DEPTH.key, 1, 1_000_000)?,
            mean: Nanos::ZERO,
            outstanding: 0,
            heard_at: None,
        })
    }

    fn remembers(&self, now: Instant) -> bool {
        self.heard_at.is_some_and(|at| self.outstanding > 0 || now.since(at) <= self.memory)
    }

    fn too_slow(&self, now: Instant) -> bool {
        self.remembers(now) && self.mean > self.threshold
    }
}

impl TrimPolicy for SkipByLatency {
    fn admit(&mut self, now: Instant, freed: Blocks, _: &Backlog) -> Blocks {
        if self.too_slow(now) { Blocks(0) } else { freed }
    }

    fn sheds(&mut self, now: Instant) -> bool {
        self.too_slow(now)
    }

    fn grant(&mut self, _: Instant, backlog: &Backlog) -> Grant {
        backlog.any_below(self.depth)
    }

    fn foreground(&mut self, now: Instant, seen: Foreground) {
        if let Some(latency) = seen.latency {
            self.mean = if self.remembers(now) {
                self.mean - Nanos(self.mean.0 / 8) + Nanos(latency.0 / 8)
            } else {
                latency
            };
            self.heard_at = Some(now);
        }
        self.outstanding = seen.outstanding;
    }
}
