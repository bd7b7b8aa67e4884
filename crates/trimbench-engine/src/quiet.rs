//! Whether a real target is at rest before it is measured: one rule for all methods.
//!
//! What is measured on a disk that others use is their load as much as the target. So before a
//! session the target is looked at for [`WINDOW`], while this program does nothing but read a
//! little. It is busy if in that time
//!
//! - others wrote or read [`MOVED_MAX`] or more on its devices;
//! - reads alone had a 99th percentile above [`READ_P99_MAX`] and above [`READ_P99_TIMES`] times
//!   the median of an idle drive: the least median of all looks, because load raises it;
//! - programs stood still for I/O, or some waited for memory, for more than [`PRESSURE_MAX`].
//!
//! What could not be looked at (no right to read the device, a kernel without pressure counters) is
//! neither quiet nor busy. A target of which nothing could be seen is [`Quietness::Unknown`].

use std::fmt;

use trimbench_core::{Bytes, DevicesUse, LoadSeen, Nanos, Ppm, ReadTimes};
use trimbench_results::number::quantity;

#[cfg(test)]
mod tests;

/// How long one look takes. Long enough for 300 reads 10 ms apart, of which three decide the 99th
/// percentile; short beside any session.
pub const WINDOW: Nanos = Nanos::from_secs(3);
/// From here on others are noticed. A commit of a journal and the logs of an idle machine are some
/// hundred KB; a copy, a build or an update writes more in every second.
pub const MOVED_MAX: Bytes = Bytes(8_000_000);
/// Reads are not late up to here, whatever the drive: SSDs at rest answer in 0.05 to 0.2 ms.
pub const READ_P99_MAX: Nanos = Nanos::from_micros(500);
/// On slow drives nor up to so many medians.
pub const READ_P99_TIMES: u64 = 10;
/// Share of the window. It is never zero where anything runs: while two programs compiled on two
/// processors, I/O stopped everything for 0.1 % of 35 minutes (Linux 6.18, virtio disk).
pub const PRESSURE_MAX: Ppm = Ppm(100_000);

/// What a look says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quietness {
    /// What could be seen is at rest.
    Quiet,
    /// Others use it.
    Busy(LoadOfOthers),
    /// Nothing could be seen.
    Unknown,
}

/// How a target is used by others: the first that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadOfOthers {
    /// They write.
    Writes {
        /// The devices.
        devices: String,
        /// How much.
        written: Bytes,
        /// In what time.
        window: Nanos,
    },
    /// They read.
    Reads {
        /// The devices.
        devices: String,
        /// How much.
        read: Bytes,
        /// In what time.
        window: Nanos,
    },
    /// Reads of our own, which had the program's attention alone, took long.
    SlowReads {
        /// The 99th percentile.
        p99: Nanos,
        /// What it may be here.
        limit: Nanos,
    },
    /// Programs of this machine wait for I/O.
    IoPressure {
        /// For so long all of them.
        stalled: Nanos,
        /// In what time.
        window: Nanos,
    },
    /// Programs of this machine wait for memory.
    MemoryPressure {
        /// For so long some of them.
        stalled: Nanos,
        /// In what time.
        window: Nanos,
    },
}

/// Judges a look. `idle_median` is the least median of reads that an earlier look found.
pub fn judge(seen: &LoadSeen, idle_median: Option<Nanos>) -> Quietness {
    let LoadSeen { window, devices, reads, io_stalled, memory_stalled } = seen;
    let window = *window;
    let pressed = |stalled: &Option<Nanos>| stalled.filter(|it| *it > window.scaled(PRESSURE_MAX));
    let busy = devices
        .as_ref()
        .and_then(|devices| moved(devices, window))
        .or_else(|| slow(reads.as_ref()?, idle_median))
        .or_else(|| Some(LoadOfOthers::IoPressure { stalled: pressed(io_stalled)?, window }))
        .or_else(|| {
            Some(LoadOfOthers::MemoryPressure { stalled: pressed(memory_stalled)?, window })
        });
    if let Some(load) = busy {
        return Quietness::Busy(load);
    }
    let blind =
        devices.is_none() && reads.is_none() && io_stalled.is_none() && memory_stalled.is_none();
    if blind { Quietness::Unknown } else { Quietness::Quiet }
}

fn moved(devices: &DevicesUse, window: Nanos) -> Option<LoadOfOthers> {
    let DevicesUse { names, written, read } = devices;
    let devices = names.clone();
    if *written >= MOVED_MAX {
        return Some(LoadOfOthers::Writes { devices, written: *written, window });
    }
    (*read >= MOVED_MAX).then_some(LoadOfOthers::Reads { devices, read: *read, window })
}

fn slow(reads: &ReadTimes, idle_median: Option<Nanos>) -> Option<LoadOfOthers> {
    let idle = idle_median.map_or(reads.median, |idle| idle.min(reads.median));
    let limit = READ_P99_MAX.max(idle.times(READ_P99_TIMES));
    (reads.p99 > limit).then_some(LoadOfOthers::SlowReads { p99: reads.p99, limit })
}

impl fmt::Display for LoadOfOthers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Writes { devices, written, window } => {
                let (written, window) = (bytes(*written), time(*window));
                write!(formatter, "{written} were written by others to {devices} in {window}")
            }
            Self::Reads { devices, read, window } => {
                let (read, window) = (bytes(*read), time(*window));
                write!(formatter, "{read} were read by others from {devices} in {window}")
            }
            Self::SlowReads { p99, limit } => {
                let (p99, limit) = (time(*p99), time(*limit));
                write!(
                    formatter,
                    "reads alone have a 99th percentile of {p99}; a quiet target has at most \
                     {limit}"
                )
            }
            Self::IoPressure { stalled, window } => {
                let share = share(*stalled, *window);
                let window = time(*window);
                write!(formatter, "all programs waited for I/O during {share} of {window}")
            }
            Self::MemoryPressure { stalled, window } => {
                let share = share(*stalled, *window);
                let window = time(*window);
                write!(formatter, "programs waited for memory during {share} of {window}")
            }
        }
    }
}

/// What a look found, in one line for the record.
pub fn seen_text(seen: &LoadSeen) -> String {
    let mut parts = vec![format!("in {}", time(seen.window))];
    if let Some(DevicesUse { names, written, read }) = &seen.devices {
        let (written, read) = (bytes(*written), bytes(*read));
        parts.push(format!("{written} written and {read} read by others on {names}"));
    }
    if let Some(ReadTimes { count, median, p99 }) = seen.reads {
        let (median, p99) = (time(median), time(p99));
        parts.push(format!("{count} reads with median {median} and p99 {p99}"));
    }
    for (name, stalled) in [("I/O", seen.io_stalled), ("memory", seen.memory_stalled)] {
        if let Some(stalled) = stalled {
            parts.push(format!("{name} pressure {}", share(stalled, seen.window)));
        }
    }
    parts.join(", ")
}

fn bytes(bytes: Bytes) -> String {
    quantity(bytes.0 as f64, "B")
}

fn time(span: Nanos) -> String {
    quantity(span.seconds(), "s")
}

fn share(part: Nanos, whole: Nanos) -> String {
    quantity(100.0 * part.seconds() / whole.seconds().max(f64::MIN_POSITIVE), "%")
}
