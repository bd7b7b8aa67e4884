//! The run record: everything that one run planned, measured and found, as one JSON document.
//!
//! The bytes are a function of the content: struct fields in declaration order, maps sorted, floats
//! in their shortest exact form, a newline at the end. Reading and writing again changes nothing,
//! so a resumed run can equal an uninterrupted one. What differs between two runs of one seed on
//! one emulated target (host, wall time, paths) has no place here.
//!
//! Units: keys of plain numbers are `what_unit_qualifier` (`stutter_s`, `latency_ns_max`).
//!
//! Invariant: no number is NaN or infinite. A figure that could not be computed is absent.
//!
//! Formats: 1 had no [`Direction`] in figures and listed every axis; up to 2 figures had no
//! [`Role`], and a verdict was its words; up to 3 they had no [`Coordinates`]. They are read, and
//! brought to the present format, so that nothing else knows of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trimbench_core::Caveat;

use crate::metric::{Coordinates, Direction, Metric, MetricAxis};
use crate::number::ShownFigure;
use crate::role::Role;
use crate::verdict::Verdict;

mod card;
mod histograms;
mod kept;
mod older;
mod read;
mod salvage;
mod seal;
mod series;
#[cfg(test)]
mod tests;

pub use card::{AdviceCard, CardFact, CardLine, CardReason};
pub use histograms::HistogramFlaw;
pub use kept::{KeptStep, LineFlaw, RejectedLine, StepOrigin};
#[cfg(test)]
pub(crate) use older::role;
pub use read::RecordError;
pub use salvage::Salvaged;
pub use seal::sha256;
pub use series::Series;

/// The version of the record's format. Raised when a reader of the old format would misread it.
pub const SCHEMA: u32 = 4;
/// How every report marks what supports nothing.
const INVALID: &str = "INVALID";
/// What every report says of a session that ended early.
pub const NOT_FINISHED: &str = "not finished";
/// The same of one that was only planned.
pub const NOT_BEGUN: &str = "not begun";

/// One run of the program: all its sessions, finished or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The format, [`SCHEMA`]: a record of an older one is brought to it when it is read.
    pub schema: u32,
    /// What measured.
    pub program: Program,
    /// What tells this run from others: 32 random hexadecimal digits, for runs on real targets.
    /// Others have none, so that the same seed gives the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The seed of everything random in the run.
    pub seed: u64,
    /// How far the run got.
    pub outcome: Outcome,
    /// What to do with each drive, by the rules of the version that wrote it; empty until the run
    /// has ended, and in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<AdviceCard>,
    /// The planned sessions, in order.
    pub plan: Vec<PlannedSession>,
    /// The sessions, in the order of the plan; fewer than planned while the run is not complete.
    pub sessions: Vec<Session>,
}

/// The program that wrote a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// `trimbench`.
    pub name: String,
    /// Its version, as in its package.
    pub version: String,
    /// The commit that it was built from, with `-dirty` if there were changes on top.
    pub commit: String,
    /// The version of the emulated drives' behaviour: simulated numbers of different versions are
    /// not comparable.
    pub model_version: u32,
}

/// How far a run got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Outcome {
    /// Still at work, or ended by a crash or a power cut without having said so.
    Running,
    /// Everything in the plan was done.
    Complete,
    /// Ended early on request; the record has what was measured before.
    Interrupted,
    /// Ended early by an error; the record has what was measured before.
    Failed {
        /// The error as it was printed.
        message: String,
    },
}

/// One method on one target, as planned: everything that decides what is done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlannedSession {
    /// The method's stable id, `delete-stall`.
    pub method: String,
    /// The target as the user would name it, `sim:vendor2`.
    pub target: String,
    /// The preset's name: `quick`.
    pub preset: String,
    /// All options, resolved, as texts with units (`"1GiB"`, `"30s"`).
    pub options: BTreeMap<String, String>,
}

/// One method on one target, as measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// What was asked.
    pub plan: PlannedSession,
    /// The version of the method: figures of different versions are not comparable.
    pub method_version: u32,
    /// What was measured.
    pub target: TargetRecord,
    /// The drive's state before the run, and how it was established.
    pub state: String,
    /// The machine's settings before the session; empty for an emulated target.
    pub environment_before: BTreeMap<String, String>,
    /// The same after it; empty for an emulated target.
    pub environment_after: BTreeMap<String, String>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The figures, the most important first; complete only if `finished`.
    pub figures: Vec<Figure>,
    /// Ids of the caveats on the session as a whole.
    pub caveats: Vec<String>,
    /// Hash over every command and completion of a simulated session, in hexadecimal digits.
    pub trace_hash: Option<String>,
    /// Whether all steps were done.
    pub finished: bool,
    /// Why the method was not run here, where it does not fit the target; it is then finished
    /// without steps. Absent where it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// The short name, `vendor2` or `/srv/data`.
    pub name: String,
    /// `emulated`, `directory`, `device`, `image` or `filesystem`.
    pub kind: String,
    /// `virtual` or `wall`.
    pub clock: String,
    /// What tells this target from others: profile hash, model, serial, filesystem.
    pub identity: BTreeMap<String, String>,
    /// Its capabilities, as texts with units.
    pub capabilities: BTreeMap<String, String>,
    /// Where the values of an emulated drive come from; `None` for real targets.
    pub provenance: Option<Provenance>,
}

