//! Latency histograms: 1 ns to 24 h within three digits, mergeable, as text.
//!
//! Everything asked of a histogram is computed from its classes alone (each at most 1/1024 of its
//! values wide), so that a histogram read back from a record answers exactly as the one that was
//! written. Ranks and shares are integer arithmetic. Exact extremes are for the caller to keep.
//!
//! Format: `HdrHistogram` V2, uncompressed, in base64, as every HDR tool reads it.
//!
//! Units: time in `Nanos`. Source of the rule on sample counts: `methods.md` (10 / (1 - q)).

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use trimbench_core::Nanos;

#[cfg(test)]
mod tests;

/// The longest latency that is distinguished from longer ones: 24 h.
pub const LONGEST: Nanos = Nanos::from_secs(24 * 3_600);
/// Significant decimal digits that are kept.
const DIGITS: u8 = 3;
/// Of the V2 format: cookie, length of the counts, offset, digits, range, ratio.
const HEADER_BYTES: u64 = 40;
/// One, in the unit of [`Quantile`].
const ONE: u32 = 1_000_000;

/// Latencies of commands, counted in classes three digits fine.
#[derive(Clone, PartialEq)]
pub struct LatencyHistogram {
    counts: Histogram<u64>,
}

/// A share of commands or of time in (0, 1), exact to a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantile {
    millionths: u32, // In [1, 999_999].
}

/// A text that holds no latency histogram.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistogramError {
    /// The text is not base64: the record was changed.
    #[error("the histogram is not base64")]
    NotBase64,
    /// The bytes are not an `HdrHistogram` in V2 format.
    #[error("the histogram is not in HdrHistogram V2 format")]
    NotV2,
    /// A histogram with another range or precision than this version writes.
    #[error("the histogram spans {low} to {high} with {digits} digits; it cannot be merged here")]
    OtherShape {
        /// Its smallest value.
        low: u64,
        /// Its largest value.
        high: u64,
        /// Its significant digits.
        digits: u8,
    },
}

/// A text that is not `p` and a percentage in (0, 100) with at most four decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a percentile; write for example `p99.9`")]
pub struct NotAQuantile;

impl LatencyHistogram {
    /// An empty histogram; takes about 300 KiB.
    pub fn new() -> Self {
        let counts = Histogram::new_with_bounds(1, LONGEST.0, DIGITS)
            .expect("the bounds are in order and the digits few");
        Self { counts }
    }

    /// Counts one command. Latencies beyond [`LONGEST`] count as that long.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.counts.saturating_record(latency.0.min(LONGEST.0));
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("all latency histograms have one shape");
    }

    /// How many commands were counted.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The upper end of the highest class in use: at most 0.1 % above the longest latency, never
    /// below it. `None` when empty.
    pub fn max(&self) -> Option<Nanos> {
        (!self.counts.is_empty()).then(|| Nanos(self.counts.max()))
    }

    /// How many commands took longer than the class that holds `latency`.
    pub fn count_above(&self, latency: Nanos) -> u64 {
        self.count() - self.counts.count_between(0, latency.0.min(LONGEST.0))
    }

    /// The mean of the classes' middles, in ns; within 0.05 % of the exact mean. `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        let time = self.total_time();
        (!self.counts.is_empty()).then(|| time as f64 / self.count() as f64)
    }

    /// The latency that a share `quantile` of the commands did not exceed: the upper end of the
    /// class that holds the command of rank `ceil(quantile * count)`.
    ///
    /// `None` with fewer than `10 / (1 - quantile)` commands: fewer than ten would lie above it.
    pub fn percentile(&self, quantile: Quantile) -> Option<Nanos> {
        if !quantile.has_enough(self.count()) {
            return None;
        }
        let wanted = u128::from(self.count()) * u128::from(quantile.millionths);
        self.first_class_reaching(wanted, |_, count| u128::from(count))
    }

    /// The smallest latency L such that the commands of at most L account for a share `quantile` of
    /// the total *time*: what a waiting user meets, where [`Self::percentile`] is what a command
    /// meets. Source: the latency-weighted percentiles of S1's test suite.
    ///
    /// `None` with fewer than `10 / (1 - quantile)` commands, or when no time passed at all.
    pub fn latency_weighted(&self, quantile: Quantile) -> Option<Nanos> {
        let total = self.total_time();
        if !quantile.has_enough(self.count()) || total == 0 {
            return None;
        }
        let wanted = total * u128::from(quantile.millionths);
        self.first_class_reaching(wanted, |middle, count| u128::from(middle) * u128::from(count))
    }

    /// The histogram as text; equal histograms give equal text.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.counts, &mut bytes)
            .expect("a vector takes all bytes and counts stay below 2^63");
        STANDARD.encode(bytes)
    }

    /// Reads what [`Self::to_text`] wrote.
    pub fn from_text(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD.decode(text).map_err(|_| HistogramError::NotBase64)?;
        // The library takes as much memory as the header says that there are bytes of counts.
        let counts = bytes.get(4..8).and_then(|field| field.try_into().ok());
        let counts = counts.map(|field| u64::from(u32::from_be_bytes(field)));
        if counts != (bytes.len() as u64).checked_sub(HEADER_BYTES) {
            return Err(HistogramError::NotV2);
        }
        let counts: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|_| HistogramError::NotV2)?;
        let (low, high, digits) = (counts.low(), counts.high(), counts.sigfig());
        if (low, high, digits) != (1, LONGEST.0, DIGITS) {
            return Err(HistogramError::OtherShape { low, high, digits });
        }
        Ok(Self { counts })
    }

    /// Sum of all latencies, each taken as the middle of its class, in ns.
    fn total_time(&self) -> u128 {
        self.classes().map(|(middle, count, _)| u128::from(middle) * u128::from(count)).sum()
    }

    /// The classes in use, ascending: middle, count, upper end.
    fn classes(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.counts.iter_recorded().map(|class| {
            let value = class.value_iterated_to();
            let middle = self.counts.median_equivalent(value);
            (middle, class.count_at_value(), self.counts.highest_equivalent(value))
        })
    }

    /// The upper end of the first class at which the sum of `weight(middle, count)`, in millionths,
    /// reaches `wanted`.
    fn first_class_reaching(
        &self,
        wanted: u128,
        weight: impl Fn(u64, u64) -> u128,
    ) -> Option<Nanos> {
        let mut sum: u128 = 0;
        for (middle, count, upper) in self.classes() {
            sum += weight(middle, count) * u128::from(ONE);
            if sum >= wanted {
                return Some(Nanos(upper));
            }
        }
        None
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LatencyHistogram {
    /// A summary: the thousands of classes help nobody.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LatencyHistogram")
            .field("count", &self.count())
            .field("max", &self.max())
            .finish()
    }
}

