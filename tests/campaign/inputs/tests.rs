use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Output};

use serde_json::{Value, json};

use super::{CAMPAIGN, outcome};
use crate::acceptance::planted::failing;
use crate::campaign::{About, Ledger, Sources};

fn line(change: (&str, Value)) -> Value {
    let mut line = json!({
        "attempt": 0, "inputs": 10_000_000, "accepted": 1, "refused": 2, "violations": 0,
        "memory_kib": 40_000,
    });
    line[change.0] = change.1;
    line
}

#[test]
fn each_figure_can_miss_its_bar() {
    let about = About::new("safe.5", 1, 1, ("abc".to_owned(), Sources::default()));
    for (change, what) in [
        (("attempt", json!(0)), None),
        (("inputs", json!(9_999_999)), Some("inputs read")),
        (("violations", json!(1)), Some("panics, hangs and broken laws")),
        (("memory_kib", json!(262_145)), Some("most memory")),
    ] {
        let findings = (CAMPAIGN.judge)(&Ledger::whole(&about, vec![line(change)])).unwrap();
        assert_eq!(failing(&findings), what.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_process_that_was_taken_down_is_a_violation_and_says_why() {
    let output = Output {
        status: ExitStatus::from_raw(6),
        stdout: Vec::new(),
        stderr: b"stack overflow\n".to_vec(),
    };
    let line = outcome(&output);
    assert_eq!(line["violations"], 1);
    assert!(line["error"].as_str().unwrap().contains("SIGABRT"), "{line:?}");
    assert!(line["error"].as_str().unwrap().contains("stack overflow"), "{line:?}");
}
