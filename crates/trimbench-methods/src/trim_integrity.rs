//! `trim-integrity`: does TRIM do what it promises, and nothing else?
//!
//! A region with guards around it is filled with blocks that contain their own address; parts of it
//! are trimmed; then everything is read, several times, and rewritten. Untrimmed blocks must hold
//! their data, trimmed blocks must read as the drive promises, and later writes to them must
//! persist. The procedure, its parameters and what it cannot show are in
//! `docs/methods/trim-integrity.md`. Source of the preset `published`: \[CROS\].

mod analysis;
mod cases;
mod charts;
mod layout;
mod metrics;
mod options;
mod session;
mod steps;
mod survey;
#[cfg(test)]
mod tests;

pub use analysis::analyse;
pub use options::{Cases, TrimIntegrity};
pub use steps::{TrimBlocksStep, TrimEdgesStep, TrimIntegrityStep, TrimUnflushedStep};

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{Bytes, Capabilities, Nanos, Opened};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, Findings, Method, MethodDefinition, MethodError, MethodInfo, MethodSession, Misfit,
    TwinUse, read_method,
};

impl TrimIntegrity {
    /// Region and guards, before they are rounded.
    fn span(&self) -> Bytes {
        Bytes(self.region.0 + 2 * self.guard.0)
    }

    /// How long so many cases take: each writes all and up to all again, and reads all three times
    /// beside the reads that are counted.
    fn estimate(&self, cases: u64, rate: u64) -> Nanos {
        let times = 5 + u64::from(self.reads);
        let bytes = self.span().0.saturating_mul(times).saturating_mul(cases);
        Nanos::from_seconds(bytes as f64 / rate as f64)
    }

    fn case_count(&self) -> u64 {
        cases::plan(self).len() as u64
    }
}

impl MethodDefinition for TrimIntegrity {
    const INFO: MethodInfo = MethodInfo {
        id: "trim-integrity",
        version: 1,
        summary: "does TRIM do what it promises, and nothing else: neighbours intact, promises \
                  kept",
        options: Self::rows,
        resumes: true,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/trim-integrity.md"),
        steps: steps::tables,
        live: steps::live,
        emulation_s_per_gb: 0.08,
        twin: TwinUse::Never,
        charts: charts::charts,
    };
}

impl Method for TrimIntegrity {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics()
    }

    fn built_in_limits(&self) -> Vec<String> {
        metrics::LIMITED.iter().map(|metric| format!("{}=0", metric.id)).collect()
    }

    fn space(&self) -> Bytes {
        self.span()
    }

    fn demand(&self, _: Bytes, rate: u64) -> Demand {
        let cases = self.case_count();
        let written = Bytes(self.span().0.saturating_mul(2 * cases));
        Demand { written, time: self.estimate(cases, rate) }
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        layout::Layout::new(self, capabilities, Bytes(0)).map(drop)
    }

    /// It compares what blocks hold; how long that takes is no figure.
    fn measures_time(&self) -> bool {
        false
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        on.on_device(|device| session::run(self, device, session))
    }

    fn analyse(&self, steps: &mut Vec<Step>, _: &Rng) -> Findings {
        Findings::new(analyse(steps), Vec::new())
    }
}
