//! A policy and the queue that it empties; a modelled filesystem has one for each of its drives.

use trimbench_core::{BlockSize, Blocks, DiscardCounts, DriveDiscards, Instant, LbaRange};

use crate::policy::{Backlog, Foreground, Grant, TrimPolicy};
use crate::queue::{ExtentCounts, FreedQueue, QueueCounters};

#[cfg(test)]
mod tests;

/// Turns freed extents into discards, as a policy allows.
#[derive(Debug)]
pub struct Trimmer {
    policy: Box<dyn TrimPolicy>,
    queue: FreedQueue,
    options: Options,
    in_flight: u64,
}

/// What a filesystem and its drive lay down for any policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The longest discard that the drive takes. Never none.
    pub discard_max: Blocks,
    /// Whether the filesystem divides extents.
    pub extents: Extents,
    /// Extents that wait, at most. Never none.
    pub extents_max: usize,
}

/// Whether an extent can go in several discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extents {
    /// Into discards of any length.
    Divisible,
    /// An extent goes at once, as in ext4, which discards whole free extents; only the drive's
    /// longest discard divides it. A policy's grant then says when, but not how much.
    Atomic,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimmerStep {
    /// Discard this, and ask again.
    Discard(LbaRange),
    /// Nothing before this instant, unless something happens before.
    Until(Instant),
    /// Nothing until something happens.
    Idle,
}

impl Trimmer {
    /// With nothing freed yet.
    ///
    /// # Panics
    /// If the longest discard, or the longest queue, is none.
    pub fn new(policy: Box<dyn TrimPolicy>, options: Options) -> Self {
        assert!(options.discard_max > Blocks(0), "the drive discards");
        Self { policy, queue: FreedQueue::new(options.extents_max), options, in_flight: 0 }
    }

    /// An extent was freed, and its commit is done.
    pub fn freed(&mut self, now: Instant, range: LbaRange) {
        self.freed_since(now, now, range);
    }

    /// The same of an extent that was freed at `since`, and that the filesystem kept back until
    /// now.
    pub fn freed_since(&mut self, now: Instant, since: Instant, range: LbaRange) {
        let kept = self.policy.admit(now, range.length(), &self.backlog());
        self.queue.freed(since, range, kept);
    }

    /// An extent was freed that the filesystem does not discard, because it is too short: it counts
    /// as skipped.
    pub fn passed_over(&mut self, now: Instant, range: LbaRange) {
        self.queue.freed(now, range, Blocks(0));
    }

    /// A range was written again, or is about to be: it must not be discarded any more. A discard
    /// of it that is in flight is the caller's to wait for. How many blocks no longer wait.
    pub fn rewritten(&mut self, range: LbaRange) -> Blocks {
        self.queue.rewritten(range)
    }

    /// A range is not free for now, though not written: what of it waits is set aside.
    pub fn withheld(&mut self, range: LbaRange) {
        self.queue.withheld(range);
    }

    /// A range that was withheld is free again, not written.
    pub fn returned(&mut self, range: LbaRange) {
        self.queue.returned(range);
    }

    /// What to do at `now`. A discard counts as issued.
    pub fn next(&mut self, now: Instant) -> TrimmerStep {
        if self.policy.sheds(now) {
            self.queue.skip_all();
        }
        let backlog = self.backlog();
        if backlog.blocks == Blocks(0) {
            return TrimmerStep::Idle;
        }
        match self.policy.grant(now, &backlog) {
            Grant::Blocks(granted) => {
                let range = self.queue.take(now, self.limit(granted)).expect("something waits");
                self.in_flight += 1;
                self.policy.issued(now, range.length());
                TrimmerStep::Discard(range)
            }
            Grant::Until(at) => {
                debug_assert!(at > now, "a policy that waits, waits for something to come");
                TrimmerStep::Until(at)
            }
            Grant::Idle => TrimmerStep::Idle,
        }
    }

    /// A discard completed.
    ///
    /// # Panics
    /// If none is in flight.
    pub fn completed(&mut self, now: Instant) {
        assert!(self.in_flight > 0, "what completes was issued");
        self.in_flight -= 1;
        self.policy.completed(now);
    }

    /// The foreground at a submission or completion, or at a sample.
    pub fn foreground(&mut self, now: Instant, seen: Foreground) {
        self.policy.foreground(now, seen);
    }

    /// Gives up all that waits, as ext4 does at unmount.
    pub fn give_up(&mut self) {
        self.queue.skip_all();
    }

    /// What waits, and what is under way.
    pub fn backlog(&self) -> Backlog {
        Backlog {
            blocks: self.queue.waiting(),
            extents: self.queue.extents(),
            oldest: self.queue.oldest(),
            least: match self.options.extents {
                Extents::Divisible => self.queue.oldest_length().min(Blocks(1)),
                Extents::Atomic => self.queue.oldest_length().min(self.options.discard_max),
            },
            in_flight: self.in_flight,
        }
    }

    /// Blocks that were freed and are withheld: they wait, but not for the policy.
    pub fn set_aside(&self) -> Blocks {
        self.queue.set_aside()
    }

    /// What became of all that was freed.
    pub fn counters(&self) -> &QueueCounters {
        self.queue.counters()
    }

    /// The same in bytes, with what waits, of a drive with blocks of this size. What is withheld
    /// waits, too.
    pub fn discards(&self, block_size: BlockSize) -> DriveDiscards {
        let bytes = |blocks: Blocks| blocks.bytes(block_size);
        let of = |ExtentCounts { count, blocks }| DiscardCounts { count, bytes: bytes(blocks) };
        let QueueCounters { freed, issued, deferred, skipped, invalidated } = *self.counters();
        DriveDiscards {
            freed: of(freed),
            issued: of(issued),
            deferred: of(deferred),
            skipped: of(skipped),
            invalidated: of(invalidated),
            waiting: bytes(self.queue.waiting() + self.queue.set_aside()),
        }
    }

    fn limit(&self, granted: Blocks) -> Blocks {
        match self.options.extents {
            Extents::Divisible => granted.min(self.options.discard_max),
            Extents::Atomic => self.options.discard_max,
        }
    }
}
