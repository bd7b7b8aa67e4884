//! Configuration of a modelled filesystem and of the machine that it runs on.

use trimbench_block::{QueueConfig, Scheduler};
use trimbench_core::{Bytes, FileCommand, Nanos, Ppm};
use trimbench_policy::{Issuer, PolicyError};

pub(crate) use crate::extent::FS_BLOCK;
use crate::kind::{FsKind, Journaling};

/// How ext4 finds free blocks, and merges what becomes free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// One group after the other from the goal on; what one transaction frees is merged with all
    /// its neighbours. Files of up to 64 KiB that are closed before their data get a place follow
    /// each other like large ones; open ones are packed. ext4 up to Linux 5.5.
    Linear,
    /// Among groups that are sorted by their free extents, those that fit most tightly first
    /// (`mb_optimize_scan`); one after the other with fewer than 16 groups. Large files that are
    /// open follow as many streams as there are processors, of a quarter of the groups at most.
    /// What is freed is merged with one of its neighbours, if that is adjacent, and only then with
    /// the other. What is written is an extent of its own until it is written. Small files are
    /// packed, open or closed (from 6.0 on). ext4 from Linux 6.17 on.
    ByIndex {
        /// Processors of the machine, at least 1.
        processors: u32,
    },
}

/// Processor time of commands. Each outstanding command has a processor to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuCosts {
    /// A command that changes names or sizes, or opens and closes a file.
    pub metadata: Nanos,
    /// A system call that moves data.
    pub call: Nanos,
    /// Moving 1 KiB through the page cache.
    pub kib: Nanos,
}

impl CpuCosts {
    /// The processor time of a command.
    pub(crate) fn time(self, command: FileCommand) -> Nanos {
        /// Bytes that the C library moves at a time (`BUFSIZ` on ext4: `st_blksize`).
        const STDIO_BUFFER: u64 = 4096;
        match command {
            FileCommand::Store { length, stream, .. }
            | FileCommand::Append { length, stream, .. }
            | FileCommand::Load { length, stream, .. } => {
                let piece = if stream.buffered { STDIO_BUFFER } else { stream.piece.into() };
                let calls = length.pieces(Bytes(piece));
                let copying = Nanos(self.kib.times(length.0).0 / 1024);
                self.metadata + self.call.times(calls) + copying
            }
            FileCommand::Read { .. } | FileCommand::Write { .. } => self.call,
            _ => self.metadata,
        }
    }
}

/// A filesystem and its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsConfig {
    /// Which filesystem it is.
    pub kind: FsKind,
    /// Who discards online what is freed, one of this filesystem; `None` for nobody
    /// (`nodiscard`).
    pub discard: Option<Issuer>,
    /// What its journal holds; only of ext4.
    pub journaling: Journaling,
    /// How free blocks are found.
    pub allocation: Allocation,
    /// Whether mkfs discarded the device, which f2fs remembers: its FITRIM leaves alone what was
    /// never written.
    pub made_trimmed: bool,
    /// FITRIM leaves free extents alone that are shorter; raised to the device's granularity.
    pub trim_minimum: Bytes,
    /// Blocks of a block group: a multiple of 8 in [256, 32768].
    pub group_fs_blocks: u32,
    /// Inodes of a block group: a multiple of 16, at least 16.
    pub group_inodes: u32,
    /// Size of the journal; `None` for what mke2fs takes for this size of filesystem.
    pub journal: Option<Bytes>,
    /// A transaction commits at this age (`commit=`).
    pub commit_interval: Nanos,
    /// Memory for the page cache.
    pub memory: Bytes,
    /// Write-back begins above this share of the memory (`dirty_background_ratio`).
    pub dirty_background: Ppm,
    /// Writers wait above this share of the memory (`dirty_ratio`).
    pub dirty_limit: Ppm,
    /// Dirty data and metadata of this age are written back (`dirty_expire_centisecs`).
    pub dirty_expire: Nanos,
    /// The flusher looks this often (`dirty_writeback_centisecs`).
    pub write_back_interval: Nanos,
    /// The block layer below.
    pub queue: QueueConfig,
    /// Writes that write-back keeps under way: a queue of the block layer leaves it no more.
    pub write_back_depth: u32,
    /// Reads of a file through the cache go ahead of it by up to this much (`read_ahead_kb`).
    pub read_ahead: Bytes,
    /// Processor time.
    pub cpu: CpuCosts,
}

/// A filesystem that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FsConfigError {
    /// A value is outside its range.
    #[error("`{key}` is {value}, but must be {range}")]
    OutOfRange {
        /// Which.
        key: &'static str,
        /// What was given.
        value: u64,
        /// What is allowed.
        range: &'static str,
    },
    /// The device is too small: its metadata, its journal and one group of data must fit.
    #[error("a filesystem with groups of {group} does not fit on a device of {capacity}")]
    DeviceTooSmall {
        /// Of the device.
        capacity: Bytes,
        /// Of a block group.
        group: Bytes,
    },
    /// The target is not a block device.
    #[error("a filesystem needs a block device below it, with logical blocks of at most 4 KiB")]
    NotABlockDevice,
    /// A trim policy cannot be made for the device.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

