//! One trim beside reads.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use tests::program::BuiltProgram;
use trimbench_core::{Instant, Nanos};
use trimbench_linux::pause;
use xtask::process;

use super::counters::{Disk, DiskCounts};
use super::reads::{OpenLoopReader, ResponseTimes, now};
/// What the reader gets to reach its pace before its reads count.
const SETTLE: Nanos = Nanos::from_millis(200);
/// How often the counters are looked at, once the program has ended.
const LOOK: Nanos = Nanos::from_millis(10);
/// A device on which no discard ended for so long, and none is under way, has done all of them. XFS
/// answers before its discards are done.
const QUIET: Nanos = Nanos::from_millis(500);
/// No trim of these trials has a reason to take longer: one that does is an error.
pub(super) const LIMIT: Duration = Duration::from_secs(10 * 60);
/// Bytes that are written at once.
const PIECE: usize = 1 << 20;

/// What is read, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadLoad<'a> {
    /// The file or device.
    pub(super) path: &'a Path,
    /// Reads a second; 0 for none.
    pub(super) rate: u64,
    /// For how long it is read before the trim.
    pub(super) before: Nanos,
}

/// What a trim came to.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Trimmed {
    /// Reads alone, before it.
    pub(super) alone: ResponseTimes,
    /// Reads beside it.
    pub(super) beside: ResponseTimes,
    /// From its start until the last discard has ended.
    #[serde(with = "nanoseconds")]
    pub(super) time: Nanos,
    /// What the device that is trimmed counted meanwhile.
    pub(super) counts: DiskCounts,
    /// The same of the disk that is read.
    pub(super) read_disk: DiskCounts,
    /// What the program said last on stderr, without the mount point before it; may be empty.
    pub(super) said: String,
}

/// A span of time as JSON has it.
mod nanoseconds {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use trimbench_core::Nanos;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
    pub(super) fn serialize<S: Serializer>(span: &Nanos, to: S) -> Result<S::Ok, S::Error> {
        span.0.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
        u64::deserialize(from).map(Nanos)
    }
}

impl Trimmed {
    /// In words.
    pub(super) fn note(&self, target: Nanos) -> String {
        let (late, counts) = (100.0 * self.beside.share_later(target), self.counts);
        let said = if self.said.is_empty() { "" } else { "; it says: " };
        format!(
            "{:.2} s; {}; {late:.2} % later than {target}; alone {}; {} discards of {:.1} MB{said}\
             {}",
            self.time.seconds(),
            self.beside.note(),
            self.alone.note(),
            counts.discards,
            counts.discarded as f64 / 1e6,
            self.said
        )
    }
}

/// Reads, and trims meanwhile by this command, which must end well within the time of `programs`.
/// The disks: the one that is trimmed, and the one that is read.
pub(super) fn trim_beside_reads(
    programs: &BuiltProgram,
    command: &mut Command,
    load: ReadLoad<'_>,
    [trimmed, read]: [&Disk; 2],
) -> Result<Trimmed> {
    let has_reads = load.rate > 0;
    let reader = has_reads.then(|| OpenLoopReader::start(load.path, load.rate)).transpose()?;
    pause(SETTLE);
    let begun = now();
    pause(load.before);
    let (start, of_trimmed, of_read) = (now(), trimmed.counts()?, read.counts()?);
    eprintln!("  {}", process::show(command));
    let output = programs.call_well(command)?;
    let end = drained(trimmed)?;
    let counts = trimmed.counts()?.since(of_trimmed);
    let read_disk = read.counts()?.since(of_read);
    let reads = reader.map(OpenLoopReader::end).transpose()?.unwrap_or_default();
    Ok(Trimmed {
        alone: reads.within(begun, Instant::from_start(Nanos(start.since_start().0 - 1))),
        beside: reads.within(start, end),
        time: end.since(start),
        counts,
        read_disk,
        said: last_said(&output.stderr),
    })
}

/// Fills a file with these bytes, again and again, up to so many, or until the filesystem is full.
pub(super) fn fill(path: &Path, data: &[u8], most: u64) -> Result<()> {
    let mut file = File::create(path).with_context(|| format!("make {}", path.display()))?;
    write_until(&mut file, data, most)?;
    file.sync_all().context("sync what was written")
}

/// The same past the page cache, with zeros, until the filesystem is full.
pub(super) fn fill_directly(path: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).custom_flags(OFlags::DIRECT.bits().cast_signed());
    let mut file = options.open(path).with_context(|| format!("make {}", path.display()))?;
    let memory = vec![0; 5 * PIECE];
    let start = memory.as_ptr().align_offset(4_096);
    write_until(&mut file, &memory[start..start + 4 * PIECE], u64::MAX)
}

/// When the last discard ended, at the latest now, once all have.
fn drained(disk: &Disk) -> Result<Instant> {
    let mut last = now();
    let mut known = disk.counts()?.discards;
    while now().since(last) < QUIET || disk.under_way()? > 0 {
        pause(LOOK);
        let discards = disk.counts()?.discards;
        if discards > known {
            (last, known) = (now(), discards);
        }
    }
    Ok(last)
}

fn write_until(file: &mut File, data: &[u8], most: u64) -> Result<()> {
    let mut written = 0;
    while written < most {
        match file.write(data) {
            Ok(0) => break,
            Ok(count) => written += count as u64,
            Err(error) if error.kind() == ErrorKind::StorageFull => break,
            Err(error) => return Err(error).context("fill a file"),
        }
    }
    Ok(())
}

/// The last line, without the path that it is about.
fn last_said(errors: &str) -> String {
    let line = errors.lines().next_back().unwrap_or_default();
    line.split_once(": ").map_or(line, |(_, sentence)| sentence).to_owned()
}
