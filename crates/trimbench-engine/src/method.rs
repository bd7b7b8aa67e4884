//! The interface of a method: its options, its needs, its targets and its results.

mod error;
pub mod session;

use std::collections::BTreeMap;
use std::fmt;

use trimbench_core::rng::Rng;
use trimbench_core::settings::{FromSettings, PRESETS, Setting, SettingError, Values};
use trimbench_core::{Bytes, Capabilities, Caveat, Clock, DrainRule, Nanos, Opened, Target};
use trimbench_results::{Chart, Figure, LabelledSession, Metric, Step, StepRow};
use trimbench_trace::Traces;

pub use error::{MethodError, Misfit};
pub use session::{KeepFailed, MethodSession, Monitor, SessionContext, Stage};

/// How thorough a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Seconds on an emulated drive, a minute or two on a real one.
    Quick,
    /// What a reviewer would publish.
    Standard,
    /// The source's own parameters.
    Published,
}

impl Preset {
    /// Every preset, in the order of [`PRESETS`].
    pub const ALL: [Self; PRESETS.len()] = [Self::Quick, Self::Standard, Self::Published];

    /// The name on the command line and in records.
    pub const fn id(self) -> &'static str {
        PRESETS[self as usize]
    }

    /// The preset of this name.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.id() == id)
    }
}

/// A method as the command line lists it, and how its options are read.
#[derive(Clone, Copy, Debug)]
pub struct MethodInfo {
    /// Stable id.
    pub id: &'static str,
    /// Raised when its figures change meaning.
    pub version: u32,
    /// One line.
    pub summary: &'static str,
    /// Its options.
    pub options: fn() -> Vec<Setting>,
    /// Whether an interrupted session on a real target goes on with its next step. Not where the
    /// steps depend on the state that the ones before left: it then begins anew.
    pub resumes: bool,
    /// Names for several limits at once, and what they stand for, as `FIGURE=VALUE`.
    pub named_limits: &'static [(&'static str, &'static [&'static str])],
    /// Reads them: [`read_method`].
    pub read: fn(&Values) -> Result<Box<dyn Method>, SettingError>,
    /// Its page, in Markdown.
    pub page: &'static str,
    /// What its steps hold.
    pub steps: fn() -> StepKinds,
    /// What one of its steps says of the session while it goes on.
    pub live: fn(&Step) -> LiveFigures,
    /// Seconds that the emulation of a session takes per GB that it writes at most, with the preset
    /// `quick`: the mean of the generic SATA and NVMe TLC drives, on 2 cores that had nothing else
    /// to do. Only the ratios between methods matter once a session has ended.
    pub emulation_s_per_gb: f64,
    /// Whether a twin of the drive can repeat its sessions.
    pub twin: TwinUse,
    /// The charts of all its sessions in a report. Pure; a record that lacks something gives charts
    /// without it, or empty ones, which the report leaves out.
    pub charts: fn(&[LabelledSession<'_>]) -> Vec<Chart>,
}

/// Kinds of steps, separated by commas where they hold the same (words in capitals stand for
/// names), and the rows of their tables.
pub type StepKinds = Vec<(&'static str, Vec<StepRow>)>;

/// What a step says of the session while it goes on: each a value and its unit, where it has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveFigures {
    /// What was done in a second.
    pub throughput: Option<(f64, &'static str)>,
    /// The longest that something took.
    pub latency: Option<(f64, &'static str)>,
    /// What the headline will be made of, behind its name.
    pub headline: Option<(&'static str, f64, &'static str)>,
}

/// Whether an emulated drive can do what a method did to a real one, so that its figures are fitted
/// to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TwinUse {
    /// It does the same to the whole of a drive of any capacity.
    AnyCapacity,
    /// It works with sizes of its own, which are another share of a drive of another capacity.
    SameCapacity,
    /// It finds faults, or compares systems: nothing to fit to.
    Never,
}

/// A method with its options as a struct.
pub trait MethodDefinition: Method + FromSettings + 'static {
    /// What the command line lists of it.
    const INFO: MethodInfo;

    /// The method with the options of a preset, with the user's settings on top.
    fn resolve(preset: Preset, set: &BTreeMap<String, String>) -> Result<Self, SettingError> {
        Self::read(&Self::INFO.values(preset, set)?)
    }
}

/// A method, and the options that it was read from.
#[derive(Debug)]
pub struct ResolvedMethod {
    /// All options, as texts.
    pub options: Values,
    /// The method.
    pub method: Box<dyn Method>,
}

impl MethodInfo {
    /// The method with the options of a preset, with the user's settings on top; keys of other
    /// methods are left out.
    pub fn resolve(
        &self,
        preset: Preset,
        set: &BTreeMap<String, String>,
    ) -> Result<ResolvedMethod, SettingError> {
        let rows = (self.options)();
        let known = |key: &&String| rows.iter().any(|row| row.key == **key);
        let options = self.values(preset, set.iter().filter(|(key, _)| known(key)))?;
        Ok(ResolvedMethod { method: (self.read)(&options)?, options })
    }

    /// The options of a preset, with settings on top.
    fn values<'a>(
        &self,
        preset: Preset,
        set: impl IntoIterator<Item = (&'a String, &'a String)>,
    ) -> Result<Values, SettingError> {
        let rows = (self.options)();
        let method = format!("`{}`", self.id);
        let mut values = Values::new("option", method).in_preset(&rows, preset as usize);
        for (key, text) in set {
            values.set(&rows, key, text)?;
        }
        Ok(values)
    }
}

/// Reads a method whose options are a struct.
pub fn read_method<M: MethodDefinition>(options: &Values) -> Result<Box<dyn Method>, SettingError> {
    Ok(Box::new(M::read(options)?))
}

