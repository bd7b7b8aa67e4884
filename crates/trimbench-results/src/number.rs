//! Numbers for people: with a unit, and no more digits than mean something.

#[cfg(test)]
mod tests;

/// The unit of S1's headline.
const SECONDS_PER_GIGABYTE: &str = "s/GB";
const TIMES: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
const SIZES: [(&str, f64); 5] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3), ("B", 1.0)];

/// A unit to print in: its name, and by what to divide values of the figure's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitScale {
    /// The unit's name.
    pub unit: String,
    divisor: f64,
}

/// A value with its unit: three significant digits; times and sizes in the unit that suits them.
/// `0.250 s/GB`, `14.6 ms/GB`, `1.50 ms`, `12345`.
pub fn quantity(value: f64, unit: &str) -> String {
    let scale = UnitScale::for_values(&[value], unit);
    let number = scale.print(value);
    if scale.unit.is_empty() { number } else { format!("{number} {}", scale.unit) }
}

/// Three significant digits, and every digit before the point. A zero is `0`; what would take more
/// than seven decimals is written with an exponent; whole numbers stay whole.
pub fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    if value.fract() == 0.0 && value.abs() < 1e6 {
        return format!("{value:.0}");
    }
    // The exponent after rounding to three digits: 9.999 is 1.00e1.
    let scientific = format!("{value:.2e}");
    let exponent = scientific.split_once('e').and_then(|(_, digits)| digits.parse::<i32>().ok());
    match exponent {
        Some(exponent @ -5..=2) => {
            let decimals = usize::try_from(2 - exponent).expect("in [0, 7]");
            format!("{value:.decimals$}")
        }
        Some(3..=8) => format!("{value:.0}"),
        _ => scientific,
    }
}

impl UnitScale {
    /// The unit in which the largest of `values`, given in `unit`, is at least 1 and short. A unit
    /// made of a time and something else (`s/GB`, `request-s`) is kept down to 0.1.
    pub fn for_values(values: &[f64], unit: &str) -> Self {
        let (prefix, base, suffix) = parts(unit);
        let compound = base.len() < unit.len();
        let ladder: &[(&str, f64)] = match base {
            "s" | "ms" | "us" | "ns" => &TIMES,
            "B" | "bytes" | "KB" | "MB" | "GB" | "TB" if !compound => &SIZES,
            _ => &[],
        };
        let own = ladder.iter().find(|(name, _)| *name == base).map_or(1.0, |(_, base)| *base);
        let largest = values.iter().map(|value| value.abs()).fold(0.0, f64::max) * own;
        if largest == 0.0 {
            return Self { unit: unit.to_owned(), divisor: 1.0 };
        }
        // Rounding may lift 0.9996 ms to 1.
        let least = if compound { 0.1 } else { 0.9995 };
        // The last step of the ladder is the smallest there is.
        let step = ladder.iter().find(|(_, base)| largest >= least * base).or(ladder.last());
        match step {
            Some((name, base)) => {
                Self { unit: format!("{prefix}{name}{suffix}"), divisor: base / own }
            }
            None => Self { unit: unit.to_owned(), divisor: 1.0 },
        }
    }

    /// The unit in which headlines are compared: seconds per gigabyte stay what they are, as S1
    /// prints them.
    pub fn for_headlines(values: &[f64], unit: &str) -> Self {
        match unit {
            SECONDS_PER_GIGABYTE => Self { unit: unit.to_owned(), divisor: 1.0 },
            _ => Self::for_values(values, unit),
        }
    }

    /// A value of the figure's unit in this scale, without the unit's name.
    pub fn print(&self, value: f64) -> String {
        significant(value / self.divisor)
    }

    /// The same beside other headlines: three decimals for seconds per gigabyte.
    pub fn print_headline(&self, value: f64) -> String {
        if self.unit != SECONDS_PER_GIGABYTE {
            return self.print(value);
        }
        let text = format!("{value:.3}");
        if text == "-0.000" { "0.000".to_owned() } else { text }
    }
}

/// What stands before, the simple unit, and what stands after: `request-s`, `s/GB^2`.
fn parts(unit: &str) -> (&str, &str, &str) {
    let (head, suffix) = unit.split_at(unit.find('/').unwrap_or(unit.len()));
    let (prefix, base) = head.split_at(head.rfind('-').map_or(0, |dash| dash + 1));
    (prefix, base, suffix)
}
