//! Damages of the tree that a JSON or TOML document is, so that most get past the parser and reach
//! the code behind it.

use serde_json::{Map, Value, json};

use crate::damage;
use crate::harness::Draw;

/// Words in the place of a value, separated by blanks: numbers at the edges of what fits where, and
/// what is no value in JSON, in TOML, or in both; and none.
const WORDS: &str = "0 -0 -0.0 1 -1 3 65537 4294967296 9007199254740993 -9223372036854775808 \
     9223372036854775808 18446744073709551615 18446744073709551616 1e308 -1.7976931348623157e308 \
     1e309 1e-320 5e-324 0.1 1E+2 99999999999999999999999999999999999999999 nan NaN -inf Infinity \
     true false null \"\\ud800\" \"\\u0000\" 1979-05-27T07:32:00Z ";
/// A text with a number within these stands for the word of that number, until it is written.
const MARKS: [&str; 2] = ["\"@@", "@@\""];
/// How deep what is nested is at most. Parsers refuse from about a hundred on.
const DEPTH_MAX: usize = 200;
/// How often something is repeated at most.
const REPEATS: usize = 500;

/// A document of the corpus with one to four damages; half have one.
pub(crate) fn damaged(corpus: &[Value], draw: &mut dyn Draw) -> Value {
    let mut document = draw.pick(corpus).clone();
    let more = if draw.one_in(2) { 1 + draw.below(3) } else { 0 };
    for _ in 0..=more {
        damage(&mut document, corpus, draw);
    }
    document
}

/// As JSON, unless a word in it is none.
pub(crate) fn to_json(document: &Value) -> String {
    with_words(&document.to_string())
}

/// As TOML, unless a word in it is none.
pub(crate) fn to_toml(document: &Value) -> String {
    with_words(&toml::to_string(document).unwrap_or_else(|_| document.to_string()))
}

fn with_words(text: &str) -> String {
    let words: Vec<&str> = WORDS.split(' ').collect();
    let mut parts = text.split(MARKS[0]);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (index, rest) = part.split_once(MARKS[1]).unwrap_or(("0", part));
        out += index.parse().ok().and_then(|index: usize| words.get(index)).unwrap_or(&"");
        out += rest;
    }
    out
}

fn damage(document: &mut Value, corpus: &[Value], draw: &mut dyn Draw) {
    let mut at = draw.below(count(document));
    let node = find(document, &mut at).expect("it is one of those that were counted");
    match (draw.below(12), &mut *node) {
        (0, _) => {
            // Whatever stands in one place, in another.
            let mut other = draw.pick(corpus).clone();
            let mut from = draw.below(count(&other));
            *node = find(&mut other, &mut from).expect("it is one of those").take();
        }
        (1, _) => {
            let is_table = draw.one_in(2);
            for _ in 0..=draw.below(DEPTH_MAX) {
                let inner = node.take();
                *node = if is_table { json!({ "value": inner }) } else { json!([inner]) };
            }
        }
        (2, _) => *node = draw.pick(&[json!([]), json!({}), json!("")]).clone(),
        (_, Value::Array(list)) if !list.is_empty() => damage_list(list, draw),
        (_, Value::Object(table)) if !table.is_empty() => damage_table(table, draw),
        (3..=9, Value::String(text)) => damage::text(text, &["", "null", "0", "vendor2"], draw),
        (3..=7, Value::Number(number)) => {
            let mut bytes = number.to_string().into_bytes();
            damage::number(&mut bytes, 0, draw);
            *node = serde_json::from_slice(&bytes).unwrap_or(json!(-1));
        }
        _ => *node = json!(format!("@@{}@@", draw.below(WORDS.split(' ').count()))),
    }
}

fn damage_list(list: &mut Vec<Value>, draw: &mut dyn Draw) {
    let (at, to) = (draw.below(list.len()), draw.below(list.len()));
    match draw.below(4) {
        0 => drop(list.remove(at)),
        1 => list.insert(to, list[at].clone()),
        2 => list.swap(at, to),
        _ => list.splice(to..to, vec![list[at].clone(); draw.below(REPEATS)]).for_each(drop),
    }
}

fn damage_table(table: &mut Map<String, Value>, draw: &mut dyn Draw) {
    let keys: Vec<String> = table.keys().cloned().collect();
    let (mut key, other) = (draw.pick(&keys).clone(), draw.pick(&keys));
    let value = table.remove(&key).expect("it is one of its keys");
    match draw.below(3) {
        0 => {}
        1 => {
            table.insert(key, table.get(other).unwrap_or(&value).clone());
            table.insert(other.clone(), value);
        }
        _ => {
            damage::text(&mut key, &["value", "x", ""], draw);
            table.insert(key, value);
        }
    }
}

/// The values in a value, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(table) => table.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

/// The one that `at` others come before.
fn find<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|it| find(it, at)),
        Value::Object(table) => table.values_mut().find_map(|it| find(it, at)),
        _ => None,
    }
}
