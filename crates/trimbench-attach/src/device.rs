//! An engine behind a loop device.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use fuser::BackgroundSession;
use rustix::fs::MemfdFlags;
use rustix::mm::MlockAllFlags;
use trimbench_claim::sysfs::BlockDevice;
use trimbench_claim::{LoopIo, attach_loop_device, errno_of, users_of};
use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::settings::Named as _;
use trimbench_core::{Bytes, Errno};
use trimbench_linux::available_memory;
use trimbench_ssd::{DriveConfigError, Overreach, SsdConfig, TrimmedReads};

use crate::backing::{self, BackingFileError, BackingPlace, Kept};
use crate::control::DriveStatus;
use crate::delayed::DelayedDrive;
use crate::drive::{self, InitialState};
use crate::engine::{Engine, Timer};
use crate::fuse::ServedFile;
use crate::log::{self, LogEntry, ReplayError};
use crate::store::Store;

/// What is to be attached.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// The drive.
    pub config: SsdConfig,
    /// Faults of it that are planted from the beginning.
    pub faults: FaultPlan,
    /// What each discard frees beside what it says: a planted fault.
    pub overreach: Overreach,
    /// The file that keeps what it holds; without one it is gone with the drive.
    pub backing: Option<BackingPlace>,
    /// The state in which it begins, unless a file has it.
    pub state: InitialState,
    /// How often its time runs slower than the machine's; at least 1.
    pub slow_down: u32,
    /// Whether everything that happens to it is kept for [`Engine::take_log`].
    pub logs: bool,
}

/// Why a drive cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The drive's numbers are none of a drive.
    #[error(transparent)]
    Drive(#[from] DriveConfigError),
    /// The file that was to keep its contents does not.
    #[error(transparent)]
    Backing(#[from] BackingFileError),
    /// The kernel does not give what it takes.
    #[error("{what}: {errno}")]
    Kernel {
        /// What was tried.
        what: &'static str,
        /// Its reason.
        errno: Errno,
    },
}

impl AttachError {
    /// What to do about it.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Kernel { errno: Errno(1 | 13), .. } => Some("a block device is made as root"),
            Self::Kernel { what: FUSE, .. } => Some(
                "the kernel serves the drive by FUSE: `modprobe fuse`; in a container, give it \
                 `/dev/fuse`",
            ),
            Self::Kernel { what: LOOP, .. } => Some(
                "the device is a loop device: `modprobe loop`; in a container, give it \
                 `/dev/loop-control` and loop devices",
            ),
            Self::Backing(error) => error.advice(),
            Self::Kernel { .. } | Self::Drive(_) => None,
        }
    }
}

impl Attachment {
    /// A new drive in real time, without faults, file and log.
    pub fn new(config: SsdConfig) -> Self {
        Self {
            config,
            faults: FaultPlan::default(),
            overreach: Overreach::default(),
            backing: None,
            state: InitialState::Fresh,
            slow_down: 1,
            logs: false,
        }
    }

    /// What it is, once it is this device: for [`crate::ControlSocket`].
    pub fn status(&self, profile: &str, device: PathBuf) -> DriveStatus {
        DriveStatus {
            profile: profile.to_owned(),
            capacity: self.config.capacity.0,
            state: self.state.id().to_owned(),
            device,
            slow_down: self.slow_down,
            process: std::process::id(),
        }
    }

    /// Has a drive that begins as this one did do everything of the log again, in virtual time. How
    /// many commands ended, each at the instant of the log. What a file kept is not known to it.
    ///
    /// # Errors
    /// The first difference; a number out of range.
    pub fn replay(&self, log: &[LogEntry]) -> Result<usize, ReplayError> {
        let mut ssd = drive::made(self.config.clone(), self.state)?;
        ssd.plant_overreach(self.overreach);
        log::replay(&mut DelayedDrive::new(Faulty::new(ssd, self.faults)), log)
    }

    /// Makes the drive and serves it to whoever has the engine, until the timer is dropped.
    ///
    /// # Errors
    /// A number out of range; a file that keeps another drive; no memory.
    pub fn serve(self) -> Result<(Engine, Timer), AttachError> {
        let Self { config, faults, overreach, backing, state, slow_down, logs } = self;
        let (capacity, may_lose) = (config.capacity.0, drive::may_lose(&config));
        let failed =
            |what| move |error: io::Error| AttachError::Kernel { what, errno: errno_of(error) };
        let (mut ssd, store) = if let Some(place) = backing {
            let Kept { file, start, drive, map } = backing::open(&place, config, state)?;
            (drive, Store::new(file, start, may_lose).with_map(map, start + capacity))
        } else {
            let contents = rustix::fs::memfd_create("trimbench-drive", MemfdFlags::CLOEXEC);
            let contents = contents.map_err(|errno| failed(MEMORY)(errno.into()))?;
            let contents = File::from(contents);
            contents.set_len(capacity).map_err(failed(MEMORY))?;
            (drive::made(config, state)?, Store::new(contents, 0, may_lose))
        };
        ssd.plant_overreach(overreach);
        protect(capacity);
        let started = Engine::start(Faulty::new(ssd, faults), store, slow_down, logs);
        started.map_err(failed("no thread can be started"))
    }
}

