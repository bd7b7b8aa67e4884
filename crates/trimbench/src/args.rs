//! The command line as text: parsed and checked for form, nothing opened.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use trimbench_core::Bytes;
use trimbench_devices::PurgeChoice;

use crate::trace::TraceCommand;

/// Measures what TRIM does: on emulated drives, in a directory of your own, and on block devices
/// that you name to be overwritten.
#[derive(Debug, Parser)]
#[command(name = "trimbench", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The exit codes, as in `docs/reference/exit-codes.md`.
const AFTER_HELP: &str = "Exit codes: 0 done and valid; 1 a limit failed; 2 usage; 3 target \
    unsuitable; 4 run invalid, results kept and marked; 101 bug; 130 interrupted, partial results \
    saved.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure. Without arguments: every method on four emulated drives.
    Run(RunArgs),
    /// List methods or profiles of emulated drives.
    List {
        /// What to list.
        what: Listing,
        /// All that is known of one of them: a method's options, a profile's values and sources.
        #[arg(long, value_name = "NAME")]
        explain: Option<String>,
        /// How it is printed: a table, one JSON document, or a line of JSON for each item.
        #[arg(long, value_enum, default_value_t)]
        output_format: OutputFormat,
    },
    /// Print the report of runs, finished or not; or write it as one HTML page, as figures, as
    /// tables.
    Report(ReportArgs),
    /// Compare two runs: what became better or worse, and what cannot be compared.
    Compare {
        /// The directory of the run before.
        before: PathBuf,
        /// The directory of the run after.
        after: PathBuf,
        /// Fail (exit code 1) if a figure became worse by more than this share of what it was, and
        /// that is told apart from noise: `10` (percent) means every headline, `stutter=5` that
        /// figure; may be given several times.
        #[arg(long = "limit", value_name = "[FIGURE=]PERCENT")]
        limits: Vec<String>,
        /// How it is printed: a table, one JSON document, or a line of JSON for each change.
        #[arg(long, value_enum, default_value_t)]
        output_format: OutputFormat,
    },
    /// Read what another program measured, and print what it says once known faults are undone.
    Import {
        /// Whose results.
        #[arg(value_enum)]
        format: ImportFormat,
        /// The file; `-` is standard input.
        file: PathBuf,
        /// Files at the beginning of PostMark's run (`set number`); without it, worked out of each
        /// line.
        #[arg(long, value_name = "FILES", value_parser = clap::value_parser!(u32).range(1..))]
        number: Option<u32>,
        /// How it is printed.
        #[arg(long, value_enum, default_value_t)]
        output_format: OutputFormat,
    },
    /// Traces: what one does, and one in another format.
    Trace {
        /// What to do.
        #[command(subcommand)]
        command: TraceCommand,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The directories of the runs.
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Write one HTML page of all of them into this file: opens from disk, needs no network.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write each chart of the page into this directory, as an SVG file.
    #[arg(long, value_name = "DIR")]
    pub(crate) figures: Option<PathBuf>,
    /// Write what the charts are drawn from into this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// Write figures, steps and series as CSV files into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,
    /// Replace files that are there and are no reports of ours; never a record.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print instead what this version of PostMark would have printed of each repetition with
    /// `set report terse`, its faults included.
    #[arg(long, value_enum, value_name = "VERSION",
        conflicts_with_all = ["html", "figures", "context", "csv", "overwrite", "output_format"])]
    pub(crate) compat: Option<Compat>,
    /// What is printed on stdout: tables for people, the records, or a line for each figure.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output_format: OutputFormat,
}

/// Versions of PostMark that can be imitated.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Compat {
    /// And older ones: clocks of 1 s, bytes in single precision, a wrong deletion rate.
    #[value(name = "1.51")]
    V1_51,
}

/// What can be imported.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Terse lines of PostMark: 13 numbers each.
    Postmark,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Listing {
    /// What can be measured.
    Methods,
    /// Which drives can be emulated.
    Profiles,
}

/// How results are printed on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Tables and pictures for people.
    #[default]
    Human,
    /// One document: of a run, its record.
    Json,
    /// A line for each item: of a run, each step and figure as they come.
    Ndjson,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Which methods; all if none is named (see `list methods`).
    #[arg(value_name = "METHOD")]
    pub(crate) methods: Vec<String>,
    /// What to measure: `sim:PROFILE[,setting=value]`, a directory, a block device
    /// (`/dev/disk/by-id/...`) or an image file; or a filesystem made anew on one
    /// (`ext4:sim:PROFILE`, `xfs:IMAGE`); may be given several times.
    #[arg(long = "target", value_name = "TARGET")]
    pub(crate) targets: Vec<OsString>,
    /// Allow that everything on this device or in this image file is lost: the very by-id path of
    /// the target, for a loop device its backing file; may be given several times.
    #[arg(long, value_name = "PATH")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Allow, too, that a signature of this type on it is lost (`ext4`, `gpt`, `LVM2_member`, ...);
    /// may be given several times.
    #[arg(long, value_name = "TYPE", requires = "destroy")]
    pub(crate) overwrite_signature: Vec<String>,
    /// Vouch that nothing else uses the file below an image on FUSE, overlayfs or the like, where
    /// that cannot be found out.
    #[arg(long, requires = "destroy")]
    pub(crate) sole_user: bool,
    /// How a block device is purged: `auto` (by the drive's own means, else by TRIM), `trim`, or
    /// one of the drive's means by name (see `docs/reference/passthrough.md`).
    #[arg(long, value_name = "MEANS", default_value_t)]
    pub(crate) purge: PurgeChoice,
    /// How thorough: `quick`, `standard` or `published` (the source's own parameters).
    #[arg(long, default_value = "quick")]
    pub(crate) preset: String,
    /// Set an option of a method, as `--set window=10s`; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<OsString>,
    /// Capacity of the emulated drives, as `32GiB`.
    #[arg(long)]
    pub(crate) capacity: Option<Bytes>,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Emulated drives that are measured side by side, as far as memory allows; no result depends
    /// on it [default: one for each processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub(crate) jobs: Option<u32>,
    /// Directory of the run's record; new or empty [default: trimbench-runs/TIME].
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Go on with an interrupted run. Plan and seed come from its record; what may be destroyed,
    /// how to purge and limits must be given again.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "methods", "targets", "preset", "set", "capacity", "seed", "output", "dry_run",
    ])]
    pub(crate) resume: Option<PathBuf>,
    /// Print what would be done, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write no `report.html` beside the record (`trimbench report` can, later).
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Fail (exit code 1) if a figure is larger, as `p99.9=5ms` or `stutter=0.1s/GB`; `hlk` stands
    /// for the limits of Microsoft's hardware lab kit on TRIM; may be given several times.
    #[arg(long = "limit", value_name = "FIGURE=VALUE")]
    pub(crate) limits: Vec<String>,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output_format: OutputFormat,
}
