//! A rate of deletion as the settings of the programs that pace their deletions.
//!
//! Sources of names, units and defaults: [programs that pace](../../../docs/reference/verdicts.md).

use serde::Serialize;
use trimbench_core::units::rounded;

use super::facts::Facts;
use crate::role::Role;

#[cfg(test)]
mod tests;

/// A setting of a program that paces its deletions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PacedSetting {
    /// The program.
    pub program: &'static str,
    /// The setting as it is written there.
    pub text: String,
    /// Its unit, and what to know of it.
    pub note: &'static str,
}

const MEBIBYTE: u64 = 1 << 20;

/// The highest rate that keeps the stated latency, as settings; empty if none was found.
pub(super) fn settings(facts: &Facts<'_>) -> Vec<PacedSetting> {
    let rate = facts.worst(&Role::DeletionRate).map_or(0.0, |rate| rate.value() * 1e6);
    let chunk = facts.worst(&Role::DeletionRateChunk);
    let chunk = chunk.map(|chunk| rounded(chunk.value()).saturating_mul(MEBIBYTE));
    // Below a byte a second, or beyond what is a number of bytes, there is nothing to set.
    if !(1.0..=9e18).contains(&rate) {
        return Vec::new();
    }
    // Down: a higher rate was not shown to keep the latency.
    of_rate(rounded(rate.floor()), chunk.filter(|chunk| *chunk > 0))
}

/// The settings for so many bytes a second, in pieces of so many bytes.
pub fn of_rate(rate: u64, chunk: Option<u64>) -> Vec<PacedSetting> {
    let mut settings = Vec::new();
    let mut add = |program, text: String, note| {
        settings.push(PacedSetting { program, text, note });
    };
    let pieces = chunk.map_or(String::new(), |it| format!(", bytes_max_delete_chunk = {it}"));
    add(
        "RocksDB",
        format!("NewSstFileManager: rate_bytes_per_sec = {rate}{pieces}"),
        "B/s and B; off by default. A backlog beyond max_trash_db_ratio (0.25) is deleted at once",
    );
    add(
        "MyRocks",
        format!("rocksdb_sst_mgr_rate_bytes_per_sec = {rate}"),
        "B/s; off by default. Its pieces are 64 MiB",
    );
    add(
        "Pebble",
        format!("DeletionPacing.BaselineRate = {rate}"),
        "B/s; off by default. Deletes whole files, and faster than this while many wait",
    );
    if let Some(chunk) = chunk {
        let megabytes = (chunk / MEBIBYTE).max(1);
        // At least a millisecond, and up: a shorter interval would be a higher rate.
        let interval = u128::from(megabytes) * u128::from(MEBIBYTE) * 1_000;
        let interval = interval.div_ceil(u128::from(rate.max(1)));
        add(
            "AliSQL, PolarDB-X",
            format!(
                "innodb_data_file_purge_max_size = {megabytes}, innodb_data_file_purge_interval = \
                 {interval}"
            ),
            "MiB and ms; the defaults, 128 and 100, are 1.3 GB/s",
        );
    }
    let pieces = chunk.map_or(String::new(), |it| format!(", max_discard_size = {it}"));
    // 0 would be no limit.
    add(
        "btrfs, mounted with discard=async",
        format!("/sys/fs/btrfs/UUID/discard/: kbps_limit = {}{pieces}", (rate / 1024).max(1)),
        "KiB/s and B; off by default",
    );
    add(
        "OpenZFS, by hand",
        format!("zpool trim -r {rate} POOL"),
        "B/s on each drive; autotrim has no rate. Untested here",
    );
    settings
}
