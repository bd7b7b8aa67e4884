//! Settings behind a target's name: `key=value`, with units.

use std::fmt;
use std::str::FromStr;

/// A value, with its unit.
pub(crate) fn quantity<T: FromStr<Err: fmt::Display>>(value: &str) -> Result<T, String> {
    value.parse().map_err(|error: T::Err| error.to_string())
}

/// The same in a range, its ends included.
pub(crate) fn within<T>(value: &str, low: T, high: T) -> Result<T, String>
where
    T: FromStr<Err: fmt::Display> + PartialOrd + fmt::Display + Copy,
{
    let found = quantity(value)?;
    if found < low || found > high {
        return Err(format!("`{found}` is out of range; give {low} to {high}"));
    }
    Ok(found)
}

/// One of the named values.
pub(crate) fn one_of<T: Copy>(value: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(name, _)| *name == value).map(|(_, found)| *found);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        format!("`{value}` is not one of {}", names.join(", "))
    })
}

/// The known name that is near enough to be meant.
pub(crate) fn nearest(given: &str, known: &[&str]) -> Option<String> {
    trimbench_core::nearest::nearest(given, known.iter().copied()).map(str::to_owned)
}
