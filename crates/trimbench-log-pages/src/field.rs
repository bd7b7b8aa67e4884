//! Fields of a page: a table entry each, and the one reader that follows them.
//!
//! Numbers are little-endian. Counters of 128 bits, which NVMe has many of, become
//! [`LogValue::Saturated`] beyond 64 bits: no drive gets there, so such a value is a fault of the
//! firmware, and an addition to it must not wrap.

use std::fmt;

use serde::{Serialize, Serializer};

/// A field of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogField {
    /// Its key, in kebab-case with the unit at the end. It never changes.
    pub name: &'static str,
    /// Its first byte, from the start of the page (of an attribute: from the start of its item).
    pub at: usize,
    /// Its bytes: in [1, 16] for numbers, in [1, 64] for text.
    pub width: usize,
    /// How its bytes are read.
    pub kind: FieldKind,
    /// The first version of the page that has it; 0 if all have.
    pub since: u32,
    /// What it says, in the words of its source.
    pub meaning: &'static str,
}

/// How the bytes of a field are read, and whether a difference of two readings says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Only grows: two readings have a difference.
    Counter,
    /// A state, a limit, or bits.
    Gauge,
    /// A state in two's complement.
    SignedGauge,
    /// ASCII, padded with spaces or zeroes.
    Text,
    /// An identifier, as hexadecimal digits with the most significant first.
    Identifier,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogValue {
    /// A number.
    Number(u64),
    /// A number that may be negative.
    Signed(i64),
    /// A number beyond 64 bits: at least 2^64.
    Saturated,
    /// Text or an identifier.
    Text(String),
}

impl LogField {
    /// A number that only grows.
    pub(crate) const fn counter(
        name: &'static str,
        at: usize,
        width: usize,
        meaning: &'static str,
    ) -> Self {
        Self { name, at, width, kind: FieldKind::Counter, since: 0, meaning }
    }

    /// A state, a limit, or bits.
    pub(crate) const fn gauge(
        name: &'static str,
        at: usize,
        width: usize,
        meaning: &'static str,
    ) -> Self {
        Self { kind: FieldKind::Gauge, ..Self::counter(name, at, width, meaning) }
    }

    /// A field of another kind.
    pub(crate) const fn as_kind(self, kind: FieldKind) -> Self {
        Self { kind, ..self }
    }

    /// A field that came with a later version of the page.
    pub(crate) const fn since(self, since: u32) -> Self {
        Self { since, ..self }
    }

    /// Its value; `None` if the bytes end before it.
    pub fn read(&self, bytes: &[u8]) -> Option<LogValue> {
        let bytes = bytes.get(self.at..self.at.checked_add(self.width)?)?;
        Some(match self.kind {
            FieldKind::Counter | FieldKind::Gauge => {
                u64::try_from(unsigned(bytes)).map_or(LogValue::Saturated, LogValue::Number)
            }
            FieldKind::SignedGauge => signed(bytes),
            FieldKind::Text => LogValue::Text(text(bytes)),
            FieldKind::Identifier => {
                let digits = bytes.iter().rev().map(|byte| format!("{byte:02x}"));
                LogValue::Text(digits.collect())
            }
        })
    }
}

impl LogValue {
    /// The number, where it is one that 64 bits hold and that is not negative.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Signed(number) => u64::try_from(*number).ok(),
            Self::Saturated | Self::Text(_) => None,
        }
    }

    /// The number, with its sign.
    pub fn signed(&self) -> Option<i64> {
        match self {
            Self::Number(number) => i64::try_from(*number).ok(),
            Self::Signed(number) => Some(*number),
            Self::Saturated | Self::Text(_) => None,
        }
    }
}

impl fmt::Display for LogValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Signed(number) => number.fmt(formatter),
            Self::Saturated => formatter.write_str("18446744073709551616 or more"),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

/// A saturated number is written as text, so that no reader takes it for the number itself.
impl Serialize for LogValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u64(*number),
            Self::Signed(number) => serializer.serialize_i64(*number),
            Self::Saturated | Self::Text(_) => serializer.collect_str(self),
        }
    }
}

/// A little-endian number. Bytes beyond the 16th count as "too large" if one of them is set.
pub(crate) fn unsigned(bytes: &[u8]) -> u128 {
    let (low, high) = bytes.split_at(bytes.len().min(16));
    if high.iter().any(|&byte| byte != 0) {
        return u128::MAX;
    }
    low.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte))
}

/// A little-endian number of `width` bytes at `at`, at most 8 of them; `None` beyond the end.
pub(crate) fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    u64::try_from(unsigned(bytes.get(at..at.checked_add(width)?)?)).ok()
}

fn signed(bytes: &[u8]) -> LogValue {
    let Ok(number) = u64::try_from(unsigned(bytes)) else { return LogValue::Saturated };
    // Bits above the field: the sign moves to the top and comes back.
    let spare = 64_usize.saturating_sub(bytes.len() * 8);
    LogValue::Signed((number << spare).cast_signed() >> spare)
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let printable = |byte: &u8| {
        let byte = char::from(*byte);
        if byte.is_ascii_graphic() || byte == ' ' { byte } else { '?' }
    };
    bytes[..end].iter().map(printable).collect::<String>().trim().to_owned()
}
