//! `rate-limited`: limits discards and their bytes per second: the deferring that \[S3\] proposes,
//! for which "the block freeing work must be throttled". This is the throttle of btrfs's
//! `discard=async` without its delay, with limits of the user's.

use trimbench_core::settings::FromSettings as _;
use trimbench_core::{Blocks, Instant};

use super::throttle::Throttle;
use crate::policy::{Backlog, Grant, PolicyInfo, PolicyOrigin, TrimPolicy};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "rate-limited",
    summary: "limits the number and the bytes of discards per second",
    origin: PolicyOrigin::Proposal("[S3]"),
    parameters: Throttle::rows,
    build: Some(|values| Ok(Box::new(RateLimited(Throttle::read(values)?)))),
};

#[derive(Clone, Copy, Debug)]
struct RateLimited(Throttle);

impl TrimPolicy for RateLimited {
    fn grant(&mut self, now: Instant, backlog: &Backlog) -> Grant {
        self.0.grant(now, backlog.in_flight)
    }

    fn issued(&mut self, now: Instant, blocks: Blocks) {
        self.0.issued(now, blocks);
    }
}
