//! The procedure on files: the free space of a filesystem is written over, fragmented and freed
//! without a discard; then a large file is copied over it and deleted, or the filesystem discards
//! it (FITRIM). Source of the first cure: \[S2\].

use std::cell::Cell;

use trimbench_core::{
    Account, BlockSize, Bytes, Clock, DiscardMode, FileCommand, FileId, Files, FilesystemSpec,
    Instant, Medium, Nanos, Opened, Ppm, Provisioner, Status, Support,
};
use trimbench_results::{LatencyHistogram, Step};

use super::metrics::{COPIED, FRAGMENTED, FRESH, TRIMMED};
use super::options::{Recovery, Torture};
use super::steps::{RecoveryFileStep, RecoveryFitrimStep, RecoveryPassStep};
use trimbench_engine::settings::whole;
use trimbench_engine::{
    ASSUMED_RATE, ClosedLoop, Discards, FileArea, InOrder, Method as _, MethodError, MethodSession,
    Observer, OtherLoad, PassSeries, RandomAccess, RunError, Runner, Sample, SequentialWrite,
    Single, Streams, UntilFailure, check_fit,
};

#[cfg(test)]
mod tests;

/// The steps, of which a filesystem that cannot be trimmed has only some.
const STEPS: [&str; 8] =
    ["purge-1-by-trim", FRESH.0, "torture-1", FRAGMENTED.0, COPIED.0, "torture-2", TRIM, TRIMMED.0];
/// The step of the cure by FITRIM.
pub(super) const TRIM: &str = "trim";

/// Where the files are.
enum Host<'a> {
    Directory(&'a mut Files<'a>),
    Made(&'a mut dyn Provisioner),
}

impl Host<'_> {
    fn files(&mut self) -> &mut Files<'_> {
        match self {
            Self::Directory(files) => *files,
            Self::Made(provisioner) => provisioner.files(),
        }
    }

    fn account(&mut self) -> Option<Account> {
        match self {
            Self::Directory(_) => None,
            Self::Made(provisioner) => provisioner.account(),
        }
    }
}

/// The free space, and what is done to it.
struct FreeSpace<'a, 'm, 's> {
    method: &'m Recovery,
    host: Host<'a>,
    runner: Runner<FileCommand>,
    session: &'m mut MethodSession<'s>,
    /// Bytes of each file.
    span: Bytes,
    /// Of the next file.
    file: FileId,
    /// Bytes that the first torture wrote, which the second repeats.
    tortured: Option<Bytes>,
}

/// Runs the method on the files of a directory, or of a filesystem that is made for it.
pub(super) fn run(
    method: &Recovery,
    on: Opened<'_>,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    match on {
        Opened::Directory(files) => {
            if files.capabilities().discard != Support::None {
                let reason = "its filesystem is mounted with `discard`, so that a deletion leaves \
                              nothing to cure; mount it with `nodiscard`";
                return Err(MethodError::Unfit { reason: reason.into() });
            }
            FreeSpace::new(method, Host::Directory(files), session).cure()
        }
        Opened::Filesystems(provisioner) => {
            provisioner.make(&FilesystemSpec {
                discard: DiscardMode::Off,
                settle: method.rest,
                ..FilesystemSpec::default()
            })?;
            check_fit(method, provisioner.files().capabilities())?;
            FreeSpace::new(method, Host::Made(&mut *provisioner), session).cure()?;
            provisioner.unmount()?;
            Ok(())
        }
        Opened::Device(_) | Opened::Drives(_) => unreachable!("it was to be a directory"),
    }
}

/// The bytes of each file where so many may be written, in whole accesses of both kinds.
pub(super) fn span(method: &Recovery, share: Ppm, available: Bytes) -> Bytes {
    let bytes = whole(Bytes(share.of(available.0)), BlockSize::SECTOR);
    let unit = method.pass_size.max(method.access).0;
    Bytes(bytes.0 / unit * unit)
}

