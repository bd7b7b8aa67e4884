//! Which files there are, and in which order their commands may run.
//!
//! Commands on one file end in the order that they were submitted, except that reads and writes run
//! side by side. Those that change names and sizes run alone on their file; an fsync waits for what
//! was submitted before it and lets reads and writes pass.
//!
//! Invariants: nothing waits on a file without something under way on it; a command that runs alone
//! does so with nothing else under way.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use trimbench_core::{DirectoryId, FileCommand, FileId, Rejected, Tag};

#[cfg(test)]
mod tests;

/// Files kept open at most; the limit of a process is often 1024.
const OPEN_FILES: usize = 256;

/// How a command shares its file with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    /// With any number of its kind.
    Shared,
    /// Starts when nothing is under way; then as `Shared`.
    AfterEarlier,
    /// With nothing.
    Alone,
}

#[derive(Debug, Default)]
struct Entry {
    place: Place,
    open: Option<Arc<OwnedFd>>,
    /// Whether the file is there once everything submitted so far has ended.
    expected: bool,
    under_way: u32,
    alone: bool,
    waiting: VecDeque<(Tag, FileCommand)>,
}

/// All files of a target.
#[derive(Debug, Default)]
pub(super) struct Files {
    entries: BTreeMap<FileId, Entry>,
    /// Open files, the one opened longest ago first; may hold some that are closed by now.
    opened: VecDeque<FileId>,
}

impl Files {
    /// Whether the command may start now; otherwise it waits here and comes out of
    /// [`Files::startable`].
    pub(super) fn admit(
        &mut self,
        tag: Tag,
        file: FileId,
        command: FileCommand,
    ) -> Result<bool, Rejected> {
        let creates = makes(command);
        let known = self.entries.get(&file).is_some_and(|entry| entry.expected);
        if !known && !creates {
            return Err(Rejected::UnknownFile { file });
        }
        let entry = self.entries.entry(file).or_default();
        if creates {
            entry.expected = true;
            if let FileCommand::Store { directory, .. } = command {
                entry.place = Place::In(directory);
            }
        } else if matches!(command, FileCommand::Unlink { .. }) {
            entry.expected = false;
        }
        if entry.waiting.is_empty() && entry.may_start(command) {
            entry.begin(command);
            return Ok(true);
        }
        entry.waiting.push_back((tag, command));
        Ok(false)
    }

    /// A command ended that was admitted or came out of [`Files::startable`].
    pub(super) fn ended(&mut self, file: FileId) {
        let entry = self.entries.get_mut(&file).expect("commands under way keep their file");
        assert!(entry.under_way > 0, "a command ends once");
        entry.under_way -= 1;
        entry.alone = false;
        if entry.under_way == 0 && entry.waiting.is_empty() && !entry.expected {
            self.entries.remove(&file);
        }
    }

    /// The next command of this file that may start now, if any; it counts as started.
    pub(super) fn startable(&mut self, file: FileId) -> Option<(Tag, FileCommand)> {
        let entry = self.entries.get_mut(&file)?;
        let &(_, command) = entry.waiting.front()?;
        if !entry.may_start(command) {
            return None;
        }
        entry.begin(command);
        entry.waiting.pop_front()
    }

    /// Where the file is.
    pub(super) fn place(&self, file: FileId) -> Place {
        self.entries.get(&file).map_or(Place::Top, |entry| entry.place)
    }

    /// The open file, if it is.
    pub(super) fn open(&self, file: FileId) -> Option<Arc<OwnedFd>> {
        self.entries.get(&file)?.open.clone()
    }

    /// Takes the open file out, if it is open: for a command that closes it.
    pub(super) fn take_open(&mut self, file: FileId) -> Option<Arc<OwnedFd>> {
        self.entries.get_mut(&file)?.open.take()
    }

    /// Keeps an open file, and closes others if there are too many.
    pub(super) fn keep_open(&mut self, file: FileId, open: Arc<OwnedFd>) {
        let Some(entry) = self.entries.get_mut(&file) else { return };
        if entry.open.replace(open).is_none() {
            self.opened.push_back(file);
        }
        while self.opened.len() > OPEN_FILES {
            let oldest = self.opened.pop_front().expect("there are more than none");
            // A transfer under way holds the file for itself.
            self.take_open(oldest);
        }
    }

    /// A file that could not be made is not there.
    pub(super) fn never_came(&mut self, file: FileId) {
        if let Some(entry) = self.entries.get_mut(&file)
            && entry.waiting.iter().all(|(_, each)| !makes(*each))
        {
            entry.expected = false;
        }
    }
}

impl Entry {
    fn may_start(&self, command: FileCommand) -> bool {
        match sharing(command) {
            Sharing::Shared => !self.alone,
            Sharing::AfterEarlier | Sharing::Alone => self.under_way == 0,
        }
    }

    fn begin(&mut self, command: FileCommand) {
        self.under_way += 1;
        self.alone = sharing(command) == Sharing::Alone;
    }
}

/// Where a file is, and how it is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// In the target's directory, as `file-7`.
    #[default]
    Top,
    /// In this directory, as `7`: what a program stored.
    In(DirectoryId),
}

/// Whether the file is there afterwards, and was not before.
pub(super) fn makes(command: FileCommand) -> bool {
    matches!(command, FileCommand::Create { .. } | FileCommand::Store { .. })
}

/// The file that a command is about; `None` for those about the whole filesystem.
pub(super) fn file_of(command: FileCommand) -> Option<FileId> {
    match command {
        FileCommand::Create { file }
        | FileCommand::Store { file, .. }
        | FileCommand::Append { file, .. }
        | FileCommand::Load { file, .. }
        | FileCommand::Write { file, .. }
        | FileCommand::Read { file, .. }
        | FileCommand::Truncate { file, .. }
        | FileCommand::PunchHole { file, .. }
        | FileCommand::Unlink { file }
        | FileCommand::Fsync { file } => Some(file),
        FileCommand::SyncFilesystem
        | FileCommand::TrimFreeSpace
        | FileCommand::MakeDirectory { .. }
        | FileCommand::RemoveDirectory { .. } => None,
    }
}

fn sharing(command: FileCommand) -> Sharing {
    match command {
        FileCommand::Read { .. } | FileCommand::Write { .. } | FileCommand::Load { .. } => {
            Sharing::Shared
        }
        FileCommand::Fsync { .. } => Sharing::AfterEarlier,
        _ => Sharing::Alone,
    }
}
