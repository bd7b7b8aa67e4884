//! The writers and the probe as streams, and the phases that they go through.
//!
//! Writers go through a phase concurrently, each with one command outstanding. When the last has
//! finished it, all begin the next one at that instant. If the discards are waited for, the first
//! writer makes the filesystem send them, and the caller says when they are over.

use trimbench_core::units::index;
use trimbench_core::{Bytes, FileCommand, FileId, ForceDiscards, Instant, Nanos, Next};

use super::options::DeleteStorm;
use trimbench_engine::drain::force;
use trimbench_engine::{Scratch, Streams};

/// The file that the probe makes and removes.
const PROBE: FileId = FileId(0);
/// A file to make dirty and sync, which forces the log.
const SCRATCH: FileId = FileId(u32::MAX);

/// What the writers do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StormPhase {
    /// Files are written.
    Write,
    /// Each piece is read and written again.
    Rewrite,
    /// Files are read.
    Read,
    /// Files are removed.
    Delete,
    /// Nothing, until the discards are over.
    Trim,
    /// Files are written once more,
    WriteAgain,
    /// and removed,
    DeleteAgain,
    /// and others are written at once, while the discards run.
    SecondWrite,
    /// Nothing, until the discards are over.
    SecondTrim,
    /// The last files are removed.
    CleanUp,
}

impl StormPhase {
    /// Those of a run, in order.
    pub(super) fn all(rewrite: bool) -> Vec<Self> {
        let mut all = vec![Self::Write];
        if rewrite {
            all.extend([Self::Rewrite, Self::Read]);
        }
        all.extend([Self::Delete, Self::Trim, Self::WriteAgain, Self::DeleteAgain]);
        all.extend([Self::SecondWrite, Self::SecondTrim, Self::CleanUp]);
        all
    }

    /// The name of its step.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Rewrite => "rewrite",
            Self::Read => "read",
            Self::Delete => "delete",
            Self::Trim => "trim",
            Self::WriteAgain => "write-again",
            Self::DeleteAgain => "delete-again",
            Self::SecondWrite => "second-write",
            Self::SecondTrim => "second-trim",
            Self::CleanUp => "clean-up",
        }
    }

    /// Whether all files are read in it, and whether they are written.
    pub(super) const fn moves(self) -> (bool, bool) {
        match self {
            Self::Write | Self::WriteAgain | Self::SecondWrite => (false, true),
            Self::Rewrite => (true, true),
            Self::Read => (true, false),
            _ => (false, false),
        }
    }

    pub(super) const fn waits_for_discards(self) -> bool {
        matches!(self, Self::Trim | Self::SecondTrim)
    }
}

/// One who writes, by its place in the phase.
#[derive(Clone, Copy, Debug, Default)]
struct Writer {
    /// Commands issued in this phase.
    issued: u64,
    outstanding: bool,
}

/// All writers and the probe.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    method: &'a DeleteStorm,
    /// What makes the filesystem send its discards.
    force: ForceDiscards,
    phases: Vec<StormPhase>,
    /// When each phase began, as far as they have.
    begun: Vec<Instant>,
    writers: Vec<Writer>,
    /// Since when nothing but discards is waited for.
    forced: Option<Instant>,
    probe_due: Instant,
    probe_outstanding: bool,
    probe_made: bool,
}

impl<'a> Scene<'a> {
    pub(super) fn new(method: &'a DeleteStorm, force: ForceDiscards, now: Instant) -> Self {
        Self {
            method,
            force,
            phases: StormPhase::all(method.rewrite),
            begun: vec![now],
            writers: vec![Writer::default(); method.writers as usize],
            forced: None,
            probe_due: now,
            probe_outstanding: false,
            probe_made: false,
        }
    }

    /// The phase under way; `None` after the last.
    pub(super) fn phase(&self) -> Option<StormPhase> {
        self.phases.get(self.begun.len() - 1).copied()
    }

    /// All phases, and when each began and ended, as far as they have.
    pub(super) fn ended(&self) -> impl Iterator<Item = (StormPhase, Instant, Instant)> {
        let spans = self.begun.windows(2).map(|span| (span[0], span[1]));
        self.phases.iter().zip(spans).map(|(&phase, (from, to))| (phase, from, to))
    }

    pub(super) fn phases(&self) -> usize {
        self.phases.len()
    }

