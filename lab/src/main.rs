//! `cargo xtask lab`: measurements that need minutes, a quiet machine, a peer program or hardware.
//!
//! Each subject is a module, and each of its entries a file in its folder. `lab/README.md` says how
//! to add one.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program reports to its user: figures on stdout, progress on stderr"
)]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "processes are timed by the wall clock; nothing here runs inside a simulation"
)]

mod ab;
mod advice;
mod agree;
mod attach;
mod attempts;
mod detached;
mod doctor;
mod documents;
mod drive_model;
mod entry;
mod figure;
mod filesystems;
mod fio;
mod fit;
mod kernels;
mod lab;
mod measured;
mod mutants;
mod pace;
mod pictures;
mod real_drives;
mod results;
mod safety;
mod speed;
mod targets;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand};
use serde_json::json;
use xtask::steps::Deadline;
use xtask::{Repository, process};

use entry::{Entry, NotMeasured, Subject};
use figure::Figure;
use lab::Lab;
use results::Measured;

/// Every subject.
const SUBJECTS: [Subject; 14] = [
    drive_model::SUBJECT,
    filesystems::SUBJECT,
    kernels::SUBJECT,
    real_drives::SUBJECT,
    fit::SUBJECT,
    targets::SUBJECT,
    attach::SUBJECT,
    agree::SUBJECT,
    safety::SUBJECT,
    speed::SUBJECT,
    advice::SUBJECT,
    doctor::SUBJECT,
    pace::SUBJECT,
    ab::SUBJECT,
];

/// What an entry may take.
const LIMIT: [Duration; 2] = [Duration::from_secs(20 * 60), Duration::from_secs(180 * 60)];

/// Measure what the tests cannot; one line of JSON a figure, kept in `lab/results`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask lab", bin_name = "cargo xtask lab")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Step>,
    /// What is measured: SUBJECT or SUBJECT.NAME; lists all without
    #[arg(value_name = "SUBJECT[.NAME]")]
    wanted: Vec<String>,
    /// Measure all
    #[arg(long, conflicts_with = "wanted")]
    all: bool,
    /// Measure in minutes what takes hours
    #[arg(long)]
    short: bool,
    /// Only what is older than its sources, or was never measured
    #[arg(long)]
    stale: bool,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Write the generated documents
    Docs {
        /// Write nothing; fail if a generated document is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// What an entry starts as a process of its own
    #[command(hide = true)]
    Part {
        /// Which, and with what
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = process::stop_children_on_interrupt().and_then(|()| run(arguments));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            let code = if process::interrupted() { trimbench_core::exit::INTERRUPTED } else { 1 };
            ExitCode::from(code)
        }
    }
}

fn run(arguments: Arguments) -> Result<bool> {
    match arguments.command {
        // What is part of a measurement needs no checkout: nothing else happens in this process.
        Some(Step::Part { arguments }) => return part(&arguments),
        Some(Step::Docs { check }) => return documents::run(&Repository::here()?, check),
        None => {}
    }
    let repository = Repository::here()?;
    // `--short` alone measures everything.
    let is_all = arguments.all || arguments.stale || arguments.short;
    if arguments.wanted.is_empty() && !is_all {
        return list(&repository).map(|()| true);
    }
    let mut good = true;
    for (subject, entry) in chosen(&arguments.wanted)? {
        let hash = results::sources_hash(&repository, subject, entry)?;
        let kept = results::read(&repository, subject)?.remove(entry.name);
        if arguments.stale && kept.is_some_and(|kept| kept.sources == hash) {
            continue;
        }
        good &= measure(&repository, (subject, entry), arguments.short, hash)?;
        if process::interrupted() {
            bail!("interrupted; what was measured is kept");
        }
    }
    documents::run(&repository, false)?;
    Ok(good)
}

