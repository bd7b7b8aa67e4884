use super::*;

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
