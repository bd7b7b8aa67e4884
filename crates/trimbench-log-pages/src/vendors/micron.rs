//! Micron: log `FBh`, which has how much of TRIM is not worked off yet, in two layouts; latencies
//! of reads, writes and TRIM in 32 buckets, log D0h; the workload log C5h of client drives.
//! \[NVMECLI\] `micron-nvme.c`.
//!
//! The source states no version: it takes the layout by the model. Log `FBh` of model 5410 is
//! packed and is WDC's version 3 byte for byte; that of the others has the fields of the boot SSD
//! page. Those versions, 3 and 1, are accepted here, all others are refused. Log D0h of older
//! drives is another page, so the latencies must have their reserved halves zero, and must add up.

use super::boot_ssd::{COMMON, TIMEOUTS};
use crate::field::{FieldKind, LogField, number};
use crate::histogram::histogram;
use crate::page::{LogLayout, LogPage, VersionAt};

/// Log `FBh` of all models but one.
pub static FB_SMART: LogPage = LogPage {
    title: "Micron extended SMART",
    version: Some(VersionAt { at: 494, width: 2 }),
    contradiction: |bytes| {
        (number(bytes, 510, 2) == Some(3)).then_some("it is the packed layout, version 3")
    },
    ..LogPage::plain(
        "micron-fb-smart",
        0xfb,
        &[LogLayout::fields((1, 1), &[COMMON, PENDING, TIMEOUTS])],
    )
};

/// Log `FBh` of model 5410.
pub static FB_SMART_PACKED: LogPage = LogPage {
    title: "Micron extended SMART, packed",
    version: Some(VersionAt { at: 510, width: 2 }),
    ..LogPage::plain("micron-fb-smart-packed", 0xfb, &[LogLayout::fields((3, 3), &[PACKED])])
};

/// Latencies.
pub static LATENCY: LogPage = LogPage {
    title: "Micron latency statistics",
    length: BUCKETS_AT + 4 * GROUP,
    contradiction: latency_contradiction,
    ..LogPage::plain(
        "micron-latency",
        0xd0,
        &[LogLayout::fields((0, 0), &[REVISION, ALL, READ, WRITE, DEALLOCATE])],
    )
};

/// Workload.
pub static WORKLOAD: LogPage = LogPage {
    title: "Micron workload",
    length: 256,
    ..LogPage::plain("micron-workload", 0xc5, &[LogLayout::fields((0, 0), &[CLIENT])])
};

/// Where the first group of buckets begins, and the size of a group: 32 buckets and as many that
/// are reserved.
const BUCKETS_AT: usize = 8;
const GROUP: usize = 64 * 8;

const PENDING: &[LogField] = &[
    LogField::gauge(
        "incomplete-trim",
        188,
        8,
        "estimate of the data that TRIM named and that is not worked off; unit not documented",
    ),
    LogField::gauge("completed-trim-percent", 196, 2, "how much of TRIM is worked off"),
    LogField::gauge("throttle-status", 242, 1, "thermal throttling now"),
    LogField::counter("throttle-event-count", 243, 1, "thermal throttling events"),
    LogField::gauge("log-page-guid", 496, 16, "GUID").as_kind(FieldKind::Identifier),
];

