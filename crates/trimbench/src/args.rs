//! The command line as text: parsed and checked for form; nothing is opened.

pub(crate) mod attach;
pub(crate) mod doctor;
pub(crate) mod examples;
pub(crate) mod fit;
pub(crate) mod trace;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use trimbench_app::{PlanOptions, QuietOptions};
use trimbench_core::text::to_text;
use trimbench_core::{Bytes, Nanos};
use trimbench_devices::{Consent, PurgeChoice};
use trimbench_methods::METHODS;
use trimbench_results::SCHEMA;
use trimbench_ssd::MODEL_VERSION;

use self::attach::AttachArgs;
use self::doctor::DoctorArgs;
use self::fit::{FitArgs, WhatIfArgs};
use self::trace::TraceCommand;
use crate::complete;
use crate::misuse::{NumberError, whole};

/// Measures the effects of TRIM on emulated drives, in a directory of your own, and on block
/// devices that you name to be overwritten.
#[derive(Debug, Parser)]
#[command(name = "trimbench", version, long_version = long_version())]
#[command(max_term_width = 100, after_help = examples::TRIMBENCH)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say whether TRIM reaches the drive, and which layer drops it: without root, and without a
    /// write.
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// Measure. Without arguments: every method but `kernels` and `ab` on four emulated drives.
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Attach an emulated drive as a block device, for any program, filesystem or test suite.
    /// Needs root.
    #[command(after_help = examples::ATTACH)]
    Attach(AttachArgs),
    /// List methods and profiles of emulated drives.
    #[command(after_help = examples::LIST)]
    List {
        /// `methods`, `profiles`, or the name of one of them; by default all.
        #[arg(add = complete::listed())]
        what: Option<String>,
        /// Show the details of one of them: a method's options, a profile's values and sources.
        #[arg(long, value_name = "NAME", add = complete::names())]
        explain: Option<String>,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Print the report of runs, finished or not; or write it as an HTML page, SVG figures or CSV
    /// tables.
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Compare two runs: show what became better or worse, and what cannot be compared.
    #[command(after_help = examples::COMPARE)]
    Compare {
        /// The directory of the earlier run.
        before: PathBuf,
        /// The directory of the later run.
        after: PathBuf,
        /// Fail (exit code 1) if a figure became worse by more than this share of its earlier
        /// value, and the difference is distinguishable from noise: `10` (percent) applies to every
        /// headline, `stutter=5` to that figure; may be repeated.
        #[arg(long = "limit", value_name = "[FIGURE=]PERCENT")]
        limits: Vec<String>,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Fit the profile of an emulated drive to what was measured on a drive: its twin, on which
    /// everything else can be tried.
    #[command(after_help = examples::FIT)]
    Fit(FitArgs),
    /// Say what space that is left free, and trimmed, buys on an emulated drive: speed, write
    /// amplification, years.
    #[command(after_help = examples::WHAT_IF)]
    WhatIf(WhatIfArgs),
    /// Read the results of another program, correct its known faults, and print them.
    #[command(after_help = examples::IMPORT)]
    Import {
        /// The program that wrote the results.
        #[arg(value_enum)]
        format: ImportFormat,
        /// The file; `-` is standard input.
        file: PathBuf,
        /// Files that PostMark's run created at the beginning (`set number`); by default derived
        /// from each line.
        #[arg(long, value_name = "FILES", value_parser = clap::value_parser!(u32).range(1..))]
        number: Option<u32>,
        #[command(flatten)]
        output: FormatArgs,
    },
    /// Analyse, convert, generate and record traces.
    #[command(after_help = examples::TRACE)]
    Trace {
        /// What to do.
        #[command(subcommand)]
        command: TraceCommand,
    },
    /// Put back what a killed run had changed for a while: mount options, and the largest discard
    /// of a disk. Every run does so before it begins.
    #[command(after_help = examples::RESTORE)]
    Restore {
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Print a script that completes the command line in a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the man page of trimbench, or of one of its commands: `trimbench man run | man -l -`.
    #[command(after_help = examples::MAN)]
    Man {
        /// The command; two words for one of `trace`.
        #[arg(add = complete::commands())]
        command: Vec<String>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The directories of the runs; by default the latest in `trimbench-runs`.
    #[arg(value_name = "RUN", value_hint = ValueHint::DirPath)]
    pub(crate) runs: Vec<PathBuf>,
    /// Write one HTML page of all runs into this file; it opens from disk and needs no network.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write each chart of the page into this directory, as an SVG file.
    #[arg(long, value_name = "DIR")]
    pub(crate) figures: Option<PathBuf>,
    /// Write the data of the charts into this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// Write figures, steps and series as CSV files into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,
    /// Have the verdict speak of deletions of this size, as `16GiB`, instead of those that were
    /// measured (`delete-stall`).
    #[arg(long, value_name = "SIZE")]
    pub(crate) deletes: Option<Bytes>,
    /// Put the drives into the order of a method's headline, or of one of its figures, the best
    /// first; in tables, on the page and in its charts.
    #[arg(long, value_name = "METHOD[.FIGURE]")]
    pub(crate) order_by: Option<String>,
    /// Write verdicts and figures into this file, as Markdown for an issue.
    #[arg(long, value_name = "FILE")]
    pub(crate) export_markdown: Option<PathBuf>,
    /// Write verdicts and figures into this file, as `JUnit` XML.
    #[arg(long, value_name = "FILE")]
    pub(crate) export_junit: Option<PathBuf>,
    /// Replace existing files that trimbench did not write; a record is never replaced.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print instead, for each repetition, the line that this version of PostMark would have
    /// printed with `set report terse`, including its faults.
    #[arg(long, value_enum, value_name = "VERSION",
        conflicts_with_all = [
            "html", "figures", "context", "csv", "order_by", "export_markdown", "export_junit",
            "overwrite", "output_format", "json", "deletes",
        ])]
    pub(crate) compat: Option<Compat>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Versions of PostMark that can be imitated.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Compat {
    /// 1.51 and older: clocks of 1 s, bytes in single precision, a wrong deletion rate.
    #[value(name = "1.51")]
    V1_51,
}

/// What can be imported.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Terse lines of PostMark: 13 numbers each.
    Postmark,
}

/// How results are printed on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Tables and pictures for people.
    #[default]
    Human,
    /// One JSON document; for a run, its record.
    Json,
    /// A line of JSON for each item; for a run, each step and figure as they finish.
    Ndjson,
}

