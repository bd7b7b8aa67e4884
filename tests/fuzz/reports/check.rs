//! Readers of outputs, which share no code with what writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, TextMergeStream};
use trimbench_core::text::shell_word;
use trimbench_report::Style;
use trimbench_results::advice::{KERNEL_LINE, Place, RULES_FILE, lines_to_type};
use trimbench_results::{Action, PlannedSession, Session};

/// What our own colours are.
const COLOURS: [&str; 4] = ["\u{1b}[1m", "\u{1b}[33m", "\u{1b}[1;31m", "\u{1b}[0m"];
/// Elements of a `JUnit` file.
const SUITES: [&str; 7] =
    ["testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"];
/// Elements of a figure.
const SHAPES: [&str; 14] = [
    "svg",
    "g",
    "path",
    "text",
    "rect",
    "circle",
    "line",
    "defs",
    "clipPath",
    "linearGradient",
    "stop",
    "polygon",
    "polyline",
    "tspan",
];
/// Elements of a page.
const ELEMENTS: [&str; 46] = [
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "h1",
    "h2",
    "h3",
    "h4",
    "p",
    "br",
    "strong",
    "div",
    "button",
    "section",
    "ul",
    "li",
    "ol",
    "nav",
    "a",
    "main",
    "article",
    "details",
    "summary",
    "pre",
    "code",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "small",
    "mark",
    "label",
    "input",
    "caption",
    "dl",
    "dt",
    "dd",
    "figure",
    "figcaption",
    "noscript",
    "em",
];
/// Attributes of a page.
const ATTRIBUTES: [&str; 28] = [
    "lang",
    "name",
    "content",
    "charset",
    "http-equiv",
    "class",
    "id",
    "type",
    "href",
    "title",
    "data-target",
    "data-action",
    "data-tone",
    "data-value",
    "data-unit",
    "data-table",
    "data-chart",
    "data-download",
    "data-record",
    "data-reset",
    "role",
    "tabindex",
    "aria-label",
    "aria-labelledby",
    "scope",
    "for",
    "colspan",
    "open",
];
/// What GitHub adds to Markdown.
const GITHUB: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_MATH)
    .union(Options::ENABLE_GFM);

/// Whether a terminal does something else with a character than to show it. Not the list of the
/// program.
fn acts(letter: char) -> bool {
    letter.is_control()
        || ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{2069}']
            .iter()
            .any(|range| range.contains(&letter))
        || letter == '\u{feff}'
}

fn only(text: &str, but: &[char]) -> Result<(), String> {
    match text.chars().find(|letter| acts(*letter) && !but.contains(letter)) {
        Some(letter) => Err(format!("{letter:?} is raw in {text:?}")),
        None => Ok(()),
    }
}

/// Lines, and our own colours.
pub(super) fn terminal(text: &str, style: Style) -> Result<(), String> {
    let mut plain = text.to_owned();
    if style.colour {
        for colour in COLOURS {
            plain = plain.replace(colour, "");
        }
    }
    only(&plain, &['\n'])?;
    match plain.chars().find(|letter| !style.unicode && !letter.is_ascii()) {
        Some(letter) => Err(format!("{letter:?} is beyond ASCII")),
        None => Ok(()),
    }
}

/// One JSON value a line.
pub(super) fn lines(text: &str, count: usize) -> Result<(), String> {
    only(text, &['\n'])?;
    let values = text.lines().map(serde_json::from_str::<serde_json::Value>);
    let read = values.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    if read.len() == count { Ok(()) } else { Err(format!("{} lines, not {count}", read.len())) }
}

/// Rows of one width, and no formula in them.
pub(super) fn table(text: &str) -> Result<(), String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    for row in reader.records() {
        // The reader refuses a row of another width.
        let row = row.map_err(|error| error.to_string())?;
        for cell in &row {
            only(cell, &[])?;
            if cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err() {
                return Err(format!("a formula: {cell:?}"));
            }
        }
    }
    Ok(())
}

/// Well-formed, and of our elements and attributes.
pub(super) fn junit(text: &str) -> Result<(), String> {
    only(text, &['\n'])?;
    let names = ["name", "classname", "message", "tests", "failures", "errors", "skipped"];
    document(text, &SUITES, |attribute| names.contains(&attribute))
}

/// Well-formed, of shapes, and nothing in it acts or is fetched; and a plain file's name.
pub(super) fn figure(name: &str, text: &str) -> Result<(), String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-.".contains(letter);
    let stem = name.strip_suffix(".svg").unwrap_or_default();
    if stem.is_empty() || stem.starts_with('.') || !stem.chars().all(plain) {
        return Err(format!("a file `{name}`"));
    }
    only(text, &['\n'])?;
    document(text, &SHAPES, |attribute| !attribute.starts_with("on") && attribute != "href")
}

