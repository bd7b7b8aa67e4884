//! What drives counted during a session, by their own log pages: read before it and after it.
//!
//! The record has each value as `drive-log/PAGE/KEY`, of the second drive `drive-log-2/PAGE/KEY`.
//! A drive counts all commands, those of others as well, so a growth is an upper bound of what the
//! session caused. Keys: `docs/reference/drive-logs.md`.

use std::collections::BTreeMap;

use trimbench_results::Session;

use crate::number::{count, quantity};

/// With what the keys of log pages begin.
const PREFIX: &str = "drive-log";
/// Buckets of the OCP latency monitor.
const BUCKETS: usize = 4;

/// A value that the drive changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DriveCount<'a> {
    /// Drive, page and key.
    pub(crate) key: &'a str,
    pub(crate) before: &'a str,
    pub(crate) after: &'a str,
}

/// Whether a fact of a session's environment is of a log page.
pub(crate) fn is_log(key: &str) -> bool {
    key.starts_with(PREFIX)
}

/// Every value of a log page that is not the same after a session as before it.
pub(crate) fn changed(session: &Session) -> Vec<DriveCount<'_>> {
    let after = &session.environment_after;
    let logs = session.environment_before.iter().filter(|(key, _)| is_log(key));
    let both = logs.filter_map(|(key, before)| Some((key, before, after.get(key)?)));
    both.filter(|(_, before, after)| before != after)
        .map(|(key, before, after)| DriveCount { key, before, after })
        .collect()
}

/// What the drives say of TRIM and of their writes during a session, a sentence a drive.
pub(crate) fn words(session: &Session) -> Vec<String> {
    let pages = |facts: &BTreeMap<String, String>| -> BTreeMap<String, BTreeMap<String, u64>> {
        let mut drives: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for (key, text) in facts.iter().filter(|(key, _)| is_log(key)) {
            let mut parts = key.split('/');
            if let (Some(drive), Some(_), Some(name), Ok(number)) =
                (parts.next(), parts.next(), parts.next(), text.parse())
            {
                drives
                    .entry(drive.to_owned())
                    .or_default()
                    .entry(name.to_owned())
                    .or_insert(number);
            }
        }
        drives
    };
    let (before, after) = (pages(&session.environment_before), pages(&session.environment_after));
    let both = before.iter().filter_map(|(drive, before)| Some((drive, before, after.get(drive)?)));
    let sentences = both.filter_map(|(drive, before, after)| {
        let said = of_drive(before, after);
        let number = drive.strip_prefix(PREFIX).unwrap_or_default().trim_start_matches('-');
        let name = if number.is_empty() { "the drive".into() } else { format!("drive {number}") };
        (!said.is_empty()).then(|| format!("{name} itself counted: {}", said.join("; ")))
    });
    sentences.collect()
}

