//! `delete-stall`: how long you notice a deletion, in seconds of stutter per GB.
//!
//! Files of several sizes are deleted while two probes run: a serial one, whose added latency is
//! the headline, and an open-loop load, whose response time counts from the intended start. Every
//! deletion is compared with a placebo, the deletion of an empty file after the same writes, in
//! random order. The procedure, its parameters and what it cannot show are in
//! `docs/methods/delete-stall.md`. Source: \[S1\].

mod analysis;
mod charts;
mod level;
mod metrics;
mod options;
mod rate;
mod session;
mod steps;
mod subject;
#[cfg(test)]
mod tests;
mod window;

pub use analysis::analyse;
pub use options::{DeleteStall, Mode};
pub use session::{DeleteStallPlan, Trial, run};
pub use steps::{StallCurvesStep, StallFoundStep, StallSlowStep, StallTrialStep, StallWindowStep};
pub use subject::{DeviceSubject, DirectorySubject, Groups, StallSubject};

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{Bytes, Capabilities, DrainRule, Medium, Opened, Support};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, DiscardWaits, Findings, Method, MethodDefinition, MethodError, MethodInfo,
    MethodSession, Misfit, TwinUse, check_fit, read_method,
};

impl MethodDefinition for DeleteStall {
    const INFO: MethodInfo = MethodInfo {
        id: "delete-stall",
        version: 4,
        summary: "how long you notice a deletion: seconds of stutter per GB deleted",
        options: Self::rows,
        resumes: true,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/delete-stall.md"),
        steps: steps::tables,
        live: steps::live,
        emulation_s_per_gb: 0.012,
        twin: TwinUse::SameCapacity,
        charts: charts::charts,
    };
}

impl Method for DeleteStall {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(self)
    }

    fn space(&self) -> Bytes {
        self.needed()
    }

    fn demand(&self, _: Bytes, rate: u64) -> Demand {
        Demand {
            written: self.written() + self.load_written() + self.searched(),
            time: self.estimate(rate).saturating_add(self.search_time(rate)),
        }
    }

    fn discard_waits(&self, rule: &DrainRule, _: bool) -> DiscardWaits {
        self.waits(rule)
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        let needed = self.needed();
        let (available, advice) = match capabilities.medium {
            Medium::Device { capacity, .. } => {
                (capacity, "give a larger one (`--capacity` if it is emulated)")
            }
            Medium::Directory { .. } if self.p999_limit.is_some() && self.mode == Mode::Trim => {
                let reason = "the search for the highest rate of deletion (`p999-limit`) wants \
                              discards that belong to a deletion, and `mode=trim` discards all \
                              free space each time: use another `mode`";
                return Err(reason.into());
            }
            Medium::Directory { available, .. } => {
                (available, "free some space (a reserve of the filesystem is never used)")
            }
        };
        if needed > available {
            return Err(Misfit(format!(
                "it needs {needed} and there are {available}; {advice}, or use smaller `sizes` \
                 and `span`"
            )));
        }
        if capabilities.discard == Support::None && self.mode != Mode::Trim {
            let reason = "deletions send no discards here: the filesystem is not mounted with \
                          `discard`, or the device takes none; mount it with `-o discard`, or use \
                          `--set mode=trim`";
            return Err(reason.into());
        }
        Ok(())
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        if matches!(on.capabilities().medium, Medium::Directory { .. }) {
            return on.in_directory(
                |found| check_fit(self, found),
                |files| {
                    let subject = DirectorySubject::new(self, files.capabilities().drain.force);
                    run(self, files, subject, session)
                },
            );
        }
        on.on_device_of_host(|device| {
            let Capabilities { medium, discard_max, .. } = *device.capabilities();
            let Medium::Device { logical_block, .. } = medium else {
                unreachable!("what takes block commands is a device");
            };
            let subject = DeviceSubject::new(self, logical_block, discard_max);
            run(self, device, subject, session)
        })
    }

    fn analyse(&self, steps: &mut Vec<Step>, rng: &Rng) -> Findings {
        let is_try = |step: &Step| rate::KINDS.contains(&step.kind.as_str());
        let first = steps.iter().position(is_try).unwrap_or(steps.len());
        let (trials, tries) = steps.split_at_mut(first);
        let mut findings = analyse(self, trials, &mut rng.split("bootstrap"));
        findings.figures.extend(rate::figures(tries, &mut rng.split("rate bootstrap")));
        findings
    }
}
