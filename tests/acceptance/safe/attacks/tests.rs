use super::read;
use crate::acceptance::planted::{Planted, failing};

/// Raw output of 60 rows in which everything holds, but for the outcome of the first row with the
/// program of before and with that of now.
fn planted(before: Option<&str>, now: Option<&str>) -> Planted {
    let planted = Planted::new();
    for (program, all, first) in [("before", "lost", before), ("now", "held", now)] {
        let line = |row: usize| {
            let outcome = if row == 0 { first } else { Some(all) };
            outcome.map(|outcome| format!("{{\"row\":\"{row}\",\"outcome\":\"{outcome}\"}}\n"))
        };
        planted.capture(program, 0, &(0..60).filter_map(line).collect::<String>());
    }
    planted
}

#[test]
fn a_row_is_shown_only_if_it_lost_before_and_holds_now() {
    let shown = "rows that lost something before and do not now";
    let idle = "rows that lose nothing with the program of before";
    let lost = "rows that lose something now";
    let unpaired = "rows without an answer of both";
    let cases: [(Option<&str>, Option<&str>, &[&str]); 7] = [
        (Some("lost"), Some("held"), &[]),
        (Some("held"), Some("held"), &[shown, idle]),
        (Some("no-trap"), Some("held"), &[shown, idle]),
        (Some("lost"), Some("lost"), &[shown, lost]),
        (Some("lost"), Some("no-trap"), &[shown, lost]),
        (Some("skipped"), Some("skipped"), &[shown]),
        (Some("lost"), None, &[shown, unpaired]),
    ];
    for (before, now, expected) in cases {
        let findings = read(&planted(before, now).raw()).unwrap();
        assert_eq!(failing(&findings), expected, "{before:?} {now:?}");
    }
}

#[test]
fn a_row_that_fails_or_is_skipped_is_named() {
    let note = |before, now, at: usize| {
        read(&planted(Some(before), Some(now)).raw()).unwrap()[at].note.clone()
    };
    assert_eq!(note("held", "held", 1), "0");
    assert_eq!(note("lost", "lost", 2), "0");
    assert!(note("skipped", "skipped", 0).ends_with(": 0"));
}
