//! The drive, with a planted delay of what it answers.
//!
//! A command that is delayed has ended in the model, and nobody has been told: so it holds up no
//! other one, and all that are under way are delayed side by side.

use std::collections::BTreeSet;

use trimbench_core::fault::Faulty;
use trimbench_core::{
    BlockCommand, Bytes, Completion, Instant, LbaRange, Model as _, Nanos, Rejected, Tag,
};
use trimbench_ssd::{Overreach, Ssd};

#[cfg(test)]
mod tests;

/// How much later commands end than the model says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delays {
    /// Each of them.
    pub(crate) commands: Nanos,
    /// Discards, beyond that.
    pub(crate) discards: Nanos,
}

/// The drive, and those of its completions that are held back.
#[derive(Debug)]
pub(crate) struct DelayedDrive {
    drive: Faulty<Ssd>,
    delays: Delays,
    /// Since when these delays hold: what is held back does not end before.
    since: Instant,
    /// Discards that are under way, by their tags.
    discards: BTreeSet<u32>,
    held: Vec<Held>,
    ended: Vec<Completion>,
}

#[derive(Debug)]
struct Held {
    completion: Completion,
    is_discard: bool,
}

impl Held {
    /// When it ends.
    fn due(&self, delays: Delays, since: Instant) -> Instant {
        let own = if self.is_discard { delays.discards } else { Nanos::ZERO };
        let ended = self.completion.at.since_start();
        let due = ended.saturating_add(delays.commands).saturating_add(own);
        Instant::from_start(due).max(since)
    }
}

impl DelayedDrive {
    /// A drive that delays nothing.
    pub(crate) fn new(drive: Faulty<Ssd>) -> Self {
        Self {
            drive,
            delays: Delays::default(),
            since: Instant::START,
            discards: BTreeSet::new(),
            held: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// The model.
    pub(crate) fn ssd(&self) -> &Ssd {
        self.drive.inner()
    }

    /// The model.
    pub(crate) fn ssd_mut(&mut self) -> &mut Ssd {
        self.drive.inner_mut()
    }

    pub(crate) fn delays(&self) -> Delays {
        self.delays
    }

    /// From `now` on commands are delayed by so much, those that are held back already as well.
    pub(crate) fn delay(&mut self, now: Instant, delays: Delays) {
        self.delays = delays;
        self.since = now;
    }

    pub(crate) fn submit(
        &mut self,
        now: Instant,
        tag: Tag,
        command: BlockCommand,
    ) -> Result<(), Rejected> {
        self.drive.submit(now, tag, command)?;
        if matches!(command, BlockCommand::Discard(_)) {
            self.discards.insert(tag.0);
        }
        Ok(())
    }

    /// When something happens next.
    pub(crate) fn next_event(&self) -> Instant {
        let held = self.held.iter().map(|held| held.due(self.delays, self.since));
        held.chain([self.drive.next_event()]).min().expect("the model's is there")
    }

    /// Does what is due up to `now`.
    pub(crate) fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        let Self { drive, delays, since, discards, held, ended } = self;
        drive.advance(now, ended);
        held.extend(ended.drain(..).map(|completion| {
            let is_discard = discards.remove(&completion.tag.0);
            Held { completion, is_discard }
        }));
        held.retain(|held| {
            let due = held.due(*delays, *since);
            if due <= now {
                out.push(Completion { at: due, ..held.completion });
            }
            due > now
        });
    }

    /// The power goes at `now`, to which the drive was advanced, and comes back: `lost` is told
    /// each command that ends with it.
    pub(crate) fn cut_power(&mut self, now: Instant, mut lost: impl FnMut(Tag)) {
        let inside = self.drive.inside(now);
        self.drive.inner_mut().cut_power(inside).into_iter().for_each(&mut lost);
        self.held.drain(..).for_each(|held| lost(held.completion.tag));
        self.discards.clear();
    }

    /// From now on each discard frees these bytes as well.
    pub(crate) fn lose_neighbours(&mut self, before: Bytes, behind: Bytes) {
        self.ssd_mut().plant_overreach(Overreach { before, behind });
    }

    /// Of each of these blocks, whether the drive needs the bytes of its generation, now or after
    /// a power cut.
    pub(crate) fn may_hold(
        &mut self,
        range: LbaRange,
        generations: &[u32],
        now: Instant,
    ) -> Vec<bool> {
        let inside = self.drive.inside(now);
        self.drive.inner_mut().may_hold(range, generations, inside)
    }

    /// Whether a power cut at `now` or later would leave these blocks as they are.
    pub(crate) fn is_durable(&mut self, range: LbaRange, now: Instant) -> bool {
        let inside = self.drive.inside(now);
        self.drive.inner_mut().is_durable(range, inside)
    }
}
