//! Planted faults: a layer over any model, with exactly known effects, to test what measures them.

use crate::command::{Completion, Content, Operation, OperationKind, Rejected, Status, Tag};
use crate::contract::{Capabilities, DeviceStatistics, Model, Storage};
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

/// A model, behind a layer of planted faults where there are any: without them every call goes
/// straight to the model.
#[derive(Debug)]
pub struct Faulty<M> {
    model: M,
    layer: Option<Box<Layer>>,
}

/// The layer of planted faults.
///
/// A freeze stops the model's clock: `inner = outer - frozen time so far`, so that what was half
/// done goes on afterwards where it stood. The statistics are the model's, whose times leave the
/// freezes out.
#[derive(Debug)]
struct Layer {
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
    /// The model with these faults, if there are any.
    pub fn new(model: M, plan: FaultPlan) -> Self {
        let layer = (plan != FaultPlan::default()).then(|| Box::new(Layer::new(plan)));
        Self { model, layer }
    }

    /// The model below.
    pub fn inner(&self) -> &M {
        &self.model
    }

    /// The model below, to put it into a stated condition.
    pub fn inner_mut(&mut self) -> &mut M {
        &mut self.model
    }

    /// What the model's clock shows at `now`: less, once it was frozen.
    pub fn inside(&self, now: Instant) -> Instant {
        self.layer.as_ref().map_or(now, |layer| layer.inside(now))
    }

    /// The error of what is not a command, if the device is broken.
    fn check(&self, operation: &'static str) -> Result<(), DriveError> {
        let broken = self.layer.as_ref().and_then(|layer| layer.broken(layer.now));
        broken.map_or(Ok(()), |errno| Err(DriveError::Failed { operation, errno }))
    }
}

impl Layer {
    fn new(plan: FaultPlan) -> Self {
        Self {
            plan,
            frozen_from: Instant::START,
            frozen_until: Instant::START,
            now: Instant::START,
            lag: Nanos::ZERO,
            scratch: Vec::new(),
        }
    }

    /// A command is submitted at `now`; the model's time. A discard may freeze it.
    fn submitted(&mut self, now: Instant, is_discard: bool) -> Instant {
        self.now = now;
        let span = self.plan.freeze_on_discard;
        if is_discard && span > Nanos::ZERO {
            if now < self.frozen_until {
                self.frozen_until += span;
            } else {
                self.lag += self.frozen_until - self.frozen_from;
                self.frozen_from = now;
                self.frozen_until = now + span;
            }
        }
        self.inside(now)
    }

    fn advance<M: Model>(&mut self, model: &mut M, now: Instant, out: &mut Vec<Completion>) {
        self.now = now;
        if now > self.frozen_from && now < self.frozen_until {
            return;
        }
        let mut completions = std::mem::take(&mut self.scratch);
        model.advance(self.inside(now), &mut completions);
        let broken = self.broken(now);
        for completion in completions.drain(..) {
            let status = broken.map_or(completion.status, Status::Failed);
            out.push(Completion { at: self.outside(completion.at).min(now), status, ..completion });
        }
        self.scratch = completions;
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

impl<M: Model> Storage for Faulty<M> {
    type Command = M::Command;

    #[inline]
    fn prefetch(&self, command: &M::Command) {
        self.model.prefetch(command);
    }

    fn statistics(&self) -> DeviceStatistics {
        self.model.statistics()
    }

    fn capabilities(&self) -> &Capabilities {
        self.model.capabilities()
    }
}

impl<M: Model> Model for Faulty<M>
where
    M::Command: Operation,
{
    #[inline]
    fn submit(&mut self, now: Instant, tag: Tag, command: M::Command) -> Result<(), Rejected> {
        let now = match &mut self.layer {
            Some(layer) => layer.submitted(now, command.kind() == OperationKind::Discard),
            None => now,
        };
        self.model.submit(now, tag, command)
    }

    fn submit_discard(
        &mut self,
        now: Instant,
        tag: Tag,
        ranges: &[LbaRange],
    ) -> Result<(), Rejected> {
        let now = self.layer.as_mut().map_or(now, |layer| layer.submitted(now, true));
        self.model.submit_discard(now, tag, ranges)
    }

    fn discard_ranges(&self) -> usize {
        self.model.discard_ranges()
    }

    #[inline]
    fn next_event(&self) -> Instant {
        let next = self.model.next_event();
        self.layer.as_ref().map_or(next, |layer| layer.outside(next))
    }

    #[inline]
    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        match &mut self.layer {
            Some(layer) => layer.advance(&mut self.model, now, out),
            None => self.model.advance(now, out),
        }
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

    fn fill_from(&mut self, from: Bytes) -> Result<bool, DriveError> {
        self.check("fill")?;
        self.model.fill_from(from)
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
