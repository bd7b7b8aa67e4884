//! Sizes as fstrim(8) takes them (`strtosize` of util-linux).

use trimbench_core::Bytes;

/// A text that fstrim would not take for a size either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizeError {
    /// Not a number with one of the suffixes.
    #[error(
        "`{text}` is not a size: write bytes, or a number with K, M, G, T, P, E (or KiB, ...: \
         powers of 1024) or KB, MB, ... (powers of 1000)"
    )]
    Form {
        /// As given.
        text: String,
    },
    /// It does not fit in 64 bits.
    #[error("`{text}` is out of range")]
    OutOfRange {
        /// As given.
        text: String,
    },
}

/// A size as fstrim takes it: bytes without a suffix (`0x` begins a hexadecimal number, `0` an
/// octal one), `K` and `KiB` are 1024, `KB` is 1000, up to `Y`; a number with a suffix may have a
/// decimal fraction. `B` for bytes, which fstrim refuses, is taken as well.
///
/// A fraction of a byte is dropped. (fstrim rounds each decimal digit by itself, so its `0.3K` is
/// 341, not 307.)
///
/// # Errors
/// [`SizeError`].
pub fn fstrim_size(text: &str) -> Result<Bytes, SizeError> {
    let form = || SizeError::Form { text: text.to_owned() };
    let range = || SizeError::OutOfRange { text: text.to_owned() };
    // As `isspace` of C.
    let body = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let (digits, base, rest) = whole_number(body.strip_prefix('+').unwrap_or(body));
    if digits.is_empty() {
        return Err(form());
    }
    let whole = u64::from_str_radix(digits, base).map_err(|_| range())?;
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
        None => ("", rest),
    };
    if rest.is_empty() {
        return Ok(Bytes(whole));
    }
    if rest == "B" {
        return Ok(Bytes(whole));
    }
    let scale = scale_of(suffix).ok_or_else(form)?;
    let scaled = scale.checked_mul(u128::from(whole)).ok_or_else(range)?;
    let part = part_of(scale, fraction).ok_or_else(range)?;
    u64::try_from(scaled.checked_add(part).ok_or_else(range)?).map(Bytes).map_err(|_| range())
}

/// The digits at the front, their base, and what follows, as `strtoumax` of C with base 0 finds
/// them.
fn whole_number(text: &str) -> (&str, u32, &str) {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let is_hexadecimal = |rest: &&str| rest.starts_with(|c: char| c.is_ascii_hexdigit());
    let (text, base) = match hexadecimal.filter(is_hexadecimal) {
        Some(rest) => (rest, 16),
        None if text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    let end = text.find(|c: char| !c.is_digit(base)).unwrap_or(text.len());
    (&text[..end], base, &text[end..])
}

/// What a suffix stands for; `None` if it is none.
fn scale_of(suffix: &str) -> Option<u128> {
    let letter = suffix.chars().next()?;
    let base: u128 = match &suffix[letter.len_utf8()..] {
        "" | "iB" | "ib" => 1024,
        "B" | "b" => 1000,
        _ => return None,
    };
    let power = "KMGTPEZY".find(letter.to_ascii_uppercase())?;
    base.checked_pow(u32::try_from(power).ok()? + 1)
}

/// This decimal fraction of `scale`, rounded down; `None` if it cannot be computed exactly.
fn part_of(scale: u128, fraction: &str) -> Option<u128> {
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        return Some(0);
    }
    let tens = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    Some(scale.checked_mul(fraction.parse().ok()?)? / tens)
}
