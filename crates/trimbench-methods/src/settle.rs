//! `settle`: how long a drive takes to return to its pace after a TRIM.
//!
//! Some drives acknowledge a TRIM at once and do its work later, slowing everything meanwhile. The
//! points cover a plane: the trimmed range against the amount written before. After the TRIM a load
//! runs, slice by slice, and is compared with the same load on a drive that rested first. The
//! procedure, its parameters and what it cannot show are in `docs/methods/settle.md`. Source:
//! \[S0\], its note on vendor6.

mod analysis;
mod charts;
mod metrics;
mod options;
mod session;
mod steps;
#[cfg(test)]
mod tests;

pub use analysis::analyse;
pub use options::{Reference, Settle};
pub use session::{Point, SettlePlan};
pub use steps::{SettleIdleStep, SettlePaceStep, SettlePointStep};

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{BlockSize, Bytes, Capabilities, Nanos, Opened};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, Findings, Method, MethodDefinition, MethodError, MethodInfo, MethodSession, Misfit,
    Shape, TwinUse, read_method, settings,
};

/// The smallest device that it makes sense on.
const SPACE: Bytes = Bytes::mib(16);

impl MethodDefinition for Settle {
    const INFO: MethodInfo = MethodInfo {
        id: "settle",
        version: 3,
        summary: "how long a drive is slower after a TRIM, by range and amount written before",
        options: Self::rows,
        resumes: true,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/settle.md"),
        steps: steps::tables,
        live: steps::live,
        emulation_s_per_gb: 0.0075,
        twin: TwinUse::AnyCapacity,
        charts: charts::charts,
    };
}

impl Method for Settle {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(self)
    }

    fn space(&self) -> Bytes {
        SPACE
    }

    fn demand(&self, capacity: Bytes, rate: u64) -> Demand {
        let span = self.span.on(capacity, BlockSize::SECTOR);
        let loads = self.loads_per_point();
        let points = (self.ranges.len() * self.written.len()) as u64;
        let before: u64 = self.written.iter().map(|share| share.of(span.0)).sum();
        let halvings = u64::from(self.idle_halvings);
        let most = self.written.iter().map(|share| share.of(span.0)).max().unwrap_or(0);
        let before = before.saturating_mul(self.ranges.len() as u64 * loads);
        let before = before.saturating_add(most.saturating_mul(halvings));
        let windows = self.window.times(points * loads + halvings);
        let assumed = trimbench_core::units::rounded(windows.seconds() * rate as f64);
        // Emptied, and before the TRIM; a twin rests after it too.
        let each = if self.reference == Reference::Twin { 3 } else { 2 };
        let rests = self.rest.times(points * loads * each + 2 * halvings);
        let filling = Nanos::from_seconds(before as f64 / rate as f64);
        let time = windows.saturating_add(rests).saturating_add(filling);
        Demand { written: Bytes(before.saturating_add(assumed)), time }
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        Shape::of_discarding(capabilities)?;
        settings::fits(capabilities, SPACE, &[self.access])
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        on.on_device(|device| session::run(self, device, session))
    }

    fn analyse(&self, steps: &mut Vec<Step>, _: &Rng) -> Findings {
        analyse(self, steps)
    }
}
