//! A directory on a mounted filesystem as a target.
//!
//! Data goes through `io_uring` past the page cache (`O_DIRECT`), metadata through a few threads,
//! all inside a directory of our own that is removed afterwards. There is no thread per request: a
//! stall of 2 s under 1000 requests a second holds 2000 of them in the ring; more wait in user
//! space.
//!
//! Data commands are issued within [`Target::submit`], by a system call each (3 us while the device
//! is busy and 12 us while it is idle, measured on a virtio disk). It waits for one thing: where
//! discards have taken all tags of the device, the block layer holds direct I/O on files until one
//! is free, although `io_uring` asks it not to wait (seen on a loop device, whose 4 tags an ext4
//! that discards online fills). The runner tells its observer how long that took. Metadata commands
//! are issued in the next [`Target::reap`], whose deadline says whether the caller has something
//! else to do meanwhile.
//!
//! A data command ends when `reap` takes its completion, hence later by whatever the caller did
//! since its last call; a metadata command ends at the return of its system call, read on the same
//! thread.

mod buffers;
mod data;
mod discard_path;
mod error;
mod files;
mod metadata;
mod name;
mod program;
mod ring;
mod stream;
mod workspace;

use std::collections::VecDeque;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Mode, OFlags, StatVfs, StatVfsMountFlags};
use trimbench_claim::inspect::{direct_io_alignment, is_physical_ssd};
use trimbench_claim::mounts::{Mount, mount_of};
use trimbench_claim::room::{PromisedRoom, RoomPromise, free_and_reserve};
use trimbench_claim::sysfs::{BlockDevice, devices_of, masked_device};
use trimbench_claim::{errno_of, random};
use trimbench_core::text::shell_word;
use trimbench_core::{
    BlockRequest, Bytes, Capabilities, Caveat, Clock, Completion, DeviceStatistics, Errno,
    FileCommand, FileId, Instant, Medium, MountDiscard, Nanos, ProgramEnd, Rejected, Status,
    Storage, Tag, Target,
};

use crate::clock::{MonotonicClock, exact_timers};
use crate::drain::drain_rule;
use crate::ioctl;
use crate::mount_option::{BorrowedMountOption, MountRestored, switchable_ways};
use crate::size_classes::Direction;
use crate::statistics::DeviceCounters;
use crate::tracepoints::{Tracer, TracingError};
use crate::workers::Workers;

use buffers::Pool;
use data::{Access, DataPath, Ended, Request};
pub use discard_path::{DirectoryDiscardPath, DiscardObstacle};
pub use error::DirectoryError;
use error::Problem;
use files::{Files, Place};
use metadata::{Finished, Job, Workplace};
use name::Name;
use program::{ProgramSlot, ProgramStop};
use ring::Ring;
use stream::Streams;
use workspace::{LeftWorkspace, PROBE};
pub(crate) use workspace::{Workspace, clean_leftovers};

#[cfg(test)]
mod tests;

/// Less than this above the reserve is of no use to any method.
const LEAST_AVAILABLE: Bytes = Bytes(16 << 20);
/// A quick metadata command runs on the caller's thread only if nothing is due for so long: the
/// deletion of a large, scattered file takes tenths of a second.
const INLINE_SLACK: Nanos = Nanos::from_secs(1);
/// Memory for data under way. Requests for which there is none wait.
const BUFFER_LIMIT: Bytes = Bytes::mib(256);
/// The longest single wait; `reap` waits again.
const LONGEST_WAIT: Nanos = Nanos::from_secs(3_600);

/// What a user of [`DirectoryTarget`] can choose.
#[derive(Clone, Debug, Default)]
pub struct DirectoryOptions {
    /// Seed of the random file content.
    pub seed: u64,
    /// What the files will take at the most. Runs side by side in the same filesystem leave it free
    /// for each other, beside the reserve.
    pub room: Bytes,
    /// Whether the user agrees that the filesystem is remounted to discard otherwise, for a while.
    pub may_remount: bool,
    /// The line for a shell that the user permits to run.
    pub program: Option<String>,
}

