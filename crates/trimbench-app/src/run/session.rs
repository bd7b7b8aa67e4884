//! One session: opens its target, runs the method, closes the target.

use std::collections::BTreeMap;

use trimbench_core::rng::Rng;
use trimbench_core::{Capabilities, Caveat, Clock, Interrupt, Medium, OwnPauses};
use trimbench_devices::{AnswerTimes, OpenTarget, Opening, TargetError, Watch};
use trimbench_engine::{
    KeepFailed, Method, MethodError, MethodResult, Monitor, SessionContext, Slots, Stage,
};
use trimbench_linux::PauseWatch;
use trimbench_results::{Provenance, Session as SessionRecord, Step, TargetRecord};

use super::heat_watch::HeatWatch;
use super::late_answers;
use super::machine_settings;
use super::quiet::wait_for_quiet;
use crate::failure::Failure;
use crate::plan::{Plan, ResolvedSession};
use crate::traces::TraceFiles;

/// What to do where files are refused although there is space.
const NO_INODES: &str = "the filesystem has free space and no free inodes, which each file needs \
                         (`df -i`): remove files that nobody needs, or have the method make fewer";

/// Is told what becomes of a session, and keeps it.
pub(super) trait Listener {
    /// The target is open: its part of the record, without steps yet. The steps of an earlier run
    /// that are not measured again.
    fn opened(&mut self, record: SessionRecord) -> Result<Vec<Step>, Failure>;

    /// The session waits before it begins: for what, and whether that is more than a moment.
    fn waits(&mut self, _text: &str, _long: bool) {}

    /// The method reached another stage.
    fn stage(&mut self, stage: &Stage<'_>);

    /// Something of the target is worth to know.
    fn note(&mut self, text: String);

    /// The session has failed, and this failed then, too.
    fn also_failed(&mut self, failure: Failure);

    /// A step was measured: keep it.
    fn keep(&mut self, step: Step) -> Result<(), Failure>;
}

/// How a session ended, if nothing failed.
#[derive(Debug)]
pub(super) enum End {
    /// With this.
    Done(MethodResult),
    /// The method does not fit the target: why, and what would.
    LeftOut(String),
}

/// A session that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) result: Result<End, Failure>,
    /// The machine's settings at the end; `None` if the target was not measured on.
    pub(super) environment_after: Option<BTreeMap<String, String>>,
    /// The target was exchanged, resized or used by others: none of the steps can be relied on.
    pub(super) target_changed: bool,
}

/// What is known of a session beside how it ended.
#[derive(Debug, Default)]
struct Aftermath {
    environment: Option<BTreeMap<String, String>>,
    target_changed: bool,
}

/// Runs a session of the plan, and says on which target it failed.
pub(super) fn run(
    plan: &Plan,
    index: usize,
    listener: &mut dyn Listener,
    means: (&Interrupt, &Slots),
) -> Ended {
    let session = &plan.sessions[index];
    let mut aftermath = Aftermath::default();
    let result = measure(plan, session, (listener, &mut aftermath), means);
    let result = result.map_err(|failure| failure.on(&session.planned.target));
    let Aftermath { environment: environment_after, target_changed } = aftermath;
    Ended { result, environment_after, target_changed }
}

fn measure(
    plan: &Plan,
    session: &ResolvedSession,
    (listener, aftermath): (&mut dyn Listener, &mut Aftermath),
    (interrupt, slots): (&Interrupt, &Slots),
) -> Result<End, Failure> {
    if interrupt.requested() {
        return Err(MethodError::Run(trimbench_engine::RunError::Interrupted).into());
    }
    let (method, seed) = (&*session.method, plan.seed);
    let (consent, purge) = (&plan.consent, plan.purge);
    let (space, memory) = (method.space(), method.memory());
    let drive_server = plan.drive_server.as_deref();
    let opening = Opening { space, seed, consent, purge, memory, drive_server, interrupt };
    let mut target = session.target.open(&opening).map_err(|error| not_open(error, method))?;
    for text in std::mem::take(&mut target.notes) {
        listener.note(text);
    }
    let mut record = session_record(session, &target);
    if method.fits(target.capabilities()).is_ok() {
        wait_for_quiet(session, plan.quiet, &mut record, (&mut *listener, interrupt))?;
    }
    let done = listener.opened(record)?;
    if !plan.named
        && let Err(reason) = method.fits(target.capabilities())
    {
        target.close().1?;
        return Ok(End::LeftOut(reason.to_string()));
    }
    let found = {
        let rng = &Rng::new(seed).split(session.info.id);
        let watch = target.watch();
        let pauses = watch_pauses(target.capabilities())?;
        let heat = target.heat().map(HeatWatch::new);
        let answers = target.answer_times().filter(|_| method.measures_time());
        // What looked at the new device before (udev) is no part of the first step.
        let _before = answers.as_ref().map(AnswerTimes::take);
        let mut watched = Watched { listener, watch, pauses, heat, answers, target_changed: false };
        let monitor = &mut watched;
        let context = SessionContext { rng, interrupt, monitor, traces: &TraceFiles, slots, done };
        let found = trimbench_engine::run(method, target.opened(), context);
        aftermath.target_changed = watched.target_changed;
        found
    };
    let same = if found.is_ok() { target.still_same() } else { Ok(()) };
    aftermath.target_changed |= same.as_ref().is_err_and(|error| !error.is_gone());
    let is_virtual = target.capabilities().clock == Clock::Virtual;
    // While its files are there.
    let no_inodes = target.has_no_inodes();
    // Closing cleans up, so it comes before any error is looked at.
    let (after, closed) = target.close();
    aftermath.environment = Some(after);
    same.map_err(|error| {
        Failure::from(error).context(
            "the target changed during the measurement: do not use the \
            steps",
        )
    })?;
    match (found, closed) {
        (Err(MethodError::Unfit { reason }), _) if is_virtual && !plan.named => {
            Ok(End::LeftOut(reason.to_string()))
        }
        (Ok(found), Ok(())) => Ok(End::Done(found)),
        (Ok(_), Err(error)) => Err(error.into()),
        (Err(error), closed) => {
            if let Err(failure) = closed {
                listener.also_failed(failure.into());
            }
            let failure = Failure::from(error);
            let is_for_inodes = no_inodes && failure.is_for_room();
            Err(if is_for_inodes { failure.with_hint(NO_INODES) } else { failure })
        }
    }
}

