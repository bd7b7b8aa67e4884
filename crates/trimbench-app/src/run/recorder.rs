//! Saves the results of sessions in the record, and reports them.

use trimbench_core::{Caveat, Nanos};
use trimbench_engine::{MethodResult, Stage};
use trimbench_linux::monotonic_time;
use trimbench_results::{RunRecord, Session as SessionRecord, Step, StepOrigin};

use super::identity::check_same;
use super::kept;
use super::session::{End, Ended, Listener, planned_record};
use crate::failure::Failure;
use crate::monitor::{RunMonitor, RunWarning};
use crate::plan::Plan;
use crate::store::{SessionTime, StepFile, Store};

/// Up to so many sessions the record is saved at the end of each. Beyond, all that is written would
/// grow as the square of their number.
const SAVED_EACH: usize = 500;
/// Then it is saved so often.
const SAVE_EVERY: Nanos = Nanos::from_secs(10);

/// The record of a run that goes on.
pub(super) struct Recorder<'a> {
    plan: &'a Plan,
    record: &'a mut RunRecord,
    /// Where it is kept, if anywhere.
    store: Option<&'a Store>,
    monitor: &'a mut dyn RunMonitor,
    /// By session: whether an earlier run has measured a part of it.
    is_resumed: Vec<bool>,
    /// When the last session began.
    begun: Nanos,
    /// How long the sessions on real targets took that were not resumed.
    times: Vec<SessionTime>,
    /// When it was last saved after an emulated session.
    saved: Nanos,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        record: &'a mut RunRecord,
        store: Option<&'a Store>,
        monitor: &'a mut dyn RunMonitor,
    ) -> Self {
        let finished = record.sessions.iter().enumerate().filter(|(_, session)| session.finished);
        finished.for_each(|(index, _)| monitor.session_skipped(index));
        let is_resumed = record.sessions.iter().map(|it| !it.steps.is_empty()).collect();
        let (begun, saved) = (Nanos::ZERO, Nanos::ZERO);
        Self { plan, record, store, monitor, is_resumed, begun, times: Vec::new(), saved }
    }

    /// How long the sessions on real targets took that this run has begun and ended.
    pub(super) fn times(self) -> Vec<SessionTime> {
        self.times
    }

    /// Whether a session is finished.
    pub(super) fn is_finished(&self, index: usize) -> bool {
        self.record.sessions.get(index).is_some_and(|session| session.finished)
    }

    /// Begins to show a session: a real target is announced once, for it takes minutes.
    pub(super) fn begin(&mut self, index: usize) {
        let sessions = &self.plan.sessions;
        let target = |index: usize| &sessions[index].planned.target;
        let goes_on = index > 0 && target(index) == target(index - 1);
        if !goes_on && sessions[index].target.emulated_drive().is_none() {
            self.monitor.target_begins(target(index));
        }
    }

    /// Tells that a session begins, whichever is shown.
    pub(super) fn opened(&mut self, index: usize) {
        self.begun = monotonic_time();
        self.monitor.session_begins(index);
    }

    /// Tells where a session is, whichever is shown.
    pub(super) fn stage(&mut self, index: usize, stage: &Stage<'_>) {
        self.monitor.stage(index, stage);
    }

    /// Passes on a note about a target.
    pub(super) fn note(&mut self, text: &str) {
        self.monitor.note(text);
    }

    /// Tells what failed after a session had failed.
    pub(super) fn also_failed(&mut self, failure: Failure) {
        self.monitor.warning(&RunWarning::AlsoFailed(failure));
    }

    /// Tells of a step of the session that is shown.
    pub(super) fn show(&mut self, index: usize, step: &Step) {
        self.monitor.step(index, step);
    }

    /// Puts a session into its place in the record, in which those before it have theirs, too.
    pub(super) fn put(&mut self, index: usize, session: SessionRecord) {
        let sessions = &mut self.record.sessions;
        while sessions.len() <= index {
            sessions.push(planned_record(&self.plan.sessions[sessions.len()]));
        }
        sessions[index] = session;
    }

    /// Forgets the sessions from this one on.
    pub(super) fn truncate(&mut self, index: usize) {
        self.record.sessions.truncate(index);
    }

    /// Writes the record.
    pub(super) fn save(&mut self) -> Result<(), Failure> {
        kept(self.store, self.monitor, |store| store.save(self.record))
    }

    /// The same after an emulated session, which can be repeated: where writing takes long, once in
    /// a while.
    pub(super) fn save_in_time(&mut self) -> Result<(), Failure> {
        let now = monotonic_time();
        if self.record.sessions.len() > SAVED_EACH && now.saturating_sub(self.saved) < SAVE_EVERY {
            return Ok(());
        }
        self.saved = now;
        self.save()
    }

    /// Ends the session that is shown, which is in the record with all its steps.
    pub(super) fn end(&mut self, index: usize, ended: Ended) -> Result<(), Failure> {
        if let Some(environment) = ended.environment_after {
            self.session(index).environment_after = environment;
        }
        if ended.target_changed {
            self.session(index).caveat(Caveat::TargetChanged);
        }
        let result = ended.result.and_then(|end| {
            self.finish(index, end);
            self.save()
        });
        self.show_end(index);
        result
    }

    /// Puts down how a session ended that is in the record.
    pub(super) fn finish(&mut self, index: usize, end: End) {
        let left_out = matches!(end, End::LeftOut(_));
        self.monitor.session_ends(index, left_out);
        let is_resumed = self.is_resumed.get(index).is_some_and(|is| *is);
        let is_real = self.plan.sessions[index].target.emulated_drive().is_none();
        if is_real && !is_resumed && !left_out {
            let took_s = monotonic_time().seconds() - self.begun.seconds();
            self.times.push(SessionTime { index, took_s });
        }
        let session = self.session(index);
        session.finished = true;
        match end {
            End::LeftOut(reason) => session.left_out = Some(reason),
            End::Done(found) => put_found(session, found),
        }
    }

    /// Tells how the session that is shown ended, and shows it no more.
    pub(super) fn show_end(&mut self, index: usize) {
        if let Some(session) = self.record.sessions.get(index).filter(|session| session.finished) {
            for figure in &session.figures {
                self.monitor.figure(index, figure);
            }
        }
    }

    fn session(&mut self, index: usize) -> &mut SessionRecord {
        &mut self.record.sessions[index]
    }
}

