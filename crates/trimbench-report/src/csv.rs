//! A record as tables in CSV (RFC 4180): lines end in CR LF, fields with commas, quotes or line
//! breaks are quoted. Numbers in full, so that they read back to the same bits.
//!
//! `session` is the index in the record, from 0; it joins the tables.
//!
//! A text that a spreadsheet would take for a formula gets an apostrophe before it, which the
//! spreadsheet takes for "this is text". Numbers stay as they are, negative ones too.

use std::borrow::Cow;

use ::csv::{Terminator, Writer, WriterBuilder};
use trimbench_results::{RunRecord, Session, Step};

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

/// The record's tables: file names and contents.
pub fn csv(record: &RunRecord) -> Vec<(&'static str, String)> {
    vec![
        ("figures.csv", figures(record)),
        ("steps.csv", steps(record)),
        ("series.csv", series(record)),
    ]
}

fn figures(record: &RunRecord) -> String {
    let mut table = Table::new([
        "session", "method", "target", "preset", "clock", "finished", "figure", "title", "value",
        "unit", "low", "high", "level", "n", "headline", "verdict", "caveats",
    ]);
    for (index, session) in record.sessions.iter().enumerate() {
        for figure in &session.figures {
            table.row(&[
                index.into(),
                session.plan.method.as_str().into(),
                session.plan.target.as_str().into(),
                session.plan.preset.as_str().into(),
                session.target.clock.as_str().into(),
                session.finished.into(),
                figure.id.as_str().into(),
                figure.title.as_str().into(),
                figure.value.into(),
                figure.unit.as_str().into(),
                figure.interval.map(|interval| interval.low).into(),
                figure.interval.map(|interval| interval.high).into(),
                figure.interval.map(|interval| interval.level).into(),
                figure.n.into(),
                figure.headline.into(),
                figure.verdict.as_deref().unwrap_or_default().into(),
                caveat_ids(session, &figure.caveats).join(";").into(),
            ]);
        }
    }
    table.finish()
}

/// What was set and what was measured, a line each.
fn steps(record: &RunRecord) -> String {
    let mut table =
        Table::new(["session", "step", "kind", "role", "key", "value", "unit", "caveats"]);
    for (index, step) in all_steps(record) {
        let set = step.parameters.iter().map(|entry| ("parameter", entry));
        let measured = step.metrics.iter().map(|entry| ("metric", entry));
        for (role, (key, value)) in set.chain(measured) {
            table.row(&[
                index.into(),
                step.id.as_str().into(),
                step.kind.as_str().into(),
                role.into(),
                key.as_str().into(),
                (*value).into(),
                unit(key).into(),
                step.caveats.join(";").into(),
            ]);
        }
    }
    table.finish()
}

fn series(record: &RunRecord) -> String {
    let mut table = Table::new(["session", "step", "series", "x", "x_unit", "y", "y_unit"]);
    for (index, step) in all_steps(record) {
        for (name, series) in &step.series {
            for (x, y) in series.x.iter().zip(&series.y) {
                table.row(&[
                    index.into(),
                    step.id.as_str().into(),
                    name.as_str().into(),
                    (*x).into(),
                    series.x_unit.as_str().into(),
                    (*y).into(),
                    series.y_unit.as_str().into(),
                ]);
            }
        }
    }
    table.finish()
}

fn all_steps(record: &RunRecord) -> impl Iterator<Item = (usize, &Step)> {
    let sessions = record.sessions.iter().enumerate();
    sessions.flat_map(|(index, session)| session.steps.iter().map(move |step| (index, step)))
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

/// A table under construction.
struct Table {
    writer: Writer<Vec<u8>>,
}

/// One cell, as it is written.
struct Cell<'a>(Cow<'a, str>);

impl Table {
    fn new<const COLUMNS: usize>(header: [&'static str; COLUMNS]) -> Self {
        let writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
        let mut table = Self { writer };
        table.row(&header.map(Cell::from));
        table
    }

    fn row<const COLUMNS: usize>(&mut self, cells: &[Cell<'_>; COLUMNS]) {
        let written = self.writer.write_record(cells.iter().map(|cell| cell.0.as_bytes()));
        written.expect("a vector takes everything, and every row has every column");
    }

    fn finish(self) -> String {
        let bytes = self.writer.into_inner().expect("a vector takes everything");
        String::from_utf8(bytes).expect("cells are text")
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    /// A text, with an apostrophe where a spreadsheet would calculate.
    fn from(text: &'a str) -> Self {
        let calculates = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
        Self(if calculates { format!("'{text}").into() } else { text.into() })
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self(Cell::from(text.as_str()).0.into_owned().into())
    }
}

impl From<Option<f64>> for Cell<'_> {
    fn from(number: Option<f64>) -> Self {
        Self(number.map_or_else(String::new, |number| number.to_string()).into())
    }
}

macro_rules! plain {
    ($($kind:ty),*) => {
        $(impl From<$kind> for Cell<'_> {
            fn from(value: $kind) -> Self {
                Self(value.to_string().into())
            }
        })*
    };
}

plain!(f64, u64, usize, bool);
