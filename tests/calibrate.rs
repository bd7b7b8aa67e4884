//! Step `calibrate`: the emulated drives vendor1 to vendor6 fitted to \[S0\], through the modelled
//! filesystem.
//!
//! Three values a drive are fitted to the buffered columns of the published tables, and written
//! into its profile: `fit`. What the model then says of all 24 columns is a prediction, but for
//! these 18 figures. The test machine is one set of values for all drives: [`FsConfig::s0`].
//!
//! [`FsConfig::s0`]: trimbench_fs::FsConfig::s0

mod deletion;
mod fit;
pub mod published;
mod run;
mod table;

use anyhow::{Context as _, Result, ensure};
use trimbench_ssd::{Profile, SsdConfig};

use crate::Repository;
pub use deletion::{DeletionRun, deletion_run};
use published::{Durations, PublishedColumn, VENDORS};
pub use run::CalibrationRun;
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

/// What the user asks for.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct CalibrateOptions {
    /// Fit nothing: the tables of the profiles as they are
    #[arg(long)]
    pub tables: bool,
    /// Repetitions of each column
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub repetitions: u32,
}

/// Fits the drives unless only the tables are asked for, and prints the tables.
pub fn run(repository: &Repository, options: &CalibrateOptions) -> Result<()> {
    let runs = if options.tables {
        built_in_runs(options.repetitions)?
    } else {
        let drives = run::side_by_side(&VENDORS, |vendor| {
            let fitted = fit::fit(repository, vendor)?;
            eprintln!("profiles/{vendor}.toml is fitted");
            Ok(fitted)
        })?;
        run::table(&drives, options.repetitions)?
    };
    print!("{}", tables(&runs)?);
    Ok(())
}

/// The runs of the tables of the profiles as they are.
pub fn built_in_runs(repetitions: u32) -> Result<Vec<CalibrationRun>> {
    let drives: Vec<_> = VENDORS.iter().map(|vendor| built_in(vendor)).collect::<Result<_>>()?;
    run::table(&drives, repetitions)
}

fn built_in(vendor: &str) -> Result<(String, SsdConfig)> {
    let profile = Profile::built_in(vendor).with_context(|| format!("no profile `{vendor}`"))?;
    Ok((vendor.to_owned(), profile.config))
}

/// The means of a drive's columns, in the order of [`PublishedColumn::ALL`].
pub fn means(runs: &[CalibrationRun], vendor: &str) -> Result<Vec<Mean>> {
    let mean = |column: &PublishedColumn| {
        let its = runs.iter().filter(|run| run.vendor == vendor && run.column == *column);
        let its: Vec<&CalibrationRun> = its.collect();
        ensure!(!its.is_empty(), "{vendor}, {}: no run", column.name());
        let count = its.len() as f64;
        let metrics = (0..its[0].metrics.len())
            .map(|place| its.iter().map(|run| run.metrics[place]).sum::<f64>() / count);
        let durations = Durations::mean(its.iter().map(|run| &run.durations));
        Ok(Mean { durations, metrics: metrics.collect() })
    };
    PublishedColumn::ALL.iter().map(mean).collect()
}
