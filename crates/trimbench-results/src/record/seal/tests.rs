use super::super::tests::record;
use super::*;
use crate::metric::{Direction, Metric};

#[test]
fn a_sealed_record_is_known_to_be_changed_whatever_is_changed() {
    let mut record = record();
    assert!(record.is_unchanged(&record.to_json()), "one of emulated drives has no seal");
    assert!(!record.to_json().windows(6).any(|it| it == b"\"seal\""));
    record.run_id = Some("0123456789abcdef0123456789abcdef".to_owned());
    let json = record.to_json();
    let read = RunRecord::from_json(&json).unwrap();
    assert_eq!(read, record);
    assert_eq!(read.to_json(), json, "written again it has the same bytes");
    assert!(read.is_unchanged(&json));
    let text = String::from_utf8(json.clone()).unwrap();
    let seal = text.lines().find(|line| line.contains("\"seal\"")).unwrap();
    for (from, to) in [
        ("\"method_version\": ", "\"method_version\": 1"),
        ("\"finished\": true", "\"finished\": false"),
        ("\"run_id\": \"0", "\"run_id\": \"1"),
        ("\"run_id\"", "\"9run_id\""),
        ("\"seal\": \"", "\"sea\": \""),
        (seal, "  \"seal\": null"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let read = RunRecord::from_json(changed.as_bytes()).unwrap();
        assert!(!read.is_unchanged(changed.as_bytes()), "{from}");
    }
    // How it is laid out does not matter, nor what nobody reads.
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let compact = serde_json::to_vec(&value).unwrap();
    assert!(RunRecord::from_json(&compact).unwrap().is_unchanged(&compact));
}

#[test]
fn the_seal_of_a_record_of_an_older_format_is_as_good() {
    let figure = Metric::member("largest-delay", "delay A, 4GB deleted", "s", Direction::Lower);
    let mut old = RunRecord { schema: 3, run_id: Some("0".repeat(32)), ..record() };
    old.sessions[0].figures.extend(figure.measured(0.5));
    let json = old.to_json();
    let read = RunRecord::from_json(&json).unwrap();
    assert!(!read.sessions[0].figures[1].coordinates.is_empty() && read.is_unchanged(&json));
    let changed = String::from_utf8(json).unwrap().replacen("0.5", "0.6", 1);
    let read = RunRecord::from_json(changed.as_bytes()).unwrap();
    assert!(!read.is_unchanged(changed.as_bytes()));
}

#[test]
fn the_seal_is_what_sha256sum_prints_of_the_record_without_it() {
    assert_eq!(
        sha256(b"abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "FIPS 180-4, example 1"
    );
}
