//! Patterns: which places of an area are accessed, and how often each.
//!
//! The patterns are those of \[SSDIQ\]: all places alike; ranks by Zipf's law, scattered over the
//! area; two zones of which one has a greater share of the accesses than of the places; and zones
//! that are written whole.

use std::fmt;
use std::str::FromStr;

use trimbench_core::rng::Rng;
use trimbench_core::settings::ValueProblem;
use trimbench_core::units::rounded;
use trimbench_core::{Bytes, Ppm};

use crate::method::Misfit;

#[cfg(test)]
mod tests;

/// What a pattern's name begins with.
const ZIPF: &str = "zipf-";
const HOT: &str = "hot-";
/// And what it may end with.
const SCATTERED: &str = "-scattered";
const ZONES: &str = "zones-";
const TRIMMED: &str = "-trimmed";
/// Zones that may be written side by side.
const ACTIVE: std::ops::RangeInclusive<u32> = 1..=1_024;
/// Exponents of Zipf's law, in thousandths.
const EXPONENTS: std::ops::RangeInclusive<u32> = 1..=2_000;

/// Which places are accessed how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// All alike.
    #[default]
    Uniform,
    /// The place of rank k as often as k to the power of minus this exponent, in thousandths; the
    /// ranks are scattered over the area.
    Zipf {
        /// The exponent in thousandths, 1 to 2,000.
        thousandths: u32,
    },
    /// Some places have a share of the accesses of their own; within each zone all places are
    /// alike.
    Hot {
        /// Share of the places that are hot, in whole percent from 1 to 99.
        places: Ppm,
        /// Share of the accesses that go to them, in whole percent.
        accesses: Ppm,
        /// Whether they are scattered over the area; else they are its first ones. What was
        /// written in order lies mixed in every superblock where they are.
        scattered: bool,
    },
    /// Zones are written whole, each in order.
    Zones(Zones),
}

/// Zones that are written whole, each in order and several side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zones {
    /// Bytes of each.
    pub size: Bytes,
    /// How many are written side by side, 1 to 1,024.
    pub active: u32,
    /// Whether a zone is discarded before it is written anew.
    pub trimmed: bool,
}

impl Zones {
    /// Whether a span holds these zones and one more, in whole accesses; else why not.
    ///
    /// # Errors
    /// What is wrong and what would be right.
    pub fn fit(&self, span: Bytes, access: Bytes) -> Result<(), Misfit> {
        let Self { size, active, .. } = *self;
        if size.0 == 0 || !size.0.is_multiple_of(access.0) {
            return Err(Misfit(format!("zones of {size} are not whole accesses of {access}")));
        }
        let zones = span.0 / size.0;
        if zones <= active.into() {
            return Err(Misfit(format!(
                "{span} hold {zones} zones of {size}, but {active} are written side by side, and \
                 the next one must be another: give smaller zones or fewer"
            )));
        }
        Ok(())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => formatter.write_str("uniform"),
            Self::Zipf { thousandths } => {
                write!(formatter, "{ZIPF}{}", f64::from(*thousandths) / 1_000.0)
            }
            Self::Hot { places, accesses, scattered } => {
                let scattered = if *scattered { SCATTERED } else { "" };
                write!(formatter, "{HOT}{places}-{accesses}{scattered}")
            }
            Self::Zones(Zones { size, active, trimmed }) => {
                let trimmed = if *trimmed { TRIMMED } else { "" };
                write!(formatter, "{ZONES}{size}-{active}{trimmed}")
            }
        }
    }
}

impl FromStr for Pattern {
    type Err = ValueProblem;

    fn from_str(text: &str) -> Result<Self, ValueProblem> {
        let zipf = |exponent: &str| {
            let given = exponent.parse::<f64>().ok()? * 1_000.0;
            let thousandths = u32::try_from(rounded(given)).ok()?;
            let is_whole = (f64::from(thousandths) - given).abs() < 1e-6;
            let is_known = is_whole && EXPONENTS.contains(&thousandths);
            is_known.then_some(Self::Zipf { thousandths })
        };
        let hot = |shares: &str| {
            let inner = shares.strip_suffix(SCATTERED);
            let (places, accesses) = inner.unwrap_or(shares).split_once('-')?;
            let share = |text: &str| {
                let whole = text.parse::<Ppm>().ok()?;
                (whole.0.is_multiple_of(10_000) && whole <= Ppm::ONE).then_some(whole)
            };
            let (places, accesses) = (share(places)?, share(accesses)?);
            let both = Ppm(0) < places && places < Ppm::ONE;
            let scattered = inner.is_some();
            both.then_some(Self::Hot { places, accesses, scattered })
        };
        let zones = |zones: &str| {
            let inner = zones.strip_suffix(TRIMMED);
            let (size, active) = inner.unwrap_or(zones).split_once('-')?;
            let (size, active) = (size.parse::<Bytes>().ok()?, active.parse().ok()?);
            let known = size.0 > 0 && ACTIVE.contains(&active);
            known.then_some(Self::Zones(Zones { size, active, trimmed: inner.is_some() }))
        };
        let text = text.trim();
        let pattern = match text {
            "uniform" => Some(Self::Uniform),
            _ => None
                .or_else(|| zipf(text.strip_prefix(ZIPF)?))
                .or_else(|| hot(text.strip_prefix(HOT)?))
                .or_else(|| zones(text.strip_prefix(ZONES)?)),
        };
        pattern.ok_or_else(|| {
            ValueProblem(format!(
                "`{text}` is none of `uniform`, `zipf-EXPONENT` with an exponent from 0.001 to 2, \
                 `hot-PLACES-ACCESSES` in whole percent, as `hot-20%-80%` or \
                 `hot-20%-80%-scattered`, and `zones-SIZE-COUNT`, as `zones-1GiB-8` or \
                 `zones-1GiB-8-trimmed`, with 1 to 1024 at a time"
            ))
        })
    }
}