/// A directory on a mounted filesystem.
///
/// Works in a directory `.trimbench-…` of its own, removed by [`DirectoryTarget::close`] or when
/// dropped; after `kill -9` by the next [`DirectoryTarget::open`] in the same place. Both wait for
/// what is under way: the kernel still uses our memory.
pub struct DirectoryTarget {
    // The order is that of dropping: first what uses the files, last what removes them.
    /// The workers wait for the program's end.
    program: ProgramStop,
    data: DataPath,
    workers: Workers<Job, Finished>,
    files: Files,
    workplace: Arc<Workplace>,
    /// The way to discard, once it was switched; put back before the files are removed.
    option: Option<Box<BorrowedMountOption>>,
    may_remount: bool,
    permitted: Option<String>,
    workspace: Workspace,
    /// Given back when the files are gone.
    _promise: RoomPromise,
    promised: PromisedRoom,
    clock: MonotonicClock,
    capabilities: Capabilities,
    discard_path: DirectoryDiscardPath,
    caveats: Vec<Caveat>,
    cleaned: Vec<PathBuf>,
    statistics: DeviceCounters,
    devices: Vec<BlockDevice>,
    tracer: Option<Tracer>,
    /// Metadata commands that may start; `reap` decides where.
    due: VecDeque<(Tag, FileCommand)>,
    /// Commands that failed before the kernel saw them.
    failed: Vec<(Tag, FileId, Errno)>,
    outstanding: u64,
    ended: Vec<Ended>,
    finished: Vec<Finished>,
}

/// What [`DirectoryTarget::suspend`] leaves.
#[derive(Debug)]
pub(crate) struct SuspendedDirectory {
    files: Files,
    workspace: LeftWorkspace,
    clock: MonotonicClock,
}

impl std::fmt::Debug for DirectoryTarget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("DirectoryTarget")
            .field("path", &self.workspace.path())
            .field("capabilities", &self.capabilities)
            .field("outstanding", &self.outstanding)
            .finish_non_exhaustive()
    }
}

impl DirectoryTarget {
    /// Prepares a directory of its own in `parent`, after removing what crashed runs left there.
    ///
    /// What was left is removed and the filesystem synced before this returns; the discards of it
    /// may follow later (see [`crate::DRAIN_RULES`]).
    pub fn open(parent: &Path, options: DirectoryOptions) -> Result<Self, DirectoryError> {
        let mount = examine(parent)?;
        let cleaned = clean(parent, &mount)?;
        let make = || Workspace::create(parent).map_err(|errno| not_writable(parent, errno));
        Self::in_workspace((parent, &mount), options, (MonotonicClock::start(), cleaned), make)
    }

