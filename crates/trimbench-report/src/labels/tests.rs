use trimbench_results::{Outcome, Session};

use super::*;
use crate::testing::{record, session};

fn source(name: &str, sessions: Vec<Session>) -> PageSource {
    PageSource::of(name, record(sessions, Outcome::Complete))
}

fn labels(sources: &[PageSource]) -> Vec<String> {
    labelled(sources).into_iter().map(|session| session.label).collect()
}

#[test]
fn a_target_is_called_by_its_name_where_that_is_enough() {
    let one =
        source("a", vec![session("vendor2", 0.4, [0.3, 0.5]), session("other", 0.1, [0.0, 0.2])]);
    assert_eq!(labels(&[one]), ["vendor2", "other"]);
}

#[test]
fn equal_names_are_told_apart_by_what_differs() {
    let drive = || session("vendor2", 0.4, [0.3, 0.5]);
    let mut on_filesystem = drive();
    on_filesystem.target.identity.insert("filesystem".to_owned(), "ext4, modelled".to_owned());
    let one = source("a", vec![drive(), on_filesystem]);
    assert_eq!(labels(&[one])[1], "vendor2, with ext4, modelled");
    let two = [source("before", vec![drive()]), source("after", vec![drive()])];
    assert_eq!(labels(&two), ["vendor2, before", "vendor2, after"]);
}

#[test]
fn no_two_of_a_method_share_a_label_whatever_the_records_hold() {
    let drive = || session("vendor2", 0.4, [0.3, 0.5]);
    let two = [source("a", vec![drive(), drive()]), source("a", vec![drive()])];
    let labels = labels(&two);
    let unique: std::collections::BTreeSet<_> = labels.iter().collect();
    assert_eq!(unique.len(), 3, "{labels:?}");
}
