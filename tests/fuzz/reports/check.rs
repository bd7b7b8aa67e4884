//! Readers of outputs, which share no code with what writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, TextMergeStream};
use serde_json::Value;
use trimbench_core::text::shell_word;
use trimbench_report::Style;
use trimbench_results::advice::{KERNEL_LINE, Place, RULES_FILE, lines_to_type};
use trimbench_results::{Action, PlannedSession, Session};

/// What our own colours are.
const COLOURS: [&str; 4] = ["\u{1b}[1m", "\u{1b}[33m", "\u{1b}[1;31m", "\u{1b}[0m"];
/// Elements of a `JUnit` file, and their attributes.
const SUITES: &str = "testsuites testsuite testcase failure error skipped system-out";
const SUITE_ATTRIBUTES: &str = "name classname message tests failures errors skipped";
/// Elements of a figure.
const SHAPES: &str = "svg g path text rect circle line defs clipPath linearGradient stop polygon \
     polyline tspan";
/// Elements of a page, and their attributes.
const ELEMENTS: &str = "html head meta title style body header h1 h2 h3 h4 p br strong div button \
     section ul li ol nav a main article details summary pre code table thead tbody tr th td \
     small mark label input caption dl dt dd figure figcaption noscript em";
const ATTRIBUTES: &str = "lang name content charset http-equiv class id type href title \
     data-target data-action data-tone data-value data-unit data-table data-chart data-download \
     data-record data-reset role tabindex aria-label aria-labelledby scope for colspan open";
/// What GitHub adds to Markdown.
const GITHUB: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_MATH)
    .union(Options::ENABLE_GFM);
/// Whom lines to type are for.
const SYSTEMS: &str = "all ext4 XFS btrfs f2fs ZFS filesystem swap LVM mkfs dm-crypt";
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

fn is_one_of(word: &str, list: &str) -> bool {
    list.split(' ').any(|it| it == word)
}

/// No character in it does something else to a terminal than to be shown, but the end of a line.
/// Not the list of the program.
fn shown(text: &str) -> Result<()> {
    let acts = |letter: char| {
        let hidden = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{2069}'];
        letter.is_control() && letter != '\n'
            || hidden.iter().any(|range| range.contains(&letter))
            || letter == '\u{feff}'
    };
    let found = text.chars().find(|letter| acts(*letter));
    found.map_or(Ok(()), |letter| bail!("{letter:?} is raw in {text:?}"))
}

/// Lines, and our own colours.
pub(super) fn terminal(text: &str, style: Style) -> Result<()> {
    let colours = if style.colour { &COLOURS[..] } else { &[] };
    let plain = colours.iter().fold(text.to_owned(), |text, colour| text.replace(colour, ""));
    ensure!(style.unicode || plain.is_ascii(), "a character beyond ASCII in {plain:?}");
    shown(&plain)
}

/// So many lines, each a JSON value.
pub(super) fn lines(text: &str, count: usize) -> Result<()> {
    shown(text)?;
    let values: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(values.len() == count, "{} lines, not {count}", values.len());
    Ok(())
}

/// Rows of one width, and no formula in them.
pub(super) fn table(text: &str) -> Result<()> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    for row in reader.records() {
        // The reader refuses a row of another width.
        for cell in &row? {
            shown(cell)?;
            ensure!(!cell.contains('\n'), "two lines in a cell: {cell:?}");
            let is_formula = cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
            ensure!(!is_formula, "a formula: {cell:?}");
        }
    }
    Ok(())
}

/// Well-formed, and of our elements and attributes.
pub(super) fn junit(text: &str) -> Result<()> {
    document(text, SUITES, |attribute| is_one_of(attribute, SUITE_ATTRIBUTES))
}

