//! Logs read by READ LOG EXT: the directory (00h), device statistics (04h) and NCQ send and
//! receive (13h). Source: \[ATA\] ACS-4 9.2, 9.5 and SATA 3.2 13.7.7.

use trimbench_core::{BlockSize, Blocks, Nanos};

use super::command::BLOCK;
use crate::passthrough::bytes::{le16, le32, le64};
use crate::passthrough::counters::{HealthCounter, HealthCounters};

/// Log addresses.
pub(super) const DIRECTORY: u8 = 0x00;
pub(super) const STATISTICS: u8 = 0x04;
pub(super) const NCQ_SEND_RECEIVE: u8 = 0x13;

/// Pages of device statistics.
pub(super) const PAGES: u8 = 0x00;
pub(super) const GENERAL: u8 = 0x01;
pub(super) const ERRORS: u8 = 0x04;
pub(super) const TEMPERATURE: u8 = 0x05;
pub(super) const SOLID_STATE: u8 = 0x07;

/// Those of the pages that the drive has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeviceStatistics {
    pub(super) general: Option<[u8; BLOCK]>,
    pub(super) errors: Option<[u8; BLOCK]>,
    pub(super) temperature: Option<[u8; BLOCK]>,
    pub(super) solid_state: Option<[u8; BLOCK]>,
}

/// Whether the directory lists pages of this log.
pub(super) fn has_log(directory: &[u8; BLOCK], log: u8) -> bool {
    le16(directory, usize::from(log) * 2) != 0
}

/// The numbers of the pages that page 0 lists.
pub(super) fn pages(page_0: &[u8; BLOCK]) -> &[u8] {
    let count = usize::from(page_0[8]).min(BLOCK - 9);
    &page_0[9..9 + count]
}

/// Whether log 13h says that SEND FPDMA QUEUED takes Data Set Management with TRIM.
pub(super) fn queues_trim(log: &[u8; BLOCK]) -> bool {
    le32(log, 0) & 1 != 0 && le32(log, 4) & 1 != 0
}

impl DeviceStatistics {
    /// The common form of these figures; `block` is what a logical sector holds.
    pub(super) fn counters(&self, block: BlockSize) -> HealthCounters {
        let minutes = |count: u64| Nanos::from_secs(60).times(count);
        let hours = |count: u64| Nanos::from_secs(3_600).times(count);
        let general = self.general.as_ref();
        HealthCounters {
            host_written: statistic(
                general,
                GENERAL,
                0x18,
                6,
                "device statistics 01h/018h, logical sectors written",
            )
            .map(|count| Blocks(count).bytes(block)),
            host_read: statistic(
                general,
                GENERAL,
                0x28,
                6,
                "device statistics 01h/028h, logical sectors read",
            )
            .map(|count| Blocks(count).bytes(block)),
            power_on: statistic(
                general,
                GENERAL,
                0x10,
                4,
                "device statistics 01h/010h, power-on hours",
            )
            .map(hours),
            media_errors: statistic(
                self.errors.as_ref(),
                ERRORS,
                0x08,
                4,
                "device statistics 04h/008h, reported uncorrectable errors",
            ),
            temperature_celsius: statistic(
                self.temperature.as_ref(),
                TEMPERATURE,
                0x08,
                1,
                "device statistics 05h/008h, current temperature, signed degrees Celsius",
            )
            .map(|byte| i16::from(low_byte(byte).cast_signed())),
            overheated: statistic(
                self.temperature.as_ref(),
                TEMPERATURE,
                0x50,
                4,
                "device statistics 05h/050h, time in over-temperature, min",
            )
            .map(minutes),
            percentage_used: statistic(
                self.solid_state.as_ref(),
                SOLID_STATE,
                0x08,
                1,
                "device statistics 07h/008h, percentage used endurance indicator",
            )
            .map(low_byte),
            ..HealthCounters::none(
                "ATA has no standard statistic for it; vendors' SMART attributes \
                differ in meaning and unit and are not read",
            )
        }
    }
}

/// The lowest `bytes` bytes of the entry at `at`, if the drive supports it and vouches for it.
fn statistic(
    page: Option<&[u8; BLOCK]>,
    number: u8,
    at: usize,
    bytes: u32,
    source: &'static str,
) -> HealthCounter<u64> {
    const SUPPORTED: u64 = 1 << 63;
    const VALID: u64 = 1 << 62;
    let Some(page) = page else {
        return HealthCounter::NotAvailable {
            why: "the drive has no such page of device statistics",
        };
    };
    // The header: revision in bits 15:0, page number in 23:16.
    if le64(page, 0) >> 16 & 0xff != u64::from(number) {
        return HealthCounter::NotAvailable {
            why: "the page of device statistics bears another number",
        };
    }
    let entry = le64(page, at);
    if entry & SUPPORTED == 0 {
        return HealthCounter::NotAvailable { why: "the drive does not support this statistic" };
    }
    if entry & VALID == 0 {
        return HealthCounter::NotAvailable { why: "the drive marks this statistic as not valid" };
    }
    HealthCounter::Known { value: entry & ((1 << (bytes * 8)) - 1), source }
}

fn low_byte(value: u64) -> u8 {
    value.to_le_bytes()[0]
}
