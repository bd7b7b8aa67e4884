//! Kinds of settings: their unit, their range, and how their text is parsed.

use std::fmt::{self, Display};
use std::num::{IntErrorKind, ParseIntError};

use super::ValueProblem;
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

/// How the text of a setting is read and printed.
pub struct ValueKind<T> {
    /// What texts are written in.
    pub unit: Unit,
    /// The values that there are, in words.
    pub range: String,
    read: Read<T>,
    show: Show<T>,
    unset: fn() -> Option<T>,
}

type Read<T> = Box<dyn Fn(&str) -> Result<T, ValueProblem>>;
type Show<T> = Box<dyn Fn(&T) -> Option<String>>;

/// A value that has an order and a text.
pub trait Scalar: Copy + Default + PartialOrd + Display + 'static {
    /// What its text is written in.
    const UNIT: Unit;

    /// What the text means, or what is wrong with it.
    fn parse(text: &str) -> Result<Self, ValueProblem>;

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

    /// The value of this name; `None` if there is none.
    fn of_id(id: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(name, _)| *name == id).map(|(_, value)| *value)
    }
}

impl<T: 'static> ValueKind<T> {
    fn new(
        unit: Unit,
        range: String,
        read: impl Fn(&str) -> Result<T, ValueProblem> + 'static,
    ) -> Self {
        Self { unit, range, read: Box::new(read), show: Box::new(|_| None), unset: || None }
    }

    fn shown(self, show: impl Fn(&T) -> Option<String> + 'static) -> Self {
        Self { show: Box::new(show), ..self }
    }

    /// What the text means, or what is wrong with it and what would be right.
    pub fn read(&self, text: &str) -> Result<T, ValueProblem> {
        (self.read)(text)
    }

    /// A text that means the value; `None`: there is none, or it is not set.
    pub fn show(&self, value: &T) -> Option<String> {
        (self.show)(value)
    }

    /// The value where there is no text; `None`: there must be one.
    pub(super) fn unset(&self) -> Option<T> {
        (self.unset)()
    }
}

impl<T> fmt::Debug for ValueKind<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.unit, self.range)
    }
}

/// A quantity in `[low, high]`.
pub fn within<T: Scalar>(low: T, high: T) -> ValueKind<T> {
    let read = move |text: &str| {
        let text = text.trim();
        let value = T::parse(text).map_err(|it| but_give(it, &range(low, high)))?;
        let fits = value >= low && value <= high;
        fits.then_some(value).ok_or_else(|| out_of_range(text, low, high))
    };
    ValueKind::new(T::UNIT, range(low, high), read).shown(|value| Some(value.to_string()))
}

/// A quantity whose range is checked elsewhere, and stands here in words.
pub fn described<T: Scalar>(range: &'static str) -> ValueKind<T> {
    let read = move |text: &str| T::parse(text.trim()).map_err(|it| but_give(it, range));
    ValueKind::new(T::UNIT, range.to_owned(), read).shown(|value| Some(value.to_string()))
}

/// Whatever `read` makes of a text; `range` says in words what it takes.
pub fn parsed<T: 'static>(range: &str, read: fn(&str) -> Result<T, ValueProblem>) -> ValueKind<T> {
    ValueKind::new(Unit::Word, range.to_owned(), read)
}

/// Any text.
pub fn text() -> ValueKind<String> {
    parsed("any text", |text| Ok(text.to_owned())).shown(|text| Some(text.clone()))
}

/// One of the named values.
pub fn one_of<T: Copy + PartialEq + 'static>(names: &'static [(&'static str, T)]) -> ValueKind<T> {
    let quoted: Vec<String> = names.iter().map(|(name, _)| format!("`{name}`")).collect();
    let range = match &quoted[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.join(", "),
    };
    let read = move |text: &str| {
        let found = names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        found.ok_or_else(|| {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            ValueProblem(format!("`{text}` is not one of {}", names.join(", ")))
        })
    };
    let name =
        move |value: &T| names.iter().find(|(_, known)| known == value).map(|(name, _)| *name);
    ValueKind::new(Unit::Word, range, read).shown(move |value| name(value).map(str::to_owned))
}

/// One of the values of a type with names.
pub fn named<T: Named>() -> ValueKind<T> {
    one_of(T::NAMES)
}

/// `yes` or `no`.
pub fn yes_no() -> ValueKind<bool> {
    one_of(&[("yes", true), ("no", false)])
}

/// `true` or `false`.
pub fn true_false() -> ValueKind<bool> {
    ValueKind { unit: Unit::Flag, ..one_of(&[("true", true), ("false", false)]) }
}

/// A list separated by commas, not empty.
pub fn list<T: 'static>(item: ValueKind<T>) -> ValueKind<Vec<T>> {
    let (unit, range) = (item.unit, item.range.clone());
    ValueKind::new(unit, range, move |text| {
        text.split(',').map(|it| item.read(it.trim())).collect()
    })
}

