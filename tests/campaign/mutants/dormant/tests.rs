use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::json;

use super::{Dormant, Mutant};

const SOURCE: &str = "const LIMIT: u32 = 2 * 3;\n\nfn guard(a: u32) -> bool {\n    \
                      a != LIMIT\n}\n\nfn other(\n    a: u32,\n) -> impl Fn() {\n    \
                      move || refuse(a + 1)\n}\n";

/// A mutant that makes `from` `to` in one line; the function lasts from `function.0` to
/// `function.1`.
fn mutant(line: usize, from: &str, to: &str, function: Option<(usize, usize)>) -> Mutant {
    let lines: Vec<&str> = SOURCE.lines().collect();
    let old = lines[line - 1];
    let at = old.find(from).unwrap() + 1;
    let place = |line: usize, column: usize| json!({ "line": line, "column": column });
    let span = |start, end| json!({ "start": start, "end": end });
    let whole =
        |(first, last): (usize, usize)| json!({ "span": span(place(first, 1), place(last, 2)) });
    let is_all = old.trim() == from;
    let diff =
        format!("--- a\n+++ b\n@@ -{line},1 +{line},1 @@\n-{old}\n+{}\n", old.replace(from, to));
    serde_json::from_value(json!({
        "name": to, "file": "a.rs", "function": function.map(whole), "diff": diff,
        "span": span(place(line, at), place(line, at + from.len())),
        "genre": if is_all { "FnValue" } else { "BinaryOperator" },
    }))
    .unwrap()
}

fn layered(left_out: &[usize]) -> (String, Vec<Vec<usize>>, BTreeSet<usize>) {
    let mutants = vec![
        mutant(1, "*", "+", None),
        mutant(4, "!=", "==", Some((3, 5))),
        mutant(4, "a != LIMIT", "true", Some((3, 5))),
        mutant(10, "+", "-", Some((7, 11))),
    ];
    let texts = BTreeMap::from([(PathBuf::from("a.rs"), SOURCE.to_owned())]);
    let dormant = Dormant::new(mutants, texts).unwrap();
    let left_out: BTreeSet<usize> = left_out.iter().copied().collect();
    let mut files = dormant.layered(&left_out).unwrap();
    let file = files.remove(&PathBuf::from("a.rs")).unwrap();
    let count = file.text.lines().count();
    let origins = (1..=count).map(|line| file.origin(line).unwrap_or_default().to_vec()).collect();
    assert_eq!(dormant.function_of(3), Some(1));
    (file.text, origins, dormant.others())
}

#[test]
fn a_function_does_what_it_did_or_what_the_mutant_awake_does() {
    let (text, origins, others) = layered(&[]);
    let guard = "fn guard(a: u32) -> bool {\n    match crate::mutant::awake(0) {\n\
                 other if ![1, 2].contains(&other) => {\na != LIMIT\n}\n\
                 1 => {\na == LIMIT\n}\n2 => {\ntrue\n}\n_ => unreachable!()\n}\n}\n";
    assert!(text.contains(guard), "{text}");
    // Without a mutant of all of it, the body is what stands between the outermost braces.
    let other = ") -> impl Fn() {\nmatch crate::mutant::awake(1) {\n\
                 other if ![3].contains(&other) => {\n    move || refuse(a + 1)\n\n}\n\
                 3 => {\n    move || refuse(a - 1)\n\n}\n_ => unreachable!()\n}}\n";
    assert!(text.contains(other), "{text}");
    assert_eq!(others, BTreeSet::from([0]));
    let line = |code: &str| text.lines().position(|line| line.trim() == code).unwrap();
    assert_eq!(origins[line("a == LIMIT")], [1]);
    assert_eq!(origins[line("true")], [2]);
    assert_eq!(origins[line("match crate::mutant::awake(0) {")], [1, 2]);
    assert_eq!(origins[line("a != LIMIT")], [1, 2]);
    assert!(origins[0].is_empty());
}

#[test]
fn what_is_left_out_is_not_there() {
    let (text, ..) = layered(&[1, 3]);
    assert!(text.contains("\n2 => {\ntrue\n}") && !text.contains("a == LIMIT"), "{text}");
    let other = ") -> impl Fn() {\n    move || refuse(a + 1)\n}\n";
    assert!(text.contains(other), "{text}");
    assert_eq!(layered(&[1, 2, 3]).0, SOURCE);
}