/// Well-formed, of shapes, and nothing in it acts or is fetched; and a plain file's name.
pub(super) fn figure(name: &str, text: &str) -> Result<()> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-.".contains(letter);
    let stem = name.strip_suffix(".svg").unwrap_or_default();
    let is_plain = !stem.is_empty() && !stem.starts_with('.') && stem.chars().all(plain);
    ensure!(is_plain, "a file `{name}`");
    document(text, SHAPES, |attribute| !attribute.starts_with("on") && attribute != "href")
}

fn document(text: &str, elements: &str, is_known: impl Fn(&str) -> bool) -> Result<()> {
    shown(text)?;
    let document = roxmltree::Document::parse(text)?;
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let name = node.tag_name().name();
        ensure!(is_one_of(name, elements), "an element <{name}>");
        let known = node.attributes().all(|attribute| is_known(attribute.name()));
        ensure!(known, "<{name}> with {:?}", node.attributes());
    }
    Ok(())
}

/// The tags of a page, outside of its scripts and styles: elements and attributes of ours, values
/// in quotes, links within the page or to what the methods' pages cite.
pub(super) fn page(text: &str) -> Result<()> {
    let mut rest = text.strip_prefix("<!DOCTYPE html>").context("no document")?;
    while let Some((before, behind)) = rest.split_once('<') {
        shown(before)?;
        let (tag, behind) = behind.split_once('>').context("a tag without an end")?;
        shown(tag)?;
        rest = behind;
        let (name, values) = tag.split_once(' ').unwrap_or((tag, ""));
        if name == "script" || name == "style" {
            let (content, behind) =
                rest.split_once(&format!("</{name}>")).context("a script without an end")?;
            let is_data = values.starts_with("type=\"application/octet-stream\"");
            let is_base64 = |it: char| it.is_ascii_alphanumeric() || "+/=".contains(it);
            ensure!(!is_data || content.chars().all(is_base64), "data that are not base64");
            ensure!(!content.contains("x-hostile"), "a text of the record in a script");
            rest = behind;
            continue;
        }
        let closed = name.strip_prefix('/');
        ensure!(is_one_of(closed.unwrap_or(name), ELEMENTS), "a tag <{tag}>");
        ensure!(closed.is_none() || values.is_empty(), "a tag <{tag}>");
        attributes(values).with_context(|| format!("in <{tag}>"))?;
    }
    shown(rest)
}

fn attributes(text: &str) -> Result<()> {
    let mut rest = text.trim_end_matches('/').trim_start();
    while !rest.is_empty() {
        let (name, behind) = rest.split_at(rest.find([' ', '=']).unwrap_or(rest.len()));
        ensure!(is_one_of(name, ATTRIBUTES), "an attribute `{name}`");
        rest = behind;
        if let Some(value) = behind.strip_prefix("=\"") {
            let (value, behind) = value.split_once('"').context("a value without an end")?;
            let is_ours = value.starts_with('#')
                || value.starts_with("http") && !value.contains("hostile.test");
            ensure!(name != "href" || is_ours, "a link to {value:?}");
            rest = behind;
        }
        ensure!(!rest.starts_with('='), "a value without quotes");
        rest = rest.trim_start();
    }
    Ok(())
}

