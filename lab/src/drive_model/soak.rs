//! The soak: random drives under random loads and faults, without a violated invariant.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use tests::soak;

use crate::entry::{DRIVES, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "soak",
    title: "Random drives under random loads and faults: violated invariants, and planted faults \
            that are not found",
    needs: &[],
    sources: DRIVES,
    run,
};

/// Configurations, and commands of each one's long run: in all 10^9 in full and 2 x 10^7 in short.
const FULL: (u32, u32) = (200, 5_000_000);
const SHORT: (u32, u32) = (40, 500_000);
/// The least share of configurations whose drives have a vectorised search. About a quarter has:
/// two of four policies, without those that compress, have no flash or are never full.
const SEARCHED_BOTH_WAYS: f64 = 0.1;
const SEED: u64 = 1;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let (configurations, commands) = lab.form(SHORT, FULL);
    let (planted, living) = soak::plant_canaries(SEED)?;
    let begun = Instant::now();
    let summary = soak::run(SEED, 0..configurations.into(), commands.into())?;
    let seconds = begun.elapsed().as_secs_f64();
    // Nobody has seen these; a violation is printed with the seed.
    let seed = RandomState::new().hash_one("seed");
    let drawn = soak::run(seed, 0..SHORT.0.into(), SHORT.1.into())?;
    let violations = summary.violations.iter().chain(&drawn.violations);
    violations.for_each(|violation| eprintln!("error: {violation}"));
    let (tally, never) = (&summary.tally, summary.tally.never());
    let looks = format!("everything was checked {} times; hash {:016x}", tally.walks, summary.hash);
    let speed = tally.commands as f64 / seconds / 1e6;
    let pace = format!("{seconds:.0} s, {speed:.2} million/s; every run is made twice");
    let count = |what: &str, count: u64, bar| Figure::new(what, (count as f64, ""), bar);
    let (configurations, commands) = (f64::from(configurations), f64::from(commands));
    let searched = Bar::AtLeast(configurations * SEARCHED_BOTH_WAYS);
    Ok(vec![
        count("configurations with a violation", summary.violations.len() as u64, Bar::Equals(0.0))
            .with_note(looks),
        count("those of a drawn seed", drawn.violations.len() as u64, Bar::Equals(0.0))
            .with_note(format!("of {}; seed {seed}", drawn.configurations)),
        count("commands", tally.commands, Bar::AtLeast(configurations * commands)).with_note(pace),
        count("random configurations", summary.configurations, Bar::AtLeast(configurations)),
        count(
            "configurations searched by vectors and plainly",
            summary.searched_both_ways,
            searched,
        )
        .with_note("for victims, greedy or cost-benefit, that were collected"),
        count("configurations whose two hashes differ", summary.differing, Bar::Equals(0.0)),
        count("planted faults that are not found", living.len() as u64, Bar::Equals(0.0))
            .with_note(format!("of {planted}; {}", living.join("; "))),
        count("kinds of event that never occur", never.len() as u64, Bar::Equals(0.0))
            .with_note(never.join(", ")),
    ])
}

/// Runs one configuration again: its seed, its number, and the commands of its long run.
pub(crate) fn again(arguments: &[String]) -> Result<bool> {
    let numbers: Result<Vec<u64>, _> = arguments.iter().map(|text| text.parse()).collect();
    let [seed, number, commands] = numbers.context("three numbers are wanted")?[..] else {
        bail!("wanted: SEED NUMBER COMMANDS");
    };
    let summary = soak::run(seed, number..number + 1, commands)?;
    println!("{summary:#?}");
    summary.violations.iter().for_each(|violation| eprintln!("error: {violation}"));
    Ok(summary.violations.is_empty())
}