fn document(text: &str, elements: &[&str], is_known: impl Fn(&str) -> bool) -> Result<(), String> {
    let document = roxmltree::Document::parse(text).map_err(|error| error.to_string())?;
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let name = node.tag_name().name();
        if !elements.contains(&name) {
            return Err(format!("an element <{name}>"));
        }
        if let Some(other) = node.attributes().find(|attribute| !is_known(attribute.name())) {
            return Err(format!("<{name}> with `{}`", other.name()));
        }
    }
    Ok(())
}

/// The tags of a page, outside of its scripts and styles: elements and attributes of ours, values
/// in quotes, links within the page or to what the methods' pages cite.
pub(super) fn page(text: &str) -> Result<(), String> {
    let mut rest = text.strip_prefix("<!DOCTYPE html>").ok_or("no document")?;
    while let Some(at) = rest.find('<') {
        only(&rest[..at], &['\n'])?;
        let end = rest[at..].find('>').ok_or("a tag without an end")?;
        let tag = &rest[at + 1..at + end];
        rest = &rest[at + end + 1..];
        only(tag, &['\n'])?;
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let closes = name.strip_prefix('/');
        let name = closes.unwrap_or(name);
        if name == "script" || name == "style" {
            let close = format!("</{name}>");
            let at = rest.find(&close).ok_or("a script without an end")?;
            let data = attributes.starts_with("type=\"application/octet-stream\"");
            if data && !rest[..at].chars().all(|c| c.is_ascii_alphanumeric() || "+/=".contains(c)) {
                return Err("data that are not base64".to_owned());
            }
            if rest[..at].contains("x-hostile") {
                return Err("a text of the record in a script".to_owned());
            }
            rest = &rest[at + close.len()..];
            continue;
        }
        if !ELEMENTS.contains(&name) || closes.is_some() && !attributes.is_empty() {
            return Err(format!("a tag <{tag}>"));
        }
        self::attributes(attributes).map_err(|what| format!("{what} in <{tag}>"))?;
    }
    only(rest, &['\n'])
}

