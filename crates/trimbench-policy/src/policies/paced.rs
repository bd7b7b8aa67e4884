//! `paced`: the law of `trimpace`, [`Governor`], on freed extents.
//!
//! # The question
//!
//! A discard of n blocks delays the foreground: on a drive that drains its queue for it, by its
//! whole service time; on others by less, or later. Drives differ by three orders of magnitude
//! \[S0\], so no fixed rate is right. The user states a *target*, the latency that requests keep,
//! except for a *tolerance*, the share of requests that may be later.
//!
//! # The law
//!
//! One discard at a time, each a step of the governor (`pacing::governor` has the law, the module
//! `law_policy` what a step is here, `pacing::gradual` how it starts). It learns what discards cost
//! by their length, makes them as long as the target allows, and lets late requests be paid for by
//! time in which none was late.
//!
//! # What it guarantees
//!
//! - At most one discard is in flight, and at most `backlog-max` bytes wait; what is freed beyond
//!   is skipped and counted.
//! - Extents that have waited for `wait-max` are discarded one after the other, regardless of the
//!   foreground.
//! - Without these, over any longer time, the late share stays below the tolerance, if that of the
//!   foreground by itself does, but for the first discards, whose cost nobody knows. This holds
//!   even if one command takes longer than the target: then discards are rare.
//! - While discards wait they get half the tolerance of the time, and 0.1 % of it at most, whatever
//!   the foreground suffers by itself.
//!
//! # What it cannot guarantee
//!
//! - An extent that cannot be divided goes at once, however long; it is paid by a longer pause.
//! - The first request after idle time may find a discard in flight, of the length that fits the
//!   target.
//! - A target that the foreground misses by itself is missed.
//! - Costs that come later than a discard are blamed on all discards. Discards of others are not
//!   seen at all.
//! - A tail beyond what is observed: a target at a tolerance of 0.1 % needs thousands of requests.

use trimbench_core::settings::{FromSettings as _, Values, default_to, within};
use trimbench_core::{Blocks, Bytes, Nanos, Ppm, settings};

use crate::law_policy::{LawPolicy, LawPolicyOptions};
use crate::pacing::{Governor, GovernorOptions, GradualGovernor, PaceTarget};
use crate::policy::{PolicyInfo, PolicyOrigin, whole_blocks};

#[cfg(test)]
mod tests;

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "paced",
    summary: "sizes and spaces discards so that the foreground keeps a target latency",
    origin: PolicyOrigin::Proposal("ours"),
    parameters: Settings::rows,
    build: Some(|values| Ok(Box::new(Settings::read(values)?.build(values)))),
};

/// The greatest share of the time that discards get while they wait and the target is missed.
const FLOOR_MAX: Ppm = Ppm(1_000);

settings! {
    #[derive(Clone, Copy, Debug)]
    struct Settings(values) {
        /// latency limit for requests of the foreground (assumed: middle of FreeBSD CAM's band)
        target: Nanos = "target", default_to("10ms"), within(Nanos(1_000), Nanos::from_secs(60));
        /// share of the requests that may be later than the target (p99.9)
        tolerance: Ppm = "tolerance", default_to("0.1%"), within(Ppm(2), Ppm(500_000));
        /// longest discard (OpenZFS, zfs_trim_extent_bytes_max)
        discard_max: Blocks = "discard-max", default_to("128MiB"),
            whole_blocks(Bytes::gib(1 << 10), values);
        /// bytes waiting, at most; more is skipped (assumed: a quarter of a small drive)
        backlog_max: Blocks = "backlog-max", default_to("64GiB"),
            whole_blocks(Bytes::gib(1 << 20), values);
        /// time after which a discard is sent regardless of the foreground (assumed)
        wait_max: Nanos = "wait-max", default_to("24h"),
            within(Nanos::from_millis(1), Nanos::from_secs(365 * 86_400));
    }
}

impl Settings {
    fn build(self, values: &Values) -> LawPolicy<GradualGovernor> {
        let Self { target, tolerance, discard_max, backlog_max, wait_max } = self;
        let block_size = values.block_size();
        let options = LawPolicyOptions { block_size, discard_max, backlog_max, wait_max };
        LawPolicy::paced(target, tolerance, options)
    }
}

impl LawPolicy<GradualGovernor> {
    /// The policy `paced`: requests keep the target, but for a share of them.
    ///
    /// # Panics
    /// If the longest discard is none.
    pub fn paced(target: Nanos, tolerance: Ppm, options: LawPolicyOptions) -> Self {
        let law = Governor::new(GovernorOptions {
            target: PaceTarget::Latency { target, tolerance },
            deadline: None,
            device_piece: options.discard_max.bytes(options.block_size),
        });
        let floor = Ppm((tolerance.0 / 2).max(1)).min(FLOOR_MAX);
        Self::new(GradualGovernor::new(law.with_floor(floor)), options)
    }
}
