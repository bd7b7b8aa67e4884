use super::*;
use crate::record::Session;
use crate::testing::{figure, record, session};

/// A session of a method on a drive, with these figures, the first of which is the headline.
fn on(drive: &str, method: &str, figures: &[(&str, f64, &'static str)]) -> Session {
    let mut figures: Vec<_> =
        figures.iter().map(|(id, value, unit)| figure(id, *value, unit)).collect();
    figures[0].headline = true;
    let mut session = session(method, figures);
    drive.clone_into(&mut session.target.name);
    session
}

fn mixed(drive: &str, iops: f64, wait: f64) -> Session {
    on(drive, "mixed", &[("iops", iops, "IOPS"), ("wait", wait, "s")])
}

fn trim(drive: &str) -> Session {
    on(drive, "trim", &[("stutter", 0.1, "s/GB")])
}

fn by(text: &str, records: &[&RunRecord]) -> Result<DriveOrder, OrderError> {
    // A record that cannot be read is in nobody's way.
    let records: Vec<_> = records.iter().map(|record| Some(*record)).chain([None]).collect();
    DriveOrder::by(text, &records)
}

fn drives(order: &DriveOrder, records: &[&RunRecord], method: &str) -> Vec<String> {
    let sessions = records
        .iter()
        .enumerate()
        .flat_map(|(index, record)| record.sessions.iter().map(move |session| (index, session)));
    let mut sessions: Vec<_> =
        sessions.filter(|(_, session)| session.plan.method == method).collect();
    order.sort(&mut sessions, |one| *one);
    sessions.iter().map(|(_, session)| session.target.name.clone()).collect()
}

#[test]
fn drives_keep_the_order_of_another_methods_result_the_best_first() {
    let sessions = ["slow", "none", "quick", "middling"].map(trim);
    let mixed =
        [mixed("middling", 200.0, 0.1), mixed("slow", 100.0, 0.2), mixed("quick", 300.0, 0.3)];
    let record = record(sessions.into_iter().chain(mixed).collect());
    let records = [&record];
    let order = by("mixed", &records).unwrap();
    assert_eq!(drives(&order, &records, "trim"), ["quick", "middling", "slow", "none"]);
    let words = order.words();
    let said = "drives by mixed: iops, the highest first; none has no valid one and comes last";
    assert_eq!(words, said);
    // A wait is better the shorter it is.
    let order = by("mixed.wait", &records).unwrap();
    assert_eq!(drives(&order, &records, "trim"), ["middling", "slow", "quick", "none"]);
    assert!(order.words().contains("the lowest first"));
    // Of one value, and of none, the order of the record stays.
    let order = by("trim", &records).unwrap();
    assert_eq!(drives(&order, &records, "trim"), ["slow", "none", "quick", "middling"]);
}

#[test]
fn a_filesystem_on_a_drive_stands_where_the_drive_does() {
    let mut on_files = trim("ext4 on quick");
    on_files.target.kind = "filesystem".to_owned();
    let record =
        record(vec![trim("slow"), on_files, mixed("slow", 1.0, 0.0), mixed("quick", 2.0, 0.0)]);
    let order = by("mixed.iops", &[&record]).unwrap();
    assert_eq!(drives(&order, &[&record], "trim"), ["ext4 on quick", "slow"]);
    assert!(!order.words().contains("last"), "{}", order.words());
}

#[test]
fn the_order_may_come_from_another_record_and_each_record_has_its_own_value_first() {
    let trims = record(vec![trim("a"), trim("b")]);
    let before = record(vec![mixed("a", 1.0, 0.0), mixed("b", 2.0, 0.0)]);
    let records = [&trims, &before];
    let order = by("mixed", &records).unwrap();
    assert_eq!(drives(&order, &records, "trim"), ["b", "a"]);
    let again = record(vec![mixed("a", 9.0, 0.0)]);
    let order = by("mixed", &[&before, &again]).unwrap();
    assert_eq!(order.value(0, &trim("a")), Some(1.0));
    assert_eq!(order.value(1, &trim("a")), Some(9.0));
    assert_eq!(order.value(1, &trim("b")), Some(2.0));
}

#[test]
fn an_invalid_result_gives_no_place() {
    let mut spoilt = mixed("a", 9.0, 0.0);
    spoilt.caveats.push("window-too-short".to_owned());
    let record = record(vec![spoilt, mixed("b", 1.0, 0.0)]);
    let order = by("mixed", &[&record]).unwrap();
    assert_eq!(drives(&order, &[&record], "mixed"), ["b", "a"]);
    assert!(order.words().contains("a has no valid one"), "{}", order.words());
}

#[test]
fn what_no_record_has_is_named_with_the_nearest() {
    let record = record(vec![trim("a"), mixed("a", 1.0, 0.0)]);
    let refused = |text: &str| {
        let error = by(text, &[&record]).unwrap_err();
        format!("{error}. {}", error.hint())
    };
    let words = refused("mixd");
    assert!(words.contains("`mixd`; did you mean `mixed`?. methods with results: trim, mixed"));
    let words = refused("mixed.wiat");
    assert!(words.contains("no figure `wiat`"), "{words}");
    assert!(words.contains("did you mean `wait`?. its figures: iops, wait"), "{words}");
    assert!(refused("").contains("results: trim, mixed"));
    let nothing = by("mixed", &[]).unwrap_err().hint();
    assert!(nothing.contains("none at all"), "{nothing}");
}
