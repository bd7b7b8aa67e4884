//! The tests that may kill a mutant, and the functions that each test executes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use crate::hostile::attacks;
use crate::obstacles::ATTEMPTS;
use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Fate;
use super::build::{Program, Programs};
use super::dormant::{AWAKE, REACHED};
use crate::process::{self, output};
use crate::steps::Deadline;

/// The test that goes through the table of attempts, and what names one row of it.
const TABLE: &str = "each_attempt_is_refused_changes_nothing_and_succeeds_without_its_obstacle";
const ATTEMPT: &str = "TRIMBENCH_ATTEMPT";
/// The tests of the command line, and those of them that are about targets.
const COMMAND_LINE: &str = "cli";
const ABOUT_TARGETS: [&str; 5] = ["devices", "directories", "errors", "filesystems", "images"];
/// Tests that are not over after so long, and so many times what they took without a mutant, wait
/// for something that it lost.
const LIMIT: Duration = Duration::from_secs(60);
const TIMES: u32 = 4;
/// The longest that a test alone takes.
const ALONE: Duration = Duration::from_secs(300);

/// Every test, the quickest first: most mutants do not live to see the last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Suite(Vec<Group>);

/// Tests that are run in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Group {
    way: Way,
    tests: Vec<Test>,
}

/// How tests are run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Way {
    /// By the test program of this name.
    Harness(String),
    /// As rows of the table of attempts.
    Attempts,
    /// As rows of the table of attacks.
    Attacks,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Test {
    name: String,
    /// The numbers of the functions that it comes through.
    reached: BTreeSet<usize>,
    /// How long it took alone.
    took: Duration,
}

/// What tests are run on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'a> {
    pub(super) programs: &'a Programs,
    /// `xtask` itself, which runs the table of attacks.
    pub(super) xtask: &'a Path,
    /// Where files for what is printed go; for this worker alone.
    pub(super) folder: &'a Path,
    /// The mutant that is awake.
    pub(super) awake: Option<usize>,
}

impl Suite {
    /// Runs every test alone and notes which functions it comes through. An error if one fails: it
    /// would kill anything.
    pub(super) fn explore(ground: &Ground<'_>) -> Result<Self> {
        let mut groups = Vec::new();
        for (name, program) in ground.programs.0.iter().filter(|(_, program)| program.is_test) {
            let listed = output(Command::new(&program.path).args(["--list", "--format=terse"]))?;
            let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
            let is_meant = |test: &&str| {
                let module = test.split("::").next().unwrap_or_default();
                *test != TABLE && (name != COMMAND_LINE || ABOUT_TARGETS.contains(&module))
            };
            let names = names.filter(is_meant).map(str::to_owned);
            groups.push((Way::Harness(name.clone()), names.collect::<Vec<_>>()));
        }
        let rows = ATTEMPTS.iter().map(|row| row.name.to_owned()).collect();
        groups.push((Way::Attempts, rows));
        groups.push((Way::Attacks, attacks().map(|row| row.name.to_owned()).collect()));
        groups.sort_by_key(|(way, _)| way.place());
        let mut suite = Self(Vec::new());
        for (way, names) in groups {
            let explore = |name: String| {
                let begun = Instant::now();
                let reached = reached(&way, &name, ground)?;
                Ok(Test { name, reached, took: begun.elapsed() })
            };
            let tests = names.into_iter().map(explore).collect::<Result<_>>()?;
            suite.0.push(Group { way, tests });
        }
        Ok(suite)
    }

    /// Whether some test comes through this function.
    pub(super) fn knows(&self, function: usize) -> bool {
        let mut tests = self.0.iter().flat_map(|group| &group.tests);
        tests.any(|test| test.reached.contains(&function))
    }

    /// What ends the tests that come through `function`, or all tests, and the one that does.
    pub(super) fn until_killed(
        &self,
        ground: &Ground<'_>,
        function: Option<usize>,
    ) -> Result<(Fate, String)> {
        for group in &self.0 {
            let concerned = |test: &&Test| function.is_none_or(|it| test.reached.contains(&it));
            let tests = || group.tests.iter().filter(concerned);
            let names: Vec<&str> = tests().map(|test| test.name.as_str()).collect();
            let limit = LIMIT + tests().map(|test| test.took).sum::<Duration>() * TIMES;
            let _machine = group.way.machine();
            for (command, row) in group.way.commands(&names, ground)? {
                if let Some((fate, by)) = killed(command, ground, limit)? {
                    return Ok((fate, row.map_or(by, str::to_owned)));
                }
            }
        }
        Ok((Fate::Survived, String::new()))
    }
}

