//! Is my stall TRIM? Watches the disks below a path for a while and says whether what stalled did
//! so because of discards.
//!
//! As root each request is seen, through the block tracepoints; otherwise the counters of sysfs are
//! read every 10 ms, and the report says so. Where the disk's node may be read, a read of our own
//! every 10 ms shows how long a read takes even if nobody else reads. Nothing is written.
//!
//! What decides is in [`analyse`], a pure function: its modules define a stall (`stalls`), and when
//! discards are named as its cause (`evidence`).
//!
//! # What it cannot show
//!
//! - Only overlap counts. A disk that stays slow after its discards have completed (the
//!   after-effect, "caravan") looks like a slow disk, and the stalls then are not counted as
//!   TRIM's.
//! - What happens each time together with discards, such as the writes of a commit, cannot be told
//!   from them.
//! - Below a loop device its backing file's disk is not watched; name that disk to watch it.
//! - Waits above the disks are seen by sampling: those shorter than 200 ms are missed, as are those
//!   of threads whose open files may not be read.

use std::path::{Path, PathBuf};

use trimbench_claim::mounts::{MountError, mount_of};
use trimbench_claim::sysfs::{BlockDevice, devices_of};
use trimbench_core::{Interrupt, Nanos};
use trimbench_linux::RequestWatch;

mod analysis;
mod busy;
mod collect;
mod counters;
mod evidence;
mod latencies;
mod observation;
mod probe;
mod scene;
mod stalls;
mod text;
mod threads;

pub use analysis::{
    DiscardIssuer, DiscardPoint, WaitsAbove, WatchFindings, WatchReason, WatchVerdict,
    WatchedDiscards, analyse,
};
pub use collect::LatencyWatch;
pub use evidence::StallEvidence;
pub use latencies::WatchLatencies;
pub use observation::{ThreadWait, WatchObservation, WatchSource, WatchedRequest, WatchedThread};
pub use stalls::WatchedStall;

/// What to watch, and how.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// A file or directory, or the node of a block device.
    pub target: PathBuf,
    /// For how long; 10 s at least are advised.
    pub span: Nanos,
    /// Whether only counters are to be used, though more may be permitted.
    pub counters_only: bool,
    /// Whether to read 4 KiB of the first disk every 10 ms.
    pub own_reads: bool,
    /// Ends the watch early; what was seen by then is reported.
    pub interrupt: Interrupt,
}

/// What was watched, and what was found.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct WatchReport {
    /// The path as given.
    pub target: String,
    /// Kernel names of the disks.
    pub disks: Vec<String>,
    /// How requests were seen.
    pub source: WatchSource,
    /// Why not by tracepoints.
    pub source_reason: Option<String>,
    /// For how long.
    pub watched_ns: u64,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// Events that the kernel dropped, at least.
    pub events_count_lost: u64,
    /// Fast requests that were not kept because there were too many: latencies are then those of
    /// the first requests.
    pub requests_count_left_out: u64,
    /// For how long some thread of the machine waited for storage (`/proc/pressure/io`).
    pub io_pressure_ns_some: Option<u64>,
    /// For how long all of them did.
    pub io_pressure_ns_full: Option<u64>,
    /// What it came to.
    #[serde(flatten)]
    pub findings: WatchFindings,
    /// The verdict in a sentence.
    pub conclusion: String,
}

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The path is not there, or its mount is not known.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The filesystem lies on no block device that sysfs shows, as tmpfs and network filesystems:
    /// name a block device.
    #[error("there is no block device below `{}`", path.display())]
    NoDevice {
        /// As given.
        path: PathBuf,
    },
    /// Neither tracepoints nor counters can be read: mount sysfs on `/sys`.
    #[error("the counters of `{disk}` cannot be read in sysfs")]
    NoCounters {
        /// Its kernel name.
        disk: String,
    },
}

/// Watches for the time that was given, or until it is interrupted.
///
/// # Errors
/// See [`WatchError`].
pub fn watch(options: &WatchOptions) -> Result<WatchReport, WatchError> {
    let disks = disks(&options.target)?;
    let collected = collect::collect(options, &disks)?;
    let findings = analyse(&collected.seen);
    let seen = collected.seen;
    Ok(WatchReport {
        target: options.target.display().to_string(),
        disks: seen.disks,
        source: seen.source,
        source_reason: collected.source_reason,
        watched_ns: seen.span.0,
        interrupted: options.interrupt.requested(),
        events_count_lost: seen.events_lost,
        requests_count_left_out: collected.left_out,
        io_pressure_ns_some: collected.pressure[0].map(|waited| waited.0),
        io_pressure_ns_full: collected.pressure[1].map(|waited| waited.0),
        conclusion: text::conclusion(&findings, seen.source),
        findings,
    })
}

/// The disks below a path, or the disk of a node.
fn disks(target: &Path) -> Result<Vec<BlockDevice>, WatchError> {
    let devices = match BlockDevice::from_node(target) {
        Some(device) => vec![device],
        None => devices_of(&mount_of(target)?),
    };
    let disks = RequestWatch::disks_of(&devices);
    if disks.is_empty() {
        return Err(WatchError::NoDevice { path: target.to_owned() });
    }
    Ok(disks)
}
