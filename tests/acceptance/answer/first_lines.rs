//! What `trimbench run` prints in 80 columns: the verdicts and the table first, nothing twice; and
//! the block of the README that shows them.

use std::fs;

use anyhow::{Context as _, Result};
use trimbench_methods::{BY_NAME_ONLY, METHODS};

use crate::acceptance::{Bar, Context, Finding, Raw};

#[cfg(test)]
mod tests;

/// Lines of a small terminal.
const SCREEN: usize = 24;
/// What `cargo run` prints before the program: `Finished` and `Running`.
const OF_CARGO: usize = 2;
/// Lines of the whole output, stderr and cargo included.
const LINES_MAX: usize = 80;
/// Columns off a terminal.
const COLUMNS: usize = 80;
/// The drives of a run without arguments.
const DRIVES: usize = 4;
/// Hexadecimal digits from which on a word is a hash.
const HASH_MIN: usize = 12;
/// A line of fewer characters may stand twice: a rule, a name.
const SAID_MIN: usize = 30;
const README: &str = "README.md";

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let readme = fs::read(context.repository().root().join(README)).context("read the README")?;
    fs::write(context.folder().join(README), readme).context("keep the README")?;
    let mut run = context.trimbench(&["run", "--jobs", "2", "--output", "run"])?;
    // The output names the run's directory, and the README's is of a UTF-8 terminal.
    run.current_dir(context.folder()).env("LC_ALL", "C.UTF-8");
    context.capture("run", &mut run).map(drop)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.capture("run")?;
    let (output, errors) = (raw.text(&run.output)?, raw.text(&run.errors)?);
    let printed: Vec<&str> = output.lines().collect();
    let first = &printed[..printed.len().min(SCREEN - OF_CARGO)];
    let answers = [
        "mount with `discard`",
        "weekly `fstrim`",
        "smaller discards",
        "either will do",
        "leave TRIM off",
    ];
    let has_answer = |line: &str| {
        let behind = line.split_once("  ").map_or("", |(_, rest)| rest.trim_start());
        answers.iter().any(|answer| behind.starts_with(answer))
    };
    let verdicts = first.iter().take_while(|line| has_answer(line)).count();
    let methods = METHODS.iter().filter(|method| !BY_NAME_ONLY.contains(&method.id));
    let methods: Vec<String> = methods.map(|method| format!("{} ", method.id)).collect();
    let rows = methods.iter().filter(|method| first.iter().any(|line| line.starts_with(*method)));
    let widest = printed.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let finding = |what: &str, count: usize, bar: Bar| {
        Finding::new(what, (count as f64, ""), bar, &run).from_file(&run.output)
    };
    let readme = raw.text(README)?;
    let block = readme_block(&readme)?;
    let missing: Vec<&str> = block.lines().filter(|line| !printed.contains(line)).collect();
    Ok(vec![
        finding("verdicts with an answer before all else", verdicts, exactly(DRIVES)),
        finding(
            "methods in the table within the first 24 lines, cargo's 2 included",
            rows.count(),
            exactly(methods.len()),
        ),
        finding(
            "lines of the whole output, stderr and cargo's 2 included",
            printed.len() + errors.lines().count() + OF_CARGO,
            at_most(LINES_MAX),
        ),
        finding("columns of the widest line", widest, at_most(COLUMNS)),
        finding("hashes", hashes(&output), exactly(0)),
        finding("lines that are said twice", said_twice(&printed), exactly(0)),
        finding("lines of the README's table that are not printed", missing.len(), exactly(0))
            .with_note(missing.first().unwrap_or(&"")),
        finding(
            "methods in the README's table",
            methods.iter().filter(|it| block.lines().any(|line| line.starts_with(*it))).count(),
            exactly(methods.len()),
        ),
    ])
}

fn exactly(count: usize) -> Bar {
    Bar::Equals(count as f64)
}

fn at_most(count: usize) -> Bar {
    Bar::AtMost(count as f64)
}

/// The block of the README that shows a run without arguments: the one with the table.
fn readme_block(readme: &str) -> Result<&str> {
    let blocks = readme.split("```text\n").skip(1);
    let mut blocks = blocks.filter_map(|rest| Some(rest.split_once("```")?.0));
    blocks.find(|block| block.contains("\nmethod ")).context("the README has no table of a run")
}

fn hashes(output: &str) -> usize {
    let words = output.split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_hash = |word: &&str| {
        word.len() >= HASH_MIN && word.chars().all(|letter| letter.is_ascii_hexdigit())
    };
    words.filter(is_hash).count()
}

fn said_twice(printed: &[&str]) -> usize {
    let long = printed.iter().enumerate().filter(|(_, line)| line.chars().count() >= SAID_MIN);
    long.filter(|(index, line)| printed[..*index].contains(line)).count()
}
