//! The procedure: runs the phases, and takes readings once in each interval.

use trimbench_core::{
    BlockRequest, CallerWait, Caveat, DriveDiscards, FileCommand, Files, Instant, Nanos,
    OperationKind, Status, Support,
};
use trimbench_results::Step;

use super::discards::rises;
use super::meter::{Meter, Tick, measured};
use super::options::DeleteStorm;
use super::scene::{Scene, StormPhase};
use super::steps::{StormLocatedStep, StormPhaseStep, StormStallStep};
use trimbench_engine::{
    Discards, HUNG_AFTER, MethodError, MethodSession, RunError, Runner, Sample, Stage, StallLayer,
    attribute_stalls,
};

/// An interval in which the writers get less than this share of what they got alone is stalled.
const STALLED_BELOW: f64 = 0.05;

/// What is looked for in the second round.
#[derive(Debug, Default)]
struct Watch {
    /// Whether the target shows its requests, once it was asked.
    sees: Option<bool>,
    /// What was lost of them.
    lost: u64,
    waits: Vec<CallerWait>,
    requests: Vec<BlockRequest>,
}

/// A directory under the method.
struct Storm<'a, 't> {
    method: &'a DeleteStorm,
    target: &'a mut Files<'t>,
    runner: Runner<FileCommand>,
    scene: Scene<'a>,
    meter: Meter,
    watch: Watch,
    trim: Trim,
    /// What the drives' counters said at the end of the last step.
    discards: Vec<DriveDiscards>,
}

pub(super) fn run(
    method: &DeleteStorm,
    target: &mut Files<'_>,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let mut storm = Storm {
        method,
        runner: Runner::new(session.interrupt.clone()),
        scene: Scene::new(method, target.capabilities().drain.force, target.now()),
        meter: Meter::new(target.statistics(), target.now()),
        watch: Watch::default(),
        trim: Trim::default(),
        discards: target.drive_discards(),
        target,
    };
    let total = storm.scene.phases();
    while session.steps().len() < total {
        let (done, now, text) = (session.steps().len(), storm.target.now(), storm.phase().id());
        session.show(&Stage { done, total, text, now, left: Nanos::ZERO });
        storm.play()?;
        storm.trim.look(storm.target, &mut storm.scene, method.interval);
        storm.look();
        let ended: Vec<_> = storm.scene.ended().skip(session.steps().len()).collect();
        for (phase, from, to) in ended {
            let step = storm.ended(phase, from, to, session);
            session.keep(step)?;
        }
    }
    session.hash(storm.runner.trace_hash());
    Ok(())
}

impl Storm<'_, '_> {
    /// The phase under way; the last when all are over.
    fn phase(&self) -> StormPhase {
        self.scene.phase().unwrap_or(StormPhase::CleanUp)
    }

    /// The step of a phase that has ended.
    fn ended(
        &mut self,
        phase: StormPhase,
        from: Instant,
        to: Instant,
        session: &MethodSession<'_>,
    ) -> Step {
        let mut step = Step::new(phase.id(), "phase");
        let ticks = self.meter.within(from, to);
        let discards = self.target.drive_discards();
        let mut values = StormPhaseStep {
            meter: measured(ticks, from),
            discards: rises(&self.discards, &discards),
            ..StormPhaseStep::default()
        };
        self.discards = discards;
        match self.trim.end_of(phase, to) {
            end if end >= from => values.duration_s = Some((end - from).seconds()),
            // The last discard was seen before the phase began: it all fell into one interval.
            _ => step.caveat(Caveat::PhaseTooShort),
        }
        if phase == StormPhase::SecondWrite {
            let alone = session.step(StormPhase::WriteAgain.id()).expect("it was written before");
            let alone = rate(alone).filter(|_| !ticks.is_empty());
            values.stall = alone.map(|rate_alone| stall(ticks, rate_alone));
            step.caveat(values.stall.is_none().then_some(Caveat::PhaseTooShort));
            let watch = std::mem::take(&mut self.watch);
            values.located = locate(&mut step, &watch, self.method.threshold);
        }
        if self.trim.gave_up && phase.waits_for_discards() {
            step.caveat(Caveat::DiscardsIncomplete);
        }
        if self.target.capabilities().discard == Support::None {
            step.caveat(Caveat::NoDiscard);
        }
        step.store(&values);
        step
    }

    /// Plays the scene for one interval.
    fn play(&mut self) -> Result<(), MethodError> {
        let step = self.phase().id();
        let Self { method, target, runner, scene, meter, watch, .. } = self;
        let until = target.now() + method.interval;
        let probe = scene.probe_stream();
        let mut failure = None;
        let mut observer = |sample: &Sample<FileCommand>| {
            if let Status::Failed(errno) = sample.status {
                failure.get_or_insert((sample.command, errno));
            } else if sample.stream == probe {
                meter.probed(sample.latency());
            }
            match sample.command {
                FileCommand::Write { length, .. } => {
                    meter.wrote(length);
                    if watch.sees == Some(true) && sample.latency() > method.threshold {
                        let (from, to) = (sample.issued, sample.completed);
                        watch.waits.push(CallerWait { kind: OperationKind::Write, from, to });
                    }
                }
                FileCommand::Read { length, .. } => meter.read(length),
                _ => {}
            }
        };
        runner.run_until(*target, scene, &mut observer, until)?;
        if let Some((command, errno)) = failure {
            return Err(MethodError::of_file(step, command, errno));
        }
        let now = target.now();
        meter.tick(target.statistics(), now);
        let idle = meter.ticks.iter().rev().take_while(|tick| is_idle(tick)).last();
        let quiet = idle.is_some_and(|first| now.since(first.from) >= HUNG_AFTER);
        let outstanding = runner.outstanding();
        if quiet && outstanding > 0 {
            return Err(RunError::Hung { outstanding, limit: HUNG_AFTER }.into());
        }
        Ok(())
    }

