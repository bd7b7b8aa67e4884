//! Requests as the counters of sysfs tell them: sums over a sample.
//!
//! Fields: Documentation/block/stat.rst of Linux. The requests of a class that completed within a
//! sample are taken together: they have their mean latency and ended at the end of the sample. A
//! slow request among many fast ones is therefore missed.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use trimbench_claim::sysfs::BlockDevice;
use trimbench_core::units::narrow;
use trimbench_core::{Bytes, Nanos, OperationKind};

use super::observation::WatchedRequest;

/// From one look to the next.
pub(super) const SAMPLE: Nanos = Nanos::from_millis(10);
/// Bytes of a sector of these counters.
const SECTOR: u64 = 512;
/// Requests of one sample that are told.
const COUNT_MAX: u64 = u32::MAX as u64;
/// Classes, and the first of their fields; flushes have no sectors.
const CLASSES: [(OperationKind, usize); 3] =
    [(OperationKind::Read, 0), (OperationKind::Write, 4), (OperationKind::Discard, 11)];
const FLUSHES: usize = 15;

/// The counters of one disk.
#[derive(Debug)]
pub(super) struct DiskCounters {
    file: File,
    last: Vec<u64>,
}

impl DiskCounters {
    /// `None` if they cannot be read, or have no discards (Linux before 4.18).
    pub(super) fn open(disk: &BlockDevice) -> Option<Self> {
        let file = File::open(disk.stat_path()).ok()?;
        let last = read(&file)?;
        Some(Self { file, last })
    }

    /// Appends what ended since the last look.
    pub(super) fn look(&mut self, disk: u16, now: Nanos, out: &mut Vec<WatchedRequest>) {
        let Some(fields) = read(&self.file) else { return };
        requests(&self.last, &fields, (disk, now), out);
        self.last = fields;
    }
}

fn read(file: &File) -> Option<Vec<u64>> {
    // 17 numbers of at most 20 digits.
    let mut text = [0_u8; 512];
    let length = file.read_at(&mut text, 0).ok()?;
    fields(std::str::from_utf8(&text[..length]).ok()?)
}

/// The numbers of a line; `None` if there are none of discards.
fn fields(line: &str) -> Option<Vec<u64>> {
    let fields: Vec<u64> =
        line.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    (fields.len() >= FLUSHES).then_some(fields)
}

/// What ended between two looks.
fn requests(
    before: &[u64],
    after: &[u64],
    (disk, now): (u16, Nanos),
    out: &mut Vec<WatchedRequest>,
) {
    let gain = |at: usize| {
        let value = |fields: &[u64]| fields.get(at).copied().unwrap_or(0);
        value(after).saturating_sub(value(before))
    };
    let mut request = |kind, count: u64, sectors: u64, milliseconds: u64| {
        if count == 0 {
            return;
        }
        let entered = now.saturating_sub(Nanos(Nanos::from_millis(milliseconds).0 / count));
        out.push(WatchedRequest {
            disk,
            kind,
            count: narrow(count.min(COUNT_MAX)),
            length: Bytes(sectors * SECTOR),
            entered,
            issued: Some(entered),
            completed: Some(now),
            thread: None,
            is_own: false,
        });
    };
    for (kind, first) in CLASSES {
        request(kind, gain(first), gain(first + 2), gain(first + 3));
    }
    request(OperationKind::Flush, gain(FLUSHES), 0, gain(FLUSHES + 1));
}

#[cfg(test)]
mod tests;
