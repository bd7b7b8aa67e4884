//! The procedure: for each repetition the three phases, then a sync, and the wait until its
//! discards are over.

use trimbench_core::{
    Bytes, Caveat, DirectoryId, FileCommand, FileId, Files, Instant, Next, Status, Stream, Support,
    Workload,
};
use trimbench_results::Step;

use super::formulas::{Times, phases};
use super::generator::{Generator, PostmarkOperation, PostmarkPhase};
use super::options::Postmark;
use super::steps::PostmarkStep;
use trimbench_engine::{ASSUMED_RATE, drain::force};
use trimbench_engine::{
    Discards, InOrder, Method as _, MethodError, MethodSession, Runner, Sample, Scratch, Single,
    UntilFailure,
};

#[cfg(test)]
mod tests;

/// The kind of a step.
pub(super) const REPETITION: &str = "repetition";

/// Less than this share of what was written must have reached the device, or the page cache was
/// measured.
const WRITTEN_LEAST: f64 = 0.5;
/// A file to make dirty and sync, which forces the log. No file of `PostMark`'s has this number.
const SCRATCH: FileId = FileId(0);

pub(super) fn run(
    method: &Postmark,
    files: &mut Files<'_>,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let mut runner = Runner::new(session.interrupt.clone());
    let ids: Vec<String> =
        (1..=method.repetitions).map(|number| format!("{REPETITION}-{number}")).collect();
    session.plan(ids.iter().cloned(), method.demand(Bytes(0), ASSUMED_RATE).time);
    for id in ids {
        if !session.is_done(&id) {
            session.announce(&id, files.now());
            session.keep(repeat(method, files, &mut runner, id)?)?;
        }
    }
    session.hash(runner.trace_hash());
    Ok(())
}

/// One run of `PostMark`, from the first file to the last discard.
pub(super) fn repeat(
    method: &Postmark,
    target: &mut Files<'_>,
    runner: &mut Runner<FileCommand>,
    id: String,
) -> Result<Step, MethodError> {
    let generator = Generator::new(&method.settings);
    target.set_source(generator.source());
    let directories = subdirectories(method.settings.subdirectories);
    let make = directories.clone().map(|directory| FileCommand::MakeDirectory { directory });
    all(target, runner, make.collect())?;
    let before = target.statistics();
    let mut discards = Discards::of(target);
    let begin = target.now();
    let mut play = Play::new(generator, method, begin);
    perform(target, runner, &mut play, &id)?;
    let ended = play.ends[2];
    let remove = directories.map(|directory| FileCommand::RemoveDirectory { directory });
    all(target, runner, remove.collect())?;

    let sync_begin = target.now();
    let capabilities = target.capabilities();
    let (drain, discard) = (capabilities.drain, capabilities.discard);
    all(target, runner, force(drain.force, Scratch::Made(SCRATCH)))?;
    let synced = target.now();
    if discard != Support::None {
        discards.quiet(target, runner, synced + drain.latest_start)?;
    }
    let last = discards.last_change().max(synced);
    let after = target.statistics();
    let written = after.write.bytes.saturating_sub(before.write.bytes);
    let times = Times {
        creation: play.ends[0] - begin,
        transactions: play.ends[1] - play.ends[0],
        deletion: ended - play.ends[1],
    };
    let counts = play.generator.counts();
    let repetition = PostmarkStep {
        phases: phases(counts, &times),
        sync_s: (synced - sync_begin).seconds(),
        drain_s: (last - synced).seconds(),
        device_written_bytes: written,
        discarded_bytes: after.discard.bytes.saturating_sub(before.discard.bytes),
        discard_commands: after.discard.completed.saturating_sub(before.discard.completed),
        made: None,
    };
    let mut step = Step::of(id, REPETITION, &repetition);
    let share = written.0 as f64 / counts.bytes_written.max(1) as f64;
    if share < WRITTEN_LEAST {
        step.caveat(Caveat::CacheSwallowed);
    }
    if play.generator.ran_out_of_files() {
        step.caveat(Caveat::OutOfFiles);
    }
    Ok(step)
}

fn subdirectories(count: u32) -> impl Iterator<Item = DirectoryId> + Clone {
    let last = if count > 1 { count } else { 0 };
    (1..=last).map(DirectoryId)
}

/// Runs commands one after the other.
fn all(
    target: &mut Files<'_>,
    runner: &mut Runner<FileCommand>,
    commands: Vec<FileCommand>,
) -> Result<(), MethodError> {
    Ok(runner.prepare(target, &mut Single(InOrder::new(commands, 1)))?)
}

/// Runs `PostMark` to its end; the first operation that fails ends it.
fn perform(
    target: &mut Files<'_>,
    runner: &mut Runner<FileCommand>,
    play: &mut Play<'_>,
    step: &str,
) -> Result<(), MethodError> {
    let (failed, mut failure) = (std::cell::Cell::new(false), None);
    let mut observer = |sample: &Sample<FileCommand>| {
        if let Status::Failed(errno) = sample.status {
            failure.get_or_insert((sample.command, errno));
            failed.set(true);
        }
    };
    let mut streams = UntilFailure { streams: &mut Single(play), failed: &failed };
    runner.run_until(target, &mut streams, &mut observer, Instant::NEVER)?;
    let Some((command, errno)) = failure else { return Ok(()) };
    Err(MethodError::of_file(step, command, errno))
}

/// `PostMark` as a workload: one operation after the other.
struct Play<'a> {
    generator: Generator,
    method: &'a Postmark,
    /// The phase of the operation under way.
    phase: PostmarkPhase,
    under_way: bool,
    /// When the phases ended so far.
    ends: [Instant; 3],
}

impl<'a> Play<'a> {
    fn new(generator: Generator, method: &'a Postmark, begin: Instant) -> Self {
        Self {
            generator,
            method,
            phase: PostmarkPhase::Creation,
            under_way: false,
            ends: [begin; 3],
        }
    }

    fn command(&self, operation: PostmarkOperation) -> FileCommand {
        let (reading, writing) = (self.method.reading(), self.method.writing());
        let bytes = |count: u32| Bytes(count.into());
        match operation {
            PostmarkOperation::Create { file, subdirectory, size } => FileCommand::Store {
                file: FileId(file),
                directory: subdirectory.map_or(DirectoryId::OWN, |index| DirectoryId(index + 1)),
                length: bytes(size),
                stream: writing,
            },
            PostmarkOperation::Read { file, size } => {
                FileCommand::Load { file: FileId(file), length: bytes(size), stream: reading }
            }
            PostmarkOperation::Append { file, length } => {
                let stream: Stream = writing;
                FileCommand::Append { file: FileId(file), length: bytes(length), stream }
            }
            PostmarkOperation::Delete { file, .. } => FileCommand::Unlink { file: FileId(file) },
        }
    }
}

impl Workload for &mut Play<'_> {
    type Command = FileCommand;

    fn next(&mut self, now: Instant) -> Next<FileCommand> {
        if self.under_way {
            return Next::Await;
        }
        let Some((phase, operation)) = self.generator.next_operation() else {
            return Next::Done;
        };
        self.phase = phase;
        self.under_way = true;
        Next::Issue { intended: now, command: self.command(operation) }
    }

    fn completed(&mut self, _: &FileCommand, at: Instant) {
        self.under_way = false;
        // A later phase that does nothing takes no time.
        self.ends[self.phase as usize..].fill(at);
    }
}