    /// A target in the workspace that `make` gives.
    fn in_workspace(
        (parent, mount): (&Path, &Mount),
        options: DirectoryOptions,
        (clock, cleaned): (MonotonicClock, Vec<PathBuf>),
        make: impl FnOnce() -> Result<Workspace, Problem>,
    ) -> Result<Self, DirectoryError> {
        let promise = RoomPromise::new(mount.device, options.room)
            .map_err(kernel("announce the room that is needed"))?;
        let promised = promise.of_others().map_err(kernel("see the room that other runs need"))?;
        let medium = room(parent, promised.respected)?;
        if let Some(folder) = masked_device(mount) {
            return Err(Problem::Masked { folder }.into());
        }
        let statistics = DeviceCounters::open(mount)
            .ok_or_else(|| Problem::NoDiscardCounters { path: parent.to_owned() })?;
        let workspace = make()?;
        let directory = workspace.directory().map_err(kernel("open the working directory"))?;
        let io_block = io_block(&directory)?;
        let (access, mut caveats) = access_of(&workspace, mount)?;
        if !is_physical_ssd(mount) {
            caveats.push(Caveat::NotAPhysicalSsd);
        }
        let stamp = random().map_err(kernel("read `/dev/urandom`"))?;
        let program = Arc::new(ProgramSlot::new(parent.to_owned()));
        let workplace = Arc::new(Workplace {
            program: Arc::clone(&program),
            directory,
            direct: access.direct,
            is_xfs: mount.filesystem == "xfs",
            inactivating: AtomicBool::new(false),
            streams: Streams::new(io_block, options.seed, stamp),
        });
        let ring = Ring::new().map_err(kernel("set up io_uring"))?;
        let workers = metadata::start(Arc::clone(&workplace), ring.event(), clock)
            .map_err(kernel("start threads"))?;
        let pool = Pool::new(BUFFER_LIMIT, options.seed, stamp);
        let discard_path = DirectoryDiscardPath::of(mount);
        Ok(Self {
            program: ProgramStop(program),
            data: DataPath::new(ring, pool, access),
            workers,
            files: Files::default(),
            workplace,
            option: None,
            may_remount: options.may_remount,
            permitted: options.program,
            workspace,
            _promise: promise,
            promised,
            clock,
            capabilities: capabilities(mount, medium, discard_path),
            discard_path,
            caveats,
            cleaned,
            statistics,
            devices: devices_of(mount),
            tracer: None,
            due: VecDeque::new(),
            failed: Vec::new(),
            outstanding: 0,
            ended: Vec::new(),
            finished: Vec::new(),
        })
    }

    /// Waits for what is under way, puts the mount back as it was, and removes everything that was
    /// made.
    pub fn close(self) -> Result<(), DirectoryError> {
        let Self { program, data, workers, files, workplace, .. } = self;
        let (option, mut workspace) = (self.option, self.workspace);
        drop(program);
        drop((data, workers, files, workplace));
        let restored = option.map(|option| option.restore());
        let path = workspace.path().to_owned();
        workspace.remove().map_err(|errno| Problem::Removal { path, errno })?;
        match restored.filter(MountRestored::needs_attention) {
            Some(restored) => Err(Problem::NotRestored { restored }.into()),
            None => Ok(()),
        }
    }

    /// Lets go of the filesystem, so that it can be unmounted; the files stay for
    /// [`Self::resume`]. No command may be outstanding.
    pub(crate) fn suspend(self) -> SuspendedDirectory {
        let Self { data, workers, mut files, workplace, workspace, clock, .. } = self;
        files.close_all();
        drop((data, workers, workplace));
        SuspendedDirectory { files, workspace: workspace.leave(), clock }
    }

    /// Goes on with what [`Self::suspend`] left, in the same directory of the filesystem as it is
    /// mounted now. The counters of requests begin anew.
    pub(crate) fn resume(
        parent: &Path,
        options: DirectoryOptions,
        suspended: SuspendedDirectory,
    ) -> Result<Self, DirectoryError> {
        let SuspendedDirectory { files, workspace, clock } = suspended;
        let mount = examine(parent)?;
        let make =
            || Workspace::enter(parent, workspace).map_err(|errno| not_writable(parent, errno));
        let resumed = Self::in_workspace((parent, &mount), options, (clock, Vec::new()), make)?;
        Ok(Self { files, ..resumed })
    }

    /// The mount of the filesystem as it is now.
    fn mount_now(&self) -> Result<Mount, Rejected> {
        mount_of(self.workspace.path()).map_err(|error| not_switched(&error))
    }

    /// The directory of its own.
    pub fn path(&self) -> &Path {
        self.workspace.path()
    }

    /// What crashed runs had left, and is gone now.
    pub fn cleaned_leftovers(&self) -> &[PathBuf] {
        &self.cleaned
    }

    /// Room in the filesystem that was promised to other runs when this one began.
    pub fn promised_to_others(&self) -> PromisedRoom {
        self.promised
    }

