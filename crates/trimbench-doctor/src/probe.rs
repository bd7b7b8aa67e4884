//! A live test: one file is written, deleted and trimmed, and the counters of all layers tell how
//! far its discards get.
//!
//! The file has no name (`O_TMPFILE`), so nothing is left if the program is killed. Only the ranges
//! that the file had are trimmed: FITRIM of a whole filesystem can cause the stall that it is to
//! explain. ext4 of Linux 6.8 and later also discards the free blocks around such a range, up to a
//! block group (128 MiB) for each extent of the file: it merges what is freed with its neighbours
//! (commit 68da4c44b994). btrfs discards all unallocated space with each FITRIM, so there it needs
//! consent.
//! Afterwards the ranges are read from the uppermost device: trimmed blocks that read as zeros are
//! gone down to where they are kept; blocks that read as written are not, although a device that
//! promises nothing may show them for a while.
//!
//! Others may discard meanwhile, which the counters include. Needs root.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use trimbench_claim::{errno_of, opening, random};
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Errno, Interrupt, Nanos};
use trimbench_linux::{AlignedBuffer, FileExtent, file_extents, monotonic_time, pause, trim_range};
use trimbench_results::number::quantity;

use crate::device::DeviceNode;
use crate::diagnosis::{Diagnosis, Reach, Stop};
use crate::layer::{Handling, Layer, LayerKind};
use crate::size::size;
use crate::tree::SystemTree;

/// What needs root.
const TRIM: &str = "trim a range (FITRIM)";
/// What the file is compared by.
const BLOCK: usize = 4_096;
/// What is written and read at once.
const CHUNK: usize = 1 << 20;
/// Free space that is asked for, in files.
const ROOM: u64 = 4;
/// How long discards may take to appear and to end.
const LONGEST: Nanos = Nanos::from_secs(8);
/// When no counter has moved for so long they are over.
const QUIET: Nanos = Nanos::from_millis(400);
/// From one look at the counters to the next.
const LOOK: Nanos = Nanos::from_millis(20);
/// The share of the file that has to arrive, %: pools take whole chunks only.
const ARRIVED: u64 = 50;

/// What a live test may do.
#[derive(Clone, Debug)]
pub struct ProbeOptions {
    /// A directory on the filesystem.
    pub directory: PathBuf,
    /// The size of the file.
    pub size: Bytes,
    /// Whether btrfs may discard all its unallocated space as well.
    pub trim_unallocated: bool,
}

/// What a live test found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbeReport {
    /// Bytes that were written and deleted.
    pub written_bytes: u64,
    /// Of these, bytes whose place on the device was known, and trimmed.
    pub mapped_bytes: u64,
    /// What each layer completed meanwhile, from the top to the bottom.
    pub layers: Vec<ProbedLayer>,
    /// What the trimmed blocks read as; `None` where that is not known.
    pub read_back: Option<ReadBack>,
    /// Why it is not known, as a sentence's clause.
    pub not_read: Option<&'static str>,
    /// Why FITRIM was refused, if it was.
    pub refused: Option<String>,
}

/// Discards of one layer during a live test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbedLayer {
    /// The device.
    pub name: String,
    /// Bytes of the discards that it completed.
    pub discarded_bytes: u64,
}

/// What blocks of the file read as after they were trimmed, at the uppermost device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReadBack {
    /// Zeros.
    pub zero_bytes: u64,
    /// What was written.
    pub kept_bytes: u64,
    /// Something else: used by another file by now, or decrypted zeros.
    pub other_bytes: u64,
}

