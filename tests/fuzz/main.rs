//! Every reader of what others wrote, given damaged inputs and garbage.
//!
//! Each must end, with what was understood or an error: no panic, no hang, no more than 256 MiB.
//! What else must hold is said by each module: stamps of traces never go back; what is understood
//! of a record is written and reads as the same; a profile that passes its checks is a drive that
//! works; a text that is read prints as one that means the same; no text of a record is more than
//! text in a report.
//!
//! Most inputs are valid ones with small damages, so that they get past the first look of a parser.
//! Inputs are drawn by `bolero`: from random numbers in an ordinary test, guided by what code was
//! reached under `cargo bolero test -p tests NAME`, which takes a nightly compiler. A failure
//! prints a smaller input and its seed. `BOLERO_RANDOM_SEED=SEED cargo test -p tests --test fuzz
//! NAME` draws it again, `BOLERO_RANDOM_ITERATIONS=N` reads so many.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "harnesses say what they read; what hangs is ended by the wall clock"
)]

mod damage;
mod document;
mod harness;
mod options;
mod profiles;
mod records;
mod reports;
mod traces;