    /// What a run in this directory might write to files by now, for a forecast: free space less
    /// the reserve. `None` where that cannot be known.
    pub fn room_in(parent: &Path) -> Option<Bytes> {
        let (free, reserve) = free_and_reserve(&rustix::fs::statvfs(parent).ok()?);
        Some(free.saturating_sub(reserve))
    }

    /// Whether the filesystem of `parent` has free space, and no inode for another file.
    pub fn has_no_inodes(parent: &Path) -> bool {
        rustix::fs::statvfs(parent).is_ok_and(|status| lacks_inodes(&status))
    }

    /// The way that discards of deleted files take, and what is in it.
    pub fn discard_path(&self) -> DirectoryDiscardPath {
        self.discard_path
    }

    /// What any figure measured here must carry.
    pub fn caveats(&self) -> &[Caveat] {
        &self.caveats
    }

    fn launch(&mut self, tag: Tag, command: FileCommand) {
        let (direction, id, offset, length) = match command {
            FileCommand::Read { file, offset, length } => (Direction::Read, file, offset, length),
            FileCommand::Write { file, offset, length } => (Direction::Write, file, offset, length),
            _ => return self.due.push_back((tag, command)),
        };
        match self.opened(id) {
            Ok(file) => {
                let moved = Bytes(0);
                self.data.start(Request { tag, id, file, direction, offset, length, moved });
            }
            Err(errno) => self.failed.push((tag, id, errno)),
        }
    }

    /// The file, opened again if it was closed to keep their number low.
    fn opened(&mut self, id: FileId) -> Result<Arc<OwnedFd>, Errno> {
        if let Some(open) = self.files.open(id) {
            return Ok(open);
        }
        let name = Name::of(id, self.files.place(id));
        let open = self.workplace.open(&name, OFlags::empty())?;
        self.files.keep_open(id, Arc::clone(&open));
        Ok(open)
    }

    /// Hands metadata commands to the threads, or executes a single one here if the caller has
    /// nothing to do meanwhile.
    fn start_due(&mut self, deadline: Instant, news: bool, out: &mut Vec<Completion>) {
        while let Some((tag, command)) = self.due.pop_front() {
            let file = command.file();
            let place = file.map_or_else(Place::default, |file| self.files.place(file));
            let open = file.and_then(|file| match command {
                FileCommand::Unlink { .. } => self.files.take_open(file),
                _ => self.files.open(file),
            });
            let job = Job { tag, command, place, open };
            let alone = self.outstanding == 1 && !news;
            if alone && may_block_caller(command, deadline.since(self.clock.now()), deadline) {
                let finished = self.workplace.execute(job, self.clock);
                self.finish_metadata(finished, out);
            } else {
                self.workers.give(job);
            }
        }
    }

    fn collect(&mut self, out: &mut Vec<Completion>) {
        let mut ended = std::mem::take(&mut self.ended);
        let rang = self.data.collect(&mut ended);
        if !ended.is_empty() {
            let at = self.clock.now();
            for Ended { tag, id, status } in ended.drain(..) {
                self.finish(Some(id), Completion { tag, at, status }, out);
            }
        }
        self.ended = ended;
        if rang {
            let mut finished = std::mem::take(&mut self.finished);
            self.workers.take_finished(&mut finished);
            for each in finished.drain(..) {
                self.finish_metadata(each, out);
            }
            self.finished = finished;
        }
        while let Some((tag, id, errno)) = self.failed.pop() {
            let at = self.clock.now();
            self.finish(Some(id), Completion { tag, at, status: Status::Failed(errno) }, out);
        }
    }