/// The format of stdout.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct FormatArgs {
    /// Format of stdout: for people, one JSON document, or a line of JSON for each item.
    #[arg(long, value_enum, default_value_t)]
    output_format: OutputFormat,
    /// The same as `--output-format json`.
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
}

impl FormatArgs {
    pub(crate) fn format(self) -> OutputFormat {
        if self.json { OutputFormat::Json } else { self.output_format }
    }
}

/// How a run, or what it would do, is printed on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// Tables and pictures for people.
    #[default]
    Human,
    /// The record of the run, as one JSON document.
    Json,
    /// A line of JSON for each step and figure as they finish.
    Ndjson,
    /// With `--dry-run`: a job file, for `--job`.
    Toml,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressKind {
    /// A bar on a terminal, elsewhere a line for each session.
    #[default]
    Auto,
    /// A line of JSON twice a second: seconds since the start and estimated seconds left.
    Json,
}

impl RunFormat {
    /// The format of results; `None` for that of a job, which are not results.
    pub(crate) fn of_results(self) -> Option<OutputFormat> {
        match self {
            Self::Human => Some(OutputFormat::Human),
            Self::Json => Some(OutputFormat::Json),
            Self::Ndjson => Some(OutputFormat::Ndjson),
            Self::Toml => None,
        }
    }
}

