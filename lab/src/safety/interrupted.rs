//! Runs that are ended from outside, by a kill or a power cut, and what must be there afterwards:
//! the record is held against what the run had acknowledged, reported, and gone on with.

pub(super) mod record;
pub(super) mod variant;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tests::program::{BuiltProgram, Output};
use trimbench_core::exit;
use trimbench_results::RunRecord;

use crate::figure::{Bar, Figure};
use crate::lab::Lab;
use record::{Progress, check, check_resumed, names};
use variant::{Makes, Scene, Variant};

/// How often the next start may find the target in use, and the pause before another.
const REFUSALS: u64 = 3;
const PAUSE: Duration = Duration::from_millis(500);
/// The capacity of the drive that the trace which is converted was made for.
const TRACE_CAPACITY: &str = "4GiB";

/// What writes records and traces, goes on with them, and removes what killed runs left.
pub(super) const SOURCES: &[&str] = &[
    "crates/trimbench/src/commands.rs",
    "crates/trimbench/src/trace",
    "crates/trimbench-app/src/run.rs",
    "crates/trimbench-app/src/store.rs",
    "crates/trimbench-claim/src/output",
    "crates/trimbench-linux/src/directory",
    "crates/trimbench-linux/src/mkfs",
    "crates/trimbench-linux/src/tracepoints",
    "lab/src/safety/interrupted",
];

/// What all attempts share.
#[derive(Debug)]
pub(super) struct Bench {
    program: BuiltProgram,
    /// The trace that is converted.
    input: PathBuf,
}

impl Bench {
    pub(super) fn new(lab: &Lab<'_>) -> Result<Self> {
        let bench =
            Self { program: lab.program()?.clone(), input: lab.folder().join("input.trace") };
        let input = text(&bench.input)?;
        let make = ["trace", "generate", input, "--to", "trimbench", "--capacity", TRACE_CAPACITY];
        bench.run(&make, lab.folder())?.expect_status(exit::DONE)?;
        Ok(bench)
    }

    /// The program in `folder`, whose temporary directory is `tmp` in it.
    pub(super) fn command(&self, arguments: &[impl AsRef<str>], folder: &Path) -> Command {
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        let mut command = self.program.command(&arguments);
        command.current_dir(folder).env("TMPDIR", folder.join("tmp")).stdin(Stdio::null());
        command
    }

    /// The trace that is converted.
    pub(super) fn input(&self) -> &Path {
        &self.input
    }

    /// Runs it to its end.
    pub(super) fn run(&self, arguments: &[impl AsRef<str>], folder: &Path) -> Result<Output> {
        self.program.call(&mut self.command(arguments, folder))
    }
}

/// What came of an attempt.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// What was run, on what, and the moment at which it was ended, in words.
    pub(super) what: String,
    /// How many things the killed run held that must be gone after the next start.
    pub(super) held: usize,
    /// Whether there was a record or an output.
    pub(super) is_kept: bool,
    /// How often the next start found the target still in use.
    pub(super) refused: u64,
    /// What was wrong.
    pub(super) wrong: Vec<String>,
}

/// How many attempts there were, at least `least`.
pub(super) fn count(what: &str, outcomes: &[Outcome], least: u64) -> Figure {
    let kept = outcomes.iter().filter(|outcome| outcome.is_kept).count();
    let held: usize = outcomes.iter().map(|outcome| outcome.held).sum();
    let refused = outcomes.iter().filter(|outcome| outcome.refused > 0).count();
    let note = format!(
        "{kept} after something was kept; {held} things were held; {refused} next starts found the \
         target still in use at first"
    );
    let count = (outcomes.len() as f64, "");
    Figure::new(what, count, Bar::AtLeast(least as f64)).with_note(note)
}

/// After how many of them something was wrong: none.
pub(super) fn wrong<'a>(what: &str, outcomes: impl Iterator<Item = &'a Outcome>) -> Figure {
    let wrong: Vec<&Outcome> = outcomes.filter(|outcome| !outcome.wrong.is_empty()).collect();
    let note = wrong
        .first()
        .map(|outcome| format!("{}: {}", outcome.what, outcome.wrong.join("; ")))
        .unwrap_or_default();
    Figure::new(what, (wrong.len() as f64, ""), Bar::Equals(0.0)).with_note(note)
}

