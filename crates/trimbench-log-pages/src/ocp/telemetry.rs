//! Telemetry, log 07h (host-initiated) and 08h (controller-initiated), as OCP arranges it: how many
//! logical blocks are trimmed but not yet worked off, and how many TRIM asked for.
//!
//! ```text
//! byte 0      header, 512 B: log id, last block of data areas 1 to 3 (blocks of 512 B)
//! byte 512    data area 1: version, GUID, where the statistics are and how many dwords they have,
//!             copies of the logs 02h and C0h
//! byte 2048.. statistics, each 8 B of description and then its data
//! ```
//!
//! Public sources differ on where the statistics begin: \[NVMECLI\] counts from the start of data
//! area 1, \[OCPTOOLS\] from the start of the log. Both places are looked at, and that one is taken
//! where descriptions follow each other to the end; if both do, and say different things, nothing
//! is believed.
//!
//! A page may be of any size. [`statistics_range`] says which bytes are worth reading, bounded by
//! [`STATISTICS_MAX`]. Sources: \[NVME\] Base 2.0, 5.16.1.8; \[OCP\] 2.5 (STATI-10, STATI-11);
//! \[NVMECLI\] `ocp-telemetry-decode.h`.

use std::ops::Range;

use crate::error::LogPageError;
use crate::field::{FieldKind, LogField, LogValue, number, unsigned};
use crate::page::{DecodedPage, LogLayout, LogPage, NamedValue, VersionAt};

/// Bytes to read first: the header and the start of data area 1.
pub const HEADER_BYTES: usize = 512 + 512;
/// The most bytes of statistics that are read.
pub const STATISTICS_MAX: usize = 64 * 1024;

const AREA: usize = 512;
const DESCRIPTION: usize = 8;
/// The header of data area 1 ends here, so that nothing else begins before.
const AFTER_HEADERS: usize = 2048;
/// The last bytes of a GUID as text are the first on the wire.
const GUID: u128 = 0xBA56_0A9C_3043_424C_BC73_719D_87E6_4EFA;

/// The header of log and data area 1. Its version is the major one.
pub static OCP_TELEMETRY: LogPage = LogPage {
    title: "OCP Telemetry",
    length: HEADER_BYTES,
    guid: Some((AREA + 16, GUID)),
    version: Some(VersionAt { at: AREA, width: 2 }),
    sources: &["OCP", "NVMECLI"],
    ..LogPage::plain("ocp-telemetry", 0x07, &[LogLayout::fields((1, 3), &[HEADER])])
};

const HEADER: &[LogField] = &[
    LogField::gauge("log-id", 0, 1, "07h or 08h"),
    LogField::gauge("area-1-last-block", 8, 2, "last block of data area 1"),
    LogField::gauge("area-2-last-block", 10, 2, "last block of data area 2"),
    LogField::gauge("area-3-last-block", 12, 2, "last block of data area 3"),
    LogField::gauge("minor-version", AREA + 2, 2, "minor version"),
    LogField::gauge("stamp", AREA + 8, 8, "time stamp of the capture"),
    LogField::gauge("log-page-guid", AREA + 16, 16, "GUID").as_kind(FieldKind::Identifier),
    LogField::gauge("profile-count", AREA + 32, 1, "telemetry profiles supported"),
    LogField::gauge("profile", AREA + 33, 1, "telemetry profile in use"),
    LogField::gauge("string-log-dwords", AREA + 40, 8, "size of the string log"),
    LogField::gauge("firmware-revision", AREA + 56, 8, "firmware").as_kind(FieldKind::Text),
    LogField::gauge("area-1-statistics-start-dwords", AREA + 96, 8, "where statistics begin"),
    LogField::gauge("area-1-statistics-dwords", AREA + 104, 8, "size in area 1"),
    LogField::gauge("area-2-statistics-start-dwords", AREA + 112, 8, "where statistics begin"),
    LogField::gauge("area-2-statistics-dwords", AREA + 120, 8, "size in area 2"),
];

/// The statistics that are read: identifier, key, and whether it only grows.
const KNOWN: &[(u16, &str, bool)] = &[
    (0x01, "outstanding-admin-command-count", false),
    (0x02, "host-write-bandwidth-percent", false),
    (0x03, "garbage-collection-write-bandwidth-percent", false),
    (0x05, "internal-write-workload-blocks", false),
    (0x06, "internal-read-workload-blocks", false),
    (0x07, "internal-write-queue-depth", false),
    (0x08, "internal-read-queue-depth", false),
    (0x09, PENDING_TRIM, false),
    (0x0a, REQUESTED_TRIM, false),
    (0x0b, "nvme-power-state", false),
    (0x0c, "dssd-power-state", false),
    (0x0d, "program-fail-count", true),
    (0x0e, "erase-fail-count", true),
    (0x0f, "read-disturb-write-bytes", true),
    (0x10, "retention-write-bytes", true),
    (0x11, "wear-leveling-write-bytes", true),
    (0x12, "read-recovery-write-bytes", true),
    (0x13, "garbage-collection-write-bytes", false),
];

