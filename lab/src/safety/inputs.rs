//! Damaged inputs for every reader: the harnesses of `tests/fuzz`, for long.
//!
//! They run as tests are built: an overflow or a broken invariant, which the program that users
//! have would not notice, is a panic. Inputs are drawn anew each time; a harness that fails prints
//! the input and its seed.

use std::thread;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use tests::program::BuiltProgram;
use xtask::process;

use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "inputs",
    title: "Damaged inputs for readers of traces, records, profiles and the command line, and \
            hostile texts in reports: panics, hangs and broken laws",
    needs: &[],
    sources: &[
        "crates/trimbench-core",
        "crates/trimbench-trace",
        "crates/trimbench-results",
        "crates/trimbench-ssd",
        "crates/trimbench-devices",
        "crates/trimbench-policy",
        "crates/trimbench-methods",
        "crates/trimbench-report",
    ],
    run,
};

/// Harnesses, as the module that each is in and a part of its name, and how many thousand inputs
/// each reads: a trace is read in a fraction of the time of the others.
const HARNESSES: [(&str, u64); 6] = [
    ("traces::damaged", 4_000),
    ("records::damaged", 2_000),
    ("profiles::damaged", 2_000),
    ("options::damaged_texts", 1_500),
    ("options::damaged_settings", 500),
    ("reports::no_text", 200),
];
/// Of that many the short form reads one.
const SHORT: u64 = 100;
/// The most memory that a harness may take with all that it reads.
const MEMORY_MAX_MIB: f64 = 256.0;

/// What a harness says in the end.
#[derive(Clone, Debug, Deserialize)]
struct InputsRead {
    harness: String,
    read: u64,
    understood: u64,
    memory_kib: u64,
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let arguments = ["test", "--quiet", "--package", "tests", "--test", "fuzz"];
    let mut build = lab.repository().command("cargo", &[&arguments[..], &["--no-run"]].concat());
    process::run_well(&mut build, Some(lab.deadline()))?;
    let (repository, cargo) = (lab.repository(), BuiltProgram::at("cargo").until(lab.deadline()));
    let workers = thread::available_parallelism().map_or(1, usize::from) as u64;
    let part = lab.form(SHORT, 1) * workers;
    // What came of one harness: an error says what was found.
    let read = |(harness, thousands): (&str, u64)| -> Result<InputsRead> {
        let only = ["--", harness, "--nocapture"];
        let mut command = repository.command("cargo", &[&arguments[..], &only].concat());
        command.env("BOLERO_RANDOM_ITERATIONS", (thousands * 1_000).div_ceil(part).to_string());
        let output = cargo.call_well(&mut command)?;
        let said = output.stdout.find("{\"harness\"").map(|at| &output.stdout[at..]);
        let said = said.and_then(|said| said.lines().next()).context("it said nothing")?;
        serde_json::from_str(said).with_context(|| format!("read `{said}`"))
    };
    let work = || HARNESSES.map(read);
    let came: Vec<Result<InputsRead>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|it| it.join().expect("no panic")).collect()
    });
    let failures: Vec<String> =
        came.iter().filter_map(|it| Some(format!("{:#}", it.as_ref().err()?))).collect();
    let said: Vec<InputsRead> = came.into_iter().flatten().collect();
    let least: u64 = HARNESSES.iter().map(|(_, thousands)| thousands * 1_000).sum();
    let least = least / lab.form(SHORT, 1);
    let inputs: u64 = said.iter().map(|it| it.read).sum();
    let memory = said.iter().map(|it| it.memory_kib).max().unwrap_or(0) as f64 / 1024.0;
    let understood: Vec<String> =
        said.iter().map(|it| format!("{}: {} of {}", it.harness, it.understood, it.read)).collect();
    Ok(vec![
        Figure::new("inputs read", (inputs as f64, ""), Bar::AtLeast(least as f64))
            .with_note(format!("understood, by harness and processor: {}", understood.join("; "))),
        Figure::new("harnesses that failed", (failures.len() as f64, ""), Bar::Equals(0.0))
            .with_note(failures.join("; ")),
        Figure::new("most memory", (memory, "MiB"), Bar::AtMost(MEMORY_MAX_MIB)),
    ])
}
