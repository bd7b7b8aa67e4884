//! Memblaze: attributes, log `CAh`, in versions 0, 2 and 3; and latency of reads, writes and TRIM
//! in 32 buckets, log D0h, version 2.0. \[NVMECLI\] `memblaze-smart-log-add-x.c`,
//! `memblaze-nvme.c`.
//!
//! The version of the attributes is in the last byte; version 1 is not documented. The latencies
//! have a minor and a major version; the major one is their `version`.

use super::attributes::{attribute, parts};
use crate::field::{LogField, number};
use crate::histogram::histogram;
use crate::page::{AttributeArea, LogAttribute, LogLayout, LogPage, VersionAt};

/// Attributes.
pub static ATTRIBUTES: LogPage = LogPage {
    title: "Memblaze additional SMART",
    version: Some(VersionAt { at: 511, width: 1 }),
    ..LogPage::plain(
        "memblaze-attributes",
        0xca,
        &[
            layout(0, 504, 12, VERSION_0),
            layout(2, 504, 12, VERSION_2),
            layout(3, 510, 10, VERSION_3),
        ],
    )
};

/// Latencies.
pub static LATENCY: LogPage = LogPage {
    title: "Memblaze latency statistics",
    length: 1024,
    version: Some(VersionAt { at: 4, width: 4 }),
    contradiction: |bytes| {
        (number(bytes, 0, 4) != Some(0)).then_some("its minor version is not 0 (known: 2.0)")
    },
    ..LogPage::plain(
        "memblaze-latency",
        0xd0,
        &[LogLayout::fields((2, 2), &[READ, WRITE, DEALLOCATE])],
    )
};

const READ: &[LogField] = histogram!("read", 8, 4);
const WRITE: &[LogField] = histogram!("write", 264, 4);
const DEALLOCATE: &[LogField] = histogram!("deallocate", 520, 4);

const fn layout(
    version: u32,
    length: usize,
    item: usize,
    known: &'static [LogAttribute],
) -> LogLayout {
    LogLayout {
        versions: (version, version),
        fields: &[],
        attributes: Some(AttributeArea { length, item, known }),
    }
}

const VERSION_0: &[LogAttribute] = &[
    attribute!(12, 0xab, "program-fail", "count", "program operations that failed"),
    attribute!(12, 0xac, "erase-fail", "count", "erase operations that failed"),
    parts!(12, 0xad, "erases of the erase blocks: fewest, most, average",
        "erase-min-count" 0 2, "erase-max-count" 2 2, "erase-average-count" 4 2),
    attribute!(12, 0xb8, "end-to-end-error", "count", "end-to-end errors detected"),
    attribute!(12, 0xc7, "crc-error", "count", "PCIe CRC errors"),
    attribute!(
        12,
        0xe2,
        "workload-media-wear",
        "1024ths-of-a-percent",
        "wear since the timer \
        was reset"
    ),
    attribute!(12, 0xe3, "workload-host-reads", "percent", "reads of the host since then"),
    attribute!(12, 0xe4, "workload-timer", "minutes", "time since then"),
    attribute!(12, 0xea, "throttle", "status", "throttling by temperature"),
    attribute!(12, 0xf0, "retry-buffer-overflow", "count", "retry buffer overflows"),
    attribute!(12, 0xf3, "pll-lock-loss", "count", "PLL lock losses"),
    attribute!(12, 0xf4, "nand-written", "units-of-32-mib", "written to the flash"),
    attribute!(12, 0xf5, "host-written", "units-of-32-mib", "written by the host"),
    attribute!(12, 0xf6, "system-area-life", "percent", "life that is left"),
    attribute!(12, 0xfa, "nand-read", "units-of-32-mib", "read from the flash"),
    parts!(12, 0xe7, "temperature: highest, lowest, now", "temperature-max-kelvin" 0 2,
        "temperature-min-kelvin" 2 2, "temperature-kelvin" 4 2),
    parts!(12, 0xe8, "power: highest, lowest, now", "power-max" 0 2, "power-min" 2 2,
        "power" 4 2),
    parts!(12, 0xaf, "temperature since power-on: highest, lowest, now",
        "temperature-since-power-on-max-kelvin" 0 2, "temperature-since-power-on-min-kelvin" 2 2,
        "temperature-since-power-on-kelvin" 4 2),
    attribute!(12, 0xec, "power-loss-protection", "status", "power-loss protection"),
    attribute!(12, 0xf2, "read-fail", "count", "reads that failed"),
    parts!(12, 0xeb, "throttling by temperature: whether, and how long ever",
        "throttle-now-status" 0 1, "throttle-time" 1 4),
    attribute!(12, 0xed, "flash-media-error", "count", "errors of the flash"),
];

