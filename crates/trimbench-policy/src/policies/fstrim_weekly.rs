//! `fstrim-weekly`: at fixed times, discards all extents freed until then, as fstrim.timer and
//! fstrim(8) do on ext4; depth and longest discard are those of [`Issuer::FstrimExt4`]. A batch
//! that takes longer than the period delays the next. FITRIM would also discard again what is free
//! beside the freed extents.

use trimbench_core::settings::{FromSettings as _, default_to, within};
use trimbench_core::{Blocks, Instant, Nanos, settings};

use super::throttle::Throttle;
use crate::issuer::Issuer;
use crate::policy::{Backlog, Grant, PolicyInfo, PolicyOrigin, TrimPolicy};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "fstrim-weekly",
    summary: "discards all freed extents at fixed times, one after the other",
    origin: PolicyOrigin::System,
    parameters: FstrimWeekly::rows,
    build: Some(|values| Ok(Box::new(FstrimWeekly::read(values)?))),
};

settings! {
    #[derive(Clone, Copy, Debug)]
    struct FstrimWeekly(values) {
        /// time between two runs of fstrim; the first is one period after the start (fstrim.timer)
        period: Nanos = "period", default_to("168h"),
            within(Nanos::from_millis(1), Nanos::from_secs(365 * 86_400));
    } with {
        throttle: Throttle = Throttle::of(&Issuer::FstrimExt4.rule(), values.block_size());
    }
}

impl TrimPolicy for FstrimWeekly {
    fn grant(&mut self, now: Instant, backlog: &Backlog) -> Grant {
        let periods = now.since_start().0 / self.period.0;
        let batch = Instant::from_start(self.period.times(periods));
        if periods > 0 && backlog.oldest <= batch {
            return self.throttle.grant(now, backlog.in_flight);
        }
        Grant::Until(batch + self.period)
    }

    fn issued(&mut self, now: Instant, blocks: Blocks) {
        self.throttle.issued(now, blocks);
    }
}
