//! What became of freed space on each drive within a phase: the counters that \[S3\] asks for.

use trimbench_core::{DriveDiscards, PolicyCounts};
use trimbench_results::{Series, Step};

#[cfg(test)]
mod tests;

/// A counter, and what it counts.
type Counter = (&'static str, fn(&DriveDiscards) -> PolicyCounts);

const COUNTERS: [Counter; 5] = [
    ("freed", |drive| drive.freed),
    ("issued", |drive| drive.issued),
    ("deferred", |drive| drive.deferred),
    ("skipped", |drive| drive.skipped),
    ("invalidated", |drive| drive.invalidated),
];

/// Notes by how much each counter rose between two looks, drive by drive and in all, and what
/// waits at the second. Nothing where nobody counts.
pub(super) fn note_discards(step: &mut Step, before: &[DriveDiscards], now: &[DriveDiscards]) {
    if now.is_empty() {
        return;
    }
    let mut curve = |key: &str, unit: &str, values: Vec<u64>| {
        let drives = (0..values.len()).map(|drive| drive as f64).collect();
        let sum: u64 = values.iter().sum();
        let values = values.into_iter().map(|value| Some(value as f64)).collect();
        step.add_series(&format!("{key}-by-drive"), Series::new("drive", unit, drives, values));
        step.measure(&key.replace('-', "_"), sum as f64);
    };
    for (name, of) in COUNTERS {
        let rise = |value: fn(PolicyCounts) -> u64| {
            let pairs = now.iter().zip(before);
            pairs.map(|(now, before)| value(of(now)) - value(of(before))).collect()
        };
        curve(&format!("{name}-count"), "", rise(|counts| counts.count));
        curve(&format!("{name}-bytes"), "B", rise(|counts| counts.bytes.0));
    }
    curve("waiting-bytes", "B", now.iter().map(|drive| drive.waiting.0).collect());
}
