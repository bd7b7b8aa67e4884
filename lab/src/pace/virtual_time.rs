//! The governor in virtual time, on many emulated drives, for as many commands as a year of a quiet
//! disk has: with jumps of the clock, steps of the load and discards that become ten times as
//! expensive. A test asserts the same of three drives.

use std::thread;
use std::time::Instant;

use anyhow::Result;
use tests::paced_drives::{PROFILES, PacedDrive, PacedOutcome, WAIT_LONGEST};
use trimbench_core::units::index;
use trimbench_core::{Bytes, Ppm};

use crate::attempts::Attempts;
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "virtual_time",
    title: "The governor on 20 emulated drives: the target is kept or the miss is said, nothing \
            starves, and every freed byte is accounted for",
    needs: &[],
    sources: &[
        "crates/trimbench-core",
        "crates/trimbench-policy",
        "crates/trimbench-ssd",
        "profiles",
        "tests/paced_drives.rs",
    ],
    run,
};

/// Drives, and commands on each.
const FULL: (usize, u64) = (PROFILES.len(), 10_000_000);
const SHORT: (usize, u64) = (4, 100_000);
const CAPACITY: Bytes = Bytes::gib(2);
const TOLERANCE: Ppm = Ppm(10_000);
const JUMPS: u64 = 8;
/// A discard costs so many times as much in the second half.
const DEARER: u64 = 10;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let (count, commands) = lab.form(SHORT, FULL);
    // The short form takes drives of each kind.
    let profiles = PROFILES.iter().step_by(PROFILES.len() / count);
    let drives: Vec<PacedDrive> = profiles
        .map(|profile| PacedDrive {
            profile,
            capacity: CAPACITY,
            commands,
            tolerance: TOLERANCE,
            jumps: JUMPS,
            dearer: DEARER,
            seed: 1,
        })
        .collect();
    let begun = Instant::now();
    let attempts = Attempts {
        name: "drives in virtual time",
        count: drives.len() as u64,
        workers: thread::available_parallelism().map_or(1, usize::from),
        deadline: lab.deadline(),
    };
    let outcomes = attempts.make(|_, number| drives[index(number)].run())?;
    Ok(figures(&drives, &outcomes, begun.elapsed().as_secs_f64()))
}

fn figures(drives: &[PacedDrive], outcomes: &[PacedOutcome], seconds: f64) -> Vec<Figure> {
    let count = drives.len();
    let commands: u64 = drives.iter().map(|drive| drive.commands).sum();
    let (mut kept, mut unsaid, mut rows) = (0.0, Vec::new(), Vec::new());
    for (drive, outcome) in drives.iter().zip(outcomes) {
        let is_kept = outcome.late_beyond() <= TOLERANCE;
        kept += f64::from(u8::from(is_kept));
        if !is_kept && !outcome.is_announced(TOLERANCE) {
            unsaid.push(drive.profile);
        }
        rows.push(format!(
            "{} {} beyond {} (target {}, {} by the floor, {} said, longest wait {})",
            drive.profile,
            outcome.late_beyond(),
            outcome.late_by_itself,
            outcome.target,
            outcome.account.floor_steps,
            outcome.said,
            outcome.longest_wait,
        ));
    }
    let most = |of: &dyn Fn(&PacedOutcome) -> f64| outcomes.iter().map(of).fold(0.0, f64::max);
    let least =
        |of: &dyn Fn(&PacedOutcome) -> f64| outcomes.iter().map(of).fold(f64::INFINITY, f64::min);
    let total: u64 = outcomes.iter().map(|it| it.commands).sum();
    let discards: u64 = outcomes.iter().map(|it| it.discards.issued.count).sum();
    let pace =
        format!("{discards} of them discards; {:.2} million/s", total as f64 / seconds / 1e6);
    vec![
        Figure::new("drives that missed the target without a word", (unsaid.len() as f64, ""), {
            Bar::Equals(0.0)
        })
        .with_note(unsaid.join(", ")),
        Figure::new("drives on which it was kept", (kept, ""), Bar::AtLeast(0.0)).with_note(
            format!("of {count}: late share beyond that without discards: {}", rows.join("; ")),
        ),
        Figure::new(
            "longest wait of freed space, by a clock that jumps",
            (most(&|it| it.longest_wait.seconds() / 3_600.0), "h"),
            Bar::AtMost(WAIT_LONGEST.seconds() / 3_600.0),
        ),
        Figure::new(
            "discards sent, on the drive with the fewest",
            (least(&|it| it.discards.issued.count as f64), ""),
            Bar::AtLeast(1.0),
        ),
        Figure::new(
            "freed bytes in no account, or in two",
            (most(&|it| it.unaccounted() as f64), "B"),
            Bar::Equals(0.0),
        ),
        Figure::new("commands", (total as f64, ""), Bar::AtLeast(commands as f64)).with_note(pace),
    ]
}
