//! The test suite: passes in a clean clone, fails when a line of the source is wrong.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::checkout::{Clone, cloned};
use crate::acceptance::{Bar, Capture, Context, Finding, Raw};

/// A line that is right, and one that is wrong in its place.
struct Bug {
    name: &'static str,
    package: &'static str,
    file: &'static str,
    right: &'static str,
    wrong: &'static str,
}

const BUGS: [Bug; 2] = [
    // Each word of units that the collector moves counts one program too few.
    Bug {
        name: "collector",
        package: "trimbench-ssd",
        file: "crates/trimbench-ssd/src/gc.rs",
        right: "moved += bits.count_ones();",
        wrong: "moved += bits.count_ones() - 1;",
    },
    // The slope between two points is rise times run.
    Bug {
        name: "statistics",
        package: "trimbench-results",
        file: "crates/trimbench-results/src/statistics/lines.rs",
        right: "(run != 0.0).then(|| (to.1 - from.1) / run)",
        wrong: "(run != 0.0).then(|| (to.1 - from.1) * run)",
    },
];

/// The short form tests only the two packages that get a bug, and finds what others have built for
/// this checkout; the full one builds and tests everything.
pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let clone = Clone::make(context)?;
    let cargo = |arguments: &[&str]| {
        let mut command = clone.command("cargo", arguments);
        if context.is_short() {
            command.env("CARGO_TARGET_DIR", context.repository().target());
        }
        command
    };
    let [first, second] = BUGS.map(|bug| bug.package);
    let of_both = ["test", "--package", first, "--package", second];
    let all: &[&str] = if context.is_short() { &of_both } else { &["xtask", "test"] };
    context.capture("test", &mut cargo(all))?;
    for bug in BUGS {
        let path = clone.root().join(bug.file);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", bug.file))?;
        fs::write(&path, plant(&text, &bug)?).with_context(|| format!("write {}", bug.file))?;
        context.capture(&format!("{}-diff", bug.name), &mut clone.command("git", &["diff"]))?;
        let test = ["test", "--package", bug.package, "--no-fail-fast"];
        context.capture(bug.name, &mut cargo(&test))?;
        fs::write(&path, text).with_context(|| format!("write {}", bug.file))?;
    }
    Ok(())
}

/// The text with the bug in it.
fn plant(text: &str, bug: &Bug) -> Result<String> {
    let found = text.matches(bug.right).count();
    ensure!(found == 1, "{} holds `{}` {found} times, not once", bug.file, bug.right);
    Ok(text.replace(bug.right, bug.wrong))
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let test = raw.capture("test")?;
    let printed = raw.text(&test.output)?;
    let code = test.status.context("a signal ended the tests")?;
    let itself = raw.capture_itself("test")?;
    let mut findings =
        vec![Finding::new("exit code of the tests", (code.into(), ""), Bar::Equals(0.0), &itself)];
    findings.extend(if test.command.ends_with("xtask test") {
        whole(&printed, &test, &cloned(raw)?)?
    } else {
        two_packages(&printed, &test, &cloned(raw)?)?
    });
    let time = (test.elapsed_seconds, "s");
    findings.push(Finding::new("time of build and tests", time, Bar::AtMost(1_200.0), &itself));
    for bug in &BUGS {
        findings.push(red(raw, bug)?);
    }
    Ok(findings)
}

/// The full form: what the step `test` counted.
fn whole(printed: &str, test: &Capture, cloned: &str) -> Result<Vec<Finding>> {
    let counts = printed.lines().next_back().and_then(counts).context("no counts at the end")?;
    let refused = printed.lines().filter(|line| line.contains("skipped and is not listed in"));
    let skips: Vec<&str> =
        printed.lines().filter_map(|line| line.strip_prefix("skipped: ")).collect();
    let skips = if skips.is_empty() { "none".to_owned() } else { skips.join("; ") };
    let note = format!("{cloned}; skips: {skips}");
    let count = |what: &str, count: f64, bar| Finding::new(what, (count, ""), bar, test);
    Ok(vec![
        count("tests that failed", counts.failed, Bar::Equals(0.0)),
        count("tests that passed", counts.passed, Bar::AtLeast(150.0)).with_note(&note),
        count("skips that are not allowed", refused.count() as f64, Bar::Equals(0.0)),
    ])
}

/// The short form: what cargo printed of the two packages.
fn two_packages(printed: &str, test: &Capture, cloned: &str) -> Result<Vec<Finding>> {
    let summary = tally(printed);
    ensure!(summary.passed > 0.0, "no test ran");
    let count =
        |what: &str, count, bar| Finding::new(what, (count, ""), bar, test).with_note(cloned);
    Ok(vec![
        count("tests of the two packages that failed", summary.failed, Bar::Equals(0.0)),
        count("tests of the two packages that passed", summary.passed, Bar::AtLeast(50.0)),
    ])
}

/// How many tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    passed: f64,
    failed: f64,
}

/// Counts what cargo printed of test programs that ran. A build that broke counts nothing.
fn tally(printed: &str) -> Counts {
    let mut total = Counts::default();
    for line in printed.lines().filter(|line| line.starts_with("test result: ")) {
        // `test result: ok. 7 passed; 0 failed; 0 ignored; ...`
        let count = |word: &str| {
            let mut parts = line.split(['.', ';']);
            parts.find_map(|part| part.strip_suffix(word)?.trim().parse::<f64>().ok())
        };
        total.passed += count("passed").unwrap_or(0.0);
        total.failed += count("failed").unwrap_or(0.0);
    }
    total
}

/// The last line of the step `test`: `305 passed, 0 failed, 2 skipped`.
fn counts(line: &str) -> Option<Counts> {
    let mut parts = line.split(", ");
    let mut count = |word: &str| parts.next()?.strip_suffix(word)?.trim().parse().ok();
    Some(Counts { passed: count("passed")?, failed: count("failed")? })
}

/// How many tests a planted bug fails.
fn red(raw: &Raw, bug: &Bug) -> Result<Finding> {
    let capture: Capture = raw.capture(bug.name)?;
    let diff = raw.text(&raw.capture(&format!("{}-diff", bug.name))?.output)?;
    ensure!(diff.contains(bug.wrong), "the bug in {} was not planted", bug.file);
    let is_content = capture.status == Some(0);
    let summary = tally(&raw.text(&capture.output)?);
    // A bug that does not compile shows nothing of the tests.
    ensure!(summary.passed > 0.0, "no test of {} ran with the bug in it", bug.package);
    let figure = if is_content { 0.0 } else { summary.failed };
    let what = format!("tests that fail with a planted bug in {}", bug.file);
    let note = format!("`{}` in the place of `{}`", bug.wrong, bug.right);
    Ok(Finding::new(&what, (figure, ""), Bar::AtLeast(1.0), &capture).with_note(&note))
}

#[cfg(test)]
mod tests;
