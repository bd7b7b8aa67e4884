//! What the methods find: on emulated drives, whose truth is known, and on loop devices.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod client_drives;
mod delete_stall;
mod discard_shapes;
mod integrity;
mod loop_device;
mod policies;
mod pools;
mod postmark;
mod published_discard;
mod recovery;
mod replay;
mod settle;
mod steady_state;
mod vendors;

use tests::program::BuiltProgram;

/// The program that was built for the tests.
fn program() -> BuiltProgram {
    BuiltProgram::at(env!("CARGO_BIN_EXE_trimbench"))
}
