//! The published tables of \[S0\], and the same runs on emulated drives below the modelled
//! filesystem.
//!
//! Three values a drive are fitted to the buffered columns of the published tables. What the model
//! then says of all 24 columns is a prediction, but for these 18 figures. The test machine is one
//! set of values for all drives: [`FsConfig::s0`].
//!
//! [`FsConfig::s0`]: trimbench_fs::FsConfig::s0

mod deletion;
mod predictions;
pub mod published;
mod run;

use anyhow::{Result, ensure};

pub use deletion::{DeletionRun, deletion_run};
pub use predictions::{Prediction, UNBUFFERED, predictions};
use published::{Durations, PublishedColumn};
pub use run::{ColumnRun, runs};

#[cfg(test)]
mod tests;

/// One of the durations, in seconds.
pub type PhaseDuration = fn(&Durations) -> f64;

/// The phases of a run, by name.
pub const PHASES: [(&str, PhaseDuration); 3] = [
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
