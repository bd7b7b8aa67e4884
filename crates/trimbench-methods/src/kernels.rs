//! `kernels`: the same deletions on the same drive under each filesystem and era.
//!
//! For each system that discards what a filesystem frees: how a mass deletion delays reads and
//! fsyncs, how long it takes until all is discarded, what an unmount loses, and how much the drive
//! writes in the long run. The procedure, its parameters and what it cannot show are in
//! `docs/methods/kernels.md`. Source: the issuers of `docs/model/issuers.md`.

mod analysis;
mod charts;
mod deletion;
mod foreground;
mod metrics;
mod options;
mod session;
mod steps;
mod systems;
#[cfg(test)]
mod tests;
mod wear;

pub use analysis::analyse;
pub use options::Kernels;
pub use systems::ComparedSystem;

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{Bytes, Capabilities, Clock, Medium, Nanos, Opened, Support};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, Findings, Method, MethodDefinition, MethodError, MethodInfo, MethodSession, Misfit,
    TwinUse, read_method,
};

/// What it says of every target but one.
const NEEDS_A_MODEL: &str = "it makes one filesystem after the other as different kernels have \
    them, which models alone can: name `ext4:sim:NAME`";

impl MethodDefinition for Kernels {
    const INFO: MethodInfo = MethodInfo {
        id: "kernels",
        version: 3,
        summary: "the same deletions under each filesystem and era: waits, losses and wear",
        options: Self::rows,
        resumes: true,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/kernels.md"),
        steps: steps::tables,
        live: steps::live,
        emulation_s_per_gb: 0.018,
        twin: TwinUse::Never,
        charts: charts::charts,
    };
}

impl Method for Kernels {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(self)
    }

    fn space(&self) -> Bytes {
        self.needed()
    }

    fn emulated_capacity(&self) -> Option<Bytes> {
        Some(self.drive)
    }

    fn demand(&self, capacity: Bytes, _: u64) -> Demand {
        let systems = self.systems.len() as u64;
        let worn =
            self.systems.iter().filter(|system| system.allocates_as_modelled()).count() as u64;
        let churned = capacity.0.saturating_mul(self.drive_writes.into()).saturating_mul(worn);
        let fills = self.fill.of(capacity.0).saturating_mul(systems + worn);
        let churning = Nanos::from_seconds(churned as f64 / self.churn.0 as f64);
        let each = self.window.times(2).saturating_add(self.rest.times(2));
        Demand {
            written: Bytes(churned.saturating_add(fills)),
            time: churning.saturating_add(each.times(systems)),
        }
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        let (Medium::Directory { available, .. }, Clock::Virtual) =
            (capabilities.medium, capabilities.clock)
        else {
            return Err(NEEDS_A_MODEL.into());
        };
        if capabilities.discard == Support::None {
            return Err("the drive takes no discards: all systems are one".into());
        }
        let needed = self.needed();
        if needed > available {
            return Err(Misfit(format!(
                "it needs {needed} and there are {available}; give a larger drive \
                 (`capacity=`), or use a smaller `foreground-span` and smaller `file-sizes`"
            )));
        }
        Ok(())
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        let Opened::Filesystems(provisioner) = on else {
            unreachable!("it fits modelled filesystems only");
        };
        session::run(self, provisioner, session)
    }

    fn analyse(&self, steps: &mut Vec<Step>, _: &Rng) -> Findings {
        analyse(self, steps)
    }
}
