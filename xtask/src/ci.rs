//! Step `ci`: every step that must be green, in one program. `.ci/run` calls it.
//!
//! A failed step does not keep the others from running. The last line is that of step `test`.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::process::{output, run_well};
use crate::steps::{Deadline, seconds, timed};
use crate::verify::{self, SkipSummary};
use crate::{Repository, process, tidy};

/// After this long everything that still runs is ended, and the run has failed. Three times what a
/// run takes on a calm machine: on a shared host it can take more than twice as long.
const LIMIT: Duration = Duration::from_secs(45 * 60);

/// One profile for all steps: the build scripts of dependencies, of which one compiles C, run once.
const PROFILE: &str = "--profile=test";

/// Runs every step; whether all were good.
pub fn run(repository: &Repository) -> Result<bool> {
    let deadline = Deadline::after(LIMIT);
    let mut all = Steps { deadline, done: Vec::new() };
    let cargo = |arguments: &[&str]| {
        run_well(&mut repository.command("cargo", arguments), Some(deadline)).map(|_| ())
    };
    all.step("versions", || versions(repository))?;
    all.step("fmt", || cargo(&["fmt", "--all", "--check"]))?;
    all.step("clippy", || {
        cargo(&["clippy", "--workspace", "--all-targets", PROFILE, "--", "-D", "warnings"])
    })?;
    all.step("rustdoc", || rustdoc(repository, deadline))?;
    all.step("tidy", || good(tidy::run(repository)?))?;
    let mut summary = SkipSummary { failed: 1, ..SkipSummary::default() };
    all.step("test", || {
        summary = verify::run(repository, Some(deadline))?;
        good(summary.is_good())
    })?;
    let all_good = all.report();
    summary.print();
    Ok(all_good)
}

/// The steps so far.
struct Steps {
    deadline: Deadline,
    /// Name, time, and whether it was good.
    done: Vec<(&'static str, Duration, bool)>,
}

impl Steps {
    /// Runs a step, unless the time is over. Only the user's interrupt stops the others.
    fn step(&mut self, name: &'static str, step: impl FnOnce() -> Result<()>) -> Result<()> {
        let deadline = self.deadline;
        let (outcome, span) = timed(name, || {
            ensure!(!deadline.remaining().is_zero(), "{} are over", seconds(LIMIT));
            step()
        });
        if let Err(error) = &outcome {
            println!("error: {name}: {error:#}");
        }
        self.done.push((name, span, outcome.is_ok()));
        if process::interrupted() { outcome } else { Ok(()) }
    }

    /// Prints a line a step; whether all were good and in time.
    fn report(&self) -> bool {
        println!("== steps");
        for (name, span, good) in &self.done {
            println!("{name:<10} {:>8}  {}", seconds(*span), if *good { "ok" } else { "FAILED" });
        }
        let in_time = !self.deadline.remaining().is_zero();
        if !in_time {
            println!("error: the limit of {} is over", seconds(LIMIT));
        }
        in_time && self.done.iter().all(|(_, _, good)| *good)
    }
}

fn good(is_good: bool) -> Result<()> {
    if is_good { Ok(()) } else { bail!("see above") }
}

fn versions(repository: &Repository) -> Result<()> {
    for (program, argument) in [("rustc", "--version"), ("cargo", "--version"), ("uname", "-srm")] {
        print!("{}", output(Command::new(program).arg(argument))?);
    }
    let cores = std::thread::available_parallelism()?;
    println!("{cores} cores; sources {}", repository.state()?.label());
    Ok(())
}

fn rustdoc(repository: &Repository, deadline: Deadline) -> Result<()> {
    let arguments = ["doc", PROFILE, "--workspace", "--no-deps", "--document-private-items"];
    let mut command = repository.command("cargo", &arguments);
    command.env("RUSTDOCFLAGS", "-D warnings");
    run_well(&mut command, Some(deadline)).map(|_| ())
}

#[cfg(test)]
mod tests;