    fn finish_metadata(&mut self, finished: Finished, out: &mut Vec<Completion>) {
        let Finished { tag, command, at, status, open } = finished;
        let file = command.file();
        if let Some(file) = file {
            match (command, status, open) {
                (_, Status::Failed(errno), _)
                    if command.makes() && errno != Errno(libc::EEXIST) =>
                {
                    self.files.never_came(file);
                }
                (_, _, Some(open)) => self.files.keep_open(file, open),
                _ => {}
            }
        }
        self.finish(file, Completion { tag, at, status }, out);
    }

    fn finish(&mut self, file: Option<FileId>, completion: Completion, out: &mut Vec<Completion>) {
        out.push(completion);
        self.outstanding -= 1;
        let Some(file) = file else { return };
        self.files.ended(file);
        while let Some((tag, command)) = self.files.startable(file) {
            self.launch(tag, command);
        }
    }
}

impl Storage for DirectoryTarget {
    type Command = FileCommand;

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn statistics(&self) -> DeviceStatistics {
        DeviceStatistics { outstanding: self.outstanding, ..self.statistics.read() }
    }

    fn watch_requests(&mut self, watch: bool) -> Result<(), Rejected> {
        // The old one first: each costs the machine some time an event.
        self.tracer = None;
        if watch {
            let started = Tracer::start(&self.devices, self.clock);
            let unseen = |error: TracingError| Rejected::Unseen { reason: error.to_string() };
            self.tracer = Some(started.map_err(unseen)?);
        }
        Ok(())
    }

    fn take_requests(&mut self, out: &mut Vec<BlockRequest>) {
        if let Some(tracer) = &mut self.tracer {
            tracer.take(out);
        }
    }

    fn discard_ways(&self) -> Vec<MountDiscard> {
        let filesystem = self.mount_now().map(|mount| mount.filesystem);
        let ways = filesystem.ok().and_then(|filesystem| switchable_ways(&filesystem).ok());
        ways.filter(|_| self.may_remount).map_or_else(Vec::new, <[_]>::to_vec)
    }

    fn switch_discard(&mut self, way: MountDiscard) -> Result<(), Rejected> {
        let filesystem = self.mount_now()?.filesystem;
        let refused = |reason: String| Rejected::NotSwitched { reason };
        switchable_ways(&filesystem).map_err(|why| refused(why.to_owned()))?;
        if !self.may_remount {
            let reason = "it would be remounted with and without `discard` in turns, and put back: \
                          agree to that with `--switch-mount`";
            return Err(refused(reason.to_owned()));
        }
        if self.option.is_none() {
            let taken = BorrowedMountOption::take(self.workspace.path());
            self.option = Some(Box::new(taken.map_err(|error| not_switched(&error))?));
        }
        let option = self.option.as_mut().expect("it was taken");
        option.set(way).map_err(|error| not_switched(&error))?;
        let mount = self.mount_now()?;
        self.discard_path = DirectoryDiscardPath::of(&mount);
        self.capabilities = capabilities(&mount, self.capabilities.medium, self.discard_path);
        Ok(())
    }

    fn extent_count(&self, file: FileId) -> Option<u64> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let name = Name::of(file, self.files.place(file));
        let directory = &self.workplace.directory;
        let open = rustix::fs::openat(directory, name.text(), flags, Mode::empty()).ok()?;
        ioctl::extent_count(open.as_fd()).ok()
    }
}

impl Target for DirectoryTarget {
    #[inline]
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn submit(&mut self, tag: Tag, command: FileCommand) -> Result<(), Rejected> {
        if let FileCommand::Read { offset, length, .. }
        | FileCommand::Write { offset, length, .. }
        | FileCommand::PunchHole { offset, length, .. } = command
        {
            let end = offset.0.checked_add(length.0);
            if length.0 == 0 || end.is_none_or(|end| i64::try_from(end).is_err()) {
                return Err(Rejected::Kernel { errno: Errno(libc::EINVAL) });
            }
        }
        if let Some(number) = made_number(command) {
            let noted = self.workspace.expect_number(number);
            noted.map_err(|errno| Rejected::Kernel { errno })?;
        }
        let starts = match command.file() {
            Some(file) => self.files.admit(tag, file, command)?,
            None => true,
        };
        self.outstanding += 1;
        if starts {
            self.launch(tag, command);
        }
        Ok(())
    }