impl Default for FsConfig {
    /// mke2fs's and Linux's defaults on a machine with 4 GiB. The processor times are assumed: a
    /// `creat` or `unlink` of some 10 us and a `write` of 4 KiB of under 2 us, as on a desktop
    /// machine around 2010.
    fn default() -> Self {
        Self {
            kind: FsKind::Ext4,
            discard: Some(Issuer::Ext4),
            journaling: Journaling::Ordered,
            allocation: Allocation::ByIndex { processors: 2 },
            made_trimmed: false,
            trim_minimum: Bytes(0),
            group_fs_blocks: 32_768,
            group_inodes: 8_192,
            journal: None,
            commit_interval: Nanos::from_secs(5),
            memory: Bytes::gib(4),
            dirty_background: Ppm(100_000),
            dirty_limit: Ppm(200_000),
            dirty_expire: Nanos::from_secs(30),
            write_back_interval: Nanos::from_secs(5),
            queue: QueueConfig::default(),
            write_back_depth: 32,
            read_ahead: Bytes(128 << 10),
            cpu: CpuCosts { metadata: Nanos::from_micros(10), call: Nanos(700), kib: Nanos(250) },
        }
    }
}

impl FsConfig {
    /// mkfs's and Linux's defaults for a filesystem, on the machine of [`Self::default`].
    pub fn of(kind: FsKind) -> Self {
        let own = Self {
            kind,
            discard: Some(kind.issuer()),
            commit_interval: kind.commit_interval(),
            ..Self::default()
        };
        match kind {
            FsKind::Ext4 => own,
            // Their allocators are not modelled for themselves: space is taken from where the last
            // file ended on, in runs as long as there are.
            FsKind::Xfs | FsKind::Btrfs | FsKind::F2fs => Self {
                allocation: Allocation::Linear,
                // Inodes have a place of their own here: 0.4 % of the space.
                group_inodes: 1_024,
                ..own
            },
        }
    }

    /// The machine and the kernel of \[S0\]'s tests, mounted with `discard`.
    ///
    /// \[S0\] names neither. Its mount option is of 2009 to 2010 (Linux 2.6.33 brought ext4's
    /// online discard into its present form, 2.6.37 changed what mkfs and the block layer do), so
    /// the kernel is assumed to be of that time: CFQ, discards inside the commit, the allocator of
    /// up to 5.5.
    ///
    /// **Memory, limit of dirty pages, depth of write-back and processor time are no blind guess.**
    /// They were chosen with \[S0\]'s deletions in view, among values that such a machine may have.
    /// `docs/model/calibration.md` says what was tried, and what others gave.
    pub fn s0() -> Self {
        Self {
            discard: Some(Issuer::Ext4Since2_6_33),
            allocation: Allocation::Linear,
            // 4 GiB less what programs and the kernel take.
            memory: Bytes::mib(2_944),
            // vm.dirty_background_ratio since 2.6.30.
            dirty_background: Ppm(100_000),
            // vm.dirty_ratio is 20 %; writers are held from halfway between the two on
            // (`balance_dirty_pages`).
            dirty_limit: Ppm(150_000),
            // A queue of 128 requests counts as congested from 113 on
            // (`blk_queue_congestion_threshold`).
            write_back_depth: 113,
            queue: QueueConfig {
                // Linux has it since 4.10.
                write_back_throttling: None,
                scheduler: Scheduler::Cfq,
                ..QueueConfig::default()
            },
            // A slow processor of that time.
            cpu: CpuCosts { metadata: Nanos::from_micros(50), ..Self::default().cpu },
            // mke2fs's journal, 5 s between commits, read-ahead of 128 KiB, requests of 512 KiB.
            ..Self::default()
        }
    }

    /// Whether every value is in its range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), FsConfigError> {
        let (blocks, inodes) = (u64::from(self.group_fs_blocks), u64::from(self.group_inodes));
        let (commit, write_back) = (self.commit_interval.0, self.write_back_interval.0);
        let (background, limit) = (self.dirty_background, self.dirty_limit);
        let (request, depth) = (self.queue.request_max.0, u64::from(self.write_back_depth));
        let limits = "at most 1 000 000 ppm, and 1 MiB of the memory at least";
        let limit_fits = limit <= Ppm::ONE && limit.of(self.memory.0) >= Bytes::mib(1).0;
        let blocks_fit = (256..=32_768).contains(&blocks) && blocks.is_multiple_of(8);
        let inodes_fit = inodes >= 16 && inodes.is_multiple_of(16);
        let request_fits = request >= FS_BLOCK.0 && request.is_multiple_of(FS_BLOCK.0);
        let own_issuer = self.discard.is_none_or(|issuer| FsKind::of(issuer) == Some(self.kind));
        let has_processors = self.allocation != Allocation::ByIndex { processors: 0 };
        check_ranges(&[
            ("group_fs_blocks", blocks, "a multiple of 8 in [256, 32768]", blocks_fit),
            ("group_inodes", inodes, "a multiple of 16, at least 16", inodes_fit),
            ("commit_interval", commit, "at least 1 ns", commit > 0),
            ("write_back_interval", write_back, "at least 1 ns", write_back > 0),
            ("dirty_background", background.0.into(), "below `dirty_limit`", background < limit),
            ("dirty_limit", limit.0.into(), limits, limit_fits),
            ("request_max", request, "a multiple of 4 KiB, at least that", request_fits),
            ("processors", 0, "at least 1", has_processors),
            ("discard", 0, "an issuer of this filesystem", own_issuer),
            ("write_back_depth", depth, "at least 1", depth > 0),
        ])
    }
}

/// Refuses the first value that is outside its range: key, value, the range in words, and whether
/// it holds.
pub(crate) fn check_ranges(
    rows: &[(&'static str, u64, &'static str, bool)],
) -> Result<(), FsConfigError> {
    match rows.iter().find(|row| !row.3) {
        Some(&(key, value, range, _)) => Err(FsConfigError::OutOfRange { key, value, range }),
        None => Ok(()),
    }
}
