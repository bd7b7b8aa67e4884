use super::*;

/// Printed by wipefs 2.38.1 for a GPT disk.
const RECORDED: &[u8] = br#"{
   "signatures": [
      {
         "offset": "0x200",
         "type": "gpt",
         "label": null
      },{
         "offset": "0x438",
         "type": "ext4",
         "label": "my \"data\""
      }
   ]
}
"#;

#[test]
fn recorded_output_is_read() {
    let found = parse(RECORDED, "sdx").unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].kind.as_str(), found[0].offset.as_str()), ("gpt", "0x200"));
    assert_eq!(found[0].label, None);
    assert_eq!(found[1].label.as_deref(), Some("my \"data\""));
    assert_eq!(found[1].device, "sdx");
}

#[test]
fn nothing_found_is_an_empty_list_or_no_text() {
    assert_eq!(parse(b"{\n   \"signatures\": [\n\n   ]\n}\n", "x").unwrap(), []);
    assert_eq!(parse(b"\n", "x").unwrap(), []);
}

#[test]
fn what_is_not_understood_is_no_permission() {
    for broken in [
        &b"wipefs: error"[..],
        b"{}",
        b"{\"signatures\": {}}",
        b"{\"signatures\": [{\"offset\": \"0x0\"}]}",
        b"{\"signatures\": [{\"type\": null, \"offset\": \"0x0\"}]}",
        b"[]",
    ] {
        let found = parse(broken, "x");
        assert!(matches!(found, Err(ProbeError::Output { .. })), "{found:?}");
    }
}
