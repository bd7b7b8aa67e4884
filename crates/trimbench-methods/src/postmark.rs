//! `postmark`: the cost of TRIM for a filesystem with many small files.
//!
//! `PostMark` creates files, reads, appends, creates and deletes at random, and deletes the rest.
//! Its generator decides the operations; here it is written from its specification, draw for draw.
//! The procedure, its parameters and what it cannot show are in `docs/methods/postmark.md`.
//! Sources: \[S0\], \[PM97\].

mod analysis;
mod charts;
mod formulas;
mod generator;
mod mersenne;
mod metrics;
mod options;
mod session;
mod steps;
#[cfg(test)]
mod tests;
mod variants;

pub use analysis::analyse;
pub use formulas::{ImportError, Imported, Times, phases, terse_1_51};
pub use generator::{Counts, Forecast, Generator, PostmarkOperation, PostmarkPhase, Settings};
pub use metrics::{DELETION_ALONE, METRICS, PostmarkMetric};
pub use options::{Postmark, RepetitionVariation};
pub use steps::{PostmarkMadeStep, PostmarkPhasesStep, PostmarkStep};
pub use variants::Variant;

use std::fmt::Write as _;

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{Bytes, Capabilities, DrainRule, Medium, Nanos, Opened};
use trimbench_results::{Metric, Step};

use generator::{NUMBER_MAX, SIZE_MAX};
use trimbench_engine::{
    Demand, DiscardWaits, Findings, Method, MethodDefinition, MethodError, MethodInfo,
    MethodSession, Misfit, NEEDS_A_DIRECTORY, TwinUse, check_fit, read_method,
};

/// What an operation is assumed to take beside its data, in estimates.
const ASSUMED_OPERATION: Nanos = Nanos::from_micros(30);

impl MethodDefinition for Postmark {
    const INFO: MethodInfo = MethodInfo {
        id: "postmark",
        version: 2,
        summary: "create, read, append to and delete many small files: 13 metrics of PostMark",
        options: Self::rows,
        resumes: true,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/postmark.md"),
        steps: steps::tables,
        live: steps::live,
        emulation_s_per_gb: 0.43,
        twin: TwinUse::AnyCapacity,
        charts: charts::charts,
    };
}

impl Method for Postmark {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics()
    }

    fn space(&self) -> Bytes {
        Bytes(self.forecast.room)
    }

    fn memory(&self) -> Option<Bytes> {
        self.memory
    }

    /// By more files and transactions, as far as there may be more; then by larger files.
    fn growing_to(&self, files: Bytes) -> Option<String> {
        let Settings { number, transactions, size_high, .. } = self.settings;
        let times = files.0.div_ceil(self.space().0.max(1)).max(1);
        let more_files = times.min((NUMBER_MAX / number.max(1)).into());
        let larger = times.div_ceil(more_files.max(1));
        // As the smallest files stay as they are, the mean grows a little less than the largest.
        let margin = if larger > 1 { 2 } else { 1 };
        let high = u64::from(size_high).saturating_mul(larger.saturating_mul(margin));
        let grown = |count: u32| u64::from(count).saturating_mul(more_files);
        let mut set =
            format!("--set number={} --set transactions={}", grown(number), grown(transactions));
        if larger > 1 {
            let _ = write!(set, " --set size-high={}B", high.min(SIZE_MAX.0));
        }
        Some(set)
    }

    fn demand(&self, _: Bytes, rate: u64) -> Demand {
        let counts = &self.forecast.counts;
        let repetitions = u64::from(self.repetitions);
        let operations =
            2 * u64::from(counts.created) + u64::from(counts.read) + u64::from(counts.appended);
        let moved = (counts.bytes_written + counts.bytes_read) as f64 / rate as f64;
        let moved = Nanos::from_seconds(moved);
        let once = ASSUMED_OPERATION.times(operations).saturating_add(moved);
        Demand {
            written: Bytes(counts.bytes_written.saturating_mul(repetitions)),
            time: once.times(repetitions),
        }
    }

    fn discard_waits(&self, rule: &DrainRule, made: bool) -> DiscardWaits {
        let discarding = self.variants.iter().filter(|variant| variant.discard).count();
        let once = if made { discarding as u64 } else { 1 };
        DiscardWaits::after(once * u64::from(self.repetitions), rule)
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        let Medium::Directory { available, .. } = capabilities.medium else {
            return Err(NEEDS_A_DIRECTORY.into());
        };
        let needed = self.space();
        if needed > available {
            return Err(Misfit(format!(
                "its files grow to {needed} and there are {available}; free some space (a reserve \
                 of the filesystem is never used), or use a smaller `number` or `size-high`"
            )));
        }
        Ok(())
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        match on {
            Opened::Filesystems(provisioner) => variants::run(self, provisioner, session),
            on => on.in_directory(
                |found| check_fit(self, found),
                |files| session::run(self, files, session),
            ),
        }
    }

    fn analyse(&self, steps: &mut Vec<Step>, rng: &Rng) -> Findings {
        analyse(steps, &mut rng.split("bootstrap"))
    }

    fn demand_on_filesystems(&self, capacity: Bytes, rate: u64) -> Demand {
        let Demand { written, time } = self.demand(capacity, rate);
        // Repetitions may have seeds of their own, and so files of other sizes.
        let varied = (0..self.repetitions).map(|repetition| {
            let seed = self.settings.seed.wrapping_add(repetition);
            self.with_seed(seed).forecast.counts.bytes_written
        });
        let varied = varied.fold(0, u64::saturating_add);
        let written =
            if self.vary == RepetitionVariation::No { written } else { written.max(Bytes(varied)) };
        let variants = self.variants.len() as u64;
        Demand { written: Bytes(written.0.saturating_mul(variants)), time: time.times(variants) }
    }
}

impl Postmark {
    /// What 1.51 would have printed of a repetition with `set report terse`; `None` if the step is
    /// none.
    pub fn terse_1_51(&self, step: &Step) -> Option<String> {
        let PostmarkStep { phases, made, .. } = step.read().ok()?;
        let times = Times {
            creation: Nanos::from_seconds(phases.creation_s),
            transactions: Nanos::from_seconds(phases.transactions_s),
            deletion: Nanos::from_seconds(phases.deletion_s),
        };
        let varied = match made {
            // A record that was changed may say any number.
            Some(made) => Some(self.with_seed(u32::try_from(made.seed).ok()?)),
            None => None,
        };
        let counts = &varied.as_ref().unwrap_or(self).forecast.counts;
        Some(terse_1_51(counts, self.settings.transactions, &times))
    }
}
