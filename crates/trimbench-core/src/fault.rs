//! Planted faults: a layer over any model whose effect is known exactly, to test what measures it.

use crate::command::{Completion, Content, Operation, OperationKind, Rejected, Status, Tag};
use crate::contract::{Capabilities, Model, Statistics};
use crate::drive::{Drive, DriveError, PurgeMeans, TrimPromise, Wear};
use crate::errno::Errno;
use crate::units::{Bytes, Instant, LbaRange, Nanos};

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
    /// From this instant on the device is gone: every command ends with ENODEV, whatever else is
    /// planted; `None` for never.
    pub vanish_from: Option<Instant>,
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
    /// The latest instant that the layer was told.
    now: Instant,
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
            now: Instant::START,
            lag: Nanos::ZERO,
            scratch: Vec::new(),
        }
    }

    /// The model below.
    pub fn inner(&self) -> &M {
        &self.model
    }

    /// The model below, to put it into a stated condition.
    pub fn inner_mut(&mut self) -> &mut M {
        &mut self.model
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
        if span == Nanos::ZERO {
            return;
        }
        if now < self.frozen_until {
            self.frozen_until += span;
        } else {
            self.lag += self.frozen_until - self.frozen_from;
            self.frozen_from = now;
            self.frozen_until = now + span;
        }
    }

    /// The error of what is not a command, if the device is broken.
    fn check(&self, operation: &'static str) -> Result<(), DriveError> {
        match self.broken(self.now) {
            Some(errno) => Err(DriveError::Failed { operation, errno }),
            None => Ok(()),
        }
    }

    /// What every command fails with at `now`, if it does.
    fn broken(&self, now: Instant) -> Option<Errno> {
        let since = |from: Option<Instant>| from.is_some_and(|from| now >= from);
        if since(self.plan.vanish_from) {
            Some(Errno::ENODEV)
        } else {
            since(self.plan.fail_from).then_some(Errno::EIO)
        }
    }
}

impl<M: Model> Model for Faulty<M>
where
    M::Command: Operation,
{
    type Command = M::Command;

    fn submit(&mut self, now: Instant, tag: Tag, command: M::Command) -> Result<(), Rejected> {
        self.now = now;
        if command.kind() == OperationKind::Discard {
            self.freeze(now, self.plan.freeze_on_discard);
        }
        let inner_now = self.inside(now);
        self.model.submit(inner_now, tag, command)
    }

    fn submit_discard(
        &mut self,
        now: Instant,
        tag: Tag,
        ranges: &[LbaRange],
    ) -> Result<(), Rejected> {
        self.now = now;
        self.freeze(now, self.plan.freeze_on_discard);
        let inner_now = self.inside(now);
        self.model.submit_discard(inner_now, tag, ranges)
    }

    fn next_event(&self) -> Instant {
        self.outside(self.model.next_event())
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        self.now = now;
        if now > self.frozen_from && now < self.frozen_until {
            return;
        }
        let inner_now = self.inside(now);
        let mut completions = std::mem::take(&mut self.scratch);
        self.model.advance(inner_now, &mut completions);
        let broken = self.broken(now);
        for completion in completions.drain(..) {
            let status = broken.map_or(completion.status, Status::Failed);
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

impl<M: Model + Drive> Drive for Faulty<M> {
    fn purge_means(&self) -> PurgeMeans {
        self.model.purge_means()
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        self.check("purge")?;
        self.model.purge()
    }

    fn purge_time(&self) -> Nanos {
        self.model.purge_time()
    }

    fn examine(&mut self, range: LbaRange, out: &mut Vec<Content>) -> Result<(), DriveError> {
        self.check("read")?;
        self.model.examine(range, out)
    }

    fn power_cut(&mut self) -> Result<(), DriveError> {
        self.check("power cut")?;
        self.model.power_cut()
    }

    fn discard_alignment(&self) -> Bytes {
        self.model.discard_alignment()
    }

    fn trim_promise(&self) -> TrimPromise {
        self.model.trim_promise()
    }

    fn wear(&mut self) -> Option<Wear> {
        self.model.wear()
    }
}
