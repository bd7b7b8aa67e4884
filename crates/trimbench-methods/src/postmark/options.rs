//! The method's parameters: those of `PostMark`, under its names, and the number of repetitions.

use trimbench_core::settings::{
    Named, default_to, named, one_of, or_word, presets, true_false, within, yes_no,
};
use trimbench_core::{Bytes, Nanos, Payload, Stream, settings};

use super::generator::{Forecast, Settings, size_from};
use super::variants::Variant;

/// Whether it is mounted with `discard`, a run each.
const MOUNTS: &[(&str, &[bool])] =
    &[("both", &[false, true]), ("discard", &[true]), ("nodiscard", &[false])];

/// In what the repetitions on newly made filesystems differ, beside what the machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepetitionVariation {
    /// In their seeds and start states in virtual time, else in nothing.
    Auto,
    /// Each has the seed after that of the one before, and an emulated drive another start state.
    Yes,
    /// The same with seeds drawn from that of the run.
    Drawn,
    /// In nothing.
    No,
}

impl Named for RepetitionVariation {
    const NAMES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("yes", Self::Yes), ("drawn", Self::Drawn), ("no", Self::No)];
}

/// Less is not enough for the program itself.
const MEMORY_LEAST: Bytes = Bytes::mib(32);

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Postmark(values) {
        /// number of repetitions, {}
        pub repetitions: u32 = "repetitions", presets("3", "5", "10"), within(1, 100);
        /// What decides the operations.
        pub settings: Settings;
        /// `set read`: bytes read at a time, {}
        pub read_block: u32 = "read-block", default_to("4096B"), size_from(Bytes(1));
        /// `set write`: bytes written at a time, {}
        pub write_block: u32 = "write-block", default_to("4096B"), size_from(Bytes(1));
        /// `set buffering`: `true`, through a C library buffer (fopen, fwrite), or `false` (open,
        /// write)
        pub buffered: bool = "buffering", default_to("true"), true_false();
        /// `printable`: PostMark's characters, each file from the same beginning; or `random`
        pub payload: Payload = "data", default_to("printable"),
            one_of(&[("printable", Payload::Source), ("random", Payload::Random)]);
        /// memory for the run and its page cache, {}: in a directory and on real filesystems by a
        /// control group (root), on modelled ones that of their machine; where the target sets
        /// its own, that counts
        pub memory: Option<Bytes> = "memory", presets("64MiB", "512MiB", "none"),
            or_word("none", within(MEMORY_LEAST, Bytes::gib(1 << 10)));
        /// on newly made filesystems: `discard`, `nodiscard`, or `both` to compare them
        pub mounts: &'static [bool] = "mounts", default_to("both"),
            one_of(MOUNTS);
        /// on newly made filesystems: `both`, or `one`, the one of `buffering`
        pub both_bufferings: bool = "bufferings", default_to("both"),
            one_of(&[("both", true), ("one", false)]);
        /// on newly made filesystems: whether mkfs discards the whole device, {}
        pub mkfs_discard: bool = "mkfs-discard", default_to("yes"), yes_no();
        /// on newly made filesystems: idle time between mkfs and mount, {}
        pub settle: Nanos = "settle", default_to("0s"),
            within(Nanos::ZERO, Nanos::from_secs(24 * 3_600));
        /// on newly made filesystems: `yes`: repetition k uses `seed` + k - 1, and an emulated
        /// drive its k-th start state; `drawn`: the same with seeds drawn from `--seed`; `no`;
        /// `auto`: yes in virtual time, where repetitions would otherwise be copies
        pub vary: RepetitionVariation = "vary", default_to("auto"), named();
    } with {
        /// On filesystems made anew: which mount options and bufferings, in the order of \[S0\].
        pub variants: Vec<Variant> = variants(mounts, both_bufferings, buffered);
        /// What a repetition will do.
        pub forecast: Forecast = Forecast::new(&settings);
    }
}

impl Postmark {
    /// How files are read.
    pub fn reading(&self) -> Stream {
        let Self { buffered, payload, .. } = *self;
        Stream { piece: self.read_block, buffered, payload }
    }

    /// How files are written.
    pub fn writing(&self) -> Stream {
        Stream { piece: self.write_block, ..self.reading() }
    }
}

fn variants(mounts: &[bool], both: bool, buffered: bool) -> Vec<Variant> {
    let bufferings = if both { vec![true, false] } else { vec![buffered] };
    let variant = |buffered| mounts.iter().map(move |&discard| Variant { discard, buffered });
    bufferings.into_iter().flat_map(variant).collect()
}
