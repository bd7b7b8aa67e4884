//! Runs the sessions on the twin: an emulated drive with some of its values set.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Interrupt};
use trimbench_devices::{Consent, Opening, PurgeChoice, TargetError, TargetSpec};
use trimbench_engine::{
    KeepFailed, MethodError, MethodResult, Monitor, SessionContext, Slots, Stage,
};
use trimbench_results::Step;
use trimbench_ssd::{Origin, Profile};
use trimbench_trace::NoTraces;

use crate::error::FitError;
use crate::observed::{STEP, TwinSession};
use crate::parameter::Parameter;

/// What a fit needs from outside: how many sessions run side by side, and whether to stop.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "what is told has none")]
pub struct Outside<'a> {
    /// Sessions at a time.
    pub jobs: usize,
    /// The user's wish to stop.
    pub interrupt: &'a Interrupt,
    /// Is told how many sessions of the twin have ended.
    pub ended: &'a (dyn Fn() + Sync),
}

/// The emulated drive of which some values are searched for.
#[derive(Debug)]
pub struct Twin {
    /// Name and settings, as after `sim:`.
    base: String,
    profile: Profile,
    capacity: Bytes,
    parameters: Vec<Parameter>,
    sessions: Vec<TwinSession>,
}

/// The figures of one session, by their ids; or why it could not be run.
pub type SessionFigures = Result<BTreeMap<String, f64>, Arc<SessionProblem>>;

/// A run of all sessions: at which coordinates, with which seed.
#[derive(Clone, Debug)]
pub struct TwinPoint {
    /// One for each parameter.
    pub coordinates: Vec<f64>,
    /// Of all that is random in it.
    pub seed: u64,
}

impl Twin {
    /// The twin of this capacity on top of `base`, as it follows `sim:`.
    pub fn new(
        base: &str,
        capacity: Bytes,
        parameters: Vec<Parameter>,
        sessions: Vec<TwinSession>,
    ) -> Result<Self, FitError> {
        for (at, parameter) in parameters.iter().enumerate() {
            if parameters[..at].iter().any(|other| other.key == parameter.key) {
                return Err(FitError::NamedTwice { key: parameter.key.clone() });
            }
        }
        let spec = TargetSpec::parse(&format!("sim:{base}"), Some(capacity))?;
        let drive = spec.emulated_drive().expect("`sim:` is an emulated drive");
        let profile = drive.profile().clone();
        let twin = Self { base: base.to_owned(), profile, capacity, parameters, sessions };
        for parameter in &twin.parameters {
            let key = || parameter.key.clone();
            let values = &twin.profile.values;
            parameter.of(values).ok_or_else(|| FitError::NotInBase { key: key() })?;
            if values.iter().any(|it| it.key == parameter.key && it.origin == Origin::Set) {
                return Err(FitError::SetTwice { key: key() });
            }
        }
        Ok(twin)
    }

    /// The drive `base` as it is, with the capacity that it has.
    pub fn of_profile(base: &str) -> Result<Self, FitError> {
        let spec = TargetSpec::parse(&format!("sim:{base}"), None)?;
        let capacity = spec.emulated_drive().expect("`sim:` is an emulated drive").capacity();
        Self::new(base, capacity, Vec::new(), Vec::new())
    }

    /// Its profile, with the values of the base.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Name and settings of the base.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Its capacity.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// What is searched for.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// What it runs.
    pub fn sessions(&self) -> &[TwinSession] {
        &self.sessions
    }

    /// The same twin with other sessions.
    #[must_use]
    pub fn with_sessions(&self, sessions: Vec<TwinSession>) -> Self {
        let (base, profile) = (self.base.clone(), self.profile.clone());
        let parameters = self.parameters.clone();
        Self { base, profile, capacity: self.capacity, parameters, sessions }
    }

    /// The coordinates of the base's own values.
    pub fn begin(&self) -> Vec<f64> {
        let of = |parameter: &Parameter| {
            let value = parameter.of(&self.profile.values).expect("checked when it was made");
            parameter.coordinate(value)
        };
        self.parameters.iter().map(of).collect()
    }

    /// The settings of the values at these coordinates.
    pub fn settings(&self, coordinates: &[f64]) -> Vec<(String, String)> {
        let of = |(parameter, coordinate): (&Parameter, &f64)| {
            (parameter.key.clone(), parameter.exact_text(parameter.value(*coordinate)))
        };
        self.parameters.iter().zip(coordinates).map(of).collect()
    }

