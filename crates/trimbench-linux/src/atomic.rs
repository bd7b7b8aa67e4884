//! Files that are either old or new, never half: write beside, make durable, rename.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use trimbench_core::Errno;

#[cfg(test)]
mod tests;

/// Why a file could not be replaced. The old content, if there was any, is untouched unless the
/// step was `make the directory durable`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AtomicWriteError {
    /// A path without a file name (`/`, `..`): name a file.
    #[error("`{}` names no file", path.display())]
    NoFileName {
        /// As given.
        path: PathBuf,
    },
    /// The operating system refused a step: make room, or choose a writable place.
    #[error("cannot {step} `{}`: {errno}", path.display())]
    Step {
        /// The file that was to be written.
        path: PathBuf,
        /// What was tried.
        step: &'static str,
        /// The reason.
        errno: Errno,
    },
}

/// What [`atomic_write`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// That the new content is on the disk: it outlives a power cut.
    Durable,
    /// Nothing: it outlives the end of the program, however that comes. For what can be had again.
    Later,
}

/// Replaces the content of `path` by `bytes`: whenever the program ends, the file has its old or
/// its new content; if durable, also after a power cut at any point.
///
/// One writer at a time: the temporary file beside it is `.NAME.partial`.
pub fn atomic_write(
    path: &Path,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), AtomicWriteError> {
    let Some(name) = path.file_name() else {
        return Err(AtomicWriteError::NoFileName { path: path.to_owned() });
    };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut partial_name = std::ffi::OsString::from(".");
    partial_name.push(name);
    partial_name.push(".partial");
    let partial = directory.join(partial_name);
    let failed = |step| {
        move |error: io::Error| AtomicWriteError::Step {
            path: path.to_owned(),
            step,
            errno: Errno(error.raw_os_error().unwrap_or(Errno::EIO.0)),
        }
    };
    let written = write(&partial, bytes, durability)
        .map_err(failed("write a temporary file beside"))
        .and_then(|()| fs::rename(&partial, path).map_err(failed("rename the new content to")));
    if written.is_err() {
        // What is left of the attempt is of no use; the first error is the one to report.
        let _ = fs::remove_file(&partial);
    }
    written?;
    if durability == Durability::Later {
        return Ok(());
    }
    File::open(directory)
        .and_then(|opened| opened.sync_all())
        .map_err(failed("make the directory durable that holds"))
}

fn write(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    if durability == Durability::Durable { file.sync_all() } else { Ok(()) }
}
