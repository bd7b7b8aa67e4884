//! The procedure: for each policy a new filesystem on the same drive, aged, then the same cycles,
//! as many under each.

use std::cell::Cell;

use trimbench_core::rng::Rng;
use trimbench_core::{
    Account, Bytes, DiscardMode, FileCommand, FileId, Files, FilesystemSpec, Instant, Medium,
    Nanos, Next, Provisioner, Status, Workload as _,
};
use trimbench_results::{LatencyHistogram, Step};

use super::NEEDS_A_MODEL;
use super::options::{PolicyLab, SMALL_DISCARDS, is_own_path};
use super::steps::{PolicyCountedStep, PolicyCycleStep, PolicyLoadStep};
use trimbench_engine::{
    Churn, ChurnFiles, Criterion, FILL_DEPTH, FILL_PIECE, FileArea, InOrder, MethodError,
    MethodSession, Misfit, OpenLoop, RandomAccess, Runner, Sample, SequentialWrite, Single, Stage,
    Streams, UntilFailure,
};

/// The file that the foreground accesses; those that come and go have the numbers behind it.
const LOADED: FileId = FileId(0);
/// The state of the drive before each filesystem: the same for all.
const START_STATE: u32 = 1;

pub(super) fn run(
    method: &PolicyLab,
    provisioner: &mut dyn Provisioner,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let rng = session.rng;
    let Medium::Directory { available, .. } = provisioner.capabilities().medium else {
        unreachable!("it fits filesystems only");
    };
    let text_in = |(policy, text): &(&'static str, String)| {
        (*policy, method.text_in(policy, text, available))
    };
    let policies: Vec<(&'static str, String)> = method.policies.iter().map(text_in).collect();
    for (policy, text) in &policies {
        let checked = provisioner.check(&filesystem_spec(method, policy, text));
        checked.map_err(|error| {
            if is_own_path(policy) || *policy == SMALL_DISCARDS {
                // It has no parameters: the filesystem is another, or a pool.
                let reason = Misfit(format!("{}; {NEEDS_A_MODEL}", error.reason));
                return MethodError::Unfit { reason };
            }
            method.values.wrong(policy, error.reason).into()
        })?;
    }
    let mut runner = Runner::new(session.interrupt.clone());
    for (at, (policy, text)) in policies.iter().enumerate() {
        provisioner.make(&filesystem_spec(method, policy, text))?;
        // Before anything is written: a pool of drives accounts for nothing.
        account(provisioner)?;
        let files = provisioner.files();
        let Medium::Directory { available, .. } = files.capabilities().medium else {
            unreachable!("it is a filesystem");
        };
        let room = Bytes(available.0 - method.span.0.min(available.0));
        let mut life = Life {
            method,
            policy,
            room,
            churn: Churn::new(files_in(method, available), rng.split("files")),
            rng: rng.split("foreground"),
            runner: &mut runner,
        };
        life.age(files, Bytes(method.age.of(available.0).saturating_sub(method.span.0)))?;
        life.cycles(provisioner, at, session)?;
        provisioner.unmount()?;
    }
    session.hash(runner.trace_hash());
    Ok(())
}

fn filesystem_spec(method: &PolicyLab, policy: &str, text: &str) -> FilesystemSpec {
    FilesystemSpec {
        discard: DiscardMode::Policy(text.to_owned()),
        mkfs_discard: method.mkfs_discard,
        settle: Nanos::ZERO,
        discard_max: method.small_discards.filter(|_| policy == SMALL_DISCARDS),
        start_state: Some(START_STATE),
    }
}

/// The files that come and go where so many bytes are available.
fn files_in(method: &PolicyLab, available: Bytes) -> ChurnFiles {
    ChurnFiles {
        sizes: method.sizes.clone(),
        budget: Bytes(method.fill.of(available.0).saturating_sub(method.span.0)),
        rate: method.churn,
        first: FileId(LOADED.0 + 1),
    }
}

/// A filesystem under one policy, from its making to its end.
struct Life<'a> {
    method: &'a PolicyLab,
    policy: &'static str,
    /// What files can take.
    room: Bytes,
    churn: Churn,
    rng: Rng,
    runner: &'a mut Runner<FileCommand>,
}

