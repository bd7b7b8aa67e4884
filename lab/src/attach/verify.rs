//! What was written is read: fio's own check, and random operations beside an oracle, on the device
//! and on a file of each filesystem.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ::tests::Mounted;
use ::tests::Need::{Filesystem, Fuse, Loop, Program, Root};
use anyhow::{Context as _, Result, ensure};
use rustix::fs::{FallocateFlags, fallocate};
use trimbench_attach::{AttachedDrive, Attachment};
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use xtask::process;

use super::direct::DirectFile;
use super::{SOURCES, config, filled, fio};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::fio::number;
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "verify",
    title: "What was written is read, also after random discards and zeroing",
    needs: &[
        Root,
        Loop,
        Fuse,
        Program("fio"),
        Program("blkdiscard"),
        Program("mkfs.ext4"),
        Program("mkfs.xfs"),
        Program("mkfs.btrfs"),
        Filesystem("ext4"),
        Filesystem("xfs"),
        Filesystem("btrfs"),
    ],
    sources: SOURCES,
    run,
};

/// What random operations are about, bytes.
const SPAN: u64 = 32 << 20;
/// Drives whose device is tried: of small units, of large ones, and one that frees nothing.
const DRIVES: [&str; 3] = ["generic-nvme-tlc", "generic-nvme-qlc-large", "like-optane-900p"];
/// The drive below the filesystems, and how they are mounted.
const BELOW: &str = "generic-nvme-qlc-large";
const FILESYSTEMS: [(&str, &[&str], &str); 3] = [
    ("ext4", &["-q"], "discard"),
    ("xfs", &["-q", "-f"], "discard"),
    ("btrfs", &["-q", "-f"], "discard=async"),
];
/// Units of one operation, at most.
const UNITS: u64 = 64;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let seconds: u32 = lab.form(20, 600);
    let drive = AttachedDrive::attach(filled(config("generic-nvme-tlc")?))?;
    let time = format!("--runtime={seconds}");
    let shape = ["--rw=randwrite", "--bs=4k", "--size=256m", "--iodepth=16", "--time_based"];
    let check = ["--verify=crc32c", "--verify_backlog=512", "--verify_fatal=1", &time];
    let job = fio(lab, drive.node(), &[&shape[..], &check].concat())?;
    drop(drive);
    let read = number(&job, "/read/total_ios")?;
    let mut figures = vec![Figure::new(
        "fio: blocks that were written, read and right",
        (read, ""),
        Bar::AtLeast(10.0 * f64::from(seconds)),
    )];
    let places = u32::try_from(DRIVES.len() + FILESYSTEMS.len())?;
    let span = Duration::from_secs(seconds.into()) / places;
    for profile in DRIVES {
        let drive = AttachedDrive::attach(filled(config(profile)?))?;
        let oracle = Oracle::of(drive.node(), Some(drive.node()))?;
        figures.push(oracle.run(&format!("the device, {profile}"), &drive, span)?);
    }
    for (filesystem, arguments, options) in FILESYSTEMS {
        let drive = AttachedDrive::attach(Attachment::new(config(BELOW)?))?;
        let node = drive.node().to_str().context("a device has a name")?;
        let mut make = Command::new(format!("mkfs.{filesystem}"));
        process::run_well(make.args(arguments).arg(node), Some(lab.deadline()))?;
        let folder = tempfile::tempdir_in(lab.folder())?;
        let mounted = Mounted::new(&["-o", options, node], folder.path());
        let oracle = Oracle::of(&folder.path().join("file"), None)?;
        figures.push(oracle.run(&format!("a file of {filesystem}"), &drive, span)?);
        drop(mounted);
    }
    Ok(figures)
}

/// Random operations on a file or device, and what it must hold.
struct Oracle<'a> {
    file: DirectFile,
    /// The device, if it is one: its blocks can be discarded.
    device: Option<&'a Path>,
    /// What direct I/O takes, bytes.
    unit: u64,
    /// Of each unit what its bytes are made from; 0 for zeroes.
    held: Vec<u64>,
    rng: Rng,
}

