//! The only crate that talks to Linux: `io_uring`, ioctls, sysfs, mounts, directories and
//! inspection.
//!
//! Entry points: [`DirectoryTarget`] runs file commands in a directory of its own on a mounted
//! filesystem; [`environment`] says what the machine and the storage stack look like;
//! [`atomic_write`] keeps run records whole; [`wall_time_unix`] dates them.
//!
//! Needs Linux 5.11 (`io_uring` waits with a timeout of their own). `unsafe` is lifted in
//! `directory::ring` (memory shared with the kernel) and in `ioctl` (numbers that no crate wraps),
//! nowhere else.

mod atomic;
mod clock;
mod directory;
mod drain;
mod inspect;
mod ioctl;
mod memory;
mod mounts;
mod statistics;
mod sysfs;

pub use atomic::{AtomicWriteError, atomic_write};
pub use clock::wall_time_unix;
pub use directory::{
    DirectoryError, DirectoryOptions, DirectoryTarget, DiscardObstacle, DiscardPath, Unsuitable,
};
pub use drain::{MountDiscard, drain_rule};
pub use inspect::{DeviceKind, NotPhysical, environment, physical_ssd};
pub use memory::available_memory;
pub use mounts::{Mount, MountError, mount_of};
