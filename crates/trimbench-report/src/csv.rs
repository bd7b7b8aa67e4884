//! A record as tables in CSV (RFC 4180): lines end in CR LF, fields with commas, quotes or line
//! breaks are quoted. Numbers in full, so that they read back to the same bits.
//!
//! `session` is the index in the record, from 0; it joins the tables.

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
    let mut table = Table::new(&[
        "session", "method", "target", "preset", "clock", "finished", "figure", "title", "value",
        "unit", "low", "high", "level", "n", "headline", "verdict", "caveats",
    ]);
    for (index, session) in record.sessions.iter().enumerate() {
        for figure in &session.figures {
            let end = |end: fn(&trimbench_results::Interval) -> f64| {
                figure.interval.as_ref().map(|interval| end(interval).to_string())
            };
            table.row(&[
                &index.to_string(),
                &session.plan.method,
                &session.plan.target,
                &session.plan.preset,
                &session.target.clock,
                &session.finished.to_string(),
                &figure.id,
                &figure.title,
                &figure.value.to_string(),
                &figure.unit,
                &end(|interval| interval.low).unwrap_or_default(),
                &end(|interval| interval.high).unwrap_or_default(),
                &end(|interval| interval.level).unwrap_or_default(),
                &figure.n.to_string(),
                &figure.headline.to_string(),
                figure.verdict.as_deref().unwrap_or_default(),
                &caveat_ids(session, &figure.caveats).join(";"),
            ]);
        }
    }
    table.text
}

/// What was set and what was measured, a line each.
fn steps(record: &RunRecord) -> String {
    let mut table =
        Table::new(&["session", "step", "kind", "role", "key", "value", "unit", "caveats"]);
    for (index, step) in all_steps(record) {
        let set = step.parameters.iter().map(|entry| ("parameter", entry));
        let measured = step.metrics.iter().map(|entry| ("metric", entry));
        for (role, (key, value)) in set.chain(measured) {
            table.row(&[
                &index.to_string(),
                &step.id,
                &step.kind,
                role,
                key,
                &value.to_string(),
                unit(key),
                &step.caveats.join(";"),
            ]);
        }
    }
    table.text
}

fn series(record: &RunRecord) -> String {
    let mut table = Table::new(&["session", "step", "series", "x", "x_unit", "y", "y_unit"]);
    for (index, step) in all_steps(record) {
        for (name, series) in &step.series {
            for (x, y) in series.x.iter().zip(&series.y) {
                table.row(&[
                    &index.to_string(),
                    &step.id,
                    name,
                    &x.to_string(),
                    &series.x_unit,
                    &y.map(|y| y.to_string()).unwrap_or_default(),
                    &series.y_unit,
                ]);
            }
        }
    }
    table.text
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
    text: String,
}

impl Table {
    fn new(header: &[&str]) -> Self {
        let mut table = Self { text: String::new() };
        table.row(header);
        table
    }

    fn row(&mut self, fields: &[&str]) {
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            if field.contains([',', '"', '\r', '\n']) {
                self.text.push('"');
                self.text.push_str(&field.replace('"', "\"\""));
                self.text.push('"');
            } else {
                self.text.push_str(field);
            }
        }
        self.text.push_str("\r\n");
    }
}
