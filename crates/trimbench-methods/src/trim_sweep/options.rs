//! The method's parameters.

use trimbench_core::settings::{
    ascending, default_to, list, mapped, or_word, presets, within, yes_no,
};
use trimbench_core::{Bytes, Nanos, Ppm, settings};

use trimbench_engine::settings::whole_size;

/// Accesses a second that a load begins with unless another rate is given.
const LOAD_RATE: u64 = 1_000;
/// Accesses of a row under load at the least: enough for the 98.5 % of \[HLK\].
const ACCESSES_MIN: u64 = 1_000;

const HOUR: Nanos = Nanos::from_secs(3_600);
const TIB: Bytes = Bytes::gib(1 << 10);

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TrimSweep(values) {
        /// sizes of the discards, separated by commas, {}; `auto`: the device's discard
        /// granularity, x4 and so on up to its largest discard, and `reference`
        pub sizes: Option<Vec<Bytes>> = "sizes", default_to("auto"),
            or_word("auto", list(within(Bytes(512), Bytes(4 * TIB.0))));
        /// size of the headline, {}
        pub reference: Bytes = "reference", default_to("64MiB"), whole_size(Bytes(4_096), TIB);
        /// outstanding discards, {}; 1 is always measured
        pub queue_depths: Vec<u32> = "queue-depths", default_to("1,8,32"),
            ascending(mapped(list(within(1, 1_024)), with_one));
        /// discards of a row, at most, {}
        pub commands: u64 = "commands", presets("200", "10000", "10000"), within(3, 1_000_000);
        /// bytes that a row discards, and writes beforehand, at most; {}
        pub row_bytes_max: Bytes = "row-bytes-max", presets("1280MiB", "16GiB", "16GiB"),
            within(Bytes::mib(1), Bytes(16 * TIB.0));
        /// after this time a row begins no further discard, {}
        pub row_time_max: Nanos = "row-time-max", presets("5s", "60s", "60s"),
            within(Nanos::from_millis(100), HOUR.times(24));
        /// `no`: leave out the unaligned rows
        pub unaligned: bool = "unaligned", default_to("yes"), yes_no();
        /// `no`: leave out the rows that discard the whole device
        pub whole: bool = "whole", presets("no", "yes", "yes"), yes_no();
        /// share of the device that is written, in order, before all but the never-written rows
        pub fill: Ppm = "fill", presets("0%", "0%", "90%"), within(Ppm(0), Ppm::ONE);
        /// idle time before each row, {}
        pub rest: Nanos = "rest", presets("500ms", "5s", "2s"),
            within(Nanos::ZERO, Nanos::from_secs(600));
        /// minimum length of a row under load, {}
        pub load_time: Nanos = "load-time", presets("2s", "30s", "30s"),
            within(Nanos::from_millis(100), HOUR);
        /// accesses of 4 KiB a second during the discards, {}; 0 leaves these rows out; `auto`:
        /// 1000, or half of what the drive serves without discards if it does not serve 1000
        pub load_rate: Option<u64> = "load-rate", default_to("auto"),
            or_word("auto", within(0, 100_000_u64));
        /// share of reads in the load; the rest are writes
        pub read_share: Ppm = "read-share", default_to("50%"), within(Ppm(0), Ppm::ONE);
        /// area that the load accesses, {}
        pub load_span: Bytes = "load-span", presets("256MiB", "1GiB", "1GiB"),
            whole_size(Bytes::mib(1), TIB);
        /// latency limit for a chunk, {}
        pub keep: Nanos = "keep", default_to("10ms"), within(Nanos::from_micros(1), HOUR);
    }
}

/// Mean time from one access to the next.
pub(super) fn gap(rate: u64) -> Nanos {
    Nanos(1_000_000_000 / rate.clamp(1, 1_000_000_000))
}

fn with_one(mut depths: Vec<u32>) -> Vec<u32> {
    depths.push(1);
    depths
}

impl TrimSweep {
    /// Accesses a second that the load begins with; `None` if there is no load.
    pub(super) fn asked_rate(&self) -> Option<u64> {
        Some(self.load_rate.unwrap_or(LOAD_RATE)).filter(|rate| *rate > 0)
    }

    /// Whether a load that the drive does not serve is slowed down until it does.
    pub(super) const fn is_load_adapted(&self) -> bool {
        self.load_rate.is_none()
    }

    /// The least length of a row beside `rate` accesses a second.
    pub(super) fn loaded_length(&self, rate: u64) -> Nanos {
        self.load_time.max(gap(rate).times(ACCESSES_MIN))
    }

    /// When a row beside `rate` accesses a second begins no further discard. The load alone lasts
    /// as long, so that a backlog that would show in such a row shows without discards too.
    pub(super) fn loaded_time_max(&self, rate: u64) -> Nanos {
        self.row_time_max.max(self.loaded_length(rate))
    }

    /// What the load works on, and room for three discards of the reference.
    pub fn needed(&self) -> Bytes {
        self.load_span + Bytes(4 * self.reference.0)
    }
}
