//! Settings that a user may change, each defined once.
//!
//! [`settings!`](crate::settings!) turns one table into a struct, its parser, and the rows from
//! which lists, documents and errors are made. Methods, trim policies, targets and the profiles of
//! emulated drives all use it. A row has a key, a default, and a [`ValueKind`]: the unit, the
//! range, and how a text is parsed.

use std::collections::BTreeMap;

use crate::BlockSize;
use crate::nearest::{did_you_mean, nearest};
use crate::units::UnitError;

mod kinds;
mod table;
#[cfg(test)]
mod tests;

pub use kinds::{
    Named, Scalar, Unit, ValueKind, ascending, checked, described, list, mapped, multiple_of,
    named, one_of, optional, or_word, out_of_range, parsed, text, true_false, within, yes_no,
};

/// An error about an unknown key lists all known ones where there are at most so many.
const LISTED_MAX: usize = 12;

/// A row of a table of settings.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its key; never changes, for records have it.
    pub key: &'static str,
    /// What holds where it is not set.
    pub unset: IfUnset,
    /// What its text is written in.
    pub unit: Unit,
    /// The values that it may have, in words: `1us to 1h`.
    pub range: String,
    /// What it sets, with its range.
    pub help: String,
}

/// What holds where a setting is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfUnset {
    /// A text; of methods, one for each of [`PRESETS`].
    Preset(PresetTexts),
    /// The text of another setting.
    SameAs(&'static str),
    /// Nothing: there is a value for that, see [`optional`].
    Absent,
    /// It must be set.
    Required,
}

/// A struct that is read from settings; see [`settings!`](crate::settings!).
pub trait FromSettings: Sized {
    /// Its table.
    fn rows() -> Vec<Setting>;

    /// Reads it.
    ///
    /// # Errors
    /// A value is missing, is not of its kind or is out of its range.
    fn read(values: &Values) -> Result<Self, SettingError>;

    /// The keys that are set, with texts that read as the same; without those whose kind cannot be
    /// printed.
    fn shown(&self) -> Vec<(&'static str, String)>;
}

/// The texts of settings, not yet read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    noun: &'static str,
    of: String,
    texts: Vec<(&'static str, String)>,
    preset: usize,
    block_size: BlockSize,
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// There is no such key.
    #[error("{of} has no {noun} `{key}`{}", hint(key, known))]
    UnknownKey {
        /// What is set: an option, a parameter.
        noun: &'static str,
        /// What it belongs to.
        of: String,
        /// As given.
        key: String,
        /// The keys that there are.
        known: Vec<&'static str>,
    },
    /// A key without a value: write `KEY=VALUE`.
    #[error("`{text}` is not a setting; write `KEY=VALUE`")]
    NoValue {
        /// As given.
        text: String,
    },
    /// A key is set twice, or two keys set the same.
    #[error("`{key}` is set twice")]
    SetTwice {
        /// The key.
        key: &'static str,
    },
    /// A value is not of the setting's kind or is out of its range.
    #[error("{noun} `{key}` of {of}: {problem}")]
    Value {
        /// What is set: an option, a parameter.
        noun: &'static str,
        /// What it belongs to.
        of: String,
        /// The key.
        key: &'static str,
        /// What is wrong, and what would be right.
        problem: ValueProblem,
    },
    /// Keys must be set and are not.
    #[error("{of} lacks {}", quoted(keys))]
    Missing {
        /// What they belong to.
        of: String,
        /// The keys.
        keys: Vec<&'static str>,
    },
}

/// What is wrong with the text of a setting, and what would be right. Each parser has words of its
/// own; they end a sentence that names the setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueProblem(pub String);

/// The names of a method's presets, in the order of a setting's texts.
pub const PRESETS: [&str; 3] = ["quick", "standard", "published"];

/// A text for each of [`PRESETS`].
pub type PresetTexts = [&'static str; PRESETS.len()];

/// The text that holds where nothing is set.
pub const fn default_to(text: &'static str) -> IfUnset {
    IfUnset::Preset([text; PRESETS.len()])
}

/// The texts that hold in a method's presets where nothing is set.
pub const fn presets(
    quick: &'static str,
    standard: &'static str,
    published: &'static str,
) -> IfUnset {
    IfUnset::Preset([quick, standard, published])
}

impl Setting {
    /// A row; `{}` in the help is where the range belongs.
    pub fn new<T: 'static>(
        key: &'static str,
        unset: IfUnset,
        kind: ValueKind<T>,
        help: &str,
    ) -> Self {
        let help = help.trim_start().replace("{}", &kind.range);
        Self { key, unset, unit: kind.unit, range: kind.range, help }
    }

    /// Its texts in a method's presets; empty where there are none.
    pub fn presets(&self) -> PresetTexts {
        match self.unset {
            IfUnset::Preset(texts) => texts,
            IfUnset::SameAs(_) | IfUnset::Absent | IfUnset::Required => [""; PRESETS.len()],
        }
    }
}

impl Values {
    /// Nothing is set yet. Errors call a setting `noun`, and what it belongs to `of`.
    pub fn new(noun: &'static str, of: impl Into<String>) -> Self {
        let block_size = BlockSize::SECTOR;
        Self { noun, of: of.into(), texts: Vec::new(), preset: 0, block_size }
    }