/// Why there was no live test.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// A step needs root.
    #[error("{what}: {errno}: the live test needs root")]
    NotPermitted {
        /// The step.
        what: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
    /// A step failed; nothing is left behind.
    #[error("{what} in `{}`: {errno}", directory.display())]
    Failed {
        /// The step.
        what: &'static str,
        /// Where.
        directory: PathBuf,
        /// What the kernel said.
        errno: Errno,
    },
    /// The filesystem is too full: name a smaller size.
    #[error(
        "`{}` has {} free, and a file of {size} needs {ROOM} times its size",
        directory.display(),
        crate::size::size(free.0)
    )]
    NoRoom {
        /// Where.
        directory: PathBuf,
        /// What is free.
        free: Bytes,
        /// The size of the file.
        size: Bytes,
    },
    /// btrfs would discard more than was agreed to.
    #[error(
        "btrfs discards all unallocated space with each FITRIM, here {}{}",
        size(unallocated.0),
        wait_s.map(|it| format!(", which may take {}", quantity(it, "s"))).unwrap_or_default()
    )]
    Unallocated {
        /// How much that is.
        unallocated: Bytes,
        /// How long it takes at the rate of the discards so far; `None` without any.
        wait_s: Option<f64>,
    },
    /// No filesystem trims an overlay; its upper directory's does.
    #[error("`{}` is an overlay, which cannot be trimmed itself", .0.display())]
    Overlay(PathBuf),
    /// The place has no device that counts discards.
    #[error("no layer below `{}` counts discards", .0.display())]
    NothingCounts(PathBuf),
    /// The user ended it; nothing is left behind.
    #[error("interrupted")]
    Interrupted,
}

/// Writes, deletes and trims one file, and tells what became of its discards.
pub fn probe(
    tree: &SystemTree,
    diagnosis: &Diagnosis,
    options: &ProbeOptions,
    interrupt: &Interrupt,
) -> Result<ProbeReport, ProbeError> {
    let directory = &options.directory;
    let failed = |what| move |errno| failure(what, directory, errno_of(errno));
    let devices = devices(tree, &diagnosis.top);
    if diagnosis.top.kind == LayerKind::Overlay {
        return Err(ProbeError::Overlay(directory.clone()));
    }
    if devices.is_empty() {
        return Err(ProbeError::NothingCounts(directory.clone()));
    }
    if diagnosis.top.title == "btrfs" && !options.trim_unallocated {
        return Err(unallocated(tree, diagnosis));
    }
    let folder = rustix::fs::open(directory, opening::DIRECTORY, Mode::empty())
        .map_err(failed("open the directory"))?;
    // A range of no length is refused, and who may not trim at all is told so first.
    if let Err(errno @ Errno(libc::EPERM | libc::EACCES)) = trim_range(folder.as_fd(), 0, 0, 0) {
        return Err(ProbeError::NotPermitted { what: TRIM, errno });
    }
    let status = rustix::fs::statvfs(directory).map_err(failed("look for free space"))?;
    let free = Bytes(status.f_bavail.saturating_mul(status.f_frsize));
    let size = Bytes(options.size.0.next_multiple_of(CHUNK as u64));
    if free.0 / ROOM < size.0 {
        return Err(ProbeError::NoRoom { directory: directory.clone(), free, size });
    }
    let file = nameless(&folder).map_err(failed("make a file"))?;
    let pattern = Pattern { seed: random().unwrap_or(1) };
    write(&file, &pattern, size, interrupt).map_err(|error| match error {
        Some(errno) => failure("write a file", directory, errno),
        None => ProbeError::Interrupted,
    })?;
    rustix::fs::fsync(&file).map_err(failed("sync a file"))?;
    let extents = file_extents(file.as_fd())
        .map_err(|errno| failure("find the place of a file", directory, errno))?;
    // Only where the place shows what was written can it show later what became of it.
    let shows_it = |it: &BlockReader| {
        let seen = it.read_back(&extents, &pattern);
        seen.kept_bytes > 0 && seen.zero_bytes + seen.other_bytes == 0
    };
    let (reader, not_read) = match devices.first().and_then(BlockReader::open) {
        None => (None, Some("the device may not be read")),
        Some(reader) if shows_it(&reader) => (Some(reader), None),
        // As on btrfs, whose addresses are its own.
        Some(_) => (None, Some("the filesystem does not say where on the device a file is")),
    };
    let before = counts(tree, &devices);
    rustix::fs::ftruncate(&file, 0).map_err(failed("delete a file"))?;
    rustix::fs::fsync(&file).map_err(failed("sync a deletion"))?;
    rustix::fs::syncfs(&folder).map_err(failed("sync a deletion"))?;
    drop(file);
    let refused = trim(&folder, &extents, interrupt)?;
    settle(tree, &devices, interrupt);
    let after = counts(tree, &devices);
    let layer = |((device, before), after): ((&DeviceNode, &u64), &u64)| ProbedLayer {
        name: device.name.clone(),
        discarded_bytes: after.saturating_sub(*before),
    };
    Ok(ProbeReport {
        written_bytes: size.0,
        mapped_bytes: extents.iter().map(|extent| extent.length).sum(),
        layers: devices.iter().zip(&before).zip(&after).map(layer).collect(),
        read_back: reader.map(|it| it.read_back(&extents, &pattern)),
        not_read,
        refused,
    })
}

