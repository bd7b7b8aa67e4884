//! What `cargo xtask` does, as a library, so that its checks and parsers have tests.
//!
//! Each step is a module: [`setup`], [`verify`] (the step `test`), [`ci`], [`tidy`], [`vendor`],
//! [`dist`], [`guest`]. What they share, and what `lab` and the tests use as well: child processes
//! ([`process`]), steps with their times ([`steps`]), the [`Repository`]. Nothing here links the
//! product.
#![expect(
    clippy::print_stdout,
    clippy::exit,
    reason = "the modules are the steps of a program, and print what they do"
)]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "steps are timed by the wall clock; nothing here runs inside a simulation"
)]

pub mod ci;
pub mod dist;
pub mod guest;
pub mod process;
pub mod repository;
pub mod setup;
pub mod steps;
pub mod tidy;
pub mod vendor;
pub mod verify;

pub use guest::{Guest, GuestDisk, GuestKind, GuestOutput};
pub use repository::Repository;
