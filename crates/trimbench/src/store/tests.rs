use std::fs::OpenOptions;
use std::io::Write as _;

use trimbench_results::{Outcome, PlannedSession, Session};

use super::*;

/// A record of one session that goes on, without steps yet.
fn begun() -> RunRecord {
    let plan = PlannedSession {
        method: "delete-stall".to_owned(),
        target: "/srv".to_owned(),
        preset: "quick".to_owned(),
        options: BTreeMap::new(),
    };
    RunRecord {
        schema: trimbench_results::SCHEMA,
        program: crate::run::program(),
        seed: 1,
        outcome: Outcome::Running,
        advice: Vec::new(),
        plan: vec![plan.clone()],
        sessions: vec![Session::planned(plan, 1)],
    }
}

fn step(id: &str) -> Step {
    let mut step = Step::new(id, "delete");
    step.measure("stutter_s", 0.25);
    step
}

fn ids(record: &RunRecord) -> Vec<&str> {
    record.sessions[0].steps.iter().map(|step| step.id.as_str()).collect()
}

#[test]
fn a_step_is_kept_without_writing_the_record_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("run")).unwrap();
    let mut record = begun();
    store.save(&record).unwrap();
    let before = std::fs::read(store.path().join(RECORD)).unwrap();
    let mut file = store.begin_steps().unwrap();
    for id in ["delete-1", "delete-2"] {
        file.append(0, &step(id)).unwrap();
        record.sessions[0].steps.push(step(id));
    }
    assert_eq!(std::fs::read(store.path().join(RECORD)).unwrap(), before);
    assert_eq!(store.load().unwrap(), record);
    assert_eq!(store.salvage().unwrap(), Salvaged { record: record.clone(), flaws: vec![] });
    // Killed while it appends: what it had kept before is there.
    let path = store.path().join(STEPS);
    let mut torn = OpenOptions::new().append(true).open(&path).unwrap();
    torn.write_all(b"{\"session\":0,\"st").unwrap();
    assert_eq!(ids(&store.load().unwrap()), ["delete-1", "delete-2"]);
    torn.write_all(b"\n").unwrap();
    assert_eq!(ids(&store.load().unwrap()), ["delete-1", "delete-2"]);
    let flaws = store.salvage().unwrap().flaws;
    assert!(flaws.len() == 1 && flaws[0].contains("line 3 of `steps.ndjson`"), "{flaws:?}");
    // The whole record has them, and the file goes.
    store.save(&record).unwrap();
    assert!(!path.exists());
    assert_eq!(store.load().unwrap(), record);
}

#[test]
fn steps_of_an_earlier_session_are_not_in_the_next_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("run")).unwrap();
    store.save(&begun()).unwrap();
    store.begin_steps().unwrap().append(0, &step("before")).unwrap();
    store.begin_steps().unwrap().append(0, &step("after")).unwrap();
    assert_eq!(ids(&store.load().unwrap()), ["after"]);
    store.discard();
    assert!(!folder.path().join("run").exists());
}

#[test]
fn runs_that_begin_in_one_second_have_a_directory_each() {
    let folder = tempfile::tempdir().unwrap();
    let parent = folder.path().join("runs");
    let names = || ["a", "a-2", "a-3"].map(str::to_owned);
    let stores: Vec<Store> = std::thread::scope(|scope| {
        let make = || Store::create_one_of(&parent, names()).unwrap();
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(make)).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let mut paths: Vec<&Path> = stores.iter().map(Store::path).collect();
    paths.sort();
    assert_eq!(paths, [parent.join("a"), parent.join("a-2"), parent.join("a-3")]);
    let taken = Store::create_one_of(&parent, names()).unwrap_err();
    assert!(taken.message().contains("every name"), "{}", taken.message());
}

#[test]
fn what_nothing_was_measured_in_is_removed_with_what_it_lies_in() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("a/b")).unwrap();
    store.replace(RECORD, b"{}", Durability::Later).unwrap();
    store.discard();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
