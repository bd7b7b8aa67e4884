//! The order in which commands on one file run, on real and modelled filesystems alike.
//!
//! Commands end in the order of their submission, except that transfers run concurrently. A command
//! that changes names or sizes runs alone; an fsync waits for all earlier commands and lets
//! transfers pass.
//!
//! Invariants: a command waits only while another is in flight; a command that runs alone has no
//! other in flight.

use std::collections::VecDeque;

use crate::command::FileCommand;

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    /// With any number of its kind.
    Shared,
    /// Starts when nothing is under way; then as `Shared`.
    AfterEarlier,
    /// With nothing.
    Alone,
}

/// The commands on one file. `T` is the owner's name for a command.
#[derive(Debug)]
pub struct FileOrder<T> {
    /// Whether the file is there once everything submitted so far has ended.
    pub expected: bool,
    under_way: u32,
    alone: bool,
    waiting: VecDeque<(T, FileCommand)>,
}

impl<T> Default for FileOrder<T> {
    fn default() -> Self {
        Self { expected: false, under_way: 0, alone: false, waiting: VecDeque::new() }
    }
}

impl<T> FileOrder<T> {
    /// Whether the command may start now; otherwise it comes out of [`FileOrder::startable`].
    pub fn admit(&mut self, name: T, command: FileCommand) -> bool {
        if command.makes() {
            self.expected = true;
        } else if matches!(command, FileCommand::Unlink { .. }) {
            self.expected = false;
        }
        if self.waiting.is_empty() && self.may_start(command) {
            self.begin(command);
            return true;
        }
        self.waiting.push_back((name, command));
        false
    }

    /// A command ended.
    ///
    /// # Panics
    /// If none is under way.
    pub fn ended(&mut self) {
        assert!(self.under_way > 0, "a command ends once");
        self.under_way -= 1;
        self.alone = false;
    }

    /// The next command that may start now; it counts as started.
    pub fn startable(&mut self) -> Option<(T, FileCommand)> {
        let &(_, command) = self.waiting.front()?;
        if !self.may_start(command) {
            return None;
        }
        self.begin(command);
        self.waiting.pop_front()
    }

    /// Whether no command is under way or waits.
    pub fn is_idle(&self) -> bool {
        self.under_way == 0 && self.waiting.is_empty()
    }

    /// Whether a command waits that makes the file.
    pub fn makes_later(&self) -> bool {
        self.waiting.iter().any(|(_, command)| command.makes())
    }

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

fn sharing(command: FileCommand) -> Sharing {
    match command {
        FileCommand::Read { .. } | FileCommand::Write { .. } | FileCommand::Load { .. } => {
            Sharing::Shared
        }
        FileCommand::Fsync { .. } => Sharing::AfterEarlier,
        _ => Sharing::Alone,
    }
}
