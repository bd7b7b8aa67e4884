//! Device statistics, log 04h: a page of 512 bytes a subject. \[ATA\] ACS-4, 9.5; offsets, widths
//! and flags also \[SMARTMONTOOLS\] `ataprint.cpp`.
//!
//! ```text
//! byte 0..2   revision, 2 the page's number, 8 * n statistic n:
//!             bytes 0 to 6 its value, byte 7 its flags
//! ```
//!
//! A statistic that is not supported is not there. One that is supported but not valid has no
//! value yet. ATA has no statistic on TRIM.

use crate::error::LogPageError;
use crate::field::{FieldKind, LogField};
use crate::page::{DecodedPage, LogLayout, LogPage, NamedValue, VersionAt};

/// The log address of device statistics.
pub const LOG: u8 = 0x04;
/// Bytes of a page.
pub const PAGE_BYTES: usize = 512;

/// The pages that are read, in ascending order of their numbers.
pub static ATA_STATISTICS: [AtaStatisticsPage; 6] = [
    AtaStatisticsPage { number: 0x01, page: &GENERAL },
    AtaStatisticsPage { number: 0x03, page: &ROTATING },
    AtaStatisticsPage { number: 0x04, page: &ERRORS },
    AtaStatisticsPage { number: 0x05, page: &TEMPERATURE },
    AtaStatisticsPage { number: 0x06, page: &TRANSPORT },
    AtaStatisticsPage { number: 0x07, page: &SOLID_STATE },
];

static GENERAL: LogPage = page(
    "ata-general-statistics",
    "General Statistics",
    &[LogLayout::fields((1, 1), &[GENERAL_FIELDS])],
);

static ROTATING: LogPage = page(
    "ata-rotating-statistics",
    "Rotating Media Statistics",
    &[LogLayout::fields((1, 1), &[ROTATING_FIELDS])],
);

static ERRORS: LogPage = page(
    "ata-error-statistics",
    "General Errors Statistics",
    &[LogLayout::fields((1, 1), &[ERRORS_FIELDS])],
);

static TEMPERATURE: LogPage = page(
    "ata-temperature-statistics",
    "Temperature Statistics",
    &[LogLayout::fields((1, 1), &[TEMPERATURE_FIELDS])],
);

static TRANSPORT: LogPage = page(
    "ata-transport-statistics",
    "Transport Statistics",
    &[LogLayout::fields((1, 1), &[TRANSPORT_FIELDS])],
);

static SOLID_STATE: LogPage = page(
    "ata-solid-state-statistics",
    "Solid State Device Statistics",
    &[LogLayout::fields((1, 1), &[SOLID_STATE_FIELDS])],
);

const GENERAL_FIELDS: &[LogField] = &[
    LogField::counter("power-on-reset-count", 0x08, 4, "lifetime power-on resets"),
    LogField::counter("power-on-hours", 0x10, 4, "power-on time"),
    LogField::counter("host-written-logical-sectors", 0x18, 6, "logical sectors written"),
    LogField::counter("host-write-command-count", 0x20, 6, "write commands"),
    LogField::counter("host-read-logical-sectors", 0x28, 6, "logical sectors read"),
    LogField::counter("host-read-command-count", 0x30, 6, "read commands"),
    LogField::gauge("date-and-time-ms", 0x38, 6, "clock as the host set it, or power-on time"),
    LogField::gauge("pending-error-count", 0x40, 4, "sectors that are to be replaced"),
    LogField::gauge("workload-utilization-percent", 0x48, 2, "of the workload it is made for"),
    LogField::gauge("utilization-usage-rate", 0x50, 6, "validity, basis and rate"),
    LogField::gauge("resource-availability", 0x58, 7, "resources and fraction"),
    LogField::gauge("random-write-resources-used", 0x60, 1, "random write resources used"),
];

const ROTATING_FIELDS: &[LogField] = &[
    LogField::counter("spindle-power-on-hours", 0x08, 4, "spindle motor power-on time"),
    LogField::counter("head-flying-hours", 0x10, 4, "head flying time"),
    LogField::counter("head-load-count", 0x18, 4, "head load events"),
    LogField::counter("reallocated-logical-sectors", 0x20, 4, "logical sectors replaced"),
    LogField::counter("read-recovery-attempt-count", 0x28, 4, "read recovery attempts"),
    LogField::counter("mechanical-start-failure-count", 0x30, 4, "mechanical start failures"),
    LogField::gauge("reallocation-candidate-sectors", 0x38, 4, "sectors to be replaced"),
    LogField::counter("high-priority-unload-count", 0x40, 4, "high priority unloads"),
];

const ERRORS_FIELDS: &[LogField] = &[
    LogField::counter("uncorrectable-error-count", 0x08, 4, "reported uncorrectable errors"),
    LogField::counter(
        "reset-while-busy-count",
        0x10,
        4,
        "resets between a command and its completion; commands that took too long end so",
    ),
    LogField::counter("physical-element-change-count", 0x18, 4, "physical element changes"),
];

