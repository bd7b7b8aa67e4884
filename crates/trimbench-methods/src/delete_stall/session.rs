//! The procedure: prepare, then for each trial in random order make a file, delete it under load,
//! and wait until its discards are over.

use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Caveat, DeviceStatistics, Instant, Nanos, Ppm, Target, Workload};
use trimbench_results::Step;

use super::options::{DeleteStall, Mode};
use super::subject::{Groups, StallSubject};
use super::window::Window;
use trimbench_engine::{
    ASSUMED_RATE, Area, ClosedLoop, Discards, FILL_DEPTH, FILL_PIECE, HUNG_AFTER, MethodError,
    MethodSession, NOTICED, Observer, OpenLoop, OtherLoad, RandomAccess, RunError, Runner, Script,
    SequentialWrite, SerialProbe, Several, Single, is_virtual,
};

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
    /// The size that the trial stands for; differs from `size` for a mock.
    pub label: Bytes,
}

/// All trials of a session, in their random order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteStallPlan {
    /// The trials.
    pub trials: Vec<Trial>,
}

impl DeleteStallPlan {
    /// The trials of `method`, put into random order.
    pub fn new(method: &DeleteStall, rng: &Rng) -> Self {
        let mut trials = Vec::new();
        let (kind, share) =
            if method.placebo_only { ("mock", Ppm(0)) } else { ("delete", Ppm::ONE) };
        for label in &method.sizes {
            for repetition in 1..=method.repetitions {
                let id = format!("{kind}-{label}-{repetition}");
                let size = Bytes(share.of(label.0));
                trials.push(Trial { id, kind, size, label: *label });
            }
        }
        for repetition in 1..=method.placebos {
            let id = format!("placebo-{repetition}");
            trials.push(Trial { id, kind: "placebo", size: Bytes(0), label: Bytes(0) });
        }
        rng.split("order").shuffle(&mut trials);
        Self { trials }
    }
}

/// What was seen in the window of a trial.
struct Measured {
    window: Window,
    /// The counters before it, and when it closed.
    before: DeviceStatistics,
    closed: DeviceStatistics,
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
}

