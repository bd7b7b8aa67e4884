//! The procedure: block by block, every arm is visited once, in random order. A visit switches the
//! mount, writes the files, waits until the drive is at rest, deletes them under load, and waits
//! until the discards are over.

use std::rc::Rc;

use trimbench_core::rng::Rng;
use trimbench_core::settings::Named as _;
use trimbench_core::{
    Bytes, Caveat, DeviceStatistics, FileCommand, FileId, Instant, Nanos, ProgramEnd,
};
use trimbench_results::{DeletionDiscardsStep, Step};

use super::analysis::blocks_needed;
use super::ground::Ground;
use super::load::{
    Accesses, DATA, FIRST_VICTIM, LOG, LOG_LENGTH, TracedAccess, VisitLoad, commits, read_accesses,
    starts,
};
use super::options::{Ab, AbArm};
use super::program::{RequestTimes, reported};
use super::steps::{AbLoadStep, AbProgramStep, AbVisitStep};
use super::watch::VisitWatch;
use trimbench_engine::drain::force;
use trimbench_engine::{
    ASSUMED_RATE, Discards, FILL_DEPTH, FILL_PIECE, FileArea, MethodError, MethodSession, Misfit,
    NOTICED, OtherLoad, Runner, Sample, Scratch, Script, SequentialWrite, Single, is_virtual,
};

/// What is there in all visits.
const FILES: [FileId; 2] = [DATA, LOG];
/// How often the device's counters are read within a window.
const SAMPLE_EVERY: Nanos = Nanos::from_millis(50);

/// One visit of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Visit {
    pub(super) block: u32,
    pub(super) arm: AbArm,
    /// Among all visits, from 1 on.
    pub(super) place: u32,
}

impl Visit {
    /// Unique in the session.
    pub(super) fn id(&self) -> String {
        format!("block-{}-{}", self.block, self.arm.id())
    }
}

/// The filesystem under the method.
struct Experiment<'a, 'g> {
    method: &'a Ab,
    ground: Ground<'g>,
    runner: Runner<FileCommand>,
    discards: Discards,
    arms: Vec<AbArm>,
    window: Nanos,
    /// Reads and writes of a trace; none where the load is drawn.
    traced: Rc<[TracedAccess]>,
    /// Whether what one arm leaves untrimmed would be trimmed in another one's visit.
    trims_between: bool,
}

pub(super) fn run(
    method: &Ab,
    mut ground: Ground<'_>,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let ways = ground.ways()?;
    let arms = method.arms_among(&ways);
    if let Some(missing) = arms.iter().find(|arm| !ways.contains(&arm.way())) {
        let reason = format!("its filesystem has no `{}`", missing.words());
        return Err(MethodError::Unfit { reason: Misfit(reason) });
    }
    if let Some(line) = &method.command {
        let set = ground.files().set_program(line);
        set.map_err(|rejected| MethodError::Unfit { reason: Misfit(rejected.to_string()) })?;
    }
    let traced = read_accesses(method, session.traces)?;
    let discards = Discards::of(ground.files());
    let delayed = [AbArm::DiscardAsync, AbArm::Fstrim, AbArm::Trimpace];
    let mut experiment = Experiment {
        method,
        ground,
        runner: Runner::new(session.interrupt.clone()),
        discards,
        trims_between: arms.iter().any(|arm| delayed.contains(arm)),
        arms,
        window: method.window,
        traced,
    };
    experiment.run(session)?;
    session.hash(experiment.runner.trace_hash());
    Ok(())
}

impl Experiment<'_, '_> {
    fn run(&mut self, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        let (first, most) = (self.method.blocks, self.method.blocks_max);
        let visits = self.visits(session, most);
        let planned = |blocks| visits.iter().filter(move |visit| visit.block <= blocks);
        let waits = |experiment: &mut Self| {
            let rule = experiment.ground.files().capabilities().drain;
            experiment.method.waits(&rule).total()
        };
        session.announce("preparing", self.ground.files().now());
        self.set_up()?;
        let estimate = self.method.estimate(first, ASSUMED_RATE) + waits(self);
        session.plan(planned(first).map(Visit::id), estimate);
        self.visit_all(planned(first), session)?;
        // How many more is decided once, by the noise of these and not by the difference.
        let blocks = blocks_needed(self.method, session.steps());
        if blocks > first {
            let estimate = self.method.estimate(blocks, ASSUMED_RATE) + waits(self);
            session.plan(planned(blocks).map(Visit::id), estimate);
            self.visit_all(planned(blocks), session)?;
        }
        self.script([FILES.map(|file| FileCommand::Unlink { file }).to_vec()])
    }

