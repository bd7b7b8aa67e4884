//! Commands on names and sizes, executed where they delay nobody.
//!
//! These system calls block, for seconds when a device stalls. They run on a few threads; inline
//! only if the caller has nothing else to do meanwhile, because a hop to a thread and back costs 10
//! us when the cores are awake and about 45 us when they are not.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags};
use trimbench_claim::errno_of;
use trimbench_core::{Errno, FileCommand, Instant, Nanos, Status, Tag};

use crate::clock::{MonotonicClock, pause};
use crate::ioctl;
use crate::workers::Workers;

use super::files::Place;
use super::name::Name;
use super::program::ProgramSlot;
use super::stream::Streams;

/// Threads: one for a FITRIM that takes minutes, one for a sync that takes seconds, two to go on.
const THREADS: usize = 4;

/// How long to wait for XFS to free unlinked files where its own wait is not permitted: it starts
/// one jiffy (at most 10 ms) after the unlink at the latest.
const XFS_INACTIVATION: Nanos = Nanos::from_millis(20);

/// Where and how files are opened; the same for all threads.
#[derive(Debug)]
pub(super) struct Workplace {
    pub(super) directory: OwnedFd,
    pub(super) direct: bool,
    /// Whether files are freed some time after they were unlinked.
    pub(super) is_xfs: bool,
    /// Set by an unlink on XFS, until it was waited for.
    pub(super) inactivating: AtomicBool,
    pub(super) streams: Streams,
    pub(super) program: Arc<ProgramSlot>,
}

pub(super) struct Job {
    pub(super) tag: Tag,
    pub(super) command: FileCommand,
    pub(super) place: Place,
    pub(super) open: Option<Arc<OwnedFd>>,
}

pub(super) struct Finished {
    pub(super) tag: Tag,
    pub(super) command: FileCommand,
    pub(super) at: Instant,
    pub(super) status: Status,
    /// The file, if it is open afterwards.
    pub(super) open: Option<Arc<OwnedFd>>,
}

impl Workplace {
    /// Opens a file of ours; `extra` to make it.
    pub(super) fn open(&self, name: &Name, extra: OFlags) -> Result<Arc<OwnedFd>, Errno> {
        let direct = if self.direct { OFlags::DIRECT } else { OFlags::empty() };
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | direct | extra;
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::openat(&self.directory, name.text(), flags, mode)
            .map(Arc::new)
            .map_err(errno_of)
    }

    /// Executes a command, on any thread, and says when it ended.
    pub(super) fn execute(&self, job: Job, clock: MonotonicClock) -> Finished {
        let Job { tag, command, place, open } = job;
        let result = match command.file() {
            Some(file) => self.perform(command, &Name::of(file, place), open),
            None => self.perform_on_all(command).map(|()| None),
        };
        let (status, open) = match result {
            Ok(open) => (Status::Done, open),
            Err(errno) => (Status::Failed(errno), None),
        };
        Finished { tag, command, at: clock.now(), status, open }
    }

    /// Executes a command on a file; the file, if it is open afterwards.
    fn perform(
        &self,
        command: FileCommand,
        name: &Name,
        open: Option<Arc<OwnedFd>>,
    ) -> Result<Option<Arc<OwnedFd>>, Errno> {
        match command {
            FileCommand::Create { .. } => {
                return self.open(name, OFlags::CREATE | OFlags::EXCL).map(Some);
            }
            FileCommand::Unlink { .. } => {
                // Closed first: the filesystem frees the blocks with the last reference, and that
                // shall be this unlink.
                drop(open);
                rustix::fs::unlinkat(&self.directory, name.text(), AtFlags::empty())
                    .map_err(errno_of)?;
                self.inactivating.store(self.is_xfs, Ordering::Relaxed);
                return Ok(None);
            }
            FileCommand::Store { length, stream, .. } => {
                self.streams.store(&self.directory, name, length, stream)?;
                return Ok(None);
            }
            FileCommand::Append { length, stream, .. } => {
                self.streams.append(&self.directory, name, length, stream)?;
                return Ok(open);
            }
            FileCommand::Load { length, stream, .. } => {
                self.streams.load(&self.directory, name, length, stream)?;
                return Ok(open);
            }
            _ => {}
        }
        let open = open.map_or_else(|| self.open(name, OFlags::empty()), Ok)?;
        let result = match command {
            FileCommand::Truncate { length, .. } => rustix::fs::ftruncate(&open, length.0),
            FileCommand::PunchHole { offset, length, .. } => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(&open, flags, offset.0, length.0)
            }
            FileCommand::Fsync { .. } => {
                self.wait_for_inactivation();
                rustix::fs::fsync(&open)
            }
            other => unreachable!("{other:?} moves data and is not executed here"),
        };
        result.map_err(errno_of)?;
        Ok(Some(open))
    }

    fn perform_on_all(&self, command: FileCommand) -> Result<(), Errno> {
        match command {
            FileCommand::SyncFilesystem => rustix::fs::syncfs(&self.directory).map_err(errno_of),
            FileCommand::TrimFreeSpace => ioctl::trim_free_space(self.directory.as_fd()),
            FileCommand::RunProgram => self.program.run(),
            FileCommand::TrimPaced { p99 } => self.program.trim_paced(p99),
            FileCommand::MakeDirectory { directory } => {
                let name = Name::of_directory(directory);
                rustix::fs::mkdirat(&self.directory, name.text(), Mode::RWXU).map_err(errno_of)
            }
            FileCommand::RemoveDirectory { directory } => {
                let name = Name::of_directory(directory);
                rustix::fs::unlinkat(&self.directory, name.text(), AtFlags::REMOVEDIR)
                    .map_err(errno_of)
            }
            other => unreachable!("{other:?} is about a file"),
        }
    }

    /// On XFS: waits until the blocks of unlinked files are freed, in the log at least. An fsync
    /// before that would not force their discards (see [`crate::DRAIN_RULES`]).
    fn wait_for_inactivation(&self) {
        if !self.inactivating.swap(false, Ordering::Relaxed)
            || ioctl::xfs_wait_for_inactivation(self.directory.as_fd()).is_ok()
        {
            return;
        }
        // Without CAP_SYS_ADMIN: statfs starts it at once (`xfs_inodegc_push`), nothing waits.
        let _ = rustix::fs::fstatfs(&self.directory);
        pause(XFS_INACTIVATION);
    }
}

/// Starts the threads. `event` is rung for each command that ends.
pub(super) fn start(
    workplace: Arc<Workplace>,
    event: Arc<OwnedFd>,
    clock: MonotonicClock,
) -> Result<Workers<Job, Finished>, Errno> {
    let perform = Box::new(move |job| workplace.execute(job, clock));
    let mut workers = Workers::new("trimbench-meta", event, perform);
    (0..THREADS).try_for_each(|_| workers.start())?;
    Ok(workers)
}
