//! Roles: what a figure says about TRIM, whichever method measured it. Advice asks for these.

use serde::{Deserialize, Serialize};

/// What a figure says about TRIM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Role {
    /// By how much a deletion delays other accesses, s for each GB deleted.
    StutterPerGb,
    /// By how much a deletion of any size delays other accesses, s.
    StutterPerDeletion,
    /// For how long accesses are overdue, s for each GB deleted.
    OverduePerGb,
    /// The longest response after a deletion, s.
    WaitAfterDeletion,
    /// The p99.9 of responses after deletions, ms.
    TailAfterDeletion,
    /// The p99.9 of responses after placebos, ms.
    TailAfterPlacebo,
    /// What mounting with `discard` adds to the p99.9 of accesses beside a deletion, ms.
    TailAdded,
    /// The longest read or write beside TRIMs, s.
    WaitBesideTrim,
    /// What a GB costs in TRIMs of one sweep, of blocks that hold data, s/GB.
    TrimPerGb,
    /// What a TRIM costs whatever its size, ms.
    TrimEach,
    /// What a GB costs in a TRIM of everything at rest, s/GB.
    TrimAtRestPerGb,
    /// The longest time until a drive was back at its pace after a TRIM, s.
    SettlingTime,
    /// The most time at the pace without TRIM that was lost after one, s.
    SettlingLost,
    /// The lowest pace after a TRIM, as a share of that without.
    SettlingPace,
    /// How long one TRIM takes, ms.
    TrimLatency,
    /// The largest TRIM that keeps a stated latency, B; 0 if none does.
    TrimSizeKept,
    /// How long a TRIM of everything takes at rest, s.
    TrimAtRest,
    /// What mounting with `discard` adds to the duration of a load of small files, %.
    DurationAdded {
        /// Whether files are moved by the C library.
        buffered: bool,
    },
    /// How long the next job stands still after a mass deletion, s.
    StallAfterDeletion,
    /// The highest rate of deletion that keeps a stated latency, MB/s; 0 if none does.
    DeletionRate,
    /// The pieces in which that rate keeps it, MiB.
    DeletionRateChunk,
    /// The p99.9 of other accesses at that rate, ms.
    DeletionRateResponse,
    /// Blocks beside TRIMs that lost their data.
    NeighboursLost,
    /// Trimmed blocks that lost what was written into them later.
    RewrittenLost,
    /// Trimmed blocks that still read as before, %.
    OldDataRead,
    /// Trimmed blocks that read against the drive's promise.
    PromiseBroken,
    /// The speed of a fragmented drive, as a share of fresh.
    FragmentedSpeed,
    /// The same after TRIM.
    RecoveredSpeed,
    /// The write amplification of a fragmented drive.
    FragmentedWear,
    /// The same after TRIM.
    RecoveredWear,
    /// Random writes in the long run, IOPS.
    SteadyRate {
        /// How much of the drive is trimmed.
        trimmed_percent: u32,
    },
    /// Write amplification in the long run.
    SteadyWear {
        /// How much of the drive is trimmed.
        trimmed_percent: u32,
    },
    /// Random writes in the long run, over those with nothing trimmed.
    SteadyGain {
        /// How much of the drive is trimmed.
        trimmed_percent: u32,
    },
    /// Writes of a trace with its TRIMs over those without.
    TraceGain {
        /// How the trace is paced.
        pace: String,
    },
    /// Write amplification of a trace.
    TraceWear {
        /// How the trace is paced.
        pace: String,
        /// With its TRIMs or without.
        trims: bool,
    },
    /// The p99.9 of the foreground under the best trim policy, ms; the verdict names it.
    PolicyChoice,
    /// The p99.9 of the foreground under a trim policy, ms.
    PolicyTail {
        /// The policy.
        policy: String,
    },
    /// The longest response of the foreground under a trim policy, ms.
    PolicyWorst {
        /// The policy.
        policy: String,
    },
    /// Write amplification under a trim policy.
    PolicyWear {
        /// The policy.
        policy: String,
    },
    /// The p99.9 of reads after a mass deletion under a system that discards, ms.
    SystemTail {
        /// The system.
        system: String,
    },
    /// Write amplification under a system that discards.
    SystemWear {
        /// The system.
        system: String,
    },
}
