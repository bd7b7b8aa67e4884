//! What callers decide by: latency monitor, device statistics, the summary.

use crate::ata::statistics::{ATA_STATISTICS, supported_pages};
use crate::error::LogPageError;
use crate::nvme::smart::SMART;
use crate::ocp::latency::{DriveTime, LatencyMonitor, MonitoredCommands, OCP_LATENCY};
use crate::{DriveSummary, LogValue};

fn put(bytes: &mut [u8], at: usize, part: &[u8]) {
    bytes[at..at + part.len()].copy_from_slice(part);
}

#[test]
fn the_worst_trim_has_its_time() {
    let mut bytes = vec![0; 512];
    put(&mut bytes, 496, &0x85D4_5E58_D4E6_4370_9C6C_84D0_8CC0_7A92_u128.to_le_bytes());
    put(&mut bytes, 494, &[1]);
    put(&mut bytes, 0, &[0b111, 0, 2, 0, 12, 0, 0, 1, 9, 199, 0b100, 0]);
    bytes[96..192].fill(0xff);
    bytes[0x130..0x190].fill(0xff);
    // OCP, LMDATA-12 and -15: TRIM is at byte 4 of a counter. LMDATA-16 and -17: bucket 0 is last.
    put(&mut bytes, 32 + 4, &70_u32.to_le_bytes());
    put(&mut bytes, 80 + 4, &2_u32.to_le_bytes());
    put(&mut bytes, 80 + 12, &9_u32.to_le_bytes());
    put(&mut bytes, 168, &1_000_u64.to_le_bytes());
    put(&mut bytes, 96, &((1_u64 << 49) + 1_700_000_000_000).to_le_bytes());
    put(&mut bytes, 210, &7_u16.to_le_bytes());
    put(&mut bytes, 192, &1_300_u16.to_le_bytes());
    let page = OCP_LATENCY.read(&bytes).unwrap();
    let monitor = LatencyMonitor::of(&page).unwrap();
    assert!(monitor.is_enabled);
    assert_eq!(monitor.bucket_starts_ms, [5, 10, 50, 1000]);
    assert_eq!((monitor.active_minutes, monitor.window_minutes), (10, 60));
    let [first, .., last] = monitor.active.deallocate;
    let (kept, is_largest) = (Some(DriveTime::SinceReset(1_000)), true);
    let expected = MonitoredCommands { count: 70, latency_ms: Some(7), is_largest, at: kept };
    assert_eq!(first, expected);
    let at = Some(DriveTime::Host(1_700_000_000_000));
    let expected = MonitoredCommands { count: 2, latency_ms: Some(1_300), is_largest: false, at };
    assert_eq!(last, expected);
    assert_eq!(MonitoredCommands::worst(&monitor.active.deallocate), Some(&last));
    assert_eq!(MonitoredCommands::worst(&monitor.active.write), None);
    let read = MonitoredCommands { count: 9, ..MonitoredCommands::default() };
    assert_eq!(monitor.active.read[3], read);
    let seen = |it: &MonitoredCommands| it.count != 0 || it.latency_ms.is_some() || it.at.is_some();
    assert!(!monitor.complete.deallocate.iter().any(seen));
    let json = serde_json::to_value(DriveSummary::of(&[page])).unwrap();
    let last = &json["latency_monitor"]["active"]["deallocate"][3];
    assert_eq!(
        (&last["count"], &last["at"]["host_ms"]),
        (&2.into(), &1_700_000_000_000_u64.into())
    );
}

/// `ataprint.cpp`: `devstat_info_0x01` and so on, sizes in order; -1 is a signed byte.
const DEVICE_STATISTICS: [(u8, &[(i8, &str)]); 6] = [
    (
        1,
        &[
            (4, "power-on-reset-count"),
            (4, "power-on-hours"),
            (6, "host-written-logical-sectors"),
            (6, "host-write-command-count"),
            (6, "host-read-logical-sectors"),
            (6, "host-read-command-count"),
            (6, "date-and-time-ms"),
            (4, "pending-error-count"),
            (2, "workload-utilization-percent"),
            (6, "utilization-usage-rate"),
            (7, "resource-availability"),
            (1, "random-write-resources-used"),
        ],
    ),
    (
        3,
        &[
            (4, "spindle-power-on-hours"),
            (4, "head-flying-hours"),
            (4, "head-load-count"),
            (4, "reallocated-logical-sectors"),
            (4, "read-recovery-attempt-count"),
            (4, "mechanical-start-failure-count"),
            (4, "reallocation-candidate-sectors"),
            (4, "high-priority-unload-count"),
        ],
    ),
    (
        4,
        &[
            (4, "uncorrectable-error-count"),
            (4, "reset-while-busy-count"),
            (4, "physical-element-change-count"),
        ],
    ),
    (
        5,
        &[
            (-1, "temperature-celsius"),
            (-1, "temperature-short-average-celsius"),
            (-1, "temperature-long-average-celsius"),
            (-1, "temperature-max-celsius"),
            (-1, "temperature-min-celsius"),
            (-1, "temperature-short-average-max-celsius"),
            (-1, "temperature-short-average-min-celsius"),
            (-1, "temperature-long-average-max-celsius"),
            (-1, "temperature-long-average-min-celsius"),
            (4, "over-temperature-minutes"),
            (-1, "temperature-specified-max-celsius"),
            (4, "under-temperature-minutes"),
            (-1, "temperature-specified-min-celsius"),
        ],
    ),
    (
        6,
        &[
            (4, "hardware-reset-count"),
            (4, "signal-recovery-count"),
            (4, "interface-crc-error-count"),
        ],
    ),
    (7, &[(1, "endurance-used-percent")]),
];

