//! Units as text: parsing with a unit required, printing without rounding.

use std::fmt;
use std::str::FromStr;

use super::{Bytes, Instant, Nanos, Ppm, rounded};
use crate::nearest::did_you_mean;

/// A text that is not a quantity of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// No digits at the front: write a number and a unit.
    #[error("`{text}` does not begin with a number; write for example `{example}`")]
    NoNumber {
        /// The text as given.
        text: String,
        /// A valid text of this kind.
        example: &'static str,
    },
    /// A number without a unit: say which.
    #[error("`{text}` has no unit ({known}); write for example `{text}{usual}`")]
    NoUnit {
        /// The text as given.
        text: String,
        /// The units that are understood.
        known: &'static str,
        /// One of them, for an example.
        usual: &'static str,
    },
    /// A bare `K`, `M`, `G`, `T` or `P`, which some read as a power of 1000 and others of 1024.
    #[error(
        "`{number}{unit}` could be {number}{unit}B (powers of 1000) or {number}{unit}iB (powers of \
         1024); write which"
    )]
    Ambiguous {
        /// The number as given.
        number: String,
        /// The unit as given, in upper case.
        unit: String,
    },
    /// A unit that is not one of the known ones.
    #[error("`{unit}` is not a unit here; use one of {known}{}", did_you_mean(*.meant))]
    UnknownUnit {
        /// The unit as given.
        unit: String,
        /// The unit that differs only in upper and lower case, if one does.
        meant: Option<&'static str>,
        /// The units that are understood.
        known: &'static str,
    },
    /// The quantity does not fit in 64 bits, or is not a whole number of the smallest unit.
    #[error("`{text}` is out of range")]
    OutOfRange {
        /// The text as given.
        text: String,
    },
}

const BYTE_UNITS: [(&str, u64); 11] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
];
const TIME_UNITS: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const RATIO_UNITS: [(&str, u64); 2] = [("%", 10_000), ("ppm", 1)];

/// What a kind of quantity is written like.
struct Grammar {
    units: &'static [(&'static str, u64)],
    known: &'static str,
    example: &'static str,
    /// The unit that a number without one is most likely meant in.
    usual: &'static str,
}

const BYTES: Grammar = Grammar {
    units: &BYTE_UNITS,
    known: "B, KiB, MiB, GiB, TiB, PiB (1024) or KB, MB, GB, TB, PB (1000)",
    example: "128KiB",
    usual: "GiB",
};
const TIME: Grammar =
    Grammar { units: &TIME_UNITS, known: "ns, us, ms, s, min, h", example: "75us", usual: "s" };
const RATIO: Grammar = Grammar { units: &RATIO_UNITS, known: "%, ppm", example: "7%", usual: "%" };

/// `number unit`, the number with an optional decimal fraction, exactly.
fn parse(text: &str, grammar: &Grammar) -> Result<u64, UnitError> {
    let text = text.trim();
    let example = grammar.example;
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(UnitError::NoNumber { text: text.to_owned(), example });
    }
    if unit.is_empty() && number.bytes().all(|digit| digit == b'0') {
        return Ok(0);
    }
    if unit.is_empty() {
        let Grammar { known, usual, .. } = *grammar;
        return Err(UnitError::NoUnit { text: text.to_owned(), known, usual });
    }
    let Some((_, scale)) = grammar.units.iter().find(|(name, _)| *name == unit) else {
        return Err(unknown_unit(number, unit, grammar));
    };
    decimal(number, *scale).ok_or(UnitError::OutOfRange { text: text.to_owned() })
}

/// What is wrong with a unit that is not one of the kind's.
fn unknown_unit(number: &str, unit: &str, grammar: &Grammar) -> UnitError {
    let upper = unit.to_ascii_uppercase();
    let mut names = grammar.units.iter().map(|(name, _)| *name);
    if upper.len() == 1 && names.clone().any(|name| name == format!("{upper}iB")) {
        return UnitError::Ambiguous { number: number.to_owned(), unit: upper };
    }
    let meant = names.find(|name| name.eq_ignore_ascii_case(unit));
    UnitError::UnknownUnit { unit: unit.to_owned(), meant, known: grammar.known }
}

/// `number * scale` if that is a whole number that fits.
fn decimal(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = u32::try_from(fraction.len()).ok()?;
    let tens = 10_u128.checked_pow(digits)?;
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scaled = u128::from(whole.parse::<u64>().ok()?)
        .checked_mul(tens)?
        .checked_add(fraction)?
        .checked_mul(u128::from(scale))?;
    if scaled % tens != 0 {
        return None;
    }
    u64::try_from(scaled / tens).ok()
}

/// `value` with the largest unit of `units` that divides it.
fn exact(value: u64, units: &[(&str, u64)]) -> String {
    let fitting = |(_, scale): &&(&str, u64)| value > 0 && value.is_multiple_of(*scale);
    let (name, scale) = units.iter().rfind(fitting).unwrap_or(&units[0]);
    format!("{}{name}", value / scale)
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse(text, &BYTES).map(Self)
    }
}

impl FromStr for Nanos {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse(text, &TIME).map(Self)
    }
}

impl FromStr for Ppm {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let ppm = parse(text, &RATIO)?;
        u32::try_from(ppm).map(Self).map_err(|_| UnitError::OutOfRange { text: text.to_owned() })
    }
}

impl fmt::Display for Bytes {
    /// No printed size is rounded. Binary units, or decimal ones where they say it exactly and
    /// shorter.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = exact(self.0, &BYTE_UNITS[..6]);
        let decimal = exact(self.0, &BYTE_UNITS[6..]);
        let is_shorter = self.0.is_multiple_of(1_000_000) && decimal.len() < binary.len();
        formatter.pad(if is_shorter { &decimal } else { &binary })
    }
}

impl fmt::Display for Nanos {
    /// The largest unit up to seconds that divides the span.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&exact(self.0, &TIME_UNITS[..4]))
    }
}

impl fmt::Display for Ppm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = f64::from(self.0) / 1e4;
        formatter.pad(&format!("{percent}%"))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.6}s", self.since_start().seconds())
    }
}

impl Nanos {
    /// From seconds as a ratio, rounded to nearest; negative and NaN give zero.
    pub fn from_seconds(seconds: f64) -> Self {
        Self(rounded(seconds * 1e9))
    }
}
