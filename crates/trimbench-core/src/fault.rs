//! Planted faults: a layer over any model whose effect is known exactly, to test what measures it.

use crate::command::{Completion, Errno, Operation, OperationKind, Rejected, Status, Tag};
use crate::contract::{Capabilities, Model, Statistics};
use crate::units::{Instant, Nanos};

#[cfg(test)]
mod tests;

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Every discard freezes the device for this long from its submission: nothing starts and
    /// nothing ends meanwhile. Freezes that overlap run one after the other.
    pub freeze_on_discard: Nanos,
    /// From this instant on every command fails with EIO; `None` for never.
    pub fail_from: Option<Instant>,
}

/// A model behind a layer of planted faults.
///
/// A freeze stops the inner model's clock: `inner = outer - frozen time so far`, so that what was
/// half done goes on afterwards where it stood. The statistics are the inner model's, whose times
/// leave the freezes out.
#[derive(Debug)]
pub struct Faulty<M> {
    model: M,
    plan: FaultPlan,
    /// Start of the current or last freeze, on the outer clock.
    frozen_from: Instant,
    /// End of the current or last freeze, on the outer clock.
    frozen_until: Instant,
    /// All frozen time up to `frozen_from`: what the inner clock lags behind before this freeze.
    lag: Nanos,
    scratch: Vec<Completion>,
}

impl<M: Model> Faulty<M> {
    /// Puts the layer over `model`.
    pub fn new(model: M, plan: FaultPlan) -> Self {
        Self {
            model,
            plan,
            frozen_from: Instant::START,
            frozen_until: Instant::START,
            lag: Nanos::ZERO,
            scratch: Vec::new(),
        }
    }

    /// The model below.
    pub fn inner(&self) -> &M {
        &self.model
    }

    /// Outer to inner time.
    fn inside(&self, outer: Instant) -> Instant {
        if outer < self.frozen_until {
            outer.min(self.frozen_from) - self.lag
        } else {
            outer - self.lag - (self.frozen_until - self.frozen_from)
        }
    }

    /// Inner to outer time: the earliest outer instant by which `inner` has been reached.
    fn outside(&self, inner: Instant) -> Instant {
        if inner == Instant::NEVER {
            return inner;
        }
        let unfrozen = inner + self.lag;
        if self.frozen_until > self.frozen_from && unfrozen >= self.frozen_from {
            unfrozen + (self.frozen_until - self.frozen_from)
        } else {
            unfrozen
        }
    }

    fn freeze(&mut self, now: Instant, span: Nanos) {
        if now < self.frozen_until {
            self.frozen_until += span;
        } else {
            self.lag += self.frozen_until - self.frozen_from;
            self.frozen_from = now;
            self.frozen_until = now + span;
        }
    }

    fn broken(&self, now: Instant) -> bool {
        self.plan.fail_from.is_some_and(|from| now >= from)
    }
}

impl<M: Model> Model for Faulty<M>
where
    M::Command: Operation,
{
    type Command = M::Command;

    fn submit(&mut self, now: Instant, tag: Tag, command: M::Command) -> Result<(), Rejected> {
        let freezes = command.kind() == OperationKind::Discard && self.plan.freeze_on_discard.0 > 0;
        if freezes {
            self.freeze(now, self.plan.freeze_on_discard);
        }
        let inner_now = self.inside(now);
        self.model.submit(inner_now, tag, command)
    }

    fn next_event(&self) -> Instant {
        self.outside(self.model.next_event())
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        if now > self.frozen_from && now < self.frozen_until {
            return;
        }
        let inner_now = self.inside(now);
        let mut completions = std::mem::take(&mut self.scratch);
        self.model.advance(inner_now, &mut completions);
        let broken = self.broken(now);
        for completion in completions.drain(..) {
            let status = if broken { Status::Failed(Errno::EIO) } else { completion.status };
            out.push(Completion { at: self.outside(completion.at).min(now), status, ..completion });
        }
        self.scratch = completions;
    }

    fn statistics(&self) -> Statistics {
        self.model.statistics()
    }

    fn capabilities(&self) -> &Capabilities {
        self.model.capabilities()
    }
}
