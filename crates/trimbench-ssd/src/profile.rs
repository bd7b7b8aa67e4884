//! Profiles: the numbers of an emulated drive as TOML, each with its source.
//!
//! Every value is written `name = { value = …, sourced = "…" }`, or with `fitted` and to what, or
//! `assumed` and why. The number of each kind is shown with the drive's name, so that nobody
//! mistakes an assumption for a measurement. Unknown keys are errors. The keys are those of the
//! tables in [`SsdConfig`]; `docs/reference/profiles.md` describes them.

use std::ops::Range;

use toml::de::{DeTable, DeValue};
use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::settings::{FromSettings, Setting, SettingError, Unit, Values};

use crate::config::SsdConfig;

mod data_sheet;
mod provenance;
#[cfg(test)]
mod tests;
mod writing;

pub use data_sheet::{Contradiction, DataSheet};
pub use provenance::{Origin, OriginCounts, ProfileValue};

/// A profile that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct ProfileText {
    /// Its name on the command line.
    pub name: &'static str,
    /// The TOML.
    pub text: &'static str,
}

/// The profiles that come with the program, in the order of `trimbench list profiles`. The first
/// four are the default targets of `trimbench run`.
pub const BUILT_IN: &[ProfileText] = &include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// A parsed profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// One line on what the drive stands for.
    pub summary: String,
    /// The id of the one method through which its values were fitted: what others find
    /// extrapolates. `None` where values have sources of their own, or are those of a class.
    pub calibrated_through: Option<String>,
    /// The numbers, with the capacity of the profile.
    pub config: SsdConfig,
    /// Where the numbers come from.
    pub provenance: OriginCounts,
    /// Every value, sorted by key.
    pub values: Vec<ProfileValue>,
    /// What the maker publishes, sorted by key; empty without a data sheet. None of it is a value
    /// of the model.
    pub published: Vec<ProfileValue>,
}

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// Not TOML: the message has line, column and what was expected.
    #[error("the profile is not valid: {0}")]
    Syntax(#[from] toml::de::Error),
    /// An unknown key or a value of the wrong kind.
    #[error("the profile is not valid: line {line}, column {column}: {problem}")]
    Value {
        /// The line, from 1.
        line: usize,
        /// The character of the line, from 1.
        column: usize,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A key is missing.
    #[error("the profile is not valid: {0}")]
    Missing(#[from] SettingError),
    /// A value cannot be that of the drive that its data sheet describes.
    #[error("the profile is not valid: {0}")]
    DataSheet(#[from] Contradiction),
    /// A value does not say where it comes from, or says it twice.
    #[error("`{key}` must say exactly one of `sourced`, `fitted` or `assumed`")]
    Source {
        /// The key of the value.
        key: String,
    },
}

impl Profile {
    /// Reads a profile.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let tree = DeTable::parse(text)?;
        let mut rows = SsdConfig::rows();
        rows.extend(DataSheet::rows());
        let mut reader = Reader { text, rows, values: Vec::new() };
        let (mut name, mut summary, mut calibrated_through) = (None, None, None);
        for (key, value) in tree.get_ref() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("name", DeValue::String(text)) => name = Some(text.to_string()),
                ("summary", DeValue::String(text)) => summary = Some(text.to_string()),
                ("calibrated_through", DeValue::String(text)) => {
                    calibrated_through = Some(text.to_string());
                }
                ("name" | "summary" | "calibrated_through", _) => {
                    return Err(reader.wrong(value.span(), "it must be a text".to_owned()));
                }
                (table, DeValue::Table(entries)) => reader.table(table, key.span(), entries)?,
                (other, _) => return Err(reader.unknown(key.span(), other)),
            }
        }
        let missing = |key| {
            let of = THE_PROFILE.to_owned();
            ProfileError::Missing(SettingError::Missing { of, keys: vec![key] })
        };
        let (name, summary) =
            (name.ok_or_else(|| missing("name"))?, summary.ok_or_else(|| missing("summary"))?);
        reader.values.sort_by(|a, b| a.value.key.cmp(&b.value.key));
        let config: SsdConfig = reader.read()?;
        reader.read::<DataSheet>()?.check(&config)?;
        let values = reader.values.into_iter().map(|placed| placed.value);
        let (published, values): (Vec<_>, Vec<_>) =
            values.partition(|value| is_published(&value.key));
        let provenance = OriginCounts::of(&values);
        Ok(Self { name, summary, calibrated_through, config, provenance, values, published })
    }

    /// The built-in profile of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        let text = BUILT_IN.iter().find(|profile| profile.name == name)?.text;
        Some(Self::parse(text).expect("built-in profiles are tested"))
    }

    /// The same drive with the values of these keys set by the user. Errors call it `of`.
    ///
    /// # Errors
    /// A value is not of its kind, or a table that the profile lacks is not set as a whole.
    pub fn with_values(mut self, of: &str, set: &[(&str, &str)]) -> Result<Self, SettingError> {
        for (key, text) in set {
            let value = ProfileValue {
                key: (*key).to_owned(),
                value: (*text).to_owned(),
                origin: Origin::Set,
                source: "set by the user".to_owned(),
            };
            match self.values.binary_search_by(|known| known.key.as_str().cmp(key)) {
                Ok(at) => self.values[at] = value,
                Err(at) => self.values.insert(at, value),
            }
        }
        self.config = SsdConfig::read(&settings(of, &SsdConfig::rows(), &self.values)?)?;
        self.provenance = OriginCounts::of(&self.values);
        Ok(self)
    }
}

/// Whether it is a key of the data sheet.
fn is_published(key: &str) -> bool {
    key.starts_with("data_sheet.")
}

