//! Campaign `safe.3`: mutants of the safety code, each of which a test must kill.
//!
//! `cargo mutants` says what is mutated. All mutants that can be are built together, asleep, in a
//! copy of the checkout (`dormant`); an attempt wakes one and runs the tests that come through
//! its function (`suite`), the quickest first, up to the first that fails. The others are built
//! one at a time in a second copy. One attempt in `CONTROLS` mutates nothing and runs every test:
//! tests that fail then would kill anything.
//!
//! What runs here are programs whose guards are broken, as root: only on a machine whose disks may
//! be lost, and alone, since the tests share loop devices and tracefs with everybody.

mod build;
mod dormant;
mod list;
mod suite;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use trimbench_core::rng::Rng;

use super::{Attempts, Campaign, Ledger, SAFETY};
use crate::Repository;
use crate::acceptance::{Bar, Finding};
use crate::tree::Tree;
use build::Programs;
use dormant::Dormant;
use list::Mutant;
pub use list::install;
use suite::{Ground, Suite};

/// The campaign.
pub const CAMPAIGN: Campaign = Campaign {
    id: "safe.3",
    title: "A mutant of the safety code, built and tested",
    sources: SAFETY,
    workers: WORKERS,
    prepare,
    judge,
};

/// Every so many mutants there is an attempt that mutates nothing.
const CONTROLS: usize = 100;
/// How many unit tests, or builds, there are at a time.
const WORKERS: usize = 2;
/// The least share of mutants that a test kills.
const KILLED: f64 = 0.98;
/// The root of the crate, which gets what tells the mutants who is awake.
const ROOT: &str = "crates/trimbench-linux/src/lib.rs";
/// Survivors, each with the reason why no test can kill it.
const EXPLANATIONS: &str = include_str!("mutants/survivors.toml");

/// What came of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Fate {
    /// A test failed.
    Killed,
    /// The tests did not end.
    Hung,
    /// It is no program.
    Unviable,
    /// Every test passed.
    Survived,
}

/// The line of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    /// `None` if nothing was mutated.
    mutant: Option<String>,
    fate: Fate,
    /// The test that failed.
    #[serde(default)]
    by: String,
}

/// What is built and known of the checkout.
#[derive(Debug, Serialize, Deserialize)]
struct Built {
    /// The hash of all sources: what only documents changed is not built again.
    sources: String,
    /// With every mutant that can be built so, asleep.
    programs: Programs,
    suite: Suite,
    /// Numbers of the mutants that are built alone.
    singles: BTreeSet<usize>,
}

#[derive(Debug)]
struct Mutants {
    dormant: Dormant,
    built: Built,
    /// `xtask` itself, which runs the table of attacks.
    xtask: PathBuf,
    folder: PathBuf,
    /// Where mutants are built one at a time.
    tree: Mutex<Tree>,
}

fn prepare(repository: &Repository, folder: &Path) -> Result<Box<dyn Attempts>> {
    let mutants = list::of(repository)?;
    let xtask = std::env::current_exe().context("find this program")?;
    let tree = Tree::of_head(repository, &folder.join("single"))?;
    let mut texts = BTreeMap::new();
    for mutant in &mutants {
        if !texts.contains_key(&mutant.file) {
            texts.insert(mutant.file.clone(), tree.text(&mutant.file)?);
        }
    }
    let dormant = Dormant::new(mutants, texts)?;
    for worker in 0..WORKERS {
        let folder = worker_folder(folder, worker);
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    }
    let built = built(repository, folder, &xtask, &dormant)?;
    let (folder, tree) = (folder.to_owned(), Mutex::new(tree));
    Ok(Box::new(Mutants { dormant, built, xtask, folder, tree }))
}

/// Builds all mutants together and explores the tests, unless that was done for these sources.
fn built(repository: &Repository, folder: &Path, xtask: &Path, dormant: &Dormant) -> Result<Built> {
    let sources = repository.state()?.sources;
    let path = folder.join("built.json");
    let kept = fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Built>(&text).ok());
    let is_there = |built: &Built| built.programs.0.values().all(|program| program.path.exists());
    if let Some(kept) = kept.filter(|kept| kept.sources == sources && is_there(kept)) {
        return Ok(kept);
    }
    let mut tree = Tree::of_head(repository, &folder.join("dormant"))?;
    let mut singles = dormant.others();
    loop {
        let layers = dormant.layered(&singles)?;
        let mut changed: BTreeMap<PathBuf, String> =
            layers.iter().map(|(path, file)| (path.clone(), file.text.clone())).collect();
        let root = Path::new(ROOT);
        changed.insert(root.to_owned(), tree.original(root)? + &dormant::runtime());
        tree.change(&changed)?;
        let refusals = build::library(&tree)?;
        if refusals.is_empty() {
            break;
        }
        let before = singles.len();
        for refusal in &refusals {
            let origin = |(file, line): &(PathBuf, usize)| layers.get(file)?.origin(*line);
            let mutants = refusal.places.iter().find_map(origin);
            let why = || format!("no mutant is to blame for:\n{}", refusal.message);
            singles.extend(mutants.with_context(why)?);
        }
        eprintln!("{}: {} mutants are built alone", CAMPAIGN.id, singles.len());
        ensure!(singles.len() > before, "the compiler refuses what is not there any more");
    }
    let programs = build::tests(&tree)?.context("the tests do not build")?;
    let worker = worker_folder(folder, 0);
    let ground = Ground { programs: &programs, xtask, folder: &worker, awake: None };
    let suite = Suite::explore(&ground)?;
    let built = Built { sources, programs, suite, singles };
    let text = serde_json::to_string(&built).context("write what was built")?;
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    Ok(built)
}

