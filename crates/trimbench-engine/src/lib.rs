//! The engine: the interface of a method, and everything that methods share. It knows neither a
//! method by name nor the emulated SSD, a filesystem or Linux, and reads no clock.
//!
//! A [`MethodSession`] is one method on one target: it skips steps that are already measured, saves
//! new ones, and estimates the rest. [`Slots`] share jobs and memory between concurrent sessions. A
//! [`Runner`] drives a target with a load while observers watch.

pub mod area;
pub mod device_runner;
pub mod drain;
pub mod method;
pub mod other_load;
pub mod phase;
pub mod rounds;
pub mod runner;
pub mod series;
pub mod settings;
mod slots;
pub mod stall_attribution;
pub mod steady;
#[cfg(any(test, feature = "testing"))]
#[allow(
    missing_docs,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::new_without_default,
    reason = "doubles of unit tests"
)]
pub mod testing;
pub mod workload;

pub use area::{Area, DeviceArea, FileArea};
pub use device_runner::Shape;
pub use method::{
    Demand, Findings, KeepFailed, Method, MethodDefinition, MethodError, MethodInfo, MethodResult,
    MethodSession, Monitor, Preset, ResolvedMethod, SessionContext, Stage, run,
};
pub use runner::{Observer, RunError, Runner, Sample};
pub use slots::{Permit, Slots};
pub use stall_attribution::{Slice, StallAttribution, StallLayer, attribute_stalls};
