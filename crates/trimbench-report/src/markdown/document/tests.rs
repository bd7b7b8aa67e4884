use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::*;

/// What GitHub adds to Markdown.
const GITHUB: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_MATH)
    .union(Options::ENABLE_GFM);

fn written(write: impl FnOnce(&mut Document)) -> String {
    let mut document = Document::new("");
    write(&mut document);
    document.into_text()
}

#[test]
fn what_would_begin_something_is_escaped_and_what_would_link_is_code() {
    for (text, expected) in [
        ("stutter per GB, < 0.001 s/GB", "stutter per GB, < 0.001 s/GB"),
        ("mount with `discard`", "mount with `discard`"),
        ("neighbour_blocks_lost of _x_", "neighbour_blocks_lost of \\_x\\_"),
        ("a | b", "a \\| b"),
        ("`a | b`", "`a `\\|` b`"),
        ("one ` alone", "one &#96; alone"),
        ("<script> </b> <!-- a<", "\\<script> \\</b> \\<!-- a<"),
        ("&amp; &#64; a & b", "\\&amp; `&#64;` a & b"),
        ("[x](y) ![z] *a* ~b~ $c$", "\\[x\\](y) !\\[z\\] \\*a\\* \\~b\\~ \\$c\\$"),
        ("see https://evil.test now", "see `https://evil.test` now"),
        ("WWW.evil.test", "`WWW.evil.test`"),
        ("thanks @octocat, #1", "thanks `@octocat,` `#1`"),
        ("# a heading", "`#` a heading"),
        ("- a", "\\- a"),
        ("1. a", "1\\. a"),
        ("0``)", "0\\)"),
        ("1.5 s -0.5 s", "1.5 s -0.5 s"),
        ("> a", "\\> a"),
        ("===", "\\==="),
        ("    a  b ", "a b "),
        ("a\nb\u{202e}\u{1b}[31m", "a\\\\nb\\\\u{202e}\\\\u{1b}\\[31m"),
    ] {
        let text = written(|document| {
            document.ours("\n").text(text);
        });
        assert_eq!(text, format!("\n{expected}"));
    }
}

#[test]
fn a_fence_in_a_text_opens_no_block() {
    let text = written(|document| {
        document.ours("- ").text("x\n```sh\ncurl evil | sh\n```\n").ours("\n");
    });
    let mut events = Parser::new_ext(&text, GITHUB);
    assert!(!events.any(|event| matches!(event, Event::Start(Tag::CodeBlock(_)))), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn html_holds_a_text_as_code_and_nothing_else() {
    let text = written(|document| {
        document.html_code("<img src=x onerror=\"a()\"> & \u{1b}\n@octocat");
    });
    let expected =
        "<code>&lt;img src=x onerror=&quot;a()&quot;&gt; &amp; \\u{1b}\\n@octocat</code>";
    assert_eq!(text, expected);
}

#[test]
fn commands_are_the_lines_to_type_and_nothing_else() {
    let action = Action::SmallerDiscardMax { bytes: 1 << 20 };
    let text = written(|document| {
        document.commands(&action, &Place::template());
    });
    for line in lines_to_type(&action, &Place::template()) {
        assert!(text.lines().any(|it| it == line.text), "{text}");
    }
    assert_eq!(text.matches("```").count(), 2);
    let nothing = written(|document| {
        document.commands(&Action::Unknown, &Place::template());
    });
    assert_eq!(nothing, "");
}

/// Texts of the characters and words that mean something to a renderer.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[-`|\\\\<>&#@!*_~$:;=+.\\[\\](){}\"'0-9a-z /\n\t]{1,4}",
        1 => prop::sample::select(vec![
            "```", "\n\n", "<script>", "</summary>", "<!--", "-->", "https://a.test", "www.a.test",
            "@octocat", "a@b.test", "![a](b)", "[a]: b", "&lt;", "\\|", "\u{202e}", "\u{1b}[31m",
            "\r\n", "| - |", "***", "---", "\\", "`", "``", "    ",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// What a reader sees: the text without backticks that enclose code, its blanks one each.
fn seen(text: &str) -> String {
    let blank = |text: &str| text.split(' ').filter(|it| !it.is_empty()).collect::<String>();
    blank(&visible(text)).replace('`', "")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_read_as_itself_wherever_it_stands(text in hostile()) {
        for (before, after) in [("# ", "\n"), ("- ", "\n"), ("", "\n"),
            ("| a | b |\n|---|---|\n| ", " | x |\n")]
        {
            let markdown = written(|document| {
                document.ours(before).text(&text).ours(after);
            });
            let mut read = String::new();
            for event in Parser::new_ext(&markdown, GITHUB) {
                match event {
                    Event::Text(part) | Event::Code(part) => read.push_str(&part),
                    Event::Start(tag) => prop_assert!(
                        matches!(tag, Tag::Heading { .. } | Tag::List(None) | Tag::Item
                            | Tag::Paragraph | Tag::Table(_) | Tag::TableHead | Tag::TableRow
                            | Tag::TableCell),
                        "{tag:?} in {markdown:?}"
                    ),
                    Event::End(_) => {}
                    other => prop_assert!(false, "{other:?} in {markdown:?}"),
                }
            }
            let read = read.replace([' ', '`'], "");
            let read = if before.contains('|') {
                read.strip_prefix("ab").and_then(|it| it.strip_suffix('x')).unwrap().to_owned()
            } else {
                read
            };
            prop_assert_eq!(read, seen(&text), "{:?}", markdown);
        }
    }
}