/// Logical blocks whose deallocation the drive has accepted but not finished.
pub(crate) const PENDING_TRIM: &str = "pending-trim-blocks";
/// Logical blocks that Dataset Management asked to deallocate since the telemetry was last
/// captured.
pub(crate) const REQUESTED_TRIM: &str = "host-trim-request-blocks";

/// A statistic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetryStatistic {
    /// Its identifier.
    pub id: u16,
    /// The namespace it speaks of; `None` for all of the drive.
    pub namespace: Option<u8>,
    /// Its value, if it is a number of at most 16 bytes.
    pub value: LogValue,
}

/// Which bytes of the log may hold the statistics of data area 1, from its first `HEADER_BYTES`
/// bytes: at most [`STATISTICS_MAX`], from a dword on; empty if there are none.
pub fn statistics_range(header: &[u8]) -> Result<Range<usize>, LogPageError> {
    OCP_TELEMETRY.identify(header)?;
    let places = places(header);
    let start = places.iter().map(|place| place.start).min().unwrap_or(0);
    let end = places.iter().map(|place| place.end).max().unwrap_or(0);
    Ok(start..end.min(start + STATISTICS_MAX))
}

/// The page, from its first `HEADER_BYTES` bytes and the bytes of [`statistics_range`]: fields of
/// the header, then each known statistic of the whole drive. Where the drive tells it by namespace
/// only, the sum.
pub fn read(header: &[u8], statistic_bytes: &[u8]) -> Result<DecodedPage, LogPageError> {
    let mut page = OCP_TELEMETRY.read(header)?;
    let found = statistics(header, statistic_bytes)?;
    for &(id, name, is_counter) in KNOWN {
        let of_id = || found.iter().filter(|statistic| statistic.id == id);
        let whole = of_id().find(|statistic| statistic.namespace.is_none());
        let parts = || {
            let numbers = of_id().map(|statistic| statistic.value.number());
            let sum = numbers.reduce(|sum, part| sum?.checked_add(part?))?;
            Some(sum.map_or(LogValue::Saturated, LogValue::Number))
        };
        let value = whole.map(|statistic| statistic.value.clone()).or_else(parts);
        page.values.extend(value.map(|value| NamedValue { name, is_counter, value }));
    }
    Ok(page)
}

/// The statistics in the bytes of [`statistics_range`].
pub fn statistics(
    header: &[u8],
    statistic_bytes: &[u8],
) -> Result<Vec<TelemetryStatistic>, LogPageError> {
    let first = statistics_range(header)?.start;
    let walked = places(header).into_iter().filter_map(|place| {
        let end = (place.end - first).min(statistic_bytes.len());
        walk(statistic_bytes.get(place.start - first..end)?)
    });
    let mut found: Vec<Vec<TelemetryStatistic>> = walked.collect();
    let last = found.pop().unwrap_or_default();
    let Some(earlier) = found.pop() else { return Ok(last) };
    // From 512 bytes further on the end of the same list may be read.
    if earlier.ends_with(&last) {
        return Ok(earlier);
    }
    let why = "its statistics can be read in two ways";
    Err(LogPageError::Foreign { page: OCP_TELEMETRY.id, why })
}

/// Where the statistics of data area 1 may be, in ascending order: counted from the start of the
/// log, and from the start of the area.
fn places(header: &[u8]) -> Vec<Range<usize>> {
    let field = |at, width| {
        number(header, at, width).and_then(|value| usize::try_from(value).ok()).unwrap_or(0)
    };
    let area_end = AREA + field(8, 2) * 512;
    let (start, length) = (field(AREA + 96, 8), field(AREA + 104, 8));
    let place = |base: usize| {
        let start = start.checked_mul(4)?.checked_add(base)?;
        let end = start.checked_add(length.checked_mul(4)?)?;
        (start >= AFTER_HEADERS && start < end && end <= area_end).then_some(start..end)
    };
    [0, AREA].into_iter().filter_map(place).collect()
}

/// The statistics in these bytes, to their end or to the first description that is all zero; `None`
/// if there are none, or if the last exceeds the bytes.
fn walk(bytes: &[u8]) -> Option<Vec<TelemetryStatistic>> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while let Some((description, after)) = rest.split_at_checked(DESCRIPTION) {
        let id = u16::from_le_bytes([description[0], description[1]]);
        if id == 0 {
            break;
        }
        let dwords = usize::from(u16::from_le_bytes([description[4], description[5]]));
        let (data, next) = after.split_at_checked(dwords * 4)?;
        let namespace = (description[3] & 0x80 != 0).then_some(description[3] & 0x7f);
        if matches!(data.len(), 1..=16) {
            let value = u64::try_from(unsigned(data)).map_or(LogValue::Saturated, LogValue::Number);
            found.push(TelemetryStatistic { id, namespace, value });
        }
        rest = next;
    }
    (!found.is_empty()).then_some(found)
}
