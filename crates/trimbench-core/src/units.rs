//! Quantities with their units in the type: bytes, logical blocks, time and ratios.
//!
//! Arithmetic exists only where it means something (`Lba + Blocks`, not `Lba + Lba`), lossy
//! conversions say how they round, and text always carries a unit (`128KiB`, `75us`).

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

#[cfg(test)]
mod tests;
mod text;

pub use text::UnitError;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A number of logical blocks of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Blocks(pub u64);

/// The address of a logical block on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lba(pub u64);

/// The size of a logical block: a power of two in [512 B, 64 KiB].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSize {
    shift: u32, // In [9, 16].
}

/// A run of logical blocks: never empty, never beyond `u64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LbaRange {
    start: Lba,
    length: Blocks,
}

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// A point on one target's clock, in nanoseconds since that clock's start. Instants of different
/// targets have nothing to do with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A ratio or probability in parts per million. In [0, 1,000,000] where it is a probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppm(pub u32);

impl Bytes {
    /// Binary kibibytes.
    pub const fn kib(count: u64) -> Self {
        Self(count << 10)
    }

    /// Binary mebibytes.
    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }

    /// Binary gibibytes.
    pub const fn gib(count: u64) -> Self {
        Self(count << 30)
    }

    /// Decimal gigabytes as a ratio, for "seconds per GB".
    pub fn gigabytes(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Whole logical blocks that fit.
    pub fn blocks_floor(self, size: BlockSize) -> Blocks {
        Blocks(self.0 >> size.shift)
    }

    /// Logical blocks, or `None` if the bytes are not a whole number of them.
    pub fn blocks_exact(self, size: BlockSize) -> Option<Blocks> {
        self.0.is_multiple_of(size.bytes().0).then(|| self.blocks_floor(size))
    }

    /// How many pieces of `piece` bytes it takes to hold these bytes; the last may be shorter.
    pub fn pieces(self, piece: Self) -> u64 {
        assert!(piece.0 > 0, "a piece has at least one byte");
        self.0.div_ceil(piece.0)
    }

    /// The difference, or zero.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Blocks {
    /// The bytes of these blocks; saturates at `u64::MAX`.
    pub fn bytes(self, size: BlockSize) -> Bytes {
        Bytes(self.0.saturating_mul(size.bytes().0))
    }
}

impl BlockSize {
    /// 512 bytes.
    pub const SECTOR: Self = Self { shift: 9 };

    /// From bytes; `None` unless a power of two in [512 B, 64 KiB].
    pub fn new(bytes: Bytes) -> Option<Self> {
        let fits = bytes.0.is_power_of_two() && (512..=65_536).contains(&bytes.0);
        fits.then(|| Self { shift: bytes.0.trailing_zeros() })
    }

    /// The size in bytes.
    pub const fn bytes(self) -> Bytes {
        Bytes(1 << self.shift)
    }
}

impl LbaRange {
    /// `None` if empty or beyond the end of the address space.
    pub fn new(start: Lba, length: Blocks) -> Option<Self> {
        let valid = length.0 > 0 && start.0.checked_add(length.0).is_some();
        valid.then_some(Self { start, length })
    }

    /// The range of `bytes` at byte `offset`; `None` unless both are whole blocks and not empty.
    pub fn from_bytes(offset: Bytes, bytes: Bytes, size: BlockSize) -> Option<Self> {
        Self::new(Lba(offset.blocks_exact(size)?.0), bytes.blocks_exact(size)?)
    }

    /// First block.
    pub fn start(self) -> Lba {
        self.start
    }

    /// Number of blocks, at least one.
    pub fn length(self) -> Blocks {
        self.length
    }

    /// One past the last block.
    pub fn end(self) -> Lba {
        Lba(self.start.0 + self.length.0)
    }
}

impl Nanos {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// Whole microseconds.
    pub const fn from_micros(count: u64) -> Self {
        Self(count * 1_000)
    }

