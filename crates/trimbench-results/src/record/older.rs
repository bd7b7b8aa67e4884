//! What records of older formats lack, from tables that do not change: they say what a figure of
//! that time meant. A new metric has no place here.

use super::Session;
use crate::metric::Direction;
use crate::role::Role;
use crate::verdict::Verdict;

mod coordinates;
#[cfg(test)]
mod tests;

/// Brings a session of an older format to the present one.
pub(super) fn upgrade(session: &mut Session, schema: u64) {
    for figure in &mut session.figures {
        if schema < 2 {
            figure.direction = direction(&figure.id, &figure.unit);
        }
        // Also within a format: a figure of before may have a role since.
        let is_mean = figure.id == MEAN_OF_WORST.0 && session.method_version >= MEAN_OF_WORST.1;
        if !is_mean && (schema < 3 || figure.role.is_none()) {
            figure.role = role(&session.plan.method, &figure.id);
        }
        if schema < 3
            && let Some(Verdict::Other(words)) = &figure.verdict
        {
            figure.verdict = Some(Verdict::from_words(words));
        }
        if schema < 4 {
            let found = coordinates::coordinates(&session.plan.method, &figure.id, &figure.title);
            figure.coordinates = found.unwrap_or_default();
        }
    }
    // In records of before, what invalidated a step was on some of its figures only.
    session.carry_caveats();
}

/// A figure of `delete-stall` that has no role from this version of the method on, in which there
/// is a maximum that it is the mean of.
const MEAN_OF_WORST: (&str, u32) = ("largest-response-max", 4);

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

/// The role of the figure `id` of a method. Formats 1 and 2 do not say.
pub(crate) fn role(method: &str, id: &str) -> Option<Role> {
    let simple = match (method, id) {
        ("delete-stall", "stutter") => Role::StutterPerGb,
        ("delete-stall", "stutter-per-deletion") => Role::StutterPerDeletion,
        ("delete-stall", "overdue") => Role::OverduePerGb,
        ("delete-stall", "largest-response-max") => Role::WaitAfterDeletion,
        ("delete-stall", "response-p99.9") => Role::TailAfterDeletion,
        ("delete-stall", "response-p99.9-placebo") => Role::TailAfterPlacebo,
        ("delete-stall", "highest-deletion-rate") => Role::DeletionRate,
        ("delete-stall", "highest-deletion-rate-chunk") => Role::DeletionRateChunk,
        ("delete-stall", "highest-deletion-rate-response") => Role::DeletionRateResponse,
        ("trim-sweep", "loaded-max") => Role::WaitBesideTrim,
        ("trim-sweep", "trim-p50") => Role::TrimLatency,
        ("trim-sweep", "chunk") => Role::TrimSizeKept,
        ("trim-sweep", "cost-per-gb-mapped") => Role::TrimPerGb,
        ("trim-sweep", "command-cost") => Role::TrimEach,
        ("idle-trim", "idle-trim-full") => Role::TrimAtRest,
        ("idle-trim", "idle-trim") => Role::TrimAtRestPerGb,
        ("settle", "settle") => Role::SettlingTime,
        ("settle", "settle-slowest") => Role::SettlingPace,
        ("settle", "settle-lost") => Role::SettlingLost,
        ("postmark", "total-duration-diff-buffered") => Role::DurationAdded { buffered: true },
        ("postmark", "total-duration-diff-unbuffered") => Role::DurationAdded { buffered: false },
        ("delete-storm", "second-stall") => Role::StallAfterDeletion,
        ("trim-integrity", "neighbour-blocks-lost") => Role::NeighboursLost,
        ("trim-integrity", "rewritten-blocks-lost") => Role::RewrittenLost,
        ("trim-integrity", "trimmed-old-data-share") => Role::OldDataRead,
        ("trim-integrity", "promise-violations") => Role::PromiseBroken,
        ("recovery", "fragmented-of-fresh") => Role::FragmentedSpeed,
        ("recovery", "trimmed-of-fresh") => Role::RecoveredSpeed,
        ("recovery", "write-amplification-fragmented") => Role::FragmentedWear,
        ("recovery", "write-amplification-trimmed") => Role::RecoveredWear,
        ("policy", "policy") => Role::PolicyChoice,
        ("policy", _) => return policy_role(id),
        ("steady-state", _) => return steady_role(id),
        ("replay", _) => return trace_role(id),
        _ => return None,
    };
    Some(simple)
}

/// `p99.9-under-POLICY`, `amplification-under-POLICY`.
fn policy_role(id: &str) -> Option<Role> {
    let (column, policy) = id.split_once("-under-")?;
    let policy = policy.to_owned();
    match column {
        "p99.9" => Some(Role::PolicyTail { policy }),
        "max" => Some(Role::PolicyWorst { policy }),
        "amplification" => Some(Role::PolicyWear { policy }),
        _ => None,
    }
}

/// `steady-iops`, `write-amplification`, and these and `gain` with `-trimmed-PERCENT` behind.
fn steady_role(id: &str) -> Option<Role> {
    let (metric, percent) = id.split_once("-trimmed-").unwrap_or((id, "0"));
    let trimmed_percent = percent.parse().ok()?;
    match metric {
        "steady-iops" => Some(Role::SteadyRate { trimmed_percent }),
        "write-amplification" => Some(Role::SteadyWear { trimmed_percent }),
        "gain" => Some(Role::SteadyGain { trimmed_percent }),
        _ => None,
    }
}

/// `gain-PACE-kept`, `write-amplification-PACE-kept`, `write-amplification-PACE-stripped`.
fn trace_role(id: &str) -> Option<Role> {
    let (rest, trims) = id.rsplit_once('-')?;
    let (metric, pace) = rest.rsplit_once('-')?;
    let pace = pace.to_owned();
    match (metric, trims) {
        ("gain", "kept") => Some(Role::TraceGain { pace }),
        ("write-amplification", "kept") => Some(Role::TraceWear { pace, trims: true }),
        ("write-amplification", "stripped") => Some(Role::TraceWear { pace, trims: false }),
        _ => None,
    }
}
