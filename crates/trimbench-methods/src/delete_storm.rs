//! `delete-storm`: parallel writers, mass deletion, and its effect on the next job.
//!
//! Several writers fill most of a filesystem and delete everything. First alone, until the last
//! discard; then again, and a second round of writers starts at once, while the discards of the
//! first still run. The procedure, its parameters and what it cannot show are in
//! `docs/methods/delete-storm.md`. Source: \[S3\].

mod analysis;
mod charts;
mod discards;
mod meter;
mod metrics;
mod options;
mod scene;
mod session;
mod steps;
#[cfg(test)]
mod tests;

pub use analysis::analyse;
pub use options::DeleteStorm;
pub use scene::StormPhase;
pub use steps::{
    StormClassStep, StormCounterStep, StormDiscardsStep, StormLocatedStep, StormMeterStep,
    StormPhaseStep, StormStallStep,
};

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{Bytes, Capabilities, DrainRule, Medium, Nanos, Opened};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, DiscardWaits, Findings, Method, MethodDefinition, MethodError, MethodInfo,
    MethodSession, Misfit, NEEDS_A_DIRECTORY, TwinUse, check_fit, read_method,
};

impl MethodDefinition for DeleteStorm {
    const INFO: MethodInfo = MethodInfo {
        id: "delete-storm",
        version: 1,
        summary: "mass deletion, and the next job during its discards: its stalls, by layer",
        options: Self::rows,
        // What a round leaves decides how the next one fares.
        resumes: false,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/delete-storm.md"),
        steps: steps::tables,
        live: steps::live,
        emulation_s_per_gb: 0.022,
        twin: TwinUse::AnyCapacity,
        charts: charts::charts,
    };
}

impl Method for DeleteStorm {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics()
    }

    fn space(&self) -> Bytes {
        Bytes(self.file_size.0.saturating_mul(self.writers.into()))
    }

    fn demand(&self, _: Bytes, rate: u64) -> Demand {
        let round = self.space().0 as f64;
        let phases = StormPhase::all(self.rewrite);
        let (mut written, mut moved) = (0, 0.0);
        for phase in phases {
            let (reads, writes) = phase.moves();
            written += self.space().0 * u64::from(writes);
            moved += round * f64::from(u8::from(reads) + u8::from(writes));
        }
        Demand { written: Bytes(written), time: Nanos::from_seconds(moved / rate as f64) }
    }

    fn discard_waits(&self, rule: &DrainRule, _: bool) -> DiscardWaits {
        let phases = StormPhase::all(self.rewrite);
        let waits = phases.iter().filter(|phase| phase.waits_for_discards()).count();
        DiscardWaits::after(waits as u64, rule)
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        let Medium::Directory { available, .. } = capabilities.medium else {
            return Err(NEEDS_A_DIRECTORY.into());
        };
        let needed = self.space();
        if needed > available {
            return Err(Misfit(format!(
                "its files grow to {needed} and there are {available}; give a smaller `file-size`, \
                 or fewer `writers`"
            )));
        }
        Ok(())
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        on.in_directory(|found| check_fit(self, found), |files| session::run(self, files, session))
    }

    fn analyse(&self, steps: &mut Vec<Step>, _: &Rng) -> Findings {
        analyse(steps)
    }
}
