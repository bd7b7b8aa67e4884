//! The step of the deletions: one beside the foreground, until everything is discarded, and one
//! right before the unmount.

use std::cell::Cell;

use trimbench_core::contract::ClassStatistics;
use trimbench_core::rng::Rng;
use trimbench_core::{
    Bytes, Caveat, DeviceStatistics, FileCommand, Files, Instant, Nanos, Provisioner,
};
use trimbench_results::Step;

use super::foreground::{ForegroundLoad, ForegroundTimes};
use super::options::Kernels;
use super::session::{DELETION, SystemLife, TRIM, account};
use super::steps::{KernelsDeletionStep, KernelsUnmountStep};
use trimbench_engine::{Discards, MethodError, Runner, UntilFailure};

/// How often the counters of the device are read.
const LOOK_EVERY: Nanos = Nanos::from_millis(10);

/// The discards of a deletion have begun with this part of its bytes. Before, some systems discard
/// what the foreground replaced.
const BEGUN_PART: u64 = 100;

/// Measures both deletions of a filesystem that is filled, and unmounts it.
pub(super) fn measure(
    life: &mut SystemLife<'_>,
    provisioner: &mut dyn Provisioner,
    rng: &Rng,
) -> Result<Step, MethodError> {
    let method = life.method;
    let files = provisioner.files();
    let quiet = watch(life, files, (Vec::new(), &rng.split("before")), None)?;
    let freed = Bytes(method.deleted.of(life.room.0));
    let (mut script, deleted) = delete(life, freed);
    if life.system.is_program() {
        script.extend(TRIM);
    }
    let before = files.statistics().discard;
    let script = (script, &rng.split("deletion"));
    let watched = watch(life, files, script, Some((&quiet.times, deleted)))?;
    let after = files.statistics().discard;
    let deletion = KernelsDeletionStep {
        room_bytes: life.room,
        read_response_s_max_before: quiet.times.longest_read(),
        fsync_s_max_before: quiet.times.longest_fsync(),
        window: watched.times.in_window(),
        deleted_bytes: deleted,
        stutter_s: watched.times.stutter_since(&quiet.times),
        discarded_bytes: after.bytes - before.bytes,
        discard_count: after.completed - before.completed,
        discard_time_s: after.time.saturating_sub(before.time).seconds(),
        watched_s: watched.span.seconds(),
        all_discarded_s: watched.last_discard.filter(|_| !watched.gave_up).map(Nanos::seconds),
        unmount: unmount(life, provisioner)?,
    };
    let mut step = life.step(DELETION, &deletion);
    step.caveat(watched.gave_up.then_some(Caveat::DiscardsWait));
    Ok(step)
}

/// Deletes the same again and unmounts at once.
fn unmount(
    life: &mut SystemLife<'_>,
    provisioner: &mut dyn Provisioner,
) -> Result<KernelsUnmountStep, MethodError> {
    let before = account(provisioner)?;
    let bytes = Bytes(life.method.deleted.of(life.room.0));
    let (script, deleted) = delete(life, bytes);
    life.play(provisioner.files(), script)?;
    let took = provisioner.unmount()?;
    let after = account(provisioner)?;
    let freed = after.freed - before.freed;
    let given_up = after.given_up - before.given_up;
    // What no program has trimmed yet is not lost: its next run discards it.
    let can_lose = freed > Bytes(0) && !life.system.is_program();
    Ok(KernelsUnmountStep {
        unmount_s: took.seconds(),
        deleted_before_unmount_bytes: deleted,
        freed_before_unmount_bytes: freed,
        given_up_bytes: given_up,
        lost_at_unmount_share: can_lose.then(|| given_up.0 as f64 / freed.0 as f64),
    })
}

/// The commands that delete so much, and how much they really do.
fn delete(life: &mut SystemLife<'_>, bytes: Bytes) -> (Vec<FileCommand>, Bytes) {
    let before = life.churn.live_bytes();
    let script = life.churn.delete(bytes);
    (script, before - life.churn.live_bytes())
}

/// What was seen of a script and the foreground beside it.
struct Watched {
    times: ForegroundTimes,
    /// From the start of the script to the end of the measurement.
    span: Nanos,
    /// From the start of the script to the last discard that ended, if any did.
    last_discard: Option<Nanos>,
    /// Whether discards still waited when there was no more waiting for them.
    gave_up: bool,
}

