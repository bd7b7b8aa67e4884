//! Step `soak`: random drives under random loads with random faults, until something breaks.
//!
//! A *configuration* is drawn from a seed and a number alone: geometry, timing, every feature of
//! the drive, the load, the faults. It is run on a tiny drive, whose invariants are all checked
//! after every step and whose blocks are all compared with a slow oracle, and then for long on a
//! larger one, with cheap checks after every command and full ones from time to time. Each run is
//! repeated without the oracle, in the plainest way (no update of the mapping is deferred, victims
//! are searched for one by one), and must come to the same hash. Canaries are planted before: a
//! soak that does not find them is blind, and fails.
//!
//! Whatever is found is printed with the command that finds it again. How much is run is counted in
//! commands and never in time, so that the machine does not matter; `--minutes` only ends the
//! series of configurations.

mod canary;
mod configuration;
mod oracle;
mod scenario;
mod session;
mod tally;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use trimbench_core::trace_hash::TraceHash;
use trimbench_ssd::MODEL_VERSION;

use crate::Repository;
use crate::steps::Deadline;
use canary::Canary;
use configuration::{Broken, Done, Violation};
use scenario::Size;
use session::Law;

pub use tally::SoakTally;

#[cfg(test)]
mod tests;

/// Digits of a commit's id that make its seed, so that longer abbreviations are the same seed.
const COMMIT_DIGITS: usize = 7;
/// Commands of a canary's runs, on a tiny drive and in a long run.
const CANARY_COMMANDS: [(Size, u64); 2] = [(Size::Tiny, 2_000), (Size::Small, 100_000)];

/// What the user asks for.
#[derive(Clone, Debug, clap::Args)]
pub struct SoakOptions {
    /// An integer, or at least 7 digits of a commit's id (default: the commit checked out)
    pub seed: Option<String>,
    /// How many random configurations
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub configurations: u64,
    /// Commands of each configuration's long run
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub commands: u64,
    /// Begin no configuration after so many minutes
    #[arg(long, value_name = "MINUTES")]
    pub minutes: Option<u64>,
    /// This configuration only
    #[arg(long, value_name = "NUMBER")]
    pub configuration: Option<u64>,
    /// The summary as JSON
    #[arg(long)]
    pub json: bool,
}

/// What a soak came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SoakSummary {
    /// What the configurations were drawn from.
    pub seed: u64,
    /// Configurations that were run to their end.
    pub configurations: u64,
    /// Counts of all runs; a run that was made twice counts once.
    pub tally: SoakTally,
    /// Over the hashes of the configurations, in their order.
    pub hash: String,
    /// Configurations whose victims were searched for both by many superblocks at once and, in the
    /// second run, plainly.
    pub searched_both_ways: u64,
    /// Configurations whose second run came to another hash than the first.
    pub differing: u64,
    /// Configurations in which something did not hold.
    pub violations: u64,
    /// Faults that were planted.
    pub canaries: u64,
    /// Those that were found, by the law that had to find them.
    pub canaries_found: u64,
    /// Wall time, and commands in each second of it; those of second runs are not counted.
    pub seconds: f64,
    /// See above.
    pub commands_per_second: f64,
}

impl SoakSummary {
    /// Whether nothing was violated and every canary was found.
    pub fn is_good(&self) -> bool {
        self.violations == 0 && self.canaries_found == self.canaries && self.configurations > 0
    }

    fn print(&self) {
        let Self { seed, configurations, tally, hash, violations, .. } = self;
        println!("{tally:#?}");
        println!(
            "vectorised and plain searches for victims: {} configurations, {} hashes differ",
            self.searched_both_ways, self.differing
        );
        println!("canaries found: {} of {}", self.canaries_found, self.canaries);
        let speed = self.commands_per_second / 1e6;
        println!(
            "seed {seed}: {configurations} configurations, {} commands, hash {hash}, {violations} \
             violations, {:.1} s, {speed:.2} million commands/s",
            tally.commands, self.seconds,
        );
    }
}

/// Runs a soak and prints what it came to; whether that is good.
pub fn run(repository: &Repository, options: &SoakOptions) -> Result<bool> {
    let seed = match &options.seed {
        Some(text) => parse_seed(text)?,
        None => commit_seed(&repository.state()?.commit)?,
    };
    let start = Instant::now();
    eprintln!("soak: seed {seed}, model {MODEL_VERSION}, {} commands a long run", options.commands);
    let numbers =
        options.configuration.map_or(0..options.configurations, |number| number..number + 1);
    let deadline = options.minutes.map(Deadline::after_minutes);
    let mut summary = SoakSummary { seed, ..SoakSummary::default() };
    plant_canaries(&mut summary)?;
    let series = Series { seed, commands: options.commands, deadline };
    series.run(numbers, &mut summary)?;
    summary.seconds = start.elapsed().as_secs_f64();
    summary.commands_per_second = summary.tally.commands as f64 / summary.seconds;
    if options.json {
        println!("{}", serde_json::to_string(&summary).context("write the summary")?);
    } else {
        summary.print();
    }
    Ok(summary.is_good())
}

