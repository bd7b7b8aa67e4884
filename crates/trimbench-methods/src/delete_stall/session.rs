//! The procedure: prepare, then for each trial in random order write a file, wait until the drive
//! is at rest, delete the file or an empty one under load, and wait until the discards are over.

use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Caveat, DeviceStatistics, Instant, Nanos, Target};
use trimbench_results::{DeletionDiscardsStep, Step};

use super::level::Level;
use super::options::{DeleteStall, Mode};
use super::steps::StallTrialStep;
use super::subject::{Groups, StallSubject};
use super::window::Window;
use lead::Start;
use trimbench_engine::{
    ASSUMED_RATE, Area, Discards, FILL_DEPTH, FILL_PIECE, MethodError, MethodSession, NOTICED,
    OtherLoad, Runner, Script, SequentialWrite, Several, Single, is_virtual,
};

mod lead;
mod rate;
#[cfg(test)]
mod tests;

/// How often the device's counters are read within a window.
const SAMPLE_EVERY: Nanos = Nanos::from_millis(50);
/// Beyond this the schedule was not kept.
const LATENESS_MAX: Nanos = Nanos::from_millis(10);

/// One deletion that is to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Unique in the session.
    pub id: String,
    /// `delete`, `placebo`, or `mock` (a placebo in the place of a deletion).
    pub kind: &'static str,
    /// Bytes that are deleted; zero for placebos and mocks.
    pub size: Bytes,
    /// Bytes that are written before, also by placebos and mocks.
    pub label: Bytes,
}

/// All trials of a session, in their random order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteStallPlan {
    /// The trials.
    pub trials: Vec<Trial>,
}

impl DeleteStallPlan {
    /// The trials of `method`: blocks of one deletion and one placebo of each size, each block in
    /// random order. A block keeps what is compared together in time.
    pub fn new(method: &DeleteStall, rng: &Rng) -> Self {
        let kind = if method.placebo_only { "mock" } else { "delete" };
        let mut trials = Vec::new();
        for repetition in 1..=method.repetitions {
            let mut block = Vec::new();
            for &label in &method.sizes {
                for kind in [kind, "placebo"] {
                    let id = format!("{kind}-{label}-{repetition}");
                    let size = if kind == "delete" { label } else { Bytes(0) };
                    block.push(Trial { id, kind, size, label });
                }
            }
            rng.split("order").split(&repetition.to_string()).shuffle(&mut block);
            trials.extend(block);
        }
        Self { trials }
    }
}

/// The files of a trial, by ordinal: the one that holds what is written, and an empty one. A
/// deletion deletes the first, a placebo the second.
#[derive(Clone, Copy)]
struct Files {
    written: u32,
    empty: u32,
}

impl Files {
    fn of(trial: u32) -> Self {
        Self { written: 2 * trial, empty: 2 * trial + 1 }
    }

    /// The one that `trial` deletes in its window.
    fn deleted_by(self, trial: &Trial) -> u32 {
        if trial.size.0 > 0 { self.written } else { self.empty }
    }
}

/// What became of a trial, and the pace of the probe before and after the deletion.
struct Ended {
    step: Step,
    lead: Option<Level>,
    window: Option<Level>,
}

/// A target under the method.
struct Deletions<'a, S: StallSubject> {
    method: &'a DeleteStall,
    subject: S,
    target: &'a mut (dyn Target<Command = S::Command> + 'a),
    runner: Runner<S::Command>,
    rng: &'a Rng,
    window: Nanos,
    discards: Discards,
    /// The probe's pace in a lead at rest, as it was seen last.
    at_rest: Option<Level>,
    /// How long the drive rests after a file was written.
    rest: Nanos,
}

