use serde_json::{Value, json};

use super::{FLAWED, read};
use crate::acceptance::planted::{Planted, failing};

fn found(place: &str, value: Value, code: i32) -> Vec<String> {
    let messages: Vec<String> = FLAWED.iter().map(|name| format!("{name}: is flawed")).collect();
    let mut document = json!({
        "messages": messages, "figures": 50, "complaints": [],
        "verdicts": { "vendor2, sound": "unknown", "vendor2, partial": "unknown" },
    });
    document[place] = value;
    let planted = Planted::new();
    planted.capture("look", 0, &document.to_string());
    planted.capture("look-alone", 0, "{\"figures\": 20}");
    planted.capture("page-page", code, "");
    let findings = read(&planted.raw()).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_flaw_that_is_not_named_or_takes_the_rest_away_does_not_hold() {
    assert_eq!(found("figures", 40.into(), 2), [""; 0]);
    assert_eq!(found("figures", 40.into(), 0), ["exit code"]);
    let rest = found("figures", 30.into(), 2);
    assert_eq!(rest, ["rows of figures over those of the sound one alone"]);
    let said: Vec<String> = FLAWED[1..].iter().map(|name| format!("{name}: is flawed")).collect();
    assert_eq!(found("messages", json!(said), 2), ["flawed records with a message"]);
    let all: Vec<String> =
        FLAWED.iter().chain(&["sound"]).map(|name| format!("{name}: is flawed")).collect();
    assert_eq!(found("messages", json!(all), 2), ["messages on the sound one"]);
    let lost = found("verdicts", json!({ "vendor2, partial": "unknown" }), 2);
    assert_eq!(lost, ["verdicts on the sound one"]);
    assert_eq!(found("complaints", json!(["error"]), 2), ["complaints of the page"]);
}
