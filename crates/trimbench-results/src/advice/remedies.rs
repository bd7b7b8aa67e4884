//! What else helps here, beside the answer: faults of a set-up that the figures or the target's own
//! description show.

use trimbench_core::Bytes;

use super::facts::Facts;
use super::table::Known;
use crate::harm::Harm;
use crate::record::Session;
use crate::role::Role;

#[cfg(test)]
mod tests;

/// What a filesystem allocates at the least.
const BLOCK: u64 = 4_096;

/// The remedies, in words; `noticeable` is what is known of the cost of online TRIM.
pub(super) fn remedies(facts: &Facts<'_>, noticeable: Known) -> Vec<String> {
    let unordered = (noticeable != Known::No).then(|| without_ordered_data(facts)).flatten();
    let all = [unordered, below_granularity(facts), zeroes_promised(facts)];
    all.into_iter().flatten().collect()
}

/// ext4 without ordered data discards in the process that deletes, one extent after the other and
/// waiting for each, instead of after a commit (`ext4_free_blocks`). A report to linux-ext4 of 2020
/// has 90.3 s so, and 1.3 s with ordered data.
fn without_ordered_data(facts: &Facts<'_>) -> Option<String> {
    let mut sessions = facts.sessions().map(|(_, session)| session);
    let is_mounted = |session: &Session| {
        let options = session.target.identity.get("mount-options");
        options.is_some_and(|it| it.split(',').any(|option| option == "data=writeback"))
    };
    let how = sessions.find_map(|session| {
        match session.target.identity.get("journaling").map(String::as_str) {
            Some("none") => Some("has no journal"),
            Some("writeback") => Some("is mounted with `data=writeback`"),
            _ => is_mounted(session).then_some("is mounted with `data=writeback`"),
        }
    })?;
    Some(format!(
        "this ext4 {how}: whoever deletes a file waits for each of its discards. With a journal \
         and `data=ordered`, the default, they are sent after a commit: measure that as well"
    ))
}

/// Files whose space is less than what the drive discards at the least.
fn below_granularity(facts: &Facts<'_>) -> Option<String> {
    let too_small = facts.sessions().filter_map(|(_, session)| {
        let granularity: Bytes =
            session.target.capabilities.get("discard-granularity")?.parse().ok()?;
        let options = &session.plan.options;
        let sizes = options.get("sizes").or_else(|| options.get("file-sizes"))?;
        let smallest: Bytes = sizes.split(',').filter_map(|it| it.trim().parse().ok()).min()?;
        let on_disk = smallest.0.next_multiple_of(BLOCK);
        (on_disk < granularity.0).then_some((smallest, granularity))
    });
    let (smallest, granularity) = too_small.max_by_key(|(_, granularity)| *granularity)?;
    Some(format!(
        "freed extents of {smallest} are smaller than the drive's discard granularity, \
         {granularity}: it acts on such a discard only where neighbours are freed with it; \
         `fstrim` reaches the space when they are free, too"
    ))
}

/// What md relies on: that a discarded block reads as zeroes.
fn zeroes_promised(facts: &Facts<'_>) -> Option<String> {
    let in_steps = |session: &Session| Harm::PromiseBroken.of_steps(session) > 0.0;
    let is_broken = facts.worst(&Role::PromiseBroken).is_some_and(|it| it.value() > 0.0)
        || facts.all_sessions().any(|(_, session)| in_steps(session));
    is_broken.then(|| {
        "under md RAID 4, 5 or 6 such a drive can corrupt data if TRIM is passed on to it: parity \
         is computed from what its blocks read as. Leave \
         `raid456.devices_handle_discard_safely` at `N`, the default"
            .to_owned()
    })
}