impl<'a, 'm, 's> FreeSpace<'a, 'm, 's> {
    fn new(method: &'m Recovery, mut host: Host<'a>, session: &'m mut MethodSession<'s>) -> Self {
        let Medium::Directory { available, .. } = host.files().capabilities().medium else {
            unreachable!("it fits directories only");
        };
        let share = method.free_space.expect("it fits devices only without");
        let runner = Runner::new(session.interrupt.clone());
        let span = span(method, share, available);
        session.plan(STEPS.map(str::to_owned), method.demand(available, ASSUMED_RATE).time);
        Self { method, host, runner, session, span, file: FileId(1), tortured: None }
    }

    fn cure(mut self) -> Result<(), MethodError> {
        let is_new = matches!(self.host, Host::Made(_))
            && self.host.files().capabilities().clock == Clock::Virtual;
        // A new emulated drive is fresh; any other is as fresh as a TRIM makes it.
        let trims = is_new || self.trim("purge-1-by-trim", "purge")?;
        if trims {
            self.pass(FRESH.0)?;
        }
        self.torture("torture-1")?;
        self.pass(FRAGMENTED.0)?;
        self.pass(COPIED.0)?;
        if trims {
            self.torture("torture-2")?;
            if self.trim(TRIM, "trim")? {
                self.pass(TRIMMED.0)?;
            }
        }
        self.session.hash(self.runner.trace_hash());
        Ok(())
    }

