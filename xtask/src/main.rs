//! `cargo xtask`: everything a contributor or CI does with this repository, as one program.
#![expect(clippy::print_stderr, reason = "a program reports to its user")]

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::{Repository, ci, dist, guest, process, setup, tidy, vendor, verify};

/// Set-up, tests, CI, rules and releases of trimbench. Every step can be run alone.
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
    /// Renew the browser libraries in `assets/vendor` (needs npm)
    Vendor {
        /// Fetch nothing; fail if a file is not what its checksum says
        #[arg(long)]
        check: bool,
    },
    /// Write a release into `target/dist`: an archive, a Debian package, checksums
    Dist(dist::DistOptions),
    /// Measure what the tests cannot, or write the documents that are made from the code
    #[command(disable_help_flag = true)]
    Lab {
        /// As `cargo xtask lab --help` says
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run a command as root in a guest: a kernel of its own, on this machine's tree, read-only
    Guest(guest::GuestOptions),
    /// Write the generated documents: `lab docs`
    Docs {
        /// Write nothing; fail if a generated document is not what would be written
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = process::stop_children_on_interrupt().and_then(|()| run(arguments.step));
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) if process::interrupted() => {
            eprintln!("error: {error:#}");
            ExitCode::from(process::INTERRUPTED_CODE)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a step; the exit code.
fn run(step: Step) -> Result<u8> {
    let repository = Repository::here()?;
    let good = match step {
        Step::Guest(options) => return guest::run_command(&options),
        Step::Setup { extra } => setup::run(&repository, extra).map(|()| true),
        Step::Test => verify::run(&repository, None).map(|summary| {
            summary.print();
            summary.is_good()
        }),
        Step::Ci => ci::run(&repository),
        Step::Tidy { lines: true } => tidy::count_lines(&repository).map(|()| true),
        Step::Tidy { lines: false } => tidy::run(&repository),
        Step::Docs { check } => {
            let check = check.then(|| "--check".to_owned());
            lab(&repository, ["docs".to_owned()].into_iter().chain(check))
        }
        Step::Lab { arguments } => lab(&repository, arguments),
        Step::Vendor { check } => vendor::run(&repository, check),
        Step::Dist(options) => dist::run(&repository, &options),
    };
    good.map(|good| u8::from(!good))
}

/// Runs the program of the package `lab`, which links the product; whether it ended well. What it
/// needs beyond the tests is behind its features.
fn lab(repository: &Repository, arguments: impl IntoIterator<Item = String>) -> Result<bool> {
    let line = ["run", "--release", "--quiet", "--package", "lab", "--all-features", "--"];
    let mut command = repository.command("cargo", &line);
    Ok(process::run(command.args(arguments), None)?.success())
}
