//! Rounds of random accesses until they are steady; `steady-state` measures them, and `recovery`
//! uses them as torture.
//!
//! A round lasts until both its time and its bytes are over; its throughput includes all its
//! commands, also the last ones. Source of the rounds and of their number: \[PTS\].

use trimbench_core::{Bytes, Data, Nanos, Ppm};
use trimbench_results::{Step, steps};

use crate::method::MethodError;
use crate::pattern::Pattern;
use crate::phase::{Phase, PhaseRunner};
use crate::runner::Single;
use crate::series::RateCurve;
use crate::steady::Criterion;
use crate::workload::{ClosedLoop, RandomAccess};
use crate::zones::{ActiveZones, ZoneWrites};

steps! {
    /// A round, beside what its [`Phase`] notes.
    #[derive(Clone, Copy, Debug)]
    pub struct RoundStep {
        /// time of all rounds before
        set began_s: f64;
        /// bytes that they accessed
        set began_gb: f64;
        /// commands a second
        measured iops: Option<f64>;
    }

    /// One of several rounds until they are steady.
    #[derive(Clone, Copy, Debug)]
    pub struct SteadyStep {
        /// its number, from 1 on
        set round: u32;
        /// the last rounds, once there are enough
        part window: Option<WindowStep> = "window_";
    }

    /// What the criterion of steadiness says of the last rounds.
    #[derive(Clone, Copy, Debug)]
    pub struct WindowStep {
        /// mean of their IOPS
        measured iops_mean: f64;
        /// the range of their IOPS over the mean
        measured excursion_ratio: f64;
        /// the rise of the line through them over the mean
        measured rise_ratio: f64;
        /// 1 if both are small enough
        measured steady: bool;
    }
}

/// What each round does.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The area: the first bytes of the device.
    pub span: Bytes,
    /// Bytes of an access.
    pub access: Bytes,
    /// Accesses outstanding.
    pub queue_depth: u32,
    /// The share of reads among them.
    pub read_share: Ppm,
    /// What is written.
    pub data: Data,
    /// Which places are accessed, and how often.
    pub pattern: Pattern,
}

/// How long a load lasts: until both are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadLength {
    /// It lasts at least this long.
    pub time: Nanos,
    /// At least so many bytes are accessed.
    pub bytes: Bytes,
}

/// How long a round is, and how many there are at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundLength {
    /// Each round.
    pub each: LoadLength,
    /// When to give up.
    pub rounds_max: u32,
}

/// A series of rounds, of which several may follow each other.
#[derive(Debug, Default)]
pub struct Rounds {
    /// Time and bytes of all rounds so far, the axes of their curves.
    elapsed: Nanos,
    accessed: u64,
    /// Where a pattern of zones goes on.
    zones: ActiveZones,
}

impl Load {
    /// One load without rounds.
    pub fn once(
        &self,
        phases: &mut PhaseRunner<'_, '_>,
        id: &str,
        length: LoadLength,
        curve: &mut RateCurve,
    ) -> Result<Phase, MethodError> {
        self.go_on(phases, id, length, (curve, &mut ActiveZones::default()))
    }

    /// The same, where zones go on as they were left.
    fn go_on(
        &self,
        phases: &mut PhaseRunner<'_, '_>,
        id: &str,
        length: LoadLength,
        (curve, zones): (&mut RateCurve, &mut ActiveZones),
    ) -> Result<Phase, MethodError> {
        let LoadLength { bytes, time } = length;
        let (shape, rng) = (phases.runner.shape, phases.rng(id));
        let area = shape.first(self.span, self.data);
        let (count, until) = (bytes.pieces(self.access), phases.runner.now() + time);
        if let Pattern::Zones(pattern) = self.pattern {
            let each = (self.access, self.queue_depth);
            let load = ZoneWrites::new((pattern, zones), (area, shape), each, (count, until), rng);
            return phases.run(id, &mut Single(load), curve);
        }
        let access = RandomAccess::new(area, self.access, self.read_share, rng);
        let access = access.by(self.pattern);
        let mut load = Single(ClosedLoop::lasting(access, self.queue_depth, count, until));
        phases.run(id, &mut load, curve)
    }
}

impl Rounds {
    /// Runs rounds until the criterion holds, or there are too many. Each is kept as the step that
    /// `new_step` makes of its number, from 1 on. Returns the rounds that it took.
    pub fn until_steady(
        &mut self,
        phases: &mut PhaseRunner<'_, '_>,
        load: &Load,
        length: RoundLength,
        new_step: impl Fn(u32) -> Step,
    ) -> Result<u32, MethodError> {
        let mut iops = Vec::new();
        for number in 1..=length.rounds_max {
            let mut step = new_step(number);
            iops.extend(self.round(phases, &mut step, load, length.each)?);
            let verdict = Criterion::PTS.judge_last(&iops);
            step.store(&SteadyStep {
                round: number,
                window: verdict.map(|verdict| WindowStep {
                    iops_mean: verdict.mean,
                    excursion_ratio: verdict.excursion,
                    rise_ratio: verdict.rise,
                    steady: verdict.steady,
                }),
            });
            phases.keep(step)?;
            if verdict.is_some_and(|verdict| verdict.steady) {
                return Ok(number);
            }
        }
        Ok(length.rounds_max)
    }

    /// Runs one round and notes it; its IOPS.
    pub fn round(
        &mut self,
        phases: &mut PhaseRunner<'_, '_>,
        step: &mut Step,
        load: &Load,
        length: LoadLength,
    ) -> Result<Option<f64>, MethodError> {
        let begun = phases.runner.now();
        let mut curve = RateCurve::new(length.bytes.pieces(load.access), begun);
        let phase = load.go_on(phases, &step.id, length, (&mut curve, &mut self.zones))?;
        phase.store(step);
        let (seconds, gigabytes) = (self.elapsed.seconds(), self.accessed as f64 / 1e9);
        step.store(&RoundStep { began_s: seconds, began_gb: gigabytes, iops: phase.rate() });
        curve.store(step, seconds, gigabytes, load.access);
        self.elapsed += phase.ended.since(phase.begun);
        self.accessed += (phase.read + phase.written).0;
        Ok(phase.rate())
    }
}
