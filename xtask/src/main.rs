//! `cargo xtask`: everything a contributor or CI does with this repository, as one program.
#![expect(clippy::print_stderr, reason = "a program reports to its user")]

use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};
use tests::{Repository, acceptance, calibrate, campaign, fuzz, process, soak};
use xtask::{bench, ci, compare_records, docs, evidence, setup, tidy, vendor, verify};

/// Set-up, tests, CI, benchmarks and evidence of trimbench. Every step can be run alone.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Install what the tests need, or say by name what is missing
    Setup {
        /// What else to install for
        #[arg(long = "for", value_name = "WHAT")]
        extra: Option<setup::Extra>,
    },
    /// Set up, run every test, and count what passed, failed and was skipped
    Test,
    /// Everything that CI does: formatting, lints, documents, tidy, tests, small benchmarks
    Ci,
    /// Check the rules of the repository that no compiler checks
    Tidy {
        /// Check nothing; print how many lines of Rust each crate has, without tests and in tests
        #[arg(long)]
        lines: bool,
    },
    /// Write the generated documents
    Docs {
        /// Write nothing; fail if a generated document is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Renew the browser libraries in `assets/vendor` (needs npm)
    Vendor {
        /// Fetch nothing; fail if a file is not what its checksum says
        #[arg(long)]
        check: bool,
    },
    /// Fit vendor1 to vendor6 to the published tables, through the modelled filesystem, and print
    /// theirs
    Calibrate {
        /// Fit nothing: the tables of the profiles as they are
        #[arg(long)]
        tables: bool,
        /// Repetitions of each column
        #[arg(long, value_name = "N", default_value_t = 10)]
        repetitions: u32,
    },
    /// Measure ourselves, each benchmark beside a peer
    Bench {
        /// The benchmark (default: all)
        name: Option<String>,
        /// Parameters small enough for CI
        #[arg(long)]
        small: bool,
        /// Only the cases whose name holds this
        #[arg(long, value_name = "TEXT")]
        case: Option<String>,
        /// How often each side of each case is measured
        #[arg(long, value_name = "N")]
        repetitions: Option<NonZero<usize>>,
        /// A line of JSON for each side of each case, in place of the table
        #[arg(long)]
        json: bool,
    },
    /// Run random emulated drives under random loads and faults until something breaks
    Soak {
        /// An integer, or at least 7 digits of a commit's id (default: the commit checked out)
        seed: Option<String>,
        /// How many random configurations
        #[arg(long, value_name = "N", default_value_t = 16)]
        configurations: u64,
        /// Commands of each configuration's long run
        #[arg(long, value_name = "N", default_value_t = 1_000_000)]
        commands: u64,
        /// Begin no configuration after so many minutes
        #[arg(long, value_name = "MINUTES")]
        minutes: Option<u64>,
        /// This configuration only
        #[arg(long, value_name = "NUMBER")]
        configuration: Option<u64>,
        /// The summary as JSON
        #[arg(long)]
        json: bool,
    },
    /// Feed readers of what others wrote with damaged inputs and garbage until something breaks
    Fuzz {
        /// What is drawn from
        #[arg(default_value_t = 1)]
        seed: u64,
        /// What is read
        #[arg(long, value_enum, default_value_t)]
        subject: fuzz::FuzzSubject,
        /// The number of the first input
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        first: u64,
        /// How many inputs are read
        #[arg(long, value_name = "N", default_value_t = 1_000_000)]
        executions: u64,
        /// This one only
        #[arg(long, value_name = "NUMBER")]
        execution: Option<u64>,
        /// The summary as JSON
        #[arg(long)]
        json: bool,
    },
    /// Hold what is recorded against the records of an earlier commit's program
    CompareRecords {
        /// The earlier commit
        base: String,
        /// Only the cases whose name holds this; `real` for those on loop devices
        #[arg(long, value_name = "TEXT")]
        case: Option<String>,
        /// Run the earlier program again, too: its records are kept otherwise
        #[arg(long)]
        fresh: bool,
        /// This program in place of today's
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
        /// A line of JSON for each comparison
        #[arg(long)]
        json: bool,
    },
    /// Go on with a test that takes hours, until it is complete; its result is to be committed
    Campaign {
        /// Which: the claim that it shows, as `safe.2`
        id: String,
        /// What its attempts are drawn from
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Begin no attempt after so many minutes
        #[arg(long, value_name = "MINUTES")]
        minutes: Option<u64>,
    },
    /// What `bench block` starts as a process of its own; destroys what is on the loop device
    #[command(hide = true)]
    BenchBlockWork {
        /// The loop device
        node: String,
        /// Commands outstanding
        queue_depth: u32,
        /// How long
        seconds: u64,
        /// Of offsets and data
        seed: u64,
    },
    /// What `evidence safe.1` and `campaign safe.3` start: the table of attacks on a program, as a
    /// line of JSON a row
    #[command(hide = true)]
    Attacks {
        /// trimbench
        program: PathBuf,
        /// These rows; all without
        rows: Vec<String>,
        /// Stop at the first row that does not hold
        #[arg(long)]
        first: bool,
    },
    /// Measure the project's claims again: one JSON line for each figure, and docs/evidence
    Evidence {
        /// A key (`foundation`) or an item (`foundation.1`); all keys without
        id: Option<String>,
        /// The short form: at most 5 minutes a key instead of 45
        #[arg(long)]
        short: bool,
        /// Measure again what was measured on these very sources before
        #[arg(long)]
        fresh: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = process::stop_children_on_interrupt().and_then(|()| run(arguments.step));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if process::interrupted() => {
            eprintln!("error: {error:#}");
            ExitCode::from(trimbench_core::exit::INTERRUPTED)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(step: Step) -> Result<bool> {
    // What is part of a measurement needs no checkout: nothing else happens in this process.
    match &step {
        Step::Attacks { program, rows, first } => {
            return acceptance::print_attacks(program, rows, *first);
        }
        Step::BenchBlockWork { node, queue_depth, seconds, seed } => {
            return bench::block::work(node, *queue_depth, *seconds, *seed).map(|()| true);
        }
        _ => {}
    }
    let repository = Repository::here()?;
    match step {
        Step::Attacks { .. } | Step::BenchBlockWork { .. } => unreachable!("handled above"),
        Step::Setup { extra } => setup::run(&repository, extra).map(|()| true),
        Step::Test => verify::run(&repository, None).map(|summary| {
            summary.print();
            summary.is_good()
        }),
        Step::Ci => ci::run(&repository),
        Step::Tidy { lines: true } => tidy::count_lines(&repository).map(|()| true),
        Step::Tidy { lines: false } => tidy::run(&repository),
        Step::Docs { check } => docs::run(&repository, check),
        Step::Vendor { check } => vendor::run(&repository, check),
        Step::Calibrate { tables, repetitions } => {
            let options = calibrate::CalibrateOptions { tables, repetitions };
            calibrate::run(&repository, &options).map(|()| true)
        }
        Step::Bench { name, small, case, repetitions, json } => {
            let (name, case) = (name.as_deref(), case.as_deref());
            let options = bench::BenchOptions { name, small, case, repetitions, json };
            bench::run(&repository, &options)
        }
        Step::Soak { seed, configurations, commands, minutes, configuration, json } => {
            let limit = minutes.map(|minutes| Duration::from_secs(60 * minutes));
            let (seed, only) = (seed.as_deref(), configuration);
            let options = soak::SoakOptions { seed, configurations, commands, limit, only, json };
            soak::run(&repository, &options)
        }
        Step::Fuzz { seed, subject, first, executions, execution, json } => {
            fuzz::run(fuzz::FuzzOptions { subject, seed, first, executions, only: execution, json })
        }
        Step::CompareRecords { base, case, fresh, program, json } => {
            let (base, case, program) = (base.as_str(), case.as_deref(), program.as_deref());
            let options =
                compare_records::CompareRecordsOptions { base, case, fresh, program, json };
            compare_records::run(&repository, &options)
        }
        Step::Campaign { id, seed, minutes } => {
            let limit = minutes.map(|minutes| Duration::from_secs(60 * minutes));
            campaign::run(&repository, &campaign::CampaignOptions { id: &id, seed, limit })
        }
        Step::Evidence { id, short, fresh } => {
            let options = evidence::EvidenceOptions { id: id.as_deref(), short, fresh };
            evidence::run(&repository, &options)
        }
    }
}
