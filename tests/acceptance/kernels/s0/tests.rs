use super::*;
use crate::acceptance::files::table::tests::planted;
use crate::acceptance::planted::failing;
use crate::s0::published::{Durations, PublishedColumn};

/// What the model says of the end of PostMark on the drive, about.
fn end() -> DeletionRun {
    let durations = Durations { creation: 51.0, transactions: 2_480.0, deletion: 17.0 };
    DeletionRun {
        vendor: SLOW.to_owned(),
        trim: 0.0824,
        files: 49_522.0,
        durations,
        transactions: 25_000.0,
        during: 200.0,
        after: 13_000.0,
        after_seconds: 250.0,
    }
}

/// What does not hold once what is published is changed so.
fn failed(
    change: impl Fn(&str, PublishedColumn, &mut Durations),
    change_end: impl Fn(&mut DeletionRun),
) -> String {
    let planted = planted(1.0, change);
    let mut end = end();
    change_end(&mut end);
    planted.capture(DELETIONS, 0, &(serde_json::to_string(&end).unwrap() + "\n"));
    failing(&read(&planted.raw()).unwrap()).join("; ")
}

#[test]
fn what_is_published_misses_nothing() {
    assert_eq!(failed(|_, _, _| (), |_| ()), "");
}

#[test]
fn seven_misses_are_too_many_and_each_needs_its_reason() {
    let longer = |vendors: &'static [&'static str]| {
        move |vendor: &str, column: PublishedColumn, durations: &mut Durations| {
            if vendors.contains(&vendor) && (vendor == "vendor1" || column.discard) {
                durations.deletion *= 2.0;
            }
        }
    };
    // vendor1's four have a reason, and vendor2's no bar.
    assert_eq!(failed(longer(&["vendor1", SLOW]), |_| ()), "");
    // Of vendor3 one has, of vendor5 none.
    assert_eq!(failed(longer(&["vendor1", "vendor3"]), |_| ()), "misses without a reason");
    let both = failed(longer(&["vendor1", "vendor3", "vendor5"]), |_| ());
    assert_eq!(both, "predicted durations that miss no bar; misses without a reason");
}

#[test]
fn each_hypothesis_can_come_out_otherwise() {
    let merged = failed(|_, _, _| (), |end| (end.during, end.after) = (1.0, 999.0));
    assert_eq!(merged, "deletion phase, merging alone refuted: files a discard");
    let waited = failed(|_, _, _| (), |end| (end.during, end.after) = (1_100.0, 12_000.0));
    assert_eq!(
        waited,
        "deletion phase, the clock: share of the discards after it; \
         deletion phase, the clock: discards within it"
    );
}
