//! `policy`: compares the cost and benefit of trim policies.
//!
//! Files are deleted and created at a steady rate under a load, with the same operations for each
//! policy, for as long under each; the write amplification is to be stable by then. The load's
//! latency and the untrimmed space come
//! from the same cycles. The procedure, its parameters and what it cannot show are in
//! `docs/methods/policy.md`. Source: the proposals of \[S3\].

mod analysis;
mod charts;
mod metrics;
mod options;
mod session;
mod steps;
#[cfg(test)]
mod tests;

pub use analysis::analyse;
pub use options::PolicyLab;

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{Bytes, Capabilities, Clock, Medium, Nanos, Opened, Support};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, Findings, Method, MethodDefinition, MethodError, MethodInfo, MethodSession, Misfit,
    TwinUse, read_method,
};

/// What it says of every target but one.
const NEEDS_A_MODEL: &str = "trim policies work on a modelled filesystem, and what they cost is \
    read from the drive below: name `ext4:sim:NAME`";

impl MethodDefinition for PolicyLab {
    const INFO: MethodInfo = MethodInfo {
        id: "policy",
        version: 5,
        summary: "trim policies, real and proposed: latency of a load against write amplification",
        options: Self::rows,
        resumes: true,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/policy.md"),
        steps: steps::tables,
        live: steps::live,
        emulation_s_per_gb: 0.0087,
        twin: TwinUse::AnyCapacity,
        charts: charts::charts,
    };
}

impl Method for PolicyLab {
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
        let policies = self.policies.len() as u64;
        let churned = self.cycle.of(capacity.0).saturating_mul(self.cycles_max.into());
        let each = self.age.of(capacity.0).saturating_add(churned);
        let time = Nanos::from_seconds(churned as f64 / self.churn.0 as f64);
        Demand { written: Bytes(each.saturating_mul(policies)), time: time.times(policies) }
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        let (Medium::Directory { available, .. }, Clock::Virtual) =
            (capabilities.medium, capabilities.clock)
        else {
            return Err(NEEDS_A_MODEL.into());
        };
        if capabilities.discard == Support::None {
            return Err("the drive takes no discards: all policies are one".into());
        }
        let needed = self.needed();
        if needed > available {
            return Err(Misfit(format!(
                "it needs {needed} and there are {available}; give a larger drive \
                 (`capacity=`), or use a smaller `foreground-span` and smaller \
                 `file-sizes`"
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
