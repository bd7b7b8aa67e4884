//! Mutants of our code: each must be noticed by a test.
//!
//! `cargo-mutants` lists, makes and builds them, in a clone of the commit that is checked out. A
//! sample is drawn from the list, the same one for the same list. Each mutant meets the unit tests
//! of its crate first, which take seconds; what they miss meets the tests that run the program.
//! They come in shards. What a shard came to stays in `target/mutants` for as long as the mutated
//! code and, for what was missed, the tests are the same, so that a run that takes longer than an
//! entry may, or than the machine is free, goes on where it was: run the same command again.
//!
//! What runs here are programs that are broken, as root: only on a machine whose disks may be lost,
//! and alone, since the tests share loop devices and tracefs with everybody.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use statrs::distribution::{Beta, ContinuousCDF as _};
use trimbench_core::rng::Rng;
use xtask::{Repository, process};

use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// Another version mutates otherwise.
const VERSION: &str = "27.1.0";
/// Of the draw.
const SEED: u64 = 47;
/// Mutants of a shard.
const SHARD: usize = 20;
/// In the short form the second tests are not run without a mutant first, which takes minutes.
const UNTRIED: &[&str] = &["--baseline=skip", "--timeout=900"];
/// The unit tests of the crate that a mutant is in.
const OWN_TESTS: &[&str] = &["--cargo-arg=--lib"];
/// As little work as possible: code is built once and run for seconds.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("CARGO_INCREMENTAL", "1"),
    ("CARGO_PROFILE_DEV_DEBUG", "false"),
    ("CARGO_PROFILE_DEV_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "false"),
    ("CARGO_PROFILE_TEST_OPT_LEVEL", "0"),
];

/// Code that is mutated, and the tests that are to notice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MutatedCode {
    /// Modules, as paths without `.rs`: the file of this name and the folder.
    pub(crate) modules: &'static [&'static str],
    /// The packages that hold all of them.
    pub(crate) packages: &'static [&'static str],
    /// What has cargo-mutants run the second tests, those of the program, beside all unit tests of
    /// these packages.
    pub(crate) wide_tests: &'static [&'static str],
    /// Where all tests are: folders of the repository.
    pub(crate) tests: &'static [&'static str],
    /// Tests that come through nothing of the code, by a part of their names.
    pub(crate) skipped: &'static [&'static str],
    /// How many mutants are drawn: in the short form and in full.
    pub(crate) drawn: [usize; 2],
    /// The least share of mutants that a test notices, %.
    pub(crate) killed: f64,
}

impl MutatedCode {
    /// Tries a sample of the mutants; `sources` is the hash of the mutated code.
    pub(crate) fn measure(&self, lab: &Lab<'_>, sources: &str) -> Result<Vec<Figure>> {
        let state = lab.repository().state()?;
        ensure!(!state.dirty, "what is mutated is a clone of a commit: commit first");
        let folder = lab.repository().target().join("mutants");
        let mutants = Mutants {
            code: self,
            lab,
            tool: install(lab)?,
            clone: clone(lab, &state.commit, &folder)?,
            results: folder.join(sources),
        };
        let all = mutants.list()?;
        let sample = drawn(&all, lab.form(self.drawn[0], self.drawn[1]));
        let mut outcomes = Outcomes::default();
        for (number, names) in sample.chunks(SHARD).enumerate() {
            let of_shard = mutants.shard(&format!("{}-{number}", sample.len()), names);
            let tried = number * SHARD;
            let of = sample.len();
            outcomes.add(of_shard.with_context(|| format!("{tried} of {of} are tried"))?, |_| true);
        }
        Ok(self.figures(&outcomes, all.len()))
    }

    fn figures(&self, outcomes: &Outcomes, population: usize) -> Vec<Figure> {
        let Outcomes { missed, .. } = outcomes;
        let [caught, hung, unviable] =
            [outcomes.caught.len(), outcomes.hung.len(), outcomes.unviable.len()];
        let (killed, tried) = (caught + hung, caught + hung + missed.len());
        let share = (100.0 * killed as f64 / tried as f64, "%");
        let [low, high] = interval(killed, tried).map(|share| 100.0 * share);
        let note = format!(
            "drawn from {population}; {caught} made a test fail, {hung} hung, {unviable} that do \
             not build are not counted; of all, {low:.1} % to {high:.1} % with 95 % confidence; \
             missed: {}",
            if missed.is_empty() { "none".to_owned() } else { missed.join("; ") }
        );
        vec![
            Figure::new("mutants tried", (tried as f64, ""), Bar::AtLeast(1.0)),
            Figure::new("mutants killed", share, Bar::AtLeast(self.killed)).with_note(note),
        ]
    }
}

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

/// So many names at random, in their order.
fn drawn(names: &[String], count: usize) -> Vec<String> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    Rng::new(SEED).shuffle(&mut order);
    order.truncate(count);
    order.sort_unstable();
    order.into_iter().map(|at| names[at].clone()).collect()
}

/// Where a share is, with 95 % confidence, of which `hits` of `count` were seen. Source: C. Clopper
/// and E. Pearson, Biometrika 26 (1934). Too wide rather than too narrow where the sample is a
/// large part of all.
fn interval(hits: usize, count: usize) -> [f64; 2] {
    let quantile = |more: usize, fewer: usize, at: f64| {
        let beta = Beta::new(more as f64, fewer as f64).expect("both parameters are positive");
        beta.inverse_cdf(at)
    };
    let misses = count - hits;
    [
        if hits == 0 { 0.0 } else { quantile(hits, misses + 1, 0.025) },
        if misses == 0 { 1.0 } else { quantile(hits + 1, misses, 0.975) },
    ]
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
    code: &'a MutatedCode,
    lab: &'a Lab<'a>,
    tool: PathBuf,
    clone: Repository,
    results: PathBuf,
}

