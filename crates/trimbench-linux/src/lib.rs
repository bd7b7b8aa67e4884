//! The only crate that talks to Linux: `io_uring`, ioctls, sysfs, mounts, directories and
//! inspection.
//!
//! Entry points: [`Inspection`] and [`Claim`] are the only way to open a block device or an image
//! file of the user's for writing, and [`ScratchImage`] makes an image that nobody else has;
//! [`BlockTarget`] runs block commands on either; [`DirectoryTarget`] runs file commands in a
//! directory of its own on a mounted filesystem, and sees the requests of the devices below through
//! block tracepoints; [`Recorder`] records the commands of a device in the same way;
//! [`environment`] describes the machine and the storage stack; [`passthrough`] sends drive
//! commands past the block layer; [`PauseWatch`] notices when this process does not run, and
//! [`LoadWatch`] what others do with the storage below a target;
//! [`OutputDirectory`] and [`OutputPlace`] write every file of the program; [`wall_time_unix`]
//! dates them.
//!
//! Needs Linux 5.11 (`io_uring` waits with a timeout of their own). `unsafe` is allowed in `ring`
//! and `directory::ring` (memory shared with the kernel) and in `ioctl` (calls that no crate
//! wraps), nowhere else.

mod block;
mod claim;
mod clock;
mod directory;
mod drain;
mod errno;
mod inspect;
mod ioctl;
mod load_watch;
mod memory;
mod mkfs;
mod mounts;
mod opening;
mod output;
pub mod passthrough;
mod pauses;
mod program;
mod random;
mod registry;
mod ring;
mod room;
mod scratch;
mod size_classes;
mod statistics;
mod sysfs;
#[cfg(test)]
mod testing;
mod tracepoints;
mod workers;

pub use block::{BlockError, BlockMedium, BlockOptions, BlockTarget, FirstWrite, Purger};
pub use claim::{Claim, ClaimError, Consent, Guard, Inspection};
pub use clock::{monotonic_time, wall_time_unix};
pub use directory::{
    DirectoryDiscardPath, DirectoryError, DirectoryOptions, DirectoryTarget, DiscardObstacle,
};
pub use drain::{DRAIN_RULES, FilesystemDrain, MountDiscard, drain_of, drain_rule};
pub use inspect::environment;
pub use ioctl::ignore_file_size_signal;
pub use load_watch::LoadWatch;
pub use memory::{available_memory, stack_limit};
pub use mkfs::{
    CacheControl, FilesystemKind, MakeError, MakeOptions, MemoryLimit, MkfsProvisioner,
};
pub use mounts::{Mount, MountError, mount_of};
pub use output::{
    AppendedFile, Begun, Draft, Durability, GrowingFile, Inode, OutputDirectory, OutputError,
    OutputFile, OutputPlace, Replaces,
};
pub use pauses::PauseWatch;
pub use random::random;
pub use room::PromisedRoom;
pub use scratch::{ScratchError, ScratchGuard, ScratchImage};
pub use tracepoints::{RecordedCommand, RecordedEvent, Recorder, TracingError};