/// Trims these ranges; why the filesystem refused, if it did.
fn trim(
    folder: &OwnedFd,
    extents: &[FileExtent],
    interrupt: &Interrupt,
) -> Result<Option<String>, ProbeError> {
    for extent in extents {
        if interrupt.requested() {
            return Err(ProbeError::Interrupted);
        }
        match trim_range(folder.as_fd(), extent.physical, extent.length, 0) {
            Ok(_) => {}
            Err(errno @ Errno(libc::EPERM | libc::EACCES)) => {
                return Err(ProbeError::NotPermitted { what: TRIM, errno });
            }
            Err(errno) => return Ok(Some(errno.to_string())),
        }
    }
    Ok(None)
}

/// The verdict with what a live test has shown.
pub fn judge(diagnosis: &Diagnosis, report: &ProbeReport) -> Reach {
    // A layer that is known to drop them decides, with its remedy; that nobody sends does not.
    if let Reach::DoesNot { stops, .. } = &diagnosis.reach
        && stops.iter().any(|stop| stop.cause != "nobody-sends")
    {
        return diagnosis.reach.clone();
    }
    // What was not trimmed proves nothing: the counters moved for other reasons.
    if report.refused.is_some() {
        return undecided(&diagnosis.reach);
    }
    let account = Account { report, enough: report.mapped_bytes / 100 * ARRIVED };
    if let Some(layer) = account.lost_at(&diagnosis.top) {
        let why = match layer.discarded {
            Some(_) => "it completed the discards of a test file, and they did not arrive below it",
            None => "a test file was trimmed, and its discards did not arrive below it",
        };
        return stopped(layer, "probe-not-passed", why.to_owned());
    }
    let layers = diagnosis.top.all();
    let mut drives = layers.iter().filter(|it| it.kind == LayerKind::Drive);
    let hidden = drives.find(|it| matches!(it.handling, Handling::Hides { .. }));
    let Some(hidden) = hidden else { return diagnosis.reach.clone() };
    // Below a file, what the blocks read as says nothing of the drive.
    match report.read_back.filter(|_| !diagnosis.top.stands_on_file()) {
        Some(seen) if seen.kept_bytes == 0 && seen.zero_bytes >= account.enough => {
            let only_hidden = |stop: &Stop| stop.cause == "hidden";
            match &diagnosis.reach {
                Reach::CannotTell { unknown } if unknown.iter().all(only_hidden) => {
                    Reach::Reaches { drives: unknown.iter().map(|it| it.name.clone()).collect() }
                }
                reach => reach.clone(),
            }
        }
        Some(seen) if seen.kept_bytes >= account.enough => {
            let (kept, all) = (size(seen.kept_bytes), size(report.mapped_bytes));
            let why = format!(
                "it completed the discards of a test file, and {kept} of {all} still read as \
                 written"
            );
            stopped(hidden, "probe-kept", why)
        }
        _ => undecided(&diagnosis.reach),
    }
}

