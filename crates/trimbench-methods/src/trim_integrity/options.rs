//! The method's parameters.

use trimbench_core::settings::{ascending, list, named, presets, within};
use trimbench_core::{Bytes, Ppm, named_enum, settings};

named_enum! {
    /// Which cases are run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Cases {
        /// All.
        All = "all",
        /// Random pieces of a share of the region.
        Shares = "shares",
        /// Everything but those.
        Shapes = "shapes",
    }
}

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TrimIntegrity(values) {
        /// area to write and trim, {}; rounded down to a multiple of 64 granules
        pub region: Bytes = "region", presets("64MiB", "1GiB", "1GiB"),
            within(Bytes::mib(1), Bytes::gib(1 << 10));
        /// area before and behind the region that is written and never trimmed, {};
        /// rounded up to a granule
        pub guard: Bytes = "guard", presets("1MiB", "16MiB", "1MiB"),
            within(Bytes(4_096), Bytes::gib(1));
        /// `all`, `shares` (the cases `share-P%` only) or `shapes` (all others)
        pub cases: Cases = "cases", presets("all", "all", "shares"), named();
        /// shares of the region to trim at random, separated by commas, {}
        pub shares: Vec<Ppm> = "shares",
            presets(
                "0%,1%,10%,25%,50%,100%",
                "0%,1%,10%,25%,50%,100%",
                "0%,25%,50%,75%,100%"
            ),
            ascending(list(within(Ppm(0), Ppm::ONE)));
        /// size of one random TRIM in those, {}; rounded up to a granule
        pub piece: Bytes = "piece", presets("64KiB", "256KiB", "192KiB"),
            within(Bytes(512), Bytes::gib(1));
        /// reads of everything after each TRIM, {}
        pub reads: u32 = "reads", presets("3", "5", "2"), within(2, 100);
        /// discards and writes outstanding, {}
        pub queue_depth: u32 = "queue-depth", presets("8", "32", "1"), within(1, 1_024);
    }
}
