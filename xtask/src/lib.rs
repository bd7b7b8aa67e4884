//! What `cargo xtask` does, as a library, so that its checks and parsers have tests.
//!
//! Each module is one step: [`setup`], [`verify`] (the step `test`), [`ci`], [`tidy`], [`docs`],
//! [`vendor`], [`mod@bench`], [`soak`], [`fuzz`], [`compare_records`], [`campaign`], [`evidence`].
//! They share [`process`] (child processes with a deadline), [`steps`] (a step's name, outcome and
//! time), the [`Repository`], [`tree`] (a copy of it that is changed and built) and [`earlier`]
//! (the program of an earlier commit).
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "the modules are the steps of a program, and print what they do"
)]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "steps are timed by the wall clock; nothing here runs inside a simulation"
)]

pub mod bench;
pub mod calibrate;
pub mod campaign;
pub mod ci;
pub mod compare_records;
pub mod docs;
pub mod earlier;
pub mod evidence;
pub mod fuzz;
pub mod process;
pub mod repository;
pub mod setup;
pub mod soak;
pub mod steps;
pub mod tidy;
pub mod tree;
pub mod vendor;
pub mod verify;

pub use repository::Repository;