/// A method with its options, as resolved from a preset and what the user set.
pub trait Method: fmt::Debug + Send + Sync {
    /// All metrics that a run may find: what limits can be set on.
    fn metrics(&self) -> Vec<Metric>;

    /// Limits that every run is judged by, beside the user's, as `FIGURE=VALUE`: where a figure
    /// above them is a fault of the drive whoever asks.
    fn built_in_limits(&self) -> Vec<String> {
        Vec::new()
    }

    /// The name of the trace file that it replays, if it does.
    fn trace(&self) -> Option<&str> {
        None
    }

    /// How many emulated drives it uses at a time where they have room in memory.
    fn drives_at_once(&self) -> usize {
        1
    }

    /// The least capacity of a device, or room in a directory, that it needs.
    fn space(&self) -> Bytes;

    /// The memory that a run on files is to be limited to, so that the page cache cannot hold them;
    /// `None` where that does not matter.
    fn memory(&self) -> Option<Bytes> {
        None
    }

    /// The settings with which its files grow to so many bytes at least, as `--set KEY=VALUE`.
    fn growing_to(&self, _files: Bytes) -> Option<String> {
        None
    }

    /// The capacity of an emulated drive whose target sets none; `None` leaves it to the profile.
    fn emulated_capacity(&self) -> Option<Bytes> {
        None
    }

    /// What a run takes on a device of this capacity that reads and writes `rate` bytes a second.
    fn demand(&self, capacity: Bytes, rate: u64) -> Demand;

    /// The same where the user may have named a trace, which is read to its end for that.
    fn demand_with_traces(
        &self,
        capacity: Bytes,
        rate: u64,
        _traces: &dyn Traces,
    ) -> Result<Demand, MethodError> {
        Ok(self.demand(capacity, rate))
    }

    /// The same on filesystems that are made for it, on a device of this capacity.
    fn demand_on_filesystems(&self, capacity: Bytes, rate: u64) -> Demand {
        self.demand(capacity, rate)
    }

    /// Its waits for the discards of what it deletes, on files whose discards are over by this
    /// rule; `made`: on filesystems that are made for it.
    fn discard_waits(&self, _rule: &DrainRule, _made: bool) -> DiscardWaits {
        DiscardWaits::default()
    }

    /// Whether the target fits, from what it says of itself; the error says why not, and what
    /// would.
    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit>;

    /// Whether its figures rest on time, so that pauses of this process spoil them.
    fn measures_time(&self) -> bool {
        true
    }

    /// Whether its figures leave out steps beside which this process did not run, and say by
    /// themselves when they do rest on one.
    fn leaves_paused_out(&self) -> bool {
        false
    }

    /// Measures what of its plan is not done, on a target that fits.
    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError>;

    /// From recorded steps to figures: a pure function of the record. It may add metrics to steps.
    fn analyse(&self, steps: &mut Vec<Step>, rng: &Rng) -> Findings;
}

/// What the analysis found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The figures.
    pub figures: Vec<Figure>,
    /// Caveats on the session.
    pub caveats: Vec<Caveat>,
}

impl Findings {
    /// What was found. Of figures that may be the headline, the first is.
    pub fn new(mut figures: Vec<Figure>, caveats: Vec<Caveat>) -> Self {
        let others = figures.iter_mut().filter(|figure| figure.headline).skip(1);
        others.for_each(|figure| figure.headline = false);
        Self { figures, caveats }
    }
}

/// An error where the target does not fit the method.
pub fn check_fit(method: &dyn Method, capabilities: &Capabilities) -> Result<(), MethodError> {
    method.fits(capabilities).map_err(|reason| MethodError::Unfit { reason })
}

/// Runs a method and analyses what it measured.
pub fn run(
    method: &dyn Method,
    on: Opened<'_>,
    context: SessionContext<'_>,
) -> Result<MethodResult, MethodError> {
    check_fit(method, on.capabilities())?;
    let mut session = MethodSession::of(method, context);
    method.run(on, &mut session)?;
    Ok(session.found(method))
}

/// What a method that works on whole devices says of a directory.
pub const NEEDS_A_DEVICE: &str = "it writes to a whole device: name an emulated drive \
    (`sim:NAME`), a block device or an image file";

/// What a method that works on files says of a device.
pub const NEEDS_A_DIRECTORY: &str = "it works on files: name a directory, or a filesystem that \
    is made for it (`ext4:sim:NAME`)";

/// What targets are assumed to read and write in estimates, bytes a second, where nobody says.
pub const ASSUMED_RATE: u64 = 500_000_000;

/// What a run of a method takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Bytes that are written, at the most where a criterion may end the run earlier.
    pub written: Bytes,
    /// How long it takes on the target's clock, roughly.
    pub time: Nanos,
}

/// Waits of a method for discards, known before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiscardWaits {
    /// After so many deletions it waits.
    pub deletions: u64,
    /// For so long after each, where nobody else discards; what [`Demand`] counts is left out.
    pub each: Nanos,
}

impl DiscardWaits {
    /// After so many deletions, each until its discards may have begun and no more come.
    pub fn after(deletions: u64, rule: &DrainRule) -> Self {
        Self { deletions, each: rule.latest_start + rule.quiet }
    }

    /// All together.
    pub fn total(self) -> Nanos {
        self.each.times(self.deletions)
    }
}

/// What a method found.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodResult {
    /// All steps, those kept before a resume included, in plan order, with what the analysis added.
    pub steps: Vec<Step>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// Caveats on the session.
    pub caveats: Vec<Caveat>,
    /// The runner's hash over everything that happened.
    pub trace_hash: u64,
}

/// Lets a wall-clock target be told from a virtual one without naming either.
pub fn is_virtual<T: Target + ?Sized>(target: &T) -> bool {
    target.capabilities().clock == Clock::Virtual
}
