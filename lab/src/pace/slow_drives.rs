//! Drives that are slow to discard, with each filesystem and under each pacing law.
//!
//! Bound of the time of `--p99`: a discard of `c` seconds makes the requests late that begin in its
//! first `c - m` seconds, `m` being what the target leaves beside a request's own time. Of the
//! share `1 % - s0` of requests that may be late beyond those that are late anyway, `N` discards
//! thus need `N (c - m) / ((1 - rho) (1 % - s0))` at least, where `rho` is the share of the time
//! in which the drive is busy with the reads. The bar is half as much again.

use std::fs;
use std::process::Command;

use ::tests::Need::{Filesystem, Fuse, Loop, Program, Root};
use ::tests::{Mounted, is_mounted};
use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;
use trimbench_core::Nanos;
use trimbench_core::rng::Rng;
use trimbench_linux::pause;

use super::counters::Disk;
use super::trial::{ReadLoad, Trimmed, fill, trim_beside_reads};
use crate::detached::DetachedDrive;
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "slow_drives",
    title: "Reads beside `trimpace --p99` on slow drives keep the target, and it takes little \
            longer than it must",
    needs: &[
        Root,
        Loop,
        Fuse,
        Filesystem("ext4"),
        Filesystem("xfs"),
        Filesystem("btrfs"),
        Program("fstrim"),
        Program("mkfs.ext4"),
        Program("mkfs.xfs"),
        Program("mkfs.btrfs"),
    ],
    sources: &[
        "crates/trimbench-attach",
        "crates/trimbench-claim",
        "crates/trimbench-core",
        "crates/trimbench-linux",
        "crates/trimbench-policy",
        "crates/trimbench-ssd",
        "crates/trimpace",
        "lab/src/pace/reads.rs",
        "lab/src/pace/trial.rs",
        "profiles",
    ],
    run,
};

/// The drives; the short form takes the first.
const DRIVES: [SlowDrive; 3] = [
    SlowDrive {
        name: "10 ms a discard",
        profile: "plain-nvme-tlc,trim.mode=blocking,trim.command=10ms,trim.per_gib_mapped=0",
        target: Nanos::from_millis(5),
        deleted: 60,
        rate: 500,
    },
    SlowDrive {
        name: "100 ms a discard",
        profile: "plain-nvme-tlc,trim.mode=blocking,trim.command=100ms,trim.per_gib_mapped=500ms",
        target: Nanos::from_millis(50),
        deleted: 20,
        rate: 500,
    },
    SlowDrive {
        name: "vendor2",
        profile: "vendor2",
        target: Nanos::from_millis(41),
        deleted: 10,
        rate: 200,
    },
];
/// The filesystems; the short form takes the first two.
const FILESYSTEMS: [(&str, &[&str]); 3] = [
    ("ext4", &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"]),
    ("xfs", &["-q", "-f", "-K"]),
    ("btrfs", &["-q", "-f", "-K"]),
];
/// Other ways to pace it, by the options of `trimpace once`.
const RIVALS: [(&str, &[&str]); 3] = [
    ("pieces", &["--law", "pieces"]),
    ("talos", &["--law", "talos", "--chunk", "64MiB", "--delay", "250ms"]),
    ("mean", &["--law", "mean", "--chunk", "64MiB"]),
];
/// Files of 1 MiB, every second of which is deleted, up to as many as the drive's trial takes.
const FILES: u64 = 120;
const FILE: u64 = 1 << 20;
/// Bytes of the file that is read.
const READ: u64 = 32 << 20;
/// For how long it is read before the trim.
const BEFORE: Nanos = Nanos::from_secs(3);
/// After the mount: what the filesystem still does in the background is over.
const REST: Nanos = Nanos::from_secs(1);
/// The share of requests that may be late.
const MAY_BE_LATE: f64 = 0.01;
/// Where more reads than this share are late anyway, a drive is too slow for the target.
const MOST_LATE_ALONE: f64 = 0.003;
/// Over the least time that the pass can take.
const SLACK: f64 = 1.5;
/// XFS holds back what is allocated while it discards: where `fstrim` delays a read longer than
/// this, ms, ours must stay below a tenth of that delay.
const LONG_MS: f64 = 500.0;

/// A drive, and what is done on it.
#[derive(Clone, Copy, Debug)]
struct SlowDrive {
    name: &'static str,
    profile: &'static str,
    target: Nanos,
    /// How many files are deleted.
    deleted: u64,
    /// Reads a second.
    rate: u64,
}

/// A filesystem on a drive of its own, full but for what was deleted. Unmounted, and the drive
/// detached, when dropped.
struct FullFilesystem<'a> {
    mounted: Option<Mounted>,
    place: TempDir,
    drive: DetachedDrive<'a>,
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for drive in &DRIVES[..lab.form(1, DRIVES.len())] {
        for filesystem in &FILESYSTEMS[..lab.form(2, FILESYSTEMS.len())] {
            figures.extend(of_filesystem(lab, drive, *filesystem)?);
        }
    }
    Ok(figures)
}

