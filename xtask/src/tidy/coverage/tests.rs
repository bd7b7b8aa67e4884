use super::super::tests::tree;

use super::{allowed_skips, cited_keys, comment, exit_codes, references};

#[test]
fn an_exit_code_that_the_page_lacks_is_found() {
    let code = "pub const DONE: u8 = 0;\npub const NEW: u8 = 5;\n";
    let page = "| `0` | done |\n| `50` | not five |\n";
    let found = exit_codes(&tree(&[
        ("crates/trimbench-core/src/exit.rs", code),
        ("docs/reference/exit-codes.md", page),
    ]));
    assert_eq!(found.len(), 1);
    assert!(found[0].message.starts_with("NEW (5)"), "{}", found[0]);
    assert_eq!(found[0].line, Some(2));
}

#[test]
fn keys_are_told_from_ranges_links_and_items() {
    assert_eq!(cited_keys("Sources: [DESN12] sec. 4, [PTS], [S0]."), ["DESN12", "PTS", "S0"]);
    assert_eq!(cited_keys("as [DESN12] shows, but not [PTS]"), ["DESN12"]);
    let none = "In [9, 16]; [`U64`]; [N1](a.md); [u64; 4]; [Sha256]; [x]; []";
    assert_eq!(cited_keys(none), [""; 0]);
}

#[test]
fn a_comment_begins_where_no_address_does() {
    assert_eq!(comment("let x = 1; // why"), Some("// why"));
    assert_eq!(comment("let a = \"https://x\"; // [S0]"), Some("// [S0]"));
    assert_eq!(comment(r#"let a = ("// \"[S0]", '"', "// [S0]");"#), None);
    assert_eq!(comment("let x = keys[S0];"), None);
}

#[test]
fn a_citation_without_a_reference_is_found_in_code_profiles_and_pages() {
    let references_page = ("docs/references.md", "# References\n\n- **[GOOD12]** A book.\n");
    for (path, text) in [
        ("a.rs", "//! Source: [BAD13].\n"),
        ("profiles/a.toml", "source = \"[BAD13] table 2\"\n"),
        ("docs/a.md", "As [BAD13] says.\n"),
    ] {
        let found = references(&tree(&[(path, text), references_page]));
        assert_eq!(found.len(), 1, "{path}");
        let good = text.replace("BAD13", "GOOD12");
        assert_eq!(references(&tree(&[(path, &good), references_page])), [], "{path}");
    }
    for code in ["let a = all[BAD13];\n", "// Written `[BAD13]`.\n", "let a = \"// [BAD13]\";\n"] {
        assert_eq!(references(&tree(&[("a.rs", code), references_page])), [], "{code}");
    }
}

#[test]
fn an_allowed_skip_of_a_test_that_is_gone_is_found() {
    let test = ("tests/linux.rs", "#[test]\nfn discards_reach_the_device() {}\n");
    let list = |text| tree(&[test, ("tests/allowed-skips.txt", text)]);
    assert_eq!(allowed_skips(&list("# why\n\ndiscards_reach_the_device  # root\n")), []);
    assert_eq!(allowed_skips(&list("linux::discards_reach_the_device # root\n")), []);
    assert_eq!(allowed_skips(&list("discards_reach  # root\n")).len(), 1);
}
