//! The files, and the order in which their commands may run.
//!
//! The order is that of [`FileOrder`].

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use trimbench_core::{DirectoryId, FileCommand, FileId, FileOrder, Rejected, Tag};

#[cfg(test)]
mod tests;

/// Files kept open at most; the limit of a process is often 1024.
const OPEN_FILES: usize = 256;

#[derive(Debug, Default)]
struct Entry {
    place: Place,
    open: Option<Arc<OwnedFd>>,
    order: FileOrder<Tag>,
}

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
        let known = self.entries.get(&file).is_some_and(|entry| entry.order.expected);
        if !known && !command.makes() {
            return Err(Rejected::UnknownFile { file });
        }
        let entry = self.entries.entry(file).or_default();
        if let FileCommand::Store { directory, .. } = command {
            entry.place = Place::In(directory);
        }
        Ok(entry.order.admit(tag, command))
    }

    /// A command ended that was admitted or came out of [`Files::startable`].
    pub(super) fn ended(&mut self, file: FileId) {
        let entry = self.entries.get_mut(&file).expect("commands under way keep their file");
        entry.order.ended();
        if entry.order.is_idle() && !entry.order.expected {
            self.entries.remove(&file);
        }
    }

    /// The next command of this file that may start now, if any; it counts as started.
    pub(super) fn startable(&mut self, file: FileId) -> Option<(Tag, FileCommand)> {
        self.entries.get_mut(&file)?.order.startable()
    }

    pub(super) fn place(&self, file: FileId) -> Place {
        self.entries.get(&file).map_or(Place::Top, |entry| entry.place)
    }

    pub(super) fn open(&self, file: FileId) -> Option<Arc<OwnedFd>> {
        self.entries.get(&file)?.open.clone()
    }

    /// Takes the open file out, if it is open: for a command that closes it.
    pub(super) fn take_open(&mut self, file: FileId) -> Option<Arc<OwnedFd>> {
        self.entries.get_mut(&file)?.open.take()
    }

    /// Closes all files; they are opened again when they are needed.
    pub(super) fn close_all(&mut self) {
        self.opened.clear();
        self.entries.values_mut().for_each(|entry| entry.open = None);
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

    pub(super) fn never_came(&mut self, file: FileId) {
        if let Some(entry) = self.entries.get_mut(&file)
            && !entry.order.makes_later()
        {
            entry.order.expected = false;
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// In the target's directory, as `file-7`.
    #[default]
    Top,
    /// In this directory, as `7`: what a program stored.
    In(DirectoryId),
}