    /// The visits of so many blocks.
    fn visits(&self, session: &MethodSession<'_>, blocks: u32) -> Vec<Visit> {
        let order = session.rng.split("order");
        let mut visits = Vec::new();
        for block in 1..=blocks {
            let mut arms = self.arms.clone();
            order.split(&block.to_string()).shuffle(&mut arms);
            for arm in arms {
                let place = u32::try_from(visits.len()).expect("plans are short") + 1;
                visits.push(Visit { block, arm, place });
            }
        }
        visits
    }

    fn visit_all<'v>(
        &mut self,
        visits: impl Iterator<Item = &'v Visit>,
        session: &mut MethodSession<'_>,
    ) -> Result<(), MethodError> {
        for visit in visits {
            let id = visit.id();
            if !session.is_done(&id) {
                session.announce(&id, self.ground.files().now());
                let step = self.visit(visit, session)?;
                session.keep(step)?;
            }
        }
        Ok(())
    }

    /// Makes what is there in all visits; finds how long windows are.
    fn set_up(&mut self) -> Result<(), MethodError> {
        self.script([FILES.map(|file| FileCommand::Create { file }).to_vec()])?;
        if self.method.command.is_none() {
            self.fill(DATA, self.method.span)?;
        }
        self.fill(LOG, LOG_LENGTH)?;
        for arm in self.arms.clone() {
            self.ground.switch(arm.way())?;
            let rule = self.ground.files().capabilities().drain;
            self.window = self.window.max(self.method.window_by(&rule));
        }
        self.settle()
    }

    /// One visit, from the switch to the end of its discards.
    fn visit(&mut self, visit: &Visit, session: &MethodSession<'_>) -> Result<Step, MethodError> {
        self.ground.switch(visit.arm.way())?;
        let mut step = Step::new(visit.id(), visit.arm.id());
        let (load, program, before, closed) = if self.method.command.is_some() {
            self.rest()?;
            let before = self.ground.files().statistics();
            let (program, closed) = self.run_program(visit, before)?;
            (None, Some(program), before, closed)
        } else {
            let victims = self.write_victims(visit)?;
            self.rest()?;
            let before = self.ground.files().statistics();
            // The same in all arms of a block.
            let rng = session.rng.split("load").split(&visit.block.to_string());
            let (load, closed, commands) = self.run_load(visit, &victims, &rng)?;
            self.judge_others(&mut step, visit.arm, (before, closed), commands);
            (Some(load), None, before, closed)
        };
        self.drain()?;
        let after = self.ground.files().statistics();
        let (in_window, total) = (discarded(before, closed), discarded(before, after));
        if visit.arm != AbArm::Nodiscard {
            step.caveat(match (total, in_window) {
                (Bytes(0), _) => Some(Caveat::NoDiscard),
                (_, it) if it < self.method.deleted() => Some(Caveat::DiscardsIncomplete),
                _ => None,
            });
        }
        step.store(&AbVisitStep {
            block: visit.block.into(),
            place: visit.place.into(),
            deleted_bytes: self.method.deleted(),
            discards: DeletionDiscardsStep {
                discarded_bytes_window: Some(in_window),
                discarded_bytes_total: Some(total),
            },
            discard_commands: after.discard.completed - before.discard.completed,
            load,
            program,
        });
        self.settle()?;
        Ok(step)
    }

    /// Waits until nothing is left of what came before.
    fn rest(&mut self) -> Result<(), MethodError> {
        let rested = self.ground.files().now() + self.method.rest;
        self.runner.idle_until(self.ground.files(), rested)?;
        Ok(self.discards.quiet(self.ground.files(), &mut self.runner, Instant::START)?)
    }

    /// Deletes the files beside the load; what it waited for, the counters when the window closed,
    /// and how many commands it had.
    fn run_load(
        &mut self,
        visit: &Visit,
        victims: &[FileId],
        rng: &Rng,
    ) -> Result<(AbLoadStep, DeviceStatistics, u64), MethodError> {
        let begin = self.ground.files().now();
        let deleted_at = begin + self.method.lead;
        let end = deleted_at + self.window;
        let deletion = Script::new(deleted_at, deletion(self.method, visit.arm, victims));
        let span = (begin, end);
        let mut load = VisitLoad {
            deletion,
            accesses: Accesses::of(self.method, &self.traced, rng, span),
            commits: commits(self.method, span),
            starts: starts(self.method, rng, span),
        };
        let mut watch = VisitWatch::new(deleted_at, end);
        let mut at = begin;
        while at < end {
            at = (at + SAMPLE_EVERY).min(end);
            let files = self.ground.files();
            self.runner.run_until(files, &mut load.streams(), &mut watch, at)?;
            self.discards.note(files.statistics(), files.now());
        }
        // What ends later, as a pass of `trimpace` may, is not in the window.
        let closed = self.ground.files().statistics();
        self.runner.finish(self.ground.files(), &mut load.streams(), &mut watch)?;
        if let Some((count, errno)) = watch.failures() {
            return Err(MethodError::Broken { step: visit.id(), count, errno });
        }
        if let Some(errno) = watch.pacer_errno {
            let end = self.ground.files().take_program_end();
            let why = end.map_or_else(|| format!("cannot be run: {errno}"), |it| complaint_of(&it));
            let problem = format!("`trimpace` {why}");
            return Err(MethodError::Command { step: visit.id(), problem });
        }
        let (fsync_time, fsync_max) = watch.of_jobs(load.commits.as_ref());
        let (start_time, start_max) = watch.of_jobs(load.starts.as_ref());
        let commands = watch.commands;
        let found = AbLoadStep {
            window_s: self.window.seconds(),
            load_count: watch.response.count(),
            served_per_s: watch.served as f64 / self.window.seconds(),
            response_s_max: watch.longest.seconds(),
            deletion_s: watch.deletion.seconds(),
            fsync_s_max: fsync_max.map(Nanos::seconds),
            start_s_max: start_max.map(Nanos::seconds),
            response_time: watch.response,
            fsync_time,
            start_time,
        };
        Ok((found, closed, commands))
    }

    /// Runs the user's command to its end; what it came to, and the counters then.
    fn run_program(
        &mut self,
        visit: &Visit,
        before: DeviceStatistics,
    ) -> Result<(AbProgramStep, DeviceStatistics), MethodError> {
        let files = self.ground.files();
        let sees = files.watch_requests(true).is_ok();
        let mut requests = RequestTimes::default();
        let (begin, mut ended) = (files.now(), None);
        let limit = begin + self.method.command_limit;
        let mut program = Single(Script::new(Instant::START, [vec![FileCommand::RunProgram]]));
        let mut observer = |sample: &Sample<FileCommand>| ended = Some(sample.completed);
        let failed = |it: String| MethodError::Command {
            step: visit.id(),
            problem: format!("the command {it}"),
        };
        loop {
            let files = self.ground.files();
            let until = (files.now() + SAMPLE_EVERY).min(limit);
            let is_over = self.runner.run_until(files, &mut program, &mut observer, until)?;
            if sees {
                requests.take(files);
            }
            self.discards.note(files.statistics(), files.now());
            if is_over {
                break;
            }
            if files.now() >= limit {
                let limit = self.method.command_limit;
                return Err(failed(format!("did not end within {limit}, and is ended")));
            }
        }
        let files = self.ground.files();
        let closed = files.statistics();
        if sees {
            // It was watched before, so it can be told to stop.
            let _ = files.watch_requests(false);
        }
        let end = files.take_program_end().unwrap_or_default();
        if !end.succeeded {
            return Err(failed(complaint_of(&end)));
        }
        let took = ended.map_or(Nanos::ZERO, |ended| ended.since(begin));
        let moved = |of: fn(&DeviceStatistics) -> Bytes| of(&closed).saturating_sub(of(&before));
        let found = AbProgramStep {
            program_s: took.seconds(),
            program_read_bytes: moved(|it| it.read.bytes),
            program_written_bytes: moved(|it| it.write.bytes),
            request_s_max: requests.longest.filter(|_| sees).map(Nanos::seconds),
            request_time: sees.then_some(requests.times),
            reported: reported(&end.output),
        };
        Ok((found, closed))
    }

    /// Writes what the visit deletes, to the end.
    fn write_victims(&mut self, visit: &Visit) -> Result<Vec<FileId>, MethodError> {
        let first = FIRST_VICTIM + (visit.place - 1) * self.method.files;
        let victims: Vec<FileId> = (first..first + self.method.files).map(FileId).collect();
        for &file in &victims {
            self.script([vec![FileCommand::Create { file }]])?;
            self.fill(file, self.method.file_size())?;
        }
        self.script([vec![FileCommand::SyncFilesystem]])?;
        Ok(victims)
    }

    /// Has the filesystem send its discards, and waits until they are over.
    fn drain(&mut self) -> Result<(), MethodError> {
        let rule = self.ground.files().capabilities().drain;
        let forcing = force(rule.force, Scratch::Kept(LOG));
        self.script(forcing.into_iter().map(|command| vec![command]))?;
        let latest_start = self.ground.files().now() + rule.latest_start;
        Ok(self.discards.quiet(self.ground.files(), &mut self.runner, latest_start)?)
    }

    /// Trims what would else be trimmed in the visit of another arm.
    fn settle(&mut self) -> Result<(), MethodError> {
        if self.trims_between {
            self.script([vec![FileCommand::TrimFreeSpace]])?;
            self.discards.quiet(self.ground.files(), &mut self.runner, Instant::START)?;
        }
        Ok(())
    }

    /// Notes whether others used the device beside the load.
    fn judge_others(
        &mut self,
        step: &mut Step,
        arm: AbArm,
        (before, closed): (DeviceStatistics, DeviceStatistics),
        commands: u64,
    ) {
        let files = self.ground.files();
        if is_virtual(files) {
            return;
        }
        let ours = Bytes(commands * self.method.access.0);
        let others = OtherLoad::before(before).caveat(files, closed, ours);
        let foreign = arm == AbArm::Nodiscard && discarded(before, closed) > NOTICED;
        step.caveat(others.or(foreign.then_some(Caveat::OtherLoad)));
    }

    fn fill(&mut self, file: FileId, length: Bytes) -> Result<(), MethodError> {
        let area = FileArea { file, length };
        let mut fill = Single(SequentialWrite::new(area, FILL_PIECE, FILL_DEPTH));
        Ok(self.runner.prepare(self.ground.files(), &mut fill)?)
    }

    fn script(
        &mut self,
        groups: impl IntoIterator<Item = Vec<FileCommand>>,
    ) -> Result<(), MethodError> {
        let mut script = Single(Script::new(Instant::START, groups));
        Ok(self.runner.prepare(self.ground.files(), &mut script)?)
    }
}

