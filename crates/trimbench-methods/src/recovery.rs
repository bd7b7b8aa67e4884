//! `recovery`: does TRIM give a fragmented drive its speed back?
//!
//! Sequential passes over a fresh drive, over one fragmented by random writes, over the same again
//! (which heals a part), and over one that was fragmented and then trimmed. The procedure, its
//! parameters and what it cannot show are in `docs/methods/recovery.md`. Source: \[S2\].

mod analysis;
mod charts;
mod metrics;
mod options;
mod session;
#[cfg(test)]
mod tests;

pub use analysis::analyse;
pub use options::{Recovery, Torture};

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{BlockSize, Bytes, Capabilities, Nanos, Opened, Support};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, Findings, Method, MethodDefinition, MethodError, MethodInfo, MethodSession,
    read_method, settings,
};

/// The smallest device that it makes sense on.
const SPACE: Bytes = Bytes::mib(16);

impl MethodDefinition for Recovery {
    const INFO: MethodInfo = MethodInfo {
        id: "recovery",
        version: 2,
        summary: "sequential writes when fresh, fragmented, healed by a second pass, and trimmed",
        options: Self::rows,
        resumes: false,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/recovery.md"),
        charts: charts::charts,
    };
}

impl Method for Recovery {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(self)
    }

    fn space(&self) -> Bytes {
        SPACE
    }

    fn emulated_capacity(&self) -> Option<Bytes> {
        self.span.emulated_capacity()
    }

    /// What a run takes at the most; a torture that lasts by time writes `rate` bytes a second.
    fn demand(&self, capacity: Bytes, rate: u64) -> Demand {
        let span = self.span.on(capacity, BlockSize::SECTOR);
        let written = self.written(span, rate);
        let rests = self.rest.times(self.writes().0 + 3);
        let time = Nanos::from_seconds(written as f64 / rate as f64) + rests;
        Demand { written: Bytes(written), time }
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), String> {
        settings::fits(capabilities, SPACE, &[self.pass_size, self.access])?;
        if capabilities.discard == Support::None {
            let reason = "the device takes no TRIM, and what TRIM gives back is the question; \
                          `steady-state` with `--set trimmed-shares=0` works without";
            return Err(reason.to_owned());
        }
        Ok(())
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        on.on_device(|device| session::run(self, device, session))
    }

    fn analyse(&self, steps: &mut Vec<Step>, _: &Rng) -> Findings {
        analyse(steps)
    }
}
