//! Settings of a modelled block layer.

use trimbench_block::{QueueConfig, Scheduler};
use trimbench_core::settings::{IfUnset, multiple_of, named, optional, within};
use trimbench_core::{Bytes, Nanos, settings};

/// What the kernel takes for `discard_max_bytes` comes in whole granules of the drive; all modelled
/// drives have this one.
const DISCARD_GRANULE: Bytes = Bytes(4_096);

settings! {
    /// What a host's block layer is set to; what is not set is left to the host.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct QueueSettings(values) {
        /// read latency at which write-back throttling aims, {}; 0 is off
        wbt: Option<Nanos> = "wbt", IfUnset::Absent,
            optional(within(Nanos::ZERO, Nanos::from_secs(10)));
        /// {}: the I/O scheduler
        scheduler: Option<Scheduler> = "scheduler", IfUnset::Absent, optional(named());
        /// the longest discard that the host sends (`queue/discard_max_bytes`), {}
        discard_max: Option<Bytes> = "discard-max", IfUnset::Absent,
            optional(multiple_of(DISCARD_GRANULE, within(DISCARD_GRANULE, Bytes::gib(4))));
    }
}

impl QueueSettings {
    /// The first of them that is set.
    pub(crate) fn first_set(self) -> Option<&'static str> {
        let set = [
            ("wbt", self.wbt.is_some()),
            ("scheduler", self.scheduler.is_some()),
            ("discard-max", self.discard_max.is_some()),
        ];
        set.into_iter().find_map(|(key, is_set)| is_set.then_some(key))
    }

    /// The block layer of a host whose own is `own`.
    pub(crate) fn config(self, own: QueueConfig) -> QueueConfig {
        let throttling = self.wbt.map(|target| (target > Nanos::ZERO).then_some(target));
        QueueConfig {
            write_back_throttling: throttling.unwrap_or(own.write_back_throttling),
            scheduler: self.scheduler.unwrap_or(own.scheduler),
            discard_max: self.discard_max.or(own.discard_max),
            ..own
        }
    }
}