fn attributes(text: &str) -> Result<(), String> {
    let mut rest = text.trim_end_matches('/').trim_start();
    while !rest.is_empty() {
        let end = rest.find([' ', '=']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if !ATTRIBUTES.contains(&name) {
            return Err(format!("an attribute `{name}`"));
        }
        rest = behind;
        if let Some(value) = behind.strip_prefix("=\"") {
            let (value, behind) = value.split_once('"').ok_or("a value without an end")?;
            if name == "href" && !value.starts_with('#') && !value.starts_with("http") {
                return Err(format!("a link to {value:?}"));
            }
            if name == "href" && value.contains("hostile.test") && !value.starts_with('#') {
                return Err(format!("a link to {value:?}"));
            }
            rest = behind;
        } else if behind.starts_with('=') {
            return Err("a value without quotes".to_owned());
        }
        rest = rest.trim_start();
    }
    Ok(())
}

/// The lines that Markdown may have in blocks.
#[derive(Debug)]
pub(super) struct Lines(BTreeSet<String>);

/// Where lines are that no other place has.
fn placed(kind: &str, point: &str) -> Place {
    let plan = PlannedSession {
        method: "delete-stall".to_owned(),
        target: "/".to_owned(),
        preset: "quick".to_owned(),
        options: BTreeMap::new(),
    };
    let mut session = Session::planned(plan, 1);
    "directory".clone_into(&mut session.target.kind);
    session.environment_before = [
        ("filesystem", kind),
        ("mount-point", point),
        ("mount-options", "rw"),
        ("fstab-line", "none"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    Place::of(&[&session])
}

/// Whether a line is one of ours that names a place, in words that mean themselves to a shell.
fn is_placed(line: &str) -> bool {
    let Some(rest) = PLACED.into_iter().find_map(|start| line.strip_prefix(start)) else {
        // A line of fstab.
        let fields: Vec<&str> = line.split(' ').collect();
        let is_plain = fields.iter().all(|field| shell_word(field) == **field);
        let is_about_trim = fields.get(3).is_some_and(|it| it.contains("discard"))
            || fields.get(3).is_some_and(|it| it.contains("X-fstrim.notrim"))
            || fields.get(3) == Some(&"defaults");
        return fields.len() == 6 && is_plain && is_about_trim && fields[1].starts_with('/');
    };
    let plain = rest.replace(['{', '}', '"'], "").replace("==", "=");
    let is_plain = |word: &str| shell_word(word) == word;
    plain.split(' ').all(is_plain) && !rest.contains("RUN")
}

/// What lines begin with that name a place, and are a template's no longer.
const PLACED: [&str; 9] = [
    "mount -o remount,",
    "mount /",
    "umount /",
    "rootflags=",
    "zpool set autotrim=",
    "systemctl enable --now zfs-trim-weekly@",
    "udevadm trigger --action=change /dev/",
    "# shows its effect: ",
    "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", ",
];

impl Lines {
    /// Those of every answer; a shell reads each of the blocks.
    pub(super) fn new() -> Result<Self> {
        let mut lines = BTreeSet::new();
        let places = [
            Place::template(),
            placed("xfs", "/"),
            placed("xfs", "/srv"),
            placed("jfs", "/srv"),
            placed("", "/srv"),
        ];
        for action in [
            Action::MountWithDiscard,
            Action::WeeklyFstrim,
            Action::SmallerDiscardMax { bytes: 1 },
            Action::TrimDoesNotReach,
            Action::DoNotTrim,
            Action::NothingToGain,
        ] {
            for line in places.iter().flat_map(|place| lines_to_type(&action, place)) {
                let output = Command::new("sh").args(["-n", "-c", &line.text]).output();
                let output = output.context("run sh")?;
                ensure!(output.status.success(), "a shell does not read `{}`", line.text);
                let text = line.text.replace("=\"1\"", "=\"N\"").replace("=\"0\"", "=\"N\"");
                lines.insert(text);
                lines.extend(line.note.map(|note| format!("# {note}")));
            }
        }
        ensure!(lines.len() > 10, "there are lines to type");
        Ok(Self(lines))
    }

    /// No HTML but ours, no link, no image, no address; in blocks these lines only.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        only(text, &['\n'])?;
        let (mut html, mut block) = (String::new(), None);
        for event in TextMergeStream::new(Parser::new_ext(text, GITHUB)) {
            match event {
                Event::Html(part) => html.push_str(&part),
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(kind))) if &*kind == "sh" => {
                    block = Some(String::new());
                }
                Event::Text(part) if block.is_some() => {
                    block.as_mut().expect("it is there").push_str(&part);
                }
                Event::End(TagEnd::CodeBlock) => {
                    let lines = block.take().unwrap_or_default();
                    lines.lines().try_for_each(|line| self.known(line))?;
                }
                Event::Text(part) => no_address(&part)?,
                Event::Start(
                    Tag::Heading { .. }
                    | Tag::Paragraph
                    | Tag::List(None)
                    | Tag::Item
                    | Tag::Table(_)
                    | Tag::TableHead
                    | Tag::TableRow
                    | Tag::TableCell
                    | Tag::HtmlBlock
                    | Tag::Strong,
                )
                | Event::End(_)
                | Event::Code(_)
                | Event::SoftBreak => {}
                other => return Err(format!("{other:?} in {text}")),
            }
        }
        html.lines().try_for_each(tags)
    }

    fn known(&self, line: &str) -> Result<(), String> {
        let about = line.strip_prefix("# ").is_some_and(|about| {
            let about = about.strip_suffix(", not tested by trimbench").unwrap_or(about);
            let systems = [
                "all",
                "ext4",
                "XFS",
                "btrfs",
                "f2fs",
                "ZFS",
                "filesystem",
                "swap",
                "LVM",
                "mkfs",
                "dm-crypt",
            ];
            let places = ["as root", "/etc/fstab", "/etc/lvm/lvm.conf", RULES_FILE, KERNEL_LINE];
            let parts = about.split_once(", ");
            parts.is_some_and(|(it, place)| systems.contains(&it) && places.contains(&place))
        });
        let bytes = line.rsplit_once("discard_max_bytes}=\"");
        let bytes = bytes.and_then(|(_, bytes)| bytes.strip_suffix('"'));
        let line = match bytes.filter(|it| it.chars().all(|c| c.is_ascii_digit())) {
            Some(bytes) => line.replace(&format!("=\"{bytes}\""), "=\"N\""),
            None => line.to_owned(),
        };
        if about || self.0.contains(&line) || is_placed(&line) {
            Ok(())
        } else {
            Err(format!("a line to type: {line:?}"))
        }
    }
}

/// What GitHub makes a link or a mention of.
fn no_address(text: &str) -> Result<(), String> {
    let lower = text.to_lowercase();
    match ["://", "www.", "@", "#"].iter().find(|part| lower.contains(**part)) {
        Some(part) => Err(format!("`{part}` in {text:?}")),
        None => Ok(()),
    }
}

/// A line of HTML in Markdown.
fn tags(line: &str) -> Result<(), String> {
    let folded = line.strip_prefix("<details><summary><code>").and_then(|rest| {
        let (method, rest) = rest.split_once("</code> on <code>")?;
        let (target, rest) = rest.split_once("</code>: ")?;
        let count = rest.strip_suffix(" figures</summary>")?;
        let is_text = ![method, target].iter().any(|text| text.contains(['<', '>']));
        Some(is_text && count.chars().all(|c| c.is_ascii_digit()))
    });
    if ["<!-- trimbench -->", "<!-- end of trimbench's report -->", "</details>", ""]
        .contains(&line)
        || folded == Some(true)
    {
        Ok(())
    } else {
        Err(format!("HTML {line:?}"))
    }
}
