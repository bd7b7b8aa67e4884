//! Configuration of a pool.

use trimbench_core::{Bytes, Nanos};
use trimbench_policy::Choice;

use crate::config::{FsConfigError, check_ranges};

/// How a pool hands its discards to the drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimManner {
    /// FreeBSD's up to 12, as it was in 2016: once a second a pass over all drives takes from each
    /// what is due, sends it all, and waits until the last discard of the pass has ended on every
    /// drive. A write to a place that the pass discards waits for the end of the pass, and keeps
    /// its place among the writes that its drive may be given at once. \[FBZFS\] `trim_map.c`.
    FreeBsd,
    /// `OpenZFS`'s from 0.8: as the policy allows, at most ten in the queue of a drive and two of
    /// them at the drive. A write waits for the discard of its own place only. (`OpenZFS` keeps the
    /// allocator away from a metaslab while it is trimmed, which is not modelled.) \[OPENZFS\]
    /// `vdev_trim.c`.
    OpenZfs,
}

/// How many requests of a class a drive is given at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassLimits {
    /// So many, even while more urgent classes wait.
    pub least: u32,
    /// No more.
    pub most: u32,
}

/// What a drive is given at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Synchronous reads, synchronous writes, asynchronous reads, asynchronous writes, discards.
    pub classes: [ClassLimits; 5],
    /// Of all classes together.
    pub total: u32,
}

/// Processor time. Each outstanding command has a processor to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolCosts {
    /// A command that changes names or sizes, or opens and closes a file.
    pub metadata: Nanos,
    /// Writing 1 KiB: the program, copying, checksums, parity.
    pub write_kib: Nanos,
    /// Reading 1 KiB: the program, checksums, copying.
    pub read_kib: Nanos,
    /// Giving back one record while a group is synced.
    pub free_record: Nanos,
}

/// A pool and its machine.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// Parity columns: 0 (striping), 1, 2 or 3.
    pub parity: u32,
    /// How discards reach the drives.
    pub manner: TrimManner,
    /// When and how much to discard; each drive has its own.
    pub policy: Choice,
    /// Largest record: a multiple of 4 KiB in [4 KiB, 1 MiB].
    pub record: Bytes,
    /// Into how many metaslabs space is divided.
    pub metaslabs: u32,
    /// A group is synced at this age.
    pub group_timeout: Nanos,
    /// Or as soon as it has so much dirty data.
    pub dirty_sync: Bytes,
    /// Commands wait above so much dirty data.
    pub dirty_max: Bytes,
    /// What a drive is given at once.
    pub limits: QueueLimits,
    /// The old manner: from the end of a pass to the next.
    pub trim_interval: Nanos,
    /// The old manner: freed space is discarded at this age,
    pub trim_timeout: Nanos,
    /// or after so many groups,
    pub trim_groups: u32,
    /// or at once where more than so many extents wait on a drive.
    pub trim_pending_max: u32,
    /// Processor time.
    pub cpu: PoolCosts,
}

/// Limits of FreeBSD's queue, with its 64 discards at once.
const FREEBSD_LIMITS: QueueLimits = QueueLimits {
    classes: [
        ClassLimits { least: 10, most: 10 },
        ClassLimits { least: 10, most: 10 },
        ClassLimits { least: 1, most: 3 },
        ClassLimits { least: 1, most: 10 },
        ClassLimits { least: 1, most: 64 },
    ],
    total: 1_000,
};

impl PoolConfig {
    /// raidz2 with the defaults of that time, and the policy `online`.
    ///
    /// Sourced, \[FBZFS\]: limits of the queue, 5 s, 64 MiB, 4 GiB (with 40 GiB of memory or more),
    /// and all of the old manner of trimming. Sourced, \[OPENZFS\]: two asynchronous writes at
    /// least and two discards at most. Fitted to \[S3\]: `write_kib` (4 x 512 GB written in
    /// 30 minutes) and `read_kib` (read in 10). Assumed: the other processor times.
    pub fn new(manner: TrimManner) -> Self {
        let mut limits = FREEBSD_LIMITS;
        if manner == TrimManner::OpenZfs {
            limits.classes[3].least = 2;
            limits.classes[4].most = 2;
        }
        Self {
            parity: 2,
            manner,
            policy: "online".parse().expect("a policy of the catalogue"),
            record: Bytes(128 << 10),
            metaslabs: 200,
            group_timeout: Nanos::from_secs(5),
            dirty_sync: Bytes::mib(64),
            dirty_max: Bytes::gib(4),
            limits,
            trim_interval: Nanos::from_secs(1),
            trim_timeout: Nanos::from_secs(30),
            trim_groups: 32,
            trim_pending_max: 10_000,
            cpu: PoolCosts {
                metadata: Nanos::from_micros(10),
                write_kib: Nanos(3_600),
                read_kib: Nanos(1_200),
                free_record: Nanos::from_micros(2),
            },
        }
    }

    /// The same for a storm of one in `divisor` of its bytes: times and amounts that the pool has
    /// of its own are divided, so that they keep their share. What a drive or a processor takes for
    /// a byte or a command stays.
    #[must_use]
    pub fn scaled(mut self, divisor: u32) -> Self {
        let parts = u64::from(divisor);
        for span in [&mut self.group_timeout, &mut self.trim_interval, &mut self.trim_timeout] {
            *span = Nanos(span.0 / parts);
        }
        for bytes in [&mut self.dirty_sync, &mut self.dirty_max] {
            *bytes = Bytes(bytes.0 / parts);
        }
        self.trim_pending_max /= divisor;
        self
    }

    /// Whether every value is in its range, for so many drives.
    pub(crate) fn check(&self, drives: usize) -> Result<(), FsConfigError> {
        let drives = drives as u64;
        let (parity, record) = (u64::from(self.parity), self.record.0);
        let (timeout, interval) = (self.group_timeout, self.trim_interval);
        let (sync, most) = (self.dirty_sync, self.dirty_max);
        let record_fits = record.is_multiple_of(4_096) && (4_096..=1 << 20).contains(&record);
        let most_fits = most >= Bytes::mib(8) && most.0 >= 8 * record;
        let micros = Nanos::from_micros(1);
        check_ranges(&[
            ("parity", parity, "0 to 3, and fewer than drives", parity <= 3 && parity < drives),
            ("drives", drives, "1 to 255", (1..=255).contains(&drives)),
            ("record", record, "a multiple of 4 KiB in [4 KiB, 1 MiB]", record_fits),
            ("metaslabs", self.metaslabs.into(), "at least 1", self.metaslabs > 0),
            ("dirty_max", most.0, "at least 8 MiB and 8 records", most_fits),
            ("dirty_sync", sync.0, "below `dirty_max`, and not 0", sync < most && sync.0 > 0),
            ("group_timeout", timeout.0, "at least 1 us", timeout >= micros),
            ("trim_interval", interval.0, "at least 1 us", interval >= micros),
            (
                "trim_timeout",
                self.trim_timeout.0,
                "at least `trim_interval`",
                self.trim_timeout >= interval,
            ),
        ])
    }
}