/// Loop devices and mounts are the machine's: of tests on them there is one at a time, and unit
/// tests meanwhile none, which use some, too.
static MACHINE: RwLock<()> = RwLock::new(());

/// What keeps others from the machine.
#[expect(dead_code, reason = "held, not looked at")]
enum Machine {
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

impl Way {
    /// When its turn is: unit tests first, what takes longest last.
    fn place(&self) -> usize {
        match self {
            Self::Harness(name) => match name.as_str() {
                "made" => 1,
                "safety" => 2,
                COMMAND_LINE => 5,
                _ => 0,
            },
            Self::Attempts => 3,
            Self::Attacks => 4,
        }
    }

    fn machine(&self) -> Machine {
        if self.place() == 0 {
            Machine::Shared(MACHINE.read().unwrap_or_else(PoisonError::into_inner))
        } else {
            Machine::Alone(MACHINE.write().unwrap_or_else(PoisonError::into_inner))
        }
    }

    /// What runs these tests, with the name of the row that it is about if it cannot tell.
    fn commands<'a>(
        &self,
        names: &[&'a str],
        ground: &Ground<'_>,
    ) -> Result<Vec<(Command, Option<&'a str>)>> {
        let program = |name: &str| {
            let found = ground.programs.0.get(name);
            found.with_context(|| format!("no program `{name}` was built"))
        };
        if names.is_empty() {
            return Ok(Vec::new());
        }
        Ok(match self {
            Self::Harness(name) => {
                let mut command = alone(program(name)?);
                command.arg("--exact").args(names);
                vec![(command, None)]
            }
            Self::Attempts => {
                let safety = program("safety")?;
                let row = |name: &&'a str| {
                    let mut command = alone(safety);
                    command.args(["--exact", TABLE]).env(ATTEMPT, name);
                    (command, Some(*name))
                };
                names.iter().map(row).collect()
            }
            Self::Attacks => {
                let trimbench = program("trimbench")?;
                let xtask = Program { path: ground.xtask.to_owned(), ..trimbench.clone() };
                let mut command = alone(&xtask);
                command.args(["attacks", "--first"]).arg(&trimbench.path).args(names);
                vec![(command, None)]
            }
        })
    }
}

/// A program in mounts of its own: what a killed one leaves mounted is gone with it.
fn alone(program: &Program) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--"]).arg(&program.path);
    command.current_dir(&program.folder);
    command
}

/// Which functions a test comes through.
fn reached(way: &Way, name: &str, ground: &Ground<'_>) -> Result<BTreeSet<usize>> {
    let path = ground.folder.join("reached");
    fs::write(&path, "").with_context(|| format!("write {}", path.display()))?;
    // Some tests run programs as another user.
    let everyone = fs::Permissions::from_mode(0o666);
    fs::set_permissions(&path, everyone).with_context(|| format!("open {}", path.display()))?;
    for (mut command, _) in way.commands(&[name], ground)? {
        command.env(REACHED, &path);
        let end = killed(command, ground, ALONE)?;
        ensure!(end.is_none(), "`{name}` fails without a mutant: see {}", ground.log().display());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

impl Ground<'_> {
    fn log(&self) -> std::path::PathBuf {
        self.folder.join("tests.log")
    }
}

/// How a program ended, if not well.
fn killed(
    mut test: Command,
    ground: &Ground<'_>,
    limit: Duration,
) -> Result<Option<(Fate, String)>> {
    let log = ground.log();
    let file = File::create(&log).context("create a file for what tests print")?;
    test.stdout(file.try_clone().context("share it")?).stderr(file);
    if let Some(awake) = ground.awake {
        test.env(AWAKE, awake.to_string());
    }
    let ended = process::run(&mut test, Some(Deadline::after(limit)))?;
    if ended.success() {
        return Ok(None);
    }
    let text = fs::read(&log).context("read what tests print")?;
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
