use std::time::Duration;

use anyhow::bail;

use super::{SETTINGS, Steps, build_options, good};
use crate::Repository;
use crate::steps::Deadline;

#[test]
fn a_failed_step_fails_the_run_and_the_next_one_still_runs() {
    let deadline = Deadline::after(Duration::from_secs(60));
    let mut steps = Steps { deadline, done: Vec::new() };
    let mut ran = false;
    steps.step("fmt", || bail!("planted")).unwrap();
    steps
        .step("tidy", || {
            ran = true;
            good(true)
        })
        .unwrap();
    assert!(ran);
    assert!(!steps.report());
}

#[test]
fn a_run_of_good_steps_is_good() {
    let deadline = Deadline::after(Duration::from_secs(60));
    let mut steps = Steps { deadline, done: Vec::new() };
    steps.step("fmt", || good(true)).unwrap();
    assert!(steps.report());
    steps.step("tidy", || good(false)).unwrap();
    assert!(!steps.report());
}

#[test]
fn nothing_begins_after_the_limit_and_the_run_fails() {
    let mut steps = Steps { deadline: Deadline::after(Duration::ZERO), done: Vec::new() };
    steps.step("test", || panic!("ran after the limit")).unwrap();
    assert!(!steps.report());
}

#[test]
fn each_crate_of_ours_is_built_as_for_its_tests() {
    let repository = Repository::here().unwrap();
    let manifest = std::fs::read_to_string(repository.root().join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let profile = manifest["profile"]["test"].as_table().unwrap();
    for (key, value) in profile {
        assert!(SETTINGS.contains(&format!("{key}={value}").as_str()), "{key}={value}");
    }
    let options = build_options(&repository).unwrap();
    let folders = std::fs::read_dir(repository.root().join("crates")).unwrap();
    let crates = folders.map(|folder| folder.unwrap().file_name().into_string().unwrap());
    for name in crates.chain(["tests".to_owned(), "xtask".to_owned()]) {
        let option = format!("--config=profile.release.package.{name}.debug-assertions=true");
        assert!(options.contains(&option), "{name}");
    }
}