fn of_drive(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> Vec<String> {
    let grown = |key: &str| after.get(key)?.checked_sub(*before.get(key)?).filter(|&by| by > 0);
    let mut said = Vec::new();
    for (key, words) in [
        ("deallocate-command-count", "TRIM commands"),
        ("deallocate-timeout-count", "TRIM commands that took longer than 5 s"),
        ("deallocated-blocks", "trimmed blocks"),
        ("host-trimmed-sectors", "trimmed sectors"),
    ] {
        said.extend(grown(key).map(|by| format!("{words} {}", count(by))));
    }
    said.extend(slow_trims(before, after));
    let slowest = after.keys().filter_map(|key| {
        let from = key.strip_prefix("deallocate-latency-from-")?.strip_suffix("-us-count")?;
        Some((from.parse::<u64>().ok()?, grown(key)?))
    });
    said.extend(slowest.max().map(|(from_us, by)| {
        let from = quantity(from_us as f64 / 1e6, "s");
        format!("TRIM commands of {from} or more, the slowest, {}", count(by))
    }));
    let written = grown("media-written-bytes").map(|by| quantity(by as f64, "B"));
    said.extend(written.map(|bytes| format!("written to flash {bytes}")));
    let pending = after.get("pending-trim-blocks").copied().filter(|&blocks| blocks > 0);
    said.extend(
        pending.map(|blocks| {
            format!("blocks whose TRIM is not worked off at its end {}", count(blocks))
        }),
    );
    said
}

/// TRIM commands that the OCP latency monitor counted. Its windows are closed from time to time:
/// if one was, counts of two windows would be compared, and nothing is said.
fn slow_trims(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> Option<String> {
    let name = |bucket: usize| format!("active-bucket-{bucket}-deallocate-count");
    let timer = "active-bucket-timer-5-minutes";
    if after.get(timer)? < before.get(timer)? {
        return None;
    }
    let grown: Option<u64> = (0..BUCKETS)
        .map(|bucket| after.get(&name(bucket))?.checked_sub(*before.get(&name(bucket))?))
        .sum();
    // Where the first bucket begins, in steps of 5 ms, less one.
    let threshold = after.get("threshold-a-5-ms-minus-1")?;
    let from = quantity((threshold + 1) as f64 * 0.005, "s");
    grown.filter(|&by| by > 0).map(|by| format!("TRIM commands of {from} or more {}", count(by)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::session;

    fn with(before: &[(&str, &str)], after: &[(&str, &str)]) -> Session {
        let facts = |facts: &[(&str, &str)]| {
            facts.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
        };
        Session {
            environment_before: facts(before),
            environment_after: facts(after),
            ..session("x", 1.0, [0.5, 1.5])
        }
    }

    #[test]
    fn what_a_drive_counted_is_said_of_each_drive() {
        let session = with(
            &[
                ("drive-log/ocp-boot-ssd-smart/deallocate-command-count", "1000"),
                ("drive-log/ocp-smart/media-written-bytes", "5000000000"),
                ("drive-log-2/micron-workload/deallocated-blocks", "7"),
                ("scheduler", "none"),
            ],
            &[
                ("drive-log/ocp-boot-ssd-smart/deallocate-command-count", "2204"),
                ("drive-log/ocp-smart/media-written-bytes", "6000000000"),
                ("drive-log-2/micron-workload/deallocated-blocks", "8"),
                ("scheduler", "none"),
            ],
        );
        assert_eq!(
            words(&session),
            [
                "the drive itself counted: TRIM commands 1,204; written to flash 1 GB",
                "drive 2 itself counted: trimmed blocks 1"
            ]
        );
        assert_eq!(changed(&session).len(), 3);
    }

    #[test]
    fn a_count_that_fell_or_did_not_change_says_nothing() {
        let key = "drive-log/ocp-boot-ssd-smart/deallocate-command-count";
        assert_eq!(words(&with(&[(key, "9")], &[(key, "3")])), [""; 0]);
        assert_eq!(words(&with(&[(key, "9")], &[(key, "9")])), [""; 0]);
        assert_eq!(words(&with(&[], &[(key, "9")])), [""; 0]);
    }

    #[test]
    fn slow_trims_of_the_latency_monitor_count_within_one_window() {
        let monitor = |timer: &str, slow: &str| {
            let mut facts = BTreeMap::from([
                ("active-bucket-timer-5-minutes".to_owned(), timer.parse().unwrap()),
                ("threshold-a-5-ms-minus-1".to_owned(), 1),
            ]);
            for bucket in 0..4 {
                let number = if bucket == 2 { slow.parse().unwrap() } else { 0 };
                facts.insert(format!("active-bucket-{bucket}-deallocate-count"), number);
            }
            facts
        };
        let seen = slow_trims(&monitor("3", "5"), &monitor("4", "22"));
        assert_eq!(seen.as_deref(), Some("TRIM commands of 10 ms or more 17"));
        assert_eq!(slow_trims(&monitor("40", "5"), &monitor("1", "22")), None);
    }
}
