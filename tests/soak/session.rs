//! One run of one configuration: steps are taken, and what must hold is checked.
//!
//! After every command: counters add up, completions come once, in order and with the right status.
//! From time to time, or after every step where that is asked for: all tables of the drive
//! (`Ssd::check`), and each unit beside the oracle. The tables are walked whenever the host waits
//! for all its commands, for only then may contents be examined.

use std::cell::Cell;

use trimbench_core::fault::Faulty;
use trimbench_core::rng::Rng;
use trimbench_core::trace_hash::TraceHash;
use trimbench_core::units::narrow;
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Completion, Content, Drive, Errno, Instant, Lba, LbaRange, Status,
    Storage as _, Tag, Target, Virtual,
};
use trimbench_ssd::{DriveCounters, Ssd, VictimSearch};

use super::canary::Canary;
use super::oracle::{Found, Oracle};
use super::scenario::{PIECE, PIECE_BLOCKS, Scenario, Start, Step, Steps};
use super::tally::SoakTally;
use crate::process;

/// How a run goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Commands that the drive takes.
    pub(super) commands: u64,
    /// After so many commands everything is checked, as soon as the host waits.
    pub(super) walk_every: u64,
    /// From this command on it is, and the tables after every step.
    pub(super) closely_from: u64,
    /// The drive is made to do plainly what it would rather do for many at once: it brings its
    /// mapping up to date after every command, and looks for victims one after the other.
    pub(super) plainly: bool,
    /// A planted fault.
    pub(super) canary: Option<Canary>,
}

impl Plan {
    fn search(&self) -> VictimSearch {
        match self.canary {
            _ if self.plainly => VictimSearch::Plain,
            Some(Canary::AnotherVictim) => VictimSearch::LastOfEquals,
            _ => VictimSearch::Vectorised,
        }
    }
}

/// What came of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) tally: SoakTally,
    /// Over every completion, the counters, erases by superblock, and what each unit holds at the
    /// end.
    pub(super) hash: u64,
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Something does not hold.
    Violation { law: Law, what: String },
    /// The user wants it.
    Interrupted,
}

/// Which kind of law was violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    /// An assertion of the drive, such as an invariant of its tables.
    Assertion,
    /// What must add up.
    Conservation,
    /// When and how commands end.
    Completion,
    /// What units hold.
    Contents,
    /// The same again gives the same.
    Repetition,
}

/// How far a run has come, also if it panics.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Commands that were submitted.
    pub(super) commands: Cell<u64>,
    /// Commands after which everything was checked last, and held.
    pub(super) checked: Cell<u64>,
}

/// Runs a configuration, watched by an oracle.
pub(super) fn run<O: Oracle>(
    scenario: &Scenario,
    rng: &Rng,
    plan: &Plan,
    progress: &Progress,
) -> Result<Outcome, Stop> {
    let mut session = Session::<O>::new(scenario, rng, plan, progress);
    let mut steps = Steps::new(scenario, rng.split("load"));
    loop {
        let step = steps.next_step();
        let is_command = matches!(step, Step::Command(_) | Step::Discards(_));
        if is_command && session.tally.commands == plan.commands {
            return session.finish();
        }
        session.take(step)?;
    }
}

impl Stop {
    fn because(law: Law, what: impl Into<String>) -> Self {
        Self::Violation { law, what: what.into() }
    }
}

struct Session<'a, O> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    progress: &'a Progress,
    target: Virtual<Faulty<Ssd>>,
    oracle: O,
    /// When the command of each tag was submitted; and the tags that are free.
    outstanding: Vec<Option<Instant>>,
    free_tags: Vec<u32>,
    latest: Instant,
    completions: Vec<Completion>,
    contents: Vec<Content>,
    /// What the drive must have counted, since it was last at rest for a power cut or a purge.
    counted: Counted,
    tally: SoakTally,
    /// What purges have set back to nothing.
    before_purge: SoakTally,
    hash: TraceHash,
}

