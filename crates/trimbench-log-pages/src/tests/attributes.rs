//! Pages of attributes, and histograms.

use crate::error::LogPageError;
use crate::vendors::{memblaze, micron, samsung, solidigm};
use crate::{DecodedPage, DriveSummary, LogHistogram};

/// An item of 12 bytes: nvme-cli, `struct nvme_additional_smart_log_item`, `struct
/// smart_log_add_item_12`; FreeBSD's `walker[0]`, `[3]` and `[5..10]`.
fn item_12(id: u8, normalized: u8, raw: [u8; 6]) -> [u8; 12] {
    let mut item = [0xee; 12];
    (item[0], item[3]) = (id, normalized);
    item[5..11].copy_from_slice(&raw);
    item
}

/// An item of 10 bytes: `struct smart_log_add_item_10`.
fn item_10(id: u8, normalized: u8, raw: [u8; 6]) -> [u8; 10] {
    let mut item = [0xee; 10];
    (item[0], item[1]) = (id, normalized);
    item[2..8].copy_from_slice(&raw);
    item
}

fn page(items: &[Vec<u8>], length: usize) -> Vec<u8> {
    let mut bytes = items.concat();
    bytes.resize(length, 0);
    bytes
}

/// Ids with the keys that begin what nvme-cli calls `attr`, or FreeBSD `name`.
const SOLIDIGM: &[(u8, &str)] = &[
    (0x0d, "soft-ecc-error-rate"),
    (0x05, "relocatable-sector"),
    (0xab, "program-fail"),
    (0xac, "erase-fail"),
    (0xae, "unexpected-power-loss"),
    (0xb8, "end-to-end-error"),
    (0xc7, "crc-error"),
    (0xe2, "workload-media-wear"),
    (0xe3, "workload-host-reads"),
    (0xe4, "workload-timer"),
    (0xe5, "reads-in-flight"),
    (0xe6, "writes-in-flight"),
    (0xe7, "bad-dllp"),
    (0xe8, "receiver-error"),
    (0xee, "re-sku"),
    (0xf0, "retry-buffer-overflow"),
    (0xf3, "pll-lock-loss"),
    (0xf4, "nand-written"),
    (0xf5, "host-written"),
    (0xf6, "host-context-wear"),
    (0xf7, "performance-status"),
    (0xf8, "media-read"),
    (0xf9, "firmware-downgrades"),
    (0xfa, "read-collision"),
    (0xfb, "write-collision"),
    (0xfc, "xor-pass"),
    (0xfd, "xor-fail"),
    (0xfe, "xor-invoked"),
];

const MEMBLAZE_3: &[(u8, &str)] = &[
    (0xab, "program-fail"),
    (0xac, "erase-fail"),
    (0xc7, "crc-error"),
    (0xf4, "nand-written"),
    (0xf5, "host-written"),
    (0xd0, "reallocated-sector"),
    (0xd1, "uncorrectable-sector"),
    (0xd2, "nand-uecc"),
    (0xd3, "nand-xor-correction"),
    (0xd4, "garbage-collection"),
    (0xd5, "dram-uecc"),
    (0xd6, "sram-uecc"),
    (0xd7, "raid-recovery-fail"),
    (0xda, "die-fail"),
    (0xdb, "wear-leveling-run"),
    (0xdc, "read-disturb"),
    (0xdd, "data-retention"),
    (0xde, "capacitor-health"),
    (0xe1, "block-padding"),
    (0xe5, "host-trimmed"),
    (0xe7, "host-write-zeroes"),
    (0xe9, "firmware-update"),
];

/// The number of this attribute, and its normalized value.
#[track_caller]
fn assert_attribute(page: &DecodedPage, key: &str, number: u64, normalized: u64) {
    let is_number = |name: &str| {
        name.strip_prefix(key).is_some_and(|rest| {
            rest.starts_with('-') && !rest.contains("normalized") && !rest.contains("rate-")
        })
    };
    let value = page.values.iter().find(|value| is_number(value.name));
    assert_eq!(value.and_then(|value| value.value.number()), Some(number), "{key}");
    let name = format!("{key}-normalized-percent");
    assert_eq!(page.number(&name), Some(normalized), "{key}");
}

fn raw(index: u8) -> ([u8; 6], u64) {
    let raw = [index, 1, 2, 3, 4, 5];
    (raw, u64::from(index) | 0x0504_0302_0100)
}

