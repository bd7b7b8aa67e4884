//! A file that is being written, under a name of its own until it is whole.
//!
//! The draft of `run.json` is `.run.json.0123456789abcdef.partial`, with a random number. It is
//! locked (flock) while it is written, so that a draft left by a killed process is distinguishable
//! from one that another process is writing. The name of a recording's draft ends with
//! `.recording`: it is kept.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, RenameFlags};

use super::{Inode, OutputDirectory, OutputError, kind_of, step, word};
use crate::opening;
use crate::random::random;

#[cfg(test)]
mod tests;

/// Of files, before the umask.
const MODE: u32 = 0o644;
/// What a draft's name ends with.
const SUFFIX: &[u8] = b".partial";
/// What the name of a draft ends with that is of use as it is.
const LASTING: &[u8] = b".recording";
/// Digits of the random number.
const DIGITS: usize = 16;
/// A draft's name has room for so many bytes of the file's: names have 255.
const STEM_MAX: usize = 200;

/// What a file may take the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaces {
    /// Of nothing.
    Nothing,
    /// Of this file alone: the one that was looked at.
    File(Inode),
    /// Of a regular file, whatever it holds: in a directory that is ours alone.
    AnyFile,
}

/// What a finished file waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// That it is on the disk: it outlives a power cut.
    Durable,
    /// Nothing: it outlives the end of the program, however that comes. For what can be had again.
    /// What it replaces is lost only to it: after a power cut, the old or the new content is there.
    Later,
}

/// A file that is being written. Dropped before [`Draft::commit`], it is removed.
#[derive(Debug)]
pub struct Draft {
    begun: Begun,
    name: OsString,
    replaces: Replaces,
    file: File,
}

/// What removes a draft, also from a thread that does not write it.
#[derive(Clone, Debug)]
pub struct Begun {
    pub(super) directory: OutputDirectory,
    pub(super) name: OsString,
    pub(super) inode: Inode,
}

impl Draft {
    pub(super) fn begin(
        directory: OutputDirectory,
        name: &OsStr,
        replaces: Replaces,
    ) -> Result<Self, OutputError> {
        let path = directory.path.join(name);
        check(&directory, name, replaces)?;
        let number = random().map_err(|errno| OutputError::Step {
            path: path.clone(),
            step: "find a random name for",
            errno,
        })?;
        let own = draft_name(name, number);
        let failed = || step("begin", &path);
        let opened = rustix::fs::openat(&directory, &own, opening::MAKE, Mode::from_raw_mode(MODE));
        let opened = opened.map_err(failed())?;
        let inode = Inode::of(&opened).map_err(step("begin", &path))?;
        // A filesystem without locks has no sweeping either that needs one.
        let _ = rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive);
        let begun = Begun { directory, name: own, inode };
        Ok(Self { begun, name: name.to_owned(), replaces, file: File::from(opened) })
    }

    /// The same under a name that is never swept: what a killed process leaves of it is of use.
    pub fn lasting(mut self) -> Result<Self, OutputError> {
        let directory = &self.begun.directory;
        let own = self.begun.name.as_bytes();
        let stem = own.strip_suffix(SUFFIX).unwrap_or(own);
        let name = OsString::from_vec([stem, LASTING].concat());
        rustix::fs::renameat(directory, &self.begun.name, directory, &name)
            .map_err(step("begin", &directory.path.join(&self.name)))?;
        self.begun.name = name;
        Ok(self)
    }

    /// What to write into.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it is for now.
    pub fn path(&self) -> PathBuf {
        self.begun.directory.path.join(&self.begun.name)
    }

    /// Which file it is, also when it has its name.
    pub fn inode(&self) -> Inode {
        self.begun.inode
    }

    /// What removes it.
    pub fn begun(&self) -> Begun {
        self.begun.clone()
    }

    /// Gives the file its name. Whenever the program ends or the power is cut, the name has its old
    /// or its new content; if durable, the new one once this returns.
    pub fn commit(self, durability: Durability) -> Result<(), OutputError> {
        let (directory, path) = (&self.begun.directory, self.begun.directory.path.join(&self.name));
        // A filesystem may keep a new name and lose the content (XFS does): where something is
        // replaced, neither the old nor the new would be left.
        if durability == Durability::Durable || self.replaces != Replaces::Nothing {
            rustix::fs::fsync(&self.file).map_err(step("write", &path))?;
        }
        if !self.begun.is_there()? {
            return Err(OutputError::Exchanged { path: self.path() });
        }
        check(directory, &self.name, self.replaces)?;
        match self.replaces {
            Replaces::Nothing => self.publish()?,
            Replaces::File(_) | Replaces::AnyFile => {
                rustix::fs::renameat(directory, &self.begun.name, directory, &self.name)
                    .map_err(step("give the new content its name", &path))?;
            }
        }
        if durability == Durability::Durable {
            let durable = rustix::fs::fsync(directory);
            durable.map_err(step("make the directory durable of", &path))?;
        }
        Ok(())
    }

    /// Gives it a name that nothing has, whoever is quicker.
    pub(super) fn publish(&self) -> Result<(), OutputError> {
        let directory = &self.begun.directory;
        let path = directory.path.join(&self.name);
        match rename_to_free(directory, &self.begun.name, &self.name) {
            Err(rustix::io::Errno::EXIST) => Err(OutputError::Exists { path }),
            published => published.map_err(step("give the new content its name", &path)),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // What is left of the attempt is of no use; the first error is the one to report.
        let _ = self.begun.remove();
    }
}