/// Counters that follow from the commands alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    written: u64,
    read: u64,
    discards: u64,
}

impl Counted {
    fn by(drive: &DriveCounters) -> Self {
        let DriveCounters { host_written_units, host_read_units, discards, .. } = *drive;
        Self { written: host_written_units, read: host_read_units, discards }
    }
}

impl<'a, O: Oracle> Session<'a, O> {
    fn new(scenario: &'a Scenario, rng: &Rng, plan: &'a Plan, progress: &'a Progress) -> Self {
        let mut drive = scenario.drive.clone().build().expect("what is drawn can be built");
        drive.search_victims(plan.search());
        if scenario.load.start != Start::Fresh {
            drive.precondition_sequential(Bytes(0), scenario.drive.capacity);
        }
        if scenario.load.start == Start::Fragmented {
            drive.precondition_random(scenario.drive.exported_units(), &mut rng.split("start"));
        }
        let mut faults = scenario.faults;
        if let Some(canary) = plan.canary {
            canary.plant_first(&mut drive, &mut faults);
        }
        let counted = Counted::by(&drive.counters());
        let queue_depth = scenario.load.queue_depth;
        Self {
            scenario,
            plan,
            progress,
            target: Virtual::new(Faulty::new(drive, faults)),
            oracle: O::new(scenario),
            outstanding: vec![None; queue_depth as usize],
            free_tags: (0..queue_depth).collect(),
            latest: Instant::START,
            completions: Vec::new(),
            contents: Vec::new(),
            counted,
            tally: SoakTally::default(),
            before_purge: SoakTally::default(),
            hash: TraceHash::default(),
        }
    }

    fn drive(&mut self) -> &mut Ssd {
        self.target.model_mut().inner_mut()
    }

    fn take(&mut self, step: Step) -> Result<(), Stop> {
        match step {
            Step::Command(command) => self.submit(command, &[])?,
            Step::Discards(ranges) => {
                self.submit(BlockCommand::Discard(ranges[0]), &ranges[1..])?;
            }
            Step::Refused(command) => self.be_refused(command)?,
            Step::Idle(span) => {
                let until = self.target.now() + span;
                while self.target.now() < until {
                    self.reap(until)?;
                }
            }
            Step::Settle => self.settle()?,
            Step::PowerCut => {
                self.settle()?;
                self.cut_power()?;
            }
            Step::Purge => {
                self.settle()?;
                self.purge();
            }
        }
        if self.is_watched_closely() {
            self.drive().check();
        }
        Ok(())
    }

    fn is_watched_closely(&self) -> bool {
        O::WATCHES && self.tally.commands >= self.plan.closely_from
    }

    /// Submits a command; a discard also of `more` ranges than its own.
    fn submit(&mut self, command: BlockCommand, more: &[LbaRange]) -> Result<(), Stop> {
        let tag = loop {
            match self.free_tags.pop() {
                Some(tag) => break tag,
                None => self.reap(Instant::NEVER)?,
            }
        };
        let blocks = self.scenario.unit_pieces() * PIECE_BLOCKS;
        let units = |range: LbaRange| range.end().0.div_ceil(blocks) - range.start().0 / blocks;
        match command {
            BlockCommand::Write { range, data } => {
                self.oracle.write(range, data);
                self.counted.written += units(range);
                self.tally.writes += 1;
            }
            BlockCommand::Read(range) => {
                self.counted.read += units(range);
                self.tally.reads += 1;
            }
            BlockCommand::Discard(range) => {
                [&[range], more].concat().into_iter().for_each(|range| self.oracle.discard(range));
                self.counted.discards += 1;
                self.tally.discards += 1;
            }
            BlockCommand::Flush => {
                self.oracle.flush();
                self.tally.flushes += 1;
            }
        }
        self.outstanding[tag as usize] = Some(self.target.now());
        let submitted = match command {
            BlockCommand::Discard(range) if !more.is_empty() => {
                self.target.submit_discard(Tag(tag), &[&[range], more].concat())
            }
            _ => self.target.submit(Tag(tag), command),
        };
        if let Err(refusal) = submitted {
            return Err(Stop::because(Law::Completion, format!("{command:?}: {refusal}")));
        }
        self.tally.commands += 1;
        self.progress.commands.set(self.tally.commands);
        if let Some(canary) = self.plan.canary
            && self.tally.commands == self.plan.commands / 2
        {
            canary.plant_midway(self.target.model_mut().inner_mut());
        }
        if self.plan.plainly {
            self.drive().mapped_units();
        }
        if self.tally.commands.is_multiple_of(4_096) && process::interrupted() {
            return Err(Stop::Interrupted);
        }
        self.check_programs()
    }

