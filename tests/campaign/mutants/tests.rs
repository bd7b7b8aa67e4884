use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::list::planted;
use super::{EXPLANATIONS, Explanations, judge_with};
use crate::acceptance::Finding;
use crate::acceptance::planted::failing;
use crate::campaign::{About, Ledger, Sources};

const SOURCE: &str = "fn guard() {\n    if a != b {\n        refuse();\n    }\n}\n";
const DIFF: &str = "--- src/guard.rs\n+++ replace != with ==\n@@ -1,5 +1,5 @@\n fn guard() {\n\
                    -    if a != b {\n+    if a == b {\n         refuse();\n     }\n }\n";

#[test]
fn a_mutant_changes_its_lines_and_no_other() {
    let changed = planted(DIFF).apply(SOURCE).unwrap();
    assert_eq!(changed, SOURCE.replace("!=", "=="));
    let late = DIFF.replace("@@ -1,5 +1,5 @@", "@@ -2,5 +2,5 @@");
    let moved = format!("// A line.\n{SOURCE}");
    assert_eq!(planted(&late).apply(&moved).unwrap(), moved.replace("!=", "=="));
    let error = planted(DIFF).apply(&moved).unwrap_err().to_string();
    assert!(error.contains("is not in line 1"), "{error}");
}

/// 100 mutants and 4 runs without one, of which all but these have the fate that they must have.
fn ledger(other: &[(usize, Value)], is_whole: bool) -> Ledger {
    let line = |number: usize| {
        let mutant = (number < 100).then(|| format!("mutant {number}"));
        let fate = if mutant.is_some() { "killed" } else { "survived" };
        let fate =
            other.iter().find(|(at, _)| *at == number).map_or(json!(fate), |it| it.1.clone());
        json!({ "attempt": number, "mutant": mutant, "fate": fate, "by": "a_test" })
    };
    let lines = (0..104).map(line).collect();
    let about = About::new("safe.3", 1, 104, ("abc".to_owned(), Sources::default()));
    let whole = Ledger::whole(&about, lines);
    if is_whole { whole } else { whole.into_sample() }
}

fn judged(other: &[(usize, Value)], explained: &[&str], is_whole: bool) -> Vec<Finding> {
    let reason = |name: &&str| ((*name).to_owned(), "it is the same".to_owned());
    let explained: BTreeMap<String, String> = explained.iter().map(reason).collect();
    judge_with(&ledger(other, is_whole), &explained).unwrap()
}

#[test]
fn survivors_must_be_few_and_each_explained() {
    let survived = |count: usize| (0..count).map(|at| (at, json!("survived"))).collect::<Vec<_>>();
    let names = ["mutant 0", "mutant 1", "mutant 2"];
    assert!(failing(&judged(&survived(2), &names[..2], true)).is_empty());
    let unexplained = "survivors that are not explained";
    assert_eq!(failing(&judged(&survived(2), &names[..1], true)), [unexplained]);
    assert_eq!(failing(&judged(&survived(3), &names, true)), ["mutants killed"]);
    let stale = "explanations of mutants that do not survive";
    assert_eq!(failing(&judged(&survived(1), &names[..2], true)), [stale]);
    // A sample may hit one that is explained.
    assert!(failing(&judged(&survived(1), &names, false)).is_empty());
}

#[test]
fn what_hangs_is_killed_and_what_does_not_build_is_none() {
    let findings = judged(&[(0, json!("hung")), (1, json!("unviable"))], &[], true);
    assert!(failing(&findings).is_empty());
    assert_eq!(
        findings[0].note,
        "98 killed, 1 hung, 0 survived, 1 that do not build are not counted"
    );
}

#[test]
fn a_test_that_fails_without_a_mutant_counts_against_the_campaign() {
    let findings = judged(&[(100, json!("killed"))], &[], true);
    assert_eq!(failing(&findings), ["tests that failed in 4 runs without a mutant"]);
    assert_eq!(findings[2].note, "a_test");
}

#[test]
fn explanations_are_read() {
    let explanations: Explanations = toml::from_str(EXPLANATIONS).unwrap();
    assert!(explanations.survivors.values().all(|reason| reason.len() > 20));
}