impl Mutants<'_> {
    /// `cargo mutants` in the clone, for the mutants of these files.
    fn command(&self, files: impl IntoIterator<Item = String>) -> Command {
        // In mounts of its own: what a killed test leaves mounted is gone with it.
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "--"]).arg(&self.tool);
        command.args(["mutants", "--no-times"]);
        command.args(self.code.packages.iter().flat_map(|it| ["--package", it]));
        command.args(files.into_iter().flat_map(|file| ["--file".to_owned(), file]));
        command.envs(ENVIRONMENT).env("CARGO_TARGET_DIR", self.clone.target());
        command.current_dir(self.clone.root());
        command
    }

    /// The names of all mutants, in the order of the code.
    fn list(&self) -> Result<Vec<String>> {
        let files =
            self.code.modules.iter().flat_map(|it| [format!("{it}.rs"), format!("{it}/**")]);
        let names = process::output(self.command(files).args(["--list", "--colors=never"]))?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// What mutants come to that are kept under this name.
    fn shard(&self, shard: &str, names: &[String]) -> Result<Outcomes> {
        let mut own = self.tried(&format!("{shard}-own"), names, OWN_TESTS)?;
        let missed = std::mem::take(&mut own.missed);
        if !missed.is_empty() {
            let untried = self.lab.form(UNTRIED, &[]);
            let tests = [OWN_TESTS, self.code.wide_tests, untried].concat();
            let name = format!("{shard}-wide-{}", self.tests_hash()?);
            own.add(self.tried(&name, &missed, &tests)?, |_| true);
        }
        Ok(own)
    }

    /// Of the tests: with others, what was missed is tried again.
    fn tests_hash(&self) -> Result<String> {
        let is_of = |file: &String| self.code.tests.iter().any(|it| file.starts_with(it));
        let files: Vec<String> = self.clone.files()?.into_iter().filter(is_of).collect();
        let mut hash = self.clone.hash_of(&files)?;
        hash.truncate(12);
        Ok(hash)
    }

    /// What these mutants come to in these tests, or came to when they were tried before.
    fn tried(&self, name: &str, names: &[String], tests: &[&str]) -> Result<Outcomes> {
        let folder = self.results.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        if let Some(known) = outcomes(&folder, names)? {
            return Ok(known);
        }
        // Those that delete a field of a structure are tried whatever the names are, so no files
        // but those of the names.
        let files: BTreeSet<String> =
            names.iter().filter_map(|name| Some(name.split_once(':')?.0.to_owned())).collect();
        let mut command = self.command(files);
        command.args(["--in-place", "--output"]).arg(&folder).args(tests);
        command.args(names.iter().flat_map(|it| ["--re".to_owned(), format!("^{}$", escaped(it))]));
        command.args(["--", "--"]);
        command.args(self.code.skipped.iter().flat_map(|module| ["--skip", module]));
        command.stdout(Stdio::from(std::io::stderr()));
        let ended = process::run(&mut command, Some(self.lab.deadline()))?;
        match ended.status.map(|status| status.code()) {
            // All were noticed, some missed, some hung.
            Some(Some(0 | 2 | 3)) => {
                outcomes(&folder, names)?.context("cargo-mutants kept no outcomes")
            }
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

    fn count(&self) -> usize {
        self.caught.len() + self.hung.len() + self.unviable.len() + self.missed.len()
    }
}

/// What is kept of these mutants of a run that came to its end; `None` of any other.
fn outcomes(folder: &Path, wanted: &[String]) -> Result<Option<Outcomes>> {
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
    let all = Outcomes {
        caught: names("caught.txt")?,
        hung: names("timeout.txt")?,
        unviable: names("unviable.txt")?,
        missed: names("missed.txt")?,
    };
    let mut chosen = Outcomes::default();
    chosen.add(all, |name| wanted.contains(name));
    // Of another draw, some are missing.
    Ok((chosen.count() == wanted.len()).then_some(chosen))
}

/// A text as a regular expression that fits nothing else.
fn escaped(text: &str) -> String {
    let is_special = |letter: char| r"\.+*?()|[]{}^$#&-~".contains(letter);
    let escape = |letter: char| is_special(letter).then_some('\\').into_iter().chain([letter]);
    text.chars().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::{drawn, escaped, interval};

    #[test]
    fn a_draw_is_without_repetition_in_order_and_always_the_same() {
        let names: Vec<String> = (0..500).map(|at| format!("{at:03}")).collect();
        let sample = drawn(&names, 200);
        assert_eq!(sample.len(), 200);
        assert!(sample.is_sorted_by(|left, right| left < right));
        assert_ne!(sample, names[..200]);
        assert_eq!(drawn(&names, 200), sample);
        assert_eq!(drawn(&names[..3], 200), names[..3]);
    }

    #[test]
    fn the_interval_of_a_share_is_that_of_the_tables() {
        let near = |hits, count, wanted: [f64; 2]| {
            let found = interval(hits, count);
            let is_near = found.iter().zip(wanted).all(|(it, wanted)| (it - wanted).abs() < 5e-4);
            assert!(is_near, "{found:?} for {wanted:?}");
        };
        near(8, 10, [0.4439, 0.9748]);
        near(10, 10, [0.6915, 1.0]);
        near(0, 10, [0.0, 0.3085]);
    }

    #[test]
    fn names_of_mutants_are_quoted_for_a_regular_expression() {
        let name = "a/b.rs:1:2: replace == with != in <impl C for D>::e -> Result<()>";
        let quoted = r"a/b\.rs:1:2: replace == with != in <impl C for D>::e \-> Result<\(\)>";
        assert_eq!(escaped(name), quoted);
    }
}
