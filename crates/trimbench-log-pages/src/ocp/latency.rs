//! Latency Monitor, log C3h: the drive's own count of slow reads, writes and deallocations (TRIM),
//! and the latency of one of each, with the time.
//!
//! ```text
//! latency   0 .. A | A .. B   | B .. C   | C .. D   | D ..
//!           -      | bucket 0 | bucket 1 | bucket 2 | bucket 3
//! ```
//!
//! The active window is being filled. When its timer reaches the threshold it becomes the static
//! window, and a new one begins. In each window and bucket the drive counts commands of each kind,
//! and keeps the latency and the time of the largest (of the first, where the mode bit is clear).
//!
//! In a group of counters the order is reserved, deallocate, write, read; time stamps and latencies
//! run from bucket 3 to bucket 0. So have it \[NVMECLI\] (2.13, and its plugin for WDC) and
//! \[OCPTOOLS\] (LMDATA-12, -16 and -17). Other decoders differ: `docs/reference/drive-logs.md`.
//! Source: \[OCP\] 2.0 and 2.5 (LMDATA).

use serde::Serialize;

use super::{GUID_AT, VERSION_AT};
use crate::field::{FieldKind, LogField};
use crate::page::{DecodedPage, LogLayout, LogPage};

const GUID: u128 = 0x85D4_5E58_D4E6_4370_9C6C_84D0_8CC0_7A92;
/// The stamp of a command that was not seen.
const NO_STAMP: u64 = u64::MAX;
/// Milliseconds of a time stamp: the low 48 bits. Above them a bit that says whether the clock
/// stopped meanwhile, and the origin (\[NVME\] Base 2.0, the Timestamp feature).
const STAMP_MS: u64 = (1 << 48) - 1;
const ORIGIN_SHIFT: u32 = 49;
const ORIGIN_HOST: u64 = 0b001;

/// The page. Version 1 belongs to specification 2.0, 4 to 2.5; they differ in the debug log only.
pub static OCP_LATENCY: LogPage = LogPage {
    title: "OCP Latency Monitor",
    is_ocp: true,
    guid: Some((GUID_AT, GUID)),
    version: Some(VERSION_AT),
    sources: &["OCP", "NVMECLI"],
    ..LogPage::plain(
        "ocp-latency-monitor",
        0xc3,
        &[LogLayout::fields((1, 4), &[SETTINGS, ACTIVE, STATIC, DEBUG])],
    )
};

const SETTINGS: &[LogField] = &[
    LogField::gauge(
        "feature-status-bits",
        0,
        1,
        "bit 0 enabled, 1 mode 1 (largest) supported, 2 measured latency supported",
    ),
    LogField::gauge("active-bucket-timer-5-minutes", 2, 2, "age of the active window"),
    LogField::gauge("active-bucket-timer-threshold-5-minutes", 4, 2, "length of a window"),
    LogField::gauge("threshold-a-5-ms-minus-1", 6, 1, "where bucket 0 begins: (value + 1) * 5 ms"),
    LogField::gauge("threshold-b-5-ms-minus-1", 7, 1, "where bucket 1 begins"),
    LogField::gauge("threshold-c-5-ms-minus-1", 8, 1, "where bucket 2 begins"),
    LogField::gauge("threshold-d-5-ms-minus-1", 9, 1, "where bucket 3 begins"),
    LogField::gauge(
        "active-latency-configuration-bits",
        10,
        2,
        "bits 3 * bucket + (0 read, 1 write, 2 deallocate): set if the largest is kept, else the \
         first",
    ),
    LogField::gauge("active-latency-minimum-window-100-ms", 12, 1, "between two that are kept"),
];

