use std::fs::OpenOptions;
use std::io::Write as _;

use trimbench_results::{Outcome, PlannedSession, Program, Session};

use super::*;

/// A record of one session that goes on, without steps yet.
fn begun() -> RunRecord {
    let plan = PlannedSession {
        method: "delete-stall".to_owned(),
        target: "/srv".to_owned(),
        preset: "quick".to_owned(),
        options: BTreeMap::new(),
    };
    let mut session = Session::planned(plan.clone(), 1);
    session.target.kind = "directory".to_owned();
    RunRecord {
        schema: trimbench_results::SCHEMA,
        program: Program {
            name: "trimbench".to_owned(),
            version: "0.1.0".to_owned(),
            commit: "unknown".to_owned(),
            model_version: 1,
        },
        run_id: Some("0123456789abcdef0123456789abcdef".to_owned()),
        seed: 1,
        outcome: Outcome::Running,
        advice: Vec::new(),
        plan: vec![plan],
        sessions: vec![session],
    }
}

fn step(id: &str) -> Step {
    let mut step = Step::new(id, "delete");
    step.metrics.insert("stutter_s".to_owned(), 0.25);
    step
}

fn ids(record: &RunRecord) -> Vec<&str> {
    record.sessions[0].steps.iter().map(|step| step.id.as_str()).collect()
}

fn begun_in(folder: &Path) -> (Store, RunRecord) {
    let (store, record) = (Store::create(&folder.join("run")).unwrap(), begun());
    store.save(&record).unwrap();
    (store, record)
}

/// Appends steps of these ids, in a file of their own.
fn append(store: &Store, record: &RunRecord, ids: &[&str]) {
    let origin = StepOrigin::of(record, 0).unwrap();
    let mut file = store.begin_steps().unwrap();
    ids.iter().enumerate().for_each(|(at, id)| file.append(&origin, at, &step(id)).unwrap());
}

#[test]
fn a_step_is_kept_without_writing_the_record_again() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mut record) = begun_in(folder.path());
    let before = std::fs::read(store.path().join(RECORD)).unwrap();
    append(&store, &record, &["delete-1", "delete-2"]);
    record.sessions[0].steps.extend([step("delete-1"), step("delete-2")]);
    assert_eq!(std::fs::read(store.path().join(RECORD)).unwrap(), before);
    assert_eq!(store.load_to_resume().unwrap(), record);
    assert_eq!(store.salvage().unwrap(), Salvaged { record: record.clone(), flaws: vec![] });
    // Killed while it appends: what it had kept before is there.
    let path = store.path().join(STEPS);
    let mut torn = OpenOptions::new().append(true).open(&path).unwrap();
    torn.write_all(b"{\"run\":\"0123456789ab").unwrap();
    assert_eq!(ids(&store.load_to_resume().unwrap()), ["delete-1", "delete-2"]);
    // The whole record has them, and the file goes.
    store.save(&record).unwrap();
    assert!(!path.exists());
    assert_eq!(store.load().unwrap(), LoadedRecord { record, flaws: vec![] });
}

#[test]
fn lines_that_are_not_believed_are_set_aside_with_all_others_and_the_others_count() {
    let folder = tempfile::tempdir().unwrap();
    let (store, record) = begun_in(folder.path());
    append(&store, &record, &["delete-1", "delete-2", "delete-3"]);
    let path = store.path().join(STEPS);
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replace("delete-2", "delete-9");
    std::fs::write(&path, &changed).unwrap();
    let flaws = store.salvage().unwrap().flaws;
    assert_eq!(flaws, ["line 2 of `steps.ndjson` is damaged or was changed: it is left out"]);
    assert_eq!(ids(&store.load().unwrap().record), ["delete-1", "delete-3"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), changed, "to look changes nothing");
    let failure = store.load_to_resume().unwrap_err();
    assert_eq!(failure.code, trimbench_core::exit::USAGE);
    assert!(failure.message().contains("line 2 is damaged"), "{}", failure.message());
    assert!(!path.exists());
    let aside = store.path().join("steps.ndjson.set-aside-1");
    assert_eq!(std::fs::read_to_string(&aside).unwrap(), changed);
    assert_eq!(ids(&store.load_to_resume().unwrap()), ["delete-1", "delete-3"]);
    // Those of another run have another name.
    append(&store, &RunRecord { run_id: Some("other".to_owned()), ..record }, &["foreign"]);
    let failure = store.load_to_resume().unwrap_err();
    assert!(failure.message().contains("measured in another run"), "{}", failure.message());
    assert!(store.path().join("steps.ndjson.set-aside-2").exists() && aside.exists());
}

