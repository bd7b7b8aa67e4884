//! The commands in the drive. Each has a slot while it is there, and only the slot's number travels
//! through the model: a command's data are written once and read once.

use trimbench_core::units::narrow;
use trimbench_core::{Bytes, Instant, OperationKind, Tag};

#[cfg(test)]
mod tests;

/// What the drive knows of a command to report its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InFlight {
    pub(crate) tag: Tag,
    pub(crate) kind: OperationKind,
    pub(crate) bytes: Bytes,
    pub(crate) submitted: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u32);

/// What a part of the model knows of the commands in the slots, where it was told.
#[derive(Debug)]
pub(crate) struct BySlot<T>(Vec<T>);

impl<T> Default for BySlot<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> BySlot<T> {
    pub(crate) fn set(&mut self, slot: Slot, value: T) {
        let index = slot.0 as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, value.clone());
        }
        self.0[index] = value;
    }

    /// What was set last for this slot, or another one beyond it.
    ///
    /// # Panics
    /// If nothing was.
    pub(crate) fn of(&mut self, slot: Slot) -> &mut T {
        &mut self.0[slot.0 as usize]
    }
}

/// The slots: as many as there ever were commands in the drive at once.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    commands: Vec<InFlight>,
    vacant: Vec<Slot>,
    taken: u32,
}

impl Slots {
    /// Commands in the drive.
    #[inline]
    pub(crate) fn taken(&self) -> u32 {
        self.taken
    }

    #[inline]
    pub(crate) fn take(&mut self, command: InFlight) -> Slot {
        self.taken += 1;
        if let Some(slot) = self.vacant.pop() {
            self.commands[slot.0 as usize] = command;
            slot
        } else {
            self.commands.push(command);
            Slot(narrow(self.commands.len() as u64 - 1))
        }
    }

    #[inline]
    pub(crate) fn command(&self, slot: Slot) -> &InFlight {
        &self.commands[slot.0 as usize]
    }

    /// The command leaves the drive.
    #[inline]
    pub(crate) fn leave(&mut self, slot: Slot) -> &InFlight {
        self.taken -= 1;
        self.vacant.push(slot);
        &self.commands[slot.0 as usize]
    }

    /// All commands leave the drive at once; their tags, by slot.
    pub(crate) fn clear(&mut self) -> Vec<Tag> {
        let mut tags: Vec<Option<Tag>> =
            self.commands.iter().map(|command| Some(command.tag)).collect();
        for slot in &self.vacant {
            tags[slot.0 as usize] = None;
        }
        *self = Self::default();
        tags.into_iter().flatten().collect()
    }
}
