//! Attempts to destroy targets that were not named, through the command line and through the
//! library.
//!
//! The table is that of the tests, `tests/obstacles.rs`: each row sets a scene on images and
//! devices of its own. What happens between looking and claiming cannot be timed from outside the
//! program; these rows, and the disk with the running system, are attempted by the library's own
//! test, which writes nothing when it is let through by mistake.

use std::fs;
use std::process::Command;

use crate::obstacles::{ATTEMPTS, Attempt, Scene};
use crate::requires;
use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use trimbench_core::exit;

use crate::acceptance::{Bar, Capture, Context, Finding, Form, Raw};

/// Attempts, at least.
const ATTEMPTS_MIN: f64 = 15.0;
/// What the command line did with each row.
const ROWS: &str = "attempts";
/// The library's test over all rows.
const TEST: &str = "each_attempt_is_refused_changes_nothing_and_succeeds_without_its_obstacle";
/// Few enough bytes for images of 8 MiB and partitions of 2 MiB.
const OPTIONS: &[&str] = &["region=1MiB", "guard=64KiB", "cases=shares", "shares=50%"];
/// Never attempted by a program that would write if it were let through.
const NEVER_RUN: &str = "root_disk";

/// A row as it was attempted.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    name: String,
    /// Why it was not attempted by the command line; empty if it was.
    left_out: String,
    /// Checksums of all witnesses, before the attempt and after.
    before: Vec<u64>,
    after: Vec<u64>,
    /// The same around the attempt without the obstacle; `None` where there is none.
    lifted: Option<(Vec<u64>, Vec<u64>)>,
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "loop devices need root");
    let attempted =
        |attempt: &Attempt| attempted(context, attempt).with_context(|| attempt.name.to_owned());
    context.keep(ROWS, || ATTEMPTS.iter().map(attempted).collect())?;
    if context.form() == Form::Acceptance {
        // It is a test beside this one.
        return Ok(());
    }
    // The profile that this program is built with: most of it is there.
    let package = ["test", "--release", "--package", "tests", "--test", "safety"];
    let arguments = [&package[..], &["--", "--nocapture", TEST]].concat();
    context.capture("library", &mut context.repository().command("cargo", &arguments)).map(|_| ())
}

/// Attempts a row, and attempts it again without its obstacle.
fn attempted(context: &Context<'_>, attempt: &Attempt) -> Result<Row> {
    let mut row = Row {
        name: attempt.name.to_owned(),
        left_out: String::new(),
        before: Vec::new(),
        after: Vec::new(),
        lifted: None,
    };
    if attempt.name == NEVER_RUN {
        "it is the running system's disk".clone_into(&mut row.left_out);
        return Ok(row);
    }
    if !requires(attempt.name, attempt.needs) {
        "the machine lacks what it needs".clone_into(&mut row.left_out);
        return Ok(row);
    }
    let mut scene = attempt.scene();
    let folder = scene.folder();
    context.alias(&folder, "$SCENE");
    if scene.meanwhile.is_some() {
        "something happens between looking and claiming".clone_into(&mut row.left_out);
        return Ok(row);
    }
    row.before = scene.checksums();
    context.capture(&format!("{}-refused", row.name), &mut command(context, &row, &scene)?)?;
    row.after = scene.checksums();
    if scene.lift() {
        let before = scene.checksums();
        context.capture(&format!("{}-lifted", row.name), &mut command(context, &row, &scene)?)?;
        row.lifted = Some((before, scene.checksums()));
    }
    Ok(row)
}