/// A target that cannot be opened, with settings of the method where these would help.
fn not_open(error: TargetError, method: &dyn Method) -> Failure {
    let settings = error.files_needed().and_then(|files| method.growing_to(files));
    match settings {
        Some(settings) => Failure::from(error).with_hint(format!(
            "run it as root, which may limit it, or let its files grow: `{settings}`; `--set \
             memory=none` measures all the same"
        )),
        None => error.into(),
    }
}

/// Notices pauses of this process, where they would be in what is measured.
fn watch_pauses(capabilities: &Capabilities) -> Result<Option<PauseWatch>, Failure> {
    let watch = (capabilities.clock == Clock::Wall).then(PauseWatch::start).transpose();
    watch.map_err(|error| Failure::target(error).context("start a thread that notices pauses"))
}

/// Hands on what a method says, and looks with each step whether the target is still the same.
struct Watched<'a> {
    listener: &'a mut dyn Listener,
    watch: Option<Watch>,
    pauses: Option<PauseWatch>,
    heat: Option<HeatWatch>,
    /// Of an attached drive, if times are measured on it.
    answers: Option<AnswerTimes>,
    /// The target was found to be another, or not ours alone.
    target_changed: bool,
}

impl Monitor for Watched<'_> {
    fn stage(&mut self, stage: &Stage<'_>) {
        self.listener.stage(stage);
    }

    fn keep(&mut self, step: &Step) -> Result<(), KeepFailed> {
        // Whatever it was that the step measured: it is kept, and marked.
        let changed = self.watch.as_ref().and_then(|watch| watch().err());
        let mut step = step.clone();
        if let Some(error) = &changed {
            let is_gone = error.is_gone();
            step.caveat(if is_gone { Caveat::TargetGone } else { Caveat::TargetChanged });
            self.target_changed |= !is_gone;
        }
        self.listener.keep(step).map_err(|failure| KeepFailed(failure.error.into()))?;
        changed.map_or(Ok(()), |error| Err(KeepFailed(Box::new(error))))
    }

    fn mark(&mut self, step: &mut Step) {
        if let Some(heat) = &mut self.heat {
            heat.mark(step);
        }
        if let Some(answers) = &self.answers {
            late_answers::mark(step, answers.take());
        }
    }

    fn own_pauses(&mut self) -> OwnPauses {
        self.pauses.as_ref().map_or_else(OwnPauses::default, PauseWatch::take)
    }
}

/// A clock's name in records.
fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Virtual => "virtual",
        Clock::Wall => "wall",
    }
}

/// The part of the record of a session of which nothing is known but the plan.
pub(super) fn planned_record(session: &ResolvedSession) -> SessionRecord {
    SessionRecord::planned(session.planned.clone(), session.info.version)
}

fn session_record(session: &ResolvedSession, target: &OpenTarget) -> SessionRecord {
    let (description, capabilities) = (&target.description, target.capabilities());
    let mut environment_before = target.environment.clone();
    environment_before.extend(target.drive_logs());
    let is_physical = !description.caveats.contains(&Caveat::NotAPhysicalSsd);
    let settings = machine_settings::caveats(&environment_before);
    let settings = settings.into_iter().filter(|_| is_physical);
    let caveats = description.caveats.iter().copied().chain(settings);
    let caveats = caveats.map(|caveat| caveat.id().to_owned());
    let debug = (cfg!(debug_assertions) && capabilities.clock == Clock::Wall)
        .then(|| Caveat::DebugBuild.id().to_owned());
    let through = description.calibrated_through.as_deref();
    let outside = through
        .is_some_and(|method| method != session.info.id)
        .then(|| Caveat::OutsideCalibration.id().to_owned());
    SessionRecord {
        target: TargetRecord {
            name: description.name.clone(),
            kind: description.kind.to_owned(),
            clock: clock_name(capabilities.clock).to_owned(),
            identity: description.identity.clone(),
            capabilities: capability_texts(capabilities),
            provenance: description.provenance.map(|provenance| Provenance {
                sourced: provenance.sourced,
                fitted: provenance.fitted,
                assumed: provenance.assumed,
                set: provenance.set,
            }),
        },
        state: description.state.clone(),
        environment_before,
        caveats: caveats.chain(debug).chain(outside).collect(),
        ..planned_record(session)
    }
}

fn capability_texts(capabilities: &Capabilities) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::from([
        ("discard".to_owned(), format!("{:?}", capabilities.discard).to_lowercase()),
        ("discard-max".to_owned(), capabilities.discard_max.to_string()),
        ("discard-granularity".to_owned(), capabilities.discard_granularity.to_string()),
        ("queue-depth".to_owned(), capabilities.queue_depth.to_string()),
    ]);
    match capabilities.medium {
        Medium::Device { capacity, logical_block } => {
            texts.insert("capacity".to_owned(), capacity.to_string());
            texts.insert("logical-block".to_owned(), logical_block.to_string());
        }
        Medium::Directory { fs_block, .. } => {
            texts.insert("fs-block".to_owned(), fs_block.to_string());
        }
    }
    texts
}