#[test]
fn solidigm_attributes() {
    let items: Vec<Vec<u8>> = (1..)
        .zip(SOLIDIGM)
        .map(|(index, (id, _))| item_12(*id, 100 + index, raw(index).0).to_vec())
        .chain([item_12(0xad, 1, [10, 0, 20, 1, 30, 2]).to_vec()])
        .chain([item_12(0xea, 1, [7, 4, 3, 2, 1, 0]).to_vec()])
        .collect();
    let read = solidigm::ATTRIBUTES.read(&page(&items, 512)).unwrap();
    for (index, (_, key)) in (1..).zip(SOLIDIGM) {
        assert_attribute(&read, key, raw(index).1, u64::from(100 + index));
    }
    let wear = ["erase-min-count", "erase-max-count", "erase-average-count"];
    assert_eq!(wear.map(|name| read.number(name)), [Some(10), Some(0x114), Some(0x21e)]);
    let throttle = ["throttle-status-percent", "throttle-event-count"];
    assert_eq!(throttle.map(|name| read.number(name)), [Some(7), Some(0x0102_0304)]);
    assert_eq!(read.values.len(), SOLIDIGM.len() * 2 + 5);
}

#[test]
fn the_first_item_of_an_id_counts_and_unknown_ids_are_passed_over() {
    let items = [
        item_12(0x99, 1, [9; 6]).to_vec(),
        item_12(0xab, 100, [1, 0, 0, 0, 0, 0]).to_vec(),
        item_12(0xab, 50, [2, 0, 0, 0, 0, 0]).to_vec(),
    ];
    let read = solidigm::ATTRIBUTES.read(&page(&items, 512)).unwrap();
    assert_eq!(read.number("program-fail-count"), Some(1));
    assert_eq!(read.values.len(), 2);
    let foreign = solidigm::ATTRIBUTES.read(&page(&items[..1], 512)).unwrap_err();
    assert!(matches!(foreign, LogPageError::Foreign { .. }), "{foreign}");
}

#[test]
fn memblaze_attributes_in_three_versions() {
    let items: Vec<Vec<u8>> = (1..)
        .zip(MEMBLAZE_3)
        .filter(|(_, (id, _))| *id != 0xe9)
        .map(|(index, (id, _))| item_10(*id, 100 + index, raw(index).0).to_vec())
        .chain([item_10(0xea, 1, [7, 4, 3, 2, 1, 0]).to_vec()])
        .chain([item_10(0xe9, 1, [1, 0, 2, 0, 3, 0]).to_vec()])
        .chain([item_10(0xf6, 1, [1, 2, 3, 4, 9, 9]).to_vec()])
        .chain([item_10(0xfa, 1, [1, 2, 3, 4, 9, 9]).to_vec()])
        .chain([item_10(0xd8, 1, [1, 2, 9, 9, 3, 4]).to_vec()])
        .collect();
    let mut bytes = page(&items, 512);
    bytes[511] = 3;
    let read = memblaze::ATTRIBUTES.read(&bytes).unwrap();
    for (index, (id, key)) in (1..).zip(MEMBLAZE_3) {
        if *id != 0xe9 {
            assert_attribute(&read, key, raw(index).1, u64::from(100 + index));
        }
    }
    for (name, value) in [
        ("throttle-event-count", 0x0102_0304),
        ("firmware-update-without-reset-count", 1),
        ("firmware-update-with-reset-count", 2),
        ("firmware-update-fail-count", 3),
        ("dram-corrected-count", 0x0403_0201),
        ("write-throttle-now", 0x0201),
        ("write-throttle-total", 0x0403),
        ("io-in-flight-count", 0x0201),
        ("admin-in-flight-count", 0x0403),
    ] {
        assert_eq!(read.number(name), Some(value), "{name}");
    }
    // The same ids mean other things in other versions.
    let items = [item_12(0xe7, 1, [1, 1, 2, 1, 3, 1]), item_12(0xeb, 1, [1, 5, 0, 0, 0, 9])];
    let mut bytes = page(&items.map(Vec::from), 512);
    for version in [0, 2] {
        bytes[511] = version;
        let read = memblaze::ATTRIBUTES.read(&bytes).unwrap();
        let kelvin = ["temperature-max-kelvin", "temperature-min-kelvin", "temperature-kelvin"];
        assert_eq!(kelvin.map(|name| read.number(name)), [Some(0x101), Some(0x102), Some(0x103)]);
        assert_eq!(read.number("throttle-time"), Some(5), "the sixth byte is another's");
    }
    bytes[511] = 1;
    let error = memblaze::ATTRIBUTES.read(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "`memblaze-attributes` has version 1; trimbench knows 0, 2, 3");
}

