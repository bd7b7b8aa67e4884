//! The modelled filesystems: how ext4, XFS, btrfs and f2fs turn file commands into block commands,
//! and when they discard what is freed, in virtual time.
//!
//! [`FileSystem`] is a [`trimbench_core::Model`] of file commands over any model of a block device:
//! passive, told the time, without I/O of its own. Its commands to the device follow from an
//! allocator, a page cache with delayed allocation, a journal with ordered data, and a discard
//! issuer ([`trimbench_policy::Issuer`]) or a trim policy instead. No content is kept: a file is
//! extents and sets of pages, so an operation costs the number of its extents, not of its blocks.
//!
//! The head of each file and `docs/model/filesystem.md` say what is modelled, what is not, and how
//! far to trust it.

mod allocator;
mod cache;
mod candidates;
mod commands;
mod config;
mod cow;
mod delayed;
mod extent;
mod file;
mod files;
mod filesystem;
mod journal;
mod kind;
mod layout;
mod lower;

pub use config::{Allocation, CpuCosts, FsConfig, FsConfigError};
pub use cow::{ClassLimits, Pool, PoolConfig, PoolCosts, PoolCounters, QueueLimits, TrimManner};
pub use extent::FS_BLOCK;
pub use filesystem::{DiscardCounters, FileSystem, FsCounters, FsPolicy, policy};
pub use kind::{FsKind, Journaling};
pub use trimbench_block::{QueueConfig, Scheduler};
