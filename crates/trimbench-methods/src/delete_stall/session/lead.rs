//! The load and the probe before a deletion, again and again until their pace is that of a drive at
//! rest.

use trimbench_core::{Bytes, DeviceStatistics, Instant, Nanos, Ppm, Workload};

use super::super::level::Level;
use super::super::options::DeleteStall;
use super::super::subject::StallSubject;
use super::super::window::Window;
use super::{Deletions, SAMPLE_EVERY, Trial};
use trimbench_engine::{
    Area, ClosedLoop, MethodError, OpenLoop, RandomAccess, Script, SerialProbe, Several, Spacing,
};

/// What runs beside a deletion.
pub(super) struct Beside<A> {
    probe: SerialProbe<A>,
    load: Load<A>,
}

enum Load<A> {
    Open(OpenLoop<A>),
    Closed(ClosedLoop<A>),
}

impl<A: Area> Beside<A> {
    /// All streams, with what is deleted before the others.
    pub(super) fn streams<'a>(
        &'a mut self,
        deletion: &'a mut dyn Workload<Command = A::Command>,
    ) -> Several<'a, A::Command> {
        let load: &mut dyn Workload<Command = A::Command> = match &mut self.load {
            Load::Open(load) => load,
            Load::Closed(load) => load,
        };
        Several(vec![deletion, &mut self.probe, load])
    }

    fn end(&mut self) {
        self.probe.end();
        match &mut self.load {
            Load::Open(load) => load.end(),
            Load::Closed(load) => load.end(),
        }
    }
}

/// A trial whose deletion is due.
pub(super) struct Start<A> {
    pub(super) window: Window,
    pub(super) beside: Beside<A>,
    /// The counters when load and probe began.
    pub(super) before: DeviceStatistics,
    pub(super) deleted_at: Instant,
    /// How much longer than `rest` it waited.
    pub(super) waited: Nanos,
    /// Whether the lead was flat, at the pace of the drive at rest.
    pub(super) is_at_rest: bool,
}

/// How long a trial waited, and how long it waits next: twice as long each time.
struct Patience {
    left: Nanos,
    next: Nanos,
}

impl Patience {
    fn of(method: &DeleteStall) -> Self {
        Self { left: method.patience, next: method.rest.max(method.lead).max(SAMPLE_EVERY) }
    }

    /// The next wait; `None` once patience is over.
    fn take(&mut self, lead: Nanos) -> Option<Nanos> {
        let wait = self.next;
        self.left = Nanos(self.left.0.checked_sub((wait + lead).0)?);
        self.next = wait.times(2);
        Some(wait)
    }
}

