use std::process::Command;

use proptest::prelude::*;

use super::*;

/// Names that went wrong somewhere, in bytes.
const NAMES: [&[u8]; 18] = [
    b"plain-name_1.img",
    b"",
    b"two words",
    b"it's",
    b"$(touch pwned)`touch pwned`",
    b"a;b&c|d<e>f*g?h[i]j{k}l~m#n!o\\p\"q",
    b"~root",
    b"=ls",
    b"-rf",
    b"--output=x",
    b"line\nbreak\ttab\r",
    b"\x1b]0;title\x07\x1b[31mred",
    b"\xff\xfe9",
    b"half \xc3( of \xe2\x82 a letter",
    b"$'\\xff'",
    b"$'not closed",
    "\u{e4}\u{20ac}\u{1f600}".as_bytes(),
    "\u{202e}gnp.exe\u{9b}31m".as_bytes(),
];

fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

#[test]
fn names_come_back_from_records_to_the_byte() {
    for bytes in NAMES {
        let text = to_text(name(bytes));
        assert_eq!(from_text(&text), name(bytes), "{text}");
        let plain = std::str::from_utf8(bytes).is_ok() && !bytes.starts_with(b"$'");
        assert_eq!(text.as_bytes() == bytes, plain, "{text}");
    }
    assert_eq!(to_text(name(b"/a/\xff'9\\")), r"$'/a/\xff\'9\\'");
    // What this version never wrote is taken as it stands.
    for text in ["$'a\\q'", "$'a'b'", "$'\\x4'", "$'"] {
        assert_eq!(from_text(text), OsStr::new(text));
    }
}

#[test]
fn bash_reads_every_word_as_it_was() {
    for bytes in NAMES {
        let word = shell_word(name(bytes));
        let said = Command::new("bash").arg("-c").arg(format!("printf %s {word}")).output();
        let said = said.expect("bash is there").stdout;
        assert_eq!(said, bytes, "{word}");
        assert!(!word.contains(is_hidden), "{word}");
    }
    assert_eq!(shell_word("a/b:c=1,x@2"), "a/b:c=1,x@2");
    assert_eq!(shell_word("it's"), r"'it'\''s'");
    assert_eq!(shell_path(name(b"-rf")), "./-rf");
    assert_eq!(shell_path(name(b"/a b")), "'/a b'");
}

#[test]
fn nothing_hidden_is_left_and_all_else_is_as_it_was() {
    for bytes in NAMES {
        let text = String::from_utf8_lossy(bytes);
        let shown = visible(&text);
        assert!(!shown.contains(is_hidden), "{shown}");
        assert_eq!(shown == text, !text.contains(is_hidden));
    }
    assert_eq!(visible("a\u{1b}[31m\nb\u{9b}\u{202e}"), r"a\u{1b}[31m\nb\u{9b}\u{202e}");
    assert_eq!(visible("\u{20ac} \\ ' \u{1f600}"), "\u{20ac} \\ ' \u{1f600}");
}

proptest! {
    #[test]
    fn any_bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        prop_assert_eq!(from_text(&to_text(name(&bytes))), name(&bytes));
    }
}

#[test]
fn lines_keep_their_ends_and_show_everything_else() {
    assert_eq!(visible_lines("a\nb\r\n\u{1b}[0m\n"), "a\nb\\r\n\\u{1b}[0m\n");
    assert!(matches!(visible_lines("a\nb\n"), Cow::Borrowed(_)));
}

#[test]
fn json_without_hidden_characters_means_the_same() {
    let json = "{\n  \"a\u{9b}\": \"\u{202e}\u{e0041}\u{7f}\"\n}";
    let shown = visible_json(json);
    assert_eq!(shown, "{\n  \"a\\u009b\": \"\\u202e\\udb40\\udc41\\u007f\"\n}");
    assert!(matches!(visible_json("{\n}"), Cow::Borrowed(_)));
}