    fn be_refused(&mut self, command: BlockCommand) -> Result<(), Stop> {
        self.tally.refused += 1;
        match self.target.submit(Tag(u32::MAX), command) {
            Err(_) => Ok(()),
            Ok(()) => Err(Stop::because(Law::Completion, format!("{command:?} is not refused"))),
        }
    }

    /// Waits until something completes or the deadline passes.
    fn reap(&mut self, deadline: Instant) -> Result<(), Stop> {
        let mut completions = std::mem::take(&mut self.completions);
        self.target.reap(deadline, &mut completions);
        for completion in completions.drain(..) {
            self.complete(completion)?;
        }
        self.completions = completions;
        Ok(())
    }

    fn complete(&mut self, completion: Completion) -> Result<(), Stop> {
        let Completion { tag, at, status } = completion;
        let submitted = self.outstanding.get_mut(tag.0 as usize).and_then(Option::take);
        let in_order = self.latest <= at && at <= self.target.now();
        let fails = self.scenario.faults.fail_from.is_some_and(|from| from <= at);
        let due = if fails { Status::Failed(Errno::EIO) } else { Status::Done };
        if !in_order || submitted.is_none_or(|submitted| at < submitted) || status != due {
            let what = format!("{completion:?} of {submitted:?}, due {due:?} {:?}", self.latest);
            return Err(Stop::because(Law::Completion, what));
        }
        self.latest = at;
        self.tally.failed += u64::from(fails);
        self.free_tags.push(tag.0);
        self.hash.word(tag.0.into());
        self.hash.instant(at);
        Ok(())
    }

    /// Programs = host writes + garbage collection + padding.
    fn check_programs(&self) -> Result<(), Stop> {
        let counters = self.target.model().inner().counters();
        let DriveCounters { programmed_units, saved_units, absorbed_units, .. } = counters;
        let DriveCounters { host_written_units, moved_units, folded_units, padding_units, .. } =
            counters;
        let causes = host_written_units + moved_units + folded_units + padding_units;
        if programmed_units + saved_units + absorbed_units == causes {
            return Ok(());
        }
        Err(Stop::because(Law::Conservation, format!("programs do not add up: {counters:?}")))
    }

    /// Waits for everything outstanding, and checks all that is due.
    fn settle(&mut self) -> Result<(), Stop> {
        while self.free_tags.len() < self.outstanding.len() {
            self.reap(Instant::NEVER)?;
        }
        let counted = Counted::by(&self.drive().counters());
        if counted != self.counted {
            let what = format!("counted {counted:?} instead of {:?}", self.counted);
            return Err(Stop::because(Law::Conservation, what));
        }
        let due = self.tally.commands >= self.progress.checked.get() + self.plan.walk_every;
        if O::WATCHES && (due || self.is_watched_closely()) {
            self.walk()?;
        }
        Ok(())
    }

