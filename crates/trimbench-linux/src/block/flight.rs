//! One command from its start to its end: which piece is next, and what a result means.

use trimbench_core::{Data, Errno, Instant, Status, Tag};

use crate::size_classes::{Direction, LARGEST};

use super::pool::Holds;

#[cfg(test)]
mod tests;

/// How often a piece is tried that the kernel asks to try again.
const TRIES: u8 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write(Data),
    Flush,
    Discard,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flight {
    pub(super) tag: Tag,
    pub(super) kind: Kind,
    /// First byte on the medium.
    pub(super) offset: u64,
    /// Bytes.
    pub(super) length: u64,
    /// Bytes at the beginning that were moved already.
    pub(super) moved: u64,
    pub(super) holds: Holds,
    /// When it was submitted; where that is needed.
    pub(super) issued: Instant,
    /// How often the current piece was tried again.
    pub(super) tries: u8,
}

impl Flight {
    /// None: a slot that is free.
    pub(super) const NONE: Self = Self {
        tag: Tag(0),
        kind: Kind::Flush,
        offset: 0,
        length: 0,
        moved: 0,
        holds: Holds::Unknown,
        issued: Instant::START,
        tries: 0,
    };

    /// Which memory it needs; `None` if none.
    #[inline]
    pub(super) fn direction(&self) -> Option<Direction> {
        match self.kind {
            Kind::Read => Some(Direction::Read),
            Kind::Write(_) => Some(Direction::Write),
            Kind::Flush | Kind::Discard => None,
        }
    }

    #[inline]
    pub(super) fn piece(&self) -> u64 {
        let left = self.length - self.moved;
        if self.direction().is_some() { left.min(LARGEST) } else { left }
    }

    /// Takes the result of a request in; `None` if the command goes on. What follows a short
    /// transfer begins at a multiple of `alignment`.
    #[inline]
    pub(super) fn advance(&mut self, result: Result<u64, Errno>, alignment: u64) -> Option<Status> {
        let moved = match result {
            Ok(moved) => moved,
            Err(Errno(libc::EINTR | libc::EAGAIN)) if self.tries < TRIES => {
                self.tries += 1;
                return None;
            }
            Err(errno) => return Some(Status::Failed(errno)),
        };
        if self.direction().is_none() || self.moved + moved == self.length {
            return Some(Status::Done);
        }
        let usable = moved - moved % alignment;
        self.moved += usable;
        match (self.kind, usable) {
            // The medium ends before the range does.
            (Kind::Read, 0) => Some(Status::Failed(Errno(libc::ENODATA))),
            (_, 0) => Some(Status::Failed(Errno::EIO)),
            _ => None,
        }
    }
}
