//! Reasons why a descriptor cannot be a block target.

use trimbench_core::{Bytes, Errno};

/// Why a block target cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// A directory, a character device, a pipe.
    #[error("it is neither a block device nor a regular file")]
    NeitherDeviceNorFile,
    /// Opened for reading or for writing only: open it for both.
    #[error("it is not open for reading and writing")]
    NotWritable,
    /// Opened through the page cache: open it with `O_DIRECT`. Some filesystems have none, and an
    /// image on them cannot be measured.
    #[error("it is not open for direct I/O (O_DIRECT)")]
    NotDirect,
    /// No medium in the drive, a loop device without a file, an empty image.
    #[error("it has no capacity")]
    Empty,
    /// A logical block that is no power of two in [512 B, 64 KiB].
    #[error("its logical block size of {size} is not supported")]
    BlockSize {
        /// As the kernel says.
        size: Bytes,
    },
    /// The device is not in `/sys/dev/block`: sysfs is not mounted here, or the device is gone.
    #[error("`/sys/dev/block/{major}:{minor}` is missing")]
    NotInSysfs {
        /// Of its number.
        major: u32,
        /// Of its number.
        minor: u32,
    },
    /// The kernel counts no discards (before Linux 4.18).
    #[error("the kernel keeps no discard counters of it; use Linux 4.18 or later")]
    NoDiscardCounters,
    /// A system call failed.
    #[error("cannot {operation}: {errno}")]
    Kernel {
        /// What was asked of the kernel.
        operation: &'static str,
        /// Its reason.
        errno: Errno,
    },
}