    /// The text of a session's target with the values at these coordinates.
    fn target(&self, session: &TwinSession, coordinates: &[f64]) -> String {
        let colon = if session.over.is_empty() { "" } else { ":" };
        let (over, settings) = (&session.over, settings_text(&self.settings(coordinates)));
        format!("{over}{colon}sim:{}{settings}", self.base)
    }

    /// Runs all sessions at these points, side by side; for each point the figures of each session.
    ///
    /// # Errors
    /// Only [`FitError::Interrupted`].
    pub fn run(
        &self,
        points: &[TwinPoint],
        outside: Outside<'_>,
    ) -> Result<Vec<Vec<SessionFigures>>, FitError> {
        let sessions = self.sessions.len();
        let found = Mutex::new(vec![vec![Ok(BTreeMap::new()); sessions]; points.len()]);
        let next = AtomicUsize::new(0);
        let worker = || {
            while !outside.interrupt.requested() {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(point) = points.get(at / sessions.max(1)) else { return };
                let session = &self.sessions[at % sessions];
                let figures = self.session(session, point, outside.interrupt);
                let mut found = found.lock().expect("no worker panicked");
                found[at / sessions][at % sessions] = figures;
                (outside.ended)();
            }
        };
        thread::scope(|scope| {
            for _ in 0..outside.jobs.clamp(1, (points.len() * sessions).max(1)) {
                scope.spawn(worker);
            }
        });
        if outside.interrupt.requested() {
            return Err(FitError::Interrupted);
        }
        Ok(found.into_inner().expect("no worker panicked"))
    }

    /// Runs a session at a point.
    fn session(
        &self,
        session: &TwinSession,
        point: &TwinPoint,
        interrupt: &Interrupt,
    ) -> SessionFigures {
        let found = self.found(session, point, interrupt)?;
        let mut figures: BTreeMap<String, f64> =
            found.figures.into_iter().map(|figure| (figure.id, figure.value)).collect();
        for step in found.steps.iter().filter(|_| session.has_steps) {
            let metrics = step.metrics.iter();
            figures.extend(metrics.map(|(key, value)| (format!("{}{STEP}{key}", step.id), *value)));
        }
        figures.retain(|_, value| value.is_finite());
        Ok(figures)
    }

    fn found(
        &self,
        session: &TwinSession,
        point: &TwinPoint,
        interrupt: &Interrupt,
    ) -> Result<MethodResult, SessionProblem> {
        let resolved = session.method.resolve(trimbench_engine::Preset::Quick, &session.options)?;
        let method = &*resolved.method;
        let text = self.target(session, &point.coordinates);
        let (space, seed) = (method.space(), point.seed);
        let spec = TargetSpec::parse(&text, Some(self.capacity))?;
        let spec = spec.settled(Some(self.capacity), space);
        let (consent, purge) = (&Consent::default(), PurgeChoice::default());
        let opening =
            Opening { consent, purge, seed, space, memory: None, drive_server: None, interrupt };
        let mut target = spec.open(&opening)?;
        let rng = &Rng::new(seed).split(session.method.id);
        let monitor = &mut Silent;
        let (traces, slots) = (&NoTraces, &Slots::new(1, Bytes(0)));
        let context = SessionContext { rng, interrupt, monitor, traces, slots, done: Vec::new() };
        let found = trimbench_engine::run(method, target.opened(), context);
        target.close().1?;
        Ok(found?)
    }
}

/// Settings as they follow a drive's name.
pub(crate) fn settings_text(settings: &[(String, String)]) -> String {
    let mut text = String::new();
    for (key, value) in settings {
        text.extend([",", key, "=", value]);
    }
    text
}

/// Why a session could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionProblem {
    /// A wrong option.
    #[error(transparent)]
    Setting(#[from] trimbench_core::settings::SettingError),
    /// The twin, or what lies over it, could not be opened.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// It ended early.
    #[error(transparent)]
    Method(#[from] MethodError),
}

/// A monitor that ignores everything.
struct Silent;

impl Monitor for Silent {
    fn stage(&mut self, _: &Stage<'_>) {}

    fn keep(&mut self, _: &Step) -> Result<(), KeepFailed> {
        Ok(())
    }
}
