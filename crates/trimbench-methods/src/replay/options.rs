//! The method's parameters.

use trimbench_core::{Bytes, Data, Nanos, Ppm};
use trimbench_trace::generate::MasterConfig;

use super::ID;
use crate::options::{OptionError, OptionInfo, Parameters, Values, option};
use crate::settings::{self, Span};

/// The trace that is made instead of read.
pub(super) const GENERATED: &str = "generated";

/// All options with their values in the presets quick, standard, published.
const OPTIONS: &[OptionInfo] = &[
    option(
        "trace",
        [GENERATED, GENERATED, GENERATED],
        "`generated`: one with the published statistics of JEDEC's master trace, made for the \
         span; or a trace file",
    ),
    option("length", ["100%", "100%", "100%"], "how much of a generated trace, 1% to 100%"),
    option("span", ["2GiB", "all", "all"], "the first bytes of the device, or `all`"),
    option(
        "passes",
        ["kept,stripped", "kept,stripped", "kept,stripped"],
        "what becomes of TRIMs, a pass each: `kept`, `stripped`, `synthesised`",
    ),
    option(
        "queue-depths",
        ["1,32", "1,32", "1,32"],
        "commands outstanding, TRIMs not counted, 1 to 1024; a pass each",
    ),
    option(
        "pace",
        ["none", "none", "none"],
        "`none`: as fast as possible; or the trace's own times as `100%`, 1% to 10000%, without \
         queue depths",
    ),
    option("reads", ["stripped", "stripped", "stripped"], "`kept` or `stripped`"),
    option(
        "scaling",
        ["refuse", "refuse", "refuse"],
        "a trace for a larger device: `refuse`, `modulo`, `linear` or `truncate`",
    ),
    option("window", ["2000", "100000", "100000"], "commands of a window, 100 to 100000000"),
    option(
        "window-counts",
        ["all", "all", "all"],
        "what counts in a window: `all` commands of the trace, or `writes`",
    ),
    option(
        "trim-after",
        ["256MiB", "10GiB", "10GiB"],
        "synthesised: a MiB is trimmed when so much was written since it was accessed",
    ),
    option(
        "data",
        ["random", "random", "random"],
        "`random`, or `compressible-25%`: a compressing drive stores a quarter",
    ),
    option("rest", ["1s", "30s", "30s"], "idle time before each pass, 0 to 24h"),
];

/// What becomes of the trace's TRIMs in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trims {
    /// They are issued.
    Kept,
    /// They are left out.
    Stripped,
    /// They are left out, and what was not accessed for long is trimmed instead.
    Synthesised,
}

impl Trims {
    const NAMES: [(&str, Self); 3] =
        [("kept", Self::Kept), ("stripped", Self::Stripped), ("synthesised", Self::Synthesised)];

    /// Its name.
    pub fn id(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, trims)| *trims == self);
        found.expect("the table has them all").0
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

/// What is done with a trace that was recorded on a larger device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// It is not replayed.
    Refuse,
    /// Addresses are taken modulo the capacity; what would then cross its end is moved before it.
    Modulo,
    /// Addresses are shrunk or stretched so that the trace's span is the capacity; lengths stay.
    Linear,
    /// What lies beyond is left out.
    Truncate,
}

impl Scaling {
    const NAMES: [(&str, Self); 4] = [
        ("refuse", Self::Refuse),
        ("modulo", Self::Modulo),
        ("linear", Self::Linear),
        ("truncate", Self::Truncate),
    ];
}

/// One replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) pace: Pace,
    pub(super) trims: Trims,
}

impl Pass {
    /// The id of its step.
    pub(super) fn id(self) -> String {
        format!("{}-{}", self.pace.id(), self.trims.id())
    }
}

/// The method with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The trace file; `None` for the generated trace.
    pub trace: Option<String>,
    /// How much of the generated trace.
    pub length: Ppm,
    /// What part of the device is used.
    pub span: Span,
    /// What becomes of TRIMs, each once.
    pub trims: Vec<Trims>,
    /// When commands are issued, each once.
    pub paces: Vec<Pace>,
    /// Whether reads are issued.
    pub keep_reads: bool,
    /// What is done with a trace for a larger device.
    pub scaling: Scaling,
    /// Commands of a window.
    pub window: u64,
    /// Whether only writes count in a window.
    pub window_of_writes: bool,
    /// Bytes written after which a synthesised TRIM comes.
    pub trim_after: Bytes,
    /// What writes carry.
    pub data: Data,
    /// Idle time before each pass.
    pub rest: Nanos,
    pub(super) values: Values,
}

impl Parameters for Replay {
    const ID: &'static str = ID;
    const OPTIONS: &'static [OptionInfo] = OPTIONS;

    fn read(values: Values) -> Result<Self, OptionError> {
        let name = values.text("trace");
        let trace = (name != GENERATED).then(|| name.to_owned());
        let percent = Ppm(10_000);
        Ok(Self {
            trace,
            length: values.quantity("length", percent, Ppm::ONE)?,
            span: Span::read(&values)?,
            trims: trims(&values)?,
            paces: paces(&values)?,
            keep_reads: values.choice("reads", &[("kept", true), ("stripped", false)])?,
            scaling: values.choice("scaling", &Scaling::NAMES)?,
            window: values.quantity("window", 100, 100_000_000)?,
            window_of_writes: values
                .choice("window-counts", &[("all", false), ("writes", true)])?,
            trim_after: values.quantity("trim-after", Bytes::mib(1), Bytes::gib(1 << 20))?,
            data: settings::data(&values, "data")?,
            rest: values.span("rest", Nanos::ZERO, Nanos::from_secs(24 * 3_600))?,
            values,
        })
    }
}

impl Replay {
    /// All passes, in their order.
    pub(super) fn passes(&self) -> Vec<Pass> {
        let of = |&pace| self.trims.iter().map(move |&trims| Pass { pace, trims });
        self.paces.iter().flat_map(of).collect()
    }

    /// The generated trace for a device of which `span` is used.
    pub(super) fn generated(&self, span: Bytes) -> MasterConfig {
        MasterConfig { capacity: span, length: self.length }
    }
}

/// Reads the list of what becomes of TRIMs.
fn trims(values: &Values) -> Result<Vec<Trims>, OptionError> {
    let key = "passes";
    let mut read = Vec::new();
    for text in values.text(key).split(',') {
        let text = text.trim();
        let found = Trims::NAMES.iter().find(|(name, _)| *name == text);
        let Some((_, trims)) = found.filter(|(_, trims)| !read.contains(trims)) else {
            let problem =
                format!("`{text}` is not one of kept, stripped, synthesised, each at most once");
            return Err(OptionError::Value { key, problem });
        };
        read.push(*trims);
    }
    Ok(read)
}

/// Reads queue depths, or the time scale.
fn paces(values: &Values) -> Result<Vec<Pace>, OptionError> {
    let mut depths = values.list("queue-depths", 1, 1_024)?;
    depths.sort_unstable();
    depths.dedup();
    if values.is_word("pace", "none") {
        return Ok(depths.into_iter().map(Pace::Depth).collect());
    }
    let scale = values.quantity("pace", Ppm(10_000), Ppm(100_000_000))?;
    Ok(vec![Pace::Stamps(scale)])
}
