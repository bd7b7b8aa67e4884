//! Which way a figure is better.
//!
//! The unit decides for nearly all: times are better lower, rates higher. Where it does not (plain
//! numbers, shares, bytes, and what a mount option changes) the figure's id does. Both are stable,
//! so that records from before there was a direction can be judged as well.

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The lower the better: a latency, write amplification, lost blocks.
    Lower,
    /// The higher the better: a rate, a share of the fresh drive's speed.
    Higher,
    /// Neither: it tells what was found, not how good that is.
    #[default]
    Neither,
}

/// By unit.
const BY_UNIT: [(&str, Direction); 14] = [
    ("s", Direction::Lower),
    ("ms", Direction::Lower),
    ("us", Direction::Lower),
    ("ns", Direction::Lower),
    ("s/GB", Direction::Lower),
    ("request-s", Direction::Lower),
    ("blocks", Direction::Lower),
    ("IOPS", Direction::Higher),
    ("B/s", Direction::Higher),
    ("MB/s", Direction::Higher),
    ("GB/s", Direction::Higher),
    ("1/s", Direction::Higher),
    ("commands/s", Direction::Higher),
    ("requests/s", Direction::Higher),
];

/// By the beginning of the id, where the unit does not tell, or tells wrongly.
const BY_ID: [(&str, Direction); 14] = [
    ("write-amplification", Direction::Lower),
    ("aged-write-amplification", Direction::Lower),
    ("amplification-under-", Direction::Lower),
    ("paced-over-target", Direction::Lower),
    ("trim-over-write", Direction::Lower),
    ("stall-over-trim", Direction::Lower),
    ("untrimmed-under-", Direction::Lower),
    ("not-trimmed-under-", Direction::Lower),
    ("waited-under-", Direction::Lower),
    ("withheld-under-", Direction::Lower),
    ("gain", Direction::Higher),
    ("settle-slowest", Direction::Higher),
    ("ageing-drift", Direction::Higher),
    // What a partly trimmed granule keeps is the drive's choice.
    ("edge-old-data-blocks", Direction::Neither),
];

/// What `postmark` measures in seconds; what `discard` changes of it is better lower, in percent.
const POSTMARK_TIMES: [&str; 6] =
    ["total-duration", "duration-of-transactions", "deletion-per-gb", "sync", "drain", "unmount"];

impl Direction {
    /// The direction of the figure `id`, given in `unit`. [`Self::Neither`] of one that is not
    /// known.
    pub fn of(id: &str, unit: &str) -> Self {
        if let Some((metric, _)) = id.split_once("-diff-") {
            return if POSTMARK_TIMES.contains(&metric) { Self::Lower } else { Self::Higher };
        }
        if id == "chunk" || id.contains("-of-fresh") {
            return Self::Higher;
        }
        let by_id = BY_ID.iter().find(|(start, _)| id.starts_with(start));
        let by_unit = || BY_UNIT.iter().find(|(known, _)| *known == unit);
        by_id.or_else(by_unit).map_or(Self::Neither, |(_, direction)| *direction)
    }
}