    fn reap(&mut self, deadline: Instant, out: &mut Vec<Completion>) {
        let before = out.len();
        exact_timers();
        loop {
            self.collect(out);
            self.start_due(deadline, out.len() > before, out);
            if out.len() > before {
                return;
            }
            let now = self.clock.now();
            if now >= deadline {
                // What ended but is not in the ring yet is moved there.
                self.data.enter(None);
                self.collect(out);
                self.start_due(Instant::START, true, out);
                return;
            }
            let forever = deadline == Instant::NEVER && self.outstanding == 0;
            assert!(!forever, "a runner waits for a target that is idle");
            self.data.enter(Some(deadline.since(now).min(LONGEST_WAIT)));
        }
    }

    fn requests_lost(&self) -> u64 {
        self.tracer.as_ref().map_or(0, Tracer::lost)
    }

    fn set_program(&mut self, line: &str) -> Result<(), Rejected> {
        if self.permitted.as_deref() != Some(line) {
            let reason = format!("to run a command, give it: `--command {}`", shell_word(line));
            return Err(Rejected::Refused { reason });
        }
        self.program.0.set(line);
        Ok(())
    }

    fn take_program_end(&mut self) -> Option<ProgramEnd> {
        self.program.0.take_end()
    }

    fn set_source(&mut self, source: &[u8]) {
        self.workplace.streams.set_source(source);
    }
}

fn not_switched(error: &dyn std::error::Error) -> Rejected {
    Rejected::NotSwitched { reason: error.to_string() }
}

/// The number in the name that a command may make.
fn made_number(command: FileCommand) -> Option<u32> {
    match command {
        FileCommand::MakeDirectory { directory, .. } => Some(directory.0),
        command if command.makes() => command.file().map(|file| file.0),
        _ => None,
    }
}

/// Whether a command may be executed while the caller waits. Those that wait for the device only if
/// nothing at all is due; others if nothing is for a while.
fn may_block_caller(command: FileCommand, slack: Nanos, deadline: Instant) -> bool {
    match command {
        FileCommand::Fsync { .. }
        | FileCommand::SyncFilesystem
        | FileCommand::TrimFreeSpace
        | FileCommand::Store { .. }
        | FileCommand::Append { .. }
        | FileCommand::Load { .. } => deadline == Instant::NEVER,
        // A wish to stop is to be heard meanwhile.
        FileCommand::RunProgram | FileCommand::TrimPaced { .. } => false,
        _ => slack >= INLINE_SLACK,
    }
}

fn examine(parent: &Path) -> Result<Mount, Problem> {
    let path = || parent.to_owned();
    match std::fs::metadata(parent) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Problem::Missing { path: path() });
        }
        Err(error) => return Err(Problem::NotWritable { path: path(), errno: errno_of(error) }),
        Ok(found) if !found.is_dir() => return Err(Problem::NotADirectory { path: path() }),
        Ok(_) => {}
    }
    let mount = mount_of(parent)?;
    if let Some(why) = error::unsuitable(&mount.filesystem) {
        let filesystem = mount.filesystem;
        return Err(Problem::UnsupportedFilesystem { path: path(), filesystem, why });
    }
    let status = rustix::fs::statvfs(parent)
        .map_err(|errno| Problem::NotWritable { path: path(), errno: errno_of(errno) })?;
    if status.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(Problem::ReadOnly { path: path() });
    }
    Ok(mount)
}