/// Puts down what was found.
fn put_found(session: &mut SessionRecord, found: MethodResult) {
    session.steps = found.steps;
    session.figures = found.figures;
    session.carry_caveats();
    found.caveats.into_iter().for_each(|caveat| session.caveat(caveat));
    let is_virtual = session.target.clock == "virtual";
    session.trace_hash = is_virtual.then(|| format!("{:016x}", found.trace_hash));
}

/// A session on a real target, alone on the machine: each step is kept as soon as it is measured.
pub(super) struct Alone<'a, 'r> {
    recorder: &'a mut Recorder<'r>,
    index: usize,
    /// Begun with the first step if the run is kept; where that and the others come from.
    steps: Option<(StepFile, StepOrigin)>,
    /// Whether it was said that it waits.
    has_waited: bool,
}

impl<'a, 'r> Alone<'a, 'r> {
    pub(super) fn new(recorder: &'a mut Recorder<'r>, index: usize) -> Self {
        Self { recorder, index, steps: None, has_waited: false }
    }
}

impl Listener for Alone<'_, '_> {
    fn opened(&mut self, mut record: SessionRecord) -> Result<Vec<Step>, Failure> {
        let Self { recorder, index, .. } = self;
        let earlier = recorder.record.sessions.get(*index);
        if let Some(session) = earlier {
            check_same(&session.target.identity, &record.target.identity)?;
        }
        let resumes = recorder.plan.sessions[*index].info.resumes;
        let mut done = match earlier {
            // Nobody knows which of its steps were measured before the target changed.
            Some(session) if resumes && !session.has_caveat(Caveat::TargetChanged) => {
                session.steps.clone()
            }
            _ => Vec::new(),
        };
        if earlier.is_some_and(|session| session.has_caveat(Caveat::BusyTarget)) && !done.is_empty()
        {
            // Of the steps that are kept some were measured beside others.
            record.caveat(Caveat::BusyTarget);
        }
        let gone = Caveat::TargetGone.id();
        done.retain(|step| !step.caveats.iter().any(|id| id == gone));
        record.steps.clone_from(&done);
        let target = &recorder.plan.sessions[*index].target;
        let discards = record.target.capabilities.get("discard").is_some_and(|it| it != "none");
        let on_target = |store: &Store| target.shares_filesystem_with(&store.whereabouts());
        if discards && recorder.store.is_some_and(on_target) {
            record.caveats.push(Caveat::OutputOnTarget.id().to_owned());
        }
        recorder.put(*index, record);
        recorder.opened(*index);
        recorder.save()?;
        Ok(done)
    }

    fn waits(&mut self, text: &str, long: bool) {
        let is_news = long && !self.has_waited;
        self.recorder.monitor.session_waits(self.index, text, is_news);
        self.has_waited |= long;
    }

    fn stage(&mut self, stage: &Stage<'_>) {
        self.recorder.stage(self.index, stage);
    }

    fn note(&mut self, text: String) {
        self.recorder.note(&text);
    }

    fn also_failed(&mut self, failure: Failure) {
        self.recorder.also_failed(failure);
    }

    fn keep(&mut self, step: Step) -> Result<(), Failure> {
        let Self { recorder, index, steps, .. } = self;
        let sequence = recorder.session(*index).steps.len();
        recorder.session(*index).steps.push(step.clone());
        let result = kept(recorder.store, recorder.monitor, |store| {
            if steps.is_none() {
                let origin = StepOrigin::of(recorder.record, *index);
                let origin = origin.expect("a run on a real target has an id");
                *steps = Some((store.begin_steps()?, origin));
            }
            let (file, origin) = steps.as_mut().expect("it was begun");
            file.append(origin, sequence, &step)
        });
        // Only now: a step that was shown is kept, even if the program is killed at once.
        recorder.show(*index, &step);
        result
    }
}
