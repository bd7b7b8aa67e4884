//! `ab`: what a mount option does to a load on the user's own filesystem.
//!
//! One load runs again and again in one directory, while the filesystem is mounted with `nodiscard`
//! and with `discard` (or discards in another way) in turns. Visits of all arms make a block, in
//! random order; what is compared are the differences within blocks. The procedure and what it
//! cannot show are in `docs/methods/ab.md`.

mod analysis;
mod charts;
mod ground;
mod load;
mod metrics;
mod options;
mod program;
mod session;
mod steps;
#[cfg(test)]
mod tests;
mod watch;

pub use analysis::analyse;
pub use options::{Ab, AbArm};
pub use steps::{AbLoadStep, AbProgramStep, AbReportedStep, AbVisitStep};

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{Bytes, Capabilities, Clock, DrainRule, FilesystemSpec, Medium, Opened};
use trimbench_results::{Metric, Step};

use ground::Ground;
use trimbench_engine::{
    Demand, DiscardWaits, Findings, Method, MethodDefinition, MethodError, MethodInfo,
    MethodSession, Misfit, NEEDS_A_DIRECTORY, TwinUse, check_fit, read_method,
};

impl MethodDefinition for Ab {
    const INFO: MethodInfo = MethodInfo {
        id: "ab",
        version: 1,
        summary: "what `discard` does to a load on your own filesystem, remounted in turns",
        options: Self::rows,
        resumes: true,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/ab.md"),
        steps: steps::tables,
        live: steps::live,
        emulation_s_per_gb: 0.02,
        twin: TwinUse::Never,
        charts: charts::charts,
    };
}

impl Method for Ab {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(self)
    }

    fn trace(&self) -> Option<&str> {
        self.trace.as_deref()
    }

    fn space(&self) -> Bytes {
        self.needed()
    }

    fn demand(&self, _: Bytes, rate: u64) -> Demand {
        Demand { written: self.written(self.blocks), time: self.estimate(self.blocks, rate) }
    }

    fn discard_waits(&self, rule: &DrainRule, _: bool) -> DiscardWaits {
        self.waits(rule)
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        let Medium::Directory { available, .. } = capabilities.medium else {
            return Err(NEEDS_A_DIRECTORY.into());
        };
        let is_of_models = capabilities.clock == Clock::Virtual;
        let runs_program = self.command.is_some() || self.has(AbArm::Trimpace);
        if is_of_models && runs_program {
            return Err("a command, or `trimpace`, runs on a real filesystem only".into());
        }
        if self.needed() > available {
            return Err(Misfit(format!(
                "it needs {} and there are {available}; free some space (a reserve of the \
                 filesystem is never used), or use smaller `deletes`, `files` and `span`",
                self.needed()
            )));
        }
        if capabilities.discard_max == Bytes(0) {
            let reason = "the device takes no discards (its `queue/discard_max_bytes` is 0), so \
                          that both mount options do the same";
            return Err(reason.into());
        }
        Ok(())
    }

    fn leaves_paused_out(&self) -> bool {
        true
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        match on {
            Opened::Directory(files) => session::run(self, Ground::Directory(files), session),
            Opened::Filesystems(_) if self.command.is_some() => {
                let reason = "a command runs in a directory that is there: name one, with \
                              `--switch-mount`";
                Err(MethodError::Unfit { reason: reason.into() })
            }
            Opened::Filesystems(provisioner) => {
                provisioner.make(&FilesystemSpec::default())?;
                check_fit(self, provisioner.files().capabilities())?;
                session::run(self, Ground::Made(&mut *provisioner), session)?;
                provisioner.unmount()?;
                Ok(())
            }
            Opened::Device(_) | Opened::Drives(_) => unreachable!("it was to be a directory"),
        }
    }

    fn analyse(&self, steps: &mut Vec<Step>, rng: &Rng) -> Findings {
        let _ = rng;
        analyse(self, steps)
    }
}
