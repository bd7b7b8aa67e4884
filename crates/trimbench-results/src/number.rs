//! The one formatter: how a number is shown to people, wherever that is.
//!
//! A figure has one unit and one rounding in the terminal, on the page, in the charts, in Markdown,
//! CSV and `JUnit`, in verdicts and on advice cards, because all of them ask [`ShownFigure`], which
//! depends on the figure alone and on nothing that stands beside it (`Figure::shown`).
//!
//! **Unit.** Times, sizes and bytes a second take the unit that suits the larger of value and
//! interval; what is a time for something else (`s/GB`, `request-s`) keeps its unit. From 1,000 %
//! on, a change is a number of times.
//!
//! **Digits.** Three significant digits, and every digit before the point; but no finer than
//! resolved: two digits of half the width of the interval, a nanosecond of a time, a thousandth of
//! `s/GB`, `request-s` and `%`. A value that is not 0 and would print as 0 is shown as `< 0.001`
//! where no interval says how far from 0 it may be. Thousands are separated by commas.
//!
//! `assets/page/number.js` does the same in a browser, by the same steps; a test compares them.

#[cfg(test)]
mod tests;

/// The scales of units, the largest first, each in the first unit of its kind.
const TIMES: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
const SIZES: [(&str, f64); 5] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3), ("B", 1.0)];
const RATES: [(&str, f64); 5] =
    [("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("KB/s", 1e3), ("B/s", 1.0)];
/// The exponent of ten of the finest step that is shown of a time, a nanosecond, in seconds.
const NANOSECOND: i32 = -9;
/// The same of `s/GB`, `request-s` and `%`: nobody notices a millisecond a gigabyte \[NIEL93\].
const THOUSANDTH: i32 = -3;
/// The same of everything else: a ratio that differs from 1 by less is 1 but for rounding.
const MILLIONTH: i32 = -6;
/// From this many percent on a change is shown as a number of times.
const PERCENT_MAX: f64 = 1_000.0;
/// Below this ratio a change is shown as a fraction.
const FRACTION_MAX: f64 = 0.01;
/// Numbers from here on are shown with an exponent: not every whole number is one of these.
const DIGITS_MAX: f64 = 1e15;
/// Up to this relative error a number is whole: what scaling costs.
const WHOLE: f64 = 1e-12;

/// A figure as it is shown everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownFigure {
    /// The value, `0.014`, `1,234` or `< 0.001`.
    pub number: String,
    /// The unit of value and interval, `s/GB`; empty for a plain number.
    pub unit: String,
    /// The ends of the interval, with as many decimals as the value.
    pub ends: Option<(String, String)>,
}

/// A unit to show in, and by what to divide.
struct Scale {
    unit: String,
    divisor: f64,
    /// The exponent of ten of the finest step in `unit`.
    finest: i32,
    /// Whether whole numbers are shown without decimals.
    is_counted: bool,
}

impl ShownFigure {
    /// A value, the ends of its interval if it has one, and their unit.
    pub fn of(value: f64, ends: Option<(f64, f64)>, unit: &str) -> Self {
        let (low, high) = ends.unwrap_or((value, value));
        if unit == "%" && value >= PERCENT_MAX {
            let times = |percent: f64| percent / 100.0 + 1.0;
            let ends = ends.map(|(low, high)| (times(low), times(high)));
            return Self::of(times(value), ends, "times");
        }
        let scale = Scale::of(value.abs().max(low.abs()).max(high.abs()), unit);
        let (value, low, high) = (value / scale.divisor, low / scale.divisor, high / scale.divisor);
        let step = scale.step(value, low, high);
        let number = if is_shown_as_zero(value, step) && value != 0.0 && low >= high {
            let sign = if value > 0.0 { "< " } else { "> -" };
            format!("{sign}{}", rounded(pow10(step), step))
        } else {
            rounded(value, step)
        };
        let ends = ends.map(|_| (rounded(low, step), rounded(high, step)));
        Self { number, unit: scale.unit, ends }
    }

    /// Value and unit: `14.0 ms`.
    pub fn quantity(&self) -> String {
        with_unit(&self.number, &self.unit)
    }

    /// The interval, without the unit: `13.1 to 15.2`.
    pub fn interval(&self) -> Option<String> {
        self.ends.as_ref().map(|(low, high)| format!("{low} to {high}"))
    }

    /// Value, unit and interval, where it has a width: `14.0 ms (13.1 to 15.2)`.
    pub fn text(&self) -> String {
        match &self.ends {
            Some((low, high)) if low != high => format!("{} ({low} to {high})", self.quantity()),
            _ => self.quantity(),
        }
    }

    /// Whether the value is shown as 0, or as less than can be shown.
    pub fn is_zero(&self) -> bool {
        self.number.contains('<')
            || self.number.contains('>')
            || !self.number.contains(|digit| ('1'..='9').contains(&digit))
    }
}

/// A value of which no interval is known, with its unit: `250 us`, `0.014 s/GB`, `12,345 IOPS`.
pub fn quantity(value: f64, unit: &str) -> String {
    ShownFigure::of(value, None, unit).quantity()
}

/// The same, rounded up: what is at most this.
pub fn at_most(value: f64, unit: &str) -> String {
    let scale = Scale::of(value.abs(), unit);
    let value = value / scale.divisor;
    let step = scale.step(value, value, value);
    // What rounding leaves of a step is none.
    let steps = (value / pow10(step) - WHOLE * value.abs()).ceil();
    with_unit(&rounded(steps * pow10(step), step), &scale.unit)
}

/// A plain number: `0.250`, `12,345`.
pub fn significant(value: f64) -> String {
    quantity(value, "")
}

/// A number of things: `1,234`.
pub fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// A plain number to the thousandth: a share in percent, a limit.
pub(crate) fn thousandths(value: f64) -> String {
    let unit = if value.abs() < PERCENT_MAX { "%" } else { "" };
    ShownFigure::of(value, None, unit).number
}

/// A change by this ratio, at least 0: `+12.3 %`, `798 times`, `1/798`.
pub fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if ratio > 0.0 && ratio < FRACTION_MAX {
        return format!("1/{}", significant(1.0 / ratio));
    }
    let sign = if percent > 0.0 && percent < PERCENT_MAX { "+" } else { "" };
    format!("{sign}{}", quantity(percent, "%"))
}

