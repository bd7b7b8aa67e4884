//! The method's parameters.

use trimbench_core::settings::{
    Named as _, ValueProblem, ascending, default_to, list, mapped, named, one_of, or_word, parsed,
    presets, text, within,
};
use trimbench_core::{Bytes, Data, Nanos, Ppm, named_enum, settings};
use trimbench_trace::generate::MasterConfig;

use trimbench_engine::Span;
use trimbench_engine::settings::{data_kind, span_or_all};

/// The trace that is made instead of read.
pub(super) const GENERATED: &str = "generated";

named_enum! {
    /// What becomes of the trace's TRIMs in a pass.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReplayedTrims {
        /// They are issued.
        Kept = "kept",
        /// They are left out.
        Stripped = "stripped",
        /// They are left out, and what was not accessed for long is trimmed instead.
        Synthesised = "synthesised",
    }
}

/// When commands are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As soon as fewer than so many commands, TRIMs not counted, are outstanding.
    Depth(u32),
    /// At the trace's own times, stretched by this.
    Stamps(Ppm),
}

impl Pace {
    /// Its name in ids of steps and figures.
    pub fn id(self) -> String {
        match self {
            Self::Depth(depth) => format!("qd{depth}"),
            Self::Stamps(_) => "paced".to_owned(),
        }
    }
}

named_enum! {
    /// What is done with a trace that was recorded on a larger device.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Scaling {
        /// It is not replayed.
        Refuse = "refuse",
        /// Addresses are taken modulo the capacity; what would then cross its end is moved before
        /// it.
        Modulo = "modulo",
        /// Addresses are shrunk or stretched so that the trace's span is the capacity; lengths
        /// stay.
        Linear = "linear",
        /// What lies beyond is left out.
        Truncate = "truncate",
    }
}

/// One replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) pace: Pace,
    pub(super) trims: ReplayedTrims,
}

impl Pass {
    pub(super) fn id(self) -> String {
        format!("{}-{}", self.pace.id(), self.trims.id())
    }
}

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Replay(values) {
        /// `generated`: one with the published statistics of JEDEC's master trace, made for the
        /// span; or a trace file
        pub trace: Option<String> = "trace", default_to(GENERATED),
            mapped(text(), |text| trace_file(&text));
        /// share of a generated trace to replay, {}
        pub length: Ppm = "length", default_to("100%"), within(Ppm(10_000), Ppm::ONE);
        /// the first bytes of the device, or `all`
        pub span: Span = "span", presets("2GiB", "all", "all"), span_or_all();
        /// treatment of TRIMs, a pass each: {}
        pub trims: Vec<ReplayedTrims> = "passes", default_to("kept,stripped"),
            parsed("`kept`, `stripped`, `synthesised`", read_trims);
        /// commands outstanding, TRIMs not counted, {}; a pass each
        pub queue_depths: Vec<u32> = "queue-depths", default_to("1,32"),
            ascending(list(within(1, 1_024)));
        /// `none`: as fast as possible; or the trace's own times as `100%`, {}, without queue
        /// depths
        pub pace: Option<Ppm> = "pace", default_to("none"),
            or_word("none", within(Ppm(10_000), Ppm(100_000_000)));
        /// `kept` or `stripped`
        pub keep_reads: bool = "reads", default_to("stripped"),
            one_of(&[("kept", true), ("stripped", false)]);
        /// a trace for a larger device: {}
        pub scaling: Scaling = "scaling", default_to("refuse"), named();
        /// commands in a window, {}
        pub window: u64 = "window", presets("2000", "100000", "100000"), within(100, 100_000_000);
        /// what counts in a window: `all` commands of the trace, or `writes`
        pub window_of_writes: bool = "window-counts", default_to("all"),
            one_of(&[("all", false), ("writes", true)]);
        /// synthesised: a MiB is trimmed when this much was written since it was last accessed
        pub trim_after: Bytes = "trim-after", presets("256MiB", "10GiB", "10GiB"),
            within(Bytes::mib(1), Bytes::gib(1 << 20));
        /// `random`, or `compressible-25%`: a compressing drive stores a quarter; whole percent
        pub data: Data = "data", default_to("random"), data_kind();
        /// idle time before each pass, {}
        pub rest: Nanos = "rest", presets("1s", "30s", "30s"),
            within(Nanos::ZERO, Nanos::from_secs(24 * 3_600));
    }
}

impl Replay {
    /// When commands are issued, each once.
    pub(super) fn paces(&self) -> Vec<Pace> {
        match self.pace {
            Some(scale) => vec![Pace::Stamps(scale)],
            None => self.queue_depths.iter().copied().map(Pace::Depth).collect(),
        }
    }

    pub(super) fn passes(&self) -> Vec<Pass> {
        let of = |pace| self.trims.iter().map(move |&trims| Pass { pace, trims });
        self.paces().into_iter().flat_map(of).collect()
    }

    /// The generated trace for a device of which `span` is used.
    pub(super) fn generated(&self, span: Bytes) -> MasterConfig {
        MasterConfig { capacity: span, length: self.length }
    }
}

/// The name of a trace file; `None` for the trace that is made.
fn trace_file(text: &str) -> Option<String> {
    let name = text.trim();
    (name != GENERATED).then(|| name.to_owned())
}

/// Reads the list of what becomes of TRIMs.
fn read_trims(text: &str) -> Result<Vec<ReplayedTrims>, ValueProblem> {
    let mut read = Vec::new();
    for text in text.split(',').map(str::trim) {
        let named = ReplayedTrims::of_id(text);
        let Some(trims) = named.filter(|trims| !read.contains(trims)) else {
            return Err(ValueProblem(format!(
                "`{text}` is not one of kept, stripped, synthesised, each at most once"
            )));
        };
        read.push(trims);
    }
    Ok(read)
}
