//! What `cargo xtask` does, as a library, so that its checks and parsers have tests.
//!
//! Each module is one step: [`setup`], [`verify`] (the step `test`), [`ci`], [`tidy`], [`docs`],
//! [`vendor`], [`mod@bench`], [`compare_records`], [`evidence`], [`dist`]. The steps `soak`,
//! `fuzz`, `campaign` and `s0` are modules of the package `tests`, and so is what all share: child
//! processes, steps with their times, and the repository.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the modules are the steps of a program, and print what they do"
)]
#![expect(
    clippy::disallowed_types,
    reason = "steps are timed by the wall clock; nothing here runs inside a simulation"
)]

pub mod bench;
pub mod ci;
pub mod compare_records;
pub mod dist;
pub mod docs;
pub mod evidence;
pub mod setup;
pub mod tidy;
pub mod vendor;
pub mod verify;

use ::tests::{Repository, process, repository, steps};
