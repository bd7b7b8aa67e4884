use serde_json::{Value, json};

use super::*;

fn judged(rows: &str, before: &Value, now: &Value) -> (Vec<String>, Vec<usize>) {
    let reviewed = Reviewed::read(&format!("base = \"abc\"\n{rows}")).unwrap();
    let judged = reviewed.judge("some-case", before, now);
    let unmeant = judged.unmeant.iter().map(ToString::to_string).collect();
    (unmeant, judged.used.into_iter().collect())
}

fn record(figure: &Value) -> Value {
    json!({ "sessions": [{ "figures": [figure, { "id": "b", "value": 2.5 }] }] })
}

#[test]
fn every_difference_is_found_at_its_place() {
    let before = record(&json!({ "id": "a", "value": 1, "gone": true }));
    let now = record(&json!({ "id": "a", "value": 1.0, "new": [] }));
    let (unmeant, _) = judged("rows = []", &before, &now);
    let places = "sessions/0/figures/0";
    let wanted = [
        format!("{places}/gone: true -> nothing"),
        format!("{places}/value: 1 -> 1.0"),
        format!("{places}/new: nothing -> []"),
    ];
    assert_eq!(unmeant, wanted);
    assert!(judged("rows = []", &before, &before).0.is_empty());
    let shorter = json!({ "sessions": [] });
    assert_eq!(judged("rows = []", &before, &shorter).0.len(), 1);
}

#[test]
fn a_row_means_one_change_of_one_value() {
    let before = record(&json!({ "id": "a", "title": "old" }));
    let now = record(&json!({ "id": "a", "title": "new" }));
    let row = |more: &str| {
        format!(
            "[[rows]]\nat = \"sessions/*/figures/*/title\"\nbefore = \"old\"\nnow = \"new\"\n\
             why = \"x\"\n{more}"
        )
    };
    assert_eq!(judged(&row(""), &before, &now), (Vec::new(), vec![0]));
    assert_eq!(judged(&row("cases = [\"some-case\"]"), &before, &now).0.len(), 0);
    // Of another case, from another value, or to another one, it is not meant.
    assert_eq!(judged(&row("cases = [\"other\"]"), &before, &now).0.len(), 1);
    let other = record(&json!({ "id": "a", "title": "other" }));
    assert_eq!(
        judged(&row(""), &other, &now),
        (vec!["sessions/0/figures/0/title: \"other\" -> \"new\"".to_owned()], Vec::new())
    );
    assert_eq!(judged(&row(""), &before, &other).0.len(), 1);
    // And that nothing changed is not meant either.
    assert_eq!(judged(&row(""), &before, &before).0.len(), 1);
}

#[test]
fn keys_are_renamed_added_and_removed() {
    let before = record(&json!({ "id": "a", "metrics": { "x_ns": 1 }, "note": "n" }));
    let now = record(&json!({ "id": "a", "metrics": { "y_ns": 1 }, "role": "r" }));
    let rows = "[[rows]]\nat = \"**/metrics/*\"\nis_key = true\nbefore = \"x_ns\"\n\
                now = \"y_ns\"\nwhy = \"x\"\n\
                [[rows]]\nat = \"**/note\"\nbefore = \"n\"\nwhy = \"x\"\n\
                [[rows]]\nat = \"**/role\"\nnow = \"r\"\nwhy = \"x\"\n";
    assert_eq!(judged(rows, &before, &now), (Vec::new(), vec![0, 1, 2]));
    // The rows that nothing needs are known.
    assert_eq!(judged(rows, &now, &now).1, Vec::<usize>::new());
}

#[test]
fn a_pattern_means_places_by_their_parts() {
    for (pattern, at, wanted) in [
        ("a/b", "a/b", true),
        ("a/*", "a/b", true),
        ("a/*", "a/b/c", false),
        ("a/**", "a/b/c", true),
        ("**/c", "a/b/c", true),
        ("**/c", "c", true),
        ("a/**/c", "a/c", true),
        ("a", "a/b", false),
        ("a/b", "a/bc", false),
    ] {
        assert_eq!(matches(pattern, at), wanted, "{pattern} and {at}");
    }
}

#[test]
fn the_table_is_read() {
    let reviewed = Reviewed::table().unwrap();
    assert!(reviewed.rows.iter().all(|row| row.why.len() > 10));
}