const DEBUG: &[LogField] = &[
    LogField::gauge("debug-log-size", 0x1b4, 12, "size of the debug log").since(4),
    LogField::gauge("debug-log-trigger-bits", 0x1c0, 2, "what starts a debug log"),
    LogField::gauge("debug-log-latency-ms", 0x1c2, 2, "latency of what started it"),
    LogField::gauge("debug-log-stamp", 0x1c4, 8, "time of what started it"),
    LogField::gauge("debug-log-pointer", 0x1cc, 2, "where it is"),
    LogField::gauge("debug-log-source-bits", 0x1ce, 2, "which counter started it"),
    LogField::gauge("debug-log-stamp-unit-bits", 0x1d0, 1, "bit 0 as in the stamp unit bits"),
    LogField::gauge("log-page-guid", GUID_AT, 16, "GUID").as_kind(FieldKind::Identifier),
];

/// The fields of a window: its name, then where its counters begin. Stamps follow 64 bytes
/// after, latencies another 96, the unit bits another 24.
macro_rules! window {
    ($name:literal, $at:expr) => {
        &[
            window!(@counter $name, "0", $at, 0),
            window!(@counter $name, "1", $at, 1),
            window!(@counter $name, "2", $at, 2),
            window!(@counter $name, "3", $at, 3),
            window!(@stamp $name, "0", $at, 3),
            window!(@stamp $name, "1", $at, 2),
            window!(@stamp $name, "2", $at, 1),
            window!(@stamp $name, "3", $at, 0),
            window!(@latency $name, "0", $at, 3),
            window!(@latency $name, "1", $at, 2),
            window!(@latency $name, "2", $at, 1),
            window!(@latency $name, "3", $at, 0),
        ]
    };
    (@counter $name:literal, $bucket:literal, $at:expr, $group:expr) => {
        [
            window!(@field $name, $bucket, "read-count", $at + $group * 16 + 12, 4),
            window!(@field $name, $bucket, "write-count", $at + $group * 16 + 8, 4),
            window!(@field $name, $bucket, "deallocate-count", $at + $group * 16 + 4, 4),
        ]
    };
    (@stamp $name:literal, $bucket:literal, $at:expr, $group:expr) => {
        [
            window!(@field $name, $bucket, "read-stamp", $at + 64 + $group * 24 + 16, 8),
            window!(@field $name, $bucket, "write-stamp", $at + 64 + $group * 24 + 8, 8),
            window!(@field $name, $bucket, "deallocate-stamp", $at + 64 + $group * 24, 8),
        ]
    };
    (@latency $name:literal, $bucket:literal, $at:expr, $group:expr) => {
        [
            window!(@field $name, $bucket, "read-latency-ms", $at + 160 + $group * 6 + 4, 2),
            window!(@field $name, $bucket, "write-latency-ms", $at + 160 + $group * 6 + 2, 2),
            window!(@field $name, $bucket, "deallocate-latency-ms", $at + 160 + $group * 6, 2),
        ]
    };
    (@field $name:literal, $bucket:literal, $what:literal, $at:expr, $width:literal) => {
        LogField::gauge(
            concat!($name, "-bucket-", $bucket, "-", $what),
            $at,
            $width,
            concat!("bucket ", $bucket, " of the ", $name, " window"),
        )
    };
}

const ACTIVE_AT: usize = 0x20;
const STATIC_AT: usize = 0xf0;
const ACTIVE_GROUPS: &[[LogField; 3]] = window!("active", ACTIVE_AT);
const STATIC_GROUPS: &[[LogField; 3]] = window!("static", STATIC_AT);
const ACTIVE_UNITS: [LogField; 1] =
    [LogField::gauge("active-stamp-unit-bits", 0xd8, 2, "a bit a stamp, as in the configuration")];
const STATIC_UNITS: [LogField; 1] =
    [LogField::gauge("static-stamp-unit-bits", 0x1a8, 2, "a bit a stamp, as in the configuration")];
const ACTIVE: &[LogField] = &joined(ACTIVE_GROUPS, ACTIVE_UNITS);
const STATIC: &[LogField] = &joined(STATIC_GROUPS, STATIC_UNITS);