fn command(context: &Context<'_>, row: &Row, scene: &Scene) -> Result<Command> {
    let output = context.folder().join("runs").join(&row.name);
    // A run that was refused leaves none.
    if output.exists() {
        fs::remove_dir_all(&output).context("remove the record of a run")?;
    }
    let mut command = context.run("trim-integrity", &scene.target, OPTIONS)?;
    for path in &scene.destroy {
        command.arg("--destroy").arg(path);
    }
    // Without a name for what is to be destroyed, no signature can be confirmed either.
    if !scene.destroy.is_empty() {
        for signature in &scene.signatures {
            command.args(["--overwrite-signature", signature]);
        }
        if scene.sole_user {
            command.arg("--sole-user");
        }
    }
    command.arg("--output").arg(output);
    Ok(command)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let (kept, rows): (_, Vec<Row>) = raw.lines(ROWS)?;
    let (attempted, left_out): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| row.left_out.is_empty());
    let first = attempted.first().context("nothing was attempted")?;
    let shown = raw.capture(&format!("{}-refused", first.name))?;
    let mut findings = Vec::new();
    let finding = |what: &str, figure: usize, bar| {
        Finding::new(what, (figure as f64, ""), bar, &shown).from_file(&kept.output)
    };
    let all = Bar::Equals(attempted.len() as f64);
    let names: Vec<&str> = attempted.iter().map(|row| row.name.as_str()).collect();
    let what = "attempts by the command line to destroy what was not named";
    let count = finding(what, attempted.len(), Bar::AtLeast(ATTEMPTS_MIN));
    findings.push(count.with_note(&names.join(", ")));
    let refused = split(&attempted, |row| {
        let capture = raw.capture(&format!("{}-refused", row.name))?;
        Ok(capture.status == Some(exit::TARGET.into()) && gives_a_reason(raw, &capture)?)
    })?;
    let what = "of these refused with exit code 3 and a reason";
    findings.push(finding(what, refused.0, all).with_note(&others(&refused.1)));
    let unchanged = split(&attempted, |row| Ok(row.before == row.after))?;
    let what = "of these with every checksum as it was";
    findings.push(finding(what, unchanged.0, all).with_note(&others(&unchanged.1)));
    let lifted: Vec<&Row> = attempted.iter().filter(|row| row.lifted.is_some()).collect();
    let bar = Bar::Equals(lifted.len() as f64);
    let let_through = split(lifted, |row| {
        let capture = raw.capture(&format!("{}-lifted", row.name))?;
        let is_written = row.lifted.as_ref().is_some_and(|(before, after)| before != after);
        Ok(capture.status == Some(exit::DONE.into()) && is_written)
    })?;
    let what = "attempts that succeed and write once the obstacle is gone";
    findings.push(finding(what, let_through.0, bar).with_note(&others(&let_through.1)));
    if raw.form() != Form::Acceptance {
        findings.extend(library(raw, &left_out)?);
    }
    Ok(findings)
}

/// Whether the program said why, and what to do.
fn gives_a_reason(raw: &Raw, capture: &Capture) -> Result<bool> {
    let errors = raw.text(&capture.errors)?;
    Ok(errors.lines().any(|line| line.starts_with("error: ")))
}

/// How many rows are as they should be, and the names of the others.
fn split<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    is_right: impl Fn(&Row) -> Result<bool>,
) -> Result<(usize, Vec<&'a str>)> {
    let (mut right, mut wrong) = (0, Vec::new());
    for row in rows {
        if is_right(row)? {
            right += 1;
        } else {
            wrong.push(row.name.as_str());
        }
    }
    Ok((right, wrong))
}

fn others(names: &[&str]) -> String {
    if names.is_empty() { String::new() } else { format!("not: {}", names.join(", ")) }
}

/// What the library's test says of all rows, and of those that only it attempts.
fn library(raw: &Raw, left_out: &[Row]) -> Result<[Finding; 2]> {
    let capture = raw.capture("library")?;
    let printed = raw.text(&capture.output)?;
    let Some(code) = capture.status else { bail!("a signal ended the library's test") };
    // A row of its table: name, refusal, reason.
    let is_printed = |row: &&Row| {
        let words = printed.lines().map(|line| line.split_whitespace().next().unwrap_or_default());
        words.into_iter().any(|word| word == row.name)
    };
    let attempted: Vec<&Row> = left_out.iter().filter(is_printed).collect();
    let note = left_out.iter().map(|row| format!("{}: {}", row.name, row.left_out));
    let note = note.collect::<Vec<_>>().join("; ");
    let itself = raw.capture_itself("library")?;
    Ok([
        Finding::new(
            "exit code of the library's test, which attempts every row and checks the same",
            (code.into(), ""),
            Bar::Equals(0.0),
            &itself,
        ),
        Finding::new(
            "rows that are left to the library's test and were refused in it",
            (attempted.len() as f64, ""),
            Bar::Equals(left_out.len() as f64),
            &capture,
        )
        .with_note(&note),
    ])
}

#[cfg(test)]
mod tests;