/// What CI runs: one seed that stays the same, and the commit's, which is another at each landing.
pub fn smoke(repository: &Repository) -> Result<bool> {
    let mut good = true;
    for seed in [Some("1".to_owned()), None] {
        let options = SoakOptions {
            seed,
            configurations: 8,
            commands: 300_000,
            minutes: None,
            configuration: None,
            json: false,
        };
        good &= run(repository, &options)?;
    }
    Ok(good)
}

/// A decimal integer, or a commit's id.
fn parse_seed(text: &str) -> Result<u64> {
    match text.parse() {
        Ok(seed) => Ok(seed),
        Err(_) => commit_seed(text),
    }
}

/// The number that a commit's first digits are.
fn commit_seed(commit: &str) -> Result<u64> {
    let digits = commit.get(..COMMIT_DIGITS).unwrap_or_default();
    let is_id = commit.len() <= 40 && commit.bytes().all(|digit| digit.is_ascii_hexdigit());
    ensure!(
        is_id && !digits.is_empty(),
        "`{commit}` is no seed: give an integer, or at least {COMMIT_DIGITS} digits of a commit"
    );
    u64::from_str_radix(digits, 16).context("read the digits of a commit")
}

/// Plants each fault and looks whether it is found.
fn plant_canaries(summary: &mut SoakSummary) -> Result<()> {
    for canary in Canary::ALL {
        for place in CANARY_COMMANDS.into_iter().filter(|(size, _)| canary.shows_on(*size)) {
            summary.canaries += 1;
            let size = place.0;
            match configuration::plant(summary.seed, canary, place) {
                Err(Broken::Violation(violation)) if violation.law == canary.law() => {
                    summary.canaries_found += 1;
                    eprintln!("canary {canary:?}, {size:?}: found: {}", violation.what);
                }
                Err(Broken::Violation(Violation { law, what, .. })) => {
                    eprintln!("error: canary {canary:?}, {size:?}: found by {law:?}: {what}");
                }
                Ok(_) => eprintln!("error: canary {canary:?}, {size:?}: lives"),
                Err(Broken::Interrupted) => bail!("interrupted"),
            }
        }
    }
    Ok(())
}

/// Configurations of a seed.
#[derive(Debug)]
struct Series {
    seed: u64,
    commands: u64,
    deadline: Option<Deadline>,
}

impl Series {
    /// Runs the configurations on all processors, and reports them in their order. After a
    /// violation no other is begun.
    fn run(&self, numbers: Range<u64>, summary: &mut SoakSummary) -> Result<()> {
        let (next, stop) = (AtomicU64::new(numbers.start), AtomicBool::new(false));
        let work = |sender: Sender<_>| {
            let over = || self.deadline.is_some_and(|until| until.remaining().is_zero());
            while !stop.load(Ordering::Relaxed) && !over() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
                    return;
                }
                let came = configuration::run(self.seed, number, self.commands);
                stop.fetch_or(came.is_err(), Ordering::Relaxed);
                if sender.send((number, came)).is_err() {
                    return;
                }
            }
        };
        let mut hash = TraceHash::default();
        thread::scope(|scope| -> Result<()> {
            let (sender, receiver) = channel();
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                let sender = sender.clone();
                scope.spawn(|| work(sender));
            }
            drop(sender);
            let mut early = BTreeMap::new();
            let mut due = numbers.start;
            for (number, came) in receiver {
                early.insert(number, came);
                while let Some(came) = early.remove(&due) {
                    self.report(due, came, summary, &mut hash)?;
                    due += 1;
                }
            }
            Ok(())
        })?;
        summary.hash = format!("{:016x}", hash.value());
        Ok(())
    }

    fn report(
        &self,
        number: u64,
        came: Result<Done, Broken>,
        summary: &mut SoakSummary,
        hash: &mut TraceHash,
    ) -> Result<()> {
        match came {
            Ok(done) => {
                summary.configurations += 1;
                summary.searched_both_ways += u64::from(done.searched_both_ways);
                summary.tally = summary.tally.plus(&done.tally);
                hash.word(done.hash);
                eprintln!("{number}: {}: hash {:016x}", done.summary, done.hash);
            }
            Err(Broken::Violation(violation)) => {
                summary.violations += 1;
                summary.differing += u64::from(violation.law == Law::Repetition);
                eprintln!("{}", self.describe(number, &violation));
            }
            Err(Broken::Interrupted) => bail!("interrupted"),
        }
        Ok(())
    }

    /// All that is known of a violation, and the command that finds it again.
    fn describe(&self, number: u64, violation: &Violation) -> String {
        let Violation { law, what, run, size, commands, checked, scenario } = violation;
        // The run on a tiny drive is the same whatever is asked of the long one.
        let again = if *size == Size::Tiny { 1 } else { *commands };
        let seed = self.seed;
        let closely = configuration::narrow_down(seed, number, violation).map(|narrower| {
            let Violation { law, what, commands, .. } = narrower;
            format!("checked closely: after command {commands}: {law:?}: {what}\n")
        });
        let closely = closely.unwrap_or_default();
        format!(
            "\nerror: configuration {number} of seed {seed}, {run} run: {law:?}: {what}\n\
             after command {commands}; after command {checked} everything held\n\
             {closely}{scenario:#?}\n\
             again: cargo xtask soak {seed} --configuration {number} --commands {again}\n",
        )
    }
}