/// What errors in a profile call it.
const THE_PROFILE: &str = "the profile";

/// The texts of a profile's values.
fn settings<'a>(
    of: &str,
    rows: &[Setting],
    values: impl IntoIterator<Item = &'a ProfileValue>,
) -> Result<Values, SettingError> {
    let mut settings = Values::new("setting", of);
    for value in values {
        settings.set(rows, &value.key, &value.value)?;
    }
    Ok(settings)
}

/// A value, and where in the file it is.
struct PlacedValue {
    value: ProfileValue,
    place: Range<usize>,
}

/// Reads values of a file.
struct Reader<'a> {
    text: &'a str,
    rows: Vec<Setting>,
    values: Vec<PlacedValue>,
}

impl Reader<'_> {
    fn table(
        &mut self,
        table: &str,
        place: Range<usize>,
        entries: &DeTable<'_>,
    ) -> Result<(), ProfileError> {
        if entries.is_empty() {
            return Err(self.wrong(place, format!("the table `{table}` is empty")));
        }
        for (key, entry) in entries {
            let path = format!("{table}.{}", key.get_ref());
            let Some(row) = self.rows.iter().find(|row| row.key == path) else {
                return Err(self.unknown(key.span(), &path));
            };
            let DeValue::Table(fields) = entry.get_ref() else {
                let right = format!("write `{path} = {{ value = ..., assumed = \"...\" }}`");
                return Err(self.wrong(entry.span(), right));
            };
            let value = self.value(row, entry.span(), fields)?;
            self.values.push(value);
        }
        Ok(())
    }

    fn value(
        &self,
        row: &Setting,
        place: Range<usize>,
        fields: &DeTable<'_>,
    ) -> Result<PlacedValue, ProfileError> {
        let (mut value, mut origins) = (None, Vec::new());
        for (name, field) in fields {
            let origin = Origin::FILED.into_iter().find(|origin| origin.id() == name.get_ref());
            match (origin, field.get_ref()) {
                (Some(origin), DeValue::String(source)) => origins.push((origin, source)),
                (None, _) if name.get_ref() == "value" => value = Some(field),
                (Some(_), _) => {
                    return Err(self.wrong(field.span(), "it must be a text".to_owned()));
                }
                (None, _) => {
                    let meant = Origin::FILED.map(Origin::id).into_iter().chain(["value"]);
                    let meant = did_you_mean(nearest(name.get_ref(), meant));
                    let problem = format!("`{}` has no `{}`{meant}", row.key, name.get_ref());
                    return Err(self.wrong(name.span(), problem));
                }
            }
        }
        let lacks = || self.wrong(place, format!("`{}` has no `value`", row.key));
        let value = value.ok_or_else(lacks)?;
        let key = row.key.to_owned();
        let [(origin, source)] = origins[..] else {
            return Err(ProfileError::Source { key });
        };
        if is_published(&key) && origin != Origin::Sourced {
            let problem = format!("`{key}` is published: write `sourced`, and where");
            return Err(self.wrong(value.span(), problem));
        }
        let text = plain(row.unit, value.get_ref()).ok_or_else(|| {
            let kind = match row.unit {
                Unit::Number => "a number",
                Unit::Flag => "true or false",
                Unit::Size | Unit::Time | Unit::Ratio => "a text with a unit",
                Unit::Word => "a text",
            };
            self.wrong(value.span(), format!("`{key}` must be {kind}: {}", row.range))
        })?;
        let place = value.span();
        let value = ProfileValue { key, value: text, origin, source: source.to_string() };
        Ok(PlacedValue { value, place })
    }

    /// The drive that the values make, or its data sheet.
    fn read<T: FromSettings>(&self) -> Result<T, ProfileError> {
        let values = self.values.iter().map(|placed| &placed.value);
        let read = T::read(&settings(THE_PROFILE, &self.rows, values)?);
        read.map_err(|error| match &error {
            SettingError::Value { key, problem, .. } => {
                let placed = self.values.iter().find(|placed| placed.value.key == *key);
                let place = placed.map_or(0..0, |placed| placed.place.clone());
                self.wrong(place, format!("`{key}`: {problem}"))
            }
            _ => error.into(),
        })
    }

    fn unknown(&self, place: Range<usize>, key: &str) -> ProfileError {
        let meant = did_you_mean(nearest(key, self.rows.iter().map(|row| row.key)));
        self.wrong(place, format!("there is no `{key}`{meant}"))
    }

    fn wrong(&self, place: Range<usize>, problem: String) -> ProfileError {
        let before = &self.text[..place.start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        ProfileError::Value { line, column, problem }
    }
}

/// A value as text; `None` if TOML's kind is not the one that the unit is written as.
fn plain(unit: Unit, value: &DeValue<'_>) -> Option<String> {
    match (unit, value) {
        (Unit::Size | Unit::Time | Unit::Ratio, DeValue::String(text)) => Some(text.to_string()),
        // What has a `=` is a table in a profile.
        (Unit::Word, DeValue::String(text)) if !text.contains('=') => Some(text.to_string()),
        (Unit::Flag, DeValue::Boolean(flag)) => Some(flag.to_string()),
        (Unit::Number, DeValue::Integer(_)) => integer(value),
        (Unit::Word, DeValue::Table(table)) => {
            let mut entries = table.iter();
            let (Some((key, value)), None) = (entries.next(), entries.next()) else { return None };
            Some(format!("{{ {} = {} }}", key.get_ref(), integer(value.get_ref())?))
        }
        _ => None,
    }
}

fn integer(value: &DeValue<'_>) -> Option<String> {
    let DeValue::Integer(number) = value else { return None };
    i64::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number.to_string())
}
