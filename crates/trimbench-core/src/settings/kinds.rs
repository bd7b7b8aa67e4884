//! Kinds of settings: what a text is written in, which values it may have, and what it means.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::num::IntErrorKind;

use crate::units::UnitError;
use crate::{Bytes, Nanos, Ppm};

/// What a setting's text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes with their unit.
    Size,
    /// A time with its unit.
    Time,
    /// A share in percent or ppm.
    Ratio,
    /// A whole number.
    Number,
    /// `true` or `false`.
    Flag,
    /// Words.
    Word,
}

/// Reads and prints the values of a setting; printed itself, it is the range in words.
pub trait Kind: Display {
    /// What is read.
    type Value;

    /// What texts are written in.
    const UNIT: Unit;

    /// What the text means, or what is wrong with it and what would be right.
    fn read(&self, text: &str) -> Result<Self::Value, String>;

    /// The value where there is no text; `None`: there must be one.
    fn unset(&self) -> Option<Self::Value> {
        None
    }

    /// A text that means the value; `None`: there is none, or it is not set.
    fn show(&self, _: &Self::Value) -> Option<String> {
        None
    }
}

/// A value that has an order and a text.
pub trait Scalar: Copy + PartialOrd + Display {
    /// What its text is written in.
    const UNIT: Unit;

    /// What the text means, or what is wrong with it.
    fn parse(text: &str) -> Result<Self, String>;

    /// It as an end of a range, for people.
    fn bound(self) -> String {
        self.to_string()
    }
}

/// A type with a name for each of its values, in lists, texts and errors.
pub trait Named: Copy + PartialEq + 'static {
    /// All values with their names.
    const NAMES: &'static [(&'static str, Self)];

    /// The value's name.
    fn id(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, value)| *value == self);
        found.expect("every value has a name").0
    }
}

/// A quantity in `[low, high]`.
pub fn within<T: Scalar>(low: T, high: T) -> Within<T> {
    Within { low, high }
}

/// A quantity whose range is checked elsewhere, and stands here in words.
pub fn described<T: Scalar>(range: &'static str) -> Described<T> {
    Described { range, value: PhantomData }
}

/// Whatever `read` makes of a text; `range` says in words what it takes.
pub fn parsed<T>(range: &'static str, read: fn(&str) -> Result<T, String>) -> Parsed<T> {
    Parsed { range, read }
}

/// One of the named values.
pub fn one_of<T: Copy + PartialEq>(names: &'static [(&'static str, T)]) -> OneOf<T> {
    OneOf(names)
}

/// One of the values of a type with names.
pub fn named<T: Named>() -> OneOf<T> {
    OneOf(T::NAMES)
}

/// `yes` or `no`.
pub fn yes_no() -> OneOf<bool> {
    OneOf(&[("yes", true), ("no", false)])
}

/// `true` or `false`.
pub fn true_false() -> Flag {
    Flag
}

/// Any text.
pub fn text() -> Parsed<String> {
    parsed("any text", |text| Ok(text.to_owned()))
}

/// A list separated by commas, not empty.
pub fn list<K: Kind>(item: K) -> List<K> {
    List(item)
}

/// The same in ascending order, each once.
pub fn ascending<K: Kind<Value = Vec<T>>, T: Ord>(kind: K) -> Ascending<K> {
    Ascending(kind)
}

/// What `make` makes of what is read, or why it is wrong all the same.
pub fn mapped<K: Kind, T>(kind: K, make: fn(K::Value) -> Result<T, String>) -> Mapped<K, T> {
    Mapped { kind, make }
}

/// A multiple of `unit`.
pub fn multiple_of<K: Kind<Value = Bytes>>(unit: Bytes, kind: K) -> MultipleOf<K> {
    MultipleOf { unit, kind }
}

/// `None` for the word, else what the other kind reads.
pub fn or_word<K: Kind>(word: &'static str, kind: K) -> OrWord<K> {
    OrWord { word, kind }
}

/// `None` where it is not set.
pub fn optional<K: Kind>(kind: K) -> Optional<K> {
    Optional(kind)
}

/// What is wrong with a value that is out of its range.
pub fn out_of_range<T: Scalar>(value: impl Display, low: T, high: T) -> String {
    format!("`{value}` is out of range; give {}", within(low, high))
}