    pub(super) fn next_phase(&mut self, now: Instant) {
        self.begun.push(now);
        self.writers.fill(Writer::default());
        self.forced = None;
    }

    /// Since when nothing but discards is waited for, in a phase that waits for them.
    pub(super) fn forced(&self) -> Option<Instant> {
        self.forced
    }

    pub(super) fn probe_stream(&self) -> usize {
        self.writers.len()
    }

    /// What a writer does as its `number`-th command of a phase; `None` when it is done.
    fn command(&self, writer: usize, phase: StormPhase, number: u64) -> Option<FileCommand> {
        let DeleteStorm { file_size, piece, writers, .. } = *self.method;
        let writer = u32::try_from(writer).expect("there are few writers");
        let round = u32::from(matches!(phase, StormPhase::SecondWrite | StormPhase::CleanUp));
        let file = FileId(1 + round * writers + writer);
        let pieces = file_size.pieces(piece);
        let span = |index: u64| {
            let offset = Bytes(index * piece.0);
            (offset, piece.min(file_size - offset))
        };
        let read = |index| {
            let (offset, length) = span(index);
            FileCommand::Read { file, offset, length }
        };
        let write = |index| {
            let (offset, length) = span(index);
            FileCommand::Write { file, offset, length }
        };
        match (phase, number) {
            (StormPhase::Write | StormPhase::WriteAgain | StormPhase::SecondWrite, 0) => {
                Some(FileCommand::Create { file })
            }
            (StormPhase::Write | StormPhase::WriteAgain | StormPhase::SecondWrite, _) => {
                (number <= pieces).then(|| write(number - 1))
            }
            (StormPhase::Rewrite, _) if number >= 2 * pieces => None,
            (StormPhase::Rewrite, _) if number.is_multiple_of(2) => Some(read(number / 2)),
            (StormPhase::Rewrite, _) => Some(write(number / 2)),
            (StormPhase::Read, _) => (number < pieces).then(|| read(number)),
            (StormPhase::Delete | StormPhase::DeleteAgain | StormPhase::CleanUp, _) => {
                (number == 0).then_some(FileCommand::Unlink { file })
            }
            (StormPhase::Trim | StormPhase::SecondTrim, _) => {
                let forcing = force(self.force, Scratch::Made(SCRATCH));
                forcing.get(index(number)).copied().filter(|_| writer == 0)
            }
        }
    }

    fn probe(&mut self, now: Instant) -> Next<FileCommand> {
        if self.probe_outstanding {
            return Next::Await;
        }
        if now < self.probe_due {
            return Next::NotBefore(self.probe_due);
        }
        if self.phase().is_none() && !self.probe_made {
            return Next::Done;
        }
        let interval = self.method.probe_interval;
        let late: Nanos = now - self.probe_due;
        self.probe_due += interval.times(late.0 / interval.0 + 1);
        self.probe_outstanding = true;
        self.probe_made = !self.probe_made;
        let command = if self.probe_made {
            FileCommand::Create { file: PROBE }
        } else {
            FileCommand::Unlink { file: PROBE }
        };
        Next::Issue { intended: now, command }
    }
}

impl Streams for Scene<'_> {
    type Command = FileCommand;

    fn next(&mut self, now: Instant) -> (usize, Next<FileCommand>) {
        if let Some(phase) = self.phase() {
            for number in 0..self.writers.len() {
                let writer = self.writers[number];
                if writer.outstanding {
                    continue;
                }
                if let Some(command) = self.command(number, phase, writer.issued) {
                    let issued = writer.issued + 1;
                    self.writers[number] = Writer { issued, outstanding: true };
                    return (number, Next::Issue { intended: now, command });
                }
            }
        }
        (self.probe_stream(), self.probe(now))
    }

    fn completed(&mut self, stream: usize, _: &FileCommand, at: Instant) {
        if stream == self.probe_stream() {
            self.probe_outstanding = false;
            return;
        }
        self.writers[stream].outstanding = false;
        let Some(phase) = self.phase() else { return };
        let over = |(number, writer): (usize, &Writer)| {
            !writer.outstanding && self.command(number, phase, writer.issued).is_none()
        };
        if !self.writers.iter().enumerate().all(over) {
            return;
        }
        if phase.waits_for_discards() {
            self.forced = Some(at);
        } else {
            self.next_phase(at);
        }
    }
}
