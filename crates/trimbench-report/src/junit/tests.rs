use trimbench_core::Caveat;
use trimbench_results::Verdict;
use trimbench_results::cards::cards;

use super::*;
use crate::testing::three_drives;

#[test]
fn each_figure_is_a_case_and_what_is_invalid_is_an_error() {
    let record = three_drives();
    let text = junit(&[("run", &record)], &[]);
    assert!(text.starts_with(JUNIT_MARK) && text.ends_with("</testsuites>\n"));
    let figures: Vec<_> = record.sessions.iter().flat_map(|session| &session.figures).collect();
    let drives = record.advice.len();
    assert_eq!(drives, 3);
    assert_eq!(text.matches("<testcase ").count(), figures.len() + drives);
    assert_eq!(text.matches("</testcase>").count(), figures.len() + drives);
    let invalid = record.sessions.iter();
    let invalid = invalid.flat_map(|it| it.figures.iter().filter(|figure| !it.believes(figure)));
    let invalid = invalid.count();
    assert!(invalid > 0 && text.matches("<error message=\"invalid: ").count() == invalid);
    for figure in figures {
        let shown = escaped(&format!("{}: {}", figure.title, figure.shown().text()));
        assert!(text.contains(&shown), "{shown}");
    }
}

#[test]
fn limits_fail_hold_or_are_skipped_and_sessions_that_are_not_whole_are_said() {
    let mut record = three_drives();
    record.sessions[0].left_out = Some("takes no <discard>".to_owned());
    record.sessions[1].finished = false;
    let judged = |holds| JudgedLimit {
        limit: "p99.9 <= 5ms".to_owned(),
        place: "delete-stall on vendor2".to_owned(),
        found: "7 ms".to_owned(),
        holds,
    };
    let limits = [judged(Some(true)), judged(Some(false)), judged(None)];
    let text = junit(&[("a", &record), ("b", &record)], &limits);
    let suite = "name=\"limits\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\"";
    assert!(text.contains(suite), "{text}");
    assert!(
        text.contains("name=\"p99.9 &lt;= 5ms\"") && text.contains("<failure message=\"7 ms\"")
    );
    assert_eq!(text.matches("<skipped message=\"takes no &lt;discard&gt;\"/>").count(), 2);
    assert_eq!(text.matches("<error message=\"not finished\"/>").count(), 2);
    assert!(text.contains("testsuite name=\"b: verdicts\""));
}

/// Nothing but invalid figures: no advice, and why.
#[test]
fn a_record_of_invalid_figures_has_no_answer_in_any_format_and_says_why() {
    let mut record = three_drives();
    record.sessions.truncate(1);
    for figure in &mut record.sessions[0].figures {
        figure.caveat(Caveat::WindowTooShort);
        figure.verdict = Some(Verdict::DiffersFromPlacebo);
    }
    record.advice = cards(&record);
    let again = "is invalid, so it did not count: measure it again";
    let title = "not enough is known for an answer";
    let (_, csv) = crate::csv(&record).pop().unwrap();
    for text in [junit(&[("run", &record)], &[]), crate::markdown(&[("run", &record)]), csv] {
        assert!(text.contains(again) && text.contains(title), "{text}");
    }
}

#[test]
fn verdicts_are_those_of_the_rules_and_not_those_of_the_record() {
    let record = three_drives();
    let lied = crate::testing::with_hostile_advice(&record);
    assert_eq!(junit(&[("x", &lied)], &[]), junit(&[("x", &record)], &[]));
}

#[test]
fn a_text_of_others_is_one_line_of_text() {
    let mut odd = three_drives();
    odd.sessions[0].figures[0].title = "a\n</system-out>\u{1b}[2J\u{202e}\u{ffff}".to_owned();
    let text = junit(&[("x", &odd)], &[]);
    let expected = "<system-out>a\\n&lt;/system-out&gt;\\u{1b}[2J\\u{202e}\u{fffd}: ";
    assert!(text.contains(expected), "{text}");
}
