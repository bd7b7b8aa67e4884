//! The image file that `trimbench fit RUN --measure DIRECTORY` measures on: it is made for that, so
//! that nothing is lost, and removed when all is measured.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use trimbench_core::Bytes;
use trimbench_core::text::shell_path;
use trimbench_linux::DirectoryTarget;

use crate::failure::Failure;
use crate::output::note;

/// Its name.
const NAME: &str = "trimbench-fit.img";

/// An image file that was made here; it is removed with this, unless it is kept.
pub(super) struct Scratch {
    path: PathBuf,
    kept: bool,
}

impl Scratch {
    /// Where it lies in a directory.
    pub(super) fn place(directory: &Path) -> PathBuf {
        directory.join(NAME)
    }

    /// Makes it in a directory, of this size, as a hole: it takes no room yet.
    pub(super) fn make(directory: &Path, size: Bytes) -> Result<Self, Failure> {
        let path = Self::place(directory);
        if let Some(room) = DirectoryTarget::room_in(directory).filter(|room| *room < size) {
            let shown = shell_path(directory);
            let error = anyhow::anyhow!("{shown} has room for {room}, and an image takes {size}");
            let hint = "name a directory on a filesystem with more room";
            return Err(Failure::target(error).with_hint(hint));
        }
        let file = File::options().write(true).create_new(true).open(&path).map_err(|error| {
            let shown = shell_path(&path);
            let hint = match error.kind() {
                ErrorKind::AlreadyExists => format!(
                    "if an earlier measurement left it, remove it (`rm {shown}`), or go on with \
                     that: `trimbench fit RUN --measure {}`",
                    shell_path(directory)
                ),
                _ => "name a directory in which you may write".to_owned(),
            };
            let what = format!("cannot make {shown}");
            Failure::target(anyhow::Error::new(error).context(what)).with_hint(hint)
        })?;
        let made = Self { path, kept: false };
        file.set_len(size.0)
            .with_context(|| format!("cannot make {} so large", shell_path(&made.path)))
            .map_err(Failure::target)?;
        Ok(made)
    }

    /// The one that an interrupted measurement kept there, if it is not whole.
    pub(super) fn again(directory: &Path) -> Self {
        Self { path: Self::place(directory), kept: true }
    }

    /// Keeps it, as long as something is to be measured on it.
    pub(super) fn keep(&mut self, kept: bool) {
        self.kept = kept;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let shown = shell_path(&self.path);
        if self.kept {
            note(&format!("{shown} stays until all is measured"));
            return;
        }
        match fs::remove_file(&self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => note(&format!("{shown} could not be removed: {error}")),
        }
    }
}
