//! WDC: device information of the customer "FB", log `CAh`; vendor's SMART, log D0h; NAND
//! statistics, log `FBh`, in versions 0 and 3, of which the latter counts TRIM. \[NVMECLI\]
//! `wdc-nvme.c`.
//!
//! Logs `CAh` and D0h have neither GUID nor version. nvme-cli reads `CAh` by the customer of the
//! firmware; drives of another customer have 160 bytes of items, which are refused here.

use super::micron::PACKED;
use crate::field::LogField;
use crate::page::{LogLayout, LogPage, VersionAt};

/// Log `CAh`.
pub static DEVICE_INFO: LogPage = LogPage {
    title: "WDC device information",
    length: 128,
    contradiction: device_info_contradiction,
    ..LogPage::plain("wdc-device-info", 0xca, &[LogLayout::fields((0, 0), &[DEVICE])])
};

/// Log D0h.
pub static VENDOR_SMART: LogPage = LogPage {
    title: "WDC vendor SMART",
    contradiction: |bytes| {
        let reserved = bytes.get(0x68..512).unwrap_or(&[]);
        reserved.iter().any(|&byte| byte != 0).then_some("its reserved bytes are not zero")
    },
    ..LogPage::plain("wdc-vendor-smart", 0xd0, &[LogLayout::fields((0, 0), &[VENDOR])])
};

/// Log `FBh`.
pub static NAND_STATISTICS: LogPage = LogPage {
    title: "WDC NAND statistics",
    version: Some(VersionAt { at: 510, width: 2 }),
    ..LogPage::plain(
        "wdc-nand-statistics",
        0xfb,
        &[LogLayout::fields((0, 0), &[NAND]), LogLayout::fields((3, 3), &[PACKED])],
    )
};

const DEVICE: &[LogField] = &[
    LogField::counter("media-written-bytes", 0x00, 16, "NAND bytes written"),
    LogField::counter("media-read-bytes", 0x10, 16, "NAND bytes read"),
    LogField::gauge("bad-block-normalized-percent", 0x20, 2, "remaining"),
    LogField::counter("bad-block-count", 0x22, 6, "retired erase blocks"),
    LogField::counter("uncorrectable-read-count", 0x28, 8, "reads that failed"),
    LogField::counter("soft-ecc-error-count", 0x30, 8, "reads that needed a second correction"),
    LogField::counter("end-to-end-detected-count", 0x38, 4, "end-to-end errors detected"),
    LogField::counter("end-to-end-corrected-count", 0x3c, 4, "end-to-end errors corrected"),
    LogField::gauge("system-data-used-percent", 0x40, 1, "wear of the firmware's own flash"),
    LogField::gauge("user-erase-max-count", 0x41, 4, "most erases of one erase block"),
    LogField::gauge("user-erase-min-count", 0x45, 4, "fewest erases of one erase block"),
    LogField::counter("refresh-count", 0x49, 8, "erase blocks rewritten to keep their data"),
    LogField::gauge("program-fail-normalized-percent", 0x51, 2, "remaining"),
    LogField::counter("program-fail-count", 0x53, 6, "program operations that failed"),
    LogField::gauge("user-erase-fail-normalized-percent", 0x59, 2, "remaining"),
    LogField::counter("user-erase-fail-count", 0x5b, 6, "erases of user data that failed"),
    LogField::gauge("system-erase-fail-normalized-percent", 0x61, 2, "remaining"),
    LogField::counter("system-erase-fail-count", 0x63, 6, "erases of the firmware's that failed"),
    LogField::gauge("throttle-status", 0x69, 1, "thermal throttling now"),
    LogField::counter("throttle-event-count", 0x6a, 1, "thermal throttling events"),
    LogField::counter("pcie-correctable-error-count", 0x6b, 8, "PCIe correctable errors"),
    LogField::counter("incomplete-shutdown-count", 0x73, 4, "shutdowns that did not complete"),
    LogField::gauge("free-blocks-percent", 0x77, 1, "erase blocks that are free"),
];

const VENDOR: &[LogField] = &[
    LogField::gauge("page-header", 0x00, 4, "header"),
    LogField::counter("reallocated-block-count", 0x04, 4, "erase blocks replaced"),
    LogField::counter("power-on-hours", 0x08, 4, "power-on time"),
    LogField::counter("uecc-count", 0x0c, 4, "errors not corrected"),
    LogField::gauge("write-amplification-lifetime", 0x10, 4, "unit not documented"),
    LogField::gauge("write-amplification-hour", 0x14, 4, "of the last hour"),
    LogField::gauge("reserve-block-count", 0x18, 4, "reserve erase blocks"),
    LogField::counter("program-fail-count", 0x1c, 4, "program operations that failed"),
    LogField::counter("erase-fail-count", 0x20, 4, "erase operations that failed"),
    LogField::counter("die-failure-count", 0x24, 4, "dies that failed"),
    LogField::counter("link-downgrade-count", 0x28, 4, "link rate downgrades"),
    LogField::counter("clean-shutdown-count", 0x2c, 4, "clean shutdowns at power loss"),
    LogField::counter("unclean-shutdown-count", 0x30, 4, "others"),
    LogField::gauge("temperature", 0x34, 4, "temperature now; unit not documented"),
    LogField::gauge("temperature-max", 0x38, 4, "highest temperature; unit not documented"),
    LogField::counter("retired-block-count", 0x3c, 4, "erase blocks retired"),
    LogField::counter("read-disturb-count", 0x40, 4, "moves because of reads"),
    LogField::counter("nand-written-logical-pages", 0x44, 8, "written to the flash"),
    LogField::gauge("capacitor-health", 0x4c, 4, "energy that is stored"),
    LogField::counter("user-writes", 0x50, 8, "lifetime user writes; unit not documented"),
    LogField::counter("user-reads", 0x58, 8, "lifetime user reads; unit not documented"),
    LogField::counter("throttle-event-count", 0x60, 4, "thermal throttle activations"),
    LogField::gauge("endurance-left-percent", 0x64, 4, "erase cycles that are left"),
];

const NAND: &[LogField] = &[
    LogField::counter("media-written-tlc-bytes", 0, 16, "bytes programmed as TLC"),
    LogField::counter("media-written-slc-bytes", 16, 16, "bytes programmed as SLC"),
    LogField::counter("program-fail-count", 32, 4, "program operations that failed"),
    LogField::counter("erase-fail-count", 36, 4, "erase operations that failed"),
    LogField::counter("bad-block-count", 40, 4, "retired erase blocks"),
    LogField::counter("xor-recovery-count", 44, 8, "data rebuilt from parity"),
    LogField::counter("end-to-end-error-count", 52, 8, "end-to-end errors"),
    LogField::counter("namespace-resize-count", 60, 8, "namespace resizes that succeeded"),
];

/// The percentages of the page are at most 100; items of another customer's page have ids there.
fn device_info_contradiction(bytes: &[u8]) -> Option<&'static str> {
    let is_percent = |at: usize| bytes.get(at).is_some_and(|&value| value <= 100);
    let reserved = bytes.get(0x78..128).unwrap_or(&[]);
    if reserved.iter().any(|&byte| byte != 0) {
        return Some("its reserved bytes are not zero");
    }
    (!is_percent(0x77)).then_some("its percentage of free blocks is above 100")
}
