//! The method's parameters.

use trimbench_core::settings::{default_to, or_word, presets, within};
use trimbench_core::{Bytes, Nanos, settings};

use trimbench_engine::Span;
use trimbench_engine::settings::{span_or_all, whole_size};

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct IdleTrim(values) {
        /// bytes from the start of the device that are filled and discarded, {}, at most the
        /// device; `all`: the device
        pub span: Span = "span", presets("16GiB", "all", "all"), span_or_all();
        /// rounds in one go, {}
        pub repetitions: u32 = "repetitions", presets("2", "5", "3"), within(1, 10_000);
        /// size of the chunks, {}; `none`: no chunks
        pub chunk: Option<Bytes> = "chunk", presets("64MiB", "64MiB", "none"),
            or_word("none", whole_size(Bytes(4_096), Bytes::gib(4 << 10)));
        /// rounds in chunks, {}
        pub chunk_repetitions: u32 = "chunk-repetitions", presets("1", "5", "1"), within(1, 100);
        /// outstanding discards, {}
        pub queue_depth: u32 = "queue-depth", default_to("1"), within(1, 1_024);
        /// idle time before each timed TRIM, {}
        pub rest: Nanos = "rest", presets("1s", "30s", "60s"),
            within(Nanos::ZERO, Nanos::from_secs(3_600));
    }
}

impl IdleTrim {
    /// How often the span is filled.
    pub fn rounds(&self) -> u64 {
        let chunks = self.chunk.map_or(0, |_| self.chunk_repetitions);
        u64::from(self.repetitions) + u64::from(chunks)
    }
}
