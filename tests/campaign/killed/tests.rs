use serde_json::json;

use super::*;
use crate::campaign::{About, Sources};

fn ledger(lines: Vec<Value>) -> Ledger {
    let sources = (String::new(), Sources::default());
    Ledger::whole(&About::new(CAMPAIGN.id, 1, KILLS + CUTS, sources), lines)
}

/// A campaign in which everything was as it should be.
fn good() -> Vec<Value> {
    let line = |number: u64| {
        let place = number % ROUND;
        let disk = if place < KILLS_IN_ROUND { "" } else { FILESYSTEMS[(number % 3) as usize] };
        json!({
            "attempt": number, "run": "image", "disk": disk, "at": "", "held": 1, "kept": true,
        })
    };
    (0..KILLS + CUTS).map(line).collect()
}

fn failing(lines: Vec<Value>) -> Vec<String> {
    let findings = judge(&ledger(lines)).unwrap();
    findings.into_iter().filter(|finding| !finding.holds()).map(|finding| finding.what).collect()
}

#[test]
fn a_campaign_holds_only_if_enough_was_tried_and_nothing_was_wrong() {
    assert_eq!(failing(good()), Vec::<String>::new());
    for (number, what) in [(0, "kills"), (6, "power cuts")] {
        let mut lines = good();
        lines[number]["wrong"] = json!(["loop device"]);
        let expected = format!("{what} after which something was lost, wrong or left behind");
        assert_eq!(failing(lines), [expected]);
    }
    let mut lines = good();
    lines.remove(0);
    assert_eq!(failing(lines), ["kills"]);
    let mut lines = good();
    lines.retain(|line| line["disk"] != "xfs");
    assert_eq!(failing(lines), ["power cuts of xfs"]);
}

/// A sample of 2 % has each filesystem at least once.
const _: () = assert!((KILLS + CUTS) / 50 / ROUND * (ROUND - KILLS_IN_ROUND) >= 3);

#[test]
fn each_round_has_kills_and_power_cuts() {
    assert_eq!((KILLS + CUTS) % ROUND, 0);
    assert_eq!((KILLS + CUTS) / ROUND * KILLS_IN_ROUND, KILLS);
}
