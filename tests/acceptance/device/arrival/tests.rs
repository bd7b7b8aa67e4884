use super::read;
use crate::acceptance::device::METHODS;
use crate::acceptance::planted::{Planted, failing, record, session};

const REPORT: &str =
    "sequential writes 474 MB/s - 1\n    not measurable against fresh: purged\nby TRIM";

/// Every method ended with 0, `recovery` left `full` of 1000 blocks of 512 bytes and `idle-trim`
/// `empty`.
fn planted(full: u32, empty: u32, report: &str) -> Planted {
    let planted = Planted::new();
    for method in METHODS {
        planted.capture(method, 0, report);
        planted.record(&format!("{method}/run.json"), &record(vec![session("loop0", &[])]));
        let blocks = if method == "recovery" { full } else { empty };
        planted.capture(&format!("after-{method}"), 0, &format!("{blocks} 512000\n"));
    }
    planted
}

fn failed(planted: &Planted) -> Vec<String> {
    failing(&read(&planted.raw()).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn an_image_that_was_full_and_is_empty_shows_that_discards_arrived() {
    assert_eq!(failed(&planted(980, 10, REPORT)), Vec::<String>::new());
    assert_eq!(failed(&planted(979, 10, REPORT)).len(), 1);
    assert_eq!(failed(&planted(980, 11, REPORT)).len(), 1);
}

#[test]
fn a_method_that_did_not_complete_is_named() {
    let planted = planted(980, 10, REPORT);
    planted.file("captures.ndjson", b"");
    for method in METHODS {
        let code = if method == "delete-stall" { 4 } else { 0 };
        planted.capture(method, code, REPORT);
        let blocks = if method == "recovery" { 980 } else { 10 };
        planted.capture(&format!("after-{method}"), 0, &format!("{blocks} 512000\n"));
    }
    assert_eq!(failed(&planted), ["exit code of delete-stall on a loop device"]);
}

#[test]
fn a_ratio_where_there_is_none_to_measure_is_found() {
    assert_eq!(
        failed(&planted(980, 10, "trimmed of fresh 1.0")),
        ["times that its report says why"]
    );
    let planted = planted(980, 10, REPORT);
    let with_ratio = record(vec![session("loop0", &[("trimmed-of-fresh", 1.0)])]);
    planted.record("recovery/run.json", &with_ratio);
    assert_eq!(failed(&planted).len(), 1);
}