impl<S: StallSubject> Deletions<'_, S> {
    /// Finds the pace of the drive at rest, which is that after a long one without any writes, and
    /// how long it takes to come to rest after the largest and the smallest file were written;
    /// `trials` follow.
    pub(super) fn find_rest(&mut self, trials: usize) -> Result<(), MethodError> {
        if self.method.patience == Nanos::ZERO {
            return Ok(());
        }
        let mut ordinal = u32::try_from(trials).expect("plans are short");
        let mut placebo = |deletions: &mut Self, label| {
            let id = format!("rest-{}-{label}", deletions.rest);
            let trial = Trial { id, kind: "placebo", size: Bytes(0), label };
            ordinal += 1;
            deletions.trial(&trial, ordinal)
        };
        self.rest = self.method.patience;
        let at_rest = placebo(self, Bytes(0))?;
        self.rest = self.method.rest;
        self.at_rest = at_rest.lead;
        let Some(at_rest) = at_rest.window else { return Ok(()) };
        let sizes = &self.method.sizes;
        let extremes = [sizes.last(), sizes.first()].map(|size| size.copied().unwrap_or(Bytes(0)));
        let mut patience = Patience::of(self.method);
        loop {
            let mut is_at_rest = true;
            for written in extremes {
                let level = placebo(self, written)?.window;
                is_at_rest &= level.is_some_and(|it| it.is_flat() && it.is_that_of(&at_rest));
            }
            if is_at_rest {
                return Ok(());
            }
            let Some(longer) = patience.take(self.method.lead) else { return Ok(()) };
            self.rest = longer.max(self.rest.times(2));
        }
    }

    /// Whether a pace is flat and, where that is known, the one at rest. Too few probes to have a
    /// pace are slow ones where there were enough at rest.
    fn is_at_rest(&self, level: Option<&Level>) -> bool {
        match (level, &self.at_rest) {
            (Some(level), Some(rest)) => level.is_flat() && level.may_be_that_of(rest),
            (Some(level), None) => level.is_flat(),
            (None, rest) => rest.is_none(),
        }
    }

    /// Leads until the pace is flat and that of the drive at rest; the last of them goes on.
    pub(super) fn flat_lead(&mut self, trial: &Trial) -> Result<Start<S::Area>, MethodError> {
        let mut patience = Patience::of(self.method);
        let mut waited = Nanos::ZERO;
        loop {
            let mut start = self.lead((&trial.id, waited))?;
            let level = start.window.level();
            start.waited = waited;
            start.is_at_rest = self.is_at_rest(level.as_ref());
            if start.is_at_rest {
                return Ok(start);
            }
            let Some(wait) = patience.take(self.method.lead) else {
                // A drive that changed for good is compared with itself as it is now.
                if let Some(level) = level.filter(Level::is_flat) {
                    self.at_rest = Some(level);
                }
                return Ok(start);
            };
            self.abandon(&mut start)?;
            self.idle(wait)?;
            waited += self.method.lead + wait;
        }
    }

    /// Load and probe alone, until a deletion is due.
    fn lead(&mut self, (label, waited): (&str, Nanos)) -> Result<Start<S::Area>, MethodError> {
        let method = self.method;
        let before = self.target.statistics();
        let begin = self.target.now();
        let deleted_at = begin + method.lead;
        let end = deleted_at + self.window;
        let mut window = Window::new(begin, deleted_at, end, method.overdue_after);
        let mut rng = self.rng.split(label);
        if waited > Nanos::ZERO {
            rng = rng.split(&format!("after {}", waited.0));
        }
        let access = |label: &str, share: Ppm| {
            RandomAccess::new(self.subject.load_area(), method.access, share, rng.split(label))
        };
        // Half a step beside the load's grid: with constant intervals the two do not meet as long
        // as nothing stalls.
        let probed = begin + Nanos(method.probe_interval.0 / 2);
        let probe = SerialProbe::new(access("probe", Ppm::ONE), method.probe_interval, probed..end);
        let probe = match method.probe_spacing {
            Spacing::Random => probe.at_random(),
            Spacing::Constant => probe,
        };
        let load = if method.readers > 0 {
            let access = access("load", Ppm::ONE);
            Load::Closed(ClosedLoop::lasting(access, method.readers, 0, end))
        } else {
            let access = access("load", method.read_share);
            Load::Open(OpenLoop::new(access, method.arrivals, method.gap, begin..end))
        };
        let mut beside = Beside { probe, load };
        let mut nothing = Script::new(Instant::START, []);
        let mut streams = beside.streams(&mut nothing);
        self.runner.run_until(self.target, &mut streams, &mut window, deleted_at)?;
        let waited = Nanos::ZERO;
        Ok(Start { window, beside, before, deleted_at, waited, is_at_rest: true })
    }

    /// Ends load and probe of a lead that nothing follows.
    fn abandon(&mut self, start: &mut Start<S::Area>) -> Result<(), MethodError> {
        start.beside.end();
        let mut nothing = Script::new(Instant::START, []);
        let mut streams = start.beside.streams(&mut nothing);
        Ok(self.runner.finish(self.target, &mut streams, &mut start.window)?)
    }
}
