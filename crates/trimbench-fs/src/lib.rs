//! The modelled filesystem: how ext4 turns file commands into block commands, and when it discards
//! what they free, in virtual time.
//!
//! [`FileSystem`] is a [`trimbench_core::Model`] of file commands over any model of a block device:
//! passive, told the time, without I/O of its own. Its commands to the device follow from an
//! allocator, a page cache with delayed allocation, a journal with ordered data, and a discard
//! path ([`DiscardPath`]) or a trim policy instead. No content is kept: a file is extents
//! and sets of pages, so an operation costs the number of its extents, not of its blocks.
//!
//! The head of each file and `docs/model/filesystem.md` say what is modelled, what is not, and how
//! far to trust it.

mod allocator;
mod cache;
mod commands;
mod config;
mod cow;
mod discard_path;
mod discards;
mod extent;
mod file;
mod files;
mod filesystem;
mod journal;
mod layout;
mod lower;
mod slab;

pub use config::{Allocation, CpuCosts, FS_BLOCK, FsConfig, FsConfigError, Scheduler};
pub use cow::{ClassLimits, Pool, PoolConfig, PoolCosts, PoolCounters, QueueLimits, TrimManner};
pub use discard_path::{DiscardPath, DiscardRule, DiscardSender};
pub use discards::DiscardCounters;
pub use filesystem::{FileSystem, FsCounters, policy};
