//! `trimpace`: trims mounted filesystems at a pace that the foreground does not feel.
//!
//! A [`pass`] joins a law of `trimbench_policy::pacing` (when, how much), a [`cutter`] (which
//! range), a [`planner`] (what a range means on this filesystem), a [`probe`] (what the foreground
//! feels) and the devices' counters ([`watch`]: what was done). [`args`] and [`selection`] take
//! what `fstrim` takes.

pub mod args;
pub mod cutter;
pub mod exit;
pub mod law;
pub mod once;
pub mod pass;
pub mod planner;
pub mod probe;
pub mod report;
pub mod selection;
pub mod watch;