/// See [`within`].
#[derive(Clone, Copy, Debug)]
pub struct Within<T> {
    low: T,
    high: T,
}

impl<T: Scalar> Display for Within<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} to {}", self.low.bound(), self.high.bound())
    }
}

impl<T: Scalar> Kind for Within<T> {
    type Value = T;
    const UNIT: Unit = T::UNIT;

    fn read(&self, text: &str) -> Result<T, String> {
        let text = text.trim();
        let value = T::parse(text).map_err(|problem| format!("{problem}; give {self}"))?;
        let fits = value >= self.low && value <= self.high;
        fits.then_some(value).ok_or_else(|| out_of_range(text, self.low, self.high))
    }

    fn show(&self, value: &T) -> Option<String> {
        Some(value.to_string())
    }
}

/// See [`described`].
#[derive(Clone, Copy, Debug)]
pub struct Described<T> {
    range: &'static str,
    value: PhantomData<T>,
}

impl<T> Display for Described<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.range)
    }
}

impl<T: Scalar> Kind for Described<T> {
    type Value = T;
    const UNIT: Unit = T::UNIT;

    fn read(&self, text: &str) -> Result<T, String> {
        T::parse(text.trim()).map_err(|problem| format!("{problem}; give {}", self.range))
    }

    fn show(&self, value: &T) -> Option<String> {
        Some(value.to_string())
    }
}

/// See [`parsed`].
#[derive(Clone, Copy, Debug)]
pub struct Parsed<T> {
    range: &'static str,
    read: fn(&str) -> Result<T, String>,
}

impl<T> Display for Parsed<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.range)
    }
}

impl<T> Kind for Parsed<T> {
    type Value = T;
    const UNIT: Unit = Unit::Word;

    fn read(&self, text: &str) -> Result<T, String> {
        (self.read)(text)
    }
}

/// See [`one_of`].
#[derive(Clone, Copy, Debug)]
pub struct OneOf<T: 'static>(&'static [(&'static str, T)]);

impl<T> Display for OneOf<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        for (index, (name, _)) in self.0.iter().enumerate() {
            let gap = match count - index {
                1 => "",
                2 => " or ",
                _ => ", ",
            };
            write!(formatter, "`{name}`{gap}")?;
        }
        Ok(())
    }
}

impl<T: Copy + PartialEq> Kind for OneOf<T> {
    type Value = T;
    const UNIT: Unit = Unit::Word;

    fn read(&self, text: &str) -> Result<T, String> {
        let found = self.0.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|(name, _)| *name).collect();
            format!("`{text}` is not one of {}", names.join(", "))
        })
    }

    fn show(&self, value: &T) -> Option<String> {
        let found = self.0.iter().find(|(_, known)| known == value);
        found.map(|(name, _)| (*name).to_owned())
    }
}

/// See [`true_false`].
#[derive(Clone, Copy, Debug)]
pub struct Flag;

impl Flag {
    const NAMES: OneOf<bool> = OneOf(&[("true", true), ("false", false)]);
}

impl Display for Flag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", Self::NAMES)
    }
}

impl Kind for Flag {
    type Value = bool;
    const UNIT: Unit = Unit::Flag;

    fn read(&self, text: &str) -> Result<bool, String> {
        Self::NAMES.read(text)
    }

    fn show(&self, value: &bool) -> Option<String> {
        Self::NAMES.show(value)
    }
}

/// See [`list`].
#[derive(Clone, Copy, Debug)]
pub struct List<K>(K);

impl<K: Kind> Display for List<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl<K: Kind> Kind for List<K> {
    type Value = Vec<K::Value>;
    const UNIT: Unit = K::UNIT;

    fn read(&self, text: &str) -> Result<Self::Value, String> {
        text.split(',').map(|item| self.0.read(item.trim())).collect()
    }
}

/// See [`ascending`].
#[derive(Clone, Copy, Debug)]
pub struct Ascending<K>(K);

impl<K: Kind> Display for Ascending<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl<K: Kind<Value = Vec<T>>, T: Ord> Kind for Ascending<K> {
    type Value = Vec<T>;
    const UNIT: Unit = K::UNIT;

