use std::fs;

use ::tests::acceptance::KEYS;

use super::{GENERATED, claims, drain_rules, exit_codes, run};
use crate::Repository;

#[test]
fn the_page_holds_every_code_with_its_meaning() {
    let page = exit_codes();
    for (code, meaning) in trimbench_core::exit::TABLE {
        assert!(page.contains(&format!("| `{code}` | {meaning} |")), "{code} is not in\n{page}");
    }
}

#[test]
fn a_document_that_was_edited_by_hand_is_found_and_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::at(folder.path());
    assert!(!run(&repository, true).unwrap(), "nothing is written yet");
    assert!(run(&repository, false).unwrap());
    assert!(run(&repository, true).unwrap());
    let path = folder.path().join(GENERATED[0].path);
    fs::write(&path, exit_codes().replace("valid", "well")).unwrap();
    assert!(!run(&repository, true).unwrap());
}

#[test]
fn the_page_of_claims_has_a_row_for_each() {
    let page = claims();
    for claim in KEYS.iter().flat_map(|key| key.claims) {
        assert!(page.contains(&format!("| {} | ", claim.id)), "{} is not in\n{page}", claim.id);
    }
}

#[test]
fn the_page_of_drain_rules_has_each_rule_with_its_measurements_and_its_reason() {
    let page = drain_rules();
    for row in &trimbench_linux::DRAIN_RULES {
        assert!(page.contains(&format!("| {} | {} |", row.force, row.latest_start)), "{row:?}");
        for part in row.measured.iter().chain([&row.why]) {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
    }
}
