//! The method's parameters.

use trimbench_core::{Bytes, Nanos};

use super::ID;
use crate::options::{OptionError, OptionInfo, Parameters, Values, option};
use crate::settings::Span;

/// All options with their values in the presets quick, standard, published.
const OPTIONS: &[OptionInfo] = &[
    option(
        "span",
        ["16GiB", "all", "all"],
        "bytes from the start of the device that are filled and discarded, 1MiB to 1PiB, at \
         most the device; `all`: the device",
    ),
    option("repetitions", ["2", "5", "3"], "how often in one go, 1 to 100"),
    option(
        "chunk",
        ["64MiB", "64MiB", "none"],
        "size of the chunks, 4KiB to 4TiB; `none`: no chunks",
    ),
    option("chunk-repetitions", ["1", "5", "1"], "how often in chunks, 1 to 100"),
    option("queue-depth", ["1", "1", "1"], "outstanding discards, 1 to 1024"),
    option("rest", ["1s", "30s", "60s"], "idle time before each timed TRIM, 0 to 1h"),
];

/// The method with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleTrim {
    /// What is filled and discarded.
    pub span: Span,
    /// How often in one go.
    pub repetitions: u32,
    /// Size of the chunks, a multiple of 4 KiB; `None`: no chunks.
    pub chunk: Option<Bytes>,
    /// How often in chunks.
    pub chunk_repetitions: u32,
    /// Outstanding discards.
    pub queue_depth: u32,
    /// Idle time before each timed TRIM.
    pub rest: Nanos,
    pub(super) values: Values,
}

impl Parameters for IdleTrim {
    const ID: &'static str = ID;
    const OPTIONS: &'static [OptionInfo] = OPTIONS;

    fn read(values: Values) -> Result<Self, OptionError> {
        let whole = |size: Bytes| Bytes(size.0 / 4_096 * 4_096);
        let chunk = if values.is_word("chunk", "none") {
            None
        } else {
            Some(whole(values.quantity("chunk", Bytes(4_096), Bytes::gib(4 << 10))?))
        };
        Ok(Self {
            span: Span::read(&values)?,
            repetitions: values.quantity("repetitions", 1, 100)?,
            chunk,
            chunk_repetitions: values.quantity("chunk-repetitions", 1, 100)?,
            queue_depth: values.quantity("queue-depth", 1, 1_024)?,
            rest: values.span("rest", Nanos::ZERO, Nanos::from_secs(3_600))?,
            values,
        })
    }
}

impl IdleTrim {
    /// How often the span is filled.
    pub fn rounds(&self) -> u64 {
        let chunks = self.chunk.map_or(0, |_| self.chunk_repetitions);
        u64::from(self.repetitions) + u64::from(chunks)
    }
}
