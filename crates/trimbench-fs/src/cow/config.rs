//! Configuration of a pool.

use trimbench_core::{Bytes, Nanos};
use trimbench_policy::Choice;

use crate::config::{FsConfigError, check_ranges};

/// Which system discards freed space, and how it hands its discards to the drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimManner {
    /// `OpenZFS` 0.8 to 2.4 with `autotrim=on`: one metaslab after the other is closed to the
    /// allocator, and what was freed in it is discarded, drive after drive. \[OPENZFS\]
    /// `vdev_trim.c`, `vdev_autotrim_thread`.
    ZfsAutotrim,
    /// `OpenZFS` 0.8 to 2.4 with `autotrim=off`. Once the space of a deletion has returned,
    /// somebody runs `zpool trim`: on all drives at once, all free space, metaslab by metaslab.
    /// \[OPENZFS\] `vdev_trim.c`, `vdev_trim_thread`.
    ZfsTrim,
    /// FreeBSD 10: once a second a pass over all drives sends what is old enough and all that
    /// exceeds 64 segments or 2 GiB of a drive, and waits until the last discard has ended on every
    /// drive. A write to a place that the pass discards waits for the end of the pass, and keeps
    /// its place among the writes that its drive may be given at once. \[FBZFS\] `trim_map.c`.
    FreeBsd2013,
    /// FreeBSD 11 and 12: the same with 10,000 segments, of whose excess a pass sends a quarter.
    FreeBsd2017,
}

impl TrimManner {
    /// Whether it discards metaslab by metaslab, as `OpenZFS`; else in passes, as FreeBSD.
    pub(crate) fn is_openzfs(self) -> bool {
        matches!(self, Self::ZfsAutotrim | Self::ZfsTrim)
    }
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
    /// [`TrimManner::ZfsTrim`]: bytes a second that each drive is told to discard; 0: no limit.
    pub trim_rate: Bytes,
    /// When and how much to discard, beside what its system decides; each drive has its own.
    /// `None`: its system alone decides.
    pub policy: Option<Choice>,
    /// Largest record: a multiple of 4 KiB in [4 KiB, 1 MiB].
    pub record: Bytes,
    /// Into how many metaslabs space is divided; `None`: into ones of the size that `OpenZFS` gives
    /// them in a pool `scale` times as large, divided by `scale`.
    pub metaslabs: Option<u32>,
    /// What its times and amounts are divided by: see [`Self::scaled`].
    pub scale: u32,
    /// A group is synced at this age.
    pub group_timeout: Nanos,
    /// Or as soon as it has so much dirty data.
    pub dirty_sync: Bytes,
    /// Commands wait above so much dirty data.
    pub dirty_max: Bytes,
    /// What a drive is given at once.
    pub limits: QueueLimits,
    /// FreeBSD: from the end of a pass to the next.
    pub trim_interval: Nanos,
    /// FreeBSD: freed space is discarded at this age,
    pub trim_timeout: Nanos,
    /// or after so many groups,
    pub trim_groups: u32,
    /// or earlier where more than so many extents wait on a drive,
    pub trim_pending_max: u32,
    /// or, in 2013, more than so many bytes.
    pub trim_bytes_max: Bytes,
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
    /// raidz2 with the defaults of its system, which alone decides about discards.
    ///
    /// Sourced, \[FBZFS\]: limits of the queue, 5 s, 64 MiB, 4 GiB (with 40 GiB of memory or more),
    /// and all of FreeBSD's way of trimming. Sourced, \[OPENZFS\]: two asynchronous writes at
    /// least and two discards at most, a fifth of the most dirty data in a group, and metaslabs.
    /// Fitted to \[S3\]: `write_kib` (4 x 512 GB written in 30 minutes) and `read_kib` (read in
    /// 10). Assumed: the other processor times.
    pub fn new(manner: TrimManner) -> Self {
        let (mut limits, dirty_max) = (FREEBSD_LIMITS, Bytes::gib(4));
        if manner.is_openzfs() {
            limits.classes[3].least = 2;
            limits.classes[4].most = 2;
        }
        Self {
            parity: 2,
            manner,
            trim_rate: Bytes(0),
            policy: None,
            record: Bytes(128 << 10),
            metaslabs: (!manner.is_openzfs()).then_some(200),
            scale: 1,
            group_timeout: Nanos::from_secs(5),
            dirty_sync: if manner.is_openzfs() { Bytes(dirty_max.0 / 5) } else { Bytes::mib(64) },
            dirty_max,
            limits,
            trim_interval: Nanos::from_secs(1),
            trim_timeout: Nanos::from_secs(30),
            trim_groups: 32,
            trim_pending_max: if manner == TrimManner::FreeBsd2013 { 64 } else { 10_000 },
            trim_bytes_max: Bytes::gib(2),
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
        for bytes in [&mut self.dirty_sync, &mut self.dirty_max, &mut self.trim_bytes_max] {
            *bytes = Bytes(bytes.0 / parts);
        }
        self.trim_pending_max /= divisor;
        self.scale *= divisor;
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
            ("metaslabs", 0, "at least 1", self.metaslabs != Some(0)),
            ("scale", self.scale.into(), "at least 1", self.scale > 0),
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