    /// Notes requests from the deletion before the second round to its end.
    fn look(&mut self) {
        let Self { target, scene, watch, .. } = self;
        let wanted = matches!(
            scene.phase(),
            Some(StormPhase::WriteAgain | StormPhase::DeleteAgain | StormPhase::SecondWrite)
        );
        if wanted && watch.sees.is_none() {
            watch.sees = Some(target.watch_requests(true).is_ok());
        }
        if watch.sees != Some(true) {
            return;
        }
        // Those under way come again when they have ended.
        watch.requests.retain(|request| request.completed != Instant::NEVER);
        target.take_requests(&mut watch.requests);
        watch.lost = target.requests_lost();
        if scene.phase() == Some(StormPhase::WriteAgain) {
            watch.requests.clear();
            watch.waits.clear();
        } else if !wanted {
            // It was watched before, so it can be told to stop.
            let _ = target.watch_requests(false);
        }
    }
}

/// Whether nothing ended in an interval.
fn is_idle(tick: &Tick) -> bool {
    tick.callers_read.0 == 0
        && tick.callers_wrote.0 == 0
        && tick.discard.completed == 0
        && tick.probe_max.is_none()
}

/// When the discards of a phase were over.
#[derive(Debug, Default)]
struct Trim {
    discards: Option<Discards>,
    /// When the last was seen.
    ends: [Option<Instant>; 2],
    gave_up: bool,
}

impl Trim {
    /// Looks whether discards go on, and ends the phase that waits for them when they do not.
    fn look(&mut self, target: &Files<'_>, scene: &mut Scene<'_>, interval: Nanos) {
        let Some(phase) = scene.phase().filter(|phase| phase.waits_for_discards()) else {
            self.discards = None;
            return;
        };
        let (now, drain) = (target.now(), target.capabilities().drain);
        let discards = self.discards.get_or_insert_with(|| Discards::of(target));
        discards.note(target.statistics(), now);
        let Some(forced) = scene.forced() else { return };
        let quiet_since = discards.last_change().max(forced + drain.latest_start);
        self.gave_up = now.since(forced) >= drain.timeout;
        let over = now >= quiet_since && now.since(quiet_since) >= drain.quiet.max(interval);
        if over || self.gave_up {
            self.ends[usize::from(phase == StormPhase::SecondTrim)] = Some(discards.last_change());
            scene.next_phase(now);
        }
    }

    /// When a phase ended: one that waits for discards, with the last of them.
    fn end_of(&self, phase: StormPhase, to: Instant) -> Instant {
        let seen = match phase {
            StormPhase::Trim => self.ends[0],
            StormPhase::SecondTrim => self.ends[1],
            _ => None,
        };
        seen.unwrap_or(to)
    }
}

/// Bytes a second that the writers wrote in a step; `None` if it ended within one interval.
fn rate(step: &Step) -> Option<f64> {
    let StormPhaseStep { duration_s, meter, .. } = step.read().ok()?;
    let duration = duration_s.filter(|duration| *duration > 0.0)?;
    Some(meter?.callers_written_bytes.0 as f64 / duration)
}

/// In which intervals the writers got next to nothing, and what the drives did meanwhile.
fn stall(ticks: &[Tick], rate_alone: f64) -> StormStallStep {
    let is_stalled = |tick: &Tick| {
        let share = (tick.at - tick.from).seconds() * rate_alone * STALLED_BELOW;
        (tick.callers_wrote.0 as f64) < share
    };
    let length = |tick: &Tick| (tick.at - tick.from).seconds();
    let stalled = ticks.iter().filter(|tick| is_stalled(tick));
    let runs = ticks.chunk_by(|one, next| is_stalled(one) == is_stalled(next));
    let longest = runs
        .filter(|run| is_stalled(&run[0]))
        .map(|run| run.iter().map(length).sum())
        .fold(0.0, f64::max);
    StormStallStep {
        stall_s: stalled.clone().map(length).sum(),
        stall_s_longest: longest,
        stalled_write_count: stalled.clone().map(|tick| tick.write.completed).sum(),
        stalled_discard_count: stalled.clone().map(|tick| tick.discard.completed).sum(),
        stalled_without_write_s: stalled.filter(|tick| tick.write.completed == 0).map(length).sum(),
    }
}

/// In which layer the stalled time lies; `None` where the requests are not visible. The step says
/// what limits it.
fn locate(step: &mut Step, watch: &Watch, threshold: Nanos) -> Option<StormLocatedStep> {
    if watch.sees != Some(true) {
        step.caveat(Caveat::RequestsUnseen);
        return None;
    }
    if watch.lost > 0 {
        step.caveat(Caveat::RequestsLost);
    }
    let located = attribute_stalls(&watch.waits, &watch.requests, threshold);
    let time = |place| located.time(place).seconds();
    Some(StormLocatedStep {
        located_s: located.stalled().seconds(),
        located_device_s: time(StallLayer::Device),
        located_tags_s: time(StallLayer::Tags),
        located_block_layer_s: time(StallLayer::BlockLayer),
        located_above_s: time(StallLayer::Above),
        located_above_discarding_s: located.above_while_discarding().seconds(),
    })
}
