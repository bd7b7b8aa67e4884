//! Whether TRIM reaches a drive, which layer drops it, and whether a stall is TRIM's doing.
//!
//! [`Doctor`] walks from a filesystem or a device down to its drives, by what sysfs and procfs tell
//! everybody: nothing is written, and root is needed only for what device mapper keeps to itself.
//! What cannot be read is named, and is neither a yes nor a no.
//!
//! The way of a diagnosis: [`SystemTree`] (this machine or a recorded tree) -> `walk` (the layers,
//! one file a kind) -> [`Diagnosis`] (where the ways end, counters, traps) -> [`lines`] (for
//! people). Beside it stands [`watch`]: whether a stall is TRIM's doing, seen while it happens.

mod device;
mod diagnosis;
mod drive_facts;
mod drive_report;
mod fstab;
mod layer;
mod mount_table;
mod probe;
mod prometheus;
mod resolve;
mod senders;
mod size;
mod system;
mod text;
mod trap;
mod traps;
mod tree;
mod walk;
pub mod watch;

pub use device::{DiscardCount, DiscardLimits};
pub use diagnosis::{Diagnosis, DiagnosisError, Doctor, Reach, SinceStart, Stop};
pub use drive_report::{DriveReport, NotADrive};
pub use layer::{Handling, Layer, LayerKind};
pub use probe::{ProbeError, ProbeOptions, ProbeReport, ProbedLayer, ReadBack, judge, probe};
pub use prometheus::{PROMETHEUS_MARK, is_prometheus, prometheus};
pub use resolve::{ResolvedPath, resolve};
pub use text::{conclusion, lines};
pub use trap::{Trap, TrapWeight};
pub use tree::{ReadObstacle, SystemFact, SystemTree};
