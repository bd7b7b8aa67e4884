//! Step `campaign`: tests that take hours, run once, and whose result is committed.
//!
//! A [`Campaign`] is a number of *attempts*. Each is drawn from a seed and its number alone and
//! comes to one line of JSON. Lines are appended to a journal in `target/campaign/ID/` as the
//! attempts end, so a campaign that was stopped or killed goes on where it was: run the same
//! command again. The journal belongs to a seed and to the content of the [`SAFETY`] or other
//! sources that the campaign is about: when these change, it starts from nothing.
//!
//! When every attempt is made, the lines go to `docs/evidence/campaigns/ID.ndjson.gz`, and seed,
//! commit and hashes of the sources to `ID.json` beside it; both are to be committed. No verdict is
//! stored: `cargo xtask evidence ID` computes it from the lines ([`Campaign::judge`]), checks that
//! the sources still are those that the campaign ran on, and makes a fresh sample of attempts with
//! another seed, which must hold as well.
//!
//! # To add a campaign
//! Implement [`Attempts`] in a module of this folder, describe it by a
//! `pub const CAMPAIGN: Campaign`, add that to [`CAMPAIGNS`], and its claim to
//! `tests/acceptance/table.rs`. An attempt cleans up after itself, also
//! when it fails, and writes nothing outside of a temporary folder of its own. What the program
//! did wrong is part of the line; an `Err` says that the attempt could not be made: it is made
//! again, and after [`TRIES`] the campaign stops. Lines are committed, so they are short (some 200
//! bytes; at most 256 KiB in all when packed) and name no time, no machine and no folder of it.

mod crashed;
pub mod inputs;
mod journal;
pub mod killed;
pub mod mutants;
pub mod result;
mod sources;
#[cfg(test)]
mod tests;
pub mod twins;
pub mod watched;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};

use crate::acceptance::Finding;
use crate::steps::Deadline;
use crate::{Repository, process};
use journal::Journal;
pub use result::{About, Ledger};
pub use sources::{READERS, SAFETY, Sources};

/// Every campaign.
pub const CAMPAIGNS: [&Campaign; 5] = [
    &watched::CAMPAIGN,
    &mutants::CAMPAIGN,
    &killed::CAMPAIGN,
    &inputs::CAMPAIGN,
    &twins::CAMPAIGN,
];

/// How often an attempt that could not be made is begun before the campaign stops.
pub const TRIES: usize = 3;

/// How often progress is printed.
const PROGRESS: Duration = Duration::from_secs(30);

/// What is attempted, and when it is good.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// The claim that it shows: `safe.2`.
    pub id: &'static str,
    /// What an attempt is, in a few words.
    pub title: &'static str,
    /// Files and folders (ending in `/`) whose content the result is about: [`SAFETY`] for most.
    pub sources: &'static [&'static str],
    /// How many attempts are made at a time.
    pub workers: usize,
    /// Gets ready what all attempts share. The folder is the campaign's own below `target/`, is
    /// kept between calls, and may hold what is expensive to make again.
    pub prepare: fn(&Repository, &Path) -> Result<Box<dyn Attempts>>,
    /// The figures in the lines of all attempts, or in those of a sample.
    pub judge: fn(&Ledger) -> Result<Vec<Finding>>,
}

/// A campaign that is ready to run.
pub trait Attempts: Sync {
    /// How many attempts make the campaign complete.
    fn total(&self) -> u64;

    /// Makes attempt `number` (below [`Attempts::total`]) and says what came of it, as an object of
    /// JSON. Called by several threads at once; `worker` tells them apart, from 0.
    fn attempt(&self, worker: usize, seed: u64, number: u64) -> Result<Map<String, Value>>;
}

/// What the user asks for.
#[derive(Clone, Debug, clap::Args)]
pub struct CampaignOptions {
    /// Which: the claim that it shows, as `safe.2`
    pub id: String,
    /// What its attempts are drawn from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Begin no attempt after so many minutes
    #[arg(long, value_name = "MINUTES")]
    pub minutes: Option<u64>,
}

/// Goes on with a campaign; whether nothing is wrong with what is known of it by now.
pub fn run(repository: &Repository, options: &CampaignOptions) -> Result<bool> {
    let campaign = find(&options.id)?;
    let sources = Sources::read(repository, campaign.sources)?;
    let folder = folder(repository, campaign)?;
    let attempts = (campaign.prepare)(repository, &folder)?;
    let state = repository.state()?.label();
    let about = About::new(campaign.id, options.seed, attempts.total(), (state, sources));
    let journal = Journal::open(&folder, &about)?;
    let missing = journal.missing();
    println!("{}: {} of {} attempts are made", about.campaign, journal.len(), about.attempts);
    let until = options.minutes.map(Deadline::after_minutes);
    let run = Run { campaign, attempts: &*attempts, seed: options.seed, until };
    let journal = Mutex::new(journal);
    run.make(&missing, |number, line| {
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.append(number, line)
    })?;
    let journal = journal.into_inner().unwrap_or_else(PoisonError::into_inner);
    let left = journal.missing().len();
    let good = conclude(campaign, &Ledger::whole(journal.about(), journal.lines()?))?;
    if process::interrupted() {
        bail!("interrupted; {left} attempts are left, and what was made is kept");
    }
    if left > 0 {
        println!("{}: {left} attempts are left; the same command goes on", campaign.id);
        return Ok(good);
    }
    for path in result::store(repository, journal.about(), journal.lines()?)? {
        println!("{}: wrote {}: commit it", campaign.id, repository.relative(&path));
    }
    Ok(good)
}