/// How many values of an emulated drive are sourced, fitted, assumed and set by the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Taken from a cited source.
    pub sourced: u32,
    /// Fitted so that the model reproduces a published figure.
    pub fitted: u32,
    /// Assumed: plausible, but nobody's measurement.
    pub assumed: u32,
    /// Set by the user; the target's identity names keys and values.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub set: u32,
}

impl Provenance {
    /// Values of every kind.
    pub fn total(self) -> u32 {
        self.sourced + self.fitted + self.assumed + self.set
    }

    /// What the user set, behind a comma; nothing if that is nothing.
    pub fn set_by_the_user(self) -> String {
        match self.set {
            0 => String::new(),
            set => format!(", {set} set by the user"),
        }
    }
}

/// One thing that was done: a deletion, a placebo, a preparation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Unique within the session, `delete-1GiB-2`.
    pub id: String,
    /// What was done: `prepare`, `placebo`, `delete`, ...
    pub kind: String,
    /// What was set: `size_bytes`, `deleted_at_s`.
    pub parameters: BTreeMap<String, f64>,
    /// What was measured: `stutter_s`, `latency_ns_max`.
    pub metrics: BTreeMap<String, f64>,
    /// Latencies, as [`crate::LatencyHistogram::to_text`].
    pub histograms: BTreeMap<String, String>,
    /// Curves over time or address.
    pub series: BTreeMap<String, Series>,
    /// Ids of the caveats on this step.
    pub caveats: Vec<String>,
}

/// A result of the run, with its uncertainty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Stable id, kebab-case: `stutter`.
    pub id: String,
    /// A short phrase for people: `stutter per GB deleted`.
    pub title: String,
    /// The number, in `unit`.
    pub value: f64,
    /// The unit, `s/GB`; empty for a plain number.
    pub unit: String,
    /// The interval, in `unit`; `None` where there are too few points or it has no meaning.
    pub interval: Option<Interval>,
    /// Observations behind it.
    pub n: u64,
    /// Whether it is the method's main result; one a session.
    pub headline: bool,
    /// Which way it is better.
    #[serde(default)]
    pub direction: Direction,
    /// Its meaning for advice about TRIM, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Where in a family of figures it stands; none if it belongs to none.
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    pub coordinates: Coordinates,
    /// The verdict on it.
    pub verdict: Option<Verdict>,
    /// Ids of the caveats on this figure.
    pub caveats: Vec<String>,
    /// Ids of the steps that it is computed from; empty if these are all of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
}

/// An interval that holds the true value in a share `level` of repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end, at least `low`.
    pub high: f64,
    /// The confidence level, in (0, 1): 0.95.
    pub level: f64,
}

impl RunRecord {
    /// The record as JSON: the same content gives the same bytes.
    ///
    /// # Panics
    /// If [`Self::validate`] fails: a number that is no number is the caller's bug.
    pub fn to_json(&self) -> Vec<u8> {
        if let Err(error) = self.validate() {
            panic!("a record to be written is valid: {error}");
        }
        let mut json = self.unsealed();
        if self.run_id.is_some() {
            json = seal::sealed(json);
        }
        json.push(b'\n');
        json
    }

    fn unsealed(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self)
            .expect("finite numbers under text keys always have a JSON form")
    }

    /// Reads a record that [`Self::to_json`] wrote.
    pub fn from_json(json: &[u8]) -> Result<Self, RecordError> {
        read::parse(json)
    }

    /// Reads what can be understood of a record that [`Self::from_json`] refuses: of a later
    /// format, cut off, or changed. An error if there is nothing to be understood.
    pub fn salvage(json: &[u8]) -> Result<Salvaged, RecordError> {
        salvage::salvage(json)
    }

    /// Checks what the types cannot: every number finite, every curve with as many `y` as `x`,
    /// every interval in order.
    pub fn validate(&self) -> Result<(), RecordError> {
        for (index, session) in self.sessions.iter().enumerate() {
            session.validate().map_err(|flaw| RecordError::NotANumber {
                session: index,
                part: flaw.part,
                key: flaw.key,
            })?;
        }
        Ok(())
    }

    /// The first session that is not of the plan at its place, or beyond it.
    pub fn stray_session(&self) -> Option<usize> {
        let planned = |index: usize, session: &Session| self.plan.get(index) == Some(&session.plan);
        self.sessions.iter().enumerate().position(|(index, session)| !planned(index, session))
    }

    /// Whether no caveat anywhere invalidates a figure ([`Caveat::invalidates`]). Ids that this
    /// version does not know do not: they are shown, but cannot be judged.
    pub fn is_valid(&self) -> bool {
        self.sessions.iter().all(Session::is_valid)
    }
}