const VERSION_2: &[LogAttribute] = &[
    attribute!(12, 0xab, "program-fail", "count", "program operations that failed"),
    attribute!(12, 0xac, "erase-fail", "count", "erase operations that failed"),
    parts!(12, 0xad, "erases of the erase blocks: fewest, most, average",
        "erase-min-count" 0 2, "erase-max-count" 2 2, "erase-average-count" 4 2),
    attribute!(12, 0xb8, "end-to-end-error", "count", "end-to-end errors detected"),
    attribute!(12, 0xc7, "crc-error", "count", "PCIe CRC errors"),
    attribute!(
        12,
        0xe2,
        "workload-media-wear",
        "1024ths-of-a-percent",
        "wear since the timer \
        was reset"
    ),
    attribute!(12, 0xe3, "workload-host-reads", "percent", "reads of the host since then"),
    attribute!(12, 0xe4, "workload-timer", "minutes", "time since then"),
    parts!(12, 0xea, "throttling by temperature: whether, how often",
        "throttle-now-status" 0 1, "throttle-event-count" 1 4),
    attribute!(12, 0xf0, "write-amplification", "lifetime", "lifetime write amplification"),
    attribute!(12, 0xf3, "pll-lock-loss", "count", "PLL lock losses"),
    attribute!(12, 0xf4, "nand-written", "units", "written to the flash; unit not documented"),
    attribute!(12, 0xf5, "host-written", "units", "written by the host; unit not documented"),
    attribute!(12, 0xf6, "system-area-life", "percent", "life that is left"),
    attribute!(12, 0xf9, "firmware-update", "count", "firmware updates"),
    attribute!(12, 0xfa, "dram-corrected", "count", "DRAM errors corrected"),
    attribute!(12, 0xfb, "dram-uncorrected", "count", "DRAM errors not corrected"),
    attribute!(12, 0xfc, "xor-pass", "count", "data rebuilt from parity"),
    attribute!(12, 0xfd, "xor-fail", "count", "data that parity could not rebuild"),
    attribute!(12, 0xfe, "xor-invoked", "count", "attempts to rebuild"),
    attribute!(12, 0xe5, "reads-in-flight", "count", "read commands in flight"),
    attribute!(12, 0xe6, "writes-in-flight", "count", "write commands in flight"),
    attribute!(12, 0xf8, "nand-read", "units", "read from the flash; unit not documented"),
    parts!(12, 0xe7, "temperature: highest, lowest, now", "temperature-max-kelvin" 0 2,
        "temperature-min-kelvin" 2 2, "temperature-kelvin" 4 2),
    parts!(12, 0xe8, "power: highest, lowest, now", "power-max" 0 2, "power-min" 2 2,
        "power" 4 2),
    parts!(12, 0xaf, "temperature since power-on: highest, lowest, now",
        "temperature-since-power-on-max-kelvin" 0 2, "temperature-since-power-on-min-kelvin" 2 2,
        "temperature-since-power-on-kelvin" 4 2),
    parts!(12, 0xeb, "throttling by temperature: whether, and how long ever",
        "throttle-by-time-status" 0 1, "throttle-time" 1 4),
    parts!(12, 0xec, "capacitance: now, nominal, threshold", "capacitance" 0 2,
        "capacitance-nominal" 2 2, "capacitance-threshold" 4 2),
    attribute!(12, 0xed, "free-xblock", "status", "erase block stripes that are free"),
];

