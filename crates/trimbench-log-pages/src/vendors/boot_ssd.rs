//! SMART log C0h of the OCP Hyperscale NVMe Boot SSD specification, the predecessor for boot drives
//! of WDC, Micron and others: it counts TRIM commands and those that took more than 5 s.
//!
//! Offsets: \[NVMECLI\] `wdc-nvme.c` (`SCAO_V1_*`), and `micron-nvme.c` (`hyperscale_c0_log_page`),
//! which agree. The GUID is WDC's constant.

use crate::field::{FieldKind, LogField};
use crate::page::{LogLayout, LogPage, VersionAt};

const GUID: u128 = 0xC46D_D792_0F1E_4266_A178_D8AC_7888_4365;

/// The page.
pub static BOOT_SSD_SMART: LogPage = LogPage {
    title: "OCP Hyperscale NVMe Boot SSD SMART",
    guid: Some((496, GUID)),
    version: Some(VersionAt { at: 494, width: 2 }),
    ..LogPage::plain(
        "ocp-boot-ssd-smart",
        0xc0,
        &[LogLayout::fields((1, 1), &[COMMON, UTILIZATION, TIMEOUTS, LINK])],
    )
};

/// Fields that Micron's log `FBh` has at the same places.
pub(super) const COMMON: &[LogField] = &[
    LogField::counter("media-written-tlc-bytes", 0, 16, "bytes programmed as TLC"),
    LogField::counter("media-written-slc-bytes", 16, 16, "bytes programmed as SLC"),
    LogField::gauge("bad-user-block-normalized-percent", 32, 2, "remaining"),
    LogField::counter("bad-user-block-count", 34, 6, "retired erase blocks of user data"),
    LogField::counter("xor-recovery-count", 40, 8, "data rebuilt from parity"),
    LogField::counter("uncorrectable-read-count", 48, 8, "reads that failed"),
    LogField::counter("end-to-end-corrected-count", 56, 8, "end-to-end errors corrected"),
    LogField::counter("end-to-end-detected-count", 64, 8, "end-to-end errors detected"),
    LogField::counter("end-to-end-uncorrected-count", 72, 8, "end-to-end errors not corrected"),
    LogField::gauge("system-data-used-percent", 80, 1, "wear of the firmware's own flash"),
    LogField::gauge("user-erase-min-tlc-count", 84, 8, "fewest erases of a TLC block"),
    LogField::gauge("user-erase-max-tlc-count", 92, 8, "most erases of a TLC block"),
    LogField::gauge("user-erase-average-tlc-count", 100, 8, "average erases of TLC blocks"),
    LogField::gauge("user-erase-min-slc-count", 108, 8, "fewest erases of an SLC block"),
    LogField::gauge("user-erase-max-slc-count", 116, 8, "most erases of an SLC block"),
    LogField::gauge("user-erase-average-slc-count", 124, 8, "average erases of SLC blocks"),
    LogField::gauge("program-fail-normalized-percent", 132, 2, "remaining"),
    LogField::counter("program-fail-count", 134, 6, "program operations that failed"),
    LogField::gauge("erase-fail-normalized-percent", 140, 2, "remaining"),
    LogField::counter("erase-fail-count", 142, 6, "erase operations that failed"),
    LogField::counter("pcie-correctable-error-count", 148, 8, "PCIe correctable errors"),
    LogField::gauge("free-blocks-user-percent", 156, 1, "free erase blocks for user data"),
    LogField::gauge("security-version", 160, 8, "security version number of the firmware"),
    LogField::gauge("free-blocks-system-percent", 168, 1, "free erase blocks of the firmware"),
    LogField::counter("deallocate-command-count", 172, 16, "Dataset Management commands done"),
    LogField::gauge(
        "background-back-pressure-percent",
        198,
        1,
        "how far work in the background, of which TRIM is a part, slows down the host",
    ),
    LogField::counter("soft-ecc-error-count", 202, 8, "reads that needed a second correction"),
    LogField::counter("refresh-count", 210, 8, "erase blocks rewritten to keep their data"),
    LogField::gauge("bad-system-block-normalized-percent", 218, 2, "remaining"),
    LogField::counter("bad-system-block-count", 220, 6, "retired erase blocks of the firmware"),
    LogField::gauge("endurance-estimate-bytes", 226, 16, "bytes that can be written over its life"),
    LogField::counter("unaligned-io-count", 244, 8, "writes not aligned to the mapping"),
    LogField::counter("media-read-bytes", 252, 16, "bytes read from the media"),
];

/// The commands that took longer than a threshold: 5 s, as WDC's plugin prints it.
pub(super) const TIMEOUTS: &[LogField] = &[
    LogField::counter("read-timeout-count", 268, 4, "reads beyond the threshold"),
    LogField::counter("write-timeout-count", 272, 4, "writes beyond the threshold"),
    LogField::counter("deallocate-timeout-count", 276, 4, "TRIM commands beyond the threshold"),
];

const UTILIZATION: &[LogField] = &[
    LogField::gauge("utilization-bytes", 188, 8, "namespace utilization (NUSE)"),
    LogField::counter("format-command-count", 196, 2, "Format NVM commands done"),
    LogField::counter("throttle-event-count", 242, 2, "thermal throttling status and count"),
];

const LINK: &[LogField] = &[
    LogField::counter("pcie-retraining-count", 284, 8, "PCIe link retrainings"),
    LogField::counter("power-state-change-count", 292, 8, "power state changes"),
    LogField::gauge("specification-major-version", 300, 2, "of the specification it follows"),
    LogField::gauge("specification-minor-version", 302, 2, "of the specification it follows"),
    LogField::gauge("specification-point-version", 304, 2, "of the specification it follows"),
    LogField::gauge("specification-errata-version", 306, 2, "of the specification it follows"),
    LogField::gauge("mapping-unit-bytes", 308, 4, "unit of the mapping (FTL)"),
    LogField::gauge("tcg-ownership", 312, 4, "whether a security owner was set"),
    LogField::gauge("log-page-guid", 496, 16, "GUID").as_kind(FieldKind::Identifier),
];
