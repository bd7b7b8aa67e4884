//! The emulated SSD as a block device of the kernel.
//!
//! ```text
//! program, filesystem -> /dev/loopN -> a file without a name, by FUSE -> engine -> model
//! ```
//!
//! [`Engine`] answers in the machine's time; [`AttachedDrive`] is an engine behind a loop device.
//! [`DriveProcess`] is one that another process serves, for who measures it.
//! The model is that of `trimbench-ssd`, unchanged: from the log of a drive, what it did can be
//! [done again](Attachment::replay) in virtual time. *Absent:* methods, profiles by name, printing.

mod alarm;
mod backing;
mod clock;
mod control;
mod delayed;
mod device;
mod drive;
mod engine;
mod faults;
mod fuse;
mod log;
mod process;
mod statistics;
mod store;
mod unit_map;

pub use backing::{BackingFileError, BackingPlace};
pub use control::{Answer, ControlSocket, DriveStatus, Order, ask, attached};
pub use device::{AttachError, AttachedDrive, Attachment};
pub use drive::InitialState;
pub use engine::{Engine, Reply, Request, RequestOutcome, Timer};
pub use faults::LiveFault;
pub use fuse::{BlockServer, ServedFile};
pub use log::{LogEntry, LogEvent, LoggedCommand, ReplayError};
pub use process::{DriveInquiry, DriveOwner, DriveProcess, DriveProcessError};
pub use statistics::{KindStatistics, RequestKind, Statistics};
