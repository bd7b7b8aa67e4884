//! The modelled filesystem: what ext4 makes of file commands, and when it discards what they free,
//! in virtual time.
//!
//! [`FileSystem`] is a [`trimbench_core::Model`] of file commands over any model of a block device:
//! passive, told the time, without I/O of its own. What it sends to the device below follows from
//! an allocator, a page cache with delayed allocation, a journal with ordered
//! data, and one of four discard paths ([`DiscardPath`])
//! or a trim policy in its place. No content is kept: a file is extents and
//! sets of pages, so that an operation costs the number of its extents, not of its blocks.
//!
//! What is modelled, what is not and how far to trust it stands at the head of each file and in
//! `docs/model/filesystem.md`.

mod allocator;
mod cache;
mod commands;
mod config;
mod cow;
mod discards;
mod extent;
mod file;
mod files;
mod filesystem;
mod journal;
mod layout;
mod lower;
mod slab;

pub use config::{Allocation, CpuCosts, DiscardPath, FS_BLOCK, FsConfig, FsConfigError, Scheduler};
pub use cow::{ClassLimits, Pool, PoolConfig, PoolCosts, PoolCounters, QueueLimits, TrimManner};
pub use discards::DiscardCounters;
pub use filesystem::{FileSystem, FsCounters, policy};