#[test]
fn device_statistics_have_their_widths_and_signs() {
    for ((number, entries), table) in DEVICE_STATISTICS.into_iter().zip(&ATA_STATISTICS) {
        assert_eq!(table.number, number);
        let mut bytes = vec![0; 512];
        (bytes[0], bytes[2]) = (1, number);
        for (index, _) in entries.iter().enumerate() {
            let at = 8 * (index + 1);
            put(&mut bytes, at, &[0x80 + u8::try_from(index).unwrap(), 1, 2, 3, 4, 5, 6, 0xc0]);
        }
        let read = table.read(&bytes).unwrap();
        assert_eq!(read.values.len(), entries.len());
        for (index, (width, name)) in entries.iter().enumerate() {
            let low = 0x80 + i64::try_from(index).unwrap();
            let value = match *width {
                -1 => LogValue::Signed(low - 0x100),
                width => {
                    let all = u64::from_le_bytes(bytes[8 * (index + 1)..][..8].try_into().unwrap());
                    LogValue::Number(all & ((1 << (width * 8)) - 1))
                }
            };
            assert_eq!(read.get(name), Some(&value), "{name}");
        }
    }
}

#[test]
fn flags_decide_which_statistics_have_a_value() {
    let mut bytes = vec![0; 512];
    (bytes[0], bytes[2]) = (1, 1);
    // Not supported, not valid, valid and normalized with notification and its condition.
    put(&mut bytes, 8, &[1, 0, 0, 0, 0, 0, 0, 0x40]);
    put(&mut bytes, 16, &[2, 0, 0, 0, 0, 0, 0, 0x80]);
    put(&mut bytes, 24, &[3, 0, 0, 0, 0, 0, 0, 0xf8]);
    let general = &ATA_STATISTICS[0];
    let (revision, found) = general.statistics(&bytes).unwrap();
    assert_eq!(revision, 1);
    let names: Vec<&str> = found.iter().map(|statistic| statistic.value.name).collect();
    assert_eq!(names, ["power-on-hours", "host-written-logical-sectors"]);
    assert!(!found[0].flags.is_valid);
    let flags = found[1].flags;
    assert!(flags.is_valid && flags.is_normalized && flags.notifies && flags.is_condition_met);
    let page = general.read(&bytes).unwrap();
    assert_eq!(page.values.len(), 1);
    assert_eq!(page.number("host-written-logical-sectors"), Some(3));
    bytes[2] = 7;
    let error = general.read(&bytes).unwrap_err();
    assert!(matches!(error, LogPageError::Foreign { .. }), "{error}");
}

#[test]
fn the_list_of_statistics_is_bounded() {
    let mut bytes = vec![0xff; 512];
    bytes[2] = 0;
    assert_eq!(supported_pages(&bytes).unwrap().len(), 255);
    bytes[8..12].copy_from_slice(&[3, 0, 1, 7]);
    assert_eq!(supported_pages(&bytes), Ok(vec![0, 1, 7]));
    bytes[8] = 0;
    assert!(supported_pages(&bytes).is_err());
    assert!(supported_pages(&bytes[..511]).is_err());
}

#[test]
fn the_summary_takes_the_first_page_that_has_a_value() {
    let mut bytes = vec![0; 512];
    (bytes[1], bytes[2], bytes[5]) = (0x38, 0x01, 12);
    (bytes[192], bytes[224], bytes[228]) = (30, 20, 4);
    let smart = SMART.read(&bytes).unwrap();
    let mut statistics = vec![0; 512];
    (statistics[0], statistics[2]) = (1, 5);
    put(&mut statistics, 8, &[0xf6, 0, 0, 0, 0, 0, 0, 0xc0]);
    let cold = ATA_STATISTICS[3].read(&statistics).unwrap();
    let summary = DriveSummary::of(&[smart, cold.clone()]);
    assert_eq!(summary.temperature_celsius, Some(0x138 - 273));
    assert_eq!(summary.endurance_used_percent, Some(12));
    assert_eq!(summary.throttled_seconds, Some(24));
    assert_eq!(summary.warning_temperature_minutes, Some(30));
    assert_eq!(summary.pending_trim_blocks, None);
    assert_eq!(DriveSummary::of(&[cold]).temperature_celsius, Some(-10));
}
