//! Opens the file of a trace for writing, and removes what was begun.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use trimbench_trace::WriteError;

use crate::failure::Failure;
use crate::output::error_line;

/// Removes the file that was begun.
pub(super) fn remove(begun: Option<&Path>) {
    if let Some(path) = begun
        && let Err(error) = fs::remove_file(path)
    {
        error_line(&format!("cannot remove `{}`: {error}", path.display()));
    }
}

/// Opens the file to write, which is not the one that is read; with its path, if it is to be
/// removed on errors.
pub(super) fn create(
    path: &Path,
    overwrite: bool,
    input: Option<&Path>,
) -> Result<(Box<dyn Write + Send>, Option<PathBuf>), Failure> {
    if path == Path::new("-") {
        return Ok((Box::new(io::stdout()), None));
    }
    let refused = |text: &str, hint: &str| {
        let error = anyhow::anyhow!("`{}` {text}", path.display());
        Failure::usage(error).with_hint(hint)
    };
    if let Ok(metadata) = fs::metadata(path) {
        if !metadata.is_file() {
            let hint = "name a regular file; a pipe takes `-`";
            return Err(refused("is no regular file, and is not written over", hint));
        }
        if overwrite && input.is_some_and(|input| same_file(path, input)) {
            return Err(refused("is the trace itself", "name another file for the copy"));
        }
    }
    let mut options = File::options();
    options.write(true);
    if overwrite {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    match options.open(path) {
        Ok(file) => Ok((Box::new(file), Some(path.to_owned()))),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(refused("is there already", "name another file, or say `--overwrite`"))
        }
        Err(error) => {
            let context = format!("cannot write `{}`", path.display());
            Err(Failure::target(error).context(context))
        }
    }
}

/// Whether two names lead to one file.
fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

pub(super) fn unwritten(error: WriteError) -> Failure {
    match error {
        WriteError::Unaligned { .. } => {
            let hint = "`--to trimbench` and `--to iolog` hold it; `--lenient` leaves it out";
            Failure::usage(error).with_hint(hint)
        }
        WriteError::ReadOnly(_) => Failure::usage(error),
        _ => Failure::target(error),
    }
}