    /// Has the filesystem discard its free space, and keeps that as a step; whether it can.
    fn trim(&mut self, id: &str, kind: &str) -> Result<bool, MethodError> {
        let Self { host, runner, session, .. } = self;
        let files = host.files();
        session.announce(id, files.now());
        let (begun, before) = (files.now(), files.statistics());
        let mut discards = Discards::of(files);
        let trim = vec![FileCommand::SyncFilesystem, FileCommand::TrimFreeSpace];
        match runner.prepare(files, &mut Single(InOrder::new(trim, 1))) {
            Ok(()) => {}
            // As on a loop device that cannot punch holes, and for everyone but root.
            Err(RunError::Failed { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        // XFS answers when all discards are sent, not when they are over.
        let (answered, latest_start) = (files.now(), files.capabilities().drain.latest_start);
        discards.quiet(files, runner, answered + latest_start)?;
        let ended = discards.last_change().max(answered);
        let discarded_bytes = files.statistics().discard.bytes.saturating_sub(before.discard.bytes);
        let elapsed_s = ended.since(begun).seconds();
        let step = Step::of(id, kind, &RecoveryFitrimStep { elapsed_s, discarded_bytes });
        self.rest()?;
        self.session.keep(step)?;
        Ok(true)
    }

    /// Writes a file over the free space in order, and deletes it.
    fn pass(&mut self, id: &str) -> Result<(), MethodError> {
        let area = self.create(id)?;
        let wear = self.host.account().map(|account| account.wear);
        let files = self.host.files();
        let (begun, before) = (files.now(), OtherLoad::before(files.statistics()));
        let Recovery { pass_size, pass_depth, .. } = *self.method;
        let mut series = PassSeries::new(self.span, pass_size, BlockSize::SECTOR, begun);
        let mut writes = Single(SequentialWrite::new(area, pass_size, pass_depth));
        let (ended, latencies) = self.perform(id, &mut writes, &mut series)?;
        let seconds = ended.since(begun).seconds();
        let values = RecoveryFileStep {
            elapsed_s: seconds,
            command_count: None,
            written_bytes: self.span,
            latency: latencies,
        };
        let mut step = Step::of(id, "pass", &values);
        series.store(&mut step);
        let files = self.host.files();
        step.caveat(before.caveat(files, files.statistics(), self.span));
        let worn = self.host.account().map(|account| account.wear);
        self.delete(id, area.file)?;
        step.store(&RecoveryPassStep {
            throughput_mb_per_s: (seconds > 0.0).then(|| self.span.0 as f64 / 1e6 / seconds),
            write_amplification_ratio: wear
                .zip(worn)
                .and_then(|(from, to)| to.amplification_since(from)),
            cure_s: Some(self.host.files().now().since(begun).seconds()),
        });
        self.rest()?;
        self.session.keep(step)
    }

    /// Writes a file over the free space, fragments the drive by random writes in it, and deletes
    /// it.
    fn torture(&mut self, id: &str) -> Result<(), MethodError> {
        let area = self.create(id)?;
        let Recovery { access, queue_depth, pass_size, pass_depth, torture, .. } = *self.method;
        let mut fill = Single(SequentialWrite::new(area, pass_size, pass_depth));
        self.perform(id, &mut fill, &mut |_: &Sample<FileCommand>| {})?;
        let begun = self.host.files().now();
        let (bytes, time) = match (self.tortured, torture) {
            (Some(bytes), _) => (bytes, Nanos::ZERO),
            (None, Torture::Share(share)) => (Bytes(share.of(self.span.0)), Nanos::ZERO),
            (None, Torture::Time(time)) => (Bytes(0), time),
            (None, Torture::Steady) => unreachable!("it does not fit"),
        };
        let random = RandomAccess::new(
            area,
            access,
            Ppm(0),
            self.session.rng.split(&format!("{id}-writes")),
        );
        let count = bytes.pieces(access);
        let mut writes = Single(ClosedLoop::lasting(random, queue_depth, count, begun + time));
        let (ended, latencies) =
            self.perform(id, &mut writes, &mut |_: &Sample<FileCommand>| {})?;
        let commands = latencies.count();
        let written = Bytes(commands * access.0);
        self.tortured.get_or_insert(written);
        let values = RecoveryFileStep {
            elapsed_s: ended.since(begun).seconds(),
            command_count: Some(commands),
            written_bytes: written,
            latency: latencies,
        };
        let step = Step::of(id, "torture", &values);
        self.delete(id, area.file)?;
        self.rest()?;
        self.session.keep(step)
    }

    /// A new file, empty as yet.
    fn create(&mut self, id: &str) -> Result<FileArea, MethodError> {
        self.session.announce(id, self.host.files().now());
        let file = self.file;
        self.file = FileId(file.0 + 1);
        self.script(id, vec![FileCommand::Create { file }])?;
        Ok(FileArea { file, length: self.span })
    }

    /// Makes the file durable, so that all of it reached the drive, and deletes it.
    fn delete(&mut self, id: &str, file: FileId) -> Result<(), MethodError> {
        let delete = [
            FileCommand::Fsync { file },
            FileCommand::Unlink { file },
            FileCommand::SyncFilesystem,
        ];
        self.script(id, delete.into())
    }

    fn script(&mut self, id: &str, commands: Vec<FileCommand>) -> Result<(), MethodError> {
        let mut script = Single(InOrder::new(commands, 1));
        self.perform(id, &mut script, &mut |_: &Sample<FileCommand>| {}).map(drop)
    }

    /// Runs to the end; when the last command ended, and their latencies. The first that fails is
    /// the error.
    fn perform<S, O>(
        &mut self,
        id: &str,
        streams: &mut S,
        observer: &mut O,
    ) -> Result<(Instant, LatencyHistogram), MethodError>
    where
        S: Streams<Command = FileCommand>,
        O: Observer<FileCommand>,
    {
        let files = self.host.files();
        let (mut ended, mut latencies) = (files.now(), LatencyHistogram::new());
        let (failed, mut failure) = (Cell::new(false), None);
        let mut watch = |sample: &Sample<FileCommand>| {
            ended = ended.max(sample.completed);
            latencies.record(sample.latency());
            if let Status::Failed(errno) = sample.status {
                failure.get_or_insert((sample.command, errno));
                failed.set(true);
            }
            observer.observe(sample);
        };
        let mut streams = UntilFailure { streams, failed: &failed };
        self.runner.run_until(files, &mut streams, &mut watch, Instant::NEVER)?;
        match failure {
            Some((command, errno)) => Err(MethodError::of_file(id, command, errno)),
            None => Ok((ended, latencies)),
        }
    }

    fn rest(&mut self) -> Result<(), MethodError> {
        let files = self.host.files();
        let until = files.now() + self.method.rest;
        Ok(self.runner.idle_until(files, until)?)
    }
}
