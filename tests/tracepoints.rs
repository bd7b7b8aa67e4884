//! The kernel's block tracepoints: every request of a block device. They are read through a tracefs
//! instance of our own, so other tracing on the machine is not disturbed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::tracefs::Tracefs;

/// Tracepoints that are recorded.
const EVENTS: [&str; 2] = ["block_rq_issue", "block_rq_complete"];
/// Room for each processor's events, KiB: an event takes about 100 bytes.
const BUFFER_KIB: u32 = 16 << 10;
/// Traces of this process so far: each has an instance of its own.
static TRACES: AtomicU32 = AtomicU32::new(0);

/// Requests of one device, recorded from its making until it is dropped, which removes the
/// instance.
#[derive(Debug)]
pub struct Trace {
    instance: PathBuf,
    /// Dropped after the instance is removed.
    _tracefs: Tracefs,
}

/// Which requests are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// Discards only.
    Discards,
    /// All of them.
    All,
}

/// What was recorded of one tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Of which.
    pub kind: Kind,
    /// Whether it is of a discard.
    pub is_discard: bool,
    /// Nanoseconds, to a microsecond, on the clock of the trace.
    pub at: u64,
    /// Whose context it was: the name of a task.
    pub task: String,
    /// Where it begins, in sectors of 512 bytes.
    pub sector: u64,
    /// Its length in the same.
    pub sectors: u64,
    /// A negative error number; 0 if there is none.
    pub error: i64,
}

/// Which tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request was given to the device.
    Issue,
    /// It completed.
    Complete,
}

impl Trace {
    /// Records requests of the device at `node`; needs root.
    pub fn of(node: &str, recorded: Recorded) -> Result<Self> {
        let tracefs = Tracefs::open()?;
        let number = TRACES.fetch_add(1, Ordering::Relaxed);
        let name = format!("instances/trimbench-tests-{}-{number}", std::process::id());
        let new = Self { instance: tracefs.path().join(name), _tracefs: tracefs };
        fs::create_dir(&new.instance).context("make a tracefs instance")?;
        let device = fs::metadata(node).with_context(|| format!("look at {node}"))?.rdev();
        // As the kernel holds it: 20 bits of minor number.
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let number = (u64::from(major) << 20) | u64::from(minor);
        let filter = match recorded {
            Recorded::Discards => format!("dev == {number} && rwbs ~ \"D*\""),
            Recorded::All => format!("dev == {number}"),
        };
        new.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        // One clock for all processors.
        new.write("trace_clock", "mono")?;
        for event in EVENTS {
            new.write(&format!("events/block/{event}/filter"), &filter)?;
            new.write(&format!("events/block/{event}/enable"), "1")?;
        }
        new.write("tracing_on", "1")?;
        Ok(new)
    }

    /// The events so far, after which nothing more is recorded, and how many were lost.
    pub fn recorded(&self) -> Result<(Vec<TraceEvent>, u64)> {
        let (trace, statistics) = self.texts()?;
        Ok((events(&trace)?, lost(&statistics)?))
    }

    /// The trace and its statistics as the kernel writes them.
    fn texts(&self) -> Result<(String, String)> {
        self.write("tracing_on", "0")?;
        let trace = fs::read_to_string(self.instance.join("trace")).context("read the trace")?;
        let mut lost = String::new();
        for entry in fs::read_dir(self.instance.join("per_cpu")).context("list processors")? {
            let path = entry.context("list processors")?.path();
            let processor = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let statistics = fs::read_to_string(path.join("stats")).context("read statistics")?;
            for line in statistics.lines() {
                for part in [processor.as_str(), " ", line, "\n"] {
                    lost.push_str(part);
                }
            }
        }
        Ok((trace, lost))
    }

    /// Waits until nothing was recorded for so long.
    pub fn quiet(&self, quiet: Duration) -> Result<()> {
        let length = || fs::read(self.instance.join("trace")).map(|trace| trace.len());
        let (mut last, mut since) = (length().context("read the trace")?, Instant::now());
        while since.elapsed() < quiet {
            thread::sleep(Duration::from_millis(100));
            let now = length().context("read the trace")?;
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
        Ok(())
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.instance.join(file);
        fs::write(&path, text).with_context(|| format!("write to {}", path.display()))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.instance) {
            eprintln!("error: cannot remove {}: {error}", self.instance.display());
        }
    }
}

/// The events of a trace, in its order. A line is
/// `TASK-PID [CPU] FLAGS TIME: NAME: MAJOR,MINOR RWBS [BYTES] (COMMAND) SECTOR + SECTORS ...`, and
/// that of a completion ends with the error in brackets.
pub fn events(text: &str) -> Result<Vec<TraceEvent>> {
    text.lines().filter_map(event).collect()
}

/// Events that the kernel dropped or overwrote, from lines `CPU overrun: N` and others.
pub fn lost(text: &str) -> Result<u64> {
    let mut lost = 0;
    let mut processors = 0;
    for line in text.lines() {
        for key in ["overrun: ", "dropped events: "] {
            if let Some((_, count)) = line.split_once(key)
                && !line.contains("commit overrun")
            {
                lost += count.trim().parse::<u64>().context("a count of lost events")?;
                processors += 1;
            }
        }
    }
    ensure!(processors > 0, "no statistics of the trace");
    Ok(lost)
}

fn event(line: &str) -> Option<Result<TraceEvent>> {
    let kind = |line: &str| match line {
        _ if line.contains(": block_rq_issue: ") => Some(Kind::Issue),
        _ if line.contains(": block_rq_complete: ") => Some(Kind::Complete),
        _ => None,
    };
    // A comment names no time, an event does.
    let kind = kind(line).filter(|_| !line.starts_with('#'))?;
    let parse = || -> Option<TraceEvent> {
        let (place, size) = line.rsplit_once(" + ")?;
        let sector = place.rsplit(' ').next()?.parse().ok()?;
        let (head, what) = line.split_once(": block_rq_")?;
        let is_discard = what.split(' ').nth(2)?.starts_with('D');
        let (seconds, micros) = head.rsplit(' ').next()?.split_once('.')?;
        let at = seconds.parse::<u64>().ok()? * 1_000_000_000 + micros.parse::<u64>().ok()? * 1_000;
        let (task, _) = head[..head.find(" [")?].rsplit_once('-')?;
        let task = task.trim_start().to_owned();
        let sectors = size.split_whitespace().next()?.parse().ok()?;
        let error = match kind {
            Kind::Issue => 0,
            Kind::Complete => {
                let (_, error) = size.rsplit_once('[')?;
                error.split_once(']')?.0.parse().ok()?
            }
        };
        Some(TraceEvent { kind, is_discard, at, task, sector, sectors, error })
    };
    Some(parse().with_context(|| format!("cannot read `{line}`")))
}

#[cfg(test)]
mod tests;
