//! Drive counters: one form for `NVMe` and ATA, each figure with its source.

use trimbench_core::{Bytes, Nanos};

/// A figure of a drive, with where it is from, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthCounter<T> {
    /// The drive says so.
    Known {
        /// The figure.
        value: T,
        /// Log, field and unit.
        source: &'static str,
    },
    /// The drive's figure does not fit into 64 bits: no drive has written 16 EiB, so the log is
    /// not to be trusted.
    TooLarge {
        /// Log and field.
        source: &'static str,
    },
    /// There is no figure. Not zero.
    NotAvailable {
        /// The reason.
        why: &'static str,
    },
}

/// What a drive counts over its life, by its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthCounters {
    /// Written by the host. `NVMe` counts in units of 512,000 bytes, rounded up: differences
    /// below some hundred megabytes say little.
    pub host_written: HealthCounter<Bytes>,
    /// Read by the host, as above.
    pub host_read: HealthCounter<Bytes>,
    /// Written to the media: divided by `host_written`, the drive's own write amplification.
    pub media_written: HealthCounter<Bytes>,
    /// Estimate of the life used up, in percent; may exceed 100. 255 means 255 or more.
    pub percentage_used: HealthCounter<u8>,
    /// Spare capacity left, in percent.
    pub available_spare: HealthCounter<u8>,
    /// Temperature in degrees Celsius.
    pub temperature_celsius: HealthCounter<i16>,
    /// Time with lighter throttling for heat (minor impact on performance).
    pub throttled_light: HealthCounter<Nanos>,
    /// Time with heavier throttling for heat.
    pub throttled_heavy: HealthCounter<Nanos>,
    /// Time above the temperature that the drive warns of; whole minutes.
    pub overheated: HealthCounter<Nanos>,
    /// Times that throttling for heat began (OCP only; 255 means 255 or more).
    pub throttle_events: HealthCounter<u8>,
    /// Time under power; whole hours. May leave out low-power states.
    pub power_on: HealthCounter<Nanos>,
    /// Losses of power without notice.
    pub unsafe_shutdowns: HealthCounter<u64>,
    /// Errors of the media that correction did not repair.
    pub media_errors: HealthCounter<u64>,
}

impl<T: Copy> HealthCounter<T> {
    /// The figure, if there is one.
    pub fn known(self) -> Option<T> {
        match self {
            Self::Known { value, .. } => Some(value),
            Self::TooLarge { .. } | Self::NotAvailable { .. } => None,
        }
    }

    /// Where the figure is from, or why there is none.
    pub fn source(self) -> &'static str {
        match self {
            Self::Known { source, .. } | Self::TooLarge { source } => source,
            Self::NotAvailable { why } => why,
        }
    }

    /// The same figure in another unit.
    pub(super) fn map<U>(self, convert: impl FnOnce(T) -> U) -> HealthCounter<U> {
        match self {
            Self::Known { value, source } => HealthCounter::Known { value: convert(value), source },
            Self::TooLarge { source } => HealthCounter::TooLarge { source },
            Self::NotAvailable { why } => HealthCounter::NotAvailable { why },
        }
    }
}

impl HealthCounter<u64> {
    /// `count` units of `unit`, which may exceed 64 bits.
    pub(super) fn scaled(count: u128, unit: u64, source: &'static str) -> Self {
        let value = count.checked_mul(u128::from(unit)).and_then(|value| u64::try_from(value).ok());
        value.map_or(Self::TooLarge { source }, |value| Self::Known { value, source })
    }
}

impl HealthCounters {
    /// No figure at all, for one reason.
    pub(super) fn none(why: &'static str) -> Self {
        Self {
            host_written: HealthCounter::NotAvailable { why },
            host_read: HealthCounter::NotAvailable { why },
            media_written: HealthCounter::NotAvailable { why },
            percentage_used: HealthCounter::NotAvailable { why },
            available_spare: HealthCounter::NotAvailable { why },
            temperature_celsius: HealthCounter::NotAvailable { why },
            throttled_light: HealthCounter::NotAvailable { why },
            throttled_heavy: HealthCounter::NotAvailable { why },
            overheated: HealthCounter::NotAvailable { why },
            throttle_events: HealthCounter::NotAvailable { why },
            power_on: HealthCounter::NotAvailable { why },
            unsafe_shutdowns: HealthCounter::NotAvailable { why },
            media_errors: HealthCounter::NotAvailable { why },
        }
    }
}
