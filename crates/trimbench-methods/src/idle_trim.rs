//! `idle-trim`: whole-device TRIM on an empty and on a full drive, nothing else running.
//!
//! Each repetition empties the drive, times a TRIM of all of it, fills it, and times the same TRIM
//! again; the difference over the capacity is what a GB costs. The procedure, its parameters and
//! what it cannot show are in `docs/methods/idle-trim.md`. Source: \[S1\].

mod analysis;
mod charts;
mod metrics;
mod options;
mod session;
mod steps;
#[cfg(test)]
mod tests;

pub use analysis::analyse;
pub use options::IdleTrim;
pub use session::{IdleTrimPlan, Round, Way};
pub use steps::{IdleRoundStep, TimedTrimStep};

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{Bytes, Capabilities, Nanos, Opened};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, Findings, Method, MethodDefinition, MethodError, MethodInfo, MethodSession, Misfit,
    Shape, TwinUse, read_method,
};

/// What a target is assumed to discard in estimates, bytes a second.
const ASSUMED_TRIM_RATE: f64 = 20e9;
/// Less than this is no drive.
const CAPACITY_MIN: Bytes = Bytes::mib(1);

impl MethodDefinition for IdleTrim {
    const INFO: MethodInfo = MethodInfo {
        id: "idle-trim",
        version: 3,
        summary: "TRIM of the whole device, empty and full: seconds per GB",
        options: Self::rows,
        resumes: true,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/idle-trim.md"),
        steps: steps::tables,
        live: steps::live,
        emulation_s_per_gb: 0.0035,
        twin: TwinUse::AnyCapacity,
        charts: charts::charts,
    };
}

impl Method for IdleTrim {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics()
    }

    fn space(&self) -> Bytes {
        CAPACITY_MIN
    }

    fn demand(&self, capacity: Bytes, rate: u64) -> Demand {
        let span = self.span.of(capacity);
        let rounds = self.rounds();
        let written = Bytes(span.0.saturating_mul(rounds));
        // Emptied, timed, filled and timed again.
        let trims = 3.0 * span.0 as f64 / ASSUMED_TRIM_RATE;
        let round = trims + span.0 as f64 / rate as f64;
        let time = Nanos::from_seconds(round).times(rounds);
        let time = time.saturating_add(self.rest.times(2 * rounds));
        Demand { written, time }
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        let capacity = Shape::of_discarding(capabilities)?.capacity;
        if capacity < CAPACITY_MIN {
            return Err(Misfit(format!("it needs {CAPACITY_MIN} and there are {capacity}")));
        }
        Ok(())
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        on.on_device(|device| session::run(self, device, session))
    }

    fn analyse(&self, steps: &mut Vec<Step>, rng: &Rng) -> Findings {
        analyse(steps, &mut rng.split("bootstrap"))
    }
}
