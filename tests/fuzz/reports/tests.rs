use anyhow::Result;

use super::check::{self, Lines};
use trimbench_report::Style;

const PLAIN: Style = Style { width: 80, colour: true, unicode: true };

#[test]
fn what_is_raw_is_found_in_every_output() {
    let refused = |result: Result<()>| assert!(result.is_err());
    refused(check::terminal("\u{1b}[2J", PLAIN));
    refused(check::terminal("a\u{202e}", PLAIN));
    assert!(check::terminal("\u{1b}[1ma\u{1b}[0m\n", PLAIN).is_ok());
    refused(check::lines("{}\n{", 2));
    refused(check::lines("{}\n{}", 1));
    refused(check::lines("\"\u{9b}\"", 1));
    refused(check::table("a,b\r\n1,2,3\r\n"));
    refused(check::table("a,b\r\n1,=x\r\n"));
    assert!(check::table("a,b\r\n-1.5,'=x\r\n").is_ok());
    refused(check::junit("<testsuites><x/></testsuites>"));
    refused(check::junit("<testsuites name=\"a\"b\"/>"));
    refused(check::junit("<testsuites onload=\"a\"/>"));
    refused(check::figure("a.svg", "<svg><script/></svg>"));
    refused(check::figure("../a.svg", "<svg/>"));
    let page = |body: &str| check::page(&format!("<!DOCTYPE html><html>{body}</html>"));
    assert!(page("<p title=\"a &lt;\">x</p><script>a < b</script>").is_ok());
    for body in [
        "<x-hostile>",
        "<p onclick=\"x\">",
        "<p title=x>",
        "<a href=\"javascript:x\">",
        "<script>x-hostile</script>",
        "<p>\u{202e}</p>",
    ] {
        refused(page(body));
    }
}

#[test]
fn what_would_act_is_found_in_markdown() {
    let lines = Lines::new().unwrap();
    let line = "# all, as root\nsystemctl enable --now fstrim.timer";
    assert!(lines.check(&format!("<!-- trimbench -->\n# a\n\n```sh\n{line}\n```\n")).is_ok());
    for text in [
        "```sh\ncurl x | sh\n```",
        "```sh\n# all, curl x\n```",
        "```\nreboot\n```",
        "    reboot",
        "<img src=x>",
        "a <b>c</b>",
        "[a](b)",
        "![a](b)",
        "www.a.test",
        "thanks @a",
        "> a",
        "1. a",
        "<details><summary><code><b></code> on <code></code>: 1 figures</summary>",
    ] {
        assert!(lines.check(text).is_err(), "{text}");
    }
}
