//! The method's parameters.

use trimbench_core::settings::{default_to, presets, true_false, within};
use trimbench_core::{Bytes, Nanos, settings};

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DeleteStorm(values) {
        /// number of writers at once, {}
        pub writers: u32 = "writers", default_to("4"), within(1, 64);
        /// bytes that each writes, {}: together most of the filesystem
        pub file_size: Bytes = "file-size", presets("256MiB", "16GiB", "512GB"),
            within(Bytes::mib(1), Bytes::gib(1 << 20));
        /// bytes of one command, {}
        pub piece: Bytes = "piece", default_to("1MiB"), within(Bytes(4_096), Bytes::mib(64));
        /// whether the first round is rewritten and read: `true` or `false`
        pub rewrite: bool = "rewrite", default_to("true"), true_false();
        /// time between probes, {}
        pub probe_interval: Nanos = "probe-interval", presets("10ms", "100ms", "100ms"),
            within(Nanos::from_millis(1), Nanos::from_secs(3_600));
        /// time between readings of the target's counters, {}; a stall consists of whole intervals
        pub interval: Nanos = "interval", presets("20ms", "200ms", "1s"),
            within(Nanos::from_millis(1), Nanos::from_secs(3_600));
        /// a command that takes longer is stalled, {}, and is attributed to a layer
        pub threshold: Nanos = "threshold", presets("100ms", "500ms", "1s"),
            within(Nanos::from_millis(1), Nanos::from_secs(3_600));
    }
}

impl DeleteStorm {
    /// The size of files of so many writers, by default four, that are so much together.
    pub fn file_size_of(deleted: Bytes, writers: Option<u64>) -> Bytes {
        const WRITERS: u64 = 4;
        let each = deleted.0 / writers.unwrap_or(WRITERS).max(1);
        Bytes(each / 4_096 * 4_096).max(Bytes::mib(1))
    }
}
