//! Searches for where a target's answer changes: the highest rate that passes, the shortest rest
//! after which it does. Which value to try next, and which of those that passed is confirmed.
//!
//! Pure: what a try is, and whether it passes, is the caller's. So a resumed session, whose tries
//! are answered from its record, takes the same way.

use trimbench_core::units::rounded;

#[cfg(test)]
mod tests;

/// A search for the highest rate that passes.
#[derive(Clone, Copy, Debug)]
pub struct RateSearch {
    /// The lowest rate that is tried.
    pub lowest: u64,
    /// The highest.
    pub highest: u64,
    /// How often the interval between a rate that passes and one that fails is halved, by
    /// logarithms: seven times make a factor of 1000 one of 1000^(1/128), 5.5 %.
    pub halvings: u32,
    /// Rates that are confirmed at the most, the highest first.
    pub confirmations: usize,
}

/// For how long a rate is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLength {
    /// As each is tried.
    Tried,
    /// For longer, as one is confirmed that passed.
    Confirmed,
}

/// A value that passes and one that fails: between them it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket<T> {
    /// The one that passes.
    pub passes: T,
    /// The one that fails.
    pub fails: T,
}

impl RateSearch {
    /// The highest rate that passes and is confirmed, if any: the ends are tried first.
    pub fn run<E>(
        &self,
        mut passes: impl FnMut(u64, RateLength) -> Result<bool, E>,
    ) -> Result<Option<u64>, E> {
        let mut passed = Vec::new();
        let mut tried = |rate| {
            let does = passes(rate, RateLength::Tried)?;
            passed.extend(does.then_some(rate));
            Ok(does)
        };
        if !tried(self.highest)? && tried(self.lowest)? {
            let ends = Bracket { passes: self.lowest, fails: self.highest };
            let middle =
                |ends: Bracket<u64>| Some(rounded((ends.passes as f64 * ends.fails as f64).sqrt()));
            ends.halved(self.halvings, middle, tried)?;
        }
        let highest_first = passed.into_iter().rev().take(self.confirmations);
        first_confirmed(highest_first, |rate| passes(rate, RateLength::Confirmed))
    }
}

impl<T: Copy> Bracket<T> {
    /// It after so many halvings: each tries what `middle` makes of it; with nothing left to try it
    /// ends earlier.
    pub fn halved<E>(
        mut self,
        times: u32,
        middle: impl Fn(Self) -> Option<T>,
        mut passes: impl FnMut(T) -> Result<bool, E>,
    ) -> Result<Self, E> {
        for _ in 0..times {
            let Some(value) = middle(self) else { break };
            if passes(value)? {
                self.passes = value;
            } else {
                self.fails = value;
            }
        }
        Ok(self)
    }
}

/// The first of these values that `confirms` finds good, if any; the others are not asked for.
pub fn first_confirmed<T: Copy, E>(
    values: impl IntoIterator<Item = T>,
    mut confirms: impl FnMut(T) -> Result<bool, E>,
) -> Result<Option<T>, E> {
    for value in values {
        if confirms(value)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}