impl<'a> Oracle<'a> {
    fn of(path: &Path, device: Option<&'a Path>) -> Result<Self> {
        let file = DirectFile::open(path).with_context(|| format!("open {}", path.display()))?;
        let unit = if device.is_some() { 512 } else { 4_096 };
        let held = vec![0; index(SPAN / unit)];
        if device.is_none() {
            file.file().set_len(SPAN)?;
        }
        Ok(Self { file, device, unit, held, rng: Rng::new(1) })
    }

    /// For so long; how many operations went well, or an error.
    fn run(mut self, what: &str, drive: &AttachedDrive, span: Duration) -> Result<Figure> {
        if self.device.is_some() {
            for first in (0..self.held.len() as u64).step_by(index(UNITS)) {
                self.write(first, UNITS)?;
            }
        }
        let (begun, mut count) = (Instant::now(), 0_u32);
        while begun.elapsed() < span {
            ensure!(!process::interrupted(), "interrupted");
            self.step().with_context(|| format!("{what}: operation {count}"))?;
            // What serves the drive does it in between.
            let _more = drive.engine().reclaim();
            count += 1;
        }
        for first in (0..self.held.len() as u64).step_by(index(UNITS)) {
            self.check(first, UNITS).with_context(|| format!("{what}: at the end"))?;
        }
        let what = format!("{what}: random operations after which all was right");
        Ok(Figure::new(what, (f64::from(count), ""), Bar::AtLeast(span.as_secs_f64())))
    }

    /// One operation.
    fn step(&mut self) -> Result<()> {
        let units = self.held.len() as u64;
        let count = 1 + self.rng.below(UNITS);
        let first = self.rng.below(units - count);
        let (offset, length) = (first * self.unit, count * self.unit);
        let keeps = FallocateFlags::KEEP_SIZE;
        match self.rng.below(10) {
            0 => self.zero(FallocateFlags::ZERO_RANGE | keeps, (first, count)),
            1 => self.zero(FallocateFlags::PUNCH_HOLE | keeps, (first, count)),
            // A block device takes it as the same.
            2 if self.device.is_none() => self.zero(FallocateFlags::ZERO_RANGE, (first, count)),
            2 => self.blkdiscard(&["--zeroout"], (offset, length)),
            3 if self.device.is_some() => self.blkdiscard(&[], (offset, length)),
            4 => Ok(self.file.file().sync_all()?),
            5..=6 => self.check(first, count),
            _ => self.write(first, count),
        }
    }

    fn write(&mut self, first: u64, count: u64) -> Result<()> {
        let seed = 1 + self.rng.below(u64::MAX - 1);
        self.held[index(first)..index(first + count)].fill(seed);
        let data: Vec<u8> = (first..first + count).flat_map(|it| self.bytes(it)).collect();
        Ok(self.file.write(first * self.unit, &data)?)
    }

    fn zero(&mut self, flags: FallocateFlags, (first, count): (u64, u64)) -> Result<()> {
        fallocate(self.file.file(), flags, first * self.unit, count * self.unit)?;
        self.held[index(first)..index(first + count)].fill(0);
        Ok(())
    }

    fn blkdiscard(&mut self, how: &[&str], (offset, length): (u64, u64)) -> Result<()> {
        let mut command = Command::new("blkdiscard");
        command.args(how).args(["--force", "--offset", &offset.to_string()]);
        command.args(["--length", &length.to_string()]).arg(self.device.context("no device")?);
        ensure!(process::quietly(&mut command), "`{}` fails", process::show(&command));
        let (first, end) = (offset / self.unit, (offset + length) / self.unit);
        self.held[index(first)..index(end)].fill(0);
        Ok(())
    }

    fn check(&mut self, first: u64, count: u64) -> Result<()> {
        let read = self.file.read(first * self.unit, index(count * self.unit))?;
        for (number, bytes) in (first..first + count).zip(read.chunks(index(self.unit))) {
            ensure!(bytes == self.bytes(number), "unit {number} of {} B is wrong", self.unit);
        }
        Ok(())
    }

    /// The bytes of a unit: its seed and its place.
    fn bytes(&self, number: u64) -> Vec<u8> {
        let seed = self.held[index(number)];
        let word = if seed == 0 { 0 } else { seed ^ number };
        word.to_le_bytes().repeat(index(self.unit / 8))
    }
}