fn worker_folder(folder: &Path, worker: usize) -> PathBuf {
    folder.join(format!("worker-{worker}"))
}

impl Mutants {
    /// The attempt of this number, as the number of a mutant, `None` for a control: each seed has
    /// an order of its own, so that the first few of a seed are a sample.
    fn item(&self, seed: u64, number: u64) -> Option<usize> {
        let total = usize::try_from(self.total()).expect("mutants are countable");
        let mut order: Vec<usize> = (0..total).collect();
        Rng::new(seed).shuffle(&mut order);
        let at = order[usize::try_from(number).expect("mutants are countable")];
        (at < self.dormant.mutants().len()).then_some(at)
    }

    fn fate(&self, worker: usize, number: Option<usize>) -> Result<(Fate, String)> {
        let folder = worker_folder(&self.folder, worker);
        let ground = Ground {
            programs: &self.built.programs,
            xtask: &self.xtask,
            folder: &folder,
            awake: number,
        };
        let Some(number) = number else { return self.built.suite.until_killed(&ground, None) };
        let function = self.dormant.function_of(number);
        if !self.built.singles.contains(&number) {
            return self.built.suite.until_killed(&ground, function);
        }
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        plant(&mut tree, &self.dormant.mutants()[number])?;
        let unviable = Ok((Fate::Unviable, String::new()));
        if !build::library(&tree)?.is_empty() {
            return unviable;
        }
        let Some(programs) = build::tests(&tree)? else { return unviable };
        let ground = Ground { programs: &programs, awake: None, ..ground };
        // Tests do not come through what is left out of all functions' mutants.
        let function = function.filter(|function| self.built.suite.knows(*function));
        self.built.suite.until_killed(&ground, function)
    }
}

/// Changes what one mutant changes, and nothing else.
fn plant(tree: &mut Tree, mutant: &Mutant) -> Result<()> {
    let text = mutant.apply(&tree.original(&mutant.file)?)?;
    tree.change(&BTreeMap::from([(mutant.file.clone(), text)]))
}

impl Attempts for Mutants {
    fn total(&self) -> u64 {
        let count = self.dormant.mutants().len();
        (count + count / CONTROLS) as u64
    }

    fn attempt(&self, worker: usize, seed: u64, number: u64) -> Result<Map<String, Value>> {
        let number = self.item(seed, number);
        let (fate, by) = self.fate(worker, number)?;
        let mutant = number.map(|number| self.dormant.mutants()[number].name.clone());
        let Value::Object(line) = json!(Line { mutant, fate, by }) else {
            unreachable!("a line is an object")
        };
        Ok(line)
    }
}

/// Why no test can kill a mutant.
#[derive(Debug, Deserialize)]
struct Explanations {
    /// By the mutants' names.
    #[serde(default)]
    survivors: BTreeMap<String, String>,
}

fn judge(ledger: &Ledger) -> Result<Vec<Finding>> {
    let explanations: Explanations = toml::from_str(EXPLANATIONS).context("read survivors.toml")?;
    judge_with(ledger, &explanations.survivors)
}

fn judge_with(ledger: &Ledger, explained: &BTreeMap<String, String>) -> Result<Vec<Finding>> {
    let lines: Vec<Line> = ledger.outcomes()?;
    let of = |fate: Fate| lines.iter().filter(move |line| line.fate == fate);
    let mutants = |fate: Fate| of(fate).filter_map(|line| line.mutant.as_ref());
    let (killed, hung) = (mutants(Fate::Killed).count(), mutants(Fate::Hung).count());
    let survivors: BTreeSet<&String> = mutants(Fate::Survived).collect();
    let (caught, all) = ((killed + hung) as f64, (killed + hung + survivors.len()) as f64);
    let controls = lines.iter().filter(|line| line.mutant.is_none());
    let failed: Vec<&str> = controls
        .clone()
        .filter(|line| line.fate != Fate::Survived)
        .map(|line| line.by.as_str())
        .collect();
    let unexplained: Vec<&str> = survivors
        .iter()
        .filter(|name| !explained.contains_key(**name))
        .map(|name| name.as_str())
        .collect();
    let none = |what: &str, list: &[&str]| {
        ledger.finding(what, (list.len() as f64, ""), Bar::Equals(0.0)).with_note(&list.join("; "))
    };
    let note = format!(
        "{killed} killed, {hung} hung, {} survived, {} that do not build are not counted",
        survivors.len(),
        mutants(Fate::Unviable).count(),
    );
    let mut findings = vec![
        none("survivors that are not explained", &unexplained),
        none(&format!("tests that failed in {} runs without a mutant", controls.count()), &failed),
    ];
    if ledger.is_whole() {
        let share = ledger.finding("mutants killed", (caught / all, ""), Bar::AtLeast(KILLED));
        let stale: Vec<&str> =
            explained.keys().filter(|name| !survivors.contains(name)).map(String::as_str).collect();
        findings.insert(0, share.with_note(&note));
        findings.push(none("explanations of mutants that do not survive", &stale));
    } else {
        findings.insert(
            0,
            ledger.finding("mutants tried", (all, ""), Bar::AtLeast(1.0)).with_note(&note),
        );
    }
    Ok(findings)
}

#[cfg(test)]
mod tests;
