use super::*;
use crate::acceptance::planted::Planted;

/// What libtest prints of tests that all end so.
fn printed(tests: &BTreeSet<String>, outcome: &str) -> String {
    let lines = tests.iter().map(|test| format!("test {test} ... {outcome}\n"));
    lines.chain(["\ntest result: it ended.\n".to_owned()]).collect()
}

fn found(green: &str, red: &str) -> Vec<Finding> {
    let planted = Planted::new();
    planted.capture(CONTROL, 0, green);
    for group in GROUPS {
        planted.capture(group.name, 101, red);
    }
    read(&planted.raw()).unwrap()
}

#[test]
fn a_test_that_no_fault_turns_red_is_named() {
    let all = acceptance_tests();
    let one = all.first().unwrap();
    let others: BTreeSet<String> = all.iter().skip(1).cloned().collect();
    let right = found(&printed(&all, "ok"), &printed(&all, "FAILED"));
    assert!(right.iter().all(Finding::holds), "{right:?}");
    let green = found(&printed(&all, "ok"), &printed(&others, "FAILED"));
    assert!(green[0].holds() && !green[1].holds() && green[1].note == *one, "{green:?}");
    let broken = found(&printed(&others, "ok"), &printed(&all, "FAILED"));
    assert!(!broken[0].holds() && broken[1].holds(), "{broken:?}");
}

#[test]
fn every_acceptance_test_has_a_fault_that_can_be_planted() {
    let named: BTreeSet<String> = GROUPS.iter().flat_map(Group::red).map(str::to_owned).collect();
    assert_eq!(named, acceptance_tests());
    for (fault, _) in GROUPS.iter().flat_map(|group| group.faults) {
        fault.assert_possible();
    }
}