/// Requests that a loop device has under way at once, unless somebody has changed it.
const QUEUE: u64 = 128;
/// The tables of a drive take at most this part of its capacity: measured was a fortieth of what
/// was written.
const TABLES: u64 = 16;
const FUSE: &str = "no file can be served by FUSE";
const LOOP: &str = "no loop device is to be had";
const MEMORY: &str = "there is no memory for the contents";

/// An emulated drive that is a block device until this is dropped. Programs that have the device
/// open then get EIO from it, and a filesystem on it stays mounted: see [`Self::users`].
#[derive(Debug)]
pub struct AttachedDrive {
    engine: Engine,
    node: PathBuf,
    /// The last of its users, unless others have it open.
    device: Option<OwnedFd>,
    timer: Option<Timer>,
    session: Option<BackgroundSession>,
}

impl AttachedDrive {
    /// Makes the drive and attaches it. Needs root.
    ///
    /// The driver of loop devices sends zeroing that may free blocks exactly as it sends a discard.
    /// So over a loop device discarded blocks read as zeroes, whatever the drive does: anything
    /// else would hand a filesystem old data where it asked for zeroes.
    ///
    /// # Errors
    /// As [`Attachment::serve`]; no root, no FUSE, no loop device.
    pub fn attach(mut attachment: Attachment) -> Result<Self, AttachError> {
        attachment.config.contents.reads = TrimmedReads::Zeroes;
        let (engine, timer) = attachment.serve()?;
        let failed =
            |what| move |error: io::Error| AttachError::Kernel { what, errno: errno_of(error) };
        let served = ServedFile::of(engine.clone()).map_err(failed(FUSE))?;
        let file = served.open().map_err(failed(FUSE))?;
        let attached = attach_loop_device(&file, LoopIo::Direct);
        let (device, node) = attached.map_err(|errno| AttachError::Kernel { what: LOOP, errno })?;
        widen_queue(&node);
        let session = Some(served.into_session());
        Ok(Self { engine, node, device: Some(device), timer: Some(timer), session })
    }

    /// The engine: statistics, faults, the log.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The open device.
    ///
    /// # Panics
    /// Never: it is open until this is dropped.
    pub fn device(&self) -> BorrowedFd<'_> {
        self.device.as_ref().expect("it is open until this is dropped").as_fd()
    }

    /// The block device, such as `/dev/loop3`.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Who uses the device, in words; empty if nobody does.
    pub fn users(&self) -> Vec<String> {
        users_of(&self.node)
    }
}

impl Drop for AttachedDrive {
    fn drop(&mut self) {
        // First nobody waits for an answer any more, then the kernel lets go of the device, which
        // waits for those who have it open.
        drop(self.timer.take());
        drop(self.device.take());
        if let Some(session) = self.session.take()
            && self.users().is_empty()
        {
            let _ = session.join();
        }
    }
}

/// Gives the queue its width and its longest discard again: what somebody wrote for a loop device
/// outlives what was attached to it.
fn widen_queue(node: &Path) {
    let Some(device) = BlockDevice::from_node(node) else { return };
    let queue = device.disk().join("queue");
    let granularity = device.number("queue/discard_granularity").unwrap_or(1).max(1);
    let longest = device.number("queue/discard_max_hw_bytes").unwrap_or(0);
    let longest = longest / granularity * granularity;
    for (name, least) in [("nr_requests", QUEUE), ("discard_max_bytes", longest)] {
        if device.number(&format!("queue/{name}")).is_some_and(|now| now < least) {
            // A queue that stays as it is shows in what is under way at once.
            let _ = std::fs::write(queue.join(name), least.to_string());
        }
    }
}

/// What serves a block device must not wait for memory that only this device can give back.
fn protect(capacity: u64) {
    // Both are refused to who has no right to them, and matter only where memory is short.
    let _ = rustix::process::configure_io_flusher_behavior(true);
    if may_lock(capacity, available_memory()) {
        let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
        let _ = rustix::mm::mlockall(flags);
    }
}

/// Whether all memory that this process maps may be locked, beside so much that is available.
///
/// That is the program and its tables, which grow with what is written, and never the contents,
/// which are mapped nowhere. What is locked cannot be swapped out: it must leave as much to others
/// as it takes, or a large drive takes the machine's memory away for good. Without the lock such a
/// drive becomes slow where memory is short.
fn may_lock(capacity: u64, available: Option<Bytes>) -> bool {
    available.is_some_and(|Bytes(available)| capacity / TABLES <= available / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_that_leave_others_as_much_memory_are_locked() {
        let available = Some(Bytes::gib(8));
        assert!(may_lock(Bytes::gib(64).0, available) && !may_lock(Bytes::gib(65).0, available));
        assert!(!may_lock(Bytes::gib(1).0, None));
    }
}
