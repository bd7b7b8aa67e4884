//! Configuration of sequential write streams, and the cost of a write that continues none of them.

use trimbench_core::settings::IfUnset::Required;
use trimbench_core::settings::described;
use trimbench_core::{Nanos, settings};

use super::{DriveConfigError, SsdConfig};

/// The most streams that are kept apart.
const STREAMS_MAX: u32 = 1_024;

settings! {
    /// A drive that keeps a few streams of sequential writes apart and pays for any other write.
    ///
    /// Drives that map coarsely collect writes in a few log blocks. A write that continues none of
    /// them has the drive close one and merge it \[KIM02\].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WriteStreamsConfig(values) {
        /// number of sequential write streams that the drive tracks
        pub count: u32 = "write_streams.count", Required, described("1 to 1024");
        /// additional controller time of a write that continues none of the streams
        pub switch: Nanos = "write_streams.switch", Required, described("at most 1h");
    }
}

impl WriteStreamsConfig {
    pub(super) fn check(&self, config: &SsdConfig) -> Result<(), DriveConfigError> {
        config.hold(&[("write_streams.count", (1..=STREAMS_MAX).contains(&self.count))])
    }
}