#[test]
fn steps_that_cannot_be_read_are_an_error_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = begun_in(folder.path());
    let path = store.path().join(STEPS);
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    for failure in [store.load().unwrap_err(), store.salvage().unwrap_err()] {
        assert_eq!(failure.code, trimbench_core::exit::USAGE);
        assert!(failure.message().contains("steps were measured that"), "{}", failure.message());
    }
    assert!(path.is_symlink());
}

#[test]
fn a_record_that_somebody_changed_is_shown_and_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mut record) = begun_in(folder.path());
    record.sessions[0].steps.push(step("delete-1"));
    store.save(&record).unwrap();
    let path = store.path().join(RECORD);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("0.25", "0.0025")).unwrap();
    assert_eq!(store.salvage().unwrap().flaws, [CHANGED]);
    let failure = store.load_to_resume().unwrap_err();
    assert!(failure.message().ends_with(CHANGED), "{}", failure.message());
    std::fs::write(&path, text).unwrap();
    assert_eq!(store.load_to_resume().unwrap(), record);
}

#[test]
fn what_somebody_put_in_the_place_of_our_files_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (store, record) = begun_in(folder.path());
    append(&store, &record, &["delete-1"]);
    for name in [RECORD, STEPS] {
        let path = store.path().join(name);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "theirs").unwrap();
    }
    store.save(&record).unwrap();
    let read = |name: &str| std::fs::read_to_string(store.path().join(name)).unwrap();
    let (path, kept_as) = (store.path().join(RECORD), PathBuf::from("run.json.set-aside-1"));
    assert_eq!(store.take_set_aside(), [SetAside { path, kept_as }]);
    assert!(store.take_set_aside().is_empty());
    assert_eq!(read("run.json.set-aside-1"), "theirs");
    assert_eq!(read(STEPS), "theirs", "it is not ours to remove");
    append(&store, &record, &["delete-2"]);
    assert_eq!(read("steps.ndjson.set-aside-1"), "theirs");
    assert_eq!(ids(&store.load_to_resume().unwrap()), ["delete-2"]);
    // A page of somebody else, and one that cannot be read.
    std::fs::write(store.path().join(PAGE), "<html>theirs").unwrap();
    let (page, is_page) = ("<html>ours", (|bytes| bytes.ends_with(b"ours")) as fn(&[u8]) -> bool);
    assert!(store.save_page(page, is_page).is_err());
    std::fs::remove_file(store.path().join(PAGE)).unwrap();
    std::fs::create_dir(store.path().join(PAGE)).unwrap();
    assert!(store.save_page(page, is_page).is_err());
    std::fs::remove_dir(store.path().join(PAGE)).unwrap();
    store.save_page(page, is_page).unwrap();
    store.save_page(page, is_page).unwrap();
    std::fs::write(store.path().join(HOST), "theirs").unwrap();
    assert!(store.host().is_empty());
    store.save_host(&host()).unwrap();
    assert_eq!(read("host.json.set-aside-1"), "theirs");
    store.save_host(&host()).unwrap();
    assert!(!store.path().join("host.json.set-aside-2").exists(), "that was ours");
}

fn host() -> Host {
    Host {
        command: Vec::new(),
        started_unix_s: 1.0,
        ended_unix_s: None,
        debug_build: false,
        environment: BTreeMap::new(),
        sessions: Vec::new(),
    }
}

#[test]
fn steps_of_an_earlier_session_are_not_in_the_next_file() {
    let folder = tempfile::tempdir().unwrap();
    let (store, record) = begun_in(folder.path());
    append(&store, &record, &["before"]);
    append(&store, &record, &["after"]);
    assert_eq!(ids(&store.load().unwrap().record), ["after"]);
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
