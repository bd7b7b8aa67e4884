//! Files at paths given by the user: which may be replaced.
//!
//! Without `--overwrite` a file is replaced only by a newer one of its own kind, which is
//! recognised by all of its content ([`recognise`]). A run's record is never replaced, however it
//! is encoded or packed, nor is a file that a loop device, swap or a writing process uses. Pipes
//! and terminals are written to as they are.

mod recognise;

use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use trimbench_app::Failure;
use trimbench_claim::{Durability, Inode, OutputDirectory, OutputError, OutputFile, OutputPlace};

use recognise::is_record;
pub(crate) use recognise::{PROFILE_MARK, is_ours, is_page, profile_file};

/// So much of a file is read at most: what is longer is none of ours, and a record shows within it
/// that it is one.
const READ_MAX: u64 = 64 << 20;

/// What may be replaced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    /// What files of the kind that is to be written begin with; `None`: none is recognised.
    pub(crate) mark: Option<&'a str>,
    /// Others, too, but for records.
    pub(crate) overwrite: bool,
    /// Files that are being read; their names do not matter.
    pub(crate) inputs: &'a [Inode],
}

/// A place for one file, where one may be written.
#[derive(Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    place: OutputPlace,
}

impl Destination {
    /// The place at `path`.
    pub(crate) fn of(path: &Path, rules: Rules<'_>) -> Result<Self, Failure> {
        let place = OutputPlace::of(path).map_err(|error| unwritable(path, error))?;
        Self { path: path.to_owned(), place }.checked(rules)
    }

    /// The place of this name in a directory.
    pub(crate) fn within(
        directory: &OutputDirectory,
        name: &Path,
        rules: Rules<'_>,
    ) -> Result<Self, Failure> {
        let path = directory.path().join(name);
        let place = OutputPlace::within(directory, name.as_os_str())
            .map_err(|error| unwritable(&path, error))?;
        Self { path, place }.checked(rules)
    }

    /// Whether what is written here goes to our own stdout.
    pub(crate) fn is_stdout(&self) -> bool {
        let OutputPlace::Stream(file) = &self.place else { return false };
        let (file, stdout) = (Inode::of(file), Inode::of(std::io::stdout()));
        file.is_ok_and(|file| stdout.is_ok_and(|stdout| file == stdout))
    }

    /// Begins to write.
    pub(crate) fn begin(self) -> Result<OutputFile, Failure> {
        self.place.begin().map_err(|error| unwritable(&self.path, error))
    }

    /// Writes all of it, or nothing.
    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        let path = self.path.clone();
        let output = self.begin()?;
        let written = output.file().write_all(text.as_bytes());
        written.map_err(|error| cannot_write(&path, error))?;
        output.commit(Durability::Later).map_err(|error| unwritable(&path, error))
    }

    fn checked(mut self, rules: Rules<'_>) -> Result<Self, Failure> {
        let path = self.path.display();
        let refused = |text: &str, hint: &str| {
            Err(Failure::usage(anyhow!("`{path}` {text}")).with_hint(hint.to_owned()))
        };
        let OutputPlace::File { inode, content, .. } = &mut self.place else { return Ok(self) };
        if rules.inputs.contains(inode) {
            return refused("is the trace itself", "name another file for the copy");
        }
        let Some(content) = content else {
            return refused("already exists and cannot be read", "name another file");
        };
        let mut bytes = Vec::new();
        let read = content.rewind().and_then(|()| content.take(READ_MAX).read_to_end(&mut bytes));
        read.map_err(|error| Failure::target(error).context(format!("cannot read `{path}`")))?;
        if !rules.mark.is_some_and(|mark| is_ours(mark, &bytes)) {
            if is_record(bytes) {
                let text = "is the record of a run, and is never replaced";
                return refused(text, "name another file");
            }
            if !rules.overwrite {
                return refused("already exists", "name another file, or add `--overwrite`");
            }
        }
        if let Some(user) = self.place.user().map_err(Failure::target)? {
            let error = anyhow!("`{path}` is in use: {user}");
            return Err(Failure::target(error).with_hint("name another file"));
        }
        Ok(self)
    }
}

/// A place where nothing can be written, with what to do about it.
fn unwritable(path: &Path, error: OutputError) -> Failure {
    match error {
        OutputError::Exists { .. } => {
            Failure::usage(error).with_hint("name another file, or add `--overwrite`")
        }
        OutputError::Unfit { .. } => Failure::usage(anyhow!("{error}, and is never replaced"))
            .with_hint("name a regular file by its own name, a pipe, or `/dev/stdout`"),
        OutputError::NoFileName { .. } => Failure::usage(error).with_hint("name a file"),
        _ => cannot_write(path, error),
    }
}

fn cannot_write(path: &Path, error: impl Into<anyhow::Error>) -> Failure {
    Failure::target(error).context(format!("cannot write `{}`", path.display()))
}