/// Also WDC's log `FBh`, version 3.
pub(super) const PACKED: &[LogField] = &[
    LogField::counter("media-written-tlc-bytes", 0, 16, "bytes programmed as TLC"),
    LogField::counter("media-written-slc-bytes", 16, 16, "bytes programmed as SLC"),
    LogField::gauge("bad-user-block-normalized-percent", 32, 2, "remaining"),
    LogField::counter("bad-user-block-count", 34, 6, "retired erase blocks of user data"),
    LogField::counter("xor-recovery-count", 40, 8, "data rebuilt from parity"),
    LogField::counter("uncorrectable-read-count", 48, 8, "reads that failed"),
    LogField::counter("end-to-end-corrected-count", 56, 8, "end-to-end errors corrected"),
    LogField::counter("end-to-end-detected-count", 64, 4, "end-to-end errors detected"),
    LogField::counter("end-to-end-uncorrected-count", 68, 4, "end-to-end errors not corrected"),
    LogField::gauge("system-data-used-percent", 72, 1, "wear of the firmware's own flash"),
    LogField::gauge("user-erase-min-tlc-count", 73, 8, "fewest erases of a TLC block"),
    LogField::gauge("user-erase-max-tlc-count", 81, 8, "most erases of a TLC block"),
    LogField::gauge("user-erase-min-slc-count", 89, 8, "fewest erases of an SLC block"),
    LogField::gauge("user-erase-max-slc-count", 97, 8, "most erases of an SLC block"),
    LogField::gauge("program-fail-normalized-percent", 105, 2, "remaining"),
    LogField::counter("program-fail-count", 107, 6, "program operations that failed"),
    LogField::gauge("erase-fail-normalized-percent", 113, 2, "remaining"),
    LogField::counter("erase-fail-count", 115, 6, "erase operations that failed"),
    LogField::counter("pcie-correctable-error-count", 121, 8, "PCIe correctable errors"),
    LogField::gauge("free-blocks-user-percent", 129, 1, "free erase blocks for user data"),
    LogField::gauge("security-version", 130, 8, "security version number of the firmware"),
    LogField::gauge("free-blocks-system-percent", 138, 1, "free erase blocks of the firmware"),
    LogField::counter("deallocate-command-count", 139, 16, "Dataset Management commands done"),
    LogField::gauge(
        "incomplete-trim",
        155,
        8,
        "estimate of the data that TRIM named and that is not worked off; unit not documented",
    ),
    LogField::gauge("completed-trim-percent", 163, 1, "how much of TRIM is worked off"),
    LogField::gauge("background-back-pressure-percent", 164, 1, "back-pressure gauge"),
    LogField::counter("soft-ecc-error-count", 165, 8, "reads that needed a second correction"),
    LogField::counter("refresh-count", 173, 8, "erase blocks rewritten to keep their data"),
    LogField::gauge("bad-system-block-normalized-percent", 181, 2, "remaining"),
    LogField::counter("bad-system-block-count", 183, 6, "retired erase blocks of the firmware"),
    LogField::gauge("endurance-estimate-bytes", 189, 16, "bytes that can be written over its life"),
    LogField::gauge("throttle-status", 205, 1, "thermal throttling now"),
    LogField::counter("throttle-event-count", 206, 1, "thermal throttling events"),
    LogField::counter("unaligned-io-count", 207, 8, "writes not aligned to the mapping"),
    LogField::counter("media-read-bytes", 215, 16, "bytes read from the media"),
];

const REVISION: &[LogField] = &[
    LogField::gauge("minor-version", 0, 4, "minor revision; none is documented"),
    LogField::gauge("major-version", 4, 4, "major revision; none is documented"),
];
const ALL: &[LogField] = histogram!("all", BUCKETS_AT, 8);
const READ: &[LogField] = histogram!("read", BUCKETS_AT + GROUP, 8);
const WRITE: &[LogField] = histogram!("write", BUCKETS_AT + 2 * GROUP, 8);
const DEALLOCATE: &[LogField] = histogram!("deallocate", BUCKETS_AT + 3 * GROUP, 8);

const CLIENT: &[LogField] = &[
    LogField::counter("link-downshift-count", 4, 1, "downshifts of the link"),
    LogField::counter("deallocated-blocks", 76, 4, "logical blocks that TRIM deallocated"),
    LogField::counter("security-send-count", 121, 4, "Security Send commands"),
    LogField::counter("security-receive-count", 125, 4, "Security Receive commands"),
    LogField::counter("sanitize-count", 129, 4, "sanitize operations"),
];

/// Whether the drive of this PCI device has the workload log.
pub(super) fn has_workload_log(pci_device: u16) -> bool {
    [0x6001, 0x6003, 0x6004].contains(&pci_device)
}

/// All commands of a bucket are reads, writes, TRIMs and others.
fn latency_contradiction(bytes: &[u8]) -> Option<&'static str> {
    let group = |index: usize| {
        let at = BUCKETS_AT + index * GROUP;
        bytes.get(at..at + GROUP).unwrap_or(&[]).split_at_checked(GROUP / 2)
    };
    for index in 0..4 {
        if !group(index).is_some_and(|(_, reserved)| reserved.iter().all(|&byte| byte == 0)) {
            return Some("buckets that are reserved are not zero");
        }
    }
    for bucket in 0..32 {
        let count = |index| {
            let (counts, _) = group(index)?;
            number(counts, bucket * 8, 8)
        };
        let parts = (1..4).try_fold(0_u64, |sum, index| sum.checked_add(count(index)?));
        if parts.is_none_or(|parts| count(0).is_none_or(|all| all < parts)) {
            return Some("reads, writes and TRIMs of a bucket are more than all commands of it");
        }
    }
    None
}
