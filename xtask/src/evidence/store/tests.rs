use super::Store;
use crate::repository::State;

fn state(commit: &str, sources: &str) -> State {
    State { commit: commit.to_owned(), sources: sources.to_owned(), dirty: false }
}

#[test]
fn only_finished_measurements_of_these_sources_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let first = state("aaa", "1111");
    assert_eq!(store.find("foundation.1", &first, true), None);
    let begun = store.begin("foundation.1", &first, false).unwrap();
    assert_eq!(store.find("foundation.1", &first, true), None, "it is not finished");
    let kept = Store::finish(begun, &first, false).unwrap();
    assert_eq!(store.find("foundation.1", &first, false), Some(kept.clone()));
    assert_eq!(store.find("foundation.2", &first, false), None);
    assert_eq!(store.find("foundation.1", &state("aaa", "2222"), false), None, "stale");
    // A commit that changes documents only has the same sources.
    assert_eq!(store.find("foundation.1", &state("bbb", "1111"), false), Some(kept));
}

#[test]
fn a_short_form_never_stands_for_a_full_one_but_a_full_one_for_a_short() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let now = state("aaa", "1111");
    let short = store.begin("foundation.1", &now, true).unwrap();
    let short = Store::finish(short, &now, true).unwrap();
    assert_eq!(store.find("foundation.1", &now, false), None);
    assert_eq!(store.find("foundation.1", &now, true), Some(short));
    let full = store.begin("foundation.1", &now, false).unwrap();
    let full = Store::finish(full, &now, false).unwrap();
    assert_eq!(store.find("foundation.1", &now, true), Some(full));
}

#[test]
fn a_new_measurement_begins_with_nothing_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let now = state("aaa", "1111");
    let begun = store.begin("foundation.1", &now, false).unwrap();
    let output = begun.folder.join("run.stdout");
    std::fs::write(&output, "old").unwrap();
    Store::finish(begun, &now, false).unwrap();
    let _begun = store.begin("foundation.1", &now, false).unwrap();
    assert!(!output.exists());
    assert_eq!(store.find("foundation.1", &now, false), None);
}

#[test]
fn nobody_empties_the_folder_of_a_measurement_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let now = state("aaa", "1111");
    let begun = store.begin("foundation.1", &now, false).unwrap();
    let output = begun.folder.join("run.stdout");
    std::fs::write(&output, "half").unwrap();
    let error = store.begin("foundation.1", &now, false).unwrap_err().to_string();
    assert!(error.contains("foundation.1") && error.contains("wait"), "{error}");
    assert!(output.exists());
    store.begin("foundation.2", &now, false).unwrap();
    drop(begun);
    store.begin("foundation.1", &now, false).unwrap();
}
