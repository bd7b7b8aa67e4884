//! `delete-stall`: how long you notice a deletion, in seconds of stutter per GB.
//!
//! Files of several sizes are deleted while two probes run: a serial one, whose added latency is
//! the headline, and an open-loop load, whose response time counts from the intended start. Every
//! deletion is compared with placebos, deletions of an empty file, in random order. The procedure,
//! its parameters and what it cannot show are in `docs/methods/delete-stall.md`. Source: \[S1\].

mod analysis;
mod options;
mod session;
mod subject;
#[cfg(test)]
mod tests;
mod window;

pub use analysis::{analyse, announced_figures};
pub use options::{DeleteStall, Mode};
pub use session::{Plan, Trial, run};
pub use subject::{DeviceSubject, DirectorySubject, Groups, Subject};

use crate::method::MethodInfo;

/// Stable id.
pub const ID: &str = "delete-stall";

/// The method as the command line lists it.
pub const INFO: MethodInfo = MethodInfo {
    id: ID,
    version: 1,
    summary: "how long you notice a deletion: seconds of stutter per GB deleted",
    options: options::OPTIONS,
};
