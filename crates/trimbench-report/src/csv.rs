//! A record as tables in CSV (RFC 4180): lines end in CR LF, fields with commas, quotes or line
//! breaks are quoted. Numbers in full, in the unit of the metric, so that they read back to the
//! same bits and add up; `shown` is the same figure as every other report shows it.
//!
//! `session` is the index in the record, from 0; it joins the tables.
//!
//! A text that a spreadsheet would interpret as a formula gets an apostrophe before it, which marks
//! it as text. Numbers stay as they are, negative ones too. Hidden characters are shown as escapes,
//! so a cell has no line ends and a table can be printed on a terminal; the record has them as they
//! are.
//!
//! The verdicts are those of this version's rules, whatever a record says of them.

use std::fmt::Display;

use ::csv::{Terminator, WriterBuilder};
use trimbench_core::text::visible;
use trimbench_results::cards::cards;
use trimbench_results::{AdviceCard, DriveOrder, Interval, RunRecord, Session, Step};

#[cfg(test)]
mod tests;

/// Parts of keys that are units, with the unit.
const UNITS: [(&str, &str); 14] = [
    ("ns", "ns"),
    ("us", "us"),
    ("ms", "ms"),
    ("s", "s"),
    ("bytes", "B"),
    ("ratio", "1"),
    ("count", "1"),
    ("percent", "%"),
    ("ppm", "ppm"),
    ("iops", "IOPS"),
    ("mbps", "MB/s"),
    ("request-s", "request-s"),
    ("s-per-gb", "s/GB"),
    ("bytes-per-s", "B/s"),
];

/// What a formula begins with; the wide ones in spreadsheets with East Asian settings.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// The record's tables: file names and contents.
pub fn csv(record: &RunRecord) -> Vec<(&'static str, String)> {
    tables(&record.sessions.iter().enumerate().collect::<Vec<_>>(), &cards(record))
}

/// The same with sessions and verdicts in the order of their drives, of the record with this index.
pub fn csv_in_order(
    record: &RunRecord,
    index: usize,
    order: &DriveOrder,
) -> Vec<(&'static str, String)> {
    let mut sessions: Vec<_> = record.sessions.iter().enumerate().collect();
    order.sort(&mut sessions, |(_, session)| (index, *session));
    let mut cards = cards(record);
    cards.sort_by_key(|card| {
        sessions.iter().position(|(session, _)| card.sessions.contains(session))
    });
    tables(&sessions, &cards)
}

/// The tables of these sessions, each with its index in the record, and of these cards.
fn tables(sessions: &[(usize, &Session)], cards: &[AdviceCard]) -> Vec<(&'static str, String)> {
    vec![
        ("figures.csv", figures(sessions)),
        ("steps.csv", steps(sessions)),
        ("series.csv", series(sessions)),
        ("verdicts.csv", verdicts(cards)),
    ]
}

fn figures(sessions: &[(usize, &Session)]) -> String {
    let rows = sessions.iter().flat_map(|&(index, session)| {
        session.figures.iter().map(move |figure| {
            let interval = |end: fn(Interval) -> f64| optional(figure.interval.map(end));
            [
                plain(index),
                text(&session.plan.method),
                text(&session.plan.target),
                text(&session.plan.preset),
                text(&session.target.clock),
                plain(session.finished),
                text(&figure.id),
                text(&figure.title),
                plain(figure.value),
                text(&figure.unit),
                text(&figure.shown().text()),
                interval(|interval| interval.low),
                interval(|interval| interval.high),
                interval(|interval| interval.level),
                plain(figure.n),
                plain(figure.headline),
                text(&figure.words().unwrap_or_default()),
                text(&caveat_ids(session, &figure.caveats).join(";")),
                text(&figure.coordinates.to_string()),
            ]
        })
    });
    let header = [
        "session",
        "method",
        "target",
        "preset",
        "clock",
        "finished",
        "figure",
        "title",
        "value",
        "unit",
        "shown",
        "low",
        "high",
        "level",
        "n",
        "headline",
        "verdict",
        "caveats",
        "coordinates",
    ];
    table(header, rows)
}

