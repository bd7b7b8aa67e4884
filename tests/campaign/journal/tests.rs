use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use serde_json::Map;

use super::Journal;
use crate::campaign::{About, Sources};

fn open(folder: &Path, seed: u64) -> Journal {
    let ground = ("abc".to_owned(), Sources::default());
    Journal::open(folder, &About::new("planted.1", seed, 4, ground)).unwrap()
}

#[test]
fn a_campaign_that_was_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = open(folder.path(), 1);
    assert_eq!(journal.missing(), [0, 1, 2, 3]);
    journal.append(2, Map::new()).unwrap();
    journal.append(0, Map::from_iter([("kept".to_owned(), true.into())])).unwrap();
    let mut file = OpenOptions::new().append(true).open(&journal.path).unwrap();
    file.write_all(b"{\"attempt\":1,\"cut o").unwrap();
    drop(journal);
    let mut journal = open(folder.path(), 1);
    assert_eq!((journal.len(), journal.missing()), (2, vec![1, 3]));
    journal.append(1, Map::new()).unwrap();
    let lines: Vec<String> = journal.lines().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(lines, [r#"{"attempt":0,"kept":true}"#, r#"{"attempt":1}"#, r#"{"attempt":2}"#]);
}

#[test]
fn another_seed_is_another_journal_and_the_first_commit_stays() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path(), 1).append(0, Map::new()).unwrap();
    assert_eq!(open(folder.path(), 2).len(), 0);
    let later = ("def".to_owned(), Sources::default());
    let journal = Journal::open(folder.path(), &About::new("planted.1", 1, 4, later)).unwrap();
    assert_eq!((journal.len(), journal.about().commit.as_str()), (1, "abc"));
}
