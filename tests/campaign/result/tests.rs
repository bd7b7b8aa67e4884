use std::fs;

use serde_json::json;

use super::{About, Ledger, load, parse, store};
use crate::Repository;
use crate::acceptance::Bar;
use crate::campaign::Sources;

fn about() -> About {
    About::new("planted.1", 7, 3, ("abc".to_owned(), Sources::default()))
}

#[test]
fn what_is_committed_is_read_again_and_always_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::at(folder.path());
    let lines = vec![json!({ "attempt": 1 }), json!({ "attempt": 0, "lost": "a disk" })];
    let paths = store(&repository, &about(), lines.clone()).unwrap();
    let bytes = paths.clone().map(|path| fs::read(path).unwrap());
    let (read, text) = load(&repository, "planted.1").unwrap();
    assert_eq!(read, about());
    assert_eq!(text, "{\"attempt\":0,\"lost\":\"a disk\"}\n{\"attempt\":1}\n");
    store(&repository, &about(), parse(&text).unwrap()).unwrap();
    assert_eq!(paths.map(|path| fs::read(path).unwrap()), bytes);
}

#[test]
fn a_campaign_that_was_never_run_is_named_with_its_command() {
    let folder = tempfile::tempdir().unwrap();
    let error = load(&Repository::at(folder.path()), "planted.1").unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("run `cargo xtask campaign planted.1`"), "{error}");
}

#[test]
fn an_attempt_counts_once_and_only_if_it_is_one() {
    let missing = |numbers: &[u64]| {
        let lines = numbers.iter().map(|number| json!({ "attempt": number })).collect();
        Ledger::whole(&about(), lines).missing()
    };
    assert_eq!(missing(&[0, 1, 2]), 0);
    assert_eq!(missing(&[0, 1, 1]), 1);
    assert_eq!(missing(&[0, 1, 3]), 1);
    assert_eq!(missing(&[]), 3);
}

#[test]
fn a_figure_says_whether_it_is_of_the_campaign_or_of_a_sample() {
    let whole = Ledger::whole(&about(), Vec::new());
    let finding = whole.finding("losses", (0.0, ""), Bar::Equals(0.0));
    assert_eq!(finding.what, "losses");
    assert_eq!(finding.command, "cargo xtask campaign planted.1 --seed 7");
    assert_eq!(finding.raw, "planted.1.ndjson");
    let sample = Ledger::sample(&whole.capture, 1, Vec::new());
    assert_eq!(sample.finding("losses", (0.0, ""), Bar::Equals(0.0)).what, "losses (fresh sample)");
}
