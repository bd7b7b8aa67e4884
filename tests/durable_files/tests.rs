use super::*;
use crate::scratch;

/// Files after 200 changes, and the folder that they are in.
fn written() -> (tempfile::TempDir, DurableContents) {
    let (place, mut rng) = (scratch(), Rng::new(1));
    let mut folder = Folder::new(place.path().to_owned(), 1);
    for _ in 0..200 {
        folder.change(&mut rng, &AtomicBool::new(false)).unwrap();
    }
    (place, DurableContents { folders: vec![folder] })
}

/// A file that is there, its folder and its number.
fn one_there(contents: &mut DurableContents) -> (&mut Folder, u64) {
    let folder = &mut contents.folders[0];
    let there =
        folder.files.iter().find(|(_, known)| known.durable.is_some() && known.begun.is_none());
    let file = *there.expect("of 16 files some are there").0;
    (folder, file)
}

#[test]
fn files_that_nothing_happened_to_are_as_they_must_be() {
    let (_folder, contents) = written();
    assert_eq!(contents.changes(), 200);
    assert_eq!(contents.faults(), Vec::<String>::new());
}

#[test]
fn what_is_acknowledged_too_late_does_not_count() {
    let (_place, mut contents) = written();
    let folder = &mut contents.folders[0];
    assert!(folder.change(&mut Rng::new(2), &AtomicBool::new(true)).is_err());
    assert!(folder.files.values().any(|known| known.begun.is_some()));
    assert_eq!((contents.changes(), contents.faults()), (200, Vec::new()));
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
        ("torn or foreign", Some(&torn)),
        ("torn or foreign", Some(&whole[..whole.len() - 1])),
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

#[test]
fn a_writer_that_fails_before_the_cut_is_told() {
    let (_place, mut contents) = written();
    contents.folders[0].failure = Some(io::Error::other("no space"));
    let faults = contents.faults();
    assert!(matches!(&faults[..], [one] if one.contains("before the cut: no space")), "{faults:?}");
}
