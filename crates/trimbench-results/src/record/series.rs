//! A curve, and how its axis is written: listed, or short where its places are evenly spaced.
//!
//! Short: `{"from": F, "step": S, "count": N}`. Place i is F + i S in *decimal* arithmetic, with F
//! and S as they are written (at most 9 digits behind the point), rounded once to a double. So
//! 0, 0.1, 0.2, 0.3 is a regular axis, though 3 * 0.1 is not 0.3 in binary. Only an axis that comes
//! back to the last bit is written short.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[cfg(test)]
mod tests;

/// An axis with fewer places is listed: the short form is not shorter.
const COUNT_MIN: usize = 8;
/// Digits behind the point of an axis that is written short, at most: nanoseconds.
const DIGITS_MAX: usize = 9;
/// Integers up to this, over a power of ten, are told apart by doubles: 15 significant digits.
const EXACT: i64 = 1_000_000_000_000_000;
/// The powers of ten up to [`DIGITS_MAX`].
const TENS: [f64; DIGITS_MAX + 1] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// A curve: as many `y` as `x`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Series {
    /// The unit of `x`, `s`.
    pub x_unit: String,
    /// The unit of `y`, `ms`.
    pub y_unit: String,
    /// Positions, ascending.
    #[serde(serialize_with = "write_axis")]
    pub x: Vec<f64>,
    /// Values; `None` where nothing was measured.
    pub y: Vec<Option<f64>>,
}

impl Series {
    /// A curve; `None` unless there are as many `y` as `x`, all `x` are finite, and every `y` that
    /// is there is finite.
    pub fn new(x_unit: &str, y_unit: &str, x: Vec<f64>, y: Vec<Option<f64>>) -> Option<Self> {
        let series = Self { x_unit: x_unit.to_owned(), y_unit: y_unit.to_owned(), x, y };
        series.is_sound().then_some(series)
    }

    pub(super) fn is_sound(&self) -> bool {
        self.x.len() == self.y.len()
            && self.x.iter().all(|x| x.is_finite())
            && self.y.iter().flatten().all(|y| y.is_finite())
    }
}

/// What is wrong with a curve as it stands in a file.
#[derive(Debug, thiserror::Error)]
enum SeriesFlaw {
    #[error("{places} places for {values} values")]
    Count { places: usize, values: usize },
    #[error("an axis with more digits than a short one may have")]
    Digits,
}

/// A curve as it stands in the file.
#[derive(Deserialize)]
struct Written {
    x_unit: String,
    y_unit: String,
    x: Axis,
    y: Vec<Option<f64>>,
}

impl TryFrom<Written> for Series {
    type Error = SeriesFlaw;

    fn try_from(written: Written) -> Result<Self, SeriesFlaw> {
        let Written { x_unit, y_unit, x, y } = written;
        let x = match x {
            Axis::Listed(x) => x,
            // Before room is made for them: a wrong count could be any number.
            Axis::Regular(regular) if regular.count != y.len() => {
                let (places, values) = (regular.count, y.len());
                return Err(SeriesFlaw::Count { places, values });
            }
            Axis::Regular(regular) => regular.places().ok_or(SeriesFlaw::Digits)?,
        };
        Ok(Self { x_unit, y_unit, x, y })
    }
}

enum Axis {
    Listed(Vec<f64>),
    Regular(Regular),
}

/// Evenly spaced places.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Regular {
    from: f64,
    step: f64,
    count: usize,
}

impl Regular {
    /// The short form of an axis that it gives back to the last bit.
    fn of(x: &[f64]) -> Option<Self> {
        let (&from, &to) = (x.first()?, x.last()?);
        if x.len() < COUNT_MIN {
            return None;
        }
        let gaps = i64::try_from(x.len() - 1).ok()?;
        let found = (0..=DIGITS_MAX).find_map(|digits| {
            let span = scaled(to, digits)?.checked_sub(scaled(from, digits)?)?;
            let step = (span > 0 && span % gaps == 0).then_some(span / gaps)?;
            Some(Self { from, step: over(step, digits), count: x.len() })
        })?;
        let same = |places: &Vec<f64>| {
            places.iter().map(|place| place.to_bits()).eq(x.iter().map(|place| place.to_bits()))
        };
        found.places().filter(same).map(|_| found)
    }

    /// All places; `None` if from, step or the last place have too many digits.
    fn places(self) -> Option<Vec<f64>> {
        let both = |digits| Some((scaled(self.from, digits)?, scaled(self.step, digits)?, digits));
        let (from, step, digits) = (0..=DIGITS_MAX).find_map(both)?;
        let last = i64::try_from(self.count.checked_sub(1)?).ok()?;
        let end = last.checked_mul(step)?.checked_add(from)?;
        (end.abs() <= EXACT)
            .then(|| (0..=last).map(|index| over(from + index * step, digits)).collect())
    }
}

/// The number times a power of ten, if it has no more digits behind the point than that.
fn scaled(value: f64, digits: usize) -> Option<i64> {
    let product = value * TENS[digits];
    if product.abs() > 1e15 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 10^15, and whole")]
    let whole = product.round() as i64;
    (over(whole, digits).to_bits() == value.to_bits()).then_some(whole)
}

/// The whole number over a power of ten, rounded once.
fn over(whole: i64, digits: usize) -> f64 {
    whole as f64 / TENS[digits]
}

fn write_axis<S: Serializer>(x: &Vec<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match Regular::of(x) {
        Some(regular) => regular.serialize(serializer),
        None => x.serialize(serializer),
    }
}

impl<'de> Deserialize<'de> for Axis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AxisVisitor)
    }
}

/// Reads either form without keeping a copy of it.
struct AxisVisitor;

impl<'de> Visitor<'de> for AxisVisitor {
    type Value = Axis;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of places, or `from`, `step` and `count`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Axis, A::Error> {
        let mut places = Vec::new();
        while let Some(place) = list.next_element()? {
            places.push(place);
        }
        Ok(Axis::Listed(places))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Axis, A::Error> {
        let (mut from, mut step, mut count) = (None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "from" => from = Some(map.next_value()?),
                "step" => step = Some(map.next_value()?),
                "count" => count = Some(map.next_value()?),
                _ => return Err(A::Error::unknown_field(&key, &["from", "step", "count"])),
            }
        }
        let missing = A::Error::missing_field;
        Ok(Axis::Regular(Regular {
            from: from.ok_or_else(|| missing("from"))?,
            step: step.ok_or_else(|| missing("step"))?,
            count: count.ok_or_else(|| missing("count"))?,
        }))
    }
}