fn clean(parent: &Path, mount: &Mount) -> Result<Vec<PathBuf>, Problem> {
    let cleaned =
        clean_leftovers(parent, |_, _| ()).map_err(|errno| not_writable(parent, errno))?;
    if !cleaned.is_empty() && mount.filesystem != "tmpfs" {
        // The room counts from the commit on. A failure shows in what follows.
        if let Ok(directory) = std::fs::File::open(parent) {
            let _ = rustix::fs::syncfs(directory);
        }
    }
    Ok(cleaned)
}

fn room(parent: &Path, promised: Bytes) -> Result<Medium, Problem> {
    let status =
        rustix::fs::statvfs(parent).map_err(|errno| not_writable(parent, errno_of(errno)))?;
    let (free, reserve) = free_and_reserve(&status);
    let available = free.saturating_sub(reserve).saturating_sub(promised);
    if available < LEAST_AVAILABLE {
        return Err(Problem::NearlyFull { path: parent.to_owned(), free, reserve, promised });
    }
    Ok(Medium::Directory { available, fs_block: Bytes(status.f_frsize) })
}

/// Whether data can pass the page cache by; found out by trying.
fn access_of(workspace: &Workspace, mount: &Mount) -> Result<(Access, Vec<Caveat>), Problem> {
    let directory = workspace.directory().map_err(kernel("open the working directory"))?;
    let create = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let direct = match rustix::fs::openat(&directory, PROBE, create | OFlags::DIRECT, mode) {
        Ok(_) => true,
        // Some filesystems make the file and refuse to open it so.
        Err(rustix::io::Errno::INVAL) => false,
        Err(errno) => return Err(kernel("make a file")(errno_of(errno))),
    };
    let alignment = direct_io_alignment(&workspace.path().join(PROBE)).unwrap_or(4096);
    match rustix::fs::unlinkat(&directory, PROBE, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(errno) => return Err(kernel("remove a file")(errno_of(errno))),
    }
    // These accept O_DIRECT and use the page cache nevertheless.
    let pretends = mount.filesystem == "tmpfs" || mount.has_option("data=journal");
    let caveats = if direct && !pretends { Vec::new() } else { vec![Caveat::BufferedIo] };
    let alignment = if direct { alignment } else { 1 };
    Ok((Access { direct, alignment }, caveats))
}

/// What the filesystem wants programs to move at a time: the buffer of the C library has this size.
fn io_block(directory: &OwnedFd) -> Result<Bytes, Problem> {
    let status = rustix::fs::fstat(directory)
        .map_err(|errno| kernel("look at the working directory")(errno_of(errno)))?;
    Ok(u64::try_from(status.st_blksize).map_or(Bytes(4_096), Bytes))
}

fn capabilities(mount: &Mount, medium: Medium, discard_path: DirectoryDiscardPath) -> Capabilities {
    let devices = devices_of(mount);
    let queue_depth = devices.iter().filter_map(BlockDevice::queue_depth).sum::<u64>();
    Capabilities {
        clock: Clock::Wall,
        medium,
        discard: discard_path.support(),
        discard_max: discard_path.max,
        discard_granularity: discard_path.granularity,
        // Devices without a queue (a loop device under dm) take one after the other.
        queue_depth: u32::try_from(queue_depth).unwrap_or(u32::MAX).max(1),
        drain: drain_rule(&mount.filesystem, discard_path.mount),
    }
}

fn not_writable(path: &Path, errno: Errno) -> Problem {
    let path = path.to_owned();
    match errno.0 {
        libc::EROFS => Problem::ReadOnly { path },
        libc::ENOSPC if DirectoryTarget::has_no_inodes(&path) => Problem::NoInodes { path },
        _ => Problem::NotWritable { path, errno },
    }
}

/// Filesystems that make inodes as they need them say 0 of 0, or run out of space first.
fn lacks_inodes(status: &StatVfs) -> bool {
    status.f_files > 0 && status.f_favail == 0 && status.f_bavail > 0
}

fn kernel(operation: &'static str) -> impl Fn(Errno) -> Problem {
    move |errno| Problem::Kernel { operation, errno }
}
