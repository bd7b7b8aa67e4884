use super::read;
use crate::acceptance::bench::{CONTRACT, DRIVES};
use crate::acceptance::planted::{Planted, failing};

/// What the benchmark prints in the full form, with our speed and write amplification in each case.
fn printed(ours: [(f64, f64); 2]) -> String {
    let mut text = "== bench ssd\n== bench ssd: done in 41.0 s\n".to_owned();
    for (drive, (speed, amplification)) in DRIVES.iter().zip(ours) {
        for (side, speed, check) in [
            ("ours", speed, format!("WA {amplification:.4}, 300 s virtual, hash 00")),
            ("ftl_limit.c", 20.0, "WA 7.8000".to_owned()),
        ] {
            let line = format!(
                "{{\"bench\":\"ssd\",\"case\":\"{drive}, {CONTRACT}\",\"side\":\"{side}\",\
                 \"values\":[1.0,2.0],\"median\":{speed:?},\"check\":\"{check}\"}}\n"
            );
            text.push_str(&line);
        }
    }
    text + "appended to target/bench.ndjson\n"
}

fn failed(ours: [(f64, f64); 2]) -> Vec<String> {
    let planted = Planted::new();
    planted.capture("bench", 0, &printed(ours));
    let findings = read(&planted.raw()).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_fifth_of_the_yardstick_at_the_same_write_amplification_holds() {
    assert_eq!(failed([(4.0, 7.8), (12.0, 7.8)]), Vec::<String>::new());
    let planted = Planted::new();
    planted.capture("bench", 0, &printed([(4.0, 7.8), (12.0, 7.8)]));
    let findings = read(&planted.raw()).unwrap();
    assert_eq!(findings.len(), 4);
    assert!((findings[2].figure - 0.6).abs() < 1e-9);
    let note = "12.00 over 20.00 million writes a second, medians of 2; \
                write amplification 7.8000 and 7.8000";
    assert_eq!(findings[2].note, note);
}

#[test]
fn either_case_may_be_too_slow_or_do_other_work() {
    let [seven, twenty_eight] = DRIVES;
    let slow = |drive: &str| [format!("speed over that of the C model, {drive}, {CONTRACT}")];
    assert_eq!(failed([(3.9, 7.8), (12.0, 7.8)]), slow(seven));
    assert_eq!(failed([(4.0, 7.8), (3.9, 7.8)]), slow(twenty_eight));
    let other = format!("write amplification over that of the C model, {seven}, {CONTRACT}");
    assert_eq!(failed([(4.0, 5.0), (12.0, 7.8)]), [other]);
}

#[test]
fn a_benchmark_that_was_skipped_or_cut_off_is_an_error() {
    for (printed, part) in [
        ("== bench ssd\nbench ssd: skipped: gcc is missing\n", "gcc is missing"),
        ("== bench ssd\n", "0 sides"),
        (&printed([(4.0, 7.8); 2]).lines().take(4).collect::<Vec<_>>().join("\n"), "28 %"),
    ] {
        let planted = Planted::new();
        planted.capture("bench", 0, printed);
        let error = read(&planted.raw()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn the_short_form_has_drives_of_its_own() {
    let small = printed([(4.0, 7.8), (12.0, 7.8)]).replace("256 GiB", "4 GiB");
    let planted = Planted::new();
    planted.capture("bench", 0, &small);
    assert!(read(&planted.raw()).is_err(), "nothing says that it is the short form");
    let planted = Planted::new();
    planted.capture_of(("bench", "cargo xtask bench ssd --small", 20.0), 0, &small);
    let findings = read(&planted.raw()).unwrap();
    assert_eq!(failing(&findings), Vec::<&str>::new());
    assert_eq!(findings.len(), 4);
}
