//! Names of files and subdirectories, built without allocating.

use std::fmt::{self, Write};

use trimbench_core::{DirectoryId, FileId};

use super::files::Place;

#[cfg(test)]
mod tests;

/// A name below the target's directory, as `file-7`, `7` or `s3/7`.
pub(super) struct Name {
    bytes: [u8; CAPACITY],
    length: usize,
}

/// `s`, `/`, and two numbers of ten digits.
const CAPACITY: usize = 22;

impl Name {
    pub(super) fn of(file: FileId, place: Place) -> Self {
        match place {
            Place::Top => Self::written(format_args!("file-{}", file.0)),
            Place::In(DirectoryId::OWN) => Self::written(format_args!("{}", file.0)),
            Place::In(directory) => Self::written(format_args!("s{}/{}", directory.0 - 1, file.0)),
        }
    }

    /// Of a subdirectory: the first is `s0`.
    pub(super) fn of_directory(directory: DirectoryId) -> Self {
        assert!(directory != DirectoryId::OWN, "the target's own directory is no subdirectory");
        Self::written(format_args!("s{}", directory.0 - 1))
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("it was written as text")
    }

    fn written(text: fmt::Arguments<'_>) -> Self {
        let mut name = Self { bytes: [0; CAPACITY], length: 0 };
        name.write_fmt(text).expect("names are not longer than two numbers");
        name
    }
}

impl Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let place = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// What a name made here may be: of a file.
pub(super) fn is_file_name(name: &str) -> bool {
    is_number(name.strip_prefix("file-").unwrap_or(name))
}

/// The same: of a subdirectory.
pub(super) fn is_directory_name(name: &str) -> bool {
    name.strip_prefix('s').is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