/// What to do with each drive: a line for the answer, and one for each part of the card.
fn verdicts(cards: &[AdviceCard]) -> String {
    let rows = cards.iter().flat_map(|card| {
        let part = |part: &'static str, all: &[String]| -> Vec<(&'static str, String)> {
            all.iter().map(|it| (part, it.clone())).collect()
        };
        let because: Vec<String> = card.because.iter().map(|it| it.text.clone()).collect();
        let parts = [
            part("answer", std::slice::from_ref(&card.title)),
            part("because", &because),
            part("would-change", &card.would_change),
            part("not-measured", &card.not_measured),
            part("remark", &card.remarks),
            part("agreement", &card.agreement),
            part("paced", &card.paced),
            part("template", card.template.as_slice()),
            part("already", card.already.as_slice()),
        ];
        let rows = parts.concat().into_iter();
        rows.map(|(part, words)| verdict_row(card, (part, "", ""), &words)).chain(
            card.lines.iter().flat_map(|line| {
                let file = line.file.as_deref().unwrap_or_default();
                let row =
                    |part, words: &String| verdict_row(card, (part, &line.system, file), words);
                let behind = [("note", &line.note), ("check", &line.check)];
                let behind =
                    behind.into_iter().filter_map(|(part, it)| Some(row(part, it.as_ref()?)));
                std::iter::once(row("line", &line.text)).chain(behind).collect::<Vec<_>>()
            }),
        )
    });
    table(["target", "action", "part", "system", "file", "text"], rows)
}

fn verdict_row(
    card: &AdviceCard,
    (part, system, file): (&str, &str, &str),
    words: &str,
) -> [String; 6] {
    [text(&card.target), text(&card.action), text(part), text(system), text(file), text(words)]
}

/// What was set and what was measured, a line each.
fn steps(sessions: &[(usize, &Session)]) -> String {
    let rows = all_steps(sessions).flat_map(|(index, step)| {
        let set = step.parameters.iter().map(|entry| ("parameter", entry));
        let measured = step.metrics.iter().map(|entry| ("metric", entry));
        set.chain(measured).map(move |(role, (key, value))| {
            [
                plain(index),
                text(&step.id),
                text(&step.kind),
                text(role),
                text(key),
                plain(value),
                text(unit(key)),
                text(&step.caveats.join(";")),
            ]
        })
    });
    table(["session", "step", "kind", "role", "key", "value", "unit", "caveats"], rows)
}

fn series(sessions: &[(usize, &Session)]) -> String {
    let all = all_steps(sessions).flat_map(|(index, step)| {
        step.series.iter().map(move |(name, series)| (index, step, name, series))
    });
    let rows = all.flat_map(|(index, step, name, series)| {
        series.x.iter().zip(&series.y).map(move |(x, y)| {
            [
                plain(index),
                text(&step.id),
                text(name),
                plain(x),
                text(&series.x_unit),
                optional(*y),
                text(&series.y_unit),
            ]
        })
    });
    table(["session", "step", "series", "x", "x_unit", "y", "y_unit"], rows)
}

fn all_steps<'a>(sessions: &[(usize, &'a Session)]) -> impl Iterator<Item = (usize, &'a Step)> {
    let steps = |&(index, session): &(usize, &'a Session)| {
        session.steps.iter().map(move |step| (index, step))
    };
    sessions.iter().flat_map(steps)
}

/// The ids on the figure and on its session, each once.
pub(crate) fn caveat_ids<'a>(session: &'a Session, own: &'a [String]) -> Vec<&'a str> {
    let others = session.caveats.iter().filter(|id| !own.contains(id));
    own.iter().chain(others).map(String::as_str).collect()
}

/// The unit that a key of the form `what_unit_qualifier` names; empty if none.
fn unit(key: &str) -> &'static str {
    let known = |name: &str| UNITS.iter().find(|(part, _)| *part == name).map(|(_, unit)| *unit);
    let parts: Vec<&str> = key.split('_').collect();
    // Longest first: `a_s_per_gb` is no time, `a_request_s` neither.
    for length in (1..=3.min(parts.len())).rev() {
        if let Some(unit) = parts.windows(length).rev().find_map(|part| known(&part.join("-"))) {
            return unit;
        }
    }
    ""
}

/// A text cell; text that a spreadsheet would take for a formula gets an apostrophe before it.
fn text(text: &str) -> String {
    let text = visible(text);
    if text.starts_with(FORMULA) { format!("'{text}") } else { text.into_owned() }
}

/// A number cell.
fn plain(number: impl Display) -> String {
    number.to_string()
}

/// A number cell, empty without a number.
fn optional(number: Option<f64>) -> String {
    number.map_or_else(String::new, plain)
}

/// A table as text.
fn table<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: impl Iterator<Item = [String; COLUMNS]>,
) -> String {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let written = "a vector takes everything, and every row has every column";
    writer.write_record(header).expect(written);
    for row in rows {
        writer.write_record(&row).expect(written);
    }
    let bytes = writer.into_inner().expect("a vector takes everything");
    String::from_utf8(bytes).expect("cells are text")
}
