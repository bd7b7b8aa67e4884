//! What the drive was asked, and when each command ended: enough to have a model do it again.
//!
//! Times are the drive's. An entry is one line of JSON.

use serde::{Deserialize, Serialize};
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Completion, Data, Instant, Lba, LbaRange, Nanos, Status, Tag,
};
use trimbench_ssd::DriveConfigError;

use crate::delayed::{DelayedDrive, Delays};

#[cfg(test)]
mod tests;

/// Something that happened to the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// When, in ns of the drive's time since it was attached.
    pub at: u64,
    /// What.
    #[serde(flatten)]
    pub event: LogEvent,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogEvent {
    /// A command was submitted.
    Submitted {
        /// Its number: unique among the commands under way.
        tag: u32,
        /// What it asks for.
        #[serde(flatten)]
        command: LoggedCommand,
    },
    /// A command ended.
    Completed {
        /// Its number.
        tag: u32,
        /// Whether it did what it was asked; a failed one changed nothing.
        failed: bool,
    },
    /// The power went: the commands under way ended with an error.
    PowerCut,
    /// From now on each command ends so many ns later than it has done its work, and holds up no
    /// other one meanwhile: a planted fault. It holds for commands under way, too.
    Slowed {
        /// Each command.
        commands: u64,
        /// Discards, beyond that.
        discards: u64,
    },
    /// Deallocation takes these bytes as well, before and behind each discard: a planted fault.
    NeighbourLost {
        /// Before the first whole unit.
        before: u64,
        /// Behind the last whole unit.
        behind: u64,
    },
}

/// A command, in logical blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum LoggedCommand {
    /// Read them.
    Read {
        /// The first.
        lba: u64,
        /// How many.
        blocks: u64,
    },
    /// Write them with bytes of this number, or with zeroes.
    Write {
        /// The first.
        lba: u64,
        /// How many.
        blocks: u64,
        /// `None` for zeroes.
        generation: Option<u32>,
    },
    /// Discard them.
    Discard {
        /// The first.
        lba: u64,
        /// How many.
        blocks: u64,
    },
    /// Make what was written durable.
    Flush,
}

/// Where a replay differs from the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// A command ended otherwise, or at another time.
    #[error("completion {index}: the log has {logged:?}, the replay {replayed:?}")]
    Differs {
        /// The number of the completion, from 0.
        index: usize,
        /// As logged: number, ns of the drive's time, whether it failed.
        logged: Option<(u32, u64, bool)>,
        /// As replayed.
        replayed: Option<(u32, u64, bool)>,
    },
    /// The drive's numbers are none of a drive.
    #[error(transparent)]
    Drive(#[from] DriveConfigError),
    /// The model refuses a command that it took before.
    #[error("entry {entry} is refused: {reason}")]
    Refused {
        /// The number of the entry, from 0.
        entry: usize,
        /// Why.
        reason: String,
    },
}

impl LoggedCommand {
    /// A command as it is logged.
    pub(crate) fn of(command: BlockCommand) -> Self {
        let numbers = |range: LbaRange| (range.start().0, range.length().0);
        match command {
            BlockCommand::Read(range) => {
                let (lba, blocks) = numbers(range);
                Self::Read { lba, blocks }
            }
            BlockCommand::Write { range, data } => {
                let (lba, blocks) = numbers(range);
                let generation = match data {
                    Data::Stamped(generation) => Some(generation),
                    Data::Random | Data::Compressible(_) => None,
                };
                Self::Write { lba, blocks, generation }
            }
            BlockCommand::Discard(range) => {
                let (lba, blocks) = numbers(range);
                Self::Discard { lba, blocks }
            }
            BlockCommand::Flush => Self::Flush,
        }
    }

    /// The command; `None` if its range wraps.
    fn command(self) -> Option<BlockCommand> {
        let range = |lba, blocks| LbaRange::new(Lba(lba), Blocks(blocks));
        Some(match self {
            Self::Read { lba, blocks } => BlockCommand::Read(range(lba, blocks)?),
            Self::Write { lba, blocks, generation } => BlockCommand::Write {
                range: range(lba, blocks)?,
                data: generation.map_or(Data::Compressible(0), Data::Stamped),
            },
            Self::Discard { lba, blocks } => BlockCommand::Discard(range(lba, blocks)?),
            Self::Flush => BlockCommand::Flush,
        })
    }
}

/// Has `drive`, in the state in which the logged one began, do everything again in virtual time.
/// How many commands ended, each at the instant of the log.
///
/// # Errors
/// The first difference.
pub(crate) fn replay(drive: &mut DelayedDrive, log: &[LogEntry]) -> Result<usize, ReplayError> {
    let logged: Vec<(u32, u64, bool)> = log
        .iter()
        .filter_map(|entry| match entry.event {
            LogEvent::Completed { tag, failed } => Some((tag, entry.at, failed)),
            _ => None,
        })
        .collect();
    let mut replayed = Vec::with_capacity(logged.len());
    for (number, entry) in log.iter().enumerate() {
        let at = Instant::from_start(Nanos(entry.at));
        let refused = |reason: String| ReplayError::Refused { entry: number, reason };
        run_until(drive, at, &mut replayed);
        match entry.event {
            LogEvent::Submitted { tag, command } => {
                let command = command.command().ok_or_else(|| refused("wraps".to_owned()))?;
                let taken = drive.submit(at, Tag(tag), command);
                taken.map_err(|error| refused(error.to_string()))?;
            }
            LogEvent::Completed { .. } => {}
            LogEvent::PowerCut => {
                drive.cut_power(at, |tag| replayed.push((tag.0, entry.at, true)));
            }
            LogEvent::Slowed { commands, discards } => {
                let [commands, discards] = [commands, discards].map(Nanos);
                drive.delay(at, Delays { commands, discards });
            }
            LogEvent::NeighbourLost { before, behind } => {
                drive.lose_neighbours(Bytes(before), Bytes(behind));
            }
        }
    }
    for index in 0..logged.len().max(replayed.len()) {
        let [logged, replayed] = [&logged, &replayed].map(|all| all.get(index).copied());
        if logged != replayed {
            return Err(ReplayError::Differs { index, logged, replayed });
        }
    }
    Ok(logged.len())
}

/// Has the drive do all that it does until `at`.
fn run_until(drive: &mut DelayedDrive, at: Instant, ended: &mut Vec<(u32, u64, bool)>) {
    let mut completions: Vec<Completion> = Vec::new();
    while drive.next_event() <= at {
        drive.advance(drive.next_event(), &mut completions);
    }
    ended.extend(
        completions
            .into_iter()
            .map(|it| (it.tag.0, it.at.since_start().0, matches!(it.status, Status::Failed(_)))),
    );
}