    /// Checks everything.
    fn walk(&mut self) -> Result<(), Stop> {
        self.drive().check();
        let mapped = self.drive().mapped_units() * self.scenario.unit_pieces();
        let expected = self.oracle.mapped_pieces();
        if mapped != expected {
            let what = format!("{mapped} pieces hold data instead of {expected}");
            return Err(Stop::because(Law::Contents, what));
        }
        for piece in 0..self.scenario.pieces() {
            let found = look(self.target.model_mut().inner_mut(), piece, &mut self.contents);
            let judgement = self.oracle.judge(piece, &found);
            judgement.map_err(|what| Stop::because(Law::Contents, what))?;
        }
        self.tally.walks += 1;
        self.progress.checked.set(self.tally.commands);
        Ok(())
    }

    fn cut_power(&mut self) -> Result<(), Stop> {
        let drive = self.target.model_mut().inner_mut();
        let cut = drive.power_cut();
        cut.expect("the power of an emulated drive can always be cut");
        self.tally.power_cuts += 1;
        self.counted = Counted::by(&drive.counters());
        let contents = &mut self.contents;
        let judgement = self.oracle.power_cut(|unit| look(drive, unit, contents));
        judgement.map_err(|what| Stop::because(Law::Contents, what))
    }

    fn purge(&mut self) {
        self.before_purge = self.with_counters();
        let drive = self.target.model_mut().inner_mut();
        drive.purge();
        drive.search_victims(self.plan.search());
        self.counted = Counted::by(&drive.counters());
        self.oracle.purge();
        self.tally.purges += 1;
    }

    /// The tally with what the drive has counted in all.
    fn with_counters(&self) -> SoakTally {
        let drive = self.target.model().inner().counters();
        let before = &self.before_purge;
        SoakTally {
            written_units: before.written_units + drive.host_written_units,
            freed_units: before.freed_units + drive.discarded_mapped_units,
            collected_units: before.collected_units + drive.moved_units,
            folded_units: before.folded_units + drive.folded_units,
            saved_units: before.saved_units + drive.saved_units,
            map_pages_read: before.map_pages_read + drive.map_pages_read,
            map_pages_programmed: before.map_pages_programmed + drive.map_pages_programmed,
            erased_superblocks: before.erased_superblocks + drive.erased_superblocks,
            ..self.tally
        }
    }

    fn finish(mut self) -> Result<Outcome, Stop> {
        self.settle()?;
        if O::WATCHES {
            self.walk()?;
        }
        let statistics = self.target.statistics();
        let completed = [statistics.write, statistics.read, statistics.discard, statistics.flush]
            .map(|class| class.completed);
        let SoakTally { writes, reads, discards, flushes, .. } = self.tally;
        if completed != [writes, reads, discards, flushes] {
            return Err(Stop::because(Law::Conservation, format!("completed: {statistics:?}")));
        }
        let counters = self.drive().counters();
        let erases = self.drive().erases_by_superblock().to_vec();
        self.hash.text(&format!("{counters:?} {statistics:?} {erases:?}"));
        for piece in 0..self.scenario.pieces() {
            let found = look(self.target.model_mut().inner_mut(), piece, &mut self.contents);
            // A trimmed piece may read as something else each time.
            if found.mapped {
                self.hash.text(&format!("{piece} {found:?}"));
            }
        }
        Ok(Outcome { tally: self.with_counters(), hash: self.hash.value() })
    }
}

/// What a piece of the drive is found as.
fn look(drive: &mut Ssd, piece: u64, contents: &mut Vec<Content>) -> Found {
    let mapped = drive.holds_data(Bytes(piece * PIECE));
    let range = LbaRange::new(Lba(piece * PIECE_BLOCKS), Blocks(PIECE_BLOCKS));
    contents.clear();
    let examined = drive.examine(range.expect("a piece of the drive"), contents);
    let blocks = examined.ok().and_then(|()| contents.as_slice().try_into().ok());
    Found { mapped, blocks }
}

/// How many commands lie between two walks of a long run: about as many as the drive has pieces, so
/// that most of what is written is looked at before it is overwritten.
pub(super) fn walk_interval(scenario: &Scenario) -> u64 {
    u64::from(narrow(scenario.pieces())).max(1)
}

const _: () = assert!(PIECE == PIECE_BLOCKS * 512);
