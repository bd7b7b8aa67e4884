//! What records of older formats lack, from tables that do not change: they say what a figure of
//! that time meant. A new metric has no place here.

use super::Session;
use crate::metric::Direction;
use crate::verdict::Verdict;

#[cfg(test)]
mod tests;

/// Brings a session of an older format to the present one.
pub(super) fn upgrade(session: &mut Session, schema: u64) {
    for figure in &mut session.figures {
        if schema < 2 {
            figure.direction = direction(&figure.id, &figure.unit);
        }
        if schema < 3
            && let Some(Verdict::Other(words)) = &figure.verdict
        {
            figure.verdict = Some(Verdict::from_words(words));
        }
    }
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

/// Which way the figure `id`, given in `unit`, is better. Format 1 does not say.
fn direction(id: &str, unit: &str) -> Direction {
    if let Some((metric, _)) = id.split_once("-diff-") {
        let is_time = POSTMARK_TIMES.contains(&metric);
        return if is_time { Direction::Lower } else { Direction::Higher };
    }
    if id == "chunk" || id.contains("-of-fresh") {
        return Direction::Higher;
    }
    let by_id = BY_ID.iter().find(|(start, _)| id.starts_with(start));
    let by_unit = || BY_UNIT.iter().find(|(known, _)| *known == unit);
    by_id.or_else(by_unit).map_or(Direction::Neither, |(_, direction)| *direction)
}
