//! The method's parameters.

use trimbench_core::{Bytes, Nanos, Ppm};

use super::ID;
use crate::options::{OptionError, OptionInfo, Parameters, Values, option};

/// Sizes are rounded down to this, so that they are whole pieces of any drive.
const SIZE_UNIT: u64 = 4096;

/// All options with their values in the presets quick, standard, published.
const OPTIONS: &[OptionInfo] = &[
    option(
        "sizes",
        ["auto", "auto", "auto"],
        "sizes of the discards, separated by commas, 512B to 4TiB; `auto`: the device's discard \
         granularity, x4 and so on up to its largest discard, and `reference`",
    ),
    option("reference", ["64MiB", "64MiB", "64MiB"], "size of the headline, 4KiB to 1TiB"),
    option(
        "queue-depths",
        ["1,8,32", "1,8,32", "1,8,32"],
        "outstanding discards, 1 to 1024; 1 is always measured",
    ),
    option("commands", ["200", "10000", "10000"], "discards of a row, at most, 3 to 1000000"),
    option(
        "row-bytes-max",
        ["1280MiB", "16GiB", "16GiB"],
        "bytes that a row discards, and that are written for it, at most; 1MiB to 16TiB",
    ),
    option(
        "row-time-max",
        ["5s", "60s", "60s"],
        "a row begins no discard after this time, 100ms to 24h",
    ),
    option("unaligned", ["yes", "yes", "yes"], "`no`: leave out the unaligned rows"),
    option("whole", ["no", "yes", "yes"], "`no`: leave out the rows that discard the whole device"),
    option(
        "fill",
        ["0%", "0%", "90%"],
        "share of the device that is written, in order, before all but the never-written rows",
    ),
    option("rest", ["500ms", "5s", "2s"], "idle time before each row, 0 to 10min"),
    option("load-time", ["2s", "30s", "30s"], "least length of a row beside a load, 100ms to 1h"),
    option(
        "load-rate",
        ["1000", "1000", "1000"],
        "accesses of 4 KiB a second beside the discards, 1 to 100000; 0 leaves these rows out",
    ),
    option("read-share", ["50%", "50%", "50%"], "share of reads in the load; the rest are writes"),
    option("load-span", ["256MiB", "1GiB", "1GiB"], "what the load accesses, 1MiB to 1TiB"),
    option("keep", ["10ms", "10ms", "10ms"], "latency that a chunk is to keep, 1us to 1h"),
];

/// The method with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrimSweep {
    /// Sizes of the discards; `None`: what the device says.
    pub sizes: Option<Vec<Bytes>>,
    /// Size of the headline.
    pub reference: Bytes,
    /// Outstanding discards, ascending; 1 is among them.
    pub queue_depths: Vec<u32>,
    /// Discards of a row, at most.
    pub commands: u64,
    /// Bytes that a row discards, at most.
    pub row_bytes_max: Bytes,
    /// A row begins no discard after this time.
    pub row_time_max: Nanos,
    /// Measure unaligned discards.
    pub unaligned: bool,
    /// Discard the whole device.
    pub whole: bool,
    /// Share of the device that is written before the rows.
    pub fill: Ppm,
    /// Idle time before each row.
    pub rest: Nanos,
    /// Least length of a row beside a load.
    pub load_time: Nanos,
    /// Mean gap between the load's accesses; `None`: no rows beside a load.
    pub load_gap: Option<Nanos>,
    /// Share of reads in the load.
    pub read_share: Ppm,
    /// What the load accesses: the start of the device.
    pub load_span: Bytes,
    /// Latency that a chunk is to keep.
    pub keep: Nanos,
    pub(super) values: Values,
}

const YES_NO: [(&str, bool); 2] = [("no", false), ("yes", true)];

impl Parameters for TrimSweep {
    const ID: &'static str = ID;
    const OPTIONS: &'static [OptionInfo] = OPTIONS;

    fn read(values: Values) -> Result<Self, OptionError> {
        let hour = Nanos::from_secs(3_600);
        let tib = |count: u64| Bytes::gib(count << 10);
        let sizes = if values.is_word("sizes", "auto") {
            None
        } else {
            Some(values.sizes("sizes", Bytes(512), tib(4))?)
        };
        let mut queue_depths = values.list("queue-depths", 1_u32, 1_024)?;
        queue_depths.push(1);
        queue_depths.sort_unstable();
        queue_depths.dedup();
        let rate = values.quantity("load-rate", 0_u64, 100_000)?;
        let reference = values.quantity("reference", Bytes(4_096), tib(1))?;
        let load_span = values.quantity("load-span", Bytes::mib(1), tib(1))?;
        Ok(Self {
            sizes,
            reference: whole(reference),
            queue_depths,
            commands: values.quantity("commands", 3, 1_000_000)?,
            row_bytes_max: values.quantity("row-bytes-max", Bytes::mib(1), tib(16))?,
            row_time_max: values.span("row-time-max", Nanos::from_millis(100), hour.times(24))?,
            unaligned: values.choice("unaligned", &YES_NO)?,
            whole: values.choice("whole", &YES_NO)?,
            fill: values.share("fill")?,
            rest: values.span("rest", Nanos::ZERO, Nanos::from_secs(600))?,
            load_time: values.span("load-time", Nanos::from_millis(100), hour)?,
            load_gap: 1_000_000_000_u64.checked_div(rate).map(Nanos),
            read_share: values.share("read-share")?,
            load_span: whole(load_span),
            keep: values.span("keep", Nanos::from_micros(1), hour)?,
            values,
        })
    }
}

impl TrimSweep {
    /// What the load works on, and room for three discards of the reference.
    pub fn needed(&self) -> Bytes {
        self.load_span + Bytes(4 * self.reference.0)
    }
}

/// Whole units of [`SIZE_UNIT`], rounded down.
fn whole(size: Bytes) -> Bytes {
    Bytes(size.0 / SIZE_UNIT * SIZE_UNIT)
}