impl Session {
    /// A session on an emulated drive of which nothing is known but the plan.
    pub fn planned(plan: PlannedSession, method_version: u32) -> Self {
        Self {
            method_version,
            target: TargetRecord {
                name: plan.target.clone(),
                kind: "emulated".to_owned(),
                clock: "virtual".to_owned(),
                identity: BTreeMap::new(),
                capabilities: BTreeMap::new(),
                provenance: None,
            },
            plan,
            state: NOT_BEGUN.to_owned(),
            environment_before: BTreeMap::new(),
            environment_after: BTreeMap::new(),
            steps: Vec::new(),
            figures: Vec::new(),
            caveats: Vec::new(),
            trace_hash: None,
            finished: false,
            left_out: None,
        }
    }

    /// Whether no caveat on the session, its steps or its figures invalidates.
    pub fn is_valid(&self) -> bool {
        let steps = self.steps.iter().flat_map(|step| &step.caveats);
        let figures = self.figures.iter().flat_map(|figure| &figure.caveats);
        all_valid(self.caveats.iter().chain(steps).chain(figures))
    }

    /// Whether this caveat is on the session or on one of its steps.
    pub fn has_caveat(&self, caveat: Caveat) -> bool {
        let steps = self.steps.iter().flat_map(|step| &step.caveats);
        self.caveats.iter().chain(steps).any(|id| id == caveat.id())
    }

    /// Adds a caveat to the session, once.
    pub fn caveat(&mut self, caveat: Caveat) {
        add_caveat(&mut self.caveats, Some(caveat));
    }

    /// Puts what invalidates the session, or a step, on every figure that is computed from it: a
    /// figure is as valid as the least valid of its steps. Nobody else looks at the caveats of
    /// steps.
    pub fn carry_caveats(&mut self) {
        let invalidates = |id: &&String| Caveat::from_id(id).is_some_and(Caveat::invalidates);
        let invalid = self.steps.iter().filter_map(|step| {
            let ids: Vec<&String> = step.caveats.iter().filter(invalidates).collect();
            (!ids.is_empty()).then_some((&step.id, ids))
        });
        let invalid: Vec<(&String, Vec<&String>)> = invalid.collect();
        for figure in &mut self.figures {
            if figure.steps.len() >= self.steps.len() {
                figure.steps.clear();
            }
            for (step, ids) in &invalid {
                if figure.steps.is_empty() || figure.steps.contains(step) {
                    add_ids(&mut figure.caveats, ids.iter().copied());
                }
            }
            add_ids(&mut figure.caveats, self.caveats.iter().filter(invalidates));
        }
    }

    /// Whether `figure`, one of this session's, may be believed: no caveat on it, on its steps
    /// ([`Self::carry_caveats`]) or on the whole session invalidates.
    pub fn believes(&self, figure: &Figure) -> bool {
        all_valid(&self.caveats) && figure.is_valid()
    }

    /// The figure of this id.
    pub fn figure(&self, id: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.id == id)
    }

    /// The first figure at these places.
    pub fn figure_at(&self, places: &[(MetricAxis, &str)]) -> Option<&Figure> {
        let is_at = |figure: &&Figure| {
            places.iter().all(|(axis, key)| figure.coordinates.key(*axis) == Some(*key))
        };
        self.figures.iter().find(is_at)
    }

    /// The method's main result, if it could be computed.
    pub fn headline(&self) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.headline)
    }

    fn validate(&self) -> Result<(), Flaw> {
        for step in &self.steps {
            step.validate()?;
        }
        for figure in &self.figures {
            if !figure.is_sound() {
                return Err(Flaw { part: figure.id.clone(), key: "value".to_owned() });
            }
        }
        Ok(())
    }
}

impl Step {
    /// An empty step.
    pub fn new(id: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { id: id.into(), kind: kind.into(), ..Self::default() }
    }

    /// Adds a caveat, once; nothing for `None`.
    pub fn caveat(&mut self, caveat: impl Into<Option<Caveat>>) {
        add_caveat(&mut self.caveats, caveat.into());
    }

