//! Hostile requests over NBD and over the loop device, for minutes: the server survives, takes no
//! more memory than it may, and writes to nothing but what it was told to.

mod device;
mod nbd;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::tests::Need::{Fuse, Loop, Program, Root};
use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use trimbench_core::rng::Rng;
use xtask::process;

use super::SOURCES;
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "hostile",
    title: "Hostile requests end no server, and reach no byte that is not theirs",
    needs: &[Root, Loop, Fuse, Program("fio"), Program("nbdkit"), Program("blkdiscard")],
    sources: SOURCES,
    run,
};

const PROFILE: &str = "generic-nvme-tlc";
/// Bytes of the drive.
const CAPACITY: u64 = 1 << 30;
/// No hostile request may change so many bytes at either end of the drive.
const GUARD: u64 = 1 << 20;
/// What a server may take beyond what it has at the beginning, MiB.
const MEMORY_MAX: f64 = 512.0;
/// Bytes of each file beside the drive's.
const NEIGHBOUR: usize = 1 << 20;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let span = Duration::from_secs(lab.form(15, 600));
    Ok([nbd::run(lab, span)?, device::run(lab, span)?].concat())
}

/// The file of a drive between others, in a folder in memory.
struct Neighbourhood {
    folder: TempDir,
    /// Of each neighbour what it holds.
    neighbours: [(PathBuf, Vec<u8>); 2],
}

impl Neighbourhood {
    fn new(lab: &Lab<'_>) -> Result<Self> {
        let folder = lab.memory_folder()?;
        let neighbours = ["before", "drive.other"].map(|name| {
            let content = [name.as_bytes(), &vec![0x5a; NEIGHBOUR]].concat();
            (folder.path().join(name), content)
        });
        for (path, content) in &neighbours {
            fs::write(path, content)?;
        }
        Ok(Self { folder, neighbours })
    }

    /// The drive's file.
    fn drive(&self) -> PathBuf {
        self.folder.path().join("drive")
    }

    /// What is not as it was, but for the drive's own file.
    fn changed(&self) -> Result<Vec<String>> {
        let mut changed = Vec::new();
        for (path, content) in &self.neighbours {
            if fs::read(path)? != *content {
                changed.push(path.display().to_string());
            }
        }
        for entry in fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            if path != self.drive() && !self.neighbours.iter().any(|(it, _)| *it == path) {
                changed.push(format!("new: {}", path.display()));
            }
        }
        Ok(changed)
    }
}

/// What the file of a drive says of it before its blocks, and how long it is.
fn frame(path: &Path) -> Result<(Vec<u8>, u64)> {
    use std::os::unix::fs::FileExt as _;
    let file = fs::File::open(path)?;
    let mut head = vec![0; 4_096];
    file.read_exact_at(&mut head, 0)?;
    Ok((head, file.metadata()?.len()))
}

/// The most memory that was resident of a process, MiB.
fn peak_mib(process: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    Ok(process::peak_kib(&status)? as f64 / 1024.0)
}

/// Attacks by `attack`, which is told what to draw from, until the time is over.
fn attack_for(span: Duration, mut attack: impl FnMut(&mut Rng) -> Result<()>) -> Result<u32> {
    let (begun, mut rng, mut count) = (Instant::now(), Rng::new(1).split("hostile"), 0);
    while begun.elapsed() < span {
        ensure!(!process::interrupted(), "interrupted");
        attack(&mut rng).with_context(|| format!("attack {count}"))?;
        count += 1;
    }
    Ok(count)
}

/// What the attacks of one way to the drive came to.
struct Survived {
    way: &'static str,
    attacks: u32,
    /// Memory before and at most, MiB.
    memory: [f64; 2],
    wrong: Vec<String>,
}

impl Survived {
    fn figures(self) -> Vec<Figure> {
        let Self { way, attacks, memory: [before, most], wrong } = self;
        vec![
            Figure::new(format!("{way}: attacks"), (attacks.into(), ""), Bar::AtLeast(10.0)),
            Figure::new(
                format!("{way}: crashes, changed bytes, changed files"),
                (wrong.len() as f64, ""),
                Bar::Equals(0.0),
            )
            .with_note(wrong.join("; ")),
            Figure::new(
                format!("{way}: memory of the server beyond what it began with"),
                (most - before, "MiB"),
                Bar::AtMost(MEMORY_MAX),
            )
            .with_note(format!("{before:.0} MiB at the beginning")),
        ]
    }
}