/// Runs the method on a target and what it deletes there.
pub fn run<S: StallSubject>(
    method: &DeleteStall,
    target: &mut dyn Target<Command = S::Command>,
    subject: S,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let plan = DeleteStallPlan::new(method, session.rng);
    let drain = target.capabilities().drain;
    let estimate = method.estimate(ASSUMED_RATE) + method.waits(&drain).total();
    session.plan(plan.trials.iter().map(|trial| trial.id.clone()), estimate);
    let mut deletions = Deletions {
        method,
        subject,
        discards: Discards::of(target),
        target,
        runner: Runner::new(session.interrupt.clone()),
        rng: session.rng,
        window: method.window_by(&drain),
        at_rest: None,
        rest: method.rest,
    };
    session.announce("preparing", deletions.target.now());
    deletions.set_up()?;
    if plan.trials.iter().any(|trial| !session.is_done(&trial.id)) {
        deletions.find_rest(plan.trials.len())?;
    }
    for (index, trial) in plan.trials.iter().enumerate() {
        if !session.is_done(&trial.id) {
            session.announce(&trial.id, deletions.target.now());
            let ordinal = u32::try_from(index).expect("plans are short");
            session.keep(deletions.trial(trial, ordinal)?.step)?;
        }
    }
    deletions.rates(session)?;
    deletions.tear_down()?;
    session.hash(deletions.runner.trace_hash());
    Ok(())
}

