//! Samsung: extended SMART, log `CAh`. \[NVMECONTROL\] `modules/samsung/samsung.c`.
//!
//! The page has neither GUID nor version, so it is accepted if one of its attributes is known.
//! Newer drives (PM9D3) have OCP's pages instead. Units of writes and reads are not documented.

use super::attributes::{attribute, parts};
use crate::field::LogField;
use crate::page::{AttributeArea, LogAttribute, LogLayout, LogPage};

/// The page.
pub static EXTENDED_SMART: LogPage = LogPage {
    title: "Samsung extended SMART",
    sources: &["NVMECONTROL"],
    ..LogPage::plain(
        "samsung-extended-smart",
        0xca,
        &[LogLayout {
            versions: (0, 0),
            fields: &[FIXED],
            // FreeBSD reads 13 items.
            attributes: Some(AttributeArea { length: 156, item: 12, known: KNOWN }),
        }],
    )
};

const KNOWN: &[LogAttribute] = &[
    attribute!(12, 0xab, "program-fail", "count", "program operations that failed"),
    attribute!(12, 0xac, "erase-fail", "count", "erase operations that failed"),
    parts!(12, 0xad, "erases of the erase blocks: fewest, most, average",
        "erase-min-count" 0 2, "erase-max-count" 2 2, "erase-average-count" 4 2),
    attribute!(12, 0xb8, "end-to-end-error", "count", "end-to-end errors detected"),
    attribute!(12, 0xc7, "crc-error", "count", "PCIe CRC errors"),
    attribute!(12, 0xe2, "media-wear", "1024ths-of-a-percent", "wear of the media"),
    attribute!(12, 0xe3, "host-reads", "percent", "reads among the commands of the host"),
    attribute!(12, 0xe4, "workload-timer", "minutes", "time of the workload"),
    parts!(12, 0xea, "throttling by temperature: how far, how often",
        "throttle-status-percent" 0 1, "throttle-event-count" 1 4),
    attribute!(12, 0xf4, "nand-written", "pages", "flash pages written"),
    attribute!(12, 0xf5, "host-written", "data-units", "data units that the host wrote"),
];

const FIXED: &[LogField] = &[
    LogField::gauge("write-amplification-lifetime", 256, 4, "over its life; unit not documented"),
    LogField::gauge("write-amplification-hour", 260, 4, "of the last hour; unit not documented"),
    LogField::counter("lifetime-user-writes", 264, 16, "lifetime user writes"),
    LogField::counter("lifetime-nand-writes", 280, 16, "lifetime NAND writes"),
    LogField::counter("lifetime-user-reads", 296, 16, "lifetime user reads"),
    LogField::counter("retired-block-count", 312, 4, "erase blocks retired"),
    LogField::gauge("temperature-kelvin", 316, 2, "temperature now"),
    LogField::gauge("capacitor-health", 318, 2, "energy that is stored"),
    LogField::gauge("reserved-block-unused-count", 320, 4, "reserve erase blocks that are left"),
    LogField::counter("read-reclaim-count", 324, 8, "erase blocks rewritten because of reads"),
    LogField::counter("uncorrectable-ecc-count", 332, 8, "errors not corrected"),
    LogField::gauge("reserved-block-used-count", 340, 4, "reserve erase blocks in use"),
    LogField::counter("power-on-hours", 344, 16, "power-on time"),
    LogField::counter("power-off-normal-count", 360, 16, "power-offs with notice"),
    LogField::counter("power-off-sudden-count", 376, 16, "power-offs without notice"),
    LogField::gauge("performance-indicator", 392, 4, "performance indicator"),
];
