//! When the discards go that PostMark's deletions cause.
//!
//! Of one run below the modelled filesystem the discards are counted by the phase in which the
//! drive receives them. What is deleted at the end is discarded in the deletion phase or after it,
//! when PostMark's clock has stopped.

use anyhow::{Context as _, Result};
use trimbench_core::{
    BlockCommand, Capabilities, Completion, DeviceStatistics, Instant, LbaRange, Model, Nanos,
    Rejected, Storage, Tag,
};
use trimbench_ssd::Profile;

use super::published::{Durations, PublishedColumn};
use super::run::play;

/// The end of PostMark on a drive, as modelled.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletionRun {
    /// What one TRIM costs by its profile, in seconds.
    pub trim: f64,
    /// Files that the deletion phase deletes.
    pub files: f64,
    /// How long the phases took under discard.
    pub durations: Durations,
    /// Discards that the drive got in the deletion phase.
    pub during: f64,
    /// After it, when the clock has stopped.
    pub after: f64,
    /// From the end of the deletion to that of the last discard, in seconds.
    pub after_seconds: f64,
}

/// Runs a drive's buffered column with discard once, with PostMark's own seed.
pub fn deletion_run(vendor: &str) -> Result<DeletionRun> {
    let profile = Profile::built_in(vendor).with_context(|| format!("no profile `{vendor}`"))?;
    let drive = profile.config.clone().build().context("build the drive")?;
    let seen = SeenDrive { drive, discards: Vec::new() };
    let with = play((vendor, seen), PublishedColumn { buffered: true, discard: true }, 0)?;
    let durations = with.run.durations;
    let at = |seconds: f64| Instant::START + Nanos::from_seconds(seconds);
    let deleting = at(durations.creation + durations.transactions);
    let ended = at(durations.total());
    let count = |from: Instant, to: Instant| {
        with.device.discards.iter().filter(|&&sent| from <= sent && sent < to).count() as f64
    };
    Ok(DeletionRun {
        trim: profile.config.trim.command.seconds(),
        files: with.deleted_alone,
        durations,
        during: count(deleting, ended),
        after: count(ended, Instant::NEVER),
        after_seconds: with.run.after,
    })
}

/// A drive that notes when it gets a discard.
struct SeenDrive<M> {
    drive: M,
    discards: Vec<Instant>,
}

impl<M: Model<Command = BlockCommand>> Storage for SeenDrive<M> {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        self.drive.statistics()
    }

    fn capabilities(&self) -> &Capabilities {
        self.drive.capabilities()
    }
}

impl<M: Model<Command = BlockCommand>> Model for SeenDrive<M> {
    fn submit(&mut self, now: Instant, tag: Tag, command: BlockCommand) -> Result<(), Rejected> {
        if matches!(command, BlockCommand::Discard(_)) {
            self.discards.push(now);
        }
        self.drive.submit(now, tag, command)
    }

    fn submit_discard(
        &mut self,
        now: Instant,
        tag: Tag,
        ranges: &[LbaRange],
    ) -> Result<(), Rejected> {
        self.discards.push(now);
        self.drive.submit_discard(now, tag, ranges)
    }

    fn next_event(&self) -> Instant {
        self.drive.next_event()
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        self.drive.advance(now, out);
    }
}
