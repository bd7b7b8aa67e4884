//! A drive that is slow to discard, and a filesystem on it that is full but for files that were
//! deleted: free extents of one length, none next to another.

use std::fs;
use std::path::Path;
use std::process::Command;

use ::tests::{Mounted, is_mounted};
use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use tests::program::BuiltProgram;
use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Nanos};
use trimbench_linux::pause;

use super::counters::Disk;
use super::trial::{LIMIT, ReadLoad, Trimmed, fill, trim_beside_reads};
use crate::detached::DetachedDrive;
use crate::lab::Lab;

/// What its figures speak of.
pub(super) const SOURCES: &[&str] = &[
    "crates/trimbench-attach",
    "crates/trimbench-claim",
    "crates/trimbench-core",
    "crates/trimbench-linux",
    "crates/trimbench-policy",
    "crates/trimbench-ssd",
    "crates/trimpace",
    "lab/src/pace/full_filesystem.rs",
    "lab/src/pace/own_disk.rs",
    "lab/src/pace/reads.rs",
    "lab/src/pace/trial.rs",
    "profiles",
];

/// `fstrim`, where others are options of `trimpace`.
pub(super) const FSTRIM: Option<&[&str]> = None;
/// What these follow.
pub(super) const ONCE: &[&str] = &["once", "--output-format", "json"];
/// The drive's capacity, which is written once before.
pub(super) const CAPACITY: &str = "1GiB";
/// Bytes of the file that is read.
const READ: u64 = 32 << 20;
/// For how long it is read before the trim.
const BEFORE: Nanos = Nanos::from_secs(3);
/// After the mount: what the filesystem still does in the background is over.
const REST: Nanos = Nanos::from_secs(1);

/// A drive, and what is done on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowDrive {
    /// In figures.
    pub(super) name: &'static str,
    /// What is attached.
    pub(super) profile: &'static str,
    /// Bytes of a file, how many there are, and how many of these are deleted: every second one.
    pub(super) file: Bytes,
    pub(super) files: u64,
    pub(super) deleted: u64,
    /// Reads a second; 0 where the machine is to be idle.
    pub(super) rate: u64,
}

/// A filesystem: its name, and the options of its `mkfs`.
pub(super) type Mkfs = (&'static str, &'static [&'static str]);

/// The filesystems.
pub(super) const FILESYSTEMS: [Mkfs; 3] = [
    ("ext4", &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"]),
    ("xfs", &["-q", "-f", "-K"]),
    ("btrfs", &["-q", "-f", "-K"]),
];

/// The filesystem; unmounted when dropped.
pub(super) struct FullFilesystem {
    mounted: Option<Mounted>,
    place: TempDir,
    node: String,
}

/// Attaches a drive, and trims a full filesystem on it beside reads: by `fstrim`, or by `trimpace
/// once` with these options.
pub(super) fn trial(
    lab: &Lab<'_>,
    drive: &SlowDrive,
    filesystem: Mkfs,
    law: Option<&[&str]>,
) -> Result<Trimmed> {
    let arguments = [drive.profile, "--capacity", CAPACITY, "--state", "filled"];
    let attached = DetachedDrive::start(lab, &arguments)?;
    let programs = lab.programs(LIMIT)?;
    let full = FullFilesystem::on(attached.node(), (drive, filesystem), (&programs, lab.folder()))?;
    let trimmer = match law {
        None => Command::new("fstrim"),
        Some(options) => lab.trimpace(&[ONCE, options].concat())?,
    };
    full.trim(drive, trimmer, &programs)
}

impl FullFilesystem {
    /// Makes it on this drive, and mounts it in a new folder of this one.
    pub(super) fn on(
        node: &Path,
        (drive, (filesystem, make)): (&SlowDrive, Mkfs),
        (programs, folder): (&BuiltProgram, &Path),
    ) -> Result<Self> {
        let mut mkfs = Command::new(format!("mkfs.{filesystem}"));
        programs.call_well(mkfs.args(make).arg(node))?;
        let place = tempfile::tempdir_in(folder).context("make a mount point")?;
        let node = node.to_str().context("devices are named in ASCII")?.to_owned();
        let mut full = Self { mounted: None, place, node };
        full.mount();
        full.fill(drive)?;
        full.mounted = None;
        // A lazy unmount would leave the old one.
        ensure!(!is_mounted(full.place.path()), "the filesystem is still in use");
        full.mount();
        // btrfs keeps the free extent that its metadata are written to aside, and FITRIM leaves it
        // out, from the first write after the mount on (`btrfs_find_space_cluster`).
        fs::write(full.place.path().join("after the mount"), b"x").context("write a file")?;
        rustix::fs::sync();
        pause(REST);
        Ok(full)
    }

    fn mount(&mut self) {
        self.mounted = Some(Mounted::new(&["-o", "nodiscard", &self.node], self.place.path()));
    }

    fn fill(&self, drive: &SlowDrive) -> Result<()> {
        let folder = self.place.path();
        let mut rng = Rng::new(1);
        let data: Vec<u8> = (0..1 << 17).flat_map(|_| rng.bits().to_le_bytes()).collect();
        let path = |number: u64| folder.join(number.to_string());
        for number in 0..drive.files {
            fill(&path(number), &data, drive.file.0)?;
        }
        fill(&folder.join("read"), &data, READ)?;
        rustix::fs::sync();
        fill(&folder.join("rest"), &data, u64::MAX)?;
        rustix::fs::sync();
        for number in 0..drive.deleted {
            fs::remove_file(path(2 * number)).context("delete a file")?;
        }
        rustix::fs::sync();
        Ok(())
    }

    /// Trims it beside reads by this program, which is given the mount point.
    pub(super) fn trim(
        &self,
        drive: &SlowDrive,
        mut trimmer: Command,
        programs: &BuiltProgram,
    ) -> Result<Trimmed> {
        trimmer.arg("-v").arg(self.place.path());
        let path = self.place.path().join("read");
        let load = ReadLoad { path: &path, rate: drive.rate, before: BEFORE };
        let disk = Disk::of_node(&self.node);
        trim_beside_reads(programs, &mut trimmer, load, [&disk, &disk])
    }
}
