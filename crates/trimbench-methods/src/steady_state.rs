//! `steady-state`: sustained performance, and how much TRIM improves it.
//!
//! Purge, precondition, then rounds of random writes until they are steady by the criterion of
//! \[PTS\]. Then a share of the drive is trimmed and left alone, and the rounds continue until they
//! are steady again: trimmed space serves as over-provisioning \[FRAN12\]. The procedure, its
//! parameters and what it cannot show are in `docs/methods/steady-state.md`. Source: \[S2\], its
//! readers' comments.

mod analysis;
mod charts;
mod metrics;
mod options;
mod session;
mod steps;
#[cfg(test)]
mod tests;

pub use analysis::analyse;
pub use options::SteadyState;

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{BlockSize, Bytes, Capabilities, Nanos, Opened, Support};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, Findings, Method, MethodDefinition, MethodError, MethodInfo, MethodSession, Misfit,
    Pattern, Shape, TwinUse, read_method, settings,
};

/// The smallest device that it makes sense on.
const SPACE: Bytes = Bytes::mib(16);

impl MethodDefinition for SteadyState {
    const INFO: MethodInfo = MethodInfo {
        id: "steady-state",
        version: 2,
        summary: "sustained random writes, and how much trimmed space improves them",
        options: Self::rows,
        resumes: false,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/steady-state.md"),
        steps: steps::tables,
        live: trimbench_engine::live_of_phase,
        emulation_s_per_gb: 0.009,
        twin: TwinUse::AnyCapacity,
        charts: charts::charts,
    };
}

impl Method for SteadyState {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(self)
    }

    fn space(&self) -> Bytes {
        SPACE
    }

    fn emulated_capacity(&self) -> Option<Bytes> {
        self.span.emulated_capacity()
    }

    /// What a run takes at the most; a round that lasts by its time accesses `rate` bytes a second.
    fn demand(&self, capacity: Bytes, rate: u64) -> Demand {
        let span = self.span.on(capacity, BlockSize::SECTOR);
        let first = self.precondition.of(span.0);
        let settling = u64::from(self.settle_rounds) * self.trimmed_shares.len() as u64;
        let settling = self.drive_write(span).map_or(0, |it| it.bytes.0.saturating_mul(settling));
        let rounds = self.round_assumed(span, rate).saturating_mul(self.rounds_total());
        let rounds = rounds.saturating_add(settling);
        let written = rounds - self.read_share.of(rounds);
        let rest = self.rest.times(self.trimmed_shares.len() as u64);
        let seconds = first.saturating_add(rounds) as f64 / rate as f64;
        Demand {
            written: Bytes(first.saturating_add(written)),
            time: Nanos::from_seconds(seconds).saturating_add(rest),
        }
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        settings::fits(capabilities, SPACE, &[self.access])?;
        if capabilities.discard == Support::None && self.trimmed_shares.len() > 1 {
            let reason = "the device takes no TRIM; measure it without trimmed shares: \
                          `--set trimmed-shares=0`";
            return Err(reason.into());
        }
        if let Pattern::Zones(zones) = self.pattern {
            if zones.trimmed && capabilities.discard == Support::None {
                let reason = "the device takes no TRIM; leave out `-trimmed` of the pattern";
                return Err(reason.into());
            }
            let shape = Shape::of(capabilities, Bytes(0)).expect("it is a device");
            let span = self.span.on(shape.size, shape.logical_block);
            let most = self.trimmed_shares.last().copied().unwrap_or_default();
            zones.fit(session::kept_of(span, most, &shape), self.access)?;
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
