use trimbench_core::Caveat;

use super::*;
use crate::testing::{figure, record, session};

/// A session of `trim-integrity` on a target that lost so many blocks.
fn integrity(target: &str, lost: f64) -> Session {
    let mut integrity =
        session("trim-integrity", vec![figure("neighbour-blocks-lost", lost, "blocks")]);
    integrity.figures[0].headline = true;
    integrity.target.name = target.to_owned();
    integrity
}

#[test]
fn each_drive_has_one_card_whose_reasons_point_into_the_record() {
    let mut files = integrity("ext4 on b", 7.0);
    files.target.kind = "filesystem".to_owned();
    let record = record(vec![integrity("a", 0.0), integrity("b", 0.0), files]);
    let cards = cards(&record);
    let of: Vec<(&str, &[usize], &str)> =
        cards.iter().map(|it| (&*it.target, &*it.sessions, &*it.action)).collect();
    assert_eq!(of, [("a", &[0][..], "unknown"), ("b", &[1, 2], "do-not-trim")]);
    assert_eq!(cards[1].because[0].figures, [(2, "neighbour-blocks-lost".to_owned())]);
    assert!(cards[1].lines.iter().any(|line| line.text.contains("fstrim.timer")));
}

#[test]
fn drives_of_one_name_are_told_apart_by_what_was_set() {
    let mut other = integrity("a", 0.0);
    other.target.identity.insert("set-by-the-user".to_owned(), "capacity=2GiB".to_owned());
    let names: Vec<String> = cards(&record(vec![integrity("a", 0.0), other]))
        .into_iter()
        .map(|card| card.target)
        .collect();
    assert_eq!(names, ["a", "a, capacity=2GiB"]);
}

/// No answer, and what is wrong is said.
#[test]
fn nothing_but_invalid_figures_gives_no_answer() {
    let mut invalid = integrity("a", 7.0);
    invalid.figures[0].caveat(Caveat::WindowTooShort);
    assert!(!invalid.is_valid());
    let card = &cards(&record(vec![invalid]))[0];
    assert_eq!((card.action.as_str(), card.lines.len()), ("unknown", 0));
    let why = card.would_change.join(" ");
    assert!(why.contains("`trim-integrity`") || why.contains("is invalid"), "{card:#?}");
    assert!(!card.not_measured.is_empty());
}

#[test]
fn a_card_in_a_record_reads_back_and_a_broken_one_is_said() {
    let mut record = record(vec![integrity("a", 7.0)]);
    record.advice = cards(&record);
    let json = String::from_utf8(record.to_json()).unwrap();
    assert_eq!(RunRecord::from_json(json.as_bytes()).unwrap(), record);
    let broken = json.replacen("\"action\": \"do-not-trim\"", "\"action\": 5", 1);
    let salvaged = RunRecord::salvage(broken.as_bytes()).unwrap();
    assert!(salvaged.record.advice.is_empty() && salvaged.record.sessions.len() == 1);
    assert!(salvaged.flaws.iter().any(|flaw| flaw.contains("`advice`")), "{:?}", salvaged.flaws);
}
