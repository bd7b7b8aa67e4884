//! Seeded randomness: one seed a run, split by name for each component.
//!
//! Integers only. The distributions are exact and independent of the machine's floating point.
//! Source of the exponential variates: J. von Neumann, "Various techniques used in connection with
//! random digits" (1951): comparisons of uniform numbers, no logarithm.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

use crate::trace_hash::TraceHash;
use crate::units::{Nanos, Ppm};

#[cfg(test)]
mod tests;

/// A generator (xoshiro256++). Equal seeds and labels give equal numbers, for ever.
#[derive(Clone, Debug)]
pub struct Rng {
    seed: u64,
    generator: Xoshiro256PlusPlus,
}

impl Rng {
    /// The root generator of a run.
    pub fn new(seed: u64) -> Self {
        Self { seed, generator: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// An independent generator for the component `label`; does not depend on what was drawn here.
    #[must_use]
    pub fn split(&self, label: &str) -> Self {
        let mut hash = TraceHash::default();
        hash.word(self.seed);
        hash.text(label);
        Self::new(hash.value())
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in `[0, bound)`, by multiplication; the bias is below `bound / 2^64`.
    ///
    /// # Panics
    /// If `bound` is 0 (debug builds).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "nothing lies below zero");
        let wide = u128::from(self.bits()) * u128::from(bound);
        (wide >> 64) as u64
    }

    /// True with this probability.
    #[inline]
    pub fn chance(&mut self, probability: Ppm) -> bool {
        self.below(1_000_000) < u64::from(probability.0)
    }

    /// An exponentially distributed span with this mean: the gap between Poisson arrivals.
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        let mut whole: u64 = 0;
        loop {
            let first = self.bits() >> 32;
            let (mut previous, mut falling) = (first, 1_u32);
            loop {
                let next = self.bits() >> 32;
                if next >= previous {
                    break;
                }
                previous = next;
                falling += 1;
            }
            if falling % 2 == 1 {
                let units = (u128::from(whole) << 32) | u128::from(first);
                let span = (units * u128::from(mean.0)) >> 32;
                return Nanos(u64::try_from(span).unwrap_or(u64::MAX));
            }
            whole += 1;
        }
    }

    /// Puts the items into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = crate::units::index(self.below(last as u64 + 1));
            items.swap(last, other);
        }
    }
}
