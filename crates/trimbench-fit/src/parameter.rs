//! The values of a profile that a fit looks for, each in a range.
//!
//! A value is searched for as a *coordinate* u, any real number: `ln v = ln low + (ln high - ln
//! low) / (1 + e^-u)`. So no step leaves the range, and a factor counts the same anywhere in it.

use std::str::FromStr;

use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::settings::{FromSettings as _, Unit};
use trimbench_core::units::{narrow, rounded};
use trimbench_core::{Bytes, Nanos, Ppm};
use trimbench_ssd::{ProfileValue, SsdConfig};

/// Coordinates beyond this are at the end of the range to six digits.
const FAR: f64 = 14.0;

/// Key and range of what is fitted where the user names nothing; assumed to hold all drives that
/// are sold.
const USUAL: [(&str, &str, &str); 8] = [
    ("drive.over_provisioning", "3%", "100%"),
    ("nand.read", "5us", "300us"),
    ("nand.program", "100us", "5ms"),
    ("nand.erase", "500us", "20ms"),
    ("host.command", "200ns", "50us"),
    ("host.latency", "1us", "200us"),
    ("trim.command", "1us", "20ms"),
    ("trim.per_gib_mapped", "100us", "1s"),
];

/// A value of a profile that is searched for.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Table and key, as `nand.read`.
    pub key: String,
    unit: Unit,
    /// The ends of the range, in ns, bytes or millionths.
    low: f64,
    high: f64,
}

/// Text that names no parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// No key of a profile.
    #[error("a profile has no `{key}`{meant}")]
    Unknown {
        /// As given.
        key: String,
        /// What was probably meant, as a question.
        meant: String,
    },
    /// A key whose values cannot be searched through.
    #[error("`{key}` is no time, size or ratio: set it in the base, as `NAME,{key}=VALUE`")]
    NotContinuous {
        /// As given.
        key: String,
    },
    /// A key without a usual range.
    #[error("`{key}` needs the range to search in: write `{key}=LOW..HIGH`")]
    NoRange {
        /// As given.
        key: String,
    },
    /// A range that is none.
    #[error("`{text}` is no range of `{key}`: write LOW..HIGH, both above 0, with their unit")]
    Range {
        /// The key.
        key: String,
        /// As given.
        text: String,
    },
}

impl Parameter {
    /// Those that a fit looks for where the user names none.
    pub fn usual() -> Vec<Self> {
        let usual = USUAL.iter().map(|(key, low, high)| Self::new(key, low, high));
        usual.map(|parameter| parameter.expect("checked by a test")).collect()
    }

    fn new(key: &str, low: &str, high: &str) -> Result<Self, ParameterError> {
        let rows = SsdConfig::rows();
        let Some(row) = rows.iter().find(|row| row.key == key) else {
            let meant = did_you_mean(nearest(key, rows.iter().map(|row| row.key)));
            return Err(ParameterError::Unknown { key: key.to_owned(), meant });
        };
        let range =
            || ParameterError::Range { key: key.to_owned(), text: format!("{low}..{high}") };
        if !matches!(row.unit, Unit::Time | Unit::Size | Unit::Ratio) {
            return Err(ParameterError::NotContinuous { key: key.to_owned() });
        }
        let ends = number(row.unit, low).zip(number(row.unit, high));
        let (low, high) = ends.filter(|(low, high)| *low > 0.0 && low < high).ok_or_else(range)?;
        Ok(Self { key: key.to_owned(), unit: row.unit, low, high })
    }

    /// The ends of the range, in ns, bytes or millionths.
    pub fn range(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The value at a coordinate, in ns, bytes or millionths.
    pub fn value(&self, coordinate: f64) -> f64 {
        let share = 1.0 / (1.0 + (-coordinate).exp());
        (self.low.ln() + share * self.width()).exp()
    }

    /// The coordinate of a value; one outside the range counts as its end.
    pub fn coordinate(&self, value: f64) -> f64 {
        coordinate_at((value.max(f64::MIN_POSITIVE).ln() - self.low.ln()) / self.width())
    }

    /// How much `ln v` changes with the coordinate.
    pub fn slope(&self, coordinate: f64) -> f64 {
        let share = 1.0 / (1.0 + (-coordinate).exp());
        share * (1.0 - share) * self.width()
    }

    /// ln of the end of the range over its beginning.
    pub fn width(&self) -> f64 {
        (self.high / self.low).ln()
    }

    /// The value, in ns, bytes or millionths, as a profile has it; rounded to four digits.
    pub fn text(&self, value: f64) -> String {
        let step = 10_f64.powf(value.log10().floor() - 3.0).max(1.0);
        self.exact_text((value / step).round() * step)
    }

    /// The same to the ns, byte or millionth, as the twin is run.
    pub fn exact_text(&self, value: f64) -> String {
        let whole = rounded(value);
        match self.unit {
            Unit::Time => Nanos(whole).to_string(),
            Unit::Size => Bytes(whole).to_string(),
            _ => Ppm(narrow(whole)).to_string(),
        }
    }

    /// What a profile has of it, in ns, bytes or millionths; `None` without it.
    pub fn of(&self, values: &[ProfileValue]) -> Option<f64> {
        let value = values.iter().find(|value| value.key == self.key)?;
        number(self.unit, &value.value)
    }
}

impl FromStr for Parameter {
    type Err = ParameterError;

    /// `KEY`, or `KEY=LOW..HIGH`.
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let Some((key, range)) = text.split_once('=') else {
            let usual = USUAL.iter().find(|(key, ..)| *key == text);
            return match usual {
                Some((key, low, high)) => Self::new(key, low, high),
                // An unknown key first.
                None => Err(match Self::new(text, "1", "2") {
                    Err(
                        error @ (ParameterError::Unknown { .. }
                        | ParameterError::NotContinuous { .. }),
                    ) => error,
                    _ => ParameterError::NoRange { key: text.to_owned() },
                }),
            };
        };
        let (low, high) = range.split_once("..").unwrap_or((range, ""));
        Self::new(key, low.trim(), high.trim())
    }
}

/// The coordinate of the value that lies at this share of its range, by its logarithm; one outside
/// 0 to 1 counts as an end.
pub(crate) fn coordinate_at(share: f64) -> f64 {
    if share <= 0.0 {
        return -FAR;
    }
    if share >= 1.0 { FAR } else { (share / (1.0 - share)).ln().clamp(-FAR, FAR) }
}

/// A value as a number of ns, bytes or millionths.
fn number(unit: Unit, text: &str) -> Option<f64> {
    match unit {
        Unit::Time => text.parse::<Nanos>().ok().map(|it| it.0 as f64),
        Unit::Size => text.parse::<Bytes>().ok().map(|it| it.0 as f64),
        Unit::Ratio => text.parse::<Ppm>().ok().map(|it| f64::from(it.0)),
        Unit::Number | Unit::Flag | Unit::Word => None,
    }
}
