//! Compares two JSON documents, place by place.

use std::fmt::{self, Display};

use serde_json::Value;

/// A place at which two documents are not the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    /// Keys and indices from the top, with a slash between.
    pub(super) at: String,
    /// `None` where there was nothing.
    pub(super) before: Option<Value>,
    /// `None` where there is nothing any more.
    pub(super) now: Option<Value>,
}

/// All of them, in the order of the documents.
pub(super) fn differences(before: &Value, now: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", Some(before), Some(now), &mut found);
    found
}

fn compare(at: &str, before: Option<&Value>, now: Option<&Value>, found: &mut Vec<Difference>) {
    let below = |key: &str| join(at, key);
    match (before, now) {
        (Some(Value::Object(before)), Some(Value::Object(now))) => {
            for (key, value) in before {
                compare(&below(key), Some(value), now.get(key), found);
            }
            for (key, value) in now.iter().filter(|(key, _)| !before.contains_key(*key)) {
                compare(&below(key), None, Some(value), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(now))) => {
            for index in 0..before.len().max(now.len()) {
                let at = below(&index.to_string());
                compare(&at, before.get(index), now.get(index), found);
            }
        }
        (before, now) if before == now => {}
        (before, now) => {
            let (before, now) = (before.cloned(), now.cloned());
            found.push(Difference { at: at.to_owned(), before, now });
        }
    }
}

/// The place of `key` below the place `at`.
pub(super) fn join(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}/{key}") }
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| {
            value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string)
        };
        write!(f, "{}: {} -> {}", self.at, shown(&self.before), shown(&self.now))
    }
}
