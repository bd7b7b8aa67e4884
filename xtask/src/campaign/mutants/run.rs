//! Building a mutant, and the tests that may kill it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::Fate;
use super::list::PACKAGE;
use super::tree::Tree;
use crate::process;
use crate::steps::Deadline;

/// What is built together, as the packages and their targets. The quickest first: most mutants do
/// not get to the second, which brings the program itself, for the table of attacks, too.
const BUILDS: [&[&str]; 2] = [
    &["--package", PACKAGE, "--lib", "--tests"],
    &["--package=tests", "--package=trimbench", "--test=safety", "--test=made", "--bin=trimbench"],
];
/// A build takes seconds, the first one minutes.
const BUILD_LIMIT: Duration = Duration::from_secs(1_200);
/// Tests that are not over after so long wait for something that a mutant lost. The longest take
/// three quarters of a minute on two cores with a load of seven.
const TEST_LIMIT: Duration = Duration::from_secs(300);
/// Also for the whole table of attacks.
const ATTACKS_LIMIT: Duration = Duration::from_secs(600);

/// What ended the tests of what is planted now, and the test that did.
pub(super) fn until_killed(tree: &mut Tree, xtask: &Path) -> Result<(Fate, String)> {
    let log = tree.copy().target().join("tests.log");
    for arguments in BUILDS {
        let Some(programs) = build(tree, arguments)? else {
            return Ok((Fate::Unviable, String::new()));
        };
        for program in programs {
            let mut test = alone(&program.path);
            test.current_dir(&program.folder);
            if let Some(end) = killed(test, &log, TEST_LIMIT)? {
                return Ok(end);
            }
        }
    }
    let mut attacks = alone(xtask);
    attacks.args(["attacks", "--first"]).arg(tree.copy().target().join("debug/trimbench"));
    Ok(killed(attacks, &log, ATTACKS_LIMIT)?.unwrap_or((Fate::Survived, String::new())))
}

/// A program in mounts of its own: what a killed one leaves mounted is gone with it.
fn alone(program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--"]).arg(program);
    command
}

/// A test program, and the folder that it runs in.
struct Program {
    path: PathBuf,
    folder: PathBuf,
}

/// The test programs that a build makes; `None` if it fails.
fn build(tree: &Tree, arguments: &[&str]) -> Result<Option<Vec<Program>>> {
    let copy = tree.copy();
    let mut cargo = copy.command("cargo", &["build", "--quiet", "--message-format=json"]);
    // The library is wanted as the program of its unit tests, all else as it is.
    cargo.args(arguments).arg("--profile=test");
    for (name, value) in ENVIRONMENT {
        cargo.env(name, value);
    }
    cargo.env("CARGO_TARGET_DIR", copy.target());
    fs::create_dir_all(copy.target()).context("make a folder for what is built")?;
    let messages = copy.target().join("build.ndjson");
    let file = || File::create(&messages).context("create a file for cargo's messages");
    cargo.stdout(file()?).stderr(std::process::Stdio::null());
    let ended = process::run(&mut cargo, Some(Deadline::after(BUILD_LIMIT)))?;
    let Some(status) = ended.status else {
        bail!("`{}` {}", process::show(&cargo), ended.describe())
    };
    if !status.success() {
        return Ok(None);
    }
    let text = fs::read_to_string(&messages).context("read cargo's messages")?;
    let mut programs: Vec<Program> = text.lines().filter_map(test_program).collect();
    // Of the longer ones, `safety` is the one that kills more.
    programs.sort_by(|a, b| b.path.cmp(&a.path));
    Ok(Some(programs))
}

/// As little work as possible: code is built once and run for seconds.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("CARGO_INCREMENTAL", "1"),
    ("CARGO_PROFILE_DEV_DEBUG", "false"),
    ("CARGO_PROFILE_DEV_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "false"),
    ("CARGO_PROFILE_TEST_OPT_LEVEL", "0"),
    ("RUSTFLAGS", "-Clink-arg=-fuse-ld=lld"),
];

/// A test program in a message of cargo.
fn test_program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_test = message["profile"]["test"] == true;
    let path = message["executable"].as_str().filter(|_| is_test)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    Some(Program { path: path.into(), folder: folder.to_owned() })
}

/// How a program ended, if not well.
fn killed(mut test: Command, log: &Path, limit: Duration) -> Result<Option<(Fate, String)>> {
    let file = File::create(log).context("create a file for what tests print")?;
    test.stdout(file.try_clone().context("share it")?).stderr(file);
    let ended = process::run(&mut test, Some(Deadline::after(limit)))?;
    if ended.success() {
        return Ok(None);
    }
    let text = fs::read(log).context("read what tests print")?;
    let by = failed(&String::from_utf8_lossy(&text));
    Ok(Some((if ended.status.is_some() { Fate::Killed } else { Fate::Hung }, by)))
}

/// The first test that failed, as the test harness or the table of attacks names it.
fn failed(text: &str) -> String {
    let of_harness = |line: &str| {
        let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        Some(name.to_owned())
    };
    let of_table = |line: &str| {
        let line: Value = serde_json::from_str(line).ok()?;
        let held = line["outcome"] == "held" || line["outcome"] == "skipped";
        line["row"].as_str().filter(|_| !held).map(str::to_owned)
    };
    text.lines().find_map(|line| of_harness(line).or_else(|| of_table(line))).unwrap_or_default()
}

#[cfg(test)]
mod tests;
