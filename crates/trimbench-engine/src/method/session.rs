//! A session: the context of a running method, and its saved steps.
//!
//! A method announces each step of its plan, measures it and saves it; steps saved by an earlier
//! run of the same plan are skipped. Steps are passed on in the order of the plan, whatever their
//! order in time was.

use std::collections::BTreeMap;

use trimbench_core::rng::Rng;
use trimbench_core::{Caveat, Instant, Interrupt, Nanos, OwnPauses};
use trimbench_results::Step;
use trimbench_trace::Traces;

use crate::method::MethodError;
use crate::method::{Findings, Method, MethodResult};
use crate::own_pauses;
use crate::slots::Slots;

/// What a running method is given beside its target.
#[expect(missing_debug_implementations, reason = "a monitor is the caller's, and has none")]
pub struct SessionContext<'a> {
    /// Everything random comes from here.
    pub rng: &'a Rng,
    /// The user's wish to stop.
    pub interrupt: &'a Interrupt,
    /// Is shown progress, and keeps steps.
    pub monitor: &'a mut dyn Monitor,
    /// Opens the traces that the user names.
    pub traces: &'a dyn Traces,
    /// Room for further emulated drives beside the one that the session has room for.
    pub slots: &'a Slots,
    /// Steps of an earlier run of the same plan. None for an emulated target, whose state depends
    /// on all that went before.
    pub done: Vec<Step>,
}

/// Where a method is, for a live display.
#[derive(Clone, Debug)]
pub struct Stage<'a> {
    /// Steps done.
    pub done: usize,
    /// Steps in total.
    pub total: usize,
    /// What is being done.
    pub text: &'a str,
    /// The target's time.
    pub now: Instant,
    /// The plan's estimate of what is left, on the target's clock.
    pub left: Nanos,
}

/// The outside of a running method: it is shown progress, keeps what was measured, and knows when
/// this process was paused.
pub trait Monitor {
    /// The method reached another stage.
    fn stage(&mut self, stage: &Stage<'_>);

    /// A step was measured: keep it. An error ends the run; what was kept before is kept.
    fn keep(&mut self, step: &Step) -> Result<(), KeepFailed>;

    /// Pauses of this process since the last call. In virtual time there are none.
    fn own_pauses(&mut self) -> OwnPauses {
        OwnPauses::default()
    }

    /// Adds to a step what the target's drives say of themselves at its end, before it is kept.
    fn mark(&mut self, step: &mut Step) {
        let _ = step;
    }
}

/// The record of a step could not be kept, or there is no sense in another one.
#[derive(Debug, thiserror::Error)]
#[error("the run cannot continue")]
pub struct KeepFailed(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// A running session of a method.
#[expect(missing_debug_implementations, reason = "a monitor is the caller's, and has none")]
pub struct MethodSession<'a> {
    /// Everything random comes from here.
    pub rng: &'a Rng,
    /// The user's wish to stop.
    pub interrupt: &'a Interrupt,
    /// Opens the traces that the user names.
    pub traces: &'a dyn Traces,
    /// Room for further emulated drives beside the one that the session has room for.
    pub slots: &'a Slots,
    monitor: &'a mut dyn Monitor,
    /// Kept by this run and by earlier ones.
    steps: Vec<Step>,
    /// Ids of the plan, and the place of each in its order.
    plan: BTreeMap<String, usize>,
    /// Steps of the plan that are kept.
    done: usize,
    /// What the whole plan is expected to take.
    estimate: Nanos,
    /// When this run announced its first step of the plan, and how many were kept by then.
    begun: Option<(Instant, usize)>,
    /// Whether pauses of this process spoil what is measured.
    measures_time: bool,
    caveats: Vec<Caveat>,
    trace_hash: u64,
}

impl<'a> MethodSession<'a> {
    /// A session that begins, or goes on after the steps of `context.done`.
    pub fn new(context: SessionContext<'a>) -> Self {
        let SessionContext { rng, interrupt, monitor, traces, slots, done } = context;
        Self {
            rng,
            interrupt,
            traces,
            slots,
            monitor,
            steps: done,
            plan: BTreeMap::new(),
            done: 0,
            estimate: Nanos::ZERO,
            begun: None,
            measures_time: true,
            caveats: Vec::new(),
            trace_hash: 0,
        }
    }

    /// A session of this method.
    pub(super) fn of(method: &dyn Method, context: SessionContext<'a>) -> Self {
        Self { measures_time: method.measures_time(), ..Self::new(context) }
    }

    /// The ids of all steps to come, in the order of the record, and what they will take. Steps of
    /// an earlier run that are not among them stay, behind the others.
    pub fn plan(&mut self, ids: impl IntoIterator<Item = String>, estimate: Nanos) {
        self.plan = ids.into_iter().zip(0..).collect();
        self.done = self.steps.iter().filter(|step| self.plan.contains_key(&step.id)).count();
        self.estimate = estimate;
    }

    /// Whether the step is kept.
    pub fn is_done(&self, id: &str) -> bool {
        self.step(id).is_some()
    }

    /// The step of this id, if it is kept.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// Everything that is kept.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Shows what is done next: a step of the plan, or what comes before the first. What is left is
    /// taken to be as slow as the steps that this run has measured, or as the plan expects.
    pub fn announce(&mut self, text: &str, now: Instant) {
        let (done, total) = (self.done, self.plan.len());
        if self.begun.is_none() && self.plan.contains_key(text) {
            self.begun = Some((now, done));
        }
        let open = (total - done) as u64;
        let left = match self.begun {
            Some((begun, already)) if done > already => {
                Nanos(now.since(begun).0 / (done - already) as u64).times(open)
            }
            _ => Nanos(self.estimate.0 / total.max(1) as u64).times(open),
        };
        self.show(&Stage { done, total, text, now, left });
    }

    /// Shows where the method is.
    pub fn show(&mut self, stage: &Stage<'_>) {
        self.monitor.stage(stage);
    }

    /// Keeps a step. It is marked if this process was paused since the step before was kept.
    pub fn keep(&mut self, mut step: Step) -> Result<(), MethodError> {
        let pauses = self.monitor.own_pauses();
        if self.measures_time {
            own_pauses::mark(&mut step, pauses);
        }
        self.monitor.mark(&mut step);
        self.monitor.keep(&step)?;
        self.done += usize::from(self.plan.contains_key(&step.id));
        self.steps.push(step);
        Ok(())
    }

    /// Notes a caveat on the whole session, behind those that the analysis finds; nothing for
    /// `None`.
    pub fn caveat(&mut self, caveat: impl Into<Option<Caveat>>) {
        self.caveats.extend(caveat.into());
    }

    /// Notes the hash over everything that happened on the target.
    pub fn hash(&mut self, trace_hash: u64) {
        self.trace_hash = trace_hash;
    }

    /// What the session came to: its steps in the order of the plan, and what they say. A step in
    /// which this process was paused invalidates all figures, because a method may compute any of
    /// them from it, unless it says that it leaves such steps out.
    pub fn found(self, method: &dyn Method) -> MethodResult {
        let Self { rng, mut steps, plan, trace_hash, .. } = self;
        steps.sort_by_key(|step| plan.get(&step.id).copied().unwrap_or(plan.len()));
        let Findings { figures, mut caveats } = method.analyse(&mut steps, rng);
        caveats.extend(self.caveats);
        caveats.extend(own_pauses::caveat(&steps).filter(|_| !method.leaves_paused_out()));
        MethodResult { steps, figures, caveats, trace_hash }
    }
}