/// A verdict of which the live test says nothing more.
fn undecided(reach: &Reach) -> Reach {
    let Reach::CannotTell { unknown } = reach else { return reach.clone() };
    let tested = |stop: &Stop| match stop.cause.as_str() {
        "hidden" => Stop { cause: "probe-undecided".to_owned(), ..stop.clone() },
        _ => stop.clone(),
    };
    Reach::CannotTell { unknown: unknown.iter().map(tested).collect() }
}

/// How far the discards of a test file got.
struct Account<'a> {
    report: &'a ProbeReport,
    /// Bytes that count as all of them.
    enough: u64,
}

impl Account<'_> {
    /// The layer below which they did not arrive. Below a file nothing is expected: its filesystem
    /// trims when it is set to.
    fn lost_at<'a>(&self, layer: &'a Layer) -> Option<&'a Layer> {
        // f2fs only notes what FITRIM names, and sends it when it is at rest.
        let is_deferred = layer.title == "f2fs";
        if layer.kind == LayerKind::Loop || layer.below.is_empty() || is_deferred {
            return None;
        }
        // What arrived at the bottom was not lost, whoever does not count it: md, in older kernels.
        let ends = layer.all().into_iter().filter(|it| it.below.is_empty());
        if ends.filter_map(|it| self.counted(it)).sum::<u64>() >= self.enough {
            return None;
        }
        let counted: Vec<u64> = layer.below.iter().filter_map(|it| self.counted(it)).collect();
        if counted.len() == layer.below.len() && counted.iter().sum::<u64>() < self.enough {
            return Some(layer);
        }
        layer.below.iter().find_map(|below| self.lost_at(below))
    }

    fn counted(&self, layer: &Layer) -> Option<u64> {
        let found = self.report.layers.iter().find(|it| it.name == layer.name);
        found.map(|it| it.discarded_bytes)
    }
}

fn stopped(layer: &Layer, cause: &str, why: String) -> Reach {
    let lines = match &layer.handling {
        Handling::Drops { lines, .. } | Handling::Hides { lines, .. } => lines.clone(),
        _ => Vec::new(),
    };
    let (words, name) = (layer.words(), layer.name.clone());
    let stop = Stop { layer: words, name, kind: layer.kind, cause: cause.to_owned(), why, lines };
    Reach::DoesNot { stops: vec![stop], reached: Vec::new() }
}

