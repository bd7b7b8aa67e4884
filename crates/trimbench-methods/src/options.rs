//! Options of a method as keys and texts with units, resolved from a preset and what the user set.

use std::collections::BTreeMap;
use std::str::FromStr;

use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::{Bytes, Nanos, Ppm};

use crate::method::Preset;

#[cfg(test)]
mod tests;

/// One option of a method.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// Its key, kebab-case.
    pub key: &'static str,
    /// What it sets, with unit and range.
    pub meaning: &'static str,
    /// Its values in the presets quick, standard and published.
    pub presets: [&'static str; 3],
}

/// The parameters of a method: a value for each row of its table.
pub trait Parameters: Sized {
    /// Stable id of the method.
    const ID: &'static str;

    /// Its table.
    const OPTIONS: &'static [OptionInfo];

    /// The parameters that these values are.
    fn read(values: Values) -> Result<Self, OptionError>;

    /// The parameters of a preset, with the user's settings on top.
    fn resolve(preset: Preset, set: &BTreeMap<String, String>) -> Result<Self, OptionError> {
        Self::read(Values::resolve(Self::ID, Self::OPTIONS, preset as usize, set)?)
    }
}

/// A row of a method's table: the key, its values in the presets, and what it sets.
pub(crate) const fn option(
    key: &'static str,
    presets: [&'static str; 3],
    meaning: &'static str,
) -> OptionInfo {
    OptionInfo { key, meaning, presets }
}

/// An option that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// No such key: the nearest is given where there is one.
    #[error("`{method}` has no option `{key}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownKey {
        /// The method.
        method: &'static str,
        /// As given.
        key: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// The value is not of the option's kind or out of its range.
    #[error("option `{key}`: {problem}")]
    Value {
        /// The option.
        key: &'static str,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

/// The values of all options of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    texts: BTreeMap<&'static str, String>,
}

impl Values {
    /// The preset at `preset` (index into [`OptionInfo::presets`]) with the user's settings on top.
    pub fn resolve(
        method: &'static str,
        infos: &'static [OptionInfo],
        preset: usize,
        set: &BTreeMap<String, String>,
    ) -> Result<Self, OptionError> {
        let mut texts: BTreeMap<&'static str, String> =
            infos.iter().map(|info| (info.key, info.presets[preset].to_owned())).collect();
        for (key, value) in set {
            let Some(info) = infos.iter().find(|info| info.key == key) else {
                let nearest = nearest(key, infos.iter().map(|info| info.key)).map(str::to_owned);
                return Err(OptionError::UnknownKey { method, key: key.clone(), nearest });
            };
            texts.insert(info.key, value.clone());
        }
        Ok(Self { texts })
    }

    /// All keys and texts, for the record.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        self.texts.iter().map(|(key, text)| ((*key).to_owned(), text.clone())).collect()
    }

    /// A value in `[low, high]`.
    pub fn quantity<T>(&self, key: &'static str, low: T, high: T) -> Result<T, OptionError>
    where
        T: FromStr<Err: std::fmt::Display> + PartialOrd + std::fmt::Display + Copy,
    {
        let value = parse::<T>(key, &self.texts[key])?;
        if value < low || value > high {
            let problem = format!("`{value}` is out of range; give {low} to {high}");
            return Err(OptionError::Value { key, problem });
        }
        Ok(value)
    }

    /// A list of sizes; see [`Self::list`].
    pub fn sizes(
        &self,
        key: &'static str,
        low: Bytes,
        high: Bytes,
    ) -> Result<Vec<Bytes>, OptionError> {
        self.list(key, low, high)
    }

    /// A list separated by commas, not empty, each in `[low, high]`.
    pub fn list<T>(&self, key: &'static str, low: T, high: T) -> Result<Vec<T>, OptionError>
    where
        T: FromStr<Err: std::fmt::Display> + PartialOrd + std::fmt::Display + Copy,
    {
        let values: Vec<T> =
            self.texts[key].split(',').map(|text| parse(key, text)).collect::<Result<_, _>>()?;
        match values.iter().find(|value| **value < low || **value > high) {
            None => Ok(values),
            Some(value) => {
                let problem = format!("`{value}` is out of range; give {low} to {high}");
                Err(OptionError::Value { key, problem })
            }
        }
    }

    /// Whether the value is the word `word`, where a word may stand for a quantity (`all`, `auto`).
    pub fn is_word(&self, key: &'static str, word: &str) -> bool {
        self.text(key) == word
    }

    /// The text as it was set, for options with a grammar of their own.
    pub fn text(&self, key: &'static str) -> &str {
        self.texts[key].trim()
    }

    /// One of the named choices.
    pub fn choice<T: Copy>(
        &self,
        key: &'static str,
        choices: &[(&str, T)],
    ) -> Result<T, OptionError> {
        let text = &self.texts[key];
        let found = choices.iter().find(|(name, _)| name == text).map(|(_, choice)| *choice);
        found.ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            let problem = format!("`{text}` is not one of {}", names.join(", "));
            OptionError::Value { key, problem }
        })
    }

    /// A span; see [`Self::quantity`].
    pub fn span(&self, key: &'static str, low: Nanos, high: Nanos) -> Result<Nanos, OptionError> {
        self.quantity(key, low, high)
    }

    /// A share of at most one.
    pub fn share(&self, key: &'static str) -> Result<Ppm, OptionError> {
        self.quantity(key, Ppm(0), Ppm::ONE)
    }
}

fn parse<T: FromStr<Err: std::fmt::Display>>(
    key: &'static str,
    text: &str,
) -> Result<T, OptionError> {
    let text = text.trim();
    text.parse().map_err(|error: T::Err| OptionError::Value { key, problem: error.to_string() })
}
