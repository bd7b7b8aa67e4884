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

/// Whether it is the name of a file made here whose number is below `limit`.
pub(super) fn is_file_name(name: &str, limit: u32) -> bool {
    is_number(name.strip_prefix("file-").unwrap_or(name), limit)
}

/// The same of a subdirectory.
pub(super) fn is_directory_name(name: &str, limit: u32) -> bool {
    name.strip_prefix('s').is_some_and(|number| is_number(number, limit))
}

/// As it is written here: without a sign or leading zeroes.
fn is_number(text: &str, limit: u32) -> bool {
    text.parse().is_ok_and(|number: u32| number < limit && number.to_string() == text)
}
