//! Profiles as text.

use std::fmt::Write as _;

use toml::Value;
use trimbench_core::settings::{FromSettings as _, Unit};

use super::{Profile, ProfileValue};
use crate::config::SsdConfig;

impl Profile {
    /// The text of a profile with these values, which have sources of their own: none of them is
    /// [`Origin::Set`](super::Origin::Set). [`Profile::parse`] reads it.
    pub fn text_of(name: &str, summary: &str, values: &[ProfileValue]) -> String {
        let quoted = |text: &str| Value::String(text.to_owned()).to_string();
        let table_of = |key: &'static str| key.split_once('.').expect("keys have a table").0;
        let mut rows = SsdConfig::rows();
        // Those of a table together, the tables in the order in which they come first.
        let tables: Vec<&str> = rows.iter().map(|row| table_of(row.key)).collect();
        rows.sort_by_key(|row| tables.iter().position(|table| *table == table_of(row.key)));
        let mut text = format!("name = {}\nsummary = {}\n", quoted(name), quoted(summary));
        let mut table = "";
        for row in &rows {
            let Some(value) = values.iter().find(|value| value.key == row.key) else { continue };
            let (of, key) = row.key.split_once('.').expect("keys have a table");
            if of != table {
                table = of;
                let _ = write!(text, "\n[{table}]\n");
            }
            let is_plain = matches!(row.unit, Unit::Number | Unit::Flag)
                || (row.unit == Unit::Word && value.value.starts_with('{'));
            let written = if is_plain { value.value.clone() } else { quoted(&value.value) };
            let (origin, source) = (value.origin.id(), quoted(&value.source));
            let _ = writeln!(text, "{key} = {{ value = {written}, {origin} = {source} }}");
        }
        text
    }
}
