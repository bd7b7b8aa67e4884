//! `trim-sweep`: the cost of one TRIM.
//!
//! Latency and throughput of discards against size, queue depth, content and alignment, on an idle
//! device and under a light load; a line through them, and the chunk size that stays within a
//! stated latency. The procedure, its parameters and what it cannot show are in
//! `docs/methods/trim-sweep.md`. Source of the limits: \[HLK\].

mod analysis;
mod charts;
mod load_alone;
mod metrics;
mod options;
mod plan;
mod row;
mod session;
mod steps;
#[cfg(test)]
mod tests;

pub use analysis::analyse;
pub use options::TrimSweep;
pub use plan::{Row, SweepKind, TrimSweepPlan};
pub use steps::{LoadAloneStep, SweepLoadStep, TrimLatencyStep, TrimRowStep, TrimRowTimesStep};

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{Bytes, Capabilities, Nanos, Opened};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, Findings, Method, MethodDefinition, MethodError, MethodInfo, MethodSession, Misfit,
    Shape, TwinUse, read_method,
};

/// The only published limits \[HLK\]: every TRIM within 500 ms and, while TRIMs run, every read and
/// write within 500 ms and 98.5 % of them within 100 ms.
pub const HLK: &[&str] = &["trim-max=500ms", "loaded-max=500ms", "loaded-p98.5=100ms"];

/// What a target is assumed to take for a TRIM in estimates.
const ASSUMED_TRIM: Nanos = Nanos::from_millis(1);

impl MethodDefinition for TrimSweep {
    const INFO: MethodInfo = MethodInfo {
        id: "trim-sweep",
        version: 2,
        summary: "the cost of one TRIM: latency against size, queue depth and content",
        options: Self::rows,
        resumes: true,
        named_limits: &[("hlk", HLK)],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/trim-sweep.md"),
        steps: steps::tables,
        live: steps::live,
        emulation_s_per_gb: 0.005,
        twin: TwinUse::AnyCapacity,
        charts: charts::charts,
    };
}

impl Method for TrimSweep {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(self)
    }

    fn space(&self) -> Bytes {
        self.needed()
    }

    /// For a device of small granularity and without a limit on discards, which is the most.
    fn demand(&self, capacity: Bytes, rate: u64) -> Demand {
        let granularity = Bytes(4_096);
        let capacity = Bytes(capacity.0 / granularity.0 * granularity.0);
        let logical_block = trimbench_core::BlockSize::SECTOR;
        let origin = Bytes(0);
        let (size, discard_max) = (capacity, capacity);
        let shape = Shape { size, origin, capacity, logical_block, granularity, discard_max };
        if capacity < self.needed() {
            return Demand { written: Bytes(0), time: Nanos::ZERO };
        }
        let plan = TrimSweepPlan::new(self, shape, true, &trimbench_core::rng::Rng::new(0));
        let writing = plan.written(self).0 as f64 / rate as f64;
        let rows = plan.rows.iter().map(|row| {
            let trims = ASSUMED_TRIM.times(row.count).min(self.row_time_max);
            let loaded = self.asked_rate().filter(|_| row.kind.is_loaded());
            loaded.map_or(trims, |rate| self.loaded_length(rate).max(trims)) + self.rest
        });
        let alone = self.asked_rate().filter(|_| plan.has_load());
        let alone = alone.map_or(Nanos::ZERO, |rate| self.loaded_time_max(rate) + self.rest);
        let measuring = rows.fold(alone, Nanos::saturating_add);
        let written = Bytes(plan.written(self).0 + plan.written_by_load(self).0);
        Demand { written, time: measuring.saturating_add(Nanos::from_seconds(writing)) }
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        let (needed, capacity) = (self.needed(), Shape::of_discarding(capabilities)?.capacity);
        if capacity < needed {
            return Err(Misfit(format!(
                "it needs {needed} and there are {capacity}; give a larger one (`--capacity` if it \
                 is emulated), or use a smaller `load-span` and `reference`"
            )));
        }
        Ok(())
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        on.on_device(|device| session::run(self, device, session))
    }

    fn analyse(&self, steps: &mut Vec<Step>, _: &Rng) -> Findings {
        analyse(self, steps)
    }
}