impl Scale {
    /// The unit in which `largest`, given in `unit`, is at least 1 and short.
    fn of(largest: f64, unit: &str) -> Self {
        let unit = if unit == "bytes" { "B" } else { unit };
        let ladders: [(&[(&str, f64)], i32); 3] =
            [(&TIMES, NANOSECOND), (&SIZES, MILLIONTH), (&RATES, MILLIONTH)];
        let ladder = ladders.into_iter().find(|(ladder, _)| is_scaled(ladder, unit));
        let Some((ladder, finest)) = ladder else {
            let is_fine = !(unit == "%" || unit == "request-s" || unit.starts_with("s/"));
            let finest = if is_fine { MILLIONTH } else { THOUSANDTH };
            let is_counted = is_fine || unit == "%";
            return Self { unit: unit.to_owned(), divisor: 1.0, finest, is_counted };
        };
        let own = ladder.iter().find(|(name, _)| *name == unit).map_or(1.0, |(_, base)| *base);
        let largest = largest * own;
        // Rounding may lift 0.9996 ms to 1. The last step of the ladder is the smallest there is.
        let found = ladder.iter().find(|(_, base)| largest >= 0.9995 * base).or(ladder.last());
        let (name, base) = match found {
            Some((name, base)) if largest > 0.0 => (*name, *base),
            _ => (unit, own),
        };
        let finest = finest - if finest == NANOSECOND { exponent(base) } else { 0 };
        Self { unit: name.to_owned(), divisor: base / own, finest, is_counted: true }
    }

    /// The exponent of ten of the step to which these, in the scale's unit, are rounded.
    fn step(&self, value: f64, low: f64, high: f64) -> i32 {
        let whole = |number: f64| (number - number.round()).abs() <= WHOLE * number.abs();
        if low >= high && self.is_counted && whole(value) {
            return 0;
        }
        let largest = if value == 0.0 { low.abs().max(high.abs()) } else { value.abs() };
        let significant =
            if largest > 0.0 { (exponent(largest) - 2).min(0) } else { self.finest.min(0) };
        let resolved =
            if low < high { exponent_of_two((high - low) / 2.0) - 1 } else { significant };
        significant.max(resolved).max(self.finest)
    }
}

/// Whether a unit of this ladder takes the unit that suits a value. Rates only in bytes: a method
/// that measures `MB/s` says so.
fn is_scaled(ladder: &[(&str, f64)], unit: &str) -> bool {
    let is_here = ladder.iter().any(|(name, _)| *name == unit);
    is_here && (!unit.contains('/') || unit == "B/s")
}

/// Whether a value rounds to 0 in steps of this power of ten.
fn is_shown_as_zero(value: f64, step: i32) -> bool {
    value.abs() / pow10(step) < 0.5
}

/// A number in steps of this power of ten, half a step upwards: by whole numbers, so that a browser
/// does the same.
fn rounded(value: f64, step: i32) -> String {
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    if value.abs() >= DIGITS_MAX {
        return format!("{value:.2e}");
    }
    let scale = pow10(step.abs());
    let steps = if step < 0 {
        (value.abs() * scale + 0.5).floor()
    } else {
        (value.abs() / scale + 0.5).floor() * scale
    };
    let decimals = usize::try_from(-step).unwrap_or(0);
    let width = decimals + 1;
    let digits = format!("{steps:0>width$.0}");
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let sign = if value < 0.0 && steps > 0.0 { "-" } else { "" };
    let point = if decimals > 0 { "." } else { "" };
    format!("{sign}{}{point}{fraction}", grouped(whole))
}

/// Digits with a comma between thousands.
fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn with_unit(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

/// The exponent of ten of a number above 0, after rounding to three digits: 9.999 has 1.
fn exponent(number: f64) -> i32 {
    exponent_in(&format!("{number:.2e}"))
}

/// The same after rounding to two digits.
fn exponent_of_two(number: f64) -> i32 {
    exponent_in(&format!("{number:.1e}"))
}

fn exponent_in(scientific: &str) -> i32 {
    let exponent = scientific.split_once('e').and_then(|(_, digits)| digits.parse().ok());
    exponent.unwrap_or(0)
}

/// A power of ten, rounded correctly, as a literal would be.
fn pow10(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().expect("an exponent of a few digits")
}