impl Quantile {
    /// The median.
    pub const P50: Self = Self { millionths: 500_000 };
    /// 90 %.
    pub const P90: Self = Self { millionths: 900_000 };
    /// 99 %.
    pub const P99: Self = Self { millionths: 990_000 };
    /// 99.9 %.
    pub const P99_9: Self = Self { millionths: 999_000 };
    /// 99.99 %.
    pub const P99_99: Self = Self { millionths: 999_900 };
    /// The quantiles of every table.
    pub const STANDARD: [Self; 5] = [Self::P50, Self::P90, Self::P99, Self::P99_9, Self::P99_99];

    /// From millionths; `None` unless in [1, 999,999].
    pub fn from_millionths(millionths: u32) -> Option<Self> {
        (1..ONE).contains(&millionths).then_some(Self { millionths })
    }

    /// The share as a fraction in (0, 1).
    pub fn fraction(self) -> f64 {
        f64::from(self.millionths) / f64::from(ONE)
    }

    /// Observations below which the percentile is not to be printed: `10 / (1 - q)`, rounded up.
    pub fn samples_needed(self) -> u64 {
        (10 * u64::from(ONE)).div_ceil(u64::from(ONE - self.millionths))
    }

    fn has_enough(self, count: u64) -> bool {
        count >= self.samples_needed()
    }
}

impl fmt::Display for Quantile {
    /// `p99.9`: the percentage without trailing zeros.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = format!("{}.{:04}", self.millionths / 10_000, self.millionths % 10_000);
        formatter.pad(&format!("p{}", percent.trim_end_matches('0').trim_end_matches('.')))
    }
}

impl FromStr for Quantile {
    type Err = NotAQuantile;

    /// Reads `p99.9`; at most four decimals.
    fn from_str(text: &str) -> Result<Self, NotAQuantile> {
        let digits = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let percent = text.strip_prefix('p').ok_or(NotAQuantile)?;
        let (whole, fraction) = percent.split_once('.').unwrap_or((percent, "0"));
        let whole = Some(whole).filter(digits).filter(|whole| whole.len() <= 2);
        let fraction = Some(fraction).filter(digits).filter(|fraction| fraction.len() <= 4);
        let (whole, fraction) = whole.zip(fraction).ok_or(NotAQuantile)?;
        let millionths = format!("{whole}{fraction:0<4}").parse().map_err(|_| NotAQuantile)?;
        Self::from_millionths(millionths).ok_or(NotAQuantile)
    }
}
