//! File churn: a seeded sequence of deletions and creations, one command after the other.

use std::collections::VecDeque;

use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Bytes, FileCommand, FileId, Instant, Nanos, Next, Workload};

use crate::area::{Area, FileArea};
use crate::workload::FILL_PIECE;

/// Bytes of one write of a file.
const PIECE: Bytes = Bytes(128 << 10);

/// The files of a churn.
#[derive(Clone, Debug)]
pub struct ChurnFiles {
    /// Their sizes, each as frequent as the others; at least one, whole blocks of 4 KiB.
    pub sizes: Vec<Bytes>,
    /// Bytes that they take at the most.
    pub budget: Bytes,
    /// Bytes that are written a second, at the most.
    pub rate: Bytes,
    /// The number of the first; the others follow.
    pub first: FileId,
}

/// The files, and what is to be done to them.
#[derive(Clone, Debug)]
pub struct Churn {
    rng: Rng,
    sizes: Vec<Bytes>,
    /// Bytes that files take at the most.
    budget: Bytes,
    /// Least time between two writes of a file.
    gap: Nanos,
    live: Vec<(FileId, Bytes)>,
    live_bytes: Bytes,
    next_file: FileId,
    /// Of the file that is being made, and of those that go for it.
    commands: VecDeque<FileCommand>,
    under_way: bool,
    due: Instant,
    /// Bytes that are still to be made.
    left: Bytes,
}

impl Churn {
    /// No files yet.
    pub fn new(files: ChurnFiles, rng: Rng) -> Self {
        let ChurnFiles { sizes, budget, rate, first } = files;
        Self {
            rng,
            sizes,
            budget,
            gap: Nanos::from_seconds(PIECE.0 as f64 / rate.0 as f64),
            live: Vec::new(),
            live_bytes: Bytes(0),
            next_file: first,
            commands: VecDeque::new(),
            under_way: false,
            due: Instant::START,
            left: Bytes(0),
        }
    }

    /// Makes files as long as they take at most `most`: the commands for it.
    pub fn grow(&mut self, most: Bytes) -> Vec<FileCommand> {
        loop {
            let size = self.draw();
            if self.live_bytes + size > most {
                return self.commands.drain(..).collect();
            }
            self.make(size, FILL_PIECE);
        }
    }

    /// Deletes files at random until what is left fits into the budget: the commands for it.
    pub fn shrink(&mut self) -> Vec<FileCommand> {
        self.make_room(Bytes(0));
        self.commands.drain(..).collect()
    }

    /// Deletes random files of `bytes` together, or a little more, as far as there are so many:
    /// the commands for it.
    pub fn delete(&mut self, bytes: Bytes) -> Vec<FileCommand> {
        let least = self.live_bytes.saturating_sub(bytes);
        while self.live_bytes > least {
            self.delete_one();
        }
        self.commands.drain(..).collect()
    }

    /// Bytes of the files that there are.
    pub fn live_bytes(&self) -> Bytes {
        self.live_bytes
    }

    /// From `now` on makes `bytes` of files, or a little more, and deletes others for them.
    pub fn begin(&mut self, now: Instant, bytes: Bytes) {
        (self.due, self.left) = (now, bytes);
    }

    fn draw(&mut self) -> Bytes {
        self.sizes[index(self.rng.below(self.sizes.len() as u64))]
    }

    /// Deletes files at random until there is room for `size`.
    fn make_room(&mut self, size: Bytes) {
        while self.live_bytes + size > self.budget && !self.live.is_empty() {
            self.delete_one();
        }
    }

    fn delete_one(&mut self) {
        let victim = index(self.rng.below(self.live.len() as u64));
        let (file, length) = self.live.swap_remove(victim);
        self.live_bytes -= length;
        self.commands.push_back(FileCommand::Unlink { file });
    }

    fn make(&mut self, size: Bytes, piece: Bytes) {
        let file = self.next_file;
        self.next_file = FileId(file.0 + 1);
        self.commands.push_back(FileCommand::Create { file });
        let area = FileArea { file, length: size };
        let pieces = (0..size.pieces(piece)).map(|at| {
            let offset = Bytes(at * piece.0);
            area.write(offset, piece.min(size - offset))
        });
        self.commands.extend(pieces);
        self.live.push((file, size));
        self.live_bytes += size;
    }
}

impl Workload for Churn {
    type Command = FileCommand;

    fn next(&mut self, now: Instant) -> Next<FileCommand> {
        if self.under_way {
            return Next::Await;
        }
        if self.commands.is_empty() {
            if self.left == Bytes(0) {
                return Next::Done;
            }
            let size = self.draw();
            self.left = self.left.saturating_sub(size);
            self.make_room(size);
            self.make(size, PIECE);
        }
        let is_write = matches!(self.commands.front(), Some(FileCommand::Write { .. }));
        if is_write && self.due > now {
            return Next::NotBefore(self.due);
        }
        if is_write {
            // What came late is not made up for.
            self.due = now + self.gap;
        }
        self.under_way = true;
        let command = self.commands.pop_front().expect("a file was planned");
        Next::Issue { intended: now, command }
    }

    fn completed(&mut self, _: &FileCommand, _: Instant) {
        self.under_way = false;
    }
}