    /// Whole milliseconds.
    pub const fn from_millis(count: u64) -> Self {
        Self(count * 1_000_000)
    }

    /// Whole seconds.
    pub const fn from_secs(count: u64) -> Self {
        Self(count * 1_000_000_000)
    }

    /// Seconds as a ratio, for figures.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `count` times this span; saturates.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// This span times a ratio, rounded down; saturates.
    #[must_use]
    pub fn scaled(self, ratio: Ppm) -> Self {
        let product = u128::from(self.0) * u128::from(ratio.0) / 1_000_000;
        Self(u64::try_from(product).unwrap_or(u64::MAX))
    }

    /// The sum, at most [`u64::MAX`] nanoseconds: 584 years.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Instant {
    /// The start of the clock.
    pub const START: Self = Self(0);
    /// Later than everything: what a model answers when it is idle.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `nanos` after the start of the clock.
    pub const fn from_start(nanos: Nanos) -> Self {
        Self(nanos.0)
    }

    /// Time since the start of the clock.
    pub const fn since_start(self) -> Nanos {
        Nanos(self.0)
    }

    /// Time since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Ppm {
    /// One.
    pub const ONE: Self = Self(1_000_000);

    /// The ratio as a fraction, for figures.
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / 1e6
    }

    /// This share of `count`, rounded down.
    pub fn of(self, count: u64) -> u64 {
        u64::try_from(u128::from(count) * u128::from(self.0) / 1_000_000).unwrap_or(u64::MAX)
    }
}

/// `u64` to `u32` where the caller knows that it fits.
///
/// # Panics
/// If it does not: an address beyond the 16 TiB that `u32` mapping units reach is a bug here.
#[inline]
pub fn narrow(value: u64) -> u32 {
    u32::try_from(value).expect("the value was checked to fit in 32 bits")
}

/// `u64` to `usize` for indexing; trimbench runs on 64-bit machines only.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "usize has 64 bits: asserted below")]
pub const fn index(value: u64) -> usize {
    const { assert!(usize::BITS == 64, "trimbench needs a 64-bit machine") };
    value as usize
}

/// A non-negative ratio to a whole number, rounded to nearest; negative and NaN give 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, as wanted")]
pub fn rounded(value: f64) -> u64 {
    value.round() as u64
}

macro_rules! arithmetic {
    ($left:ident + $right:ident = $sum:ident) => {
        impl Add<$right> for $left {
            type Output = $sum;
            #[inline]
            fn add(self, other: $right) -> $sum {
                $sum(self.0 + other.0)
            }
        }
        impl AddAssign<$right> for $left {
            #[inline]
            fn add_assign(&mut self, other: $right) {
                self.0 += other.0;
            }
        }
    };
    ($left:ident - $right:ident = $difference:ident) => {
        impl Sub<$right> for $left {
            type Output = $difference;
            #[inline]
            fn sub(self, other: $right) -> $difference {
                $difference(self.0 - other.0)
            }
        }
    };
}

arithmetic!(Bytes + Bytes = Bytes);
arithmetic!(Bytes - Bytes = Bytes);
arithmetic!(Blocks + Blocks = Blocks);
arithmetic!(Blocks - Blocks = Blocks);
arithmetic!(Lba + Blocks = Lba);
arithmetic!(Nanos + Nanos = Nanos);
arithmetic!(Nanos - Nanos = Nanos);
arithmetic!(Instant + Nanos = Instant);
arithmetic!(Instant - Nanos = Instant);

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl SubAssign for Nanos {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Sub for Instant {
    type Output = Nanos;
    /// Time between two instants; the right one must not be later.
    #[inline]
    fn sub(self, earlier: Self) -> Nanos {
        debug_assert!(earlier <= self, "an instant is subtracted from an earlier one");
        Nanos(self.0 - earlier.0)
    }
}

impl fmt::Display for BlockSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(formatter)
    }
}