/// Runs the method on a target and what it deletes there.
pub fn run<S: StallSubject>(
    method: &DeleteStall,
    target: &mut dyn Target<Command = S::Command>,
    subject: S,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let plan = DeleteStallPlan::new(method, session.rng);
    session.plan(plan.trials.iter().map(|trial| trial.id.clone()), method.estimate(ASSUMED_RATE));
    let drain = target.capabilities().drain;
    let mut deletions = Deletions {
        method,
        subject,
        discards: Discards::of(target),
        target,
        runner: Runner::new(session.interrupt.clone()),
        rng: session.rng,
        window: method.window.max(drain.latest_start + drain.quiet),
    };
    session.announce("preparing", deletions.target.now());
    deletions.set_up()?;
    for (index, trial) in plan.trials.iter().enumerate() {
        if !session.is_done(&trial.id) {
            session.announce(&trial.id, deletions.target.now());
            let ordinal = u32::try_from(index).expect("plans are short");
            session.keep(deletions.trial(trial, ordinal)?)?;
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
    fn trial(&mut self, trial: &Trial, ordinal: u32) -> Result<Step, MethodError> {
        let mut step = Step::new(trial.id.clone(), trial.kind);
        step.set("size_bytes", trial.size.0 as f64);
        step.set("label_bytes", trial.label.0 as f64);
        self.script(self.subject.make(ordinal))?;
        if trial.size.0 > 0 {
            let area = self.subject.victim_area(ordinal, trial.size);
            self.fill(area)?;
        }
        self.script(self.subject.settle(ordinal))?;
        let extents = self.subject.file(ordinal).and_then(|file| self.target.extent_count(file));
        if let (Some(extents), true) = (extents, trial.size.0 > 0) {
            step.set("extents", extents as f64);
            if extents > trial.size.pieces(Bytes::mib(16)).max(8) {
                step.caveat(Caveat::Fragmented);
            }
        }
        // What writing the file set off in the drive is to be over before anything counts.
        self.idle(self.method.rest)?;
        self.quiet()?;
        let before = self.target.statistics();
        let measured = self.measure(trial, ordinal, before)?;
        self.judge(&measured, trial, &mut step);
        measured.window.store(&mut step);
        if self.method.readers > 0 {
            measured.window.store_rate(&mut step);
        }
        if let Some((count, errno)) = measured.window.failures() {
            let step = trial.id.clone();
            return Err(MethodError::Broken { step, count, errno });
        }
        self.wait_for_discards(before, trial.size)?;
        let after = self.target.statistics();
        step.measure("discarded_bytes_total", discarded(before, after).0 as f64);
        step.measure(
            "discard_commands",
            (after.discard.completed - before.discard.completed) as f64,
        );
        self.script(self.subject.tidy(ordinal))?;
        Ok(step)
    }

    /// Runs load, probe and deletion until the window closes and everything has ended.
    fn measure(
        &mut self,
        trial: &Trial,
        ordinal: u32,
        before: DeviceStatistics,
    ) -> Result<Measured, MethodError> {
        let method = self.method;
        let begin = self.target.now();
        let deleted_at = begin + method.lead;
        let end = deleted_at + self.window;
        let mut window = Window::new(begin, deleted_at, end, method.overdue_after);
        let rng = self.rng.split(&trial.id);
        let access = |label: &str, share: Ppm| {
            RandomAccess::new(self.subject.load_area(), method.access, share, rng.split(label))
        };
        // Half a step beside the load's grid: the two do not meet as long as nothing stalls.
        let probed = begin + Nanos(method.probe_interval.0 / 2);
        let mut deletion = self.subject.deletion(deleted_at, ordinal, trial.size);
        let mut probe =
            SerialProbe::new(access("probe", Ppm::ONE), method.probe_interval, probed..end);
        let mut load: Box<dyn Workload<Command = S::Command>> = if method.readers > 0 {
            Box::new(ClosedLoop::lasting(access("load", Ppm::ONE), method.readers, 0, end))
        } else {
            let load = access("load", method.read_share);
            Box::new(OpenLoop::new(load, method.arrivals, method.gap, begin..end))
        };
        let mut streams = Several(vec![&mut *deletion, &mut probe, &mut *load]);
        let mut sample_at = deleted_at;
        let closed = loop {
            let until = sample_at.min(end);
            self.runner.run_until(self.target, &mut streams, &mut window, until)?;
            let statistics = self.target.statistics();
            self.discards.note(statistics, self.target.now());
            window.discarded(self.target.now(), discarded(before, statistics));
            if until >= end {
                break statistics;
            }
            sample_at += SAMPLE_EVERY;
        };
        // Load and probe issue nothing more; what is outstanding still counts.
        self.finish(&mut streams, &mut window)?;
        Ok(Measured { window, before, closed })
    }

    /// Runs streams that issue nothing more until what is outstanding has ended.
    fn finish(
        &mut self,
        streams: &mut Several<'_, S::Command>,
        observer: &mut impl Observer<S::Command>,
    ) -> Result<(), MethodError> {
        let limit = self.target.now() + HUNG_AFTER;
        loop {
            // In steps, so that a request to stop is heard while the device says nothing.
            let until = self.target.now() + SAMPLE_EVERY;
            if self.runner.run_until(self.target, streams, observer, until)? {
                return Ok(());
            }
            if until >= limit {
                let outstanding = self.runner.outstanding();
                return Err(RunError::Hung { outstanding, limit: HUNG_AFTER }.into());
            }
        }
    }

    /// Notes what invalidates or limits the trial.
    fn judge(&self, measured: &Measured, trial: &Trial, step: &mut Step) {
        let Measured { window, before, closed } = measured;
        let in_window = discarded(*before, *closed);
        step.measure("discarded_bytes_window", in_window.0 as f64);
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
            let others = OtherLoad::before(*before).caveat(self.target, *closed, ours);
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
