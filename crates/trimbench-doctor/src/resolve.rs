//! What a path is, without waiting for a filesystem that does not answer.
//!
//! A task that waits for a dead server or drive cannot be cancelled. So the path is looked at by a
//! program of the system, which is left behind after its deadline.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use trimbench_claim::program;
use trimbench_core::Nanos;

use crate::tree::output_within;

/// How long a path has to answer.
const LIMIT: Nanos = Nanos::from_secs(3);

/// What became of looking at a path.
#[derive(Debug)]
pub enum ResolvedPath {
    /// It is there; this is it without links.
    Found(PathBuf),
    /// It did not answer in time. This is as it was written, links and all.
    Hangs(PathBuf),
}

/// Looks at a path for three seconds at the most.
pub fn resolve(path: &Path) -> io::Result<ResolvedPath> {
    let written = std::path::absolute(path)?;
    let Some(mut command) = program("realpath") else {
        return std::fs::canonicalize(&written).map(ResolvedPath::Found);
    };
    let command = command.args(["--canonicalize-existing", "--zero", "--"]).arg(&written);
    match output_within(command.stdout(Stdio::piped()).stderr(Stdio::null()), LIMIT) {
        Err(error) if error.raw_os_error() == Some(libc::ETIMEDOUT) => {
            Ok(ResolvedPath::Hangs(written))
        }
        // It has answered, so this does not hang; and its error is the kernel's own.
        Ok(_) | Err(_) => std::fs::canonicalize(&written).map(ResolvedPath::Found),
    }
}
