//! Pages with fixed fields: each structure is written here as its public source declares it, as
//! names and sizes in order, and encoded from that. Every field has another value.

use crate::field::LogValue;
use crate::nvme::smart::SMART;
use crate::ocp::latency::OCP_LATENCY;
use crate::ocp::smart::OCP_SMART;
use crate::vendors::boot_ssd::BOOT_SSD_SMART;
use crate::vendors::{micron, wdc};
use crate::{LogPage, LogPageError};

/// The name of our key, and the bytes of the member; no name: reserved, or set by `fixed`.
type Member = (&'static str, usize);

/// Linux' and libnvme's `struct nvme_smart_log`.
const NVME_SMART_LOG: &[Member] = &[
    ("critical-warning-bits", 1),
    ("temperature-kelvin", 2),
    ("available-spare-percent", 1),
    ("available-spare-threshold-percent", 1),
    ("endurance-used-percent", 1),
    ("endurance-group-warning-bits", 1),
    ("", 25),
    ("host-read-units-of-512000-bytes", 16),
    ("host-written-units-of-512000-bytes", 16),
    ("host-read-command-count", 16),
    ("host-write-command-count", 16),
    ("controller-busy-minutes", 16),
    ("power-cycle-count", 16),
    ("power-on-hours", 16),
    ("unsafe-shutdown-count", 16),
    ("media-error-count", 16),
    ("error-log-entry-count", 16),
    ("warning-temperature-minutes", 4),
    ("critical-temperature-minutes", 4),
    ("temperature-sensor-1-kelvin", 2),
    ("temperature-sensor-2-kelvin", 2),
    ("temperature-sensor-3-kelvin", 2),
    ("temperature-sensor-4-kelvin", 2),
    ("temperature-sensor-5-kelvin", 2),
    ("temperature-sensor-6-kelvin", 2),
    ("temperature-sensor-7-kelvin", 2),
    ("temperature-sensor-8-kelvin", 2),
    ("throttle-light-transition-count", 4),
    ("throttle-heavy-transition-count", 4),
    ("throttle-light-seconds", 4),
    ("throttle-heavy-seconds", 4),
    ("operational-lifetime-energy", 8),
    ("interval-power", 4),
];

/// nvme-cli, `plugins/ocp/ocp-smart-extended-log.h`, `struct ocp_smart_extended_log`.
const OCP_SMART_EXTENDED_LOG: &[Member] = &[
    ("media-written-bytes", 16),
    ("media-read-bytes", 16),
    ("bad-user-block-count", 6),
    ("bad-user-block-normalized-percent", 2),
    ("bad-system-block-count", 6),
    ("bad-system-block-normalized-percent", 2),
    ("xor-recovery-count", 8),
    ("uncorrectable-read-count", 8),
    ("soft-ecc-error-count", 8),
    ("end-to-end-detected-count", 4),
    ("end-to-end-corrected-count", 4),
    ("system-data-used-percent", 1),
    ("refresh-count", 7),
    ("user-erase-max-count", 4),
    ("user-erase-min-count", 4),
    ("throttle-event-count", 1),
    ("throttle-level", 1),
    ("dssd-errata-version", 1),
    ("dssd-point-version", 2),
    ("dssd-minor-version", 2),
    ("dssd-major-version", 1),
    ("pcie-correctable-error-count", 8),
    ("incomplete-shutdown-count", 4),
    ("", 4),
    ("free-blocks-percent", 1),
    ("", 7),
    ("capacitor-health-percent", 2),
    ("nvme-base-errata-version", 1),
    ("nvme-command-set-errata-version", 1),
    ("nvme-pcie-errata-version", 1),
    ("nvme-mi-errata-version", 1),
    ("", 2),
    ("unaligned-io-count", 8),
    ("security-version", 8),
    ("utilization-blocks", 8),
    ("power-loss-protection-start-count", 16),
    ("endurance-estimate-bytes", 16),
    ("pcie-retraining-count", 8),
    ("power-state-change-count", 8),
    ("lowest-permitted-firmware", 8),
    ("media-die-count", 2),
    ("die-failure-tolerance-count", 2),
    ("media-dies-offline-count", 2),
    ("temperature-max-celsius", 1),
    ("form-factor", 1),
    ("erase-average-count", 8),
    ("command-timeout-count", 4),
    ("system-program-fail-count", 4),
    ("system-program-fail-normalized-percent", 1),
    ("", 3),
    ("system-uncorrectable-read-count", 4),
    ("system-uncorrectable-read-normalized-percent", 1),
    ("", 3),
    ("system-erase-fail-count", 4),
    ("system-erase-fail-normalized-percent", 1),
    ("", 3),
    ("peak-power-capability", 2),
    ("average-power-max", 2),
    ("lifetime-power-consumed", 6),
    ("", 8 + 16 + 64),
    ("bad-block-in-used-dies-count", 6),
    ("bad-block-in-used-dies-normalized-percent", 2),
];

/// nvme-cli, `plugins/ocp/ocp-nvme.h`, `struct ssd_latency_monitor_log`: buckets of four counters
/// (reserved, TRIM, write, read), then of three stamps and three latencies from the last bucket on,
/// as `ocp-print-stdout.c` reads them.
const SSD_LATENCY_MONITOR_LOG: &[Member] = &[
    ("feature-status-bits", 1),
    ("", 1),
    ("active-bucket-timer-5-minutes", 2),
    ("active-bucket-timer-threshold-5-minutes", 2),
    ("threshold-a-5-ms-minus-1", 1),
    ("threshold-b-5-ms-minus-1", 1),
    ("threshold-c-5-ms-minus-1", 1),
    ("threshold-d-5-ms-minus-1", 1),
    ("active-latency-configuration-bits", 2),
    ("active-latency-minimum-window-100-ms", 1),
    ("", 0x13),
    ("", 4),
    ("active-bucket-0-deallocate-count", 4),
    ("active-bucket-0-write-count", 4),
    ("active-bucket-0-read-count", 4),
    ("", 4),
    ("active-bucket-1-deallocate-count", 4),
    ("active-bucket-1-write-count", 4),
    ("active-bucket-1-read-count", 4),
    ("", 4),
    ("active-bucket-2-deallocate-count", 4),
    ("active-bucket-2-write-count", 4),
    ("active-bucket-2-read-count", 4),
    ("", 4),
    ("active-bucket-3-deallocate-count", 4),
    ("active-bucket-3-write-count", 4),
    ("active-bucket-3-read-count", 4),
    ("active-bucket-3-deallocate-stamp", 8),
    ("active-bucket-3-write-stamp", 8),
    ("active-bucket-3-read-stamp", 8),
    ("active-bucket-2-deallocate-stamp", 8),
    ("active-bucket-2-write-stamp", 8),
    ("active-bucket-2-read-stamp", 8),
    ("active-bucket-1-deallocate-stamp", 8),
    ("active-bucket-1-write-stamp", 8),
    ("active-bucket-1-read-stamp", 8),
    ("active-bucket-0-deallocate-stamp", 8),
    ("active-bucket-0-write-stamp", 8),
    ("active-bucket-0-read-stamp", 8),
    ("active-bucket-3-deallocate-latency-ms", 2),
    ("active-bucket-3-write-latency-ms", 2),
    ("active-bucket-3-read-latency-ms", 2),
    ("active-bucket-2-deallocate-latency-ms", 2),
    ("active-bucket-2-write-latency-ms", 2),
    ("active-bucket-2-read-latency-ms", 2),
    ("active-bucket-1-deallocate-latency-ms", 2),
    ("active-bucket-1-write-latency-ms", 2),
    ("active-bucket-1-read-latency-ms", 2),
    ("active-bucket-0-deallocate-latency-ms", 2),
    ("active-bucket-0-write-latency-ms", 2),
    ("active-bucket-0-read-latency-ms", 2),
    ("active-stamp-unit-bits", 2),
    ("", 0x16),
    ("", 4),
    ("static-bucket-0-deallocate-count", 4),
    ("static-bucket-0-write-count", 4),
    ("static-bucket-0-read-count", 4),
    ("", 4),
    ("static-bucket-1-deallocate-count", 4),
    ("static-bucket-1-write-count", 4),
    ("static-bucket-1-read-count", 4),
    ("", 4),
    ("static-bucket-2-deallocate-count", 4),
    ("static-bucket-2-write-count", 4),
    ("static-bucket-2-read-count", 4),
    ("", 4),
    ("static-bucket-3-deallocate-count", 4),
    ("static-bucket-3-write-count", 4),
    ("static-bucket-3-read-count", 4),
    ("static-bucket-3-deallocate-stamp", 8),
    ("static-bucket-3-write-stamp", 8),
    ("static-bucket-3-read-stamp", 8),
    ("static-bucket-2-deallocate-stamp", 8),
    ("static-bucket-2-write-stamp", 8),
    ("static-bucket-2-read-stamp", 8),
    ("static-bucket-1-deallocate-stamp", 8),
    ("static-bucket-1-write-stamp", 8),
    ("static-bucket-1-read-stamp", 8),
    ("static-bucket-0-deallocate-stamp", 8),
    ("static-bucket-0-write-stamp", 8),
    ("static-bucket-0-read-stamp", 8),
    ("static-bucket-3-deallocate-latency-ms", 2),
    ("static-bucket-3-write-latency-ms", 2),
    ("static-bucket-3-read-latency-ms", 2),
    ("static-bucket-2-deallocate-latency-ms", 2),
    ("static-bucket-2-write-latency-ms", 2),
    ("static-bucket-2-read-latency-ms", 2),
    ("static-bucket-1-deallocate-latency-ms", 2),
    ("static-bucket-1-write-latency-ms", 2),
    ("static-bucket-1-read-latency-ms", 2),
    ("static-bucket-0-deallocate-latency-ms", 2),
    ("static-bucket-0-write-latency-ms", 2),
    ("static-bucket-0-read-latency-ms", 2),
    ("static-stamp-unit-bits", 2),
    ("", 0x0a),
    ("debug-log-size", 0x0c),
    ("debug-log-trigger-bits", 2),
    ("debug-log-latency-ms", 2),
    ("debug-log-stamp", 8),
    ("debug-log-pointer", 2),
    ("debug-log-source-bits", 2),
    ("debug-log-stamp-unit-bits", 1),
];

/// nvme-cli, `plugins/wdc/wdc-nvme.c`, `struct wdc_nvme_ext_smart_log`; counts of bad blocks and
/// failures are 2 bytes normalized, then 6 raw, as its printing has them.
const WDC_NVME_EXT_SMART_LOG: &[Member] = &[
    ("media-written-tlc-bytes", 16),
    ("media-written-slc-bytes", 16),
    ("bad-user-block-normalized-percent", 2),
    ("bad-user-block-count", 6),
    ("xor-recovery-count", 8),
    ("uncorrectable-read-count", 8),
    ("end-to-end-corrected-count", 8),
    ("end-to-end-detected-count", 8),
    ("end-to-end-uncorrected-count", 8),
    ("system-data-used-percent", 1),
    ("", 3),
    ("user-erase-min-tlc-count", 8),
    ("user-erase-max-tlc-count", 8),
    ("user-erase-average-tlc-count", 8),
    ("user-erase-min-slc-count", 8),
    ("user-erase-max-slc-count", 8),
    ("user-erase-average-slc-count", 8),
    ("program-fail-normalized-percent", 2),
    ("program-fail-count", 6),
    ("erase-fail-normalized-percent", 2),
    ("erase-fail-count", 6),
    ("pcie-correctable-error-count", 8),
    ("free-blocks-user-percent", 1),
    ("", 3),
    ("security-version", 8),
    ("free-blocks-system-percent", 1),
    ("", 3),
    ("deallocate-command-count", 16),
    ("utilization-bytes", 8),
    ("format-command-count", 2),
    ("background-back-pressure-percent", 1),
    ("", 3),
    ("soft-ecc-error-count", 8),
    ("refresh-count", 8),
    ("bad-system-block-normalized-percent", 2),
    ("bad-system-block-count", 6),
    ("endurance-estimate-bytes", 16),
    ("throttle-event-count", 2),
    ("unaligned-io-count", 8),
    ("media-read-bytes", 16),
    ("read-timeout-count", 4),
    ("write-timeout-count", 4),
    ("deallocate-timeout-count", 4),
    ("", 4),
    ("pcie-retraining-count", 8),
    ("power-state-change-count", 8),
    ("specification-major-version", 2),
    ("specification-minor-version", 2),
    ("specification-point-version", 2),
    ("specification-errata-version", 2),
    ("mapping-unit-bytes", 4),
    ("tcg-ownership", 4),
];

/// nvme-cli, `plugins/micron/micron-nvme.c`, `fb_log_page`, the sizes of its second column.
const MICRON_FB_LOG_PAGE_1: &[Member] = &[
    ("media-written-tlc-bytes", 16),
    ("media-written-slc-bytes", 16),
    ("bad-user-block-normalized-percent", 2),
    ("bad-user-block-count", 6),
    ("xor-recovery-count", 8),
    ("uncorrectable-read-count", 8),
    ("end-to-end-corrected-count", 8),
    ("end-to-end-detected-count", 8),
    ("end-to-end-uncorrected-count", 8),
    ("system-data-used-percent", 1),
    ("", 3),
    ("user-erase-min-tlc-count", 8),
    ("user-erase-max-tlc-count", 8),
    ("user-erase-average-tlc-count", 8),
    ("user-erase-min-slc-count", 8),
    ("user-erase-max-slc-count", 8),
    ("user-erase-average-slc-count", 8),
    ("program-fail-normalized-percent", 2),
    ("program-fail-count", 6),
    ("erase-fail-normalized-percent", 2),
    ("erase-fail-count", 6),
    ("pcie-correctable-error-count", 8),
    ("free-blocks-user-percent", 1),
    ("", 3),
    ("security-version", 8),
    ("free-blocks-system-percent", 1),
    ("", 3),
    ("deallocate-command-count", 16),
    ("incomplete-trim", 8),
    ("completed-trim-percent", 2),
    ("background-back-pressure-percent", 1),
    ("", 3),
    ("soft-ecc-error-count", 8),
    ("refresh-count", 8),
    ("bad-system-block-normalized-percent", 2),
    ("bad-system-block-count", 6),
    ("endurance-estimate-bytes", 16),
    ("throttle-status", 1),
    ("throttle-event-count", 1),
    ("unaligned-io-count", 8),
    ("media-read-bytes", 16),
    ("read-timeout-count", 4),
    ("write-timeout-count", 4),
    ("deallocate-timeout-count", 4),
];

/// The same, the sizes of its first column; as well WDC's `struct wdc_nand_stats_V3`.
const MICRON_FB_LOG_PAGE_0: &[Member] = &[
    ("media-written-tlc-bytes", 16),
    ("media-written-slc-bytes", 16),
    ("bad-user-block-normalized-percent", 2),
    ("bad-user-block-count", 6),
    ("xor-recovery-count", 8),
    ("uncorrectable-read-count", 8),
    ("end-to-end-corrected-count", 8),
    ("end-to-end-detected-count", 4),
    ("end-to-end-uncorrected-count", 4),
    ("system-data-used-percent", 1),
    ("user-erase-min-tlc-count", 8),
    ("user-erase-max-tlc-count", 8),
    ("user-erase-min-slc-count", 8),
    ("user-erase-max-slc-count", 8),
    ("program-fail-normalized-percent", 2),
    ("program-fail-count", 6),
    ("erase-fail-normalized-percent", 2),
    ("erase-fail-count", 6),
    ("pcie-correctable-error-count", 8),
    ("free-blocks-user-percent", 1),
    ("security-version", 8),
    ("free-blocks-system-percent", 1),
    ("deallocate-command-count", 16),
    ("incomplete-trim", 8),
    ("completed-trim-percent", 1),
    ("background-back-pressure-percent", 1),
    ("soft-ecc-error-count", 8),
    ("refresh-count", 8),
    ("bad-system-block-normalized-percent", 2),
    ("bad-system-block-count", 6),
    ("endurance-estimate-bytes", 16),
    ("throttle-status", 1),
    ("throttle-event-count", 1),
    ("unaligned-io-count", 8),
    ("media-read-bytes", 16),
    ("", 279),
    ("", 2),
];

/// nvme-cli, `plugins/micron/micron-nvme.c`, `C5_log_page`.
const MICRON_C5_LOG_PAGE: &[Member] = &[
    ("", 4),
    ("link-downshift-count", 1),
    ("", 71),
    ("deallocated-blocks", 4),
    ("", 41),
    ("security-send-count", 4),
    ("security-receive-count", 4),
    ("sanitize-count", 4),
];

/// nvme-cli, `plugins/wdc/wdc-nvme.c`, `struct wdc_ssd_ca_perf_stats`; 8 bytes that it prints as
/// `& 0xFFFF` and `>> 16` are two members.
const WDC_SSD_CA_PERF_STATS: &[Member] = &[
    ("media-written-bytes", 16),
    ("media-read-bytes", 16),
    ("bad-block-normalized-percent", 2),
    ("bad-block-count", 6),
    ("uncorrectable-read-count", 8),
    ("soft-ecc-error-count", 8),
    ("end-to-end-detected-count", 4),
    ("end-to-end-corrected-count", 4),
    ("system-data-used-percent", 1),
    ("user-erase-max-count", 4),
    ("user-erase-min-count", 4),
    ("refresh-count", 8),
    ("program-fail-normalized-percent", 2),
    ("program-fail-count", 6),
    ("user-erase-fail-normalized-percent", 2),
    ("user-erase-fail-count", 6),
    ("system-erase-fail-normalized-percent", 2),
    ("system-erase-fail-count", 6),
    ("throttle-status", 1),
    ("throttle-event-count", 1),
    ("pcie-correctable-error-count", 8),
    ("incomplete-shutdown-count", 4),
    ("free-blocks-percent", 1),
];

/// nvme-cli, `plugins/wdc/wdc-nvme.c`, `struct wdc_ssd_d0_smart_log`.
const WDC_SSD_D0_SMART_LOG: &[Member] = &[
    ("page-header", 4),
    ("reallocated-block-count", 4),
    ("power-on-hours", 4),
    ("uecc-count", 4),
    ("write-amplification-lifetime", 4),
    ("write-amplification-hour", 4),
    ("reserve-block-count", 4),
    ("program-fail-count", 4),
    ("erase-fail-count", 4),
    ("die-failure-count", 4),
    ("link-downgrade-count", 4),
    ("clean-shutdown-count", 4),
    ("unclean-shutdown-count", 4),
    ("temperature", 4),
    ("temperature-max", 4),
    ("retired-block-count", 4),
    ("read-disturb-count", 4),
    ("nand-written-logical-pages", 8),
    ("capacitor-health", 4),
    ("user-writes", 8),
    ("user-reads", 8),
    ("throttle-event-count", 4),
    ("endurance-left-percent", 4),
];

/// nvme-cli, `plugins/wdc/wdc-nvme.c`, `struct wdc_nand_stats`.
const WDC_NAND_STATS: &[Member] = &[
    ("media-written-tlc-bytes", 16),
    ("media-written-slc-bytes", 16),
    ("program-fail-count", 4),
    ("erase-fail-count", 4),
    ("bad-block-count", 4),
    ("xor-recovery-count", 8),
    ("end-to-end-error-count", 8),
    ("namespace-resize-count", 8),
];

/// Bytes of the members, each with a value of its own, and the values.
fn encode(members: &[Member], length: usize) -> (Vec<u8>, Vec<(&'static str, u64)>) {
    let mut bytes = Vec::new();
    let mut expected = Vec::new();
    for (index, &(name, width)) in members.iter().enumerate() {
        let mut member = vec![0; width];
        if !name.is_empty() {
            // Different in every byte up to the eighth, so that a wrong width shows as well.
            for (place, byte) in member.iter_mut().take(8).enumerate() {
                *byte = u8::try_from((index + 1 + place * 29) % 251 + 1).unwrap();
            }
            let mut number = [0; 8];
            number[..width.min(8)].copy_from_slice(&member[..width.min(8)]);
            expected.push((name, u64::from_le_bytes(number)));
        }
        bytes.extend(member);
    }
    assert!(bytes.len() <= length);
    bytes.resize(length, 0);
    (bytes, expected)
}

/// Encodes the members, puts `fixed` bytes on top, and compares what the page reads with them:
/// every value of `members`, and no other but `besides`.
#[track_caller]
fn check(page: &LogPage, members: &[Member], fixed: &[(usize, &[u8])], besides: &[&str]) {
    let (mut bytes, expected) = encode(members, page.length);
    for (at, part) in fixed {
        bytes[*at..*at + part.len()].copy_from_slice(part);
    }
    let read = page.read(&bytes).unwrap();
    for (name, value) in &expected {
        assert_eq!(read.get(name), Some(&LogValue::Number(*value)), "{}: {name}", page.id);
    }
    let known = |name: &str| {
        expected.iter().any(|(expected, _)| *expected == name) || besides.contains(&name)
    };
    let unknown = read.values.iter().find(|value| !known(value.name));
    assert!(unknown.is_none(), "{}: {unknown:?} is in no structure", page.id);
    assert_eq!(read.values.len(), expected.len() + besides.len(), "{}", page.id);
    // One byte less is refused.
    let error = page.read(&bytes[..page.length - 1]).unwrap_err();
    assert!(matches!(error, LogPageError::TooShort { .. }), "{error}");
}

const OCP_SMART_GUID: [u8; 16] = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5_u128.to_le_bytes();
const OCP_LATENCY_GUID: [u8; 16] = 0x85D4_5E58_D4E6_4370_9C6C_84D0_8CC0_7A92_u128.to_le_bytes();
/// nvme-cli, `wdc-nvme.c`, `ext_smart_guid`.
const BOOT_SSD_GUID: [u8; 16] = [
    0x65, 0x43, 0x88, 0x78, 0xac, 0xd8, 0x78, 0xa1, 0x66, 0x42, 0x1e, 0x0f, 0x92, 0xd7, 0x6d, 0xc4,
];

#[test]
fn nvme_smart() {
    check(&SMART, NVME_SMART_LOG, &[], &[]);
}

#[test]
fn ocp_smart() {
    let text = ["dssd-firmware-revision", "dssd-firmware-build", "dssd-firmware-build-label"];
    let fixed: &[(usize, &[u8])] = &[
        (270, b"FW 1.2  "),
        (278, &[0xfe, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
        (294, b"label"),
        (494, &[6]),
        (496, &OCP_SMART_GUID),
    ];
    check(&OCP_SMART, OCP_SMART_EXTENDED_LOG, fixed, &text);
    let (mut bytes, _) = encode(OCP_SMART_EXTENDED_LOG, 512);
    for (at, part) in fixed {
        bytes[*at..*at + part.len()].copy_from_slice(part);
    }
    let value = |name| match OCP_SMART.read(&bytes).unwrap().get(name) {
        Some(LogValue::Text(text)) => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(value("dssd-firmware-revision"), "FW 1.2");
    assert_eq!(value("dssd-firmware-build"), "0f0e0d0c0b0a090807060504030201fe");
    assert_eq!(value("dssd-firmware-build-label"), "label");
}

#[test]
fn a_field_is_read_from_the_version_on_that_has_it() {
    let (mut bytes, _) = encode(OCP_SMART_EXTENDED_LOG, 512);
    bytes[496..].copy_from_slice(&OCP_SMART_GUID);
    let mut count = |version| {
        bytes[494] = version;
        OCP_SMART.read(&bytes).map(|page| page.values.len())
    };
    // nvme-cli prints 26 values of all versions, 7 more from 2 on, 2 from 4, 20 from 5, 3 from 6.
    let counts = [0, 1, 2, 3, 4, 5, 6].map(|version| count(version).unwrap());
    assert_eq!(counts, [26, 26, 33, 33, 35, 55, 58]);
    let error = count(7).unwrap_err();
    assert_eq!(error.to_string(), "`ocp-smart` has version 7; trimbench knows 0 to 6");
}

#[test]
fn ocp_latency_monitor() {
    let fixed: &[(usize, &[u8])] = &[(494, &[4]), (496, &OCP_LATENCY_GUID)];
    // The first member of 12 bytes has eight that are set.
    check(&OCP_LATENCY, SSD_LATENCY_MONITOR_LOG, fixed, &["log-page-guid"]);
    let fixed: &[(usize, &[u8])] = &[(494, &[1]), (496, &OCP_LATENCY_GUID)];
    let without_size: Vec<Member> = SSD_LATENCY_MONITOR_LOG
        .iter()
        .map(|&(name, width)| if name == "debug-log-size" { ("", width) } else { (name, width) })
        .collect();
    check(&OCP_LATENCY, &without_size, fixed, &["log-page-guid"]);
}

#[test]
fn boot_ssd_smart() {
    let fixed: &[(usize, &[u8])] = &[(494, &[1]), (496, &BOOT_SSD_GUID)];
    check(&BOOT_SSD_SMART, WDC_NVME_EXT_SMART_LOG, fixed, &["log-page-guid"]);
}

#[test]
fn micron_fb_in_both_layouts() {
    let guid: [u8; 16] = [7; 16];
    let fixed: &[(usize, &[u8])] = &[(494, &[1]), (496, &guid)];
    check(&micron::FB_SMART, MICRON_FB_LOG_PAGE_1, fixed, &["log-page-guid"]);
    check(&micron::FB_SMART_PACKED, MICRON_FB_LOG_PAGE_0, &[(510, &[3])], &[]);
    // Neither is taken for the other.
    let (mut packed, _) = encode(MICRON_FB_LOG_PAGE_0, 512);
    packed[510] = 3;
    assert!(matches!(micron::FB_SMART.read(&packed), Err(LogPageError::Foreign { .. })));
    let (mut open, _) = encode(MICRON_FB_LOG_PAGE_1, 512);
    open[494] = 1;
    let error = micron::FB_SMART_PACKED.read(&open).unwrap_err();
    assert_eq!(error.to_string(), "`micron-fb-smart-packed` has version 0; trimbench knows 3");
}

#[test]
fn micron_workload() {
    check(&micron::WORKLOAD, MICRON_C5_LOG_PAGE, &[], &[]);
}

#[test]
fn wdc_pages() {
    let free_blocks: &[(usize, &[u8])] = &[];
    check(&wdc::DEVICE_INFO, WDC_SSD_CA_PERF_STATS, free_blocks, &[]);
    check(&wdc::VENDOR_SMART, WDC_SSD_D0_SMART_LOG, &[], &[]);
    check(&wdc::NAND_STATISTICS, WDC_NAND_STATS, &[], &[]);
    check(&wdc::NAND_STATISTICS, MICRON_FB_LOG_PAGE_0, &[(510, &[3])], &[]);
    let mut unknown = vec![1; 512];
    unknown[510..].copy_from_slice(&[2, 0]);
    let error = wdc::NAND_STATISTICS.read(&unknown).unwrap_err();
    assert_eq!(error.to_string(), "`wdc-nand-statistics` has version 2; trimbench knows 0, 3");
}

#[test]
fn another_guid_is_refused_by_name() {
    let mut bytes = vec![0; 512];
    bytes[494] = 1;
    bytes[496..].copy_from_slice(&BOOT_SSD_GUID);
    let error = OCP_SMART.read(&bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "this is not `ocp-smart`: its GUID is c46dd7920f1e4266a178d8ac78884365, not \
         afd514c97c6f4f9ca4f2bfea2810afc5"
    );
    assert_eq!(OCP_SMART.read(&[0; 512]), Err(LogPageError::Empty { page: "ocp-smart" }));
}

#[test]
fn counters_of_128_bits_saturate() {
    let mut bytes = vec![0; 512];
    bytes[48 + 8] = 1;
    bytes[64..72].fill(0xff);
    let page = SMART.read(&bytes).unwrap();
    let written = page.get("host-written-units-of-512000-bytes").unwrap();
    assert_eq!((written, written.number()), (&LogValue::Saturated, None));
    assert_eq!(page.number("host-read-command-count"), Some(u64::MAX));
    assert_eq!(crate::nvme::smart::host_written(&bytes), None);
    let json = serde_json::to_value(&page).unwrap();
    assert_eq!(json["page"], "nvme-smart");
    let written = &json["values"]["host-written-units-of-512000-bytes"];
    assert_eq!(written, "18446744073709551616 or more");
    assert_eq!(json["values"]["host-read-command-count"], u64::MAX);
}

#[test]
fn growth_is_of_counters_that_did_not_fall() {
    let page = |written: u8, temperature: u8, cycles: u8| {
        let mut bytes = vec![0; 512];
        (bytes[48], bytes[1], bytes[112]) = (written, temperature, cycles);
        SMART.read(&bytes).unwrap()
    };
    let (before, after) = (page(3, 40, 9), page(10, 50, 8));
    let grown: Vec<_> = after.growth_since(&before).filter(|(_, growth)| *growth != 0).collect();
    assert_eq!(grown, [("host-written-units-of-512000-bytes", 7)]);
    assert!(after.growth_since(&before).all(|(name, _)| name != "power-cycle-count"));
}