const VERSION_3: &[LogAttribute] = &[
    attribute!(10, 0xab, "program-fail", "count", "program operations that failed"),
    attribute!(10, 0xac, "erase-fail", "count", "erase operations that failed"),
    parts!(10, 0xad, "erases of the erase blocks: fewest, most, average",
        "erase-min-count" 0 2, "erase-max-count" 2 2, "erase-average-count" 4 2),
    parts!(10, 0xdf, "external end-to-end errors", "external-end-to-end-0-count" 0 2,
        "external-end-to-end-1-count" 2 2, "external-end-to-end-2-count" 4 2),
    attribute!(10, 0xc7, "crc-error", "count", "PCIe CRC errors"),
    attribute!(10, 0xf4, "nand-written", "units", "written to the flash; unit not documented"),
    attribute!(10, 0xf5, "host-written", "units", "written by the host; unit not documented"),
    attribute!(10, 0xd0, "reallocated-sector", "count", "sectors moved"),
    attribute!(10, 0xd1, "uncorrectable-sector", "count", "sectors lost"),
    attribute!(10, 0xd2, "nand-uecc", "count", "flash errors not corrected at first"),
    attribute!(10, 0xd3, "nand-xor-correction", "count", "data rebuilt from parity"),
    attribute!(10, 0xd4, "garbage-collection", "count", "garbage collections"),
    attribute!(10, 0xd5, "dram-uecc", "count", "DRAM errors not corrected"),
    attribute!(10, 0xd6, "sram-uecc", "count", "SRAM errors not corrected"),
    attribute!(10, 0xd7, "raid-recovery-fail", "count", "data that parity could not rebuild"),
    parts!(10, 0xd8, "commands in flight", "io-in-flight-count" 0 2, "admin-in-flight-count" 4 2),
    parts!(10, 0xd9, "internal end-to-end errors", "internal-end-to-end-0-count" 0 2,
        "internal-end-to-end-1-count" 2 2, "internal-end-to-end-2-count" 4 2),
    attribute!(10, 0xda, "die-fail", "count", "dies that failed"),
    attribute!(10, 0xdb, "wear-leveling-run", "count", "runs of wear leveling"),
    attribute!(10, 0xdc, "read-disturb", "count", "moves because of reads"),
    attribute!(10, 0xdd, "data-retention", "count", "moves because of age"),
    attribute!(10, 0xde, "capacitor-health", "status", "energy that is stored"),
    parts!(10, 0xf6, "DRAM errors corrected", "dram-corrected-count" 0 4),
    parts!(10, 0xf7, "address of the last DRAM error", "dram-corrected-address" 0 4),
    parts!(10, 0xf8, "SRAM errors corrected", "sram-corrected-count" 0 4),
    parts!(10, 0xf9, "address of the last SRAM error", "sram-corrected-address" 0 4),
    parts!(10, 0xfa, "throttling of writes: now, ever", "write-throttle-now" 0 2,
        "write-throttle-total" 2 2),
    parts!(10, 0xea, "throttling by temperature: whether, how often",
        "throttle-now-status" 0 1, "throttle-event-count" 1 4),
    attribute!(10, 0xe1, "block-padding", "count", "blocks padded"),
    attribute!(10, 0xe5, "host-trimmed", "sectors", "sectors that the host trimmed"),
    attribute!(10, 0xe7, "host-write-zeroes", "sectors", "sectors that the host zeroed"),
    parts!(10, 0xe9, "firmware updates: without reset, with reset, failed",
        "firmware-update-without-reset-count" 0 2, "firmware-update-with-reset-count" 2 2,
        "firmware-update-fail-count" 4 2),
];
