//! "Discard or fstrim?", done from the README alone, on an ext4 on a loop device that is mounted
//! without `discard`. Needs a calm disk.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tests::Need::{Loop, Program, Root};
use tests::{LoopFilesystem, code_blocks};
use trimbench_core::rng::Rng;
use trimbench_methods::METHODS;
use trimbench_results::{Action, Session, advise};

use crate::entry::{Entry, REAL};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "readme",
    title: "\"Discard or fstrim?\" as the README alone answers it: the time, the answer, and what \
            is left behind",
    needs: &[Root, Loop, Program("mkfs.ext4")],
    sources: REAL,
    run,
};

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
/// What the short form adds to the command that measures. One repetition gives no interval, and so
/// no answer.
const SHORT: &str = " --set repetitions=1";
/// How lines to type begin, and what is to be kept where nothing has to change.
const TYPED: [&str; 3] = ["  # ", "  in /", "  already "];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let readme = fs::read_to_string(lab.path("README.md")).context("read the README")?;
    let (_, section) = readme.split_once(HEADING).context("the README has no such section")?;
    let section = section.split("\n## ").next().unwrap_or(section);
    let promised = promised(section);
    ensure!(!promised.is_empty(), "the README names no method that its command runs");
    let disk = lab.root_folder()?;
    let filesystem = LoopFilesystem::within(disk.path(), "ext4", MEBIBYTES, "nodiscard");
    let content = write_files(filesystem.path())?;
    let commands = code_blocks(section, "sh").next().context("the section has no commands")?;
    let commands = commands.trim_end();
    let program = lab.program()?.path().to_str().context("a path of UTF-8")?;
    let place = filesystem.path().to_str().context("a path of UTF-8")?;
    let mut script = commands.replace(PROGRAM, program).replace(MOUNTED, place);
    script += lab.form(SHORT, "");
    // Where the reader is: trimbench keeps its record there, and on no disk that it measures.
    let here = lab.memory_folder()?;
    let output = lab.call(Command::new("sh").args(["-ec", &script]).current_dir(here.path()))?;
    let runs = fs::read_dir(here.path().join("trimbench-runs")).context("no run was kept")?;
    let record = tests::program::record(&runs.flatten().next().context("no run was kept")?.path())?;
    let has_result = |session: &&Session| session.finished && session.headline().is_some();
    let measured: Vec<&String> =
        record.sessions.iter().filter(has_result).map(|session| &session.plan.method).collect();
    let unnamed = record.sessions.iter().filter(|it| it.left_out.is_none());
    let unnamed = unnamed.filter(|it| !promised.contains(&it.plan.method)).count();
    let named = promised.iter().filter(|method| measured.contains(method)).count();
    let (harmed, new) = left(filesystem.path(), &content)?;
    let seconds = (output.seconds, "s");
    let count = |what: &str, count: usize, bar| Figure::new(what, (count as f64, ""), bar);
    let all = Bar::Equals(promised.len() as f64);
    let mut figures = vec![
        count("methods that the README names, and that have a result", named, all),
        count("methods that are measured and that it does not name", unnamed, Bar::Equals(0.0)),
        count("files harmed", harmed, Bar::Equals(0.0)),
        count("files left behind", new, Bar::Equals(0.0)),
        Figure::new("from the first command to the answer", seconds, Bar::AtMost(SECONDS_MAX)),
    ];
    if !lab.is_short() {
        let action = advise(&record.sessions.iter().collect::<Vec<&Session>>()).action;
        let is_answer = action.is_recommendation();
        let is_printed = is_answer && output.stdout.contains(action.short());
        let is_typed = |line: &&str| TYPED.iter().any(|it| line.starts_with(it));
        let typed = output.stdout.lines().filter(is_typed).count();
        let least = if action == Action::EitherWillDo { 0.0 } else { 1.0 };
        figures.extend([
            count("cards with an answer", is_answer.into(), Bar::Equals(1.0)),
            count("of them printed", is_printed.into(), Bar::Equals(1.0)),
            count("lines to type", typed, Bar::AtLeast(least)),
        ]);
    }
    Ok(figures)
}

/// The methods that the section's first sentence behind the commands names.
fn promised(section: &str) -> Vec<String> {
    let prose = section.split("```").nth(2).unwrap_or_default();
    let sentence = prose.split(". ").next().unwrap_or_default();
    let quoted = sentence.split('`').skip(1).step_by(2);
    let is_method = |name: &&str| METHODS.iter().any(|it| it.id == *name);
    quoted.filter(is_method).map(str::to_owned).collect()
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

/// How many files changed or are gone, and how many are new.
fn left(place: &Path, content: &[(String, Vec<u8>)]) -> Result<(usize, usize)> {
    let is_whole = |(name, bytes): &&(String, Vec<u8>)| {
        fs::read(place.join(name)).is_ok_and(|found| found == *bytes)
    };
    let harmed = content.len() - content.iter().filter(is_whole).count();
    let known = |name: &str| name == "lost+found" || content.iter().any(|(it, _)| it == name);
    let entries = fs::read_dir(place).context("list the directory")?.flatten();
    let new = entries.filter(|entry| !known(&entry.file_name().to_string_lossy())).count();
    Ok((harmed, new))
}
