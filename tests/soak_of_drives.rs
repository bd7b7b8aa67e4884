//! Random drives under random loads and faults. The lab entry `drive_model.soak` runs more of them.

use std::hash::{BuildHasher as _, RandomState};

use tests::soak;

/// Configurations of each seed, and commands of each one's long run.
const CONFIGURATIONS: u64 = 8;
const COMMANDS: u64 = 300_000;

fn holds(seed: u64) -> soak::SoakSummary {
    let summary = soak::run(seed, 0..CONFIGURATIONS, COMMANDS).expect("nobody interrupts it");
    assert!(summary.violations.is_empty(), "{}", summary.violations[0]);
    assert_eq!((summary.configurations, summary.differing), (CONFIGURATIONS, 0));
    assert!(summary.tally.commands > CONFIGURATIONS * COMMANDS);
    summary
}

#[test]
fn random_drives_hold_and_come_to_the_same_again() {
    let summary = holds(1);
    assert!(summary.searched_both_ways > 0, "victims were searched for in two ways");
    assert_eq!(summary.tally.never(), [""; 0]);
}

/// Nobody knows which: a violation is printed with the seed.
#[test]
fn drives_of_a_seed_that_is_drawn_hold() {
    let seed = RandomState::new().hash_one("seed");
    assert_ne!(holds(seed).hash, 0);
}

#[test]
fn every_planted_fault_is_found_by_the_law_that_must_find_it() {
    let (planted, living) = soak::plant_canaries(1).unwrap();
    assert_eq!((planted, living), (11, Vec::new()));
}
