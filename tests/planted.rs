//! Stalls planted on real filesystems, and the data of callers and of the block layer about them:
//! the test of stall attribution.
//!
//! Callers write, read, sync, make and remove files, each a thread that waits for one system call
//! at a time, on ext4 with `discard` on a disk that can be stopped ([`SlowDisk`]).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::time::{ClockId, clock_gettime};
use trimbench_core::units::index;
use trimbench_core::{
    BlockRequest, CallerWait, Completion, Instant, Nanos, OperationKind, Storage as _, Target as _,
};
use trimbench_engine::StallLayer;
use trimbench_linux::{DirectoryOptions, DirectoryTarget};

use crate::slow_disk::SlowDisk;

/// What a caller moves at a time, and its alignment.
const PIECE: usize = 4096;
/// Pieces in its file, which it goes through over and over.
const PIECES: u64 = 256;
/// The file that is deleted just before a stall, so that discards are held up with the rest.
const VICTIM: (&str, usize) = ("victim", 32 << 20);
/// A caller rests so long between two calls.
const REST: Duration = Duration::from_millis(2);

/// A stall that is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// The disk does nothing for 2 s.
    FrozenDevice,
    /// The filesystem is frozen for 2 s (`fsfreeze`); the disk is well.
    FrozenFilesystem,
    /// A disk that is slow and has four tags, for six writers and a reader.
    ExhaustedTags,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Of the callers.
    pub waits: Vec<CallerWait>,
    /// Of the disk.
    pub requests: Vec<BlockRequest>,
    /// Events that were lost.
    pub lost: u64,
}

impl Planted {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FrozenDevice, Self::FrozenFilesystem, Self::ExhaustedTags];

    /// Its name.
    pub const fn id(self) -> &'static str {
        match self {
            Self::FrozenDevice => "frozen-device",
            Self::FrozenFilesystem => "frozen-filesystem",
            Self::ExhaustedTags => "exhausted-tags",
        }
    }

    /// Waits longer than this are of the stall. With exhausted tags it lies between 0.6 s, the time
    /// of a request in the device, and 1.05 s, that of seven callers who share four tags.
    pub const fn threshold(self) -> Nanos {
        match self {
            Self::FrozenDevice | Self::FrozenFilesystem => Nanos::from_millis(500),
            Self::ExhaustedTags => Nanos::from_millis(800),
        }
    }

    /// Where its stalled time lies.
    pub const fn layers(self) -> &'static [StallLayer] {
        match self {
            Self::FrozenDevice => &[StallLayer::Device],
            Self::FrozenFilesystem => &[StallLayer::Above],
            Self::ExhaustedTags => &[StallLayer::Device, StallLayer::Tags],
        }
    }

    /// How long callers are stalled, at the least.
    pub const fn least_stall(self) -> Nanos {
        match self {
            Self::FrozenDevice | Self::FrozenFilesystem => Nanos::from_millis(1_900),
            Self::ExhaustedTags => Nanos::from_secs(4),
        }
    }

    /// Plants it and watches.
    ///
    /// # Panics
    /// If the machine cannot do it: [`crate::requires`] said that it can.
    pub fn watch(self) -> Seen {
        let disk = SlowDisk::new("ext4", 256, "discard");
        let mut target = DirectoryTarget::open(disk.path(), DirectoryOptions::default())
            .expect("the directory is suitable");
        let callers: Vec<Caller> = self
            .callers()
            .into_iter()
            .enumerate()
            .map(|(number, does)| Caller::new(disk.path(), number, does))
            .collect();
        let victim = disk.path().join(VICTIM.0);
        std::fs::write(&victim, vec![1; VICTIM.1]).expect("there is room");
        let folder = File::open(disk.path()).expect("it is mounted");
        rustix::fs::syncfs(folder).expect("the disk fails no command");
        target.watch_requests(true).expect("root may trace");
        let origin = monotonic().saturating_sub(target.now().since_start());
        let waits = std::thread::scope(|scope| {
            let (mut stops, mut threads) = (Vec::new(), Vec::new());
            for caller in callers {
                let (stop, stopped) = channel::<()>();
                stops.push(stop);
                threads.push(scope.spawn(move || caller.work(&stopped, origin)));
            }
            pass(&mut target, Nanos::from_millis(300));
            self.plant(&disk, &mut target);
            drop(stops);
            let waits = threads.into_iter().flat_map(|thread| thread.join().expect("no panic"));
            waits.collect()
        });
        pass(&mut target, Nanos::from_millis(1));
        let mut requests = Vec::new();
        target.take_requests(&mut requests);
        let lost = target.requests_lost();
        target.close().expect("the filesystem is still there");
        Seen { waits, requests, lost }
    }

    fn callers(self) -> Vec<Does> {
        match self {
            Self::FrozenDevice | Self::FrozenFilesystem => {
                vec![Does::Write, Does::Write, Does::Sync, Does::Make]
            }
            Self::ExhaustedTags => [vec![Does::Write; 6], vec![Does::Read]].concat(),
        }
    }

    fn plant(self, disk: &SlowDisk, target: &mut DirectoryTarget) {
        match self {
            Self::FrozenDevice => {
                std::fs::remove_file(disk.path().join(VICTIM.0)).expect("it is there");
                disk.freeze(true);
                pass(target, Nanos::from_secs(2));
                disk.freeze(false);
            }
            Self::FrozenFilesystem => {
                let _frozen = Frozen::begin(disk.path());
                pass(target, Nanos::from_secs(2));
            }
            Self::ExhaustedTags => {
                std::fs::write(disk.queue("nr_requests"), "4").expect("root may set it");
                disk.delay(Duration::from_millis(600));
                pass(target, Nanos::from_secs(6));
                disk.delay(Duration::ZERO);
            }
        }
    }
}