/// The entries of these names; all without any.
fn chosen(wanted: &[String]) -> Result<Vec<(&'static Subject, &'static Entry)>> {
    static ALL: [Subject; 14] = SUBJECTS;
    let all = || ALL.iter().flat_map(|of| of.entries.iter().map(move |entry| (of, entry)));
    let mut chosen = Vec::new();
    for name in wanted {
        let is_it = |subject: &Subject, entry: &Entry| {
            name == subject.name || *name == format!("{}.{}", subject.name, entry.name)
        };
        let before = chosen.len();
        chosen.extend(all().filter(|(subject, entry)| is_it(subject, entry)));
        if chosen.len() == before {
            bail!("nothing is called `{name}`; `cargo xtask lab` lists what there is");
        }
    }
    Ok(if wanted.is_empty() { all().collect() } else { chosen })
}

/// A line for each entry: its name, what it finds, and how old its figures are.
fn list(repository: &Repository) -> Result<()> {
    for subject in &SUBJECTS {
        let kept = results::read(repository, subject)?;
        println!("{}: {}", subject.name, subject.title);
        for entry in subject.entries {
            let hash = results::sources_hash(repository, subject, entry)?;
            let age = measured::age(kept.get(entry.name), &hash);
            println!("  {}.{}: {} ({age})", subject.name, entry.name, entry.title);
        }
    }
    Ok(())
}

/// Measures an entry, prints its figures and keeps them; whether all of them meet their bars. What
/// the machine lacks is said, and is no failure.
fn measure(
    repository: &Repository,
    (subject, entry): (&Subject, &Entry),
    is_short: bool,
    sources: String,
) -> Result<bool> {
    let id = format!("{}.{}", subject.name, entry.name);
    let command = format!("cargo xtask lab {id}{}", if is_short { " --short" } else { "" });
    if let Some(reason) = tests::missing(entry.needs) {
        println!("{}", json!({ "id": id, "skipped": reason }));
        return Ok(true);
    }
    eprintln!("== {id}");
    let begun = Instant::now();
    let limit = LIMIT[usize::from(!is_short)];
    let lab = Lab::new(repository, is_short, Deadline::after(limit))?;
    // A panic, as of a helper to which the machine refuses something, is an error.
    let figures = match attempts::caught(|| (entry.run)(&lab)) {
        Ok(figures) => figures,
        Err(error) if error.is::<NotMeasured>() => {
            println!("{}", json!({ "id": id, "skipped": error.to_string() }));
            return Ok(true);
        }
        Err(error) => {
            println!("{}", json!({ "id": id, "error": format!("{error:#}"), "command": command }));
            return Ok(false);
        }
    };
    for Figure { what, value, unit, bar, note, parts, .. } in &figures {
        let (bar, ok) = (bar.to_string(), bar.holds(*value));
        let line = json!({
            "id": id, "what": what, "value": value, "unit": unit, "bar": bar, "ok": ok,
            "note": note, "parts": parts, "command": command,
        });
        println!("{line}");
    }
    let good = figures.iter().all(Figure::holds);
    let measured = Measured {
        is_short,
        commit: repository.state()?.label(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        machine: machine()?,
        sources,
        seconds: begun.elapsed().as_secs(),
        figures,
    };
    results::keep(repository, subject, entry, measured)?;
    Ok(good)
}

/// Kernel and processors of this machine.
fn machine() -> Result<String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").context("which kernel")?;
    let cores = std::thread::available_parallelism().context("how many processors")?;
    Ok(format!("Linux {}, {cores} processors", release.trim()))
}

/// What entries start as processes of their own.
fn part(arguments: &[String]) -> Result<bool> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["soak", ..] => drive_model::again(&arguments[1..]),
        ["pictures"] => pictures::renew(&Repository::here()?).map(|()| true),
        ["block-work", node, queue_depth, seconds, seed] => {
            speed::block_work(node, queue_depth.parse()?, seconds.parse()?, seed.parse()?)?;
            Ok(true)
        }
        [pace::GUEST_PART, ref drive_and_law @ ..] => {
            pace::guest_part(drive_and_law).map(|()| true)
        }
        _ => bail!("nothing is called {arguments:?}"),
    }
}
