//! JSON and TOML documents as trees, so that mutations pass the parser and reach the code behind
//! it.
//!
//! Unlike the trees of the parsers, these may hold a key twice and words that are no value.

use std::fmt::Write as _;

use trimbench_core::rng::Rng;

use super::mutate::{below, number, pick, text};

/// The longest document that is made, roughly.
const LONGEST: usize = 1 << 15;
/// Words in the place of a value: numbers at the edges of what fits where, and what is no value in
/// JSON, in TOML, or in both.
const WORDS: [&str; 32] = [
    "0",
    "-0",
    "-0.0",
    "1",
    "-1",
    "3",
    "65537",
    "4294967296",
    "9007199254740993",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1.7976931348623157e308",
    "1e309",
    "1e-320",
    "5e-324",
    "0.1",
    "1E+2",
    "99999999999999999999999999999999999999999",
    "nan",
    "NaN",
    "-inf",
    "Infinity",
    "true",
    "false",
    "null",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "1979-05-27T07:32:00Z",
    "",
];
/// How deep what is nested is at most. Parsers refuse from about a hundred on.
const DEPTH_MAX: u64 = 200;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// Written as it is: a number, a boolean, or what is no value at all.
    Word(String),
    Text(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl From<serde_json::Value> for Node {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value;
        match value {
            Value::String(text) => Self::Text(text),
            Value::Array(list) => Self::List(list.into_iter().map(Self::from).collect()),
            Value::Object(map) => {
                Self::Table(map.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
            word => Self::Word(word.to_string()),
        }
    }
}

impl From<toml::Value> for Node {
    fn from(value: toml::Value) -> Self {
        use toml::Value;
        match value {
            Value::String(text) => Self::Text(text),
            Value::Array(list) => Self::List(list.into_iter().map(Self::from).collect()),
            Value::Table(map) => {
                Self::Table(map.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
            word => Self::Word(word.to_string()),
        }
    }
}

impl Node {
    /// The document with one to four damages; half have one.
    pub(super) fn damaged(&self, corpus: &[Self], rng: &mut Rng) -> Self {
        let mut tree = self.clone();
        let more = if rng.below(2) == 0 { 0 } else { 1 + rng.below(3) };
        for _ in 0..=more {
            tree.damage(corpus, rng);
        }
        tree
    }

    fn damage(&mut self, corpus: &[Self], rng: &mut Rng) {
        let count = self.containers();
        if count == 0 {
            *self = pick(corpus, rng).clone();
            return;
        }
        let at = below(rng, count);
        if rng.below(8) == 0 {
            // Whatever stands in one place, in another.
            let other = pick(corpus, rng).clone();
            let (mut from, mut place) = (below(rng, other.containers().max(1)), at);
            if let Some(other) = other.container(&mut from).cloned()
                && let Some(node) = self.container_mut(&mut place)
            {
                node.exchange(other, rng);
            }
            return;
        }
        let mut place = at;
        if let Some(node) = self.container_mut(&mut place) {
            node.damage_child(rng);
        }
    }

    /// Lists and tables that hold something.
    fn containers(&self) -> usize {
        let own = usize::from(!self.children().is_empty());
        own + self.children().iter().map(|child| child.containers()).sum::<usize>()
    }

    /// The one that `at` others come before.
    fn container(&self, at: &mut usize) -> Option<&Self> {
        let children = self.children();
        if children.is_empty() {
            return None;
        }
        if *at == 0 {
            return Some(self);
        }
        *at -= 1;
        children.into_iter().find_map(|child| child.container(at))
    }

    fn container_mut(&mut self, at: &mut usize) -> Option<&mut Self> {
        if self.children().is_empty() {
            return None;
        }
        if *at == 0 {
            return Some(self);
        }
        *at -= 1;
        self.children_mut().into_iter().find_map(|child| child.container_mut(at))
    }

    fn children(&self) -> Vec<&Self> {
        match self {
            Self::List(list) => list.iter().collect(),
            Self::Table(table) => table.iter().map(|(_, value)| value).collect(),
            Self::Word(_) | Self::Text(_) => Vec::new(),
        }
    }

    fn children_mut(&mut self) -> Vec<&mut Self> {
        match self {
            Self::List(list) => list.iter_mut().collect(),
            Self::Table(table) => table.iter_mut().map(|(_, value)| value).collect(),
            Self::Word(_) | Self::Text(_) => Vec::new(),
        }
    }

    /// Puts a child of `other` in the place of one of this.
    fn exchange(&mut self, other: Self, rng: &mut Rng) {
        let mut others = match other {
            Self::List(list) => list,
            Self::Table(table) => table.into_iter().map(|(_, value)| value).collect(),
            Self::Word(_) | Self::Text(_) => return,
        };
        let other = others.swap_remove(below(rng, others.len()));
        let mut children = self.children_mut();
        let at = below(rng, children.len());
        *children[at] = other;
    }

    /// Does something to one of the children; there is one.
    fn damage_child(&mut self, rng: &mut Rng) {
        let length = self.children().len();
        let (at, to) = (below(rng, length), below(rng, length));
        match (rng.below(16), &mut *self) {
            (0 | 1, Self::List(list)) => drop(list.remove(at)),
            (0 | 1, Self::Table(table)) => drop(table.remove(at)),
            (2, Self::List(list)) => list.insert(to, list[at].clone()),
            (2, Self::Table(table)) => table.insert(to, table[at].clone()),
            (3, Self::List(list)) => list.swap(at, to),
            (3, Self::Table(table)) => {
                let moved = table[at].0.clone();
                table[at].0 = std::mem::replace(&mut table[to].0, moved);
            }
            (4, Self::Table(table)) => text(&mut table[at].0, &["value", "x", ""], rng),
            (5, Self::List(list)) => {
                let room = LONGEST / (list[at].weight() + 1);
                let again = std::iter::repeat_n(list[at].clone(), below(rng, room.max(1)));
                list.splice(to..to, again.collect::<Vec<_>>());
            }
            (6, _) => self.children_mut()[at].nest(rng),
            _ => self.children_mut()[at].become_another(rng),
        }
    }

    /// Another value of the same kind, or of another one.
    fn become_another(&mut self, rng: &mut Rng) {
        match (rng.below(8), &mut *self) {
            (0..=6, Self::Text(value)) => text(value, &["", "null", "0", "vendor2"], rng),
            (0..=2, Self::Word(word)) => {
                let mut bytes = std::mem::take(word).into_bytes();
                number(&mut bytes, 0, rng);
                *word = String::from_utf8_lossy(&bytes).into_owned();
            }
            (7, _) => {
                *self = match rng.below(4) {
                    0 => Self::List(Vec::new()),
                    1 => Self::Table(Vec::new()),
                    _ => Self::Text(String::new()),
                };
            }
            _ => *self = Self::Word((*pick(&WORDS, rng)).to_owned()),
        }
    }

    /// Puts it deep into lists or tables.
    fn nest(&mut self, rng: &mut Rng) {
        let table = rng.below(2) == 0;
        for _ in 0..=rng.below(DEPTH_MAX) {
            let inner = std::mem::replace(self, Self::Word(String::new()));
            *self = if table {
                Self::Table(vec![("value".to_owned(), inner)])
            } else {
                Self::List(vec![inner])
            };
        }
    }

    /// How long it is when it is written, roughly.
    fn weight(&self) -> usize {
        let own = match self {
            Self::Word(text) | Self::Text(text) => text.len(),
            Self::List(_) => 0,
            Self::Table(table) => table.iter().map(|(key, _)| key.len() + 3).sum(),
        };
        own + 2 + self.children().iter().map(|child| child.weight()).sum::<usize>()
    }

    /// As JSON, unless a word in it is none.
    pub(super) fn json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    fn write_json(&self, out: &mut String) {
        match self {
            Self::Word(word) => out.push_str(word),
            Self::Text(text) => quote(text, out),
            Self::List(list) => {
                out.push('[');
                for (index, value) in list.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    value.write_json(out);
                }
                out.push(']');
            }
            Self::Table(table) => {
                out.push('{');
                for (index, (key, value)) in table.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    quote(key, out);
                    out.push(':');
                    value.write_json(out);
                }
                out.push('}');
            }
        }
    }

    /// As TOML, unless a word in it is none; tables with headers of their own, or `inline`.
    pub(super) fn toml(&self, inline: bool) -> String {
        let Self::Table(table) = self else { return self.json() };
        let has_header = |value: &Self| matches!(value, Self::Table(_)) && !inline;
        let mut out = String::new();
        for (key, value) in table.iter().filter(|(_, value)| !has_header(value)) {
            write_pair(key, value, "\n", &mut out);
        }
        for (key, value) in table {
            let Self::Table(inner) = value else { continue };
            if !inline {
                let _ = writeln!(out, "[{}]", bare(key));
                for (key, value) in inner {
                    write_pair(key, value, "\n", &mut out);
                }
            }
        }
        out
    }

    fn write_toml(&self, out: &mut String) {
        match self {
            Self::Word(word) => out.push_str(word),
            Self::Text(text) => quote(text, out),
            Self::List(list) => {
                out.push('[');
                for value in list {
                    value.write_toml(out);
                    out.push(',');
                }
                out.push(']');
            }
            Self::Table(table) => {
                out.push('{');
                for (index, (key, value)) in table.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    write_pair(key, value, "", out);
                }
                out.push('}');
            }
        }
    }
}

fn write_pair(key: &str, value: &Node, end: &str, out: &mut String) {
    out.push_str(&bare(key));
    out.push_str(" = ");
    value.write_toml(out);
    out.push_str(end);
}

/// The key without quotes where it needs none.
fn bare(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut out = String::new();
    if !key.is_empty() && key.chars().all(is_bare) {
        out.push_str(key);
    } else {
        quote(key, &mut out);
    }
    out
}

/// A text in quotes, which JSON and TOML write alike.
fn quote(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).expect("a text has a JSON form"));
}