/// The files go one after the other, as `rm` removes them; then all free space is trimmed, if the
/// arm does that.
fn deletion(method: &Ab, arm: AbArm, victims: &[FileId]) -> Vec<Vec<FileCommand>> {
    let unlinks = victims.iter().map(|&file| vec![FileCommand::Unlink { file }]);
    let trim = match arm {
        AbArm::Fstrim => Some(FileCommand::TrimFreeSpace),
        AbArm::Trimpace => Some(FileCommand::TrimPaced { p99: method.noticeable }),
        AbArm::Nodiscard | AbArm::Discard | AbArm::DiscardAsync => None,
    };
    let trim = trim.map(|trim| [vec![FileCommand::SyncFilesystem], vec![trim]]);
    unlinks.chain(trim.into_iter().flatten()).collect()
}

/// How a program ended that failed, with its last line.
fn complaint_of(end: &ProgramEnd) -> String {
    let line = end.complaint.lines().rev().find(|line| !line.trim().is_empty());
    let line = line.map_or_else(String::new, |line| format!(": {}", line.trim()));
    format!("ended with {}{line}", end.status)
}

fn discarded(before: DeviceStatistics, after: DeviceStatistics) -> Bytes {
    after.discard.bytes.saturating_sub(before.discard.bytes)
}
