//! Step `s0`: the published tables of \[S0\], and those of the emulated drives vendor1 to vendor6,
//! through the modelled filesystem.
//!
//! Three values a drive are fitted to the buffered columns of the published tables; claim `fit.2`
//! looks for them anew with `trimbench fit`. What the model then says of all 24 columns is a
//! prediction, but for these 18 figures. The test machine is one set of values for all drives:
//! [`FsConfig::s0`].
//!
//! [`FsConfig::s0`]: trimbench_fs::FsConfig::s0

mod deletion;
pub mod published;
mod run;
mod table;

use anyhow::{Context as _, Result, ensure};
use trimbench_ssd::{Profile, SsdConfig};

pub use deletion::{DeletionRun, deletion_run};
use published::{Durations, PublishedColumn, VENDORS};
pub use run::{ColumnRun, runs};
pub use table::tables;

#[cfg(test)]
mod tests;

/// One of the durations, in seconds.
pub type PhaseDuration = fn(&Durations) -> f64;

/// The durations that \[S0\] gives, by name.
pub const PHASES: [(&str, PhaseDuration); 4] = [
    ("total", Durations::total),
    ("creation", |durations| durations.creation),
    ("transactions", |durations| durations.transactions),
    ("deletion", |durations| durations.deletion),
];

/// The mean of a column's repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean {
    /// How long the phases took.
    pub durations: Durations,
    /// The 13 metrics.
    pub metrics: Vec<f64>,
}

/// Prints the tables of the drives, each column of so many repetitions.
pub fn run(repetitions: u32) -> Result<()> {
    print!("{}", tables(&built_in_runs(repetitions)?)?);
    Ok(())
}

/// The runs of the tables of the built-in profiles.
pub fn built_in_runs(repetitions: u32) -> Result<Vec<ColumnRun>> {
    let drives: Vec<_> = VENDORS.iter().map(|vendor| built_in(vendor)).collect::<Result<_>>()?;
    runs(&drives, repetitions)
}

fn built_in(vendor: &str) -> Result<(String, SsdConfig)> {
    let profile = Profile::built_in(vendor).with_context(|| format!("no profile `{vendor}`"))?;
    Ok((vendor.to_owned(), profile.config))
}

/// The means of a drive's columns, in the order of [`PublishedColumn::ALL`].
pub fn means(runs: &[ColumnRun], vendor: &str) -> Result<Vec<Mean>> {
    let mean = |column: &PublishedColumn| {
        let its = runs.iter().filter(|run| run.vendor == vendor && run.column == *column);
        let its: Vec<&ColumnRun> = its.collect();
        ensure!(!its.is_empty(), "{vendor}, {}: no run", column.name());
        let count = its.len() as f64;
        let metrics = (0..its[0].metrics.len())
            .map(|place| its.iter().map(|run| run.metrics[place]).sum::<f64>() / count);
        let durations = Durations::mean(its.iter().map(|run| &run.durations));
        Ok(Mean { durations, metrics: metrics.collect() })
    };
    PublishedColumn::ALL.iter().map(mean).collect()
}
