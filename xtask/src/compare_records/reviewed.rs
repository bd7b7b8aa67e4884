//! The table of intended differences.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::difference::{Difference, differences, join};

const TABLE: &str = include_str!("reviewed.toml");

/// What is meant to be different from the records of one commit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reviewed {
    /// That commit.
    pub(super) base: String,
    pub(super) rows: Vec<Row>,
}

/// A difference that is meant.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    /// Names of cases; all if there are none.
    #[serde(default)]
    cases: Vec<String>,
    /// A place in the base's record: `*` is one key or index, `**` any number of them.
    at: String,
    /// `None` where something is new.
    before: Option<Value>,
    /// `None` where something is gone.
    now: Option<Value>,
    /// Whether a key is renamed, not a value changed.
    #[serde(default)]
    is_key: bool,
    /// The reason; for readers of the table.
    why: String,
}

/// What is left of the differences of two records.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Judged {
    /// Those that no row means.
    pub(super) unmeant: Vec<Difference>,
    /// The rows, by their places in the table, that mean some.
    pub(super) used: BTreeSet<usize>,
}

impl Reviewed {
    pub(super) fn table() -> Result<Self> {
        Self::read(TABLE)
    }

    fn read(text: &str) -> Result<Self> {
        toml::from_str(text).context("read reviewed.toml")
    }

    /// Judges the differences of two records of a case.
    pub(super) fn judge(&self, case: &str, before: &Value, now: &Value) -> Judged {
        let mut rows = Rows { of: self, case, used: BTreeSet::new() };
        let meant = rows.apply("", before);
        let mut unmeant = differences(&meant, now);
        unmeant.retain(|difference| !rows.is_new(difference));
        Judged { unmeant, used: rows.used }
    }

    /// The rows of these places, as a reader finds them.
    pub(super) fn describe(&self, places: impl Iterator<Item = usize>) -> Vec<String> {
        let row = |place: usize| format!("{} ({})", self.rows[place].at, self.rows[place].why);
        places.map(row).collect()
    }
}

/// The table, applied to a record of a case.
struct Rows<'a> {
    of: &'a Reviewed,
    case: &'a str,
    used: BTreeSet<usize>,
}

impl<'a> Rows<'a> {
    /// The value of the base as it is meant to be now.
    fn apply(&mut self, at: &str, value: &Value) -> Value {
        let is_changed = |row: &Row| !row.is_key && row.before.as_ref() == Some(value);
        let changed = self.find(at, |row| is_changed(row) && row.now.is_some());
        if let Some(now) = changed.and_then(|row| row.now.clone()) {
            return now;
        }
        match value {
            Value::Object(members) => {
                let mut meant = Map::new();
                for (key, value) in members {
                    let at = join(at, key);
                    let name = Value::from(key.as_str());
                    let is_renamed = |row: &Row| row.is_key && row.before.as_ref() == Some(&name);
                    let new = self.find(&at, is_renamed).and_then(|row| row.now.clone());
                    let new = new.as_ref().and_then(Value::as_str).unwrap_or(key).to_owned();
                    let is_gone = |row: &Row| {
                        !row.is_key && row.now.is_none() && row.before.as_ref() == Some(value)
                    };
                    if self.find(&at, is_gone).is_none() {
                        meant.insert(new, self.apply(&at, value));
                    }
                }
                Value::Object(meant)
            }
            Value::Array(items) => {
                let item = |(index, item)| self.apply(&join(at, &format!("{index}")), item);
                Value::Array(items.iter().enumerate().map(item).collect())
            }
            value => value.clone(),
        }
    }

    /// Whether it is something new that is meant to be there.
    fn is_new(&mut self, difference: &Difference) -> bool {
        difference.before.is_none()
            && self
                .find(&difference.at, |row| row.before.is_none() && row.now == difference.now)
                .is_some()
    }

    fn find(&mut self, at: &str, wanted: impl Fn(&Row) -> bool) -> Option<&'a Row> {
        let place = self.of.rows.iter().position(|row| {
            let is_of_case = row.cases.is_empty() || row.cases.iter().any(|it| it == self.case);
            is_of_case && wanted(row) && matches(&row.at, at)
        })?;
        self.used.insert(place);
        self.of.rows.get(place)
    }
}

/// Whether a pattern means a place.
fn matches(pattern: &str, at: &str) -> bool {
    fn all(pattern: &[&str], at: &[&str]) -> bool {
        match (pattern, at) {
            ([], []) => true,
            (["**", rest @ ..], at) => (0..=at.len()).any(|skipped| all(rest, &at[skipped..])),
            ([first, rest @ ..], [key, below @ ..]) => {
                (*first == "*" || first == key) && all(rest, below)
            }
            _ => false,
        }
    }
    let (pattern, at): (Vec<&str>, Vec<&str>) =
        (pattern.split('/').collect(), at.split('/').collect());
    all(&pattern, &at)
}

#[cfg(test)]
mod tests;