impl<S: StallSubject> Deletions<'_, S> {
    fn set_up(&mut self) -> Result<(), MethodError> {
        self.script(self.subject.set_up())?;
        let area = self.subject.load_area();
        self.fill(area)
    }

    fn tear_down(&mut self) -> Result<(), MethodError> {
        self.script(self.subject.tear_down())
    }

    /// One deletion, from making the file to the end of its discards.
    fn trial(&mut self, trial: &Trial, ordinal: u32) -> Result<Ended, MethodError> {
        let files = Files::of(ordinal);
        let mut step = Step::new(trial.id.clone(), trial.kind);
        let extents = self.write_file(trial, files, &mut step)?;
        // What writing the file set off in the drive is to be over before anything counts.
        self.idle(self.rest)?;
        self.quiet()?;
        let mut start = self.flat_lead(trial)?;
        step.caveat((!start.is_at_rest).then_some(Caveat::BaselineNotFlat));
        let deleted = files.deleted_by(trial);
        let closed = self.measure(&mut start, (deleted, trial.size))?;
        let Start { window, before, waited, .. } = start;
        self.judge(&window, (before, closed), trial, &mut step);
        if let Some((count, errno)) = window.failures() {
            let step = trial.id.clone();
            return Err(MethodError::Broken { step, count, errno });
        }
        self.wait_for_discards(before, trial.size)?;
        let after = self.target.statistics();
        let total = discarded(before, after);
        let none = Caveat::NoDiscard.id();
        if total.0 > 0 && step.caveats.iter().any(|id| id == none) {
            // They came after the window: TRIM reaches the device.
            step.caveats.retain(|id| id != none);
            step.caveat(Caveat::DiscardsIncomplete);
        }
        step.store(&StallTrialStep {
            deletion: window.deletion(trial.size),
            label_bytes: trial.label,
            extents,
            rest_s: self.rest.seconds(),
            waited_s: waited.seconds(),
            discards: DeletionDiscardsStep {
                discarded_bytes_window: Some(discarded(before, closed)),
                discarded_bytes_total: Some(total),
            },
            discard_commands: after.discard.completed - before.discard.completed,
            window: window.measured(),
            curves: window.curves(self.method.readers > 0),
            found: None,
        });
        self.clear(trial, files)?;
        Ok(Ended { step, lead: window.level(), window: window.level_after() })
    }

    /// Makes the two files of a trial, and writes the one; its extents, where the target tells.
    fn write_file(
        &mut self,
        trial: &Trial,
        files: Files,
        step: &mut Step,
    ) -> Result<Option<u64>, MethodError> {
        let Files { written, empty } = files;
        for ordinal in [written, empty] {
            self.script(self.subject.make(ordinal))?;
        }
        if trial.label.0 > 0 {
            let area = self.subject.victim_area(written, trial.label);
            self.fill(area)?;
        }
        self.script(self.subject.settle(written))?;
        let extents = self.subject.file(written).and_then(|file| self.target.extent_count(file));
        let most = trial.label.pieces(Bytes::mib(16)).max(8);
        step.caveat((extents > Some(most)).then_some(Caveat::Fragmented));
        Ok(extents)
    }

    /// Removes what a trial left: after a placebo the file that was written, in the manner of a
    /// deletion, so that no later window holds its discards.
    fn clear(&mut self, trial: &Trial, files: Files) -> Result<(), MethodError> {
        let Files { written, empty } = files;
        let deleted = files.deleted_by(trial);
        if deleted == written {
            self.script(self.subject.tidy(written))?;
            return self.script(self.subject.remove(empty));
        }
        self.script(self.subject.tidy(empty))?;
        let before = self.target.statistics();
        let mut deletion = self.subject.deletion(Instant::START, written, trial.label);
        self.runner.prepare(self.target, &mut Several(vec![&mut *deletion]))?;
        self.wait_for_discards(before, trial.label)?;
        self.script(self.subject.tidy(written))
    }

    /// Goes on with a lead: deletes `size` bytes in a file, until the window closes; the counters
    /// then.
    fn measure(
        &mut self,
        start: &mut Start<S::Area>,
        (file, size): (u32, Bytes),
    ) -> Result<DeviceStatistics, MethodError> {
        let Start { window, beside, before, deleted_at, .. } = start;
        let end = *deleted_at + self.window;
        let mut deletion = self.subject.deletion(*deleted_at, file, size);
        let mut streams = beside.streams(&mut *deletion);
        let mut sample_at = *deleted_at;
        loop {
            let until = sample_at.min(end);
            self.runner.run_until(self.target, &mut streams, window, until)?;
            let statistics = self.target.statistics();
            self.discards.note(statistics, self.target.now());
            window.discarded(self.target.now(), discarded(*before, statistics));
            if until >= end {
                // Load and probe issue nothing more; what is outstanding still counts.
                self.runner.finish(self.target, &mut streams, window)?;
                return Ok(statistics);
            }
            sample_at += SAMPLE_EVERY;
        }
    }

    /// Notes what invalidates or limits the trial.
    fn judge(
        &self,
        window: &Window,
        (before, closed): (DeviceStatistics, DeviceStatistics),
        trial: &Trial,
        step: &mut Step,
    ) {
        let in_window = discarded(before, closed);
        if trial.size.0 > 0 && in_window < trial.size {
            step.caveat(if in_window.0 == 0 {
                Caveat::NoDiscard
            } else {
                Caveat::DiscardsIncomplete
            });
        }
        if window.outlasted() {
            step.caveat(Caveat::WindowTooShort);
        }
        if !is_virtual(self.target) {
            if window.lateness() > LATENESS_MAX {
                step.caveat(Caveat::LateSchedule);
            }
            // A placebo frees next to nothing, so discards beside it are another's; but fstrim
            // discards whatever was free before as well.
            let nothing = trial.size.0 == 0 && self.method.mode != Mode::Trim;
            let foreign = nothing && in_window > NOTICED;
            let ours = Bytes(window.accesses() * self.method.access.0);
            let others = OtherLoad::before(before).caveat(self.target, closed, ours);
            step.caveat(others.or(foreign.then_some(Caveat::OtherLoad)));
        }
    }

    /// Waits until the discards of the deletion are over, or the drain rule gives up.
    fn wait_for_discards(
        &mut self,
        before: DeviceStatistics,
        freed: Bytes,
    ) -> Result<(), MethodError> {
        let give_up = self.target.now() + self.target.capabilities().drain.timeout;
        while discarded(before, self.target.statistics()) < freed && self.target.now() < give_up {
            self.idle(SAMPLE_EVERY)?;
        }
        self.quiet()
    }

    /// Waits until no discard has come for as long as the drain rule says.
    fn quiet(&mut self) -> Result<(), MethodError> {
        Ok(self.discards.quiet(self.target, &mut self.runner, Instant::START)?)
    }

    fn fill(&mut self, area: S::Area) -> Result<(), MethodError> {
        debug_assert!(area.length().0 > 0);
        let mut fill = Single(SequentialWrite::new(area, FILL_PIECE, FILL_DEPTH));
        Ok(self.runner.prepare(self.target, &mut fill)?)
    }

    fn script(&mut self, groups: Groups<S::Command>) -> Result<(), MethodError> {
        let mut script = Single(Script::new(Instant::START, groups));
        Ok(self.runner.prepare(self.target, &mut script)?)
    }

    fn idle(&mut self, span: Nanos) -> Result<(), MethodError> {
        let until = self.target.now() + span;
        Ok(self.runner.idle_until(self.target, until)?)
    }
}

fn discarded(before: DeviceStatistics, after: DeviceStatistics) -> Bytes {
    after.discard.bytes.saturating_sub(before.discard.bytes)
}
