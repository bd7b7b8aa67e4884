//! `cargo xtask`: everything a contributor or CI does with this repository, as one program.
#![expect(clippy::print_stderr, reason = "a program reports to its user")]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use tests::{Repository, acceptance, campaign, fuzz, process, s0, soak};
use xtask::{bench, ci, compare_records, dist, docs, evidence, setup, tidy, vendor, verify};

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
    /// Print the tables of vendor1 to vendor6 in the form of the published ones
    S0 {
        /// Repetitions of each column
        #[arg(long, value_name = "N", default_value_t = 10)]
        repetitions: u32,
    },
    /// Measure ourselves, each benchmark beside a peer
    Bench(bench::BenchOptions),
    /// Run random emulated drives under random loads and faults until something breaks
    Soak(soak::SoakOptions),
    /// Feed readers of what others wrote with damaged inputs and garbage until something breaks
    Fuzz(fuzz::FuzzOptions),
    /// Hold what is recorded against the records of an earlier commit's program
    CompareRecords(compare_records::CompareRecordsOptions),
    /// Go on with a test that takes hours, until it is complete; its result is to be committed
    Campaign(campaign::CampaignOptions),
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
    /// Write a release into `target/dist`: an archive, a Debian package, checksums
    Dist(dist::DistOptions),
    /// Measure the project's claims again: one JSON line for each figure, and docs/evidence
    Evidence(evidence::EvidenceOptions),
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
        Step::S0 { repetitions } => s0::run(repetitions).map(|()| true),
        Step::Bench(options) => bench::run(&repository, &options),
        Step::Soak(options) => soak::run(&repository, &options),
        Step::Fuzz(options) => fuzz::run(options),
        Step::CompareRecords(options) => compare_records::run(&repository, &options),
        Step::Campaign(options) => campaign::run(&repository, &options),
        Step::Dist(options) => dist::run(&repository, &options),
        Step::Evidence(options) => evidence::run(&repository, &options),
    }
}