    fn validate(&self) -> Result<(), Flaw> {
        let flaw = |key: &str| Flaw { part: self.id.clone(), key: key.to_owned() };
        for (key, value) in self.parameters.iter().chain(&self.metrics) {
            if !value.is_finite() {
                return Err(flaw(key));
            }
        }
        match self.series.iter().find(|(_, series)| !series.is_sound()) {
            Some((key, _)) => Err(flaw(key)),
            None => Ok(()),
        }
    }
}

impl Metric {
    /// Its figure, from one observation, without interval, verdict or caveats. `None` without a
    /// finite value: what could not be computed is absent.
    pub fn measured(&self, value: impl Into<Option<f64>>) -> Option<Figure> {
        let value = value.into().filter(|value| value.is_finite())?;
        Some(Figure {
            id: self.id.clone().into_owned(),
            title: self.title.clone().into_owned(),
            value,
            unit: self.unit.to_owned(),
            interval: None,
            n: 1,
            headline: self.headline,
            direction: self.direction,
            role: self.role.clone(),
            coordinates: self.coordinates.clone(),
            verdict: None,
            caveats: Vec::new(),
            steps: Vec::new(),
        })
    }
}

impl Figure {
    /// Value, unit and interval as every report shows them.
    pub fn shown(&self) -> ShownFigure {
        let ends = self.interval.map(|interval| (interval.low, interval.high));
        ShownFigure::of(self.value, ends, &self.unit)
    }

    /// From so many observations.
    #[must_use]
    pub fn with_n(self, n: u64) -> Self {
        Self { n, ..self }
    }

    /// With this interval, if there is one.
    #[must_use]
    pub fn with_interval(self, interval: Option<Interval>) -> Self {
        Self { interval, ..self }
    }

    /// With this verdict.
    #[must_use]
    pub fn judged(self, verdict: impl Into<Option<Verdict>>) -> Self {
        Self { verdict: verdict.into(), ..self }
    }

    /// Its verdict, in words; that of an invalid figure is marked, because it supports nothing.
    pub fn words(&self) -> Option<String> {
        let words = self.verdict.as_ref()?.to_string();
        let is_marked =
            words.get(..INVALID.len()).is_some_and(|it| it.eq_ignore_ascii_case(INVALID));
        Some(if self.is_valid() || is_marked { words } else { format!("{INVALID}: {words}") })
    }

    /// Adds a caveat, once; nothing for `None`.
    pub fn caveat(&mut self, caveat: impl Into<Option<Caveat>>) {
        add_caveat(&mut self.caveats, caveat.into());
    }

    /// States the steps that it is computed from, and adds their caveats, each once. A figure of
    /// which nothing is stated is computed from all steps of its session.
    pub fn rests_on<'a>(&mut self, steps: impl IntoIterator<Item = &'a Step>) {
        for step in steps {
            if !self.steps.contains(&step.id) {
                self.steps.push(step.id.clone());
            }
            add_ids(&mut self.caveats, step.caveats.iter());
        }
    }

    /// Whether no caveat on it invalidates ([`Caveat::invalidates`]).
    pub fn is_valid(&self) -> bool {
        all_valid(&self.caveats)
    }

    fn is_sound(&self) -> bool {
        self.value.is_finite() && self.interval.is_none_or(Interval::is_sound)
    }
}

impl Interval {
    /// An interval; `None` unless the ends are finite and in order and the level lies in (0, 1).
    pub fn new(low: f64, high: f64, level: f64) -> Option<Self> {
        let interval = Self { low, high, level };
        interval.is_sound().then_some(interval)
    }

    /// Whether the interval holds `value`; its ends belong to it.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    fn is_sound(self) -> bool {
        let level = self.level > 0.0 && self.level < 1.0;
        level && self.low.is_finite() && self.high.is_finite() && self.low <= self.high
    }
}

/// Where a number that is no number stands.
struct Flaw {
    part: String,
    key: String,
}

/// Adds ids that are not there yet.
fn add_ids<'a>(ids: &mut Vec<String>, more: impl Iterator<Item = &'a String>) {
    for id in more {
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }
}

/// What serde asks of a count that stands in the record only where there is one.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Whether none of these ids is that of a caveat that invalidates.
fn all_valid<'a>(ids: impl IntoIterator<Item = &'a String>) -> bool {
    !ids.into_iter().any(|id| Caveat::from_id(id).is_some_and(Caveat::invalidates))
}

fn add_caveat(ids: &mut Vec<String>, caveat: Option<Caveat>) {
    let id = caveat.map(Caveat::id).filter(|id| !ids.iter().any(|other| other == id));
    ids.extend(id.map(str::to_owned));
}
