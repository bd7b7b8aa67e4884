//! The command line of `trimbench fit`.

use std::path::PathBuf;

use trimbench_core::{Bytes, Ppm};

use super::{FormatArgs, QuietArgs, jobs, seed};
use crate::complete;

#[derive(Debug, clap::Args)]
pub(crate) struct FitArgs {
    /// The directories of runs on the drive; with `--measure`, the directory that is made for one.
    #[arg(value_name = "RUN", required_unless_present = "table")]
    pub(crate) runs: Vec<PathBuf>,
    /// Measure this drive first, with the methods that determine the values in the least time: a
    /// block device or an image file, all of which is overwritten, or `sim:NAME`; in a directory an
    /// image file is made, and nothing else is touched. What was interrupted goes on.
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["drive", "table"])]
    pub(crate) measure: Option<PathBuf>,
    /// Permit the loss of everything on this device or in this image file, as in `trimbench run`.
    #[arg(long, value_name = "PATH", requires = "measure")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Permit also the loss of a signature of this type on it (`ext4`, `gpt`, ...).
    #[arg(long, value_name = "TYPE", requires = "destroy")]
    pub(crate) overwrite_signature: Vec<String>,
    #[command(flatten)]
    pub(crate) others: QuietArgs,
    /// Only say what would be measured, how long it takes and what it writes.
    #[arg(long, requires = "measure")]
    pub(crate) dry_run: bool,
    /// Fit to the figures of this table instead, or too: CSV with the columns `method`, `figure`,
    /// `value`, `unit`, and `options` as `KEY=VALUE KEY=VALUE`; `target` is what lies over the
    /// drive, as `ext4,machine=s0`, and `percent` what a value is off by. A figure `STEP.METRIC` is
    /// of a step.
    #[arg(long, value_name = "FILE")]
    pub(crate) table: Option<PathBuf>,
    /// The drive, as the records name it, where they have several.
    #[arg(long, value_name = "TARGET")]
    pub(crate) drive: Option<String>,
    /// The emulated drive to begin with, and values of it that are known:
    /// `NAME[,KEY=VALUE]...`.
    #[arg(long, value_name = "PROFILE", default_value = "plain-nvme-tlc,trim.mode=queued",
        add = complete::profiles())]
    pub(crate) base: String,
    /// Search for the value of this key, in this range; may be repeated [default: eight of them].
    #[arg(long, value_name = "KEY[=LOW..HIGH]")]
    pub(crate) free: Vec<String>,
    /// Keep these figures out of the fit, and say how well they are predicted: a method, or one of
    /// its figures; may be repeated.
    #[arg(long, value_name = "METHOD[.FIGURE]", add = complete::methods())]
    pub(crate) set_aside: Vec<String>,
    /// Predict the figures of this method, with intervals; may be repeated.
    #[arg(long, value_name = "METHOD", add = complete::methods())]
    pub(crate) predict: Vec<String>,
    /// Set an option of the methods that are predicted, as `--set window=10s`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "predict",
        add = complete::options())]
    pub(crate) set: Vec<String>,
    /// Capacity of the twin: a scaling of the drive, 1GiB to 16GiB.
    #[arg(long, default_value = "1GiB")]
    pub(crate) capacity: Bytes,
    /// Seed of the search.
    #[arg(long, default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Number of sessions of the twin at a time; no result depends on it [default: one for each
    /// processor].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<u32>,
    /// Write the profile into this file, for `--target sim:FILE`.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that trimbench did not write.
    #[arg(long, requires = "output")]
    pub(crate) overwrite: bool,
    /// Print no progress on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WhatIfArgs {
    /// The drive: a profile by name or file, with values set as you like, `NAME[,KEY=VALUE]...`.
    #[arg(value_name = "PROFILE", add = complete::profiles())]
    pub(crate) profile: String,
    /// Shares of the capacity that are left free and trimmed.
    #[arg(long, value_name = "SHARES", value_delimiter = ',', default_value = "0%,10%,20%,30%")]
    pub(crate) free: Vec<Ppm>,
    /// What `fit --output-format json` printed: intervals are then those of the twins that might be
    /// the drive. Without it they say only how runs of the profile scatter.
    #[arg(long, value_name = "FILE")]
    pub(crate) twins: Option<PathBuf>,
    /// Set an option of `steady-state`, as `--set queue-depth=512`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", add = complete::options())]
    pub(crate) set: Vec<String>,
    /// Cycles of programming and erasing that the flash bears.
    #[arg(long, value_name = "N", default_value_t = 3_000)]
    pub(crate) cycles: u32,
    /// Drive writes a day: what is written in a day over the drive's capacity.
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub(crate) drive_writes: f64,
    /// Seed of all random numbers.
    #[arg(long, default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Number of sessions at a time; no result depends on it [default: one for each processor].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<u32>,
    /// Print no progress on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}
