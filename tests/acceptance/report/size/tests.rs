use serde_json::{Value, json};
use trimbench_methods::METHODS;

use super::{DRIVES, ZOOMS, read};
use crate::acceptance::planted::{Planted, failing};

/// What is found where all holds, but for `change` in one of the documents.
fn planted(name: &str, change: impl Fn(&mut Value)) -> Vec<String> {
    let verdicts: serde_json::Map<String, Value> =
        DRIVES.iter().map(|drive| ((*drive).to_owned(), "unknown".into())).collect();
    let zoom = |seen: bool| {
        let pixels = u32::from(seen);
        json!({ "shown": 0.5, "in_data": seen, "pixels": pixels, "pixels_beside": 0 })
    };
    let documents = [
        (
            "look-twelve",
            json!({
                "bytes": 5e6, "drawn_ms": 1500.0, "all_drawn_ms": 4e3, "charts": 200,
                "methods": vec!["a"; METHODS.len()], "verdicts": verdicts,
            }),
        ),
        (
            "look-samples",
            json!({
                "bytes": 2e6, "thinned": 1e7, "stall": vec![zoom(true); ZOOMS],
            }),
        ),
        ("look-control", json!({ "stall": vec![zoom(false); ZOOMS] })),
    ];
    let planted = Planted::new();
    for (document, mut content) in documents {
        if document == name {
            change(&mut content);
        }
        planted.capture(document, 0, &content.to_string());
    }
    let findings = read(&planted.raw()).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn each_figure_can_miss_its_bar() {
    assert_eq!(planted("", |_| ()), [""; 0]);
    let cases: [(&str, &str, Value, &str); 8] = [
        ("look-twelve", "/bytes", 6.1e6.into(), "twelve drives: file"),
        ("look-twelve", "/drawn_ms", 2100.0.into(), "twelve drives: drawn, median of 3"),
        ("look-twelve", "/methods", json!(vec!["a"; 10]), "twelve drives: methods"),
        ("look-samples", "/thinned", 9e6.into(), "samples of one curve"),
        ("look-samples", "/stall/3/in_data", false.into(), "zooms at which the stall is in"),
        ("look-samples", "/stall/3/pixels", 0.into(), "zooms at which the stall is on"),
        ("look-samples", "/stall/0/pixels_beside", 1.into(), "at full width, pixels"),
        ("look-control", "/stall/0/pixels", 1.into(), "without a stall"),
    ];
    for (document, place, value, what) in cases {
        let found =
            planted(document, |content| *content.pointer_mut(place).unwrap() = value.clone());
        assert_eq!(found.len(), 1, "{place}: {found:?}");
        assert!(found[0].starts_with(what), "{place}: {found:?}");
    }
}