#[test]
fn samsung_extended_smart() {
    let items = [
        item_12(0xab, 100, [1, 0, 0, 0, 0, 0]),
        item_12(0xad, 99, [10, 0, 20, 1, 30, 2]),
        item_12(0xf5, 98, [0xff; 6]),
    ];
    let mut bytes = page(&items.map(Vec::from), 512);
    // FreeBSD, `struct samsung_log_extended_smart`: widths in order, from byte 256 on.
    let members = [4, 4, 16, 16, 16, 4, 2, 2, 4, 8, 8, 4, 16, 16, 16, 4];
    let keys = [
        "write-amplification-lifetime",
        "write-amplification-hour",
        "lifetime-user-writes",
        "lifetime-nand-writes",
        "lifetime-user-reads",
        "retired-block-count",
        "temperature-kelvin",
        "capacitor-health",
        "reserved-block-unused-count",
        "read-reclaim-count",
        "uncorrectable-ecc-count",
        "reserved-block-used-count",
        "power-on-hours",
        "power-off-normal-count",
        "power-off-sudden-count",
        "performance-indicator",
    ];
    let mut at = 256;
    for (index, width) in (1_u8..).zip(members) {
        (bytes[at], bytes[at + 1]) = (index, 1);
        at += width;
    }
    let read = samsung::EXTENDED_SMART.read(&bytes).unwrap();
    for (index, key) in (1..).zip(keys) {
        assert_eq!(read.number(key), Some(0x100 + index), "{key}");
    }
    assert_eq!(read.number("erase-average-count"), Some(0x21e));
    assert_eq!(read.number("host-written-data-units"), Some(0xffff_ffff_ffff));
}

/// nvme-cli, `struct latency_stats_v2_0`: two versions, then three groups of 32 counters and 32
/// that are reserved.
fn memblaze_latency() -> Vec<u8> {
    let mut words: Vec<u32> = vec![0, 2];
    for group in 1..=3 {
        words.extend((0..32).map(|bucket| group * 1000 + bucket));
        words.extend([0; 32]);
    }
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize(1024, 0);
    bytes
}

#[test]
fn memblaze_latency_buckets() {
    let read = memblaze::LATENCY.read(&memblaze_latency()).unwrap();
    assert_eq!(read.values.len(), 96);
    assert_eq!(read.number("read-latency-from-0-us-count"), Some(1000));
    assert_eq!(read.number("write-latency-from-5000-us-count"), Some(2013));
    assert_eq!(read.number("deallocate-latency-from-8000000-us-count"), Some(3031));
    let histogram = DriveSummary::of(&[read]).deallocate_latency.unwrap();
    let bucket = histogram.buckets[13];
    assert_eq!((bucket.from_us, bucket.to_us, bucket.count), (5_000, Some(10_000), 3013));
    let last = histogram.buckets[31];
    assert_eq!((last.from_us, last.to_us, last.count), (8_000_000, None, 3031));
    assert_eq!(histogram.slowest_from_us(), Some(8_000_000));
    assert_eq!(histogram.count(), 32 * 3000 + 31 * 16);
    for (at, value, says) in [(0, 1, "minor version is not 0"), (4, 3, "has version 3")] {
        let mut other = memblaze_latency();
        other[at] = value;
        let error = memblaze::LATENCY.read(&other).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// nvme-cli, `struct micron_latency_stats`: version, then four groups of 32 counters of 8 bytes and
/// 32 that are reserved.
fn micron_latency() -> Vec<u8> {
    let mut words: Vec<u64> = vec![2 << 32 | 1];
    for group in [7000, 1000, 2000, 3000] {
        words.extend((0..32).map(|bucket| if group == 7000 { group } else { group + bucket }));
        words.extend([0; 32]);
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn micron_latency_buckets() {
    let read = micron::LATENCY.read(&micron_latency()).unwrap();
    assert_eq!(read.number("major-version"), Some(2));
    assert_eq!(read.number("minor-version"), Some(1));
    assert_eq!(read.number("all-latency-from-50-us-count"), Some(7000));
    assert_eq!(read.number("read-latency-from-50-us-count"), Some(1001));
    assert_eq!(read.number("write-latency-from-8000000-us-count"), Some(2031));
    assert_eq!(read.number("deallocate-latency-from-1000-us-count"), Some(3012));
    let histogram: LogHistogram = DriveSummary::of(&[read]).deallocate_latency.unwrap();
    assert_eq!(histogram.buckets[12].count, 3012);
}

#[test]
fn an_older_page_of_micron_is_not_taken_for_latencies() {
    let mut reserved = micron_latency();
    reserved[8 + 32 * 8] = 1;
    let mut sums = micron_latency();
    sums[8..16].copy_from_slice(&10_u64.to_le_bytes());
    for bytes in [reserved, sums, vec![1; 2056]] {
        let error = micron::LATENCY.read(&bytes).unwrap_err();
        assert!(matches!(error, LogPageError::Foreign { .. }), "{error}");
    }
}
