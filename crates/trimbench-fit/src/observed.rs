//! What was measured on the drive: figures of sessions, and the sessions that the twin repeats.

use std::collections::BTreeMap;
use std::fmt;

use trimbench_core::Bytes;
use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_engine::{MethodInfo, Preset, TwinUse};
use trimbench_methods::METHODS;
use trimbench_results::{Figure, Metric, RunRecord, Session};

use crate::error::FitError;

mod scaling;
mod table;
mod unusable;

pub use scaling::TwinScaling;
pub use unusable::UnusableSession;

/// The normal distribution's 97.5 %: half of the width of a 95 % interval, in standard deviations.
const Z: f64 = 1.96;
/// Figures whose names have one of these parts are not fitted to: extremes and tails depend on
/// single events, or jump where commands begin to meet, and counts of rounds are chance.
const UNFIT: [&str; 9] =
    ["max", "min", "p90", "p99", "p98", "rounds", "drift", "detection", "achieved"];
/// A figure that differs by more than this between two runs drifts.
const DRIFTS: f64 = 0.2;

/// Between a step and its metric in the name of a figure, which has none else.
pub(crate) const STEP: char = '.';

/// A session that the twin repeats.
#[derive(Clone, Debug)]
pub struct TwinSession {
    /// The method.
    pub method: &'static MethodInfo,
    /// Its options, as the twin can run it.
    pub options: BTreeMap<String, String>,
    /// What lies over the drive, as `ext4,machine=s0`; empty where it is the drive itself.
    pub over: String,
    /// Whether metrics of its steps count as figures, as `STEP.METRIC`.
    pub has_steps: bool,
    /// Whether the drive has another capacity than the twin: what grows with it does not count.
    pub is_scaled: bool,
}

/// A figure's name: that of the method, a dot, and its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FigureName {
    /// The id of the method.
    pub method: &'static str,
    /// The id of the figure; or `STEP.METRIC`, of one of the session's steps.
    pub figure: String,
}

/// A figure that was measured.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Its name.
    pub name: FigureName,
    /// Which of the sessions it is of.
    pub session: usize,
    /// Above 0.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// The standard deviation of its logarithm, by its interval; 0 without one. This is chance
    /// within one run, which the twin's runs have, too.
    pub deviation: f64,
    /// What its logarithm may be off by beyond that, as one standard deviation: what a table says
    /// of it, or repeated measurements.
    pub doubt: f64,
    /// It is not fitted to, but predicted.
    pub set_aside: bool,
}

/// All that was measured on one drive.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    /// The drive, as the records name it.
    pub drive: String,
    /// What the twin repeats.
    pub sessions: Vec<TwinSession>,
    /// What was found.
    pub figures: Vec<Observed>,
    /// Sessions that cannot be used, and why.
    pub left_out: Vec<(String, String)>,
}

impl fmt::Display for FigureName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.method, self.figure)
    }
}

impl Observations {
    /// Those of all sessions of these records that are on the target `drive`; without a name, on
    /// the one target that they have. `twin` is the capacity of the twin.
    pub fn of(records: &[RunRecord], drive: Option<&str>, twin: Bytes) -> Result<Self, FitError> {
        let sessions = || records.iter().flat_map(|record| &record.sessions);
        let is_device = |session: &&Session| !session.target.kind.is_empty();
        let mut drives: Vec<&str> = sessions().filter(is_device).map(target_of).collect();
        drives.sort_unstable();
        drives.dedup();
        let drive = match (drive, &drives[..]) {
            (Some(drive), _) if drives.contains(&drive) => drive.to_owned(),
            (Some(drive), _) => {
                let meant = did_you_mean(nearest(drive, drives.iter().copied()));
                return Err(FitError::NoSuchDrive { name: drive.to_owned(), meant });
            }
            (None, [drive]) => (*drive).to_owned(),
            (None, []) => {
                let reason = "no session of these records has ended".to_owned();
                return Err(FitError::NoFigures { reason });
            }
            (None, drives) => {
                let drives = drives.iter().map(|drive| format!("`{drive}`")).collect();
                return Err(FitError::SeveralDrives { drives });
            }
        };
        let mut found = Self { drive, ..Self::default() };
        for session in sessions() {
            if session.plan.target == found.drive
                && let Err(reason) = found.add(session, twin)
            {
                found.left_out.push((session.plan.method.clone(), reason.to_string()));
            }
        }
        found.merge_repeated();
        Ok(found)
    }

    /// Adds the figures of a session; the error says why they cannot be used.
    fn add(&mut self, session: &Session, twin: Bytes) -> Result<(), UnusableSession> {
        if let Some(reason) = &session.left_out {
            return Err(UnusableSession::LeftOut { reason: reason.clone() });
        }
        if !session.finished {
            return Err(UnusableSession::Unfinished);
        }
        if !session.is_valid() {
            return Err(UnusableSession::Invalid);
        }
        let id = session.plan.method.as_str();
        let method = METHODS.iter().find(|method| method.id == id);
        let method = method.filter(|method| method.twin != TwinUse::Never);
        let method = method.ok_or(UnusableSession::NoSpeeds)?;
        if method.version != session.method_version {
            let (measured, known) = (session.method_version, method.version);
            return Err(UnusableSession::OtherVersion { measured, known });
        }
        if matches!(session.target.kind.as_str(), "directory" | "filesystem") {
            return Err(UnusableSession::OnFilesystem);
        }
        let capacity = session.target.capabilities.get("capacity");
        let drive = capacity.and_then(|text| text.parse().ok()).unwrap_or(twin);
        let scaling = TwinScaling { drive, twin };
        let twin_session = TwinSession::scaled(method, session.plan.options.clone(), scaling)?;
        let number = self.sessions.len();
        let (kept, grown): (Vec<&Figure>, Vec<&Figure>) = session
            .figures
            .iter()
            .filter(|figure| is_fit(session, figure))
            .partition(|figure| twin_session.holds(&figure.id));
        self.left_out.extend(grown.into_iter().map(|figure| {
            let reason = format!("it is not the same on {drive} and on a twin of {twin}");
            (format!("{}.{}", method.id, figure.id), reason)
        }));
        let figures = kept.into_iter().map(|figure| Observed {
            name: FigureName { method: method.id, figure: figure.id.clone() },
            session: number,
            value: figure.value,
            unit: figure.unit.clone(),
            deviation: deviation(figure),
            doubt: 0.0,
            set_aside: false,
        });
        self.figures.extend(figures);
        self.sessions.push(twin_session);
        Ok(())
    }

