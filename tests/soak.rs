//! The soak: random drives under random loads with random faults, until something breaks.
//!
//! A *configuration* is drawn from a seed and a number alone: geometry, timing, every feature of
//! the drive, the load, the faults. It is run on a tiny drive, whose invariants are all checked
//! after every step and whose blocks are all compared with a slow oracle, and then for long on a
//! larger one, with cheap checks after every command and full ones from time to time. Each run is
//! repeated without the oracle, in the plainest way (no update of the mapping is deferred, victims
//! are searched for one by one), and must come to the same hash. Canaries are planted, too: a soak
//! that does not find them is blind.
//!
//! A violation is described with the command that finds it again. How much is run is counted in
//! commands and never in time, so that the machine does not matter.

mod canary;
mod configuration;
mod oracle;
mod scenario;
mod session;
mod tally;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use anyhow::{Result, bail};
use trimbench_core::trace_hash::TraceHash;

use canary::Canary;
use configuration::{Broken, Violation};
use scenario::Size;
use session::Law;

pub use tally::SoakTally;

#[cfg(test)]
mod tests;

/// Commands of a canary's runs, on a tiny drive and in a long run.
const CANARY_COMMANDS: [(Size, u64); 2] = [(Size::Tiny, 2_000), (Size::Small, 100_000)];

/// What a soak came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoakSummary {
    /// Configurations that were run to their end.
    pub configurations: u64,
    /// Counts of all runs; a run that was made twice counts once.
    pub tally: SoakTally,
    /// Over the hashes of the configurations, in their order.
    pub hash: u64,
    /// Configurations whose victims were searched for both by many superblocks at once and, in the
    /// second run, plainly.
    pub searched_both_ways: u64,
    /// Configurations whose second run came to another hash than the first.
    pub differing: u64,
    /// What did not hold, and how to find it again: a text for each configuration.
    pub violations: Vec<String>,
}

/// Runs configurations of a seed on all processors. After a violation no other is begun.
///
/// # Errors
/// If the user interrupts it.
pub fn run(seed: u64, numbers: Range<u64>, commands: u64) -> Result<SoakSummary> {
    let (next, stop) = (AtomicU64::new(numbers.start), AtomicBool::new(false));
    let work = || {
        let mut all = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                break;
            }
            let came = configuration::run(seed, number, commands);
            stop.fetch_or(came.is_err(), Ordering::Relaxed);
            all.push((number, came));
        }
        all
    };
    let mut all = thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| worker.join().expect("no panic");
        workers.into_iter().flat_map(join).collect::<Vec<_>>()
    });
    all.sort_unstable_by_key(|(number, _)| *number);
    let (mut summary, mut hash) = (SoakSummary::default(), TraceHash::default());
    for (number, came) in all {
        match came {
            Ok(done) => {
                summary.configurations += 1;
                summary.searched_both_ways += u64::from(done.searched_both_ways);
                summary.tally = summary.tally.plus(&done.tally);
                hash.word(done.hash);
            }
            Err(Broken::Violation(violation)) => {
                summary.differing += u64::from(violation.law == Law::Repetition);
                summary.violations.push(describe((seed, number), &violation));
            }
            Err(Broken::Interrupted) => bail!("interrupted"),
        }
    }
    summary.hash = hash.value();
    Ok(summary)
}

/// All that is known of a violation, and the command that finds it again.
fn describe((seed, number): (u64, u64), violation: &Violation) -> String {
    let Violation { law, what, run, size, commands, checked, scenario } = violation;
    // The run on a tiny drive is the same whatever is asked of the long one.
    let again = if *size == Size::Tiny { 1 } else { *commands };
    let closely = configuration::narrow_down(seed, number, violation).map(|narrower| {
        let Violation { law, what, commands, .. } = narrower;
        format!("checked closely: after command {commands}: {law:?}: {what}\n")
    });
    let closely = closely.unwrap_or_default();
    format!(
        "configuration {number} of seed {seed}, {run} run: {law:?}: {what}\n\
         after command {commands}; after command {checked} everything held\n\
         {closely}{scenario:#?}\n\
         again: cargo xtask lab part soak {seed} {number} {again}\n",
    )
}

/// Plants each fault: how many were planted, and those that were not found by the law that must
/// find them.
///
/// # Errors
/// If the user interrupts it.
pub fn plant_canaries(seed: u64) -> Result<(u64, Vec<String>)> {
    let (mut planted, mut living) = (0, Vec::new());
    for canary in Canary::ALL {
        for place in CANARY_COMMANDS.into_iter().filter(|(size, _)| canary.shows_on(*size)) {
            planted += 1;
            let name = format!("{canary:?}, {:?}", place.0);
            match configuration::plant(seed, canary, place) {
                Err(Broken::Violation(violation)) if violation.law == canary.law() => {}
                Err(Broken::Violation(Violation { law, what, .. })) => {
                    living.push(format!("{name}: found by {law:?}: {what}"));
                }
                Ok(_) => living.push(format!("{name}: lives")),
                Err(Broken::Interrupted) => bail!("interrupted"),
            }
        }
    }
    Ok((planted, living))
}
