//! Workloads, the runner and the methods. Everything here drives contracts: it knows neither the
//! emulated SSD nor a filesystem nor Linux, and reads no clock.
//!
//! A method is a folder with its options, its procedure and its analysis. The analysis is a pure
//! function from recorded steps to figures, so that a resumed run and a later report compute the
//! same figures from the same record.

pub mod area;
pub mod delete_stall;
pub mod method;
pub mod options;
pub mod runner;
pub mod workload;

pub use area::{Area, DeviceArea, FileArea};
pub use method::{Found, MethodError, MethodInfo, Monitor, Preset, Stage};
pub use options::{OptionError, OptionInfo};
pub use runner::{Observer, RunError, Runner, Sample};
