//! What a drive counts: one form for `NVMe` and ATA, each figure with its source.

use trimbench_core::{Bytes, Nanos};

/// A figure of a drive, with where it is from, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter<T> {
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
pub struct DriveCounters {
    /// Written by the host. `NVMe` counts in units of 512,000 bytes, rounded up: differences
    /// below some hundred megabytes say little.
    pub host_written: Counter<Bytes>,
    /// Read by the host, as above.
    pub host_read: Counter<Bytes>,
    /// Written to the media: divided by `host_written`, the drive's own write amplification.
    pub media_written: Counter<Bytes>,
    /// Estimate of the life used up, in percent; may exceed 100. 255 means 255 or more.
    pub percentage_used: Counter<u8>,
    /// Spare capacity left, in percent.
    pub available_spare: Counter<u8>,
    /// Temperature in degrees Celsius.
    pub temperature_celsius: Counter<i16>,
    /// Time with lighter throttling for heat (minor impact on performance).
    pub throttled_light: Counter<Nanos>,
    /// Time with heavier throttling for heat.
    pub throttled_heavy: Counter<Nanos>,
    /// Time above the temperature that the drive warns of; whole minutes.
    pub overheated: Counter<Nanos>,
    /// Times that throttling for heat began (OCP only; 255 means 255 or more).
    pub throttle_events: Counter<u8>,
    /// Time under power; whole hours. May leave out low-power states.
    pub power_on: Counter<Nanos>,
    /// Losses of power without notice.
    pub unsafe_shutdowns: Counter<u64>,
    /// Errors of the media that correction did not repair.
    pub media_errors: Counter<u64>,
}

impl<T: Copy> Counter<T> {
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
    pub(super) fn map<U>(self, convert: impl FnOnce(T) -> U) -> Counter<U> {
        match self {
            Self::Known { value, source } => Counter::Known { value: convert(value), source },
            Self::TooLarge { source } => Counter::TooLarge { source },
            Self::NotAvailable { why } => Counter::NotAvailable { why },
        }
    }
}

impl Counter<u64> {
    /// `count` units of `unit`, which may exceed 64 bits.
    pub(super) fn scaled(count: u128, unit: u64, source: &'static str) -> Self {
        let value = count.checked_mul(u128::from(unit)).and_then(|value| u64::try_from(value).ok());
        value.map_or(Self::TooLarge { source }, |value| Self::Known { value, source })
    }
}

impl DriveCounters {
    /// No figure at all, for one reason.
    pub(super) fn none(why: &'static str) -> Self {
        Self {
            host_written: Counter::NotAvailable { why },
            host_read: Counter::NotAvailable { why },
            media_written: Counter::NotAvailable { why },
            percentage_used: Counter::NotAvailable { why },
            available_spare: Counter::NotAvailable { why },
            temperature_celsius: Counter::NotAvailable { why },
            throttled_light: Counter::NotAvailable { why },
            throttled_heavy: Counter::NotAvailable { why },
            overheated: Counter::NotAvailable { why },
            throttle_events: Counter::NotAvailable { why },
            power_on: Counter::NotAvailable { why },
            unsafe_shutdowns: Counter::NotAvailable { why },
            media_errors: Counter::NotAvailable { why },
        }
    }
}