#[derive(Clone, Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct RunArgs {
    /// Methods to run, by default all (see `list methods`); and targets, which have a `/` or a `:`,
    /// or are there.
    #[arg(id = "methods", value_name = "METHOD|TARGET", add = complete::methods_and_targets())]
    words: Vec<OsString>,
    /// Target to measure: `sim:PROFILE[,setting=value]`, a directory, a block device
    /// (`/dev/disk/by-id/...`) or an image file; or a newly made filesystem on one
    /// (`ext4:sim:PROFILE`, `xfs:IMAGE`); may be repeated.
    #[arg(id = "targets", short = 't', long = "target", value_name = "TARGET",
        add = complete::targets())]
    named: Vec<OsString>,
    /// Permit the loss of everything on this device or in this image file. PATH is exactly the
    /// by-id path of the target; for a loop device, its backing file. May be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Permit also the loss of a signature of this type on it (`ext4`, `gpt`, `LVM2_member`, ...);
    /// may be repeated.
    #[arg(long, value_name = "TYPE", requires = "destroy")]
    pub(crate) overwrite_signature: Vec<String>,
    /// State that nothing else uses the underlying file of an image on FUSE, overlayfs or the like,
    /// where trimbench cannot check that.
    #[arg(long, requires = "destroy")]
    pub(crate) sole_user: bool,
    /// Agree that the filesystem of a directory is remounted with and without `discard` in turns
    /// (`ab`); it is put back as it was at every end, after a kill by the next run or by
    /// `trimbench restore`.
    #[arg(long)]
    pub(crate) switch_mount: bool,
    /// The load of `ab`: a line for a shell that runs to its end in each visit, in the directory
    /// that is measured. Given anew with `--job` and `--resume`, which never run a command of
    /// their own.
    #[arg(long, value_name = "LINE")]
    pub(crate) command: Option<String>,
    /// How to purge a block device: `auto` (by the drive's own means, else by TRIM), `trim`, or one
    /// of the drive's means by name: another word lists them.
    #[arg(long, value_name = "MEANS", default_value_t)]
    pub(crate) purge: PurgeChoice,
    /// How thorough the run is: `quick`, `standard` or `published` (the source's own parameters).
    #[arg(long, default_value = "quick", add = complete::presets())]
    pub(crate) preset: String,
    /// Set an option of a method, as `--set window=10s`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", add = complete::options())]
    pub(crate) set: Vec<OsString>,
    /// Measure deletions of this size, as `16GiB`, and have the verdict speak of them: the same as
    /// `--set deletes=SIZE`. `scan`: of the typical and the largest size of the files below the
    /// directory that is measured.
    #[arg(long, value_name = "SIZE")]
    pub(crate) deletes: Option<DeletesArg>,
    /// Capacity of the emulated drives, as `32GiB`.
    #[arg(long)]
    pub(crate) capacity: Option<Bytes>,
    /// Seed of all random numbers.
    #[arg(long, default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Bytes a second that targets are assumed to read and write, for the time that `--dry-run`
    /// and the progress bar say, as `1200MB`; no result depends on it [default: 500MB].
    #[arg(long, value_name = "BYTES")]
    pub(crate) assumed_rate: Option<Bytes>,
    /// Forecast the time of methods on real targets by what they took in the earlier run in DIR: a
    /// short one of the same methods on the same targets meets their waits for discards, which
    /// nothing else tells; no result depends on it.
    #[arg(long, value_name = "DIR")]
    pub(crate) timed_by: Option<PathBuf>,
    /// Number of emulated drives to measure at the same time, as far as memory allows; no result
    /// depends on it [default: one for each processor].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<u32>,
    #[command(flatten)]
    pub(crate) others: QuietArgs,
    /// Directory of the run's record, new or empty [default: trimbench-runs/TIME].
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Run the job that this file describes: methods, targets, preset, settings, seed and limits.
    /// `--dry-run --output-format toml` prints one. Permission to destroy is never in it.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "resume", "methods", "targets", "preset", "set", "deletes", "capacity", "seed", "limits",
    ])]
    pub(crate) job: Option<PathBuf>,
    /// Continue an interrupted run. Plan and seed come from its record; `--destroy`,
    /// `--overwrite-signature`, `--sole-user`, `--purge`, `--limit`, `--quiet-wait` and `--busy-ok`
    /// must be given again.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "methods", "targets", "preset", "set", "deletes", "capacity", "seed", "output", "dry_run",
    ])]
    pub(crate) resume: Option<PathBuf>,
    /// Print what would be done, without doing it; with `--output-format toml` as a job file.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write no `report.html` beside the record (`trimbench report` can write it later).
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Write verdicts and figures into this file when the run has ended, as Markdown for an issue.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) export_markdown: Option<PathBuf>,
    /// Write verdicts, figures and limits into this file when the run has ended, as `JUnit`
    /// XML.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) export_junit: Option<PathBuf>,
    /// Fail (exit code 1) if a figure is larger, as `p99.9=5ms` or `stutter=0.1s/GB`; `hlk` stands
    /// for the limits of Microsoft's hardware lab kit on TRIM; `verdict=ID` or `verdict!=ID` limits
    /// verdicts; may be repeated.
    #[arg(long = "limit", value_name = "FIGURE=VALUE")]
    pub(crate) limits: Vec<String>,
    /// Print no progress and no notes on stderr: only errors and limits that fail.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// How progress is shown on stderr.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) progress: ProgressKind,
    /// Format of stdout.
    #[arg(long, value_enum, default_value_t)]
    output_format: RunFormat,
    /// The same as `--output-format json`.
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
    /// Nothing on stdout: the run is a part of another command.
    #[arg(skip)]
    pub(crate) silent: bool,
    /// The command that continues this run, where that is not `run --resume`.
    #[arg(skip)]
    pub(crate) continued_by: Option<String>,
}