/// The lines that Markdown may have in blocks.
#[derive(Debug)]
pub(super) struct Lines(BTreeSet<String>);

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
                let output = Command::new("sh").args(["-n", "-c", &line.text]).output()?;
                ensure!(output.status.success(), "a shell does not read `{}`", line.text);
                lines.insert(line.text.replace("=\"1\"", "=\"N\"").replace("=\"0\"", "=\"N\""));
                lines.extend(line.note.map(|note| format!("# {note}")));
            }
        }
        ensure!(lines.len() > 10, "there are lines to type");
        Ok(Self(lines))
    }

    /// No HTML but ours, no link, no image, no address; in blocks these lines only.
    pub(super) fn check(&self, text: &str) -> Result<()> {
        shown(text)?;
        let (mut html, mut block) = (String::new(), None);
        for event in TextMergeStream::new(Parser::new_ext(text, GITHUB)) {
            match (event, &mut block) {
                (Event::Html(part), _) => html.push_str(&part),
                (Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(kind))), it)
                    if &*kind == "sh" =>
                {
                    *it = Some(String::new());
                }
                (Event::Text(part), Some(block)) => block.push_str(&part),
                (Event::End(TagEnd::CodeBlock), it) => {
                    let lines = it.take().unwrap_or_default();
                    let unknown = lines.lines().find(|line| !self.knows(line));
                    ensure!(unknown.is_none(), "a line to type: {unknown:?}");
                }
                // What GitHub makes a link or a mention of.
                (Event::Text(part), None) => {
                    let lower = part.to_lowercase();
                    let has = ["://", "www.", "@", "#"].iter().any(|it| lower.contains(it));
                    ensure!(!has, "an address in {part:?}");
                }
                (
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
                    | Event::SoftBreak,
                    _,
                ) => {}
                (other, _) => bail!("{other:?} in {text}"),
            }
        }
        let unknown = html.lines().find(|line| !is_our_html(line));
        unknown.map_or(Ok(()), |line| Err(anyhow!("HTML {line:?}")))
    }

    fn knows(&self, line: &str) -> bool {
        let is_about = line.strip_prefix("# ").is_some_and(|about| {
            let about = about.strip_suffix(", not tested by trimbench").unwrap_or(about);
            let places = ["as root", "/etc/fstab", "/etc/lvm/lvm.conf", RULES_FILE, KERNEL_LINE];
            let parts = about.split_once(", ");
            parts.is_some_and(|(it, place)| is_one_of(it, SYSTEMS) && places.contains(&place))
        });
        let bytes = line.rsplit_once("discard_max_bytes}=\"");
        let bytes = bytes.and_then(|(_, bytes)| bytes.strip_suffix('"'));
        let line = match bytes.filter(|it| it.chars().all(|it| it.is_ascii_digit())) {
            Some(bytes) => line.replace(&format!("=\"{bytes}\""), "=\"N\""),
            None => line.to_owned(),
        };
        is_about || self.0.contains(&line) || is_placed(&line)
    }
}

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
    let environment = [
        ("filesystem", kind),
        ("mount-point", point),
        ("mount-options", "rw"),
        ("fstab-line", "none"),
    ];
    session.environment_before =
        environment.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    Place::of(&[&session])
}

/// Whether a line is one of ours that names a place, in words that mean themselves to a shell.
fn is_placed(line: &str) -> bool {
    let is_plain = |word: &str| shell_word(word) == word;
    let Some(rest) = PLACED.into_iter().find_map(|start| line.strip_prefix(start)) else {
        // A line of fstab.
        let fields: Vec<&str> = line.split(' ').collect();
        let is_about_trim = |it: &&str| {
            it.contains("discard") || it.contains("X-fstrim.notrim") || *it == "defaults"
        };
        return fields.len() == 6
            && fields.iter().all(|field| is_plain(field))
            && fields.get(3).is_some_and(is_about_trim)
            && fields[1].starts_with('/');
    };
    let plain = rest.replace(['{', '}', '"'], "").replace("==", "=");
    plain.split(' ').all(is_plain) && !rest.contains("RUN")
}

/// Whether a line of HTML in Markdown is one of ours.
fn is_our_html(line: &str) -> bool {
    let folded = line.strip_prefix("<details><summary><code>").and_then(|rest| {
        let (method, rest) = rest.split_once("</code> on <code>")?;
        let (target, rest) = rest.split_once("</code>: ")?;
        let count = rest.strip_suffix(" figures</summary>")?;
        let is_text = ![method, target].iter().any(|text| text.contains(['<', '>']));
        Some(is_text && count.chars().all(|it| it.is_ascii_digit()))
    });
    folded == Some(true)
        || ["<!-- trimbench -->", "<!-- end of trimbench's report -->", "</details>", ""]
            .contains(&line)
}
