//! `skip-by-latency`: while reads and writes take too long, freed extents are skipped, and so are
//! all waiting ones: the second form of the skipping that \[S3\] proposes.
//!
//! Latency is a moving average, in which each request has a weight of an eighth (assumed;
//! `FreeBSD`'s CAM, which steers writes by such an average, uses 1/512). It is reset when no
//! request is outstanding and none has completed for a while; otherwise one bad moment before a
//! pause would cause skipping throughout the pause. After a pause the average begins with the first
//! request.

use trimbench_core::settings::{FromSettings as _, default_to, within};
use trimbench_core::{Blocks, Instant, Nanos, settings};

use crate::policy::{Backlog, Foreground, Grant, PolicyInfo, PolicyOrigin, TrimPolicy};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "skip-by-latency",
    summary: "discards at once, but skips everything while reads and writes take too long",
    origin: PolicyOrigin::Proposal("[S3]"),
    parameters: SkipByLatency::rows,
    build: Some(|values| Ok(Box::new(SkipByLatency::read(values)?))),
};

settings! {
    #[derive(Clone, Copy, Debug)]
    struct SkipByLatency(values) {
        /// mean latency of reads and writes above which discards are skipped (FreeBSD CAM, upper
        /// bound)
        threshold: Nanos = "threshold", default_to("15ms"),
            within(Nanos(1_000), Nanos::from_secs(3_600));
        /// time without requests after which the mean is reset (assumed)
        memory: Nanos = "memory", default_to("1s"),
            within(Nanos::from_millis(1), Nanos::from_secs(3_600));
        /// discards in flight, at most (OpenZFS, zfs_vdev_trim_max_active)
        depth: u64 = "depth", default_to("2"), within(1, 1_000_000);
    } with {
        mean: Nanos = Nanos::ZERO;
        outstanding: u64 = 0;
        /// When the last request completed, once one has.
        heard_at: Option<Instant> = None;
    }
}

impl SkipByLatency {
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
