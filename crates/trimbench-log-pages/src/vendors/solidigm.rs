//! Solidigm, and Intel: attributes, log `CAh`. \[NVMECLI\] `solidigm-smart.c`.
//!
//! There is no page on TRIM: the latency logs C1h and C2h cover reads and writes only. The page has
//! neither GUID nor version, so it is accepted if one of its attributes is known.

use super::attributes::{attribute, parts};
use crate::page::{AttributeArea, LogAttribute, LogLayout, LogPage};

/// The page.
pub static ATTRIBUTES: LogPage = LogPage {
    title: "Solidigm (Intel) additional SMART",
    ..LogPage::plain(
        "solidigm-attributes",
        0xca,
        &[LogLayout {
            versions: (0, 0),
            fields: &[],
            attributes: Some(AttributeArea { length: 504, item: 12, known: KNOWN }),
        }],
    )
};

const KNOWN: &[LogAttribute] = &[
    attribute!(12, 0x0d, "soft-ecc-error-rate", "count", "soft ECC error rate"),
    attribute!(12, 0x05, "relocatable-sector", "count", "relocatable sector count"),
    attribute!(12, 0xab, "program-fail", "count", "program operations that failed"),
    attribute!(12, 0xac, "erase-fail", "count", "erase operations that failed"),
    parts!(12, 0xad, "erases of the erase blocks: fewest, most, average",
        "erase-min-count" 0 2, "erase-max-count" 2 2, "erase-average-count" 4 2),
    attribute!(12, 0xae, "unexpected-power-loss", "count", "power lost without notice"),
    attribute!(12, 0xb8, "end-to-end-error", "count", "end-to-end errors detected"),
    attribute!(12, 0xc7, "crc-error", "count", "PCIe CRC errors; bad TLPs on newer drives"),
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
    attribute!(12, 0xe5, "reads-in-flight", "count", "read commands in flight"),
    attribute!(12, 0xe6, "writes-in-flight", "count", "write commands in flight"),
    attribute!(12, 0xe7, "bad-dllp", "count", "bad DLLPs"),
    attribute!(12, 0xe8, "receiver-error", "count", "PCIe receiver errors"),
    parts!(12, 0xea, "throttling by temperature: how far, how often",
        "throttle-status-percent" 0 1, "throttle-event-count" 1 4),
    attribute!(12, 0xee, "re-sku", "count", "re-SKU count"),
    attribute!(12, 0xf0, "retry-buffer-overflow", "count", "retry buffer overflows"),
    attribute!(12, 0xf3, "pll-lock-loss", "count", "PLL lock losses"),
    attribute!(12, 0xf4, "nand-written", "units-of-32-mib", "written to the flash"),
    attribute!(12, 0xf5, "host-written", "units-of-32-mib", "written by the host"),
    attribute!(12, 0xf6, "host-context-wear", "percent", "wear used by the host"),
    attribute!(12, 0xf7, "performance-status", "bits", "performance status indicator"),
    attribute!(12, 0xf8, "media-read", "units-of-32-mib", "read from the flash"),
    attribute!(12, 0xf9, "firmware-downgrades", "count", "firmware downgrades available"),
    attribute!(12, 0xfa, "read-collision", "count", "host read collisions"),
    attribute!(12, 0xfb, "write-collision", "count", "host write collisions"),
    attribute!(12, 0xfc, "xor-pass", "count", "data rebuilt from parity"),
    attribute!(12, 0xfd, "xor-fail", "count", "data that parity could not rebuild"),
    attribute!(12, 0xfe, "xor-invoked", "count", "attempts to rebuild"),
];
