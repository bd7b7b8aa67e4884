//! Mutants of the code that protects everything that was not named: each must be noticed by a test.
//!
//! `cargo-mutants` makes and builds them, in a clone of the commit that is checked out. Each meets
//! the unit tests of its crate first, which take seconds; what they miss meets the tests that run
//! the program. They come in shards. What a shard came to stays in `target/mutants` for as long as
//! the mutated code is the same, so that a full run that takes longer than an entry may, or than
//! the machine is free, goes on where it was: run the same command again.
//!
//! What runs here are programs whose guards are broken, as root: only on a machine whose disks may
//! be lost, and alone, since the tests share loop devices and tracefs with everybody.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ::tests::Need::{Loop, Program, Root};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use xtask::{Repository, process};

use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;
use crate::results::sources_hash;

/// The measurement.
pub(crate) const ENTRY: Entry = Entry {
    name: "mutants",
    title: "Tests notice changes of the code that protects what was not named",
    needs: &[Root, Loop, Program("unshare")],
    sources: super::GUARDS,
    run,
};

/// Another version mutates otherwise.
const VERSION: &str = "27.1.0";
/// Shards, and how many of them are tried: in the short form and in full.
const SHARDS: [(usize, usize); 2] = [(80, 1), (12, 12)];
/// In the short form the second tests are not run without a mutant first, which takes minutes.
const UNTRIED: &[&str] = &["--baseline=skip", "--timeout=900"];
/// The least share of mutants that a test notices, %.
const KILLED: f64 = 98.0;
/// The crates that hold all of the code.
const PACKAGES: &str = "trimbench-claim,trimbench-linux";
/// The unit tests of the crate that a mutant is in.
const OWN_TESTS: &[&str] = &["--cargo-arg=--lib"];
/// Tests of the gate, of filesystems that are made, of attacks, and of the command line; of the
/// last not those of pages and models, which come through nothing of the code.
const WIDE_TESTS: &[&str] = &[
    "--test-package=tests",
    "--test-package=trimbench",
    "--cargo-arg=--test=safety",
    "--cargo-arg=--test=made",
    "--cargo-arg=--test=hostile",
    "--cargo-arg=--test=cli",
];
const SKIPPED: [&str; 9] = [
    "browser::",
    "compare::",
    "fit::",
    "forecasts::",
    "lists::",
    "pages::",
    "policies::",
    "quiet::",
    "values::",
];
/// As little work as possible: code is built once and run for seconds.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("CARGO_INCREMENTAL", "1"),
    ("CARGO_PROFILE_DEV_DEBUG", "false"),
    ("CARGO_PROFILE_DEV_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "false"),
    ("CARGO_PROFILE_TEST_OPT_LEVEL", "0"),
];

/// What mutants came to, by the names that `cargo-mutants` gives them.
#[derive(Clone, Debug, Default)]
struct Outcomes {
    /// A test failed.
    caught: Vec<String>,
    /// The tests did not end.
    hung: Vec<String>,
    /// It does not build.
    unviable: Vec<String>,
    /// Every test passed.
    missed: Vec<String>,
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let state = lab.repository().state()?;
    ensure!(!state.dirty, "what is mutated is a clone of a commit: commit first");
    let folder = lab.repository().target().join("mutants");
    let mutants = Mutants {
        lab,
        tool: install(lab)?,
        clone: clone(lab, &state.commit, &folder)?,
        results: folder.join(sources_hash(lab.repository(), &super::SUBJECT, &ENTRY)?),
    };
    let (shards, count) = lab.form(SHARDS[0], SHARDS[1]);
    let mut all = Outcomes::default();
    for shard in 0..count {
        let outcomes = mutants.shard(shard, shards);
        let outcomes = outcomes.with_context(|| format!("{shard} of {count} shards are tried"))?;
        all.add(outcomes, |_| true);
    }
    let Outcomes { missed, .. } = &all;
    let [caught, hung, unviable] = [all.caught.len(), all.hung.len(), all.unviable.len()];
    let (killed, tried) = (caught + hung, caught + hung + missed.len());
    let share = (100.0 * killed as f64 / tried as f64, "%");
    let note = format!(
        "{caught} made a test fail, {hung} hung, {unviable} that do not build are not counted; \
         missed: {}",
        if missed.is_empty() { "none".to_owned() } else { missed.join("; ") }
    );
    Ok(vec![
        Figure::new("mutants tried", (tried as f64, ""), Bar::AtLeast(1.0)),
        Figure::new("mutants killed", share, Bar::AtLeast(KILLED)).with_note(note),
    ])
}

/// The program that mutates, built into the target folder if it is not there.
fn install(lab: &Lab<'_>) -> Result<PathBuf> {
    let root = lab.repository().target().join("tools");
    let program = root.join("bin/cargo-mutants");
    if !program.exists() {
        let line = ["install", "--quiet", "--locked", "--version", VERSION, "cargo-mutants"];
        let mut cargo = lab.repository().command("cargo", &line);
        process::run_well(cargo.arg("--root").arg(&root), Some(lab.deadline()))?;
    }
    Ok(program)
}

