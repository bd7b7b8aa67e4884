//! The program `trimpace` on filesystems of loop devices, beside the real fstrim(8).
//!
//! Each test runs in a mount namespace of its own with a `/run` of its own: what it mounts goes
//! with it, and journals of borrowed settings of this machine are not touched.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(clippy::print_stderr, reason = "tests report what they skip")]

mod amounts;
#[path = "../common/mod.rs"]
mod common;
mod endings;
mod frozen;
mod killed;
mod meanwhile;
mod ranges;
mod refusals;
mod service;
mod stage;
mod surroundings;
