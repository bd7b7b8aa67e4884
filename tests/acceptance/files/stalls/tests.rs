use super::*;
use crate::acceptance::planted::{Planted as Output, failing};

const SECOND: u64 = 1_000_000_000;

/// A writer that waits from 1 s to 3 s, and what the device had of it.
fn text(issued: &str, lost: u64) -> String {
    format!(
        "{{\"wait\":{{\"kind\":\"write\",\"from\":{SECOND},\"to\":{}}}}}\n\
         {{\"request\":{{\"kind\":\"write\",\"entered\":{SECOND}{issued}}}}}\n\
         {{\"lost\":{lost}}}\n",
        3 * SECOND
    )
}

/// Asserts which findings fail when a stall of this kind was seen so.
#[track_caller]
fn fails(planted: Planted, text: &str, expected: &[&str]) {
    let output = Output::new();
    output.capture("it", 0, text);
    let capture = output.raw().capture("it").unwrap();
    let found = judge(planted, &parse(text).unwrap(), &capture).unwrap();
    assert_eq!(failing(&found), expected);
}

#[test]
fn what_was_seen_is_judged_and_nothing_else() {
    let issued = format!(",\"issued\":{SECOND}");
    fails(Planted::FrozenDevice, &text(&issued, 0), &[]);
    fails(Planted::FrozenDevice, &text(&issued, 2), &["frozen-device: events lost"]);
    let elsewhere = "frozen-device: stalled time found in device";
    fails(Planted::FrozenDevice, &text("", 0), &[elsewhere]);
    let short = text(&issued, 0).replace("\"to\":3000000000", "\"to\":2000000000");
    fails(Planted::FrozenDevice, &short, &["frozen-device: stalled time"]);
    let elsewhere = "frozen-filesystem: stalled time found in above";
    fails(Planted::FrozenFilesystem, &text(&issued, 0), &[elsewhere]);
}

#[test]
fn what_was_seen_is_written_and_read_alike_and_a_cut_is_noticed() {
    let issued = format!(",\"issued\":{SECOND},\"completed\":{}", 2 * SECOND);
    let seen = parse(&text(&issued, 7)).expect("it is whole");
    let written: Vec<String> = lines(&seen)
        .iter()
        .map(|line| serde_json::to_string(line).expect("it is plain data"))
        .collect();
    let again = parse(&written.join("\n")).expect("it is whole");
    assert_eq!(format!("{again:?}"), format!("{seen:?}"));
    assert_eq!((seen.waits.len(), seen.requests.len(), seen.lost), (1, 1, 7));
    assert_eq!(seen.requests[0].completed, Instant::from_start(Nanos(2 * SECOND)));
    let whole = text("", 0);
    let cut = whole.trim_end().rsplit_once('\n').expect("three lines").0;
    assert!(parse(cut).is_err());
    assert!(parse(&whole.replace("write", "erase")).is_err());
}

#[test]
fn each_stall_must_have_been_planted() {
    let output = Output::new();
    for planted in [Planted::FrozenDevice, Planted::FrozenFilesystem] {
        output.capture(&format!("{}-0", planted.id()), 0, &text("", 0));
    }
    let error = read_planted(&output.raw()).unwrap_err().to_string();
    assert_eq!(error, "exhausted-tags was not planted");
}