/// What a caller does over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Read,
    Write,
    /// Write a piece, then make it durable.
    Sync,
    /// Make a file, then remove it.
    Make,
}

#[derive(Debug)]
struct Caller {
    does: Does,
    file: File,
    /// What it makes and removes.
    other: PathBuf,
}

impl Caller {
    /// With a file of its own that is written.
    fn new(folder: &Path, number: usize, does: Does) -> Self {
        let direct = i32::try_from(OFlags::DIRECT.bits()).expect("a flag of open");
        let path = folder.join(format!("caller-{number}"));
        std::fs::write(&path, vec![1; index(PIECES) * PIECE]).expect("there is room");
        let file = OpenOptions::new().read(true).write(true).custom_flags(direct).open(&path);
        let file = file.expect("it was just made");
        Self { does, file, other: path.with_extension("other") }
    }

    /// Works until the other end of the channel is gone. Times count from `origin`.
    fn work(self, stopped: &Receiver<()>, origin: Nanos) -> Vec<CallerWait> {
        // Direct I/O wants aligned memory.
        let mut memory = vec![1; 2 * PIECE];
        let start = memory.as_ptr().align_offset(PIECE);
        let buffer = &mut memory[start..start + PIECE];
        let mut waits = Vec::new();
        let mut count = 0;
        while stopped.recv_timeout(REST) == Err(RecvTimeoutError::Timeout) {
            let from = monotonic();
            let kind = self.call(count, buffer).expect("the disk fails no command");
            let now = |time: Nanos| Instant::from_start(time.saturating_sub(origin));
            waits.push(CallerWait { kind, from: now(from), to: now(monotonic()) });
            count += 1;
        }
        waits
    }

    /// The system call of this number.
    fn call(&self, count: u64, buffer: &mut [u8]) -> io::Result<OperationKind> {
        let offset = count % PIECES * PIECE as u64;
        match (self.does, count % 2) {
            (Does::Read, _) => {
                self.file.read_exact_at(buffer, offset)?;
                Ok(OperationKind::Read)
            }
            (Does::Write, _) | (Does::Sync, 0) => {
                self.file.write_all_at(buffer, offset)?;
                Ok(OperationKind::Write)
            }
            (Does::Sync, _) => {
                self.file.sync_all()?;
                Ok(OperationKind::Flush)
            }
            (Does::Make, 0) => File::create(&self.other).map(|_| OperationKind::Metadata),
            (Does::Make, _) => {
                std::fs::remove_file(&self.other)?;
                Ok(OperationKind::Metadata)
            }
        }
    }
}

/// A frozen filesystem. Thawed when dropped, whatever happens.
struct Frozen<'a>(&'a Path);

impl<'a> Frozen<'a> {
    fn begin(path: &'a Path) -> Self {
        let new = Self(path);
        let path = path.to_str().expect("temporary names are ASCII");
        crate::run("fsfreeze", &["--freeze", path]);
        new
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("--unfreeze").arg(self.0).output();
    }
}

fn pass(target: &mut DirectoryTarget, span: Nanos) {
    let mut none: Vec<Completion> = Vec::new();
    target.reap(target.now() + span, &mut none);
}

/// The clock that targets on the wall's time count from.
fn monotonic() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    let part = |value: i64| u64::try_from(value).expect("the machine started before now");
    Nanos::from_secs(part(time.tv_sec)) + Nanos(part(time.tv_nsec))
}
