use std::path::{Path, PathBuf};

use serde_json::json;

use super::{program, refusal};

#[test]
fn programs_are_taken_from_what_cargo_says() {
    let message = |test: bool, executable: serde_json::Value| {
        json!({
            "reason": "compiler-artifact", "manifest_path": "/x/tests/Cargo.toml",
            "target": { "name": "safety" }, "profile": { "test": test },
            "executable": executable,
        })
    };
    let (name, found) = program(&message(true, json!("/x/target/safety-1"))).unwrap();
    assert_eq!((name.as_str(), found.is_test), ("safety", true));
    assert_eq!(found.path, Path::new("/x/target/safety-1"));
    assert_eq!(found.folder, Path::new("/x/tests"));
    assert!(!program(&message(false, json!("/x/target/trimbench"))).unwrap().1.is_test);
    assert!(program(&message(true, json!(null))).is_none());
}

#[test]
fn errors_are_taken_with_what_they_mean_first() {
    let span = |line: u64, primary: bool| {
        let mut span = json!({ "file_name": "src/a.rs", "line_start": line });
        span["is_primary"] = json!(primary);
        span
    };
    let message = |level: &str, spans: serde_json::Value| {
        let says = json!({ "level": level, "rendered": "no", "spans": spans });
        json!({ "message": says })
    };
    let found = refusal(&message("error", json!([span(3, false), span(7, true)]))).unwrap();
    let places = [(PathBuf::from("src/a.rs"), 7), (PathBuf::from("src/a.rs"), 3)];
    assert_eq!((found.places.as_slice(), found.message.as_str()), (&places[..], "no"));
    let mut made = span(9, true);
    made["expansion"] = json!({ "span": { "file_name": "src/b.rs", "line_start": 2 } });
    let found = refusal(&message("error", json!([made]))).unwrap();
    assert_eq!(found.places, [(PathBuf::from("src/a.rs"), 9), (PathBuf::from("src/b.rs"), 2)]);
    assert!(refusal(&message("warning", json!([span(7, true)]))).is_none());
    assert!(refusal(&message("error", json!([]))).is_none());
}
