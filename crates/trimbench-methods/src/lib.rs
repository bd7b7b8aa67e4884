//! Workloads, the runner and the methods. Everything here drives contracts: it knows neither the
//! emulated SSD nor a filesystem nor Linux, and reads no clock.
//!
//! A method is a folder with its options, its procedure and its analysis. The analysis is a pure
//! function from recorded steps to figures, so that a resumed run and a later report compute the
//! same figures from the same record.

pub mod area;
pub mod delete_stall;
pub mod delete_storm;
mod device_runner;
mod drain;
pub mod idle_trim;
pub mod method;
pub mod options;
mod other_load;
mod phase;
pub mod policy;
pub mod postmark;
pub mod recovery;
pub mod replay;
mod rounds;
pub mod runner;
mod series;
pub mod session;
pub mod settings;
pub mod settle;
mod slots;
pub mod stall_attribution;
pub mod steady;
pub mod steady_state;
#[cfg(test)]
mod testing;
pub mod trim_integrity;
pub mod trim_sweep;
pub mod workload;

pub use area::{Area, DeviceArea, FileArea};
pub use device_runner::Shape;
pub use method::{Demand, Findings, Method, MethodError, MethodInfo, MethodResult, Preset, run};
pub use options::Parameters;
pub use runner::{Observer, RunError, Runner, Sample};
pub use session::{KeepFailed, MethodSession, Monitor, SessionContext, Stage};
pub use slots::{Permit, Slots};
pub use stall_attribution::{Slice, StallAttribution, StallLayer, attribute_stalls};
