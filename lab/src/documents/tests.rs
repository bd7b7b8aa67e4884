use std::fs;

use trimbench_devices::KINDS;
use trimbench_methods::METHODS;
use xtask::Repository;

use super::{GENERATED, drain_rules, exit_codes, run};

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
    let init = repository.command("git", &["init", "--quiet"]).status().unwrap();
    assert!(init.success());
    assert!(!run(&repository, true).unwrap(), "nothing is written yet");
    assert!(run(&repository, false).unwrap());
    assert!(run(&repository, true).unwrap());
    let path = folder.path().join(GENERATED[0].path);
    fs::write(&path, exit_codes().replace("valid", "well")).unwrap();
    assert!(!run(&repository, true).unwrap());
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

#[test]
fn every_generated_document_is_what_would_be_written() {
    assert!(run(&Repository::here().unwrap(), true).unwrap(), "run `cargo xtask docs`");
}

#[test]
fn each_page_of_a_method_is_that_of_a_method() {
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/methods");
    for page in fs::read_dir(pages).unwrap() {
        let path = page.unwrap().path();
        let id = path.file_stem().unwrap().to_str().unwrap();
        assert!(id == "README" || METHODS.iter().any(|info| info.id == id), "{id}");
    }
}

#[test]
fn each_page_of_a_kind_of_target_is_that_of_a_kind_and_each_kind_has_one() {
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/targets");
    let names = fs::read_dir(pages).unwrap().map(|page| page.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    let mut known: Vec<String> = KINDS.iter().map(|kind| format!("{}.md", kind.id)).collect();
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
}