/// Plays a script beside the foreground, until the window is over and everything is discarded; then
/// until what is outstanding has ended. `after` has what was seen before a deletion, and its bytes.
fn watch(
    life: &mut SystemLife<'_>,
    files: &mut Files<'_>,
    (script, rng): (Vec<FileCommand>, &Rng),
    after: Option<(&ForegroundTimes, Bytes)>,
) -> Result<Watched, MethodError> {
    let method = life.method;
    let begin = files.now();
    let mut load = ForegroundLoad::new(method, script, begin, rng);
    let mut times = ForegroundTimes::new(begin, method.window, after.map(|(quiet, _)| quiet));
    let mut end = DiscardsEnd::new(method, files, after.map(|(_, deleted)| deleted));
    let stop = Cell::new(false);
    loop {
        let until = files.now() + LOOK_EVERY;
        play(life.runner, files, (&mut load, &mut times), (&stop, until))?;
        let now = files.now();
        if let Some(issued) = end.look(files, now) {
            times.first_discard(issued.max(begin));
        }
        let script_over = load.script.is_over(now);
        if stop.get() || now >= times.window_end() && script_over && end.is_over(now) {
            break;
        }
    }
    stop.set(true);
    play(life.runner, files, (&mut load, &mut times), (&stop, Instant::NEVER))?;
    if let Some((command, errno)) = times.failure() {
        return Err(MethodError::of_file(&life.id, command, errno));
    }
    let last_discard = end.last.map(|at| at - begin);
    Ok(Watched { times, span: files.now() - begin, last_discard, gave_up: end.waits() })
}

/// Plays the load until an instant, or after `stop` until nothing is outstanding.
fn play(
    runner: &mut Runner<FileCommand>,
    files: &mut Files<'_>,
    (load, times): (&mut ForegroundLoad, &mut ForegroundTimes),
    (stop, until): (&Cell<bool>, Instant),
) -> Result<(), MethodError> {
    let mut streams = load.streams();
    let mut streams = UntilFailure { streams: &mut streams, failed: stop };
    let mut observer = |sample: &_| times.note(sample, stop);
    runner.run_until(files, &mut streams, &mut observer, until)?;
    Ok(())
}

/// When the discards of a deletion are over.
struct DiscardsEnd {
    discards: Discards,
    counted: ClassStatistics,
    /// The discards of the deletion have begun when so many bytes were discarded; `None` from then
    /// on.
    begun_at: Option<Bytes>,
    /// Freed bytes that wait; `None` where nothing says so.
    pending: Option<Bytes>,
    quiet: Nanos,
    patience: Nanos,
    /// When the last one was seen to end.
    last: Option<Instant>,
}

impl DiscardsEnd {
    fn new(method: &Kernels, files: &Files<'_>, deleted: Option<Bytes>) -> Self {
        let DeviceStatistics { discard, discard_pending, .. } = files.statistics();
        Self {
            discards: Discards::of(files),
            counted: discard,
            begun_at: deleted.map(|deleted| discard.bytes + Bytes(deleted.0 / BEGUN_PART)),
            pending: discard_pending,
            quiet: files.capabilities().drain.quiet,
            patience: method.patience,
            last: None,
        }
    }

    /// Looks at the counters. Where the discards of the deletion are seen to have begun: when those
    /// seen now were issued, about.
    fn look(&mut self, files: &Files<'_>, now: Instant) -> Option<Instant> {
        let statistics = files.statistics();
        self.discards.note(statistics, now);
        self.pending = statistics.discard_pending;
        let (before, after) = (self.counted, statistics.discard);
        if after.bytes == before.bytes {
            return None;
        }
        (self.counted, self.last) = (after, Some(now));
        self.begun_at.take_if(|least| after.bytes >= *least)?;
        let count = (after.completed - before.completed).max(1);
        let each = Nanos(after.time.saturating_sub(before.time).0 / count);
        let age = now.since(Instant::START).saturating_sub(each + LOOK_EVERY);
        Some(Instant::START + age)
    }

    /// Whether freed bytes wait for a discard.
    fn waits(&self) -> bool {
        self.pending.is_some_and(|pending| pending > Bytes(0))
    }

    fn is_over(&self, now: Instant) -> bool {
        let quiet = if self.waits() { self.patience } else { self.quiet };
        now.since(self.discards.last_change()) >= quiet
    }
}