/// A file without a name in this folder.
fn nameless(folder: &OwnedFd) -> rustix::io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::openat(folder, ".", flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

/// The content of a test file: each block is random and known.
struct Pattern {
    seed: u64,
}

impl Pattern {
    /// The block at an offset of the file.
    fn fill(&self, offset: u64, block: &mut [u8]) {
        let mut rng = Rng::new(self.seed ^ (offset / BLOCK as u64));
        for word in block.chunks_exact_mut(8) {
            word.copy_from_slice(&rng.bits().to_ne_bytes());
        }
    }
}

/// Writes the whole file; `None` as an error: the user wants to stop.
fn write(
    file: &File,
    pattern: &Pattern,
    size: Bytes,
    interrupt: &Interrupt,
) -> Result<(), Option<Errno>> {
    let mut chunk = vec![0_u8; CHUNK];
    for start in (0..size.0).step_by(CHUNK) {
        if interrupt.requested() {
            return Err(None);
        }
        for (place, block) in chunk.chunks_exact_mut(BLOCK).enumerate() {
            pattern.fill(start + (place * BLOCK) as u64, block);
        }
        file.write_all_at(&chunk, start).map_err(|error| Some(errno_of(error)))?;
    }
    Ok(())
}

/// Reads blocks of a device past the page cache.
struct BlockReader {
    file: File,
}

impl BlockReader {
    /// `None` where the device may not be read.
    fn open(device: &DeviceNode) -> Option<Self> {
        let node = Path::new("/dev").join(device.name.replace('!', "/"));
        let flags = opening::READ | OFlags::DIRECT;
        Some(Self { file: rustix::fs::open(node, flags, Mode::empty()).ok()?.into() })
    }

    /// What the blocks of these extents hold. What cannot be read is left out.
    fn read_back(&self, extents: &[FileExtent], pattern: &Pattern) -> ReadBack {
        let mut buffer = AlignedBuffer::new(CHUNK);
        let mut expected = [0_u8; BLOCK];
        let mut seen = ReadBack::default();
        for extent in extents {
            let mut done = 0;
            while done < extent.length {
                let length = (extent.length - done).min(CHUNK as u64);
                let part = &mut buffer[..index(length) / BLOCK * BLOCK];
                if part.is_empty() || self.file.read_exact_at(part, extent.physical + done).is_err()
                {
                    break;
                }
                for (place, block) in part.chunks_exact(BLOCK).enumerate() {
                    pattern.fill(extent.logical + done + (place * BLOCK) as u64, &mut expected);
                    let kind = match () {
                        () if block == expected => &mut seen.kept_bytes,
                        () if block.iter().all(|byte| *byte == 0) => &mut seen.zero_bytes,
                        () => &mut seen.other_bytes,
                    };
                    *kind += BLOCK as u64;
                }
                done += length;
            }
        }
        seen
    }
}

/// The devices of all layers that count discards, from the top to the bottom, each once.
fn devices(tree: &SystemTree, top: &Layer) -> Vec<DeviceNode> {
    let mut found: Vec<DeviceNode> = Vec::new();
    for layer in top.all().iter().filter(|layer| layer.discarded.is_some()) {
        let known = found.iter().any(|it| it.name == layer.name);
        found.extend(DeviceNode::named(tree, &layer.name).filter(|_| !known));
    }
    found
}

fn counts(tree: &SystemTree, devices: &[DeviceNode]) -> Vec<u64> {
    let bytes = |it: &DeviceNode| it.discarded(tree).map_or(0, |count| count.bytes);
    devices.iter().map(bytes).collect()
}

/// Waits until the counters have stood still for a while.
fn settle(tree: &SystemTree, devices: &[DeviceNode], interrupt: &Interrupt) {
    let begun = monotonic_time();
    let (mut last, mut moved) = (counts(tree, devices), begun);
    let mut now = begun;
    while now < begun + LONGEST && now < moved + QUIET && !interrupt.requested() {
        pause(LOOK);
        now = monotonic_time();
        let counted = counts(tree, devices);
        if counted != last {
            (last, moved) = (counted, now);
        }
    }
}

fn failure(what: &'static str, directory: &Path, errno: Errno) -> ProbeError {
    match errno {
        Errno(libc::EPERM | libc::EACCES) => ProbeError::NotPermitted { what, errno },
        _ => ProbeError::Failed { what, directory: directory.to_owned(), errno },
    }
}

/// How much btrfs would discard beside the file, and for how long.
fn unallocated(tree: &SystemTree, diagnosis: &Diagnosis) -> ProbeError {
    let unallocated = crate::traps::unallocated(tree, &diagnosis.top);
    let sums = diagnosis
        .since_start
        .top
        .iter()
        .fold((0, 0), |(bytes, time), (_, count)| (bytes + count.bytes, time + count.time_ms));
    #[expect(clippy::cast_precision_loss, reason = "a forecast")]
    let wait_s = (sums.0 > 0).then(|| sums.1 as f64 / 1e3 / sums.0 as f64 * unallocated as f64);
    ProbeError::Unallocated { unallocated: Bytes(unallocated), wait_s }
}
