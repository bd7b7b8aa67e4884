//! A pacing law as a trim policy: the same law paces calls of FITRIM in `trimpace`, and freed
//! extents of a modelled filesystem.
//!
//! A step of the law is what it allows at once, from the first discard until the last is complete
//! and the requests that were outstanding then have ended, because these waited for it. Discards of
//! a step go one after the other. A step that is limited by its cost is a single discard: a law
//! that wants more takes the next step without a pause.
//!
//! A range of the filesystem becomes as many bytes of what waits, because a policy does not know
//! where freed extents lie.
//!
//! The policy has two bounds of its own, which do not ask the law: beyond `backlog_max` freed
//! extents are skipped, and what has waited for `wait_max` is discarded at once.

use trimbench_core::{BlockSize, Blocks, Bytes, Instant, Nanos};

use crate::pacing::{Amount, PaceStep, PacingLaw, SeenRequest, StepExtent, StepLimit, Work, later};
use crate::policy::{Backlog, Foreground, Grant, TrimPolicy};

#[cfg(test)]
mod tests;

/// A step ends at the latest so long after its last discard: a request that takes longer waits for
/// something else.
const PATIENCE: Nanos = Nanos::from_secs(2);
/// A longer time without requests is a pause of the foreground, as long as requests are not that
/// far apart in the mean.
const PAUSE: Nanos = Nanos::from_secs(1);
/// The mean distance of requests is that of so many, and of half as many at least.
const REQUESTS_KEPT: u64 = 1_024;

/// A law at work as a policy.
#[derive(Clone, Debug)]
pub struct LawPolicy<L> {
    law: L,
    options: LawPolicyOptions,
    /// What the law allowed last, and has not begun.
    allowed: Allowance,
    step: Option<OpenStep>,
    distance: MeanDistance,
    outstanding: u64,
}

/// What holds for every law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LawPolicyOptions {
    /// The blocks that are counted.
    pub block_size: BlockSize,
    /// The longest discard, at least one block.
    pub discard_max: Blocks,
    /// Blocks that wait, at most; more is skipped.
    pub backlog_max: Blocks,
    /// After this time a discard goes whatever the law says.
    pub wait_max: Nanos,
}

impl LawPolicyOptions {
    /// The law alone decides, in blocks of this size.
    pub const fn unlimited(block_size: BlockSize) -> Self {
        let most = Blocks(u64::MAX);
        Self { block_size, discard_max: most, backlog_max: most, wait_max: Nanos(u64::MAX) }
    }
}

/// What a step may be.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    /// Blocks that may still go.
    left: Blocks,
    /// The longest discard.
    longest: Blocks,
    /// Whether one discard is all.
    is_single: bool,
}

/// A step that was begun.
#[derive(Clone, Copy, Debug)]
struct OpenStep {
    began: Instant,
    allowed: Allowance,
    /// The discard that was issued last, and when it was complete; that of its issue before.
    length: Blocks,
    issued_at: Instant,
    completed_at: Instant,
    done: Amount,
    /// Requests that were outstanding when the last discard was complete, and still are; `None`
    /// while a discard is under way or may follow.
    awaited: Option<u64>,
}

/// The mean time from one request to the next, without pauses of the foreground. Of many requests:
/// late ones come close together, and each is to count as one of all.
#[derive(Clone, Copy, Debug, Default)]
struct MeanDistance {
    span: Nanos,
    requests: u64,
    last: Option<Instant>,
}

impl<L: PacingLaw> LawPolicy<L> {
    /// The law, which was told nothing yet, as a policy.
    ///
    /// # Panics
    /// If the longest discard is none.
    pub fn new(law: L, options: LawPolicyOptions) -> Self {
        assert!(options.discard_max > Blocks(0), "a discard has at least one block");
        let longest = options.discard_max;
        Self {
            law,
            options,
            allowed: Allowance { left: longest, longest, is_single: true },
            step: None,
            distance: MeanDistance::default(),
            outstanding: 0,
        }
    }

    /// The law, to read what it has learned.
    pub fn law(&self) -> &L {
        &self.law
    }

    fn allowance(&self, limit: StepLimit, waiting: Blocks) -> Allowance {
        let blocks = |bytes: Bytes| bytes.blocks_floor(self.options.block_size).max(Blocks(1));
        let longest = limit.piece.map_or(Blocks(u64::MAX), blocks).min(self.options.discard_max);
        let (left, is_single) = match limit.extent {
            StepExtent::Whole => (waiting, false),
            StepExtent::Range(bytes) => (blocks(bytes).min(waiting), false),
            StepExtent::Cost { longest: None, .. } => (longest, true),
            StepExtent::Cost { longest: Some(most), .. } => (blocks(most).min(longest), true),
        };
        Allowance { left, longest, is_single }
    }

    /// No discard follows in the step: it ends when the requests have that are outstanding.
    fn close(&mut self) {
        let outstanding = self.outstanding;
        if let Some(step) = &mut self.step {
            step.awaited = Some(outstanding);
        }
        if outstanding == 0 {
            self.end();
        }
    }

    fn end(&mut self) {
        if let Some(step) = self.step.take() {
            self.law.ended(step.completed_at, step.done);
        }
    }

