//! Stalls planted for `trimbench_doctor::watch`: by slow discards, by a slow disk without discards,
//! by a frozen filesystem; and a load that discards nothing, on a disk that stands still at times.
//!
//! The load is threads that read and write files of an ext4 on a disk that can be made slow
//! ([`SlowDisk`]).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use trimbench_core::rng::Rng;
use trimbench_core::{Interrupt, Nanos};
use trimbench_doctor::watch::{WatchOptions, WatchReason, WatchReport, WatchVerdict, watch};

use crate::Need::{self, Fuse, Loop, Program, Root, Tracing};
use crate::slow_disk::{SlowDevice, SlowDisk};

/// What the machine must have.
pub const STALLED_NEEDS: [Need; 6] =
    [Root, Loop, Fuse, Tracing, Program("mkfs.ext4"), Program("fsfreeze")];

/// What a thread moves at a time, and its alignment.
const PIECE: usize = 4096;
/// Pieces in a file.
const PIECES: usize = 256;
/// A thread rests so long between two calls.
const REST: Duration = Duration::from_millis(2);
/// Files that are deleted, every second one, and how many at once.
const VICTIMS: usize = 256;
const BURST: usize = 4;

/// What is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallPlant {
    /// Each discard stops the disk for 20 ms; files are deleted at random times.
    SlowDiscards,
    /// Each request takes 20 ms longer, and there are no discards.
    SlowDisk,
    /// The filesystem is frozen for 2 s, again and again: the first may begin before the watch.
    FrozenFilesystem,
    /// No discards; the disk stands still for half a second at random times.
    NoDiscards,
}

impl StallPlant {
    /// Those that have one right answer.
    pub const NAMED: [Self; 3] = [Self::SlowDiscards, Self::SlowDisk, Self::FrozenFilesystem];

    /// Its name.
    pub const fn id(self) -> &'static str {
        match self {
            Self::SlowDiscards => "slow-discards",
            Self::SlowDisk => "slow-disk",
            Self::FrozenFilesystem => "frozen-filesystem",
            Self::NoDiscards => "no-discards",
        }
    }

    /// Whether it is named rightly.
    pub fn is_named(self, report: &WatchReport) -> bool {
        let found = (report.findings.verdict, report.findings.reason);
        match self {
            Self::SlowDiscards => {
                found == (WatchVerdict::Trim, WatchReason::StallsBeginUnderDiscards)
            }
            Self::SlowDisk => found == (WatchVerdict::NotTrim, WatchReason::DeviceSlow),
            Self::FrozenFilesystem => {
                found == (WatchVerdict::NotTrim, WatchReason::AboveDevice)
                    && report.findings.waits_above.as_ref().is_some_and(|waits| waits.frozen)
            }
            Self::NoDiscards => found.0 != WatchVerdict::Trim,
        }
    }

    /// Whether the report says nothing against it: it names it, or too little to name anything.
    pub fn is_not_contradicted(self, report: &WatchReport) -> bool {
        let is_acquitted = self != Self::SlowDiscards
            && report.findings.verdict == WatchVerdict::NotTrim
            && report.findings.reason == WatchReason::NoDiscardInStalls;
        self.is_named(report) || is_acquitted || report.findings.verdict == WatchVerdict::CannotTell
    }

    /// Plants it and watches for so long; `counters_only` as of [`WatchOptions`].
    ///
    /// # Panics
    /// If the machine cannot do it: [`crate::requires`] said that it can.
    pub fn watched(self, seed: u64, span: Nanos, counters_only: bool) -> WatchReport {
        let options = if self == Self::SlowDiscards { "discard" } else { "nodiscard" };
        let stop = if self == Self::SlowDiscards { 20 } else { 0 };
        let device = SlowDevice::stopped_by_discards(256, Duration::from_millis(stop));
        let disk = SlowDisk::on(device, "ext4", &[], options);
        let loads = [false, true, true].into_iter().enumerate();
        let loads: Vec<FileLoad> =
            loads.map(|(number, writes)| FileLoad::new(disk.path(), number, writes)).collect();
        let victims = self.victims(disk.path());
        rustix::fs::syncfs(File::open(disk.path()).expect("it is mounted")).expect("it is well");
        thread::scope(|scope| {
            let mut stops = Vec::new();
            for load in loads {
                let (stop, stopped) = channel::<()>();
                stops.push(stop);
                scope.spawn(move || load.work(&stopped));
            }
            let (stop, stopped) = channel::<()>();
            stops.push(stop);
            let disk = &disk;
            let plants = scope.spawn(move || self.plant(disk, &victims, seed, &stopped));
            let report = watch(&WatchOptions {
                target: disk.path().to_owned(),
                span,
                counters_only,
                own_reads: true,
                interrupt: Interrupt::default(),
            });
            drop(stops);
            disk.delay(Duration::ZERO);
            plants.join().expect("no panic");
            report.expect("a loop device can be watched")
        })
    }

    fn victims(self, folder: &Path) -> Vec<PathBuf> {
        if self != Self::SlowDiscards {
            return Vec::new();
        }
        let all = (0..VICTIMS).map(|number| folder.join(format!("victim-{number}")));
        let all: Vec<PathBuf> = all.collect();
        for path in &all {
            std::fs::write(path, vec![1; 64 << 10]).expect("there is room");
        }
        // Of neighbours the second stays: what is freed does not become one discard.
        all.into_iter().step_by(2).collect()
    }

    fn plant(self, disk: &SlowDisk, victims: &[PathBuf], seed: u64, stopped: &Receiver<()>) {
        let mut rng = Rng::new(seed);
        let mut rest = |mean: u64| {
            let span = Nanos::from_millis(100) + rng.exponential(Nanos::from_millis(mean));
            stopped.recv_timeout(Duration::from_nanos(span.0)) == Err(RecvTimeoutError::Timeout)
        };
        match self {
            Self::SlowDiscards => {
                for burst in victims.chunks(BURST) {
                    if !rest(300) {
                        break;
                    }
                    for victim in burst {
                        std::fs::remove_file(victim).expect("it is there");
                    }
                    let folder = File::open(disk.path()).expect("it is mounted");
                    rustix::fs::syncfs(folder).expect("the disk fails no command");
                }
            }
            Self::SlowDisk => disk.delay(Duration::from_millis(20)),
            Self::FrozenFilesystem => {
                while rest(1_000) {
                    let _frozen = FrozenFilesystem::begin(disk.path());
                    let _ = stopped.recv_timeout(Duration::from_secs(2));
                }
            }
            Self::NoDiscards => {
                while rest(5_000) {
                    disk.freeze(true);
                    thread::sleep(Duration::from_millis(500));
                    disk.freeze(false);
                }
            }
        }
    }
}