/// The same in ascending order, each once.
pub fn ascending<T: Ord + 'static>(list: ValueKind<Vec<T>>) -> ValueKind<Vec<T>> {
    mapped(list, |mut values| {
        values.sort_unstable();
        values.dedup();
        values
    })
}

/// What `make` makes of what is read.
pub fn mapped<T: 'static, U: 'static>(
    kind: ValueKind<T>,
    make: impl Fn(T) -> U + 'static,
) -> ValueKind<U> {
    ValueKind::new(kind.unit, kind.range.clone(), move |text| kind.read(text).map(&make))
}

/// What `check` makes of what is read, or why it is wrong all the same.
pub fn checked<T: 'static, U: 'static>(
    kind: ValueKind<T>,
    check: impl Fn(T) -> Result<U, ValueProblem> + 'static,
) -> ValueKind<U> {
    ValueKind::new(kind.unit, kind.range.clone(), move |text| kind.read(text).and_then(&check))
}

/// A multiple of `unit`.
pub fn multiple_of(unit: Bytes, kind: ValueKind<Bytes>) -> ValueKind<Bytes> {
    let range = kind.range.clone();
    let read = move |text: &str| {
        let value = kind.read(text)?;
        let whole = value.0.is_multiple_of(unit.0);
        whole
            .then_some(value)
            .ok_or_else(|| but_give(format!("`{value}` is not a multiple of {unit}"), &kind.range))
    };
    ValueKind::new(Unit::Size, range, read).shown(|value| Some(value.to_string()))
}

/// `None` for the word, else what the other kind reads.
pub fn or_word<T: 'static>(word: &'static str, kind: ValueKind<T>) -> ValueKind<Option<T>> {
    let ValueKind { unit, range, read, .. } = kind;
    ValueKind::new(unit, range, move |text| match text.trim() {
        text if text == word => Ok(None),
        text => read(text).map(Some).map_err(|it| ValueProblem(format!("{it}, or `{word}`"))),
    })
}

/// `None` where it is not set.
pub fn optional<T: 'static>(kind: ValueKind<T>) -> ValueKind<Option<T>> {
    let ValueKind { unit, range, read, show, .. } = kind;
    let kind = ValueKind::new(unit, range, move |text| read(text).map(Some));
    let kind = kind.shown(move |value| show(value.as_ref()?));
    ValueKind { unset: || Some(None), ..kind }
}

/// What is wrong with a value that is out of its range.
pub fn out_of_range<T: Scalar>(value: impl Display, low: T, high: T) -> ValueProblem {
    but_give(format!("`{value}` is out of range"), &range(low, high))
}

fn but_give(problem: impl Display, range: &str) -> ValueProblem {
    ValueProblem(format!("{problem}; give {range}"))
}

fn range<T: Scalar>(low: T, high: T) -> String {
    let low = if low == T::default() { "0".to_owned() } else { low.bound() };
    format!("{low} to {}", high.bound())
}

impl Scalar for Bytes {
    const UNIT: Unit = Unit::Size;

    fn parse(text: &str) -> Result<Self, ValueProblem> {
        Ok(text.parse()?)
    }
}

impl Scalar for Nanos {
    const UNIT: Unit = Unit::Time;

    fn parse(text: &str) -> Result<Self, ValueProblem> {
        Ok(text.parse()?)
    }

    fn bound(self) -> String {
        let whole = |unit: u64| self.0.is_multiple_of(unit).then_some(self.0 / unit);
        match (whole(3_600_000_000_000), whole(60_000_000_000)) {
            (Some(hours), _) => format!("{hours}h"),
            (_, Some(minutes)) => format!("{minutes}min"),
            _ => self.to_string(),
        }
    }
}

impl Scalar for Ppm {
    const UNIT: Unit = Unit::Ratio;

    fn parse(text: &str) -> Result<Self, ValueProblem> {
        Ok(text.parse()?)
    }
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {
        $(impl Scalar for $type {
            const UNIT: Unit = Unit::Number;

            fn parse(text: &str) -> Result<Self, ValueProblem> {
                text.parse().map_err(|error: ParseIntError| {
                    let problem = match error.kind() {
                        IntErrorKind::PosOverflow => "too large",
                        IntErrorKind::NegOverflow => "too small",
                        _ => "not a whole number",
                    };
                    ValueProblem(format!("`{text}` is {problem}"))
                })
            }
        })+
    };
}

whole_numbers!(i32, u32, u64, usize);