/// Draws places of an area by a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    count: u64,
    draw: Draw,
    /// A factor that scatters them; 1 leaves them in order.
    scatter: u64,
}

#[derive(Clone, Debug)]
enum Draw {
    Uniform,
    Zipf(Zipf),
    Hot { hot: u64, accesses: Ppm },
}

impl Places {
    /// Places 0 to `count` - 1.
    ///
    /// # Panics
    /// If there is none, or for zones, whose order is that of [`ZoneWrites`].
    ///
    /// [`ZoneWrites`]: crate::zones::ZoneWrites
    pub(crate) fn new(pattern: Pattern, count: u64) -> Self {
        assert!(count > 0, "an area has places");
        let scattered = match pattern {
            Pattern::Uniform | Pattern::Zones(_) => false,
            Pattern::Zipf { .. } => true,
            Pattern::Hot { scattered, .. } => scattered,
        };
        let scatter = if scattered { scatter(count) } else { 1 };
        let draw = match pattern {
            Pattern::Uniform => Draw::Uniform,
            Pattern::Zipf { thousandths } => {
                Draw::Zipf(Zipf::new(count, f64::from(thousandths) / 1_000.0))
            }
            Pattern::Hot { places, accesses, .. } => {
                let hot = places.of(count);
                // A zone without a place has no accesses.
                match hot {
                    0 => Draw::Uniform,
                    hot => Draw::Hot { hot, accesses },
                }
            }
            Pattern::Zones(_) => unreachable!("zones are written in order"),
        };
        Self { count, draw, scatter }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        let place = match &self.draw {
            Draw::Uniform => rng.below(self.count),
            Draw::Zipf(law) => law.draw(rng) - 1,
            Draw::Hot { hot, accesses } => {
                if rng.chance(*accesses) {
                    rng.below(*hot)
                } else {
                    hot + rng.below(self.count - hot)
                }
            }
        };
        if self.scatter == 1 {
            return place;
        }
        let scattered = u128::from(place) * u128::from(self.scatter) % u128::from(self.count);
        u64::try_from(scattered).expect("a remainder is below its divisor")
    }
}

/// A factor that maps 0 to `count` - 1 onto themselves, neighbours far apart: about the golden
/// section of the count, without a common divisor.
fn scatter(count: u64) -> u64 {
    let section = u128::from(count) * 618_034 / 1_000_000;
    let start = u64::try_from(section).expect("it is below the count").max(1);
    let mut factors = (start..=count).chain(1..start);
    factors.find(|factor| common_divisor(*factor, count) == 1).expect("1 has none")
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Zipf's law over ranks, drawn by rejection and inversion.
///
/// Source: \[HOERMANN96\], as Apache Commons RNG writes it (`RejectionInversionZipfSampler`). The
/// functions are libm's, so that the same seed gives the same ranks on every machine.
#[derive(Clone, Debug)]
struct Zipf {
    exponent: f64,
    count: f64,
    /// Integrals of the hat function up to the first rank, and up to the last.
    first: f64,
    last: f64,
    /// How far below its rank an inverted value is accepted at once.
    sure: f64,
}

impl Zipf {
    fn new(count: u64, exponent: f64) -> Self {
        let count = count as f64;
        let mut law = Self { exponent, count, first: 0.0, last: 0.0, sure: 0.0 };
        law.first = law.integral(1.5) - 1.0;
        law.last = law.integral(count + 0.5);
        law.sure = 2.0 - law.inverse(law.integral(2.5) - law.height(2.0));
        law
    }

    /// A rank, from 1 on.
    fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            // 53 bits are what a fraction has.
            let fraction = (rng.bits() >> 11) as f64 / (1_u64 << 53) as f64;
            let under = self.last + fraction * (self.first - self.last);
            let value = self.inverse(under);
            let rank = libm::round(value).clamp(1.0, self.count);
            let accepted =
                rank - value <= self.sure || under >= self.integral(rank + 0.5) - self.height(rank);
            if accepted {
                return rounded(rank);
            }
        }
    }

    /// The hat function.
    fn height(&self, value: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(value))
    }

    /// Its integral from 1.
    fn integral(&self, value: f64) -> f64 {
        let log = libm::log(value);
        growth((1.0 - self.exponent) * log) * log
    }

    /// The inverse of the integral.
    fn inverse(&self, integral: f64) -> f64 {
        // Rounding may lead below the least that the logarithm takes.
        let scaled = (integral * (1.0 - self.exponent)).max(-1.0);
        libm::exp(relative_log(scaled) * integral)
    }
}

/// `(e^x - 1) / x`, 1 at 0.
fn growth(value: f64) -> f64 {
    if value.abs() > 1e-8 { libm::expm1(value) / value } else { 1.0 + value / 2.0 }
}

/// `ln(1 + x) / x`, 1 at 0.
fn relative_log(value: f64) -> f64 {
    if value.abs() > 1e-8 { libm::log1p(value) / value } else { 1.0 - value / 2.0 }
}
