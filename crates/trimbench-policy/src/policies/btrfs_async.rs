//! `btrfs-async`: discards each extent after a delay, during which it may be reused, and then
//! throttled. In btrfs the delay counts from the first extent freed in a block group; here it
//! counts from the oldest part of an extent. Depth, longest discard and pause are those of
//! [`Issuer::BtrfsAsync`].

use trimbench_core::settings::{FromSettings as _, default_to, within};
use trimbench_core::{Blocks, Instant, Nanos, settings};

use super::throttle::Throttle;
use crate::issuer::Issuer;
use crate::policy::{Backlog, Grant, PolicyInfo, PolicyOrigin, TrimPolicy};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "btrfs-async",
    summary: "discards each extent some time after its freeing, then 1,000 a second",
    origin: PolicyOrigin::System,
    parameters: BtrfsAsync::rows,
    build: Some(|values| Ok(Box::new(BtrfsAsync::read(values)?))),
};

settings! {
    #[derive(Clone, Copy, Debug)]
    struct BtrfsAsync(values) {
        /// minimum time from the freeing to the discard (btrfs, BTRFS_DISCARD_DELAY)
        delay: Nanos = "delay", default_to("120s"),
            within(Nanos::ZERO, Nanos::from_secs(365 * 86_400));
    } with {
        /// What comes after the delay.
        throttle: Throttle = Throttle::of(&Issuer::BtrfsAsync.rule(), values.block_size());
    }
}

impl TrimPolicy for BtrfsAsync {
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
