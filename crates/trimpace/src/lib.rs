//! `trimpace`: trims mounted filesystems at a pace that the foreground does not feel.
//!
//! A [`pass`] joins a law of `trimbench_policy::pacing` (when, how much), a [`cutter`] (which
//! range), a [`planner`] (what a range means on this filesystem), a [`probe`] (what the foreground
//! feels) and the devices' counters ([`watch`]: what was done). [`args`] and [`selection`] take
//! what `fstrim` takes.
//!
//! The [`service`] runs passes by itself: its [`config`] says what to trim and how, the
//! [`schedule`] when, a [`hindrance`] when not; its [`cursor`] goes on after a restart, and its
//! [`status`] is for others to read.

pub mod args;
pub mod config;
pub mod cursor;
pub mod cutter;
pub mod exit;
pub mod hindrance;
pub mod law;
pub mod once;
pub mod pass;
pub mod planner;
pub mod probe;
pub mod report;
pub mod schedule;
pub mod selection;
pub mod service;
mod stack;
pub mod status;
pub mod watch;