    /// What the step under way lets go, or how long it is waited for; `None` if there is none.
    fn in_step(&mut self, now: Instant, backlog: &Backlog, overdue: Instant) -> Option<Grant> {
        let step = self.step?;
        if step.awaited.is_none() {
            // The oldest goes first: what waited when the step began is gone.
            if backlog.oldest > step.began {
                self.close();
                return self.step.map(|_| Grant::Until(later(now, PATIENCE)));
            }
            return Some(Grant::Blocks(step.allowed.next()));
        }
        let until = later(step.completed_at, PATIENCE).min(overdue);
        if now < until {
            return Some(Grant::Until(until));
        }
        self.end();
        None
    }
}

impl<L: PacingLaw> TrimPolicy for LawPolicy<L> {
    fn admit(&mut self, _: Instant, freed: Blocks, backlog: &Backlog) -> Blocks {
        backlog.room(self.options.backlog_max).min(freed)
    }

    fn grant(&mut self, now: Instant, backlog: &Backlog) -> Grant {
        if backlog.in_flight > 0 {
            return Grant::Idle;
        }
        let overdue = later(backlog.oldest, self.options.wait_max);
        if let Some(grant) = self.in_step(now, backlog, overdue) {
            return grant;
        }
        if self.outstanding > 0 {
            self.law.foreground(now, 1);
        }
        let amount = |discards, blocks: Blocks| {
            let bytes = blocks.0.saturating_mul(self.options.block_size.bytes().0);
            Amount { discards, bytes: Bytes(bytes) }
        };
        let upcoming = amount(1, backlog.least);
        let remaining = amount(backlog.extents, backlog.blocks);
        match self.law.next(now, Work { upcoming, remaining }) {
            PaceStep::Step(limit) => self.allowed = self.allowance(limit, backlog.blocks),
            PaceStep::Until(at) if now < overdue => return Grant::Until(at.min(overdue)),
            // As long as the last one.
            PaceStep::Until(_) => {
                let longest = self.allowed.longest.min(self.allowed.left).max(Blocks(1));
                self.allowed = Allowance { left: longest, longest, is_single: true };
            }
        }
        Grant::Blocks(self.allowed.next())
    }

    fn issued(&mut self, now: Instant, blocks: Blocks) {
        let mut step = self.step.unwrap_or_else(|| {
            self.law.began(now);
            OpenStep {
                began: now,
                allowed: self.allowed,
                length: blocks,
                issued_at: now,
                completed_at: now,
                done: Amount::default(),
                awaited: None,
            }
        });
        debug_assert!(step.awaited.is_none(), "nothing is issued while a step ends");
        (step.length, step.issued_at, step.completed_at) = (blocks, now, now);
        let left = step.allowed.left.0.saturating_sub(blocks.0);
        step.allowed.left = Blocks(if step.allowed.is_single { 0 } else { left });
        self.step = Some(step);
    }

    fn completed(&mut self, now: Instant) {
        let step = self.step.as_mut().expect("what completes was issued");
        step.completed_at = now;
        // What took no time was not sent.
        if now > step.issued_at {
            let bytes = step.length.0.saturating_mul(self.options.block_size.bytes().0);
            step.done = step.done.and(Amount { discards: 1, bytes: Bytes(bytes) });
        }
        if step.allowed.left == Blocks(0) {
            self.close();
        }
    }

    fn foreground(&mut self, now: Instant, seen: Foreground) {
        let is_busy = self.outstanding > 0 || seen.outstanding > 0;
        self.outstanding = seen.outstanding;
        let submitted = seen.latency.map(|latency| {
            let submitted = Instant::from_start(now.since_start().saturating_sub(latency));
            let stands_for = self.distance.add(now);
            self.law.request(SeenRequest { submitted, completed: now, stands_for });
            submitted
        });
        if is_busy {
            self.law.foreground(now, 1);
        }
        let Some(step) = &mut self.step else { return };
        let Some(awaited) = &mut step.awaited else { return };
        let was_awaited = submitted.is_some_and(|submitted| submitted <= step.completed_at);
        *awaited = awaited.saturating_sub(u64::from(was_awaited)).min(seen.outstanding);
        if *awaited == 0 {
            self.end();
        }
    }
}

impl Allowance {
    /// The next discard.
    fn next(&self) -> Blocks {
        self.left.min(self.longest).max(Blocks(1))
    }
}

impl MeanDistance {
    /// A request completed; the mean with it, nothing at the first.
    fn add(&mut self, now: Instant) -> Nanos {
        let gap = self.last.replace(now).map(|last| now.since(last));
        if let Some(gap) = gap {
            // Twice the mean: so it follows requests that become rare.
            let longest = PAUSE.max(Nanos(self.mean().0.saturating_mul(2)));
            self.span = self.span.saturating_add(gap.min(longest));
            self.requests += 1;
        }
        if self.requests >= REQUESTS_KEPT {
            (self.span, self.requests) = (Nanos(self.span.0 / 2), self.requests / 2);
        }
        self.mean()
    }

    fn mean(&self) -> Nanos {
        Nanos(self.span.0.checked_div(self.requests).unwrap_or(0))
    }
}