/// A clone of a commit in `folder`. git leaves a file alone that is already the same, so what was
/// built of it counts; what an interrupted run has changed is changed back.
fn clone(lab: &Lab<'_>, commit: &str, folder: &Path) -> Result<Repository> {
    let place = folder.join("clone");
    if !place.exists() {
        let (from, to) = (lab.repository().root().to_string_lossy(), place.to_string_lossy());
        let line = ["clone", "--quiet", "--shared", "--no-checkout", &from, &to];
        process::output(&mut lab.repository().command("git", &line))?;
    }
    let clone = Repository::at(&place);
    let checkout = ["checkout", "--quiet", "--force", "--detach", commit];
    process::output(&mut clone.command("git", &checkout))?;
    Ok(clone)
}

/// What tries mutants, and where.
struct Mutants<'a> {
    lab: &'a Lab<'a>,
    tool: PathBuf,
    clone: Repository,
    results: PathBuf,
}

impl Mutants<'_> {
    /// Tries a shard of so many.
    fn shard(&self, shard: usize, of: usize) -> Result<Outcomes> {
        let files = super::GUARDS.iter().flat_map(|path| {
            ["--file".to_owned(), format!("{path}.rs"), "--file".to_owned(), format!("{path}/**")]
        });
        let files: Vec<String> = files.collect();
        let which = ["--sharding".to_owned(), "round-robin".to_owned()];
        let which = which.into_iter().chain(["--shard".to_owned(), format!("{shard}/{of}")]);
        let chosen: Vec<String> = files.iter().cloned().chain(which).collect();
        let mut own = self.tried(&format!("{of}-{shard}-own"), &chosen, OWN_TESTS)?;
        let missed = std::mem::take(&mut own.missed);
        if !missed.is_empty() {
            let exactly = |name: &String| ["--re".to_owned(), format!("^{}$", escaped(name))];
            let which = missed.iter().flat_map(exactly);
            let chosen: Vec<String> = files.into_iter().chain(which).collect();
            let tests = [WIDE_TESTS, self.lab.form(UNTRIED, &[])].concat();
            let wide = self.tried(&format!("{of}-{shard}-wide"), &chosen, &tests)?;
            // Those that delete a field of a structure are tried whatever is chosen.
            own.add(wide, |name| missed.contains(name));
        }
        Ok(own)
    }

    /// What the chosen mutants come to in these tests, or came to when they were tried before.
    fn tried(&self, name: &str, chosen: &[String], tests: &[&str]) -> Result<Outcomes> {
        let folder = self.results.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        if let Some(known) = outcomes(&folder)? {
            return Ok(known);
        }
        // In mounts of its own: what a killed test leaves mounted is gone with it.
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "--"]).arg(&self.tool);
        command.args(["mutants", "--package", PACKAGES, "--in-place", "--no-times"]);
        command.arg("--output").arg(&folder).args(chosen).args(tests);
        command.args(["--", "--"]).args(SKIPPED.iter().flat_map(|module| ["--skip", module]));
        command.envs(ENVIRONMENT).env("CARGO_TARGET_DIR", self.clone.target());
        command.current_dir(self.clone.root()).stdout(Stdio::from(std::io::stderr()));
        let ended = process::run(&mut command, Some(self.lab.deadline()))?;
        match ended.status.map(|status| status.code()) {
            // All were noticed, some missed, some hung.
            Some(Some(0 | 2 | 3)) => outcomes(&folder)?.context("cargo-mutants kept no outcomes"),
            Some(Some(4)) => bail!("tests fail without a mutant: see {}", folder.display()),
            Some(_) => bail!("`{}` {}", process::show(&command), ended.describe()),
            None => bail!("the time is over; the same command goes on"),
        }
    }
}

impl Outcomes {
    /// Adds what those that are `wanted` came to.
    fn add(&mut self, other: Self, wanted: impl Fn(&String) -> bool) {
        for (all, names) in [
            (&mut self.caught, other.caught),
            (&mut self.hung, other.hung),
            (&mut self.unviable, other.unviable),
            (&mut self.missed, other.missed),
        ] {
            all.extend(names.into_iter().filter(&wanted));
        }
    }
}

/// What is kept of a run that came to its end; `None` of any other.
fn outcomes(folder: &Path) -> Result<Option<Outcomes>> {
    let folder = folder.join("mutants.out");
    let Ok(text) = fs::read(folder.join("outcomes.json")) else { return Ok(None) };
    let whole: Value = serde_json::from_slice(&text).context("read outcomes.json")?;
    if whole["end_time"].is_null() {
        return Ok(None);
    }
    let names = |file: &str| {
        let text = fs::read_to_string(folder.join(file)).with_context(|| format!("read {file}"))?;
        anyhow::Ok(text.lines().map(str::to_owned).collect())
    };
    Ok(Some(Outcomes {
        caught: names("caught.txt")?,
        hung: names("timeout.txt")?,
        unviable: names("unviable.txt")?,
        missed: names("missed.txt")?,
    }))
}

/// A text as a regular expression that fits nothing else.
fn escaped(text: &str) -> String {
    let is_special = |letter: char| r"\.+*?()|[]{}^$#&-~".contains(letter);
    let escape = |letter: char| is_special(letter).then_some('\\').into_iter().chain([letter]);
    text.chars().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_of_mutants_are_quoted_for_a_regular_expression() {
        let name = "a/b.rs:1:2: replace == with != in <impl C for D>::e -> Result<()>";
        let quoted = r"a/b\.rs:1:2: replace == with != in <impl C for D>::e \-> Result<\(\)>";
        assert_eq!(escaped(name), quoted);
    }
}