impl Life<'_> {
    /// Fills the filesystem, and deletes what is too much of it.
    fn age(&mut self, files: &mut Files<'_>, most: Bytes) -> Result<(), MethodError> {
        let mut all = |commands| self.runner.prepare(files, &mut Single(InOrder::new(commands, 1)));
        all(vec![FileCommand::Create { file: LOADED }])?;
        let area = FileArea { file: LOADED, length: self.method.span };
        let mut fill = Single(SequentialWrite::new(area, FILL_PIECE, FILL_DEPTH));
        self.runner.prepare(files, &mut fill)?;
        let mut all = |commands| self.runner.prepare(files, &mut Single(InOrder::new(commands, 1)));
        all(self.churn.grow(most))?;
        let mut commands = self.churn.shrink();
        commands.push(FileCommand::SyncFilesystem);
        Ok(all(commands)?)
    }

    fn cycles(
        &mut self,
        provisioner: &mut dyn Provisioner,
        at: usize,
        session: &mut MethodSession<'_>,
    ) -> Result<(), MethodError> {
        let method = self.method;
        let most = method.cycles_max as usize;
        let mut before = account(provisioner)?;
        for cycle in 1..=method.cycles_max {
            let text = format!("{}-cycle-{cycle}", self.policy);
            let (done, total) = (at * most + cycle as usize - 1, method.policies.len() * most);
            let bytes = self.method.cycle.of(self.room.0).saturating_mul((total - done) as u64);
            let left = Nanos::from_seconds(bytes as f64 / method.churn.0 as f64);
            let now = provisioner.files().now();
            session.show(&Stage { done, total, text: &text, now, left });
            let load = self.cycle(provisioner.files(), &text, cycle)?;
            let after = account(provisioner)?;
            let counted = PolicyCountedStep::between(&before, &after);
            let values = PolicyCycleStep { cycle, load, counted };
            session.keep(Step::of(text, self.policy, &values))?;
            before = after;
        }
        Ok(())
    }

    /// One cycle: a share of the room is made anew beside the foreground.
    fn cycle(
        &mut self,
        files: &mut Files<'_>,
        id: &str,
        cycle: u32,
    ) -> Result<PolicyLoadStep, MethodError> {
        let method = self.method;
        let begin = files.now();
        self.churn.begin(begin, Bytes(method.cycle.of(self.room.0)));
        let area = FileArea { file: LOADED, length: method.span };
        let rng = self.rng.split(&cycle.to_string());
        let access = RandomAccess::new(area, method.access, method.read_share, rng);
        let mut beside = Beside {
            churn: &mut self.churn,
            foreground: OpenLoop::new(access, method.arrivals, method.gap, begin..Instant::NEVER),
        };
        let (failed, mut failure) = (Cell::new(false), None);
        let (mut made, mut responses) = (Bytes(0), LatencyHistogram::new());
        let mut observer = |sample: &Sample<FileCommand>| {
            if let Status::Failed(errno) = sample.status {
                failure.get_or_insert((sample.command, errno));
                failed.set(true);
            } else if sample.stream == FOREGROUND {
                responses.record(sample.response_time());
            } else if let FileCommand::Write { length, .. } = sample.command {
                made += length;
            }
        };
        let mut streams = UntilFailure { streams: &mut beside, failed: &failed };
        self.runner.run_until(files, &mut streams, &mut observer, Instant::NEVER)?;
        if let Some((command, errno)) = failure {
            return Err(MethodError::of_file(id, command, errno));
        }
        Ok(PolicyLoadStep {
            cycle_s: (files.now() - begin).seconds(),
            files_made_bytes: made,
            response_time: responses,
        })
    }
}

/// When the amplification is stable.
pub(super) fn criterion(method: &PolicyLab) -> Criterion {
    let excursion_max = f64::from(method.tolerance.0) / 1e6;
    Criterion { window: method.window, excursion_max, rise_max: excursion_max / 2.0 }
}

/// What the filesystem's maker knows of it.
fn account(provisioner: &mut dyn Provisioner) -> Result<Account, MethodError> {
    let found = provisioner.account();
    found.ok_or_else(|| MethodError::Unfit { reason: NEEDS_A_MODEL.into() })
}

/// The foreground's number among the streams; the files' is 0.
const FOREGROUND: usize = 1;

/// Files that come and go, and the foreground for as long as they do.
struct Beside<'a> {
    churn: &'a mut Churn,
    foreground: OpenLoop<FileArea>,
}

impl Streams for Beside<'_> {
    type Command = FileCommand;

    fn next(&mut self, now: Instant) -> (usize, Next<FileCommand>) {
        let files = match self.churn.next(now) {
            next @ (Next::Issue { .. } | Next::Done) => return (0, next),
            Next::NotBefore(at) => at,
            Next::Await => Instant::NEVER,
        };
        match self.foreground.next(now) {
            Next::NotBefore(at) => (FOREGROUND, Next::NotBefore(at.min(files))),
            next => (FOREGROUND, next),
        }
    }

    fn completed(&mut self, stream: usize, command: &FileCommand, at: Instant) {
        if stream == FOREGROUND {
            self.foreground.completed(command, at);
        } else {
            self.churn.completed(command, at);
        }
    }
}
