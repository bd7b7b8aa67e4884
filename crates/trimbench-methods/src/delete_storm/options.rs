//! The method's parameters.

use trimbench_core::{Bytes, Nanos};

use super::ID;
use crate::options::{OptionError, OptionInfo, Parameters, Values, option};

/// All options with their values in the presets quick, standard, published.
const OPTIONS: &[OptionInfo] = &[
    option("writers", ["4", "4", "4"], "how many write at once, 1 to 64"),
    option(
        "file-size",
        ["256MiB", "16GiB", "512GB"],
        "what each writes, 1MiB to 1PiB: together most of the filesystem",
    ),
    option("piece", ["1MiB", "1MiB", "1MiB"], "bytes of one command, 4KiB to 64MiB"),
    option(
        "rewrite",
        ["true", "true", "true"],
        "whether the first round is also read and written again, and read back: `true`, `false`",
    ),
    option("probe-interval", ["10ms", "100ms", "100ms"], "between probes, 1ms to 1h"),
    option(
        "interval",
        ["20ms", "200ms", "1s"],
        "of what is seen of the target's counters, 1ms to 1h; a stall is made of whole ones",
    ),
    option(
        "threshold",
        ["100ms", "500ms", "1s"],
        "a command that takes longer is stalled, 1ms to 1h: what is located",
    ),
];

/// The method with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteStorm {
    /// How many write at once.
    pub writers: u32,
    /// What each writes.
    pub file_size: Bytes,
    /// Bytes of one command.
    pub piece: Bytes,
    /// Whether the first round is also rewritten and read.
    pub rewrite: bool,
    /// Between probes.
    pub probe_interval: Nanos,
    /// Between looks at the counters.
    pub interval: Nanos,
    /// What takes longer is stalled.
    pub threshold: Nanos,
    pub(super) values: Values,
}

impl Parameters for DeleteStorm {
    const ID: &'static str = ID;
    const OPTIONS: &'static [OptionInfo] = OPTIONS;

    fn read(values: Values) -> Result<Self, OptionError> {
        let span = |key| values.span(key, Nanos::from_millis(1), Nanos::from_secs(3_600));
        Ok(Self {
            writers: values.quantity("writers", 1, 64)?,
            file_size: values.quantity("file-size", Bytes::mib(1), Bytes::gib(1 << 20))?,
            piece: values.quantity("piece", Bytes(4_096), Bytes::mib(64))?,
            rewrite: values.choice("rewrite", &[("true", true), ("false", false)])?,
            probe_interval: span("probe-interval")?,
            interval: span("interval")?,
            threshold: span("threshold")?,
            values,
        })
    }
}