impl RunArgs {
    /// The format of stdout.
    pub(crate) fn format(&self) -> RunFormat {
        if self.json { RunFormat::Json } else { self.output_format }
    }

    /// What is to be planned, without what a job file says.
    pub(crate) fn plan_options(&self) -> PlanOptions {
        let (targets, methods): (Vec<&OsString>, Vec<&OsString>) =
            self.words.iter().partition(|word| is_target(word));
        let size = self.deletes.and_then(|deletes| deletes.0);
        let deletes = size.map(|size| OsString::from(format!("deletes={size}")));
        let command = self.command.as_ref().map(|line| OsString::from(format!("command={line}")));
        PlanOptions {
            methods: methods.into_iter().map(to_text).collect(),
            targets: targets.into_iter().chain(&self.named).cloned().collect(),
            preset: self.preset.clone(),
            settings: self.set.iter().cloned().chain(deletes).chain(command).collect(),
            capacity: self.capacity,
            seed: self.seed,
            limits: self.limits.clone(),
            consent: Consent {
                destroy: self.destroy.clone(),
                signatures: self.overwrite_signature.clone(),
                sole_user: self.sole_user,
                switch_mount: self.switch_mount,
                command: self.command.clone(),
            },
            purge: self.purge,
            quiet: QuietOptions { wait: self.others.quiet_wait, busy_ok: self.others.busy_ok },
            assumed_rate: self.assumed_rate,
            timed_by: self.timed_by.clone(),
            jobs: self.jobs,
            drive_server: std::env::current_exe().ok(),
        }
    }
}

/// How large deletions are: a size, or none for those of the files that are there (`scan`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeletesArg(pub(crate) Option<Bytes>);

impl std::str::FromStr for DeletesArg {
    type Err = <Bytes as std::str::FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "scan" { Ok(Self(None)) } else { text.parse().map(|size| Self(Some(size))) }
    }
}

/// Whether a word means a target: no method, and a path, what has a colon, or what is there.
fn is_target(word: &OsStr) -> bool {
    let text = to_text(word);
    let is_method = METHODS.iter().any(|method| method.id == text);
    !is_method && (text.contains(['/', ':']) || Path::new(word).exists())
}

/// What is done about others who use a real target.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct QuietArgs {
    /// Before each session on a real target, look for other load, and wait so long at the most
    /// until there is none; then the run ends (exit code 3). `0s`: do not look.
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    pub(crate) quiet_wait: Nanos,
    /// Measure a target that others use all the same: the results are invalid (exit code 4), and
    /// there is no recommendation.
    #[arg(long)]
    pub(crate) busy_ok: bool,
}

fn seed(text: &str) -> Result<u64, NumberError> {
    whole(text, 0..=u64::MAX)
}

fn jobs(text: &str) -> Result<u32, NumberError> {
    whole(text, 1..=1_024).map(|jobs| u32::try_from(jobs).expect("it is at most 1,024"))
}

/// What a report of a fault must name: which sources, which numbers and files they make, and for
/// what they were built.
fn long_version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        format!(
            "{}\ncommit {}\nmodel version {MODEL_VERSION}, record schema {SCHEMA}\ntarget {}, {}{}",
            env!("CARGO_PKG_VERSION"),
            env!("TRIMBENCH_COMMIT"),
            env!("TRIMBENCH_TARGET"),
            if cfg!(target_feature = "crt-static") {
                "statically linked"
            } else {
                "linked to libc"
            },
            if cfg!(debug_assertions) { ", with assertions" } else { "" },
        )
    });
    &TEXT
}
