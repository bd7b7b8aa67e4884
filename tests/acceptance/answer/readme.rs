//! "Discard or fstrim?", done from the README alone, on an ext4 on a loop device.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use trimbench_core::rng::Rng;
use trimbench_results::{Action, RunRecord, Session, advise};

use crate::LoopFilesystem;
use crate::acceptance::{Bar, Context, Finding, Raw};

#[cfg(test)]
mod tests;

const README: &str = "README.md";
const HEADING: &str = "## Discard or fstrim?";
/// What the README calls the program, and the filesystem.
const PROGRAM: &str = "cargo run --release --";
const MOUNTED: &str = "/mnt/data";
/// The filesystem's size, MiB, and the files that are there before.
const MEBIBYTES: u64 = 6_144;
const FILES: u64 = 20;
const FILE_BYTES: usize = 100_000;
/// The README's five minutes, s.
const SECONDS_MAX: f64 = 300.0;
/// What the short form adds to the command that measures.
const SHORT: &str = " --set repetitions=1";

/// What became of the files that were there, and of the directory.
#[derive(Debug, Deserialize, Serialize)]
struct Left {
    /// Files that changed or are gone.
    harmed: u64,
    /// Entries that are new.
    new: u64,
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let readme = context.repository().root().join(README);
    let readme = fs::read_to_string(readme).context("read the README")?;
    fs::write(context.folder().join(README), &readme).context("keep the README")?;
    let disk = context.root_folder()?;
    let filesystem = LoopFilesystem::within(disk.path(), "ext4", MEBIBYTES, "nodiscard");
    context.alias(filesystem.path(), MOUNTED);
    let content = write_files(filesystem.path())?;
    let place = filesystem.path().to_str().context("a path of UTF-8")?;
    let program = context.binary()?.to_str().context("a path of UTF-8")?.to_owned();
    let mut script = commands(&readme)?.replace(PROGRAM, &program).replace(MOUNTED, place);
    if context.is_short() {
        script = script.trim_end().to_owned() + SHORT;
    }
    // Where the reader is: trimbench keeps its record there, and on no disk that it measures.
    let here = context.memory_folder()?;
    let mut shell = Command::new("sh");
    shell.args(["-ec", &script]).current_dir(here.path());
    context.capture("readme", &mut shell)?;
    let left = left(filesystem.path(), &content)?;
    fs::write(context.folder().join("left.json"), serde_json::to_vec(&left)?)?;
    let runs = fs::read_dir(here.path().join("trimbench-runs")).context("no run was kept")?;
    let run = runs.flatten().next().context("no run was kept")?.path();
    fs::copy(run.join("run.json"), context.folder().join("run.json")).context("keep the record")?;
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.capture("readme")?;
    let section = section(&raw.text(README)?)?.to_owned();
    let output = raw.text(&run.output)?;
    let record = raw.record("run.json")?;
    let promised = promised(&section);
    ensure!(!promised.is_empty(), "the README names no method that its command runs");
    let measured = |method: &&String| record.sessions.iter().any(|it| has_result(it, method));
    let left: Left = serde_json::from_slice(&raw.bytes("left.json")?)?;
    let count =
        |what: &str, count: usize, bar: Bar| Finding::new(what, (count as f64, ""), bar, &run);
    // Or what is to be kept, where nothing has to change.
    let is_typed =
        |line: &&str| ["  # ", "  in /", "  already "].iter().any(|it| line.starts_with(it));
    let typed = output.lines().filter(is_typed).count();
    let mut findings = vec![
        count(
            "methods that the README names, and that have a result",
            promised.iter().filter(measured).count(),
            Bar::Equals(promised.len() as f64),
        )
        .from_file("run.json"),
        count(
            "methods that have one and that it does not name",
            unnamed(&record, &promised),
            Bar::Equals(0.0),
        )
        .from_file("run.json"),
        Finding::new("files harmed", (left.harmed as f64, ""), Bar::Equals(0.0), &run)
            .from_file("left.json"),
        Finding::new("files left behind", (left.new as f64, ""), Bar::Equals(0.0), &run)
            .from_file("left.json"),
        Finding::new(
            "from the first command to the answer",
            (run.elapsed_seconds, "s"),
            Bar::AtMost(SECONDS_MAX),
            &raw.capture_itself("readme")?,
        ),
    ];
    // One repetition gives no interval, and so no answer.
    if !raw.is_short() {
        let answers = answers(&record);
        findings.push(count("cards with an answer", answers.len(), Bar::Equals(1.0)));
        let said = answers.iter().filter(|answer| output.lines().any(|it| it.contains(*answer)));
        findings.push(count("of them printed", said.count(), Bar::Equals(1.0)));
        let either = answers.iter().any(|answer| *answer == Action::EitherWillDo.short());
        let least = if either { 0.0 } else { 1.0 };
        findings.push(count("lines to type", typed, Bar::AtLeast(least)));
    }
    Ok(findings)
}