fn of_filesystem(
    lab: &Lab<'_>,
    drive: &SlowDrive,
    (filesystem, make): (&str, &[&str]),
) -> Result<Vec<Figure>> {
    let trial = |law: Option<&[&str]>| -> Result<Trimmed> {
        let full = FullFilesystem::new(lab, drive, (filesystem, make))?;
        let trimmed = full.trim(lab, drive, law)?;
        eprintln!("    {filesystem}: {}", trimmed.note(drive.target));
        Ok(trimmed)
    };
    let of = format!("{}, {filesystem}", drive.name);
    let row = |law: &str, trimmed: &Trimmed| {
        let p99 = (trimmed.beside.quantile_ms(0.99), "ms");
        let figure = Figure::new(format!("{of}, {law}: p99 of reads"), p99, Bar::AtLeast(0.0));
        figure.with_note(trimmed.note(drive.target))
    };
    let plain = trial(None)?;
    ensure!(plain.counts.discards > 0, "fstrim discarded nothing on {of}");
    let mut figures = vec![row("fstrim", &plain)];
    for (name, options) in RIVALS {
        figures.push(row(name, &trial(Some(options))?));
    }
    let target = drive.target.to_string();
    let ours = trial(Some(&["--p99", &target]))?;
    let late_alone = ours.alone.share_later(drive.target);
    if late_alone > MOST_LATE_ALONE {
        let void = row("trimpace --p99", &ours);
        let reason = format!("void: {:.2} % of the reads alone are late; ", 100.0 * late_alone);
        let note = reason + &void.note;
        figures.push(void.with_note(note));
    } else {
        let kept = Figure { bar: Bar::AtMost(drive.target.seconds() * 1e3), ..row("--p99", &ours) };
        figures.push(kept);
        figures.push(time(&of, drive, &plain, &ours));
    }
    let longest = plain.beside.longest_ms();
    if filesystem == "xfs" && longest > LONG_MS {
        let what = format!("{of}, --p99: longest read");
        let figure =
            Figure::new(what, (ours.beside.longest_ms(), "ms"), Bar::AtMost(longest / 10.0));
        figures.push(figure.with_note(format!("beside fstrim {longest:.0} ms")));
    }
    Ok(figures)
}

/// How long ours took, against the least that it must.
fn time(of: &str, drive: &SlowDrive, plain: &Trimmed, ours: &Trimmed) -> Figure {
    let (count, plain_s) = (plain.counts.discards as f64, plain.time.seconds());
    let each = plain_s / count;
    let alone = ours.alone.quantile_ms(0.5) / 1e3;
    let (busy, late) = (drive.rate as f64 * alone, ours.alone.share_later(drive.target));
    let unheard = drive.target.seconds() - alone;
    let least = count * (each - unheard) / ((1.0 - busy) * (MAY_BE_LATE - late));
    // Where a discard makes nothing late, it still takes its time.
    let bar = SLACK * least.max(plain_s);
    let note = format!(
        "N {count}, c {:.2} ms, m {:.2} ms, rho {busy:.3}, s0 {:.2} %: at least {least:.1} s; \
         fstrim {plain_s:.2} s",
        each * 1e3,
        unheard * 1e3,
        100.0 * late
    );
    let what = format!("{of}, --p99: time");
    Figure::new(what, (ours.time.seconds(), "s"), Bar::AtMost(bar)).with_note(note)
}

impl<'a> FullFilesystem<'a> {
    fn new(
        lab: &'a Lab<'a>,
        drive: &SlowDrive,
        (filesystem, make): (&str, &[&str]),
    ) -> Result<Self> {
        let arguments = [drive.profile, "--capacity", "1GiB", "--state", "filled"];
        let attached = DetachedDrive::start(lab, &arguments)?;
        let mut mkfs = Command::new(format!("mkfs.{filesystem}"));
        lab.call_well(mkfs.args(make).arg(attached.node()))?;
        let place = tempfile::tempdir_in(lab.folder()).context("make a mount point")?;
        let mut full = Self { mounted: None, place, drive: attached };
        full.mount()?;
        full.fill(drive.deleted)?;
        full.mounted = None;
        // A lazy unmount would leave the old one.
        ensure!(!is_mounted(full.place.path()), "the filesystem is still in use");
        full.mount()?;
        rustix::fs::sync();
        pause(REST);
        Ok(full)
    }

    fn mount(&mut self) -> Result<()> {
        let node = self.drive.node().to_str().context("devices are named in ASCII")?;
        self.mounted = Some(Mounted::new(&["-o", "nodiscard", node], self.place.path()));
        Ok(())
    }

    /// Fills it, and deletes every second file, so many in all.
    fn fill(&self, deleted: u64) -> Result<()> {
        let folder = self.place.path();
        let mut rng = Rng::new(1);
        let data: Vec<u8> = (0..FILE / 8).flat_map(|_| rng.bits().to_le_bytes()).collect();
        for number in 0..FILES {
            fill(&folder.join(format!("{number}")), &data, FILE)?;
        }
        fill(&folder.join("read"), &data, READ)?;
        rustix::fs::sync();
        fill(&folder.join("rest"), &data, u64::MAX)?;
        rustix::fs::sync();
        for number in (0..FILES).step_by(2).take(trimbench_core::units::index(deleted)) {
            fs::remove_file(folder.join(format!("{number}"))).context("delete a file")?;
        }
        rustix::fs::sync();
        Ok(())
    }

    /// Trims it beside reads: by `fstrim`, or by `trimpace once` with these options.
    fn trim(&self, lab: &Lab<'_>, drive: &SlowDrive, law: Option<&[&str]>) -> Result<Trimmed> {
        let Some(place) = self.place.path().to_str() else { bail!("a path in UTF-8") };
        let mut command = match law {
            None => Command::new("fstrim"),
            Some(options) => {
                lab.trimpace(&[&["once", "--output-format", "json"], options].concat())?
            }
        };
        command.args(["-v", place]);
        let path = self.place.path().join("read");
        let load = ReadLoad { path: &path, rate: drive.rate, before: BEFORE };
        let node = self.drive.node().to_str().context("devices are named in ASCII")?;
        let disk = Disk::of_node(node);
        trim_beside_reads(lab, &mut command, load, [&disk, &disk])
    }
}
