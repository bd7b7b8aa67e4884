//! Targets of Linux, and what the kernel says of them while they are measured.
//!
//! Entry points: [`BlockTarget`] runs block commands on a block device or an image file that was
//! claimed, or on a scratch image; [`DirectoryTarget`] runs file commands in a directory of its own
//! on a mounted filesystem, and sees the requests of the devices below through block tracepoints;
//! [`Recorder`] records the commands of a device in the same way; [`MkfsProvisioner`] makes
//! filesystems; [`passthrough`] sends drive commands past the block layer; [`PauseWatch`] notices
//! when this process does not run, and [`LoadWatch`] what others do with the storage below a
//! target; [`wall_time_unix`] dates records; [`BorrowedSetting`] changes the largest discard of a
//! disk and puts it back, and [`BorrowedMountOption`] does so with the way in which a mounted
//! filesystem discards.
//!
//! What may be written is decided in `trimbench-claim`: nothing here opens a block device or an
//! image of the user's for writing.
//!
//! Needs Linux 5.11 (`io_uring` waits with a timeout of their own). `unsafe` is allowed in `ring`
//! and `directory::ring` (memory shared with the kernel) and in `ioctl` (calls that no crate
//! wraps), nowhere else.

mod block;
mod borrowed;
mod clock;
mod directory;
mod drain;
mod file_sizes;
mod ioctl;
mod load_watch;
mod memory;
mod mkfs;
mod mount_option;
pub mod passthrough;
mod pauses;
mod ring;
mod size_classes;
mod statistics;
#[cfg(test)]
mod testing;
mod tracepoints;
mod workers;

pub use block::{BlockError, BlockMedium, BlockOptions, BlockTarget, FirstWrite, Purger};
pub use borrowed::{BorrowError, BorrowedSetting, Restored, restore_abandoned};
pub use clock::{exact_timers, monotonic_time, pause, wall_time_unix};
pub use directory::{
    DirectoryDiscardPath, DirectoryError, DirectoryOptions, DirectoryTarget, DiscardObstacle,
};
pub use drain::{DRAIN_RULES, FilesystemDrain, drain_of, drain_rule, mount_discard};
pub use file_sizes::{FileSizes, LookLimits};
pub use ioctl::{
    BtrfsChunk, FileExtent, FreeRange, XfsGeometry, btrfs_chunks, btrfs_free_space, btrfs_scrubs,
    btrfs_unallocated, file_extents, free_space_map, ignore_file_size_signal, run_first,
    trim_range, xfs_geometry,
};
pub use load_watch::LoadWatch;
pub use memory::{AlignedBuffer, available_memory, stack_limit};
pub use mkfs::{
    CacheControl, FilesystemKind, MakeError, MakeOptions, MemoryLimit, MkfsProvisioner,
};
pub use mount_option::{
    BorrowedMountOption, MountOptionError, MountRestored, restore_abandoned_mounts, switchable_ways,
};
pub use pauses::PauseWatch;
pub use statistics::DeviceCounters;
pub use tracepoints::{
    EventTask, RecordedCommand, RecordedEvent, Recorder, RequestWatch, TracedRequest, TracingError,
};
