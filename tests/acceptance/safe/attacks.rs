//! The table of attacks, `tests::hostile`: each row causes a loss with the program before the
//! safety work, and none with the current program.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

use crate::hostile::{Attack, Tool, attacks};
use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::acceptance::{Bar, Capture, Context, Finding, Raw};
use crate::steps::Deadline;
use crate::{Repository, earlier, process};

/// The last commit before the issue.
const BEFORE: &str = "d4ef086";
/// How many rows there must be.
const ROWS: f64 = 60.0;
/// The two programs, as names of captures.
const PROGRAMS: [&str; 2] = ["before", "now"];

/// What came of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    row: String,
    outcome: Outcome,
    /// What was lost, or why there is no answer.
    #[serde(default)]
    what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    /// Nothing was lost.
    Held,
    /// Something was.
    Lost,
    /// The machine lacks what the row needs.
    Skipped,
    /// The trap could not be set: the row says nothing of the program.
    NoTrap,
}

/// Runs the rows of these names on a program, or all, and prints a line of JSON for each, up to the
/// first that does not hold if `first` is wanted; whether all held that ran.
pub fn print(program: &Path, rows: &[String], first: bool) -> Result<bool> {
    let tool = Tool::new(program);
    let mut good = true;
    for row in rows {
        ensure!(attacks().any(|attack| attack.name == row), "no row is called `{row}`");
    }
    let is_wanted = |attack: &Attack| rows.is_empty() || rows.iter().any(|row| row == attack.name);
    for attack in attacks().filter(is_wanted) {
        let line = outcome(&attack, &tool);
        println!("{}", serde_json::to_string(&line).context("write a row")?);
        good &= matches!(line.outcome, Outcome::Held | Outcome::Skipped);
        if process::interrupted() || first && !good {
            break;
        }
    }
    Ok(good)
}

fn outcome(attack: &Attack, tool: &Tool) -> Line {
    let line = |outcome, what| Line { row: attack.name.to_owned(), outcome, what };
    if !crate::requires(attack.name, attack.needs) {
        return line(Outcome::Skipped, String::new());
    }
    // What a panic says goes to stderr, which is kept, too.
    match catch_unwind(AssertUnwindSafe(|| (attack.run)(tool))) {
        Ok(Ok(())) => line(Outcome::Held, String::new()),
        Ok(Err(lost)) => line(Outcome::Lost, lost),
        Err(_) => line(Outcome::NoTrap, "the trap could not be set".to_owned()),
    }
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let before = earlier::program(context.repository(), BEFORE);
    let advice =
        "the program of before takes minutes to build: `cargo xtask setup --for campaigns`";
    ensure!(before.exists() || !context.is_short(), "{advice}");
    earlier::build(context.repository(), BEFORE, Some(context.deadline()))?;
    context.alias(&before, "trimbench-before");
    let now = context.binary()?.to_owned();
    let xtask = std::env::current_exe().context("find this program")?;
    context.alias(&xtask, "xtask");
    for (name, program) in PROGRAMS.into_iter().zip([before, now]) {
        context.capture(name, Command::new(&xtask).arg("attacks").arg(program))?;
    }
    Ok(())
}

/// Builds the program of the commit before the issue, if it is not there.
pub fn build_before(repository: &Repository, deadline: Option<Deadline>) -> Result<()> {
    earlier::build(repository, BEFORE, deadline).map(drop)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let [before, now] = PROGRAMS.map(|name| rows(raw, name));
    let ((before_capture, before), (now_capture, now)) = (before?, now?);
    let shown = |name: &&String| {
        before[*name].outcome == Outcome::Lost
            && now.get(*name).is_some_and(|line| line.outcome == Outcome::Held)
    };
    let shown = before.keys().filter(shown).count();
    let named = |rows: &BTreeMap<String, Line>, wanted: &[Outcome]| -> Vec<String> {
        let rows = rows.values().filter(|line| wanted.contains(&line.outcome));
        let told = rows.map(|line| match line.what.as_str() {
            "" => line.row.clone(),
            what => format!("{} ({what})", line.row),
        });
        told.collect()
    };
    let none = |what: &str, rows: &[String], capture: &Capture| {
        let count = (rows.len() as f64, "");
        Finding::new(what, count, Bar::Equals(0.0), capture).with_note(&rows.join("; "))
    };
    let skipped = named(&now, &[Outcome::Skipped]);
    let skips = match &*skipped {
        [] => String::new(),
        some => format!("not shown, for the machine lacks what they need: {}", some.join(", ")),
    };
    Ok(vec![
        Finding::new(
            "rows that lost something before and do not now",
            (shown as f64, ""),
            Bar::AtLeast(ROWS),
            &now_capture,
        )
        .with_note(&skips),
        none(
            "rows that lose nothing with the program of before",
            &named(&before, &[Outcome::Held, Outcome::NoTrap]),
            &before_capture,
        ),
        none(
            "rows that lose something now",
            &named(&now, &[Outcome::Lost, Outcome::NoTrap]),
            &now_capture,
        ),
        none("rows without an answer of both", &unpaired(&before, &now), &now_capture),
    ])
}

/// What a program came to, by the rows' names. It ran to the end of the table.
fn rows(raw: &Raw, name: &str) -> Result<(Capture, BTreeMap<String, Line>)> {
    let capture = raw.capture(name)?;
    let text = raw.text(&capture.output)?;
    let lines: Vec<Line> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .with_context(|| format!("read the rows of {name}"))?;
    let count = lines.len();
    let rows: BTreeMap<String, Line> =
        lines.into_iter().map(|line| (line.row.clone(), line)).collect();
    ensure!(rows.len() == count, "two rows of {name} have one name");
    Ok((capture, rows))
}

fn unpaired(before: &BTreeMap<String, Line>, now: &BTreeMap<String, Line>) -> Vec<String> {
    let only = |some: &BTreeMap<String, Line>, other: &BTreeMap<String, Line>| -> Vec<String> {
        some.keys().filter(|name| !other.contains_key(*name)).cloned().collect()
    };
    [only(before, now), only(now, before)].concat()
}

#[cfg(test)]
mod tests;
