//! The methods: what each measures, how, and its figures. Everything here uses contracts only: it
//! knows neither the emulated SSD nor a filesystem nor Linux, and reads no clock.
//!
//! A method is a folder with its options, its procedure, its analysis and its charts. Analysis and
//! charts are pure functions of what is recorded, so that a resumed run and a later report compute
//! the same figures from the same record.

pub mod ab;
pub mod delete_stall;
pub mod delete_storm;
pub mod idle_trim;
pub mod kernels;
pub mod latency_under_load;
pub mod policy;
pub mod postmark;
pub mod recovery;
pub mod replay;
pub mod settle;
pub mod steady_state;
pub mod trim_integrity;
pub mod trim_sweep;

use trimbench_engine::{MethodDefinition as _, MethodInfo};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

/// Every method, in the order of `trimbench list methods`.
pub const METHODS: &[MethodInfo] = &[
    delete_stall::DeleteStall::INFO,
    trim_sweep::TrimSweep::INFO,
    idle_trim::IdleTrim::INFO,
    recovery::Recovery::INFO,
    steady_state::SteadyState::INFO,
    latency_under_load::LatencyUnderLoad::INFO,
    trim_integrity::TrimIntegrity::INFO,
    settle::Settle::INFO,
    postmark::Postmark::INFO,
    delete_storm::DeleteStorm::INFO,
    policy::PolicyLab::INFO,
    replay::Replay::INFO,
    kernels::Kernels::INFO,
    ab::Ab::INFO,
];

/// The ids of methods that a run takes only where they are named.
pub const BY_NAME_ONLY: &[&str] = &[kernels::Kernels::INFO.id, ab::Ab::INFO.id];
