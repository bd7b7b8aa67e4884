use super::*;
use crate::acceptance::planted::{Planted, failing};

/// What is printed when the model gives what is published, but for what `change` does to a column
/// of a drive; `seconds` after the start.
fn found(seconds: f64, change: impl Fn(&str, PublishedColumn, &mut Durations)) -> Vec<Finding> {
    read(&planted(seconds, change).raw()).unwrap()
}

pub(in crate::acceptance) fn planted(
    seconds: f64,
    change: impl Fn(&str, PublishedColumn, &mut Durations),
) -> Planted {
    let mut runs = Vec::new();
    for vendor in VENDORS {
        for column in PublishedColumn::ALL {
            let mut durations = durations(vendor, column).unwrap();
            change(vendor, column, &mut durations);
            runs.push(ColumnRun {
                vendor: vendor.to_owned(),
                column,
                repetition: 0,
                durations,
                metrics: vec![1.0; 13],
                discards: 0.0,
                files_deleted: 0.0,
                after: 0.0,
            });
        }
    }
    let planted = Planted::new();
    let lines = runs.iter().map(|run| serde_json::to_string(run).unwrap() + "\n");
    planted.timed_capture((RUNS, seconds), 0, &lines.collect::<String>());
    planted
}

#[test]
fn what_is_published_meets_every_gate() {
    let findings = found(6.0, |_, _, _| ());
    assert_eq!(failing(&findings), Vec::<&str>::new());
    // For each drive two gates on durations and two on totals; for all but vendor2 four deletions.
    assert_eq!(findings.len(), 1 + 6 * 4 + 5 * 4 + 1);
    let vendor1 = &findings[1];
    assert!(vendor1.note.contains("total, unbuffered, nodiscard +0.0 ("), "{}", vendor1.note);
    assert_eq!(failing(&found(6.1, |_, _, _| ())), ["wall time of 24 runs"]);
}

#[test]
fn each_gate_can_fail() {
    let one = |vendor: &'static str, place: usize, change: &dyn Fn(&mut Durations)| {
        let findings = found(1.0, |name, column, durations| {
            if name == vendor && column == PublishedColumn::ALL[place] {
                change(durations);
            }
        });
        failing(&findings).join("; ")
    };
    let transactions =
        |share: f64| move |durations: &mut Durations| durations.transactions *= share;
    let creation = |share: f64| move |durations: &mut Durations| durations.creation *= share;
    let deletion = |more: f64| move |durations: &mut Durations| durations.deletion += more;
    let unbuffered = "vendor5: unbuffered total, creation and transactions, furthest off";
    assert!(one("vendor5", 2, &transactions(1.051)).contains(unbuffered));
    assert_eq!(one("vendor5", 1, &transactions(1.005)), "");
    assert_eq!(one("vendor4", 1, &creation(1.029)), "");
    assert_eq!(one("vendor4", 1, &creation(1.031)), "vendor4: creation under discard, further off");
    assert_eq!(one("vendor4", 3, &creation(0.969)), "vendor4: creation under discard, further off");
    assert_eq!(one("vendor6", 0, &deletion(1.9)), "");
    assert!(one("vendor6", 0, &deletion(-2.1)).contains("vendor6: deletion, buffered, nodiscard"));
    assert!(one("vendor1", 0, &deletion(3.3)).contains("vendor1: deletion, buffered, nodiscard"));
    // vendor2's deletion has no bar, and its total is judged as a ratio.
    assert_eq!(one("vendor2", 1, &deletion(-90.0)), "");
    let ratio = "vendor2: total with discard over total without, buffered";
    assert_eq!(one("vendor2", 1, &transactions(1.12)), ratio);
    assert_eq!(one("vendor6", 1, &transactions(1.03)), "vendor6: DIFF of the total, buffered");
    assert_eq!(one("vendor1", 1, &transactions(1.03)), "");
    assert_eq!(one("vendor1", 1, &transactions(1.04)), "vendor1: DIFF of the total, buffered");
}

#[test]
fn a_drive_without_all_its_columns_is_an_error() {
    let all = planted(1.0, |_, _, _| ());
    let lines = all.raw().text("runs.stdout").unwrap();
    all.file("runs.stdout", lines.split_inclusive('\n').skip(1).collect::<String>().as_bytes());
    assert!(read(&all.raw()).unwrap_err().to_string().contains("vendor1"));
}
