//! `recovery`: does TRIM give a fragmented drive its speed back?
//!
//! Sequential passes over a fresh drive, over one fragmented by random writes, over the same again
//! (which heals a part), and over one that was fragmented and then trimmed. On files the free space
//! of a filesystem takes the drive's place. The procedure, its parameters and what it cannot show
//! are in `docs/methods/recovery.md`. Source: \[S2\].

mod analysis;
mod charts;
mod files;
mod metrics;
mod options;
mod session;
mod steps;
#[cfg(test)]
mod tests;

pub use analysis::analyse;
pub use options::{Recovery, Torture};

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{BlockSize, Bytes, Capabilities, Data, Medium, Nanos, Opened, Ppm, Support};
use trimbench_results::{Metric, Step};

use trimbench_engine::{
    Demand, Findings, Method, MethodDefinition, MethodError, MethodInfo, MethodSession, Misfit,
    NEEDS_A_DIRECTORY, TwinUse, read_method, settings,
};

/// The smallest device that it makes sense on.
const SPACE: Bytes = Bytes::mib(16);

/// What it says of a directory without that option.
const NEEDS_FREE_SPACE: &str = "it writes to a whole device, unless `--set free-space=90%` has it \
    write over the free space of a filesystem; name an emulated drive (`sim:NAME`), a block \
    device or an image file, or set that";

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
        steps: steps::tables,
        live: trimbench_engine::live_of_phase,
        emulation_s_per_gb: 0.0103,
        twin: TwinUse::AnyCapacity,
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
        if self.free_space.is_some() { None } else { self.span.emulated_capacity() }
    }

    /// What a run takes at the most; a torture that lasts by time writes `rate` bytes a second.
    fn demand(&self, capacity: Bytes, rate: u64) -> Demand {
        let span = match self.free_space {
            Some(share) => files::span(self, share, capacity),
            None => self.span.on(capacity, BlockSize::SECTOR),
        };
        let written = self.written(span, rate);
        let (passes, tortures) = self.passes_and_tortures();
        // After each purge, one for each torture, each pass, and the TRIM.
        let rests = self.rest.times(passes + tortures + 1);
        let rests = rests.saturating_add(self.torture_rest().times(tortures));
        let time = Nanos::from_seconds(written as f64 / rate as f64).saturating_add(rests);
        Demand { written: Bytes(written), time }
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        if let Some(share) = self.free_space {
            return self.fits_files(share, capabilities);
        }
        if let Medium::Directory { .. } = capabilities.medium {
            return Err(NEEDS_FREE_SPACE.into());
        }
        settings::fits(capabilities, SPACE, &[self.pass_size, self.access])?;
        if capabilities.discard == Support::None {
            let reason = "the device takes no TRIM, and what TRIM gives back is the question; \
                          `steady-state` with `--set trimmed-shares=0` works without";
            return Err(reason.into());
        }
        Ok(())
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        if self.free_space.is_some() {
            return files::run(self, on, session);
        }
        on.on_device(|device| session::run(self, device, session))
    }

    fn analyse(&self, steps: &mut Vec<Step>, _: &Rng) -> Findings {
        analyse(steps)
    }
}

impl Recovery {
    /// Whether it can write over this share of the free space.
    fn fits_files(&self, share: Ppm, capabilities: &Capabilities) -> Result<(), Misfit> {
        let Medium::Directory { available, .. } = capabilities.medium else {
            return Err(Misfit(format!("`free-space` is of a filesystem; {NEEDS_A_DIRECTORY}")));
        };
        if self.torture == Torture::Steady {
            return Err("on files `torture` is a share or a time, as `--set torture=100%`".into());
        }
        if self.data != Data::Random || self.compare_data.is_some() {
            return Err("files are written with random data only: leave out `data` and \
                        `compare-data`"
                .into());
        }
        let least = SPACE.max(self.pass_size).max(self.access);
        if files::span(self, share, available) < least {
            return Err(Misfit(format!(
                "{share} of the {available} that may be written is less than {least}; free some \
                 space (a reserve of the filesystem is never used), or give a larger share"
            )));
        }
        Ok(())
    }
}