    /// The same in the preset of this index: every row that has a text there is set to it.
    #[must_use]
    pub fn in_preset(mut self, rows: &[Setting], preset: usize) -> Self {
        self.preset = preset;
        let text = |row: &Setting| match row.unset {
            IfUnset::Preset(texts) => Some((row.key, texts[preset].to_owned())),
            IfUnset::SameAs(_) | IfUnset::Absent | IfUnset::Required => None,
        };
        self.texts = rows.iter().filter_map(text).collect();
        self
    }

    /// The same for a drive of these logical blocks, in which some settings count.
    #[must_use]
    pub fn in_blocks(self, block_size: BlockSize) -> Self {
        Self { block_size, ..self }
    }

    /// Sets a key, and returns the text that it had.
    ///
    /// # Errors
    /// There is no such row.
    pub fn set(
        &mut self,
        rows: &[Setting],
        key: &str,
        text: &str,
    ) -> Result<Option<String>, SettingError> {
        let Some(row) = rows.iter().find(|row| row.key == key) else {
            let known = rows.iter().map(|row| row.key).collect();
            let (noun, of) = (self.noun, self.of.clone());
            return Err(SettingError::UnknownKey { noun, of, key: key.to_owned(), known });
        };
        let had = self.texts.iter().position(|(known, _)| *known == row.key);
        let text = text.to_owned();
        if let Some(at) = had {
            return Ok(Some(std::mem::replace(&mut self.texts[at].1, text)));
        }
        self.texts.push((row.key, text));
        Ok(None)
    }

    /// Sets what `KEY=VALUE` says, and returns the text that the key had.
    ///
    /// # Errors
    /// There is no such row, or no value.
    pub fn set_part(
        &mut self,
        rows: &[Setting],
        part: &str,
    ) -> Result<Option<String>, SettingError> {
        let (key, text) = part.split_once('=').unwrap_or((part, ""));
        let had = self.set(rows, key, text)?;
        if part.contains('=') {
            Ok(had)
        } else {
            Err(SettingError::NoValue { text: part.to_owned() })
        }
    }

    /// The text of a key that is set.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| *known == key).map(|(_, text)| text.as_str())
    }

    /// All keys that are set, and their texts, in the order in which they were.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.texts.iter().map(|(key, text)| (*key, text.as_str()))
    }

    /// The same by key, for the record.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        self.texts().map(|(key, text)| (key.to_owned(), text.to_owned())).collect()
    }

    /// The logical block of the drive that the settings are for.
    pub fn block_size(&self) -> BlockSize {
        self.block_size
    }

    /// Reads a setting.
    ///
    /// # Errors
    /// It is missing, not of its kind or out of its range.
    pub fn read<T: 'static>(
        &self,
        key: &'static str,
        unset: IfUnset,
        kind: &ValueKind<T>,
    ) -> Result<T, SettingError> {
        let otherwise = match unset {
            IfUnset::Preset(texts) => Some(texts[self.preset]),
            IfUnset::SameAs(other) => self.text(other),
            IfUnset::Absent | IfUnset::Required => None,
        };
        match self.text(key).or(otherwise) {
            Some(text) => kind.read(text).map_err(|problem| self.wrong(key, problem)),
            None => kind.unset().ok_or_else(|| self.missing(vec![key])),
        }
    }

    /// Checks a value against a range that depends on other values.
    ///
    /// # Errors
    /// It is out of the range.
    pub fn check_within<T: Scalar>(
        &self,
        key: &'static str,
        value: T,
        low: T,
        high: T,
    ) -> Result<(), SettingError> {
        let fits = value >= low && value <= high;
        if fits { Ok(()) } else { Err(self.wrong(key, out_of_range(value, low, high))) }
    }

    /// The error that a setting's value is wrong.
    pub fn wrong(&self, key: &'static str, problem: impl Into<ValueProblem>) -> SettingError {
        let (noun, of, problem) = (self.noun, self.of.clone(), problem.into());
        SettingError::Value { noun, of, key, problem }
    }

    fn missing(&self, keys: Vec<&'static str>) -> SettingError {
        SettingError::Missing { of: self.of.clone(), keys }
    }
}

impl From<String> for ValueProblem {
    fn from(problem: String) -> Self {
        Self(problem)
    }
}

impl From<&str> for ValueProblem {
    fn from(problem: &str) -> Self {
        Self(problem.to_owned())
    }
}

impl From<UnitError> for ValueProblem {
    fn from(error: UnitError) -> Self {
        Self(error.to_string())
    }
}

/// A table that may be left out: it is there once one of its keys is set.
impl<T: FromSettings> FromSettings for Option<T> {
    fn rows() -> Vec<Setting> {
        T::rows()
    }

    fn read(values: &Values) -> Result<Self, SettingError> {
        let rows = T::rows();
        let is_set = |row: &Setting| values.text(row.key).is_some();
        if !rows.iter().any(is_set) {
            return Ok(None);
        }
        let lacks = |row: &&Setting| row.unset == IfUnset::Required && !is_set(row);
        let missing: Vec<&str> = rows.iter().filter(lacks).map(|row| row.key).collect();
        if missing.is_empty() { T::read(values).map(Some) } else { Err(values.missing(missing)) }
    }

    fn shown(&self) -> Vec<(&'static str, String)> {
        self.as_ref().map_or_else(Vec::new, T::shown)
    }
}

/// What was probably meant, and what there is.
fn hint(key: &str, known: &[&str]) -> String {
    let meant = did_you_mean(nearest(key, known.iter().copied()));
    match known.len() {
        0 => "; it has none".to_owned(),
        1..=LISTED_MAX => format!("{meant}; it has {}", known.join(", ")),
        _ => meant,
    }
}

fn quoted(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}
