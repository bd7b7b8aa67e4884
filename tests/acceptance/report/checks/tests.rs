use super::read;
use crate::acceptance::planted::{Planted, failing};

const THEMES: [&str; 17] = [
    "axe",
    "complaints",
    "data",
    "downloads",
    "filter",
    "hover",
    "legend",
    "network",
    "pixels",
    "print",
    "record",
    "sorting",
    "theme",
    "verdict",
    "width",
    "without-javascript",
    "zoom",
];

fn line(theme: &str, fault: &str) -> String {
    let faults: Vec<&str> = (!fault.is_empty()).then_some(fault).into_iter().collect();
    serde_json::json!({ "theme": theme, "check": "it", "faults": faults }).to_string() + "\n"
}

/// Fifty charts without a fault, and a fault in each page that is broken; each changed.
fn planted(change: impl Fn(&mut String, &mut String)) -> Vec<String> {
    let mut checks: String = THEMES.iter().map(|theme| line(theme, "")).collect();
    checks += &line("data", "").repeat(49);
    let mut broken: String = THEMES.iter().map(|theme| line(theme, "planted")).collect();
    change(&mut checks, &mut broken);
    let planted = Planted::new();
    planted.capture("checks", 0, &checks);
    planted.capture("broken", 0, &broken);
    let findings = read(&planted.raw()).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_fault_or_a_check_that_finds_none_does_not_hold() {
    assert_eq!(planted(|_, _| ()), [""; 0]);
    let hover = planted(|checks, _| *checks += &line("hover", "no tooltip"));
    assert_eq!(hover, ["hover: checks that found a fault"]);
    let few = planted(|checks, _| *checks = checks.replacen(&line("data", ""), "", 1));
    assert_eq!(few, ["charts"]);
    let blind = planted(|_, broken| *broken = broken.replace(&line("zoom", "planted"), ""));
    assert_eq!(blind, ["ways to break the page that the check for it found"]);
}
