//! `deferred`: discards each extent after a delay, during which it may be reused, and then
//! throttled. This is the scheme of btrfs's `discard=async`, whose delay counts from the first
//! extent freed in a block group; here it counts from the oldest part of an extent.

use trimbench_core::settings::{FromSettings as _, default_to, within};
use trimbench_core::{Blocks, Grant, Instant, Nanos, settings};

use super::throttle::Throttle;
use crate::policy::{Backlog, PolicyInfo, TrimPolicy};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "deferred",
    summary: "discards each extent some time after its freeing, then throttled",
    parameters: Deferred::rows,
    build: |values| Ok(Box::new(Deferred::read(values)?)),
};

settings! {
    #[derive(Clone, Copy, Debug)]
    struct Deferred(values) {
        /// minimum time from the freeing to the discard (btrfs, BTRFS_DISCARD_DELAY)
        delay: Nanos = "delay", default_to("120s"),
            within(Nanos::ZERO, Nanos::from_secs(365 * 86_400));
        /// What comes after the delay.
        throttle: Throttle;
    }
}

impl TrimPolicy for Deferred {
    fn grant(&mut self, now: Instant, backlog: &Backlog) -> Grant {
        let eligible = backlog.oldest + self.delay;
        if now < eligible {
            return Grant::Until(eligible);
        }
        self.throttle.grant(now, backlog.in_flight)
    }

    fn issued(&mut self, now: Instant, blocks: Blocks) {
        self.throttle.issued(now, blocks);
    }
}
