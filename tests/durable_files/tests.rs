use std::time::Duration;

use super::*;
use crate::scratch;

/// Some files of which each was changed, and the folder that they are in.
fn written() -> (tempfile::TempDir, DurableContents) {
    let folder = scratch();
    let files = DurableFiles::begin(&folder.path().join("files"), 1).unwrap();
    thread::sleep(Duration::from_millis(300));
    (folder, files.end())
}

/// A file that is there, its folder and its number.
fn one_there(contents: &mut DurableContents) -> (&mut Folder, u64) {
    let folder = &mut contents.folders[0];
    let there = folder.files.iter().find(|(_, known)| known.durable.is_some());
    let file = *there.expect("of 16 files some are there").0;
    (folder, file)
}

#[test]
fn files_that_nothing_happened_to_are_as_they_must_be() {
    let (_folder, contents) = written();
    assert!(contents.changes() > 30);
    assert_eq!(contents.faults(), Vec::<String>::new());
}

#[test]
fn a_lost_a_torn_and_an_older_file_and_one_that_came_back_are_found() {
    let (_folder, mut contents) = written();
    let (folder, file) = one_there(&mut contents);
    let path = folder.place(file);
    let whole = fs::read(&path).unwrap();
    let older = folder.block(file, 0, 0);
    let mut torn = whole.clone();
    torn[BLOCK / 2..BLOCK].fill(0);
    let versions: [(&str, Option<&[u8]>); 5] = [
        ("is not there", None),
        ("no whole one", Some(&torn)),
        ("no whole one", Some(&whole[..whole.len() - 1])),
        ("versions [0", Some(&[&older, &whole[BLOCK..]].concat())),
        ("versions []", Some(&[])),
    ];
    for (said, content) in versions {
        match content {
            Some(content) => fs::write(&path, content).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let faults = contents.faults();
        assert!(matches!(&faults[..], [one] if one.contains(said)), "{said}: {faults:?}");
    }
    let (folder, file) = one_there(&mut contents);
    folder.files.insert(file, Known::default());
    fs::write(&path, &whole).unwrap();
    assert_eq!(contents.faults().len(), 1, "it was deleted");
}

#[test]
fn a_change_under_way_may_have_happened_or_not() {
    let known = |begun| Known { durable: Some(vec![1, 2]), begun: Some(begun) };
    let may_be = |begun: &Change, found: Option<&[u64]>| {
        known(begun.clone()).may_be(found.map(<[u64]>::to_vec).as_ref())
    };
    let (deleted, replaced) = (Change::Deleted, Change::Replaced(vec![3]));
    let overwritten = Change::Overwritten(vec![3, 3]);
    for change in [&deleted, &replaced, &overwritten] {
        assert!(may_be(change, Some(&[1, 2])));
        assert!(!may_be(change, Some(&[1])));
        assert_eq!(may_be(change, None), matches!(change, Change::Deleted));
    }
    assert!(may_be(&replaced, Some(&[3])) && !may_be(&replaced, Some(&[3, 2])));
    for found in [[3, 2], [1, 3], [3, 3]] {
        assert!(may_be(&overwritten, Some(&found)) && !may_be(&deleted, Some(&found)));
    }
    assert!(!may_be(&overwritten, Some(&[2, 2])));
}
