//! SMART / Health Information Extended, log C0h: \[OCP\] 4.8.5; fields of later versions as
//! \[NVMECLI\] has them (`ocp-smart-extended-log.h`, and `ocp-print-stdout.c` for the version that
//! each came with).
//!
//! Version 2 belongs to specification 1.0, 3 to 2.0, 4 to 2.5. Versions 0 and 1 have the fields
//! that all have.

use trimbench_core::Bytes;

use super::{GUID_AT, VERSION_AT};
use crate::field::{FieldKind, LogField};
use crate::page::{LogLayout, LogPage};

const GUID: u128 = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5;
const MEDIA_WRITTEN: LogField = LogField::counter(
    "media-written-bytes",
    0,
    16,
    "physical media units written: all bytes programmed, for the host and by the drive itself",
);

/// The page.
pub static OCP_SMART: LogPage = LogPage {
    title: "OCP SMART / Health Information Extended",
    is_ocp: true,
    guid: Some((GUID_AT, GUID)),
    version: Some(VERSION_AT),
    sources: &["OCP", "NVMECLI"],
    ..LogPage::plain("ocp-smart", 0xc0, &[LogLayout::fields((0, 6), &[MEDIA, DRIVE, LATER])])
};

const MEDIA: &[LogField] = &[
    MEDIA_WRITTEN,
    LogField::counter("media-read-bytes", 16, 16, "physical media units read"),
    LogField::counter("bad-user-block-count", 32, 6, "retired erase blocks of user data"),
    LogField::gauge("bad-user-block-normalized-percent", 38, 2, "100 when new, 0 at the limit"),
    LogField::counter("bad-system-block-count", 40, 6, "retired erase blocks of the firmware"),
    LogField::gauge("bad-system-block-normalized-percent", 46, 2, "100 when new, 0 at the limit"),
    LogField::counter("xor-recovery-count", 48, 8, "data rebuilt from parity across dies"),
    LogField::counter("uncorrectable-read-count", 56, 8, "reads that failed in spite of parity"),
    LogField::counter(
        "soft-ecc-error-count",
        64,
        8,
        "reads that the first error correction failed",
    ),
    LogField::counter("end-to-end-detected-count", 72, 4, "end-to-end errors detected"),
    LogField::counter("end-to-end-corrected-count", 76, 4, "end-to-end errors corrected"),
    LogField::gauge("system-data-used-percent", 80, 1, "wear of the firmware's own flash"),
    LogField::counter("refresh-count", 81, 7, "erase blocks rewritten to keep their data"),
    LogField::gauge("user-erase-max-count", 88, 4, "most erases of one erase block"),
    LogField::gauge("user-erase-min-count", 92, 4, "fewest erases of one erase block"),
    LogField::counter("throttle-event-count", 96, 1, "thermal throttling events; stops at 255"),
    LogField::gauge("throttle-level", 97, 1, "0 unthrottled, then 1 to 3; 255 halted"),
];

const DRIVE: &[LogField] = &[
    LogField::counter("pcie-correctable-error-count", 104, 8, "PCIe correctable errors"),
    LogField::counter("incomplete-shutdown-count", 112, 4, "shutdowns that did not complete"),
    LogField::gauge(
        "free-blocks-percent",
        120,
        1,
        "erase blocks that are free; falls as the \
         drive runs out of room to collect garbage",
    ),
    LogField::gauge("capacitor-health-percent", 128, 2, "energy that is stored; 65535: none"),
    LogField::counter("unaligned-io-count", 136, 8, "writes that are not aligned to the mapping"),
    LogField::gauge("security-version", 144, 8, "security version number of the firmware"),
    LogField::gauge(
        "utilization-blocks",
        152,
        8,
        "total NUSE: logical blocks in use. TRIM lowers \
         it",
    ),
    LogField::counter("power-loss-protection-start-count", 160, 16, "PLP start count"),
    LogField::gauge("endurance-estimate-bytes", 176, 16, "bytes that can be written over its life"),
];

const LATER: &[LogField] = &[
    LogField::gauge("dssd-errata-version", 98, 1, "of the specification it follows").since(2),
    LogField::gauge("dssd-point-version", 99, 2, "of the specification it follows").since(2),
    LogField::gauge("dssd-minor-version", 101, 2, "of the specification it follows").since(2),
    LogField::gauge("dssd-major-version", 103, 1, "of the specification it follows").since(2),
    LogField::gauge("nvme-base-errata-version", 130, 1, "errata of NVMe Base").since(2),
    LogField::counter("pcie-retraining-count", 192, 8, "PCIe link retrainings").since(2),
    LogField::counter("power-state-change-count", 200, 8, "power state changes").since(2),
    LogField::gauge("nvme-command-set-errata-version", 131, 1, "errata of the set").since(4),
    LogField::gauge("lowest-permitted-firmware", 208, 8, "lowest firmware revision").since(4),
    LogField::gauge("nvme-pcie-errata-version", 132, 1, "errata of NVMe over PCIe").since(5),
    LogField::gauge("nvme-mi-errata-version", 133, 1, "errata of NVMe-MI").since(5),
    LogField::gauge("media-die-count", 216, 2, "total media dies").since(5),
    LogField::gauge("die-failure-tolerance-count", 218, 2, "dies that may fail").since(5),
    LogField::gauge("media-dies-offline-count", 220, 2, "dies that failed").since(5),
    LogField::gauge("temperature-max-celsius", 222, 1, "highest temperature recorded").since(5),
    LogField::gauge("erase-average-count", 224, 8, "average erase count").since(5),
    LogField::counter("command-timeout-count", 232, 4, "commands beyond 5 s").since(5),
    LogField::counter("system-program-fail-count", 236, 4, "of the system area").since(5),
    LogField::gauge("system-program-fail-normalized-percent", 240, 1, "remaining").since(5),
    LogField::counter("system-uncorrectable-read-count", 244, 4, "of the system area").since(5),
    LogField::gauge("system-uncorrectable-read-normalized-percent", 248, 1, "remaining").since(5),
    LogField::counter("system-erase-fail-count", 252, 4, "of the system area").since(5),
    LogField::gauge("system-erase-fail-normalized-percent", 256, 1, "remaining").since(5),
    LogField::gauge("peak-power-capability", 260, 2, "max peak power capability").since(5),
    LogField::gauge("average-power-max", 262, 2, "current max average power").since(5),
    LogField::counter("lifetime-power-consumed", 264, 6, "lifetime power consumed").since(5),
    LogField::gauge("dssd-firmware-revision", 270, 8, "DSSD firmware revision")
        .as_kind(FieldKind::Text)
        .since(5),
    LogField::gauge("dssd-firmware-build", 278, 16, "UUID of the firmware build")
        .as_kind(FieldKind::Identifier)
        .since(5),
    LogField::gauge("dssd-firmware-build-label", 294, 64, "label of the firmware build")
        .as_kind(FieldKind::Text)
        .since(5),
    LogField::gauge("form-factor", 223, 1, "form factor").since(6),
    LogField::counter("bad-block-in-used-dies-count", 358, 6, "bad blocks of dies in use").since(6),
    LogField::gauge("bad-block-in-used-dies-normalized-percent", 364, 2, "remaining").since(6),
];

/// Bytes written to the media, if the page is OCP's. They are at the same place in every version,
/// so an unknown one does not matter here. `None` beyond 16 EiB, which no drive has written.
pub fn media_written(bytes: &[u8]) -> Option<Bytes> {
    OCP_SMART.identify(bytes).ok()?;
    MEDIA_WRITTEN.read(bytes)?.number().map(Bytes)
}