/// A thread's file, which it goes through over and over.
#[derive(Debug)]
struct FileLoad {
    file: File,
    writes: bool,
}

impl FileLoad {
    fn new(folder: &Path, number: usize, writes: bool) -> Self {
        let direct = i32::try_from(OFlags::DIRECT.bits()).expect("a flag of open");
        let path = folder.join(format!("load-{number}"));
        std::fs::write(&path, vec![1; PIECES * PIECE]).expect("there is room");
        let file = OpenOptions::new().read(true).write(true).custom_flags(direct).open(&path);
        Self { file: file.expect("it was just made"), writes }
    }

    /// Works until the other end of the channel is gone.
    fn work(&self, stopped: &Receiver<()>) {
        // Direct I/O wants aligned memory.
        let mut memory = vec![1; 2 * PIECE];
        let start = memory.as_ptr().align_offset(PIECE);
        let buffer = &mut memory[start..start + PIECE];
        let mut count = 0;
        while stopped.recv_timeout(REST) == Err(RecvTimeoutError::Timeout) {
            self.call(count, buffer).expect("the disk fails no command");
            count += 1;
        }
    }

    fn call(&self, count: usize, buffer: &mut [u8]) -> io::Result<()> {
        let offset = (count % PIECES * PIECE) as u64;
        if self.writes {
            self.file.write_all_at(buffer, offset)
        } else {
            self.file.read_exact_at(buffer, offset)
        }
    }
}

/// Thawed when dropped, whatever happens.
struct FrozenFilesystem<'a>(&'a Path);

impl<'a> FrozenFilesystem<'a> {
    fn begin(path: &'a Path) -> Self {
        let new = Self(path);
        crate::run("fsfreeze", &["--freeze", path.to_str().expect("temporary names are ASCII")]);
        new
    }
}

impl Drop for FrozenFilesystem<'_> {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("--unfreeze").arg(self.0).output();
    }
}
