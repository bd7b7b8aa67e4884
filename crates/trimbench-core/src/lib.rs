//! The basis of all other crates: units, commands, the contracts, virtual time, seeded randomness,
//! exit codes and caveats.
//!
//! Two contracts hold the program together, both of [`Storage`]. A [`Model`] is passive: it is told
//! the time. A [`Target`] owns time, which passes in [`Target::reap`] only. [`Virtual`] makes a
//! target of any model; `trimbench-linux` implements [`Target`] for real devices and directories. A
//! [`Workload`] says what to submit and when; the runner in `trimbench-engine` joins the two.
//!
//! This crate reads no clock, no file and no environment. It depends only on a random number
//! generator and a derive macro for errors.

pub mod caveat;
pub mod command;
pub mod contract;
pub mod drive;
pub mod errno;
pub mod exit;
pub mod fault;
pub mod file_order;
pub mod layers;
pub mod nearest;
mod opened;
mod others;
pub mod provision;
pub mod rng;
pub mod settings;
pub mod slab;
pub mod stamp;
pub mod text;
pub mod trace_hash;
pub mod units;
pub mod virtual_time;

pub use caveat::Caveat;
pub use command::{
    BlockCommand, Completion, Content, Data, DirectoryId, FileCommand, FileId, Operation,
    OperationKind, Payload, ProgramEnd, Rejected, Status, Stream, Tag,
};
pub use contract::{
    Capabilities, Clock, DISCARD_RANGES_MAX, DeviceStatistics, DiscardCounts, DrainRule,
    DriveDiscards, ForceDiscards, Interrupt, Medium, Model, MountDiscard, Next, OwnPauses, Storage,
    Support, Target, Workload,
};
pub use drive::{Device, Drive, DriveError, Drives, PurgeMeans, TrimPromise, Wear};
pub use errno::{Errno, reason};
pub use file_order::FileOrder;
pub use layers::{BlockRequest, CallerWait};
pub use opened::Opened;
pub use others::{DevicesUse, LoadSeen, ReadTimes};
pub use provision::{
    Account, DiscardAccount, DiscardMode, Files, FilesystemSpec, ProvisionError, Provisioner,
};
pub use units::{BlockSize, Blocks, Bytes, Instant, Lba, LbaRange, Nanos, Ppm};
pub use virtual_time::Virtual;
