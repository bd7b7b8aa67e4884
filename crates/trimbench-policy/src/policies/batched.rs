//! `batched`: every T, discards all extents freed until then, one after the other, as `fstrim` does
//! on ext4, whose FITRIM waits for each discard. A batch that takes longer than T delays the next.

use trimbench_core::settings::{FromSettings as _, default_to, within};
use trimbench_core::{Grant, Instant, Nanos, settings};

use crate::policy::{Backlog, PolicyInfo, TrimPolicy};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "batched",
    summary: "discards all freed extents at fixed times, one after the other",
    parameters: Batched::rows,
    build: |values| Ok(Box::new(Batched::read(values)?)),
};

settings! {
    #[derive(Clone, Copy, Debug)]
    struct Batched(values) {
        /// time between two batches; the first is one period after the start (fstrim.timer)
        period: Nanos = "period", default_to("168h"),
            within(Nanos::from_millis(1), Nanos::from_secs(365 * 86_400));
    }
}

impl TrimPolicy for Batched {
    fn grant(&mut self, now: Instant, backlog: &Backlog) -> Grant {
        if backlog.in_flight > 0 {
            return Grant::Idle;
        }
        let periods = now.since_start().0 / self.period.0;
        let batch = Instant::from_start(self.period.times(periods));
        if periods > 0 && backlog.oldest <= batch {
            return Grant::Blocks(backlog.blocks);
        }
        Grant::Until(batch + self.period)
    }
}
