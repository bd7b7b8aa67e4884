//! Pacing laws: when the next call of FITRIM may begin, how much it covers, and into which pieces
//! the kernel divides its discards. Pure state machines: the same code runs in `trimpace` and in
//! virtual time.
//!
//! A *step* is one call: from its begin until the device has completed its discards. Between steps
//! nothing of ours is in flight. A law is told each step, the latencies of requests (of probes of
//! its own, or of the foreground), and how many requests others made; it answers with a
//! [`PaceStep`].
//!
//! | law | whose | what it does |
//! |---|---|---|
//! | [`Governor`] | ours | keeps the share of requests that are late below a tolerance |
//! | [`GradualGovernor`] | ours | the same, started slowly: for who trims all the time |
//! | [`Rival::Plain`] | `fstrim` | all in one call |
//! | [`Rival::Pieces`] | an administrator's | the same with a smaller `discard_max_bytes` |
//! | [`Rival::Chunks`] | Talos \[TALOS\] | fixed ranges, a fixed delay after each |
//! | [`MeanLaw`] | an idea of a patent \[VMWARE-UNMAP\] | a rate, by means of latency |
//!
//! Units: time in `Nanos`, shares in `Ppm`, sizes in `Bytes`; no floats.

mod cost_line;
mod governor;
mod gradual;
mod rivals;

use std::fmt::Debug;

use trimbench_core::{Bytes, Instant, Nanos};

pub use cost_line::{CostLine, DiscardCost};
pub use governor::{Governor, GovernorAccount, GovernorOptions, PaceTarget, PassForecast};
pub use gradual::GradualGovernor;
pub use rivals::{MeanLaw, MeanLawOptions, Rival};

/// Decides the pace of a pass. `now` never falls from one call to the next.
pub trait PacingLaw: Debug + Send {
    /// What to do now; asked only between steps.
    fn next(&mut self, now: Instant, work: Work) -> PaceStep;

    /// A step begins.
    fn began(&mut self, now: Instant);

    /// The step that began last is complete: the device did this much by its own counters.
    fn ended(&mut self, now: Instant, done: Amount);

    /// A request that was seen, in the order of completion. Requests during which the observer
    /// itself did not run are left out by the caller.
    fn request(&mut self, seen: SeenRequest);

    /// Others completed so many requests since the last look.
    fn foreground(&mut self, now: Instant, requests: u64);
}

/// What a law answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceStep {
    /// A step now, of at most this much.
    Step(StepLimit),
    /// Nothing before this instant. Ask again then, or when something was told meanwhile.
    Until(Instant),
}

/// How much a step may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepLimit {
    /// How it is measured.
    pub extent: StepExtent,
    /// The longest discard that the kernel may send (`discard_max_bytes`); `None` for what the
    /// device has by itself.
    pub piece: Option<Bytes>,
}

/// How the length of a step is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepExtent {
    /// All that is left, in one call.
    Whole,
    /// A range of the filesystem of this length, whatever is free in it.
    Range(Bytes),
    /// Free extents while they are expected to take no longer than this; one at least.
    Cost {
        /// What the step may take.
        budget: Nanos,
        /// What discards cost.
        cost: DiscardCost,
        /// No extent longer than this, where the filesystem can cut one; `None` if to cut would not
        /// help.
        longest: Option<Bytes>,
    },
}

/// An amount of discards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Discards, or free extents; 0 if unknown.
    pub discards: u64,
    /// Bytes.
    pub bytes: Bytes,
}

/// A request whose latency is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenRequest {
    /// When it was submitted; by a schedule of its own, not when the one before was complete.
    pub submitted: Instant,
    /// When it was complete.
    pub completed: Instant,
    /// The time that it is the sample of: the mean distance of requests now. Not that to the one
    /// before, for who comes shortly after another is late more often.
    pub stands_for: Nanos,
}

/// What of a pass is left, in free extents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The least that the next step can be: the filesystem cuts no further. Nothing if unknown.
    pub upcoming: Amount,
    /// All.
    pub remaining: Amount,
}

impl Amount {
    /// Both together; saturates.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            discards: self.discards.saturating_add(more.discards),
            bytes: Bytes(self.bytes.0.saturating_add(more.bytes.0)),
        }
    }

    /// This without a part of it; nothing where the part is larger.
    #[must_use]
    pub fn without(self, part: Self) -> Self {
        Self {
            discards: self.discards.saturating_sub(part.discards),
            bytes: self.bytes.saturating_sub(part.bytes),
        }
    }
}

impl SeenRequest {
    /// From submission to completion.
    pub fn latency(&self) -> Nanos {
        self.completed.since(self.submitted)
    }
}

impl StepLimit {
    /// All in one call, as `fstrim` does.
    pub const WHOLE: Self = Self { extent: StepExtent::Whole, piece: None };
}

/// `span * numerator / denominator`; saturates, also for a denominator of 0.
pub(crate) fn scaled(span: Nanos, numerator: u64, denominator: u64) -> Nanos {
    let product = u128::from(span.0) * u128::from(numerator);
    let quotient = product.checked_div(u128::from(denominator)).unwrap_or(u128::MAX);
    Nanos(u64::try_from(quotient).unwrap_or(u64::MAX))
}

/// `at + span`; saturates.
pub(crate) fn later(at: Instant, span: Nanos) -> Instant {
    Instant::from_start(at.since_start().saturating_add(span))
}

#[cfg(test)]
mod tests;
