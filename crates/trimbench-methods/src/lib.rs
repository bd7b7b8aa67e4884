//! The methods: what each measures, how, and its figures. Everything here uses contracts only: it
//! knows neither the emulated SSD nor a filesystem nor Linux, and reads no clock.
//!
//! A method is a folder with its options, its procedure, its analysis and its charts. Analysis and
//! charts are pure functions of what is recorded, so that a resumed run and a later report compute
//! the same figures from the same record.

pub mod delete_stall;
pub mod delete_storm;
pub mod idle_trim;
pub mod policy;
pub mod postmark;
pub mod recovery;
pub mod replay;
pub mod settle;
pub mod steady_state;
pub mod trim_integrity;
pub mod trim_sweep;

use trimbench_engine::MethodInfo;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

/// Every method, in the order of `trimbench list methods`.
pub const METHODS: &[MethodInfo] = &[
    delete_stall::INFO,
    trim_sweep::INFO,
    idle_trim::INFO,
    recovery::INFO,
    steady_state::INFO,
    trim_integrity::INFO,
    settle::INFO,
    postmark::INFO,
    delete_storm::INFO,
    policy::INFO,
    replay::INFO,
];
