//! Random drives under random loads and faults. The lab entry `drive_model.soak` runs more of
//! them, and others every time.

use tests::soak;

/// Configurations, and commands of each one's long run.
const CONFIGURATIONS: u64 = 8;
const COMMANDS: u64 = 300_000;

#[test]
fn random_drives_hold_and_come_to_the_same_again() {
    let summary = soak::run(1, 0..CONFIGURATIONS, COMMANDS).expect("nobody interrupts it");
    assert!(summary.violations.is_empty(), "{}", summary.violations[0]);
    assert_eq!((summary.configurations, summary.differing), (CONFIGURATIONS, 0));
    assert!(summary.tally.commands > CONFIGURATIONS * COMMANDS);
    assert!(summary.searched_both_ways > 0, "victims were searched for in two ways");
    assert_eq!(summary.tally.never(), [""; 0]);
}

#[test]
fn every_planted_fault_is_found_by_the_law_that_must_find_it() {
    let (planted, living) = soak::plant_canaries(1).unwrap();
    assert_eq!((planted, living), (11, Vec::new()));
}