/// The section that answers.
fn section(readme: &str) -> Result<&str> {
    let (_, rest) = readme.split_once(HEADING).context("the README has no such section")?;
    Ok(rest.split("\n## ").next().unwrap_or(rest))
}

/// Its first block of commands.
fn commands(readme: &str) -> Result<&str> {
    let (_, rest) =
        section(readme)?.split_once("```sh\n").context("the section has no commands")?;
    Ok(rest.split("```").next().unwrap_or(rest))
}

/// The methods that the section's first sentence behind the commands names.
fn promised(section: &str) -> Vec<String> {
    let prose = section.split("```").nth(2).unwrap_or_default();
    let sentence = prose.split(". ").next().unwrap_or_default();
    let quoted = sentence.split('`').skip(1).step_by(2);
    let is_method = |name: &&str| trimbench_methods::METHODS.iter().any(|it| it.id == *name);
    quoted.filter(is_method).map(str::to_owned).collect()
}

fn has_result(session: &Session, method: &str) -> bool {
    session.plan.method == method && session.finished && session.headline().is_some()
}

/// Methods with a result that are not among these.
fn unnamed(record: &RunRecord, promised: &[String]) -> usize {
    let done = record.sessions.iter().filter(|it| it.left_out.is_none());
    done.filter(|it| !promised.contains(&it.plan.method)).count()
}

/// The answers of the card, in a few words.
fn answers(record: &RunRecord) -> Vec<String> {
    let sessions: Vec<&Session> = record.sessions.iter().collect();
    let advice = advise(&sessions);
    let answer = advice.action.is_recommendation().then(|| advice.action.short().to_owned());
    answer.into_iter().collect()
}

/// Files of random bytes, which are returned.
fn write_files(place: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut rng = Rng::new(1);
    let mut file = |index: u64| {
        let bytes: Vec<u8> = (0..FILE_BYTES / 8).flat_map(|_| rng.bits().to_le_bytes()).collect();
        let name = format!("file-{index}");
        fs::write(place.join(&name), &bytes).context("write a file")?;
        Ok((name, bytes))
    };
    (0..FILES).map(&mut file).collect()
}

fn left(place: &Path, content: &[(String, Vec<u8>)]) -> Result<Left> {
    let whole = |(name, bytes): &&(String, Vec<u8>)| {
        fs::read(place.join(name)).is_ok_and(|found| found == *bytes)
    };
    let harmed = content.len() - content.iter().filter(whole).count();
    let known = |name: &str| name == "lost+found" || content.iter().any(|(it, _)| it == name);
    let entries = fs::read_dir(place).context("list the directory")?.flatten();
    let new = entries.filter(|entry| !known(&entry.file_name().to_string_lossy())).count();
    Ok(Left { harmed: harmed as u64, new: new as u64 })
}
