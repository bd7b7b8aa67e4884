//! What became of freed space on each drive within a phase: the counters that \[S3\] asks for.

use trimbench_core::{Bytes, DiscardCounts, DriveDiscards};
use trimbench_results::Series;

use super::steps::{StormCounterStep, StormDiscardsStep};

#[cfg(test)]
mod tests;

/// By how much each counter rose between two looks, drive by drive and in all, and what waits at
/// the second. `None` where nobody counts.
pub(super) fn rises(before: &[DriveDiscards], now: &[DriveDiscards]) -> Option<StormDiscardsStep> {
    if now.is_empty() {
        return None;
    }
    let rise = |of: fn(&DriveDiscards) -> DiscardCounts| {
        let pairs = || now.iter().zip(before).map(|(now, before)| (of(now), of(before)));
        let counts: Vec<u64> = pairs().map(|(now, before)| now.count - before.count).collect();
        let bytes: Vec<u64> = pairs().map(|(now, before)| now.bytes.0 - before.bytes.0).collect();
        StormCounterStep {
            count: counts.iter().sum(),
            bytes: Bytes(bytes.iter().sum()),
            count_by_drive: by_drive("", &counts),
            bytes_by_drive: by_drive("B", &bytes),
        }
    };
    let waiting: Vec<u64> = now.iter().map(|drive| drive.waiting.0).collect();
    Some(StormDiscardsStep {
        freed: rise(|drive| drive.freed),
        issued: rise(|drive| drive.issued),
        deferred: rise(|drive| drive.deferred),
        skipped: rise(|drive| drive.skipped),
        invalidated: rise(|drive| drive.invalidated),
        waiting_bytes: Bytes(waiting.iter().sum()),
        waiting_bytes_by_drive: by_drive("B", &waiting),
    })
}

fn by_drive(unit: &str, values: &[u64]) -> Option<Series> {
    let drives = (0..values.len()).map(|drive| drive as f64).collect();
    let values = values.iter().map(|value| Some(*value as f64)).collect();
    Series::new("drive", unit, drives, values)
}
