//! The fields of a line, byte by byte and without allocating.

use crate::tally::Flaw;

use super::shared::Skip;

/// What is left of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

/// The error of a line that has other fields.
pub(crate) const SHAPE: Skip = Skip::Flaw(Flaw::Shape);

impl<'a> Fields<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Passes blanks and tabs.
    #[inline]
    pub(crate) fn blanks(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// A whole number in decimal digits, of any length.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, Skip> {
        let (value, digits) = leading(self.rest);
        if digits == 0 {
            return Err(Skip::Flaw(match self.rest {
                [b'-', b'0'..=b'9', ..] => Flaw::Negative,
                _ => Flaw::Shape,
            }));
        }
        // 19 digits are below 10^19, and so below 2^64.
        let value = if digits < 20 { value } else { checked(&self.rest[..digits])? };
        self.rest = &self.rest[digits..];
        Ok(value)
    }

    /// The digits of a whole number, as text.
    #[inline]
    pub(crate) fn digits(&mut self) -> Result<&'a [u8], Skip> {
        let from = self.rest;
        self.number()?;
        Ok(&from[..from.len() - self.rest.len()])
    }

    /// A whole number, and `byte` behind it.
    #[inline]
    pub(crate) fn number_before(&mut self, byte: u8) -> Result<u64, Skip> {
        let number = self.number()?;
        self.byte(byte)?;
        Ok(number)
    }

    /// Seconds with any number of digits behind the point, in nanoseconds, rounded down.
    #[inline]
    pub(crate) fn seconds(&mut self) -> Result<u64, Skip> {
        let whole = self.number()?;
        let mut nanos = 0;
        if let [b'.', rest @ ..] = self.rest {
            let (_, digits) = leading(rest);
            let (value, kept) = leading(&rest[..digits.min(9)]);
            nanos = value * POWERS[9 - kept];
            self.rest = &rest[digits..];
        }
        let whole = whole.checked_mul(1_000_000_000);
        whole.and_then(|whole| whole.checked_add(nanos)).ok_or(Skip::Flaw(Flaw::Beyond))
    }

    /// Passes one byte, which must be `byte`.
    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) -> Result<(), Skip> {
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(SHAPE),
        }
    }

    /// What stands before the next `byte` or the end; passes `byte` too.
    #[inline]
    pub(crate) fn until(&mut self, byte: u8) -> &'a [u8] {
        let end = self.rest.iter().position(|it| *it == byte).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        field
    }

    /// What stands before the next blank or the end, with the blanks behind it passed.
    #[inline]
    pub(crate) fn word(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|it| matches!(it, b' ' | b'\t'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        self.blanks();
        word
    }

    /// A number that a blank or the end follows; the blanks are passed.
    #[inline]
    pub(crate) fn number_word(&mut self) -> Result<u64, Skip> {
        let number = self.number()?;
        match self.rest {
            [] => {}
            [b' ' | b'\t', ..] => self.blanks(),
            _ => return Err(SHAPE),
        }
        Ok(number)
    }

    /// Nothing may be left but blanks.
    #[inline]
    pub(crate) fn end(mut self) -> Result<(), Skip> {
        self.blanks();
        if self.rest.is_empty() { Ok(()) } else { Err(SHAPE) }
    }
}

const POWERS: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The digits at the beginning: their value, which is right up to 19 of them, and how many.
#[inline]
fn leading(text: &[u8]) -> (u64, usize) {
    let mut value: u64 = 0;
    let mut count = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (value, count)
}

#[cold]
fn checked(digits: &[u8]) -> Result<u64, Skip> {
    let append = |value: u64, digit: &u8| {
        value.checked_mul(10).and_then(|value| value.checked_add(u64::from(*digit - b'0')))
    };
    digits.iter().try_fold(0, append).ok_or(Skip::Flaw(Flaw::Beyond))
}
