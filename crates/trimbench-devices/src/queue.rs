//! Settings of a modelled block layer.

use trimbench_block::{QueueConfig, Scheduler};
use trimbench_core::settings::{IfUnset, named, optional, within};
use trimbench_core::{Nanos, settings};

settings! {
    /// What a host's block layer is set to; what is not set is left to the host.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct QueueSettings(values) {
        /// read latency at which write-back throttling aims, {}; 0 is off
        wbt: Option<Nanos> = "wbt", IfUnset::Absent,
            optional(within(Nanos::ZERO, Nanos::from_secs(10)));
        /// {}: the I/O scheduler
        scheduler: Option<Scheduler> = "scheduler", IfUnset::Absent, optional(named());
    }
}

impl QueueSettings {
    /// The first of them that is set.
    pub(crate) fn first_set(self) -> Option<&'static str> {
        let wbt = self.wbt.is_some().then_some("wbt");
        wbt.or_else(|| self.scheduler.is_some().then_some("scheduler"))
    }

    /// The block layer of a host whose own is `own`.
    pub(crate) fn config(self, own: QueueConfig) -> QueueConfig {
        let throttling = self.wbt.map(|target| (target > Nanos::ZERO).then_some(target));
        QueueConfig {
            write_back_throttling: throttling.unwrap_or(own.write_back_throttling),
            scheduler: self.scheduler.unwrap_or(own.scheduler),
            ..own
        }
    }
}