impl Campaign {
    /// Makes the first `count` attempts of a seed, none of them after `until`; their lines.
    pub fn sample(
        &self,
        repository: &Repository,
        (seed, count): (u64, u64),
        until: Deadline,
    ) -> Result<Vec<Map<String, Value>>> {
        let attempts = (self.prepare)(repository, &folder(repository, self)?)?;
        let numbers: Vec<u64> = (0..count.min(attempts.total())).collect();
        let run = Run { campaign: self, attempts: &*attempts, seed, until: Some(until) };
        let lines = Mutex::new(Vec::new());
        run.make(&numbers, |number, line| {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push(result::numbered(number, line));
            Ok(())
        })?;
        Ok(lines.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A copy in `folder` of the release build of `trimbench`, which is brought up to date first: what
/// is built while a campaign runs is no part of it.
pub fn program(repository: &Repository, folder: &Path) -> Result<PathBuf> {
    process::run_well(&mut repository.command("cargo", &["build", "--release", "--quiet"]), None)?;
    let (built, new) =
        (repository.target().join("release/trimbench"), folder.join("trimbench.new"));
    let copy = folder.join("trimbench");
    std::fs::copy(&built, &new).with_context(|| format!("copy {}", built.display()))?;
    std::fs::rename(&new, &copy).with_context(|| format!("write {}", copy.display()))?;
    Ok(copy)
}

/// The campaign of this id.
fn find(id: &str) -> Result<&'static Campaign> {
    let found = CAMPAIGNS.into_iter().find(|campaign| campaign.id == id);
    let known = || CAMPAIGNS.map(|campaign| campaign.id).join(", ");
    found.with_context(|| format!("no campaign is called `{id}`; there are: {}", known()))
}

fn folder(repository: &Repository, campaign: &Campaign) -> Result<PathBuf> {
    let folder = repository.target().join("campaign").join(campaign.id);
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    Ok(folder)
}

/// Prints what was found so far; whether all of it holds but what is only a matter of numbers.
fn conclude(campaign: &Campaign, ledger: &Ledger) -> Result<bool> {
    let mut good = true;
    for finding in (campaign.judge)(ledger)? {
        let Finding { what, figure, unit, bar, note, .. } = &finding;
        let verdict = if finding.holds() { "holds" } else { "DOES NOT HOLD" };
        println!("{}: {what}: {figure} {unit} ({bar}): {verdict} {note}", campaign.id);
        good &= finding.holds();
    }
    Ok(good || !ledger.is_complete())
}

/// Attempts in the making.
struct Run<'a> {
    campaign: &'a Campaign,
    attempts: &'a dyn Attempts,
    seed: u64,
    until: Option<Deadline>,
}

impl Run<'_> {
    /// Makes the attempts of these numbers, as many at a time as the campaign says, and hands each
    /// line to `keep`. Stops at the first error, when its time is over, and at Ctrl-C.
    fn make(
        &self,
        numbers: &[u64],
        keep: impl Fn(u64, Map<String, Value>) -> Result<()> + Sync,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        let done = AtomicU64::new(0);
        let work = |worker: usize| -> Result<()> {
            while let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.is_over() {
                    break;
                }
                let kept = self.attempt(worker, number).and_then(|line| keep(number, line));
                if kept.is_err() {
                    // The other workers end what they are at, and begin nothing.
                    next.store(numbers.len(), Ordering::Relaxed);
                }
                kept?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let work = &work;
            let spawn = |worker| scope.spawn(move || work(worker));
            let workers: Vec<_> = (0..self.campaign.workers).map(spawn).collect();
            let mut progress = Deadline::after(PROGRESS);
            while workers.iter().any(|worker| !worker.is_finished()) {
                thread::sleep(Duration::from_millis(20));
                if progress.remaining().is_zero() {
                    progress = Deadline::after(PROGRESS);
                    let done = done.load(Ordering::Relaxed);
                    eprintln!("{}: {done} of {} made", self.campaign.id, numbers.len());
                }
            }
            let join = |worker: thread::ScopedJoinHandle<'_, Result<()>>| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            workers.into_iter().try_for_each(join)
        })
    }

    fn attempt(&self, worker: usize, number: u64) -> Result<Map<String, Value>> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.attempts.attempt(worker, self.seed, number) {
                Err(error) if tries < TRIES && !process::interrupted() => {
                    eprintln!("{}: attempt {number} again: {error:#}", self.campaign.id);
                }
                result => {
                    return result.with_context(|| format!("attempt {number}"));
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        process::interrupted() || self.until.is_some_and(|until| until.remaining().is_zero())
    }
}
