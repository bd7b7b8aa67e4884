//! The method's parameters.

use trimbench_core::settings::{
    SettingError, Values, default_to, list, named, parsed, presets, within,
};
use trimbench_core::{Bytes, FileId, Nanos, Ppm, settings};

use super::systems::{ComparedSystem, names, read_systems};
use trimbench_engine::settings::{access_size, gap_of_rate, whole_size};
use trimbench_engine::{Arrivals, ChurnFiles, UNIT};

/// The file that is read.
pub(super) const LOADED: FileId = FileId(0);
/// The file that grows and is made durable.
pub(super) const LOG: FileId = FileId(1);

const HOUR: Nanos = Nanos::from_secs(3_600);

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Kernels(values) {
        /// systems to compare, separated by commas, or `all`: {}
        pub systems: Vec<ComparedSystem> = "systems", default_to("all"),
            parsed(&names(), read_systems);
        /// capacity of an emulated drive whose target sets none, {}
        pub drive: Bytes = "drive", presets("4GiB", "16GiB", "16GiB"),
            within(Bytes::gib(1), Bytes::gib(1 << 10));
        /// share of the space that files take, {}
        pub fill: Ppm = "used", default_to("80%"), within(percent(10), percent(95));
        /// sizes of files, separated by commas, each as frequent as the others, {}
        pub sizes: Vec<Bytes> = "file-sizes", default_to("256KiB,1MiB,4MiB,16MiB"),
            list(whole_size(Bytes(UNIT), Bytes::gib(1)));
        /// share of the space that one deletion frees, {}; there are two
        pub deleted: Ppm = "deleted", default_to("25%"), within(percent(1), percent(45));
        /// reads of the foreground a second, {}
        pub gap: Nanos = "rate", default_to("1000"), gap_of_rate();
        /// {} gaps
        pub arrivals: Arrivals = "arrivals", default_to("poisson"), named();
        /// bytes of each read, {}
        pub access: Bytes = "access", default_to("4KiB"), access_size(Bytes::mib(1));
        /// the file that is read, {}
        pub span: Bytes = "foreground-span", presets("256MiB", "1GiB", "1GiB"),
            whole_size(Bytes::mib(1), Bytes::gib(1 << 10));
        /// time between starts of the serial probe, {}
        pub probe_interval: Nanos = "probe-interval", default_to("1ms"),
            within(Nanos::from_micros(100), Nanos::from_secs(1));
        /// time between starts of an fsync, {}
        pub fsync_interval: Nanos = "fsync-interval", default_to("100ms"),
            within(Nanos::from_millis(1), HOUR);
        /// idle time before the foreground begins, {}
        pub rest: Nanos = "rest", default_to("10s"), within(Nanos::ZERO, HOUR);
        /// how long the foreground counts before the deletion, and under each system afterwards,
        /// {}; p99.9 needs 10,000 reads
        pub window: Nanos = "window", default_to("25s"), within(Nanos::from_secs(1), HOUR);
        /// discards that wait are given up after this long without one, {}: longer than the
        /// commits and the delay of btrfs together
        pub patience: Nanos = "patience", default_to("160s"), within(Nanos::from_secs(1), HOUR);
        /// drive writes under churn, of which the last gives the write amplification, {}; 0: none
        pub drive_writes: u32 = "drive-writes", default_to("5"), within(0, 1_000);
        /// bytes of files written a second under churn, at most, and as many deleted; {}
        pub churn: Bytes = "churn", default_to("4MB"),
            within(Bytes(100_000), Bytes(10_000_000_000));
        /// of systems whose write amplification is at most this share above the least, the one
        /// with the shortest wait hurts least, {}
        pub slack: Ppm = "slack", default_to("10%"), within(Ppm(0), percent(1_000));
    } with {
        /// Whether the systems were named, so that one that cannot be made is an error.
        pub(super) named: bool = values.text("systems").is_some_and(|text| text.trim() != "all");
        pub(super) values: Values = values.clone();
    }
    check Kernels::check;
}

impl Kernels {
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        let two = Ppm(2 * self.deleted.0);
        if two > self.fill {
            let problem =
                format!("two deletions of {} are more than `used`, {}", self.deleted, self.fill);
            return Err(values.wrong("deleted", problem));
        }
        Ok(())
    }

    /// The least room: the foreground's file takes a quarter, and a hundredth holds a file.
    pub(super) fn needed(&self) -> Bytes {
        let largest = self.sizes.iter().max().copied().unwrap_or(Bytes(0));
        Bytes((4 * self.span.0).max(100 * largest.0))
    }

    /// The files that fill a filesystem of so much room, beside those of the foreground.
    pub(super) fn files_in(&self, room: Bytes) -> ChurnFiles {
        ChurnFiles {
            sizes: self.sizes.clone(),
            budget: Bytes(self.fill.of(room.0).saturating_sub(self.span.0)),
            rate: self.churn,
            first: FileId(LOG.0 + 1),
        }
    }
}

const fn percent(count: u32) -> Ppm {
    Ppm(10_000 * count)
}
