//! `deferred`: each extent after a delay, which gives its reuse a chance, and then throttled. The
//! scheme of btrfs's `discard=async`, whose delay counts from the first extent freed in a block
//! group; here it counts from the oldest part of an extent.

use trimbench_core::{Blocks, Grant, Instant, Nanos};

use crate::catalogue::{Parameter, PolicyError, PolicyInfo, Values};
use crate::policy::{Backlog, TrimPolicy};
use crate::throttle::{self, Throttle};

const DELAY: Parameter = Parameter {
    key: "delay",
    default: "120s",
    meaning: "from the freeing to the discard, at least (btrfs, BTRFS_DISCARD_DELAY)",
};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "deferred",
    summary: "discards each extent some time after its freeing, then throttled",
    parameters: &[DELAY, throttle::IOPS, throttle::BYTES_PER_SECOND, throttle::DISCARD_MAX],
    build: |values| Ok(Box::new(Deferred::read(values)?)),
};

#[derive(Clone, Copy, Debug)]
struct Deferred {
    delay: Nanos,
    throttle: Throttle,
}

impl Deferred {
    fn read(values: &Values<'_>) -> Result<Self, PolicyError> {
        let delay = values.quantity(DELAY.key, Nanos::ZERO, Nanos::from_secs(365 * 86_400))?;
        Ok(Self { delay, throttle: Throttle::read(values)? })
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
