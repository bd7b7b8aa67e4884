//! Files at paths given by the user: which may be replaced.
//!
//! Without `--overwrite` a file is replaced only by a newer one of its own kind, which is
//! recognised by its beginning. A run's record is never replaced, nor is a file that a loop device,
//! swap or a writing process uses. Pipes and terminals are written to as they are.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use trimbench_linux::{Durability, Inode, OutputDirectory, OutputError, OutputFile, OutputPlace};
use trimbench_results::{KeptStep, RunRecord};

use crate::failure::Failure;
use crate::store::Host;

/// So many bytes at the beginning of a record name the program that wrote it.
const RECORD_HEAD: usize = 4096;

/// What may be replaced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    /// Files that begin so are ours, and of the kind that is to be written; `None`: none is.
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
        let beginning = |length: usize, file: &mut File| {
            let mut bytes = Vec::new();
            file.rewind()?;
            file.take(length as u64).read_to_end(&mut bytes).map(|_| bytes)
        };
        let unread = |error| Failure::target(error).context(format!("cannot read `{path}`"));
        let ours = match rules.mark {
            Some(mark) => beginning(mark.len(), content).map_err(unread)? == mark.as_bytes(),
            None => false,
        };
        if !ours {
            // A trace of gigabytes is none, and is not read for that.
            let head = beginning(RECORD_HEAD, content).map_err(unread)?;
            let is_json = head.trim_ascii_start().first().is_none_or(|first| *first == b'{');
            if is_json && is_record(&beginning(usize::MAX, content).map_err(unread)?) {
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

/// Whether it is what a run keeps: its record, whole or not, its steps, or its host's part.
fn is_record(bytes: &[u8]) -> bool {
    let has = |text: &str| {
        let head = &bytes[..bytes.len().min(RECORD_HEAD)];
        head.windows(text.len()).any(|part| part == text.as_bytes())
    };
    bytes.trim_ascii_start().starts_with(b"{")
        && (has("\"schema\"") && has("\"program\"")
            || RunRecord::salvage(bytes).is_ok()
            || bytes.split(|byte| *byte == b'\n').next().and_then(KeptStep::from_line).is_some()
            || serde_json::from_slice::<Host>(bytes).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_known_by_its_content_whole_cut_off_or_sorted() {
        let record = "{\"schema\":2,\"program\":{\"name\":\"trimbench\"";
        let host = "{\"command\":[],\"started_unix_s\":1.0,\"ended_unix_s\":null,\
                    \"debug_build\":false,\"environment\":{}}";
        assert!(is_record(record.as_bytes()) && is_record(format!("\n {record}").as_bytes()));
        assert!(is_record(host.as_bytes()));
        let kept = KeptStep { session: 0, step: trimbench_results::Step::new("a", "b") };
        assert!(is_record(&kept.to_line()));
        for other in ["", "{}", "schema program", "[\"schema\",\"program\"]", "{\"schema\":1}"] {
            assert!(!is_record(other.as_bytes()), "{other}");
        }
    }
}