const fn joined(groups: &[[LogField; 3]], units: [LogField; 1]) -> [LogField; 37] {
    let mut all = [units[0]; 37];
    let mut index = 0;
    while index < 36 {
        all[index] = groups[index / 3][index % 3];
        index += 1;
    }
    all
}

/// What the page says, for callers that decide by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LatencyMonitor {
    /// Whether the drive measures. If not, all counters stay as they are.
    pub is_enabled: bool,
    /// Where each bucket begins, in milliseconds.
    pub bucket_starts_ms: [u64; 4],
    /// Age of the active window, in minutes, to 5 minutes.
    pub active_minutes: u64,
    /// How long a window lasts, in minutes. 0: windows are never closed.
    pub window_minutes: u64,
    /// The window that is being filled.
    pub active: MonitorWindow,
    /// The last complete window.
    pub complete: MonitorWindow,
}

/// What was seen in a window: for each bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MonitorWindow {
    /// Reads.
    pub read: [MonitoredCommands; 4],
    /// Writes.
    pub write: [MonitoredCommands; 4],
    /// Deallocations: TRIM.
    pub deallocate: [MonitoredCommands; 4],
}

/// Commands of one kind in one bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MonitoredCommands {
    /// How many.
    pub count: u64,
    /// The latency that was kept, in milliseconds; `None` if none was.
    pub latency_ms: Option<u64>,
    /// Whether the one that was kept is the largest; else it is the first.
    pub is_largest: bool,
    /// When it was; `None` if the drive kept no time.
    pub at: Option<DriveTime>,
}

/// A time as the drive knows it, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum DriveTime {
    /// Since 1970, as the host set the drive's clock.
    #[serde(rename = "host_ms")]
    Host(u64),
    /// Since the controller was reset: the host did not set the clock.
    #[serde(rename = "since_reset_ms")]
    SinceReset(u64),
}

impl LatencyMonitor {
    /// From the page; `None` if it is another.
    pub fn of(page: &DecodedPage) -> Option<Self> {
        if page.page != OCP_LATENCY.id {
            return None;
        }
        let setting = |index: usize| page.number(SETTINGS[index].name).unwrap_or(0);
        let start = |index| (setting(index) + 1) * 5;
        let modes = setting(7);
        Some(Self {
            is_enabled: setting(0) & 1 != 0,
            bucket_starts_ms: [start(3), start(4), start(5), start(6)],
            active_minutes: setting(1) * 5,
            window_minutes: setting(2) * 5,
            active: MonitorWindow::of(page, ACTIVE_GROUPS, modes),
            complete: MonitorWindow::of(page, STATIC_GROUPS, modes),
        })
    }
}

impl MonitorWindow {
    fn of(page: &DecodedPage, groups: &[[LogField; 3]], modes: u64) -> Self {
        let kind = |kind: usize| {
            std::array::from_fn(|bucket| {
                let field = |part: usize| page.number(groups[part * 4 + bucket][kind].name);
                MonitoredCommands {
                    count: field(0).unwrap_or(0),
                    latency_ms: field(2).filter(|&latency| latency != 0),
                    is_largest: modes & 1 << (bucket * 3 + kind) != 0,
                    at: field(1).filter(|&stamp| stamp != NO_STAMP).map(DriveTime::of),
                }
            })
        };
        Self { read: kind(0), write: kind(1), deallocate: kind(2) }
    }
}

impl MonitoredCommands {
    /// The worst of several buckets, which is in the highest that has one.
    pub fn worst(buckets: &[Self; 4]) -> Option<&Self> {
        buckets.iter().filter(|bucket| bucket.latency_ms.is_some()).max_by_key(|it| it.latency_ms)
    }
}

impl DriveTime {
    fn of(stamp: u64) -> Self {
        let milliseconds = stamp & STAMP_MS;
        match stamp >> ORIGIN_SHIFT & 0b111 {
            ORIGIN_HOST => Self::Host(milliseconds),
            _ => Self::SinceReset(milliseconds),
        }
    }
}