    /// Of sessions that were measured again with the same options: the mean of their figures, which
    /// may be off by as much as they differ.
    fn merge_repeated(&mut self) {
        let mut kept: Vec<(Observed, f64)> = Vec::new();
        for figure in std::mem::take(&mut self.figures) {
            let same = |(other, _): &&mut (Observed, f64)| {
                let (one, two) = (&self.sessions[other.session], &self.sessions[figure.session]);
                other.name == figure.name && one.is_same(two)
            };
            if let Some((mean, count)) = kept.iter_mut().find(same) {
                let apart = (figure.value / mean.value).ln();
                if apart.abs() > DRIFTS {
                    let reason = format!(
                        "it was {} {} and then {}: the drive drifts, and this figure weighs little",
                        mean.value, figure.unit, figure.value
                    );
                    self.left_out.push((figure.name.to_string(), reason));
                }
                *count += 1.0;
                mean.value *= (apart / *count).exp();
                mean.doubt = mean.doubt.max(apart.abs() / std::f64::consts::SQRT_2);
            } else {
                kept.push((figure, 1.0));
            }
        }
        self.figures = kept.into_iter().map(|(figure, _)| figure).collect();
    }

    /// Keeps these figures out of the fit: a method, or one of its figures, as `METHOD.FIGURE`.
    pub fn set_aside(&mut self, name: &str) -> Result<(), FitError> {
        let mut found = false;
        for figure in &mut self.figures {
            if figure.name.method == name || figure.name.to_string() == name {
                (figure.set_aside, found) = (true, true);
            }
        }
        if found {
            return Ok(());
        }
        let names: Vec<String> = self.figures.iter().map(|it| it.name.to_string()).collect();
        let methods = self.figures.iter().map(|it| it.name.method);
        let meant = did_you_mean(nearest(name, names.iter().map(String::as_str).chain(methods)));
        Err(FitError::NoSuchFigure { name: name.to_owned(), meant })
    }
}

fn target_of(session: &Session) -> &str {
    &session.plan.target
}

/// Whether a figure may be fitted to.
fn is_fit(session: &Session, figure: &Figure) -> bool {
    let is_number = figure.value > 0.0 && figure.value.is_finite();
    session.believes(figure) && is_number && is_fit_by_name(&figure.id)
}

/// Whether figures of this id may be fitted to.
pub(crate) fn is_fit_by_name(id: &str) -> bool {
    !id.split('-').any(|word| UNFIT.iter().any(|it| word.starts_with(it)))
}

/// The standard deviation of a figure's logarithm, by its interval.
fn deviation(figure: &Figure) -> f64 {
    let Some(interval) = figure.interval.filter(|interval| interval.low > 0.0) else { return 0.0 };
    (interval.high / interval.low).ln() / (2.0 * Z)
}

impl Observed {
    /// What it is known to, as a standard deviation of its logarithm.
    pub(crate) fn known_to(&self) -> f64 {
        self.deviation.hypot(self.doubt)
    }
}

impl TwinSession {
    /// A session on the drive itself, of which the figures count.
    pub fn on_drive(method: &'static MethodInfo, options: BTreeMap<String, String>) -> Self {
        Self { method, options, over: String::new(), has_steps: false, is_scaled: false }
    }

    /// What the twin does where a drive was measured with these options.
    ///
    /// # Errors
    /// Why the twin cannot do the same.
    pub fn scaled(
        method: &'static MethodInfo,
        mut options: BTreeMap<String, String>,
        scaling: TwinScaling,
    ) -> Result<Self, UnusableSession> {
        scaling.scale(method, &mut options)?;
        Ok(Self { is_scaled: scaling.is_scaled(), ..Self::on_drive(method, options) })
    }

    /// Whether this figure is the same on the drive and on the twin.
    pub(crate) fn holds(&self, figure: &str) -> bool {
        !self.is_scaled || !scaling::grows(self.method.id, figure)
    }

    /// The figures that it may give.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let resolved = self.method.resolve(Preset::Quick, &self.options);
        resolved.map(|it| it.method.metrics()).unwrap_or_default()
    }

    /// Whether the twin does the same in both.
    fn is_same(&self, other: &Self) -> bool {
        self.method.id == other.method.id
            && self.options == other.options
            && self.over == other.over
    }

    /// A session of a method with a preset's options and others on top.
    pub fn preset(
        method: &'static MethodInfo,
        set: &BTreeMap<String, String>,
    ) -> Result<Self, trimbench_core::settings::SettingError> {
        let resolved = method.resolve(Preset::Quick, set)?;
        let options = resolved.options.texts();
        let options = options.map(|(key, text)| (key.to_owned(), text.to_owned()));
        Ok(Self::on_drive(method, options.collect()))
    }
}