/// A run that was ended from outside, to be gone on with.
#[derive(Debug)]
pub(super) struct Resumed<'a> {
    pub(super) bench: &'a Bench,
    pub(super) scene: &'a Scene,
    /// The directory of the run.
    pub(super) output: &'a Path,
}

impl Resumed<'_> {
    /// Looks at the record, reports it, goes on with the run, and looks again.
    pub(super) fn check(
        &self,
        variant: &Variant,
        reference: (&RunRecord, bool),
        least: Progress,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let path = self.output.join("run.json");
        outcome.is_kept = path.exists();
        let mut before = None;
        let next = if outcome.is_kept {
            let read = |name: &str| fs::read(self.output.join(name)).unwrap_or_default();
            match check((&read("run.json"), &read("steps.ndjson")), reference, least) {
                Ok(record) => before = Some(record),
                Err(what) => outcome.wrong.push(what),
            }
            let report = self.bench.run(&["report", text(self.output)?], self.scene.folder())?;
            outcome.wrong.extend(unended("the report", &report));
            self.scene.resume(self.output)
        } else {
            if least > Progress::default() {
                outcome.wrong.push("there is no record of what was kept".to_owned());
            }
            self.scene.begin(variant, self.output)
        };
        let host = fs::read(self.output.join("host.json"));
        if host.is_ok_and(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).is_err()) {
            outcome.wrong.push("half of host.json".to_owned());
        }
        if let Some(wrong) = unended("the next start", &self.start(&next, outcome)?) {
            outcome.wrong.push(wrong);
            return Ok(());
        }
        match fs::read(&path).map(|bytes| RunRecord::from_json(&bytes)) {
            Ok(Ok(whole)) => {
                outcome.wrong.extend(check_resumed(&whole, before.as_ref(), reference.0).err());
            }
            unread => outcome.wrong.push(format!("the resumed record: {unread:?}")),
        }
        if variant.makes == Makes::Record && before.as_ref().is_some_and(was_finished) {
            // There was nothing to go on with, and the target was not touched: this is the next
            // start in its place.
            let again = self.output.with_file_name("again");
            let ended = self.start(&self.scene.begin(variant, &again), outcome)?;
            outcome.wrong.extend(unended("a new run", &ended));
            let _ = fs::remove_dir_all(&again);
        }
        let is_left = |name: &String| !["host.json", "run.json"].contains(&name.as_str());
        outcome.wrong.extend(left(names(self.output).into_iter().filter(is_left)));
        Ok(())
    }

    /// The next start. Where others that start at this moment are still unmounting what the killed
    /// run left, the target is in use for some milliseconds more, and that is said.
    fn start(&self, arguments: &[String], outcome: &mut Outcome) -> Result<Output> {
        loop {
            let ended = self.bench.run(arguments, self.scene.folder())?;
            let is_in_use = ended.status == Some(i32::from(exit::TARGET))
                && ended.complaint().contains("is in use");
            if !is_in_use || outcome.refused == REFUSALS {
                return Ok(ended);
            }
            outcome.refused += 1;
            thread::sleep(PAUSE);
        }
    }
}

/// What is wrong unless a run came to its end. Measured figures may be invalid on a busy machine.
fn unended(what: &str, output: &Output) -> Option<String> {
    let is_good = matches!(output.status, Some(0 | 4));
    (!is_good).then(|| format!("{what}: {:?}: {}", output.status, output.complaint()))
}

/// Whether every session of a record was.
fn was_finished(record: &RunRecord) -> bool {
    let finished = record.sessions.iter().filter(|session| session.finished).count();
    finished == record.plan.len()
}

/// That these names are left.
pub(super) fn left(names: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    names.map(|name| format!("`{name}` is left"))
}

/// A path of ours: temporary names are ASCII.
pub(super) fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}
