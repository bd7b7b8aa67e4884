//! Campaign `safe.3`: mutants of the safety code, each of which a test must kill.
//!
//! `cargo mutants` says what is mutated; building and testing is done here, for one mutant at a
//! time in a copy of the checkout with build products of its own: without optimisation,
//! incremental, and only the tests that can see a guard fail, the quickest first, up to the first
//! that fails. One attempt in `CONTROLS` mutates nothing: tests that fail then would kill
//! anything.
//!
//! What runs here are programs whose guards are broken, as root: only on a machine whose disks may
//! be lost, and alone, since the tests share loop devices and tracefs with everybody.

mod list;
mod run;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use trimbench_core::rng::Rng;

use super::{Attempts, Campaign, Ledger, SAFETY};
use crate::Repository;
use crate::evidence::{Bar, Finding};
use list::Mutant;
pub use list::install;
use tree::Tree;

/// The campaign.
pub const CAMPAIGN: Campaign = Campaign {
    id: "safe.3",
    title: "A mutant of the safety code, built and tested",
    sources: SAFETY,
    workers: 1,
    prepare,
    judge,
};

/// Every so many mutants there is an attempt that mutates nothing.
const CONTROLS: usize = 25;
/// The least share of mutants that a test kills.
const KILLED: f64 = 0.98;
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

#[derive(Debug)]
struct Mutants {
    /// `None` for attempts that mutate nothing.
    items: Vec<Option<Mutant>>,
    /// `xtask` itself, which runs the table of attacks.
    xtask: PathBuf,
    tree: Mutex<Tree>,
}

fn prepare(repository: &Repository, folder: &Path) -> Result<Box<dyn Attempts>> {
    let tree = Tree::new(repository, folder)?;
    let mutants = list::of(repository)?;
    let controls = mutants.len() / CONTROLS;
    let items = mutants.into_iter().map(Some).chain((0..controls).map(|_| None)).collect();
    let xtask = std::env::current_exe().context("find this program")?;
    let mutants = Mutants { items, xtask, tree: Mutex::new(tree) };
    let line = mutants.fate(None)?;
    let (fate, by) = (line.fate, &line.by);
    ensure!(fate == Fate::Survived, "without a mutant the tests must pass, not `{fate:?}` ({by})");
    Ok(Box::new(mutants))
}

impl Mutants {
    /// The attempt of this number: each seed has an order of its own, so that the first few of a
    /// seed are a sample.
    fn item(&self, seed: u64, number: u64) -> Option<&Mutant> {
        let mut order: Vec<usize> = (0..self.items.len()).collect();
        Rng::new(seed).shuffle(&mut order);
        let at = order[usize::try_from(number).expect("mutants are countable")];
        self.items[at].as_ref()
    }

    fn fate(&self, mutant: Option<&Mutant>) -> Result<Line> {
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        tree.plant(mutant)?;
        let (fate, by) = run::until_killed(&mut tree, &self.xtask)?;
        Ok(Line { mutant: mutant.map(|mutant| mutant.name.clone()), fate, by })
    }
}

impl Attempts for Mutants {
    fn total(&self) -> u64 {
        self.items.len() as u64
    }

    fn attempt(&self, _: usize, seed: u64, number: u64) -> Result<Map<String, Value>> {
        let line = self.fate(self.item(seed, number))?;
        let Value::Object(line) = json!(line) else { unreachable!("a line is an object") };
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
