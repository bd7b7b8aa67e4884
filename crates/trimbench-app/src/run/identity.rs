//! Checks that a target is the one on which a session began.

use std::collections::{BTreeMap, BTreeSet};

use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// What a target is, as records have it.
type Identity = BTreeMap<String, String>;

/// What follows a whole device wherever it is attached; a partition has them of its disk.
const LASTING: [&str; 5] = ["serial", "wwid", "eui", "nguid", "uuid"];
/// What the kernel may name anew at the next start.
const GIVEN_NAMES: [&str; 4] = ["path", "device-name", "device-number", "by-id"];
/// How the drive is purged, which is no part of what it is.
const PURGED_BY: &str = "purged-by";

/// Refuses a target that is not the one on which the session was begun, or is purged otherwise.
///
/// A device that has something lasting may have got other names from the kernel meanwhile.
pub(super) fn check_same(then: &Identity, now: &Identity) -> Result<(), Failure> {
    let differs = |key: &str| then.get(key) != now.get(key);
    let lasting = LASTING.iter().any(|key| then.contains_key(*key));
    // A directory has the serial number of the disk that it is on.
    let is_disk = then.contains_key("device-number") && !then.contains_key("partition-of");
    let renamed = lasting && is_disk;
    let is_free = |key: &str| renamed && GIVEN_NAMES.contains(&key);
    let keys: BTreeSet<&str> = then.keys().chain(now.keys()).map(String::as_str).collect();
    let mut changed: Vec<&str> =
        keys.into_iter().filter(|key| differs(key) && !is_free(key)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    if changed == [PURGED_BY] {
        let means = |identity: &Identity| identity.get(PURGED_BY).cloned().unwrap_or_default();
        let error = anyhow::anyhow!(
            "the drive was purged by {} when the run began, and would now be purged by {}",
            means(then),
            means(now)
        );
        return Err(Failure::usage(error).with_hint(
            "give the same `--purge` as then, or start a \
            new run",
        ));
    }
    changed.retain(|key| *key != PURGED_BY);
    let error = anyhow::anyhow!(
        "the target, or the device below it, is not the one with which the run began: {} differs",
        changed.join(", ")
    );
    Err(Failure::usage(error).with_hint("attach or mount the same one again, or start a new run"))
}