    fn read(&self, text: &str) -> Result<Vec<T>, String> {
        let mut values = self.0.read(text)?;
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }
}

/// See [`mapped`].
#[derive(Clone, Copy, Debug)]
pub struct Mapped<K: Kind, T> {
    kind: K,
    make: fn(K::Value) -> Result<T, String>,
}

impl<K: Kind, T> Display for Mapped<K, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(formatter)
    }
}

impl<K: Kind, T> Kind for Mapped<K, T> {
    type Value = T;
    const UNIT: Unit = K::UNIT;

    fn read(&self, text: &str) -> Result<T, String> {
        self.kind.read(text).and_then(self.make)
    }
}

/// See [`multiple_of`].
#[derive(Clone, Copy, Debug)]
pub struct MultipleOf<K> {
    unit: Bytes,
    kind: K,
}

impl<K: Kind> Display for MultipleOf<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(formatter)
    }
}

impl<K: Kind<Value = Bytes>> Kind for MultipleOf<K> {
    type Value = Bytes;
    const UNIT: Unit = Unit::Size;

    fn read(&self, text: &str) -> Result<Bytes, String> {
        let value = self.kind.read(text)?;
        let whole = value.0.is_multiple_of(self.unit.0);
        whole
            .then_some(value)
            .ok_or_else(|| format!("`{value}` is not a multiple of {}; give {self}", self.unit))
    }

    fn show(&self, value: &Bytes) -> Option<String> {
        self.kind.show(value)
    }
}

/// See [`or_word`].
#[derive(Clone, Copy, Debug)]
pub struct OrWord<K> {
    word: &'static str,
    kind: K,
}

impl<K: Kind> Display for OrWord<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(formatter)
    }
}

impl<K: Kind> Kind for OrWord<K> {
    type Value = Option<K::Value>;
    const UNIT: Unit = K::UNIT;

    fn read(&self, text: &str) -> Result<Self::Value, String> {
        if text.trim() == self.word {
            return Ok(None);
        }
        let problem = |problem| format!("{problem}, or `{}`", self.word);
        self.kind.read(text).map(Some).map_err(problem)
    }
}

/// See [`optional`].
#[derive(Clone, Copy, Debug)]
pub struct Optional<K>(K);

impl<K: Kind> Display for Optional<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl<K: Kind> Kind for Optional<K> {
    type Value = Option<K::Value>;
    const UNIT: Unit = K::UNIT;

    fn read(&self, text: &str) -> Result<Self::Value, String> {
        self.0.read(text).map(Some)
    }

    fn unset(&self) -> Option<Self::Value> {
        Some(None)
    }

    fn show(&self, value: &Self::Value) -> Option<String> {
        self.0.show(value.as_ref()?)
    }
}

fn unit_problem(error: UnitError) -> String {
    error.to_string()
}

impl Scalar for Bytes {
    const UNIT: Unit = Unit::Size;

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(unit_problem)
    }

    fn bound(self) -> String {
        if self == Self(0) { "0".to_owned() } else { self.to_string() }
    }
}

impl Scalar for Nanos {
    const UNIT: Unit = Unit::Time;

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(unit_problem)
    }

    fn bound(self) -> String {
        let whole = |unit: u64| self.0.is_multiple_of(unit).then_some(self.0 / unit);
        match (self.0, whole(3_600_000_000_000), whole(60_000_000_000)) {
            (0, ..) => "0".to_owned(),
            (_, Some(hours), _) => format!("{hours}h"),
            (_, _, Some(minutes)) => format!("{minutes}min"),
            _ => self.to_string(),
        }
    }
}

impl Scalar for Ppm {
    const UNIT: Unit = Unit::Ratio;

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(unit_problem)
    }

    fn bound(self) -> String {
        if self == Self(0) { "0".to_owned() } else { self.to_string() }
    }
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {
        $(impl Scalar for $type {
            const UNIT: Unit = Unit::Number;

            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
                    IntErrorKind::PosOverflow => format!("`{text}` is too large"),
                    IntErrorKind::NegOverflow => format!("`{text}` is too small"),
                    _ => format!("`{text}` is not a whole number"),
                })
            }
        })+
    };
}

whole_numbers!(i32, u32, u64, usize);
