//! Programs of the system that we start: from the system's own folders and in an environment of our
//! own, so that neither the search path of the user (`PATH`) nor settings for libraries
//! (`LIBBLKID_DEBUG`, `LD_PRELOAD`, `MKE2FS_CONFIG`) decide what they do.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[cfg(test)]
mod tests;

/// Where only the system's packages put programs. Not `/usr/local`, which on some systems a group
/// may write.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Where the system has this program; `None` if it does not.
pub fn program_path(name: &str) -> Option<PathBuf> {
    let paths = FOLDERS.map(|folder| Path::new(folder).join(name));
    paths.into_iter().find(|path| path.is_file())
}

/// The system's program of this name, which reads nothing and complains in English; `None` if
/// there is none.
pub fn program(name: &str) -> Option<Command> {
    let mut command = Command::new(program_path(name)?);
    command.env_clear().env("PATH", FOLDERS.join(":")).env("LC_ALL", "C").stdin(Stdio::null());
    Some(command)
}