const TEMPERATURE_FIELDS: &[LogField] = &[
    celsius("temperature-celsius", 0x08, "temperature now"),
    celsius("temperature-short-average-celsius", 0x10, "average of the last 24 hours"),
    celsius("temperature-long-average-celsius", 0x18, "average of the last 42 days"),
    celsius("temperature-max-celsius", 0x20, "highest"),
    celsius("temperature-min-celsius", 0x28, "lowest"),
    celsius("temperature-short-average-max-celsius", 0x30, "highest short average"),
    celsius("temperature-short-average-min-celsius", 0x38, "lowest short average"),
    celsius("temperature-long-average-max-celsius", 0x40, "highest long average"),
    celsius("temperature-long-average-min-celsius", 0x48, "lowest long average"),
    LogField::counter("over-temperature-minutes", 0x50, 4, "time above the specified maximum"),
    celsius("temperature-specified-max-celsius", 0x58, "specified maximum"),
    LogField::counter("under-temperature-minutes", 0x60, 4, "time below the specified minimum"),
    celsius("temperature-specified-min-celsius", 0x68, "specified minimum"),
];

const TRANSPORT_FIELDS: &[LogField] = &[
    LogField::counter("hardware-reset-count", 0x08, 4, "hardware resets"),
    LogField::counter("signal-recovery-count", 0x10, 4, "asynchronous signal recoveries (ASR)"),
    LogField::counter("interface-crc-error-count", 0x18, 4, "CRC errors of the cable"),
];

const SOLID_STATE_FIELDS: &[LogField] = &[LogField::gauge(
    "endurance-used-percent",
    0x08,
    1,
    "estimate by the vendor; may exceed 100, 255 stands for 255 and more",
)];

/// A page of device statistics.
#[derive(Clone, Copy, Debug)]
pub struct AtaStatisticsPage {
    /// Its number in the log.
    pub number: u8,
    /// Its table. The offset of a field is that of its statistic.
    pub page: &'static LogPage,
}

/// A statistic that the drive supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtaStatistic {
    /// Its value; meaningful only if `flags.is_valid`.
    pub value: NamedValue,
    /// What the drive says of the value.
    pub flags: StatisticFlags,
}

/// Flags of a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "bits of the drive, each on its own")]
pub struct StatisticFlags {
    /// Bit 6: the value is valid.
    pub is_valid: bool,
    /// Bit 5: the value is normalized, not counted.
    pub is_normalized: bool,
    /// Bit 4: the drive can notify of it.
    pub notifies: bool,
    /// Bit 3: the condition that is watched for holds.
    pub is_condition_met: bool,
}

impl AtaStatisticsPage {
    /// The supported statistics in the 512 bytes of this page.
    pub fn statistics(&self, bytes: &[u8]) -> Result<(u32, Vec<AtaStatistic>), LogPageError> {
        let decoded = self.page.read(bytes)?;
        if bytes[2] != self.number {
            let why = "the header has another page's number";
            return Err(LogPageError::Foreign { page: self.page.id, why });
        }
        let statistic = |(field, value): (&LogField, NamedValue)| {
            let flags = bytes[field.at + 7];
            (flags & 1 << 7 != 0).then_some(AtaStatistic {
                value,
                flags: StatisticFlags {
                    is_valid: flags & 1 << 6 != 0,
                    is_normalized: flags & 1 << 5 != 0,
                    notifies: flags & 1 << 4 != 0,
                    is_condition_met: flags & 1 << 3 != 0,
                },
            })
        };
        let fields = self.page.fields().map(|(_, field)| field);
        let found = fields.zip(decoded.values).filter_map(statistic).collect();
        Ok((decoded.version.unwrap_or(0), found))
    }

    /// The statistics that are supported and valid.
    pub fn read(&self, bytes: &[u8]) -> Result<DecodedPage, LogPageError> {
        let (version, statistics) = self.statistics(bytes)?;
        let valid = statistics.into_iter().filter(|statistic| statistic.flags.is_valid);
        let values = valid.map(|statistic| statistic.value).collect();
        Ok(DecodedPage { page: self.page.id, version: Some(version), values })
    }
}

/// The numbers of the pages that a drive has, from page 0 of the log.
pub fn supported_pages(bytes: &[u8]) -> Result<Vec<u8>, LogPageError> {
    const ID: &str = "ata-supported-statistics";
    if bytes.len() < PAGE_BYTES {
        let (needed, found) = (PAGE_BYTES, bytes.len());
        return Err(LogPageError::TooShort { page: ID, needed, found });
    }
    let count = usize::from(bytes[8]);
    if bytes[2] != 0 || count == 0 {
        return Err(LogPageError::Foreign { page: ID, why: "it is no list of pages" });
    }
    Ok(bytes[9..9 + count].to_vec())
}

const fn page(id: &'static str, title: &'static str, layouts: &'static [LogLayout]) -> LogPage {
    LogPage {
        title,
        version: Some(VersionAt { at: 0, width: 2 }),
        sources: &["ATA", "SMARTMONTOOLS"],
        ..LogPage::plain(id, LOG, layouts)
    }
}

const fn celsius(name: &'static str, at: usize, meaning: &'static str) -> LogField {
    LogField::gauge(name, at, 1, meaning).as_kind(FieldKind::SignedGauge)
}
