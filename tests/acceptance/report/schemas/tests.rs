use serde_json::{Value, json};

use super::read;
use crate::acceptance::planted::{Planted, failing};

#[test]
fn a_record_that_is_not_named_shown_or_marked_does_not_hold() {
    let found = |place: &str, value: Value| {
        let mut document = json!({
            "records": "first: Another processor today: one to-come: one",
            "messages": ["to-come: the record has format 9", "first: failed: a device is gone"],
            "verdicts": { "a": "unknown", "b": "unknown", "c": "unknown" },
            "charts": 5, "complaints": [],
        });
        document[place] = value;
        let planted = Planted::new();
        planted.capture("look", 0, &document.to_string());
        let findings = read(&planted.raw()).unwrap();
        failing(&findings).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("charts", 6.into()), [""; 0]);
    assert_eq!(found("charts", 4.into()), ["charts"]);
    assert_eq!(found("records", "first: Another processor today:".into()), ["records named"]);
    let host = found("records", "first: today: to-come:".into());
    assert_eq!(host, ["records that name the other host"]);
    assert_eq!(found("verdicts", json!({ "a": 1 })), ["verdicts"]);
    let none = found("messages", json!([]));
    assert_eq!(none, ["messages on the record to come", "messages on the first, which failed"]);
    let three = json!(["to-come: format 9", "first: failed: gone", "today: format 9"]);
    assert_eq!(found("messages", three), ["messages on today's"]);
    assert_eq!(found("complaints", json!(["error"])), ["complaints"]);
}