impl Begun {
    /// Removes the draft, unless it has got its name or something else has taken its place.
    pub fn remove(&self) -> Result<(), OutputError> {
        if self.is_there()? { self.directory.remove(&self.name) } else { Ok(()) }
    }

    /// Whether the draft's name leads to it.
    fn is_there(&self) -> Result<bool, OutputError> {
        Ok(self.directory.inode_of(&self.name)? == Some(self.inode))
    }
}

/// Gives a file another name, if nothing has it (`EEXIST`).
pub(super) fn rename_to_free(
    directory: &OutputDirectory,
    from: &OsStr,
    to: &OsStr,
) -> rustix::io::Result<()> {
    let flags = RenameFlags::NOREPLACE;
    match rustix::fs::renameat_with(directory, from, directory, to, flags) {
        // NFS has links, but no such renames.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            rustix::fs::linkat(directory, from, directory, to, AtFlags::empty())?;
            rustix::fs::unlinkat(directory, from, AtFlags::empty())
        }
        renamed => renamed,
    }
}

/// Whether `name` is the name of a draft of the file `of`.
pub(super) fn is_draft_of(name: &OsStr, of: &OsStr) -> bool {
    let start = draft_start(of);
    let number = name.as_bytes().strip_prefix(&*start).and_then(|rest| rest.strip_suffix(SUFFIX));
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    number.is_some_and(|number| number.len() == DIGITS && number.iter().all(is_digit))
}

fn draft_name(name: &OsStr, number: u64) -> OsString {
    let mut bytes = draft_start(name);
    bytes.extend(format!("{number:0DIGITS$x}").bytes());
    bytes.extend(SUFFIX);
    OsString::from_vec(bytes)
}

fn draft_start(name: &OsStr) -> Vec<u8> {
    let name = name.as_bytes();
    [b".", &name[..name.len().min(STEM_MAX)], b"."].concat()
}

/// That what is at the name is what may be replaced.
fn check(directory: &OutputDirectory, name: &OsStr, replaces: Replaces) -> Result<(), OutputError> {
    let path = directory.path.join(name);
    let status = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        status => status.map_err(step("examine", &path))?,
    };
    let is_file = kind_of(&status) == FileType::RegularFile;
    match replaces {
        Replaces::Nothing => Err(OutputError::Exists { path }),
        _ if !is_file => Err(OutputError::Unfit { path, kind: word(kind_of(&status)) }),
        Replaces::File(inode) if directory.inode_of(name)? != Some(inode) => {
            Err(OutputError::Exchanged { path })
        }
        Replaces::File(_) | Replaces::AnyFile => Ok(()),
    }
}
