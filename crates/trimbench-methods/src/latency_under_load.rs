//! `latency-under-load`: what each rate feels like, with and without TRIM.
//!
//! Reads and writes arrive at random, at one rate after the other, from a small share of what the
//! drive sustains to beyond it; their response times count from the intended start. With a stream
//! of TRIMs of mapped data beside them, at several rates. The procedure, its parameters and what it
//! cannot show are in `docs/methods/latency-under-load.md`. Source: \[SSDIQ\].

mod analysis;
mod charts;
mod metrics;
mod options;
mod session;
mod steps;
#[cfg(test)]
mod tests;
mod watch;

pub use analysis::analyse;
pub use options::{LatencyUnderLoad, OfferedRate};
pub use steps::{GrowthStep, OfferedRateStep, ResponseStep, ResponseTimesStep, SustainedStep};

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{BlockSize, Bytes, Capabilities, Medium, Nanos, Opened};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, Findings, Method, MethodDefinition, MethodError, MethodInfo, MethodSession, Misfit,
    Shape, TwinUse, read_method, settings,
};

/// The smallest device that it makes sense on.
const SPACE: Bytes = Bytes::mib(16);

impl MethodDefinition for LatencyUnderLoad {
    const INFO: MethodInfo = MethodInfo {
        id: "latency-under-load",
        version: 2,
        summary: "response times of reads and writes at each rate, with and without TRIM",
        options: Self::rows,
        resumes: true,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/latency-under-load.md"),
        steps: steps::tables,
        live: trimbench_engine::live_of_phase,
        emulation_s_per_gb: 0.04,
        twin: TwinUse::AnyCapacity,
        charts: charts::charts,
    };
}

impl Method for LatencyUnderLoad {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(self)
    }

    fn space(&self) -> Bytes {
        SPACE
    }

    fn emulated_capacity(&self) -> Option<Bytes> {
        self.span.emulated_capacity()
    }

    /// What a run takes at the most: all rounds, and every rate kept up with. A share is that of a
    /// drive whose accesses move `rate` bytes a second.
    fn demand(&self, capacity: Bytes, rate: u64) -> Demand {
        let span = self.span.on(capacity, BlockSize::SECTOR);
        let rounds = self.round(span).0.saturating_mul(self.rounds_max.into());
        let prepared = self.precondition.of(span.0).saturating_add(rounds);
        let sustained = rate as f64 / self.access.0 as f64;
        let (mut accessed, mut time) = (0.0, 0.0);
        for offered in &self.rates {
            let per_s = offered.per_second(sustained);
            let seconds = (self.warm_up_at(per_s) + self.length_at(per_s)).seconds();
            accessed += per_s * seconds * self.access.0 as f64;
            time += seconds;
        }
        // One confirmation a curve, at the highest rate that the drive sustains.
        if let Some(length) = self.confirmed_at(sustained) {
            let seconds = (self.warm_up_at(sustained) + length).seconds();
            accessed += sustained * seconds * self.access.0 as f64;
            time += seconds;
        }
        let curves = self.trim_rates.len() as f64;
        let accessed = trimbench_core::units::rounded(accessed * curves);
        let filled: u64 = self.trim_rates.iter().map(|rate| self.trims(*rate)).sum();
        let filled = (self.trim_chunk.0.saturating_mul(filled))
            .saturating_mul(self.rates.len() as u64 + u64::from(self.confirm_time.is_some()))
            .min(span.0.saturating_mul(self.rates.len() as u64));
        let writes = |bytes: u64| bytes - self.read_share.of(bytes);
        let written = self.precondition.of(span.0).saturating_add(writes(rounds));
        let written = written.saturating_add(writes(accessed)).saturating_add(filled);
        let before = prepared.saturating_add(filled) as f64 / rate as f64;
        Demand { written: Bytes(written), time: Nanos::from_seconds(before + time * curves) }
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        settings::fits(capabilities, SPACE, &[self.access])?;
        let most = self.trim_rates.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return Ok(());
        }
        let shape = Shape::of_discarding(capabilities).map_err(|reason| {
            Misfit(format!("{reason}; or measure it without TRIMs: `--set trim-rate=0`"))
        })?;
        let Medium::Device { capacity, logical_block } = capabilities.medium else {
            return Ok(());
        };
        let span = self.span.on(capacity, logical_block);
        let trimmed = self.trimmed_zone(&shape, most);
        if trimmed.0 > span.0 / 2 {
            return Err(Misfit(format!(
                "{most} TRIMs a second of {} discard {trimmed} at one rate, more than half of the \
                 {span} in use; give a smaller `trim-rate`, `trim-chunk` or `rate-time`, or a \
                 larger device",
                self.chunk_on(&shape)
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
