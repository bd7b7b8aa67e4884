//! The metrics of the method.

use Direction::{Higher, Lower, Neither};
use trimbench_results::{Direction, Metric, Role};

use super::options::Recovery;

/// A pass: the id of its step, and what it is called in titles.
pub(super) type PassName = (&'static str, &'static str);

pub(super) const FRESH: PassName = ("fresh", "fresh");
pub(super) const FRAGMENTED: PassName = ("fragmented", "fragmented");
pub(super) const HEALED: PassName = ("self-healed", "after a second pass");
pub(super) const TRIMMED: PassName = ("trimmed", "fragmented, then trimmed");
/// On files.
pub(super) const COPIED: PassName = ("copied", "after a large file was copied and deleted");
pub(super) const PASSES: [PassName; 5] = [FRESH, FRAGMENTED, HEALED, TRIMMED, COPIED];

/// Writes only: what they are, after what, and against what.
const AFTER_TRIM: &str = "sequential writes, fragmented, then trimmed, as a share of fresh";
pub(super) const TRIMMED_OF_FRESH: Metric = Metric::new("trimmed-of-fresh", AFTER_TRIM, "", Higher)
    .headline()
    .of_role(Role::RecoveredSpeed);
pub(super) const FRAGMENTED_OF_FRESH: Metric = Metric::new(
    "fragmented-of-fresh",
    "sequential writes, fragmented, as a share of fresh",
    "",
    Higher,
)
.of_role(Role::FragmentedSpeed);
const AFTER_SECOND: &str = "sequential writes, after a second pass, as a share of fresh";
pub(super) const HEALED_OF_FRESH: Metric =
    Metric::new("self-healed-of-fresh", AFTER_SECOND, "", Higher);

pub(super) const COPIED_OF_FRESH: Metric = Metric::new(
    "copied-of-fresh",
    "sequential writes, after a large file was copied and deleted, as a share of fresh",
    "",
    Higher,
);
pub(super) const COPIED_OVER_FRAGMENTED: Metric = Metric::new(
    "copied-over-fragmented",
    "the gain of copying and deleting a large file",
    "",
    Higher,
);
pub(super) const COPY_TIME: Metric =
    Metric::new("copy-time", "time to copy the large file and to delete it", "s", Lower);
pub(super) const FSTRIM_TIME: Metric =
    Metric::new("fstrim-time", "time to trim the free space (FITRIM)", "s", Lower);

/// The throughput of a pass. That after TRIM is the headline where its ratio cannot be measured;
/// without TRIM that after the other cure.
pub(super) fn rate((id, what): PassName) -> Metric {
    let metric = Metric::member(id, format!("sequential writes, {what}"), "MB/s", Higher);
    Metric { headline: id == TRIMMED.0 || id == COPIED.0, ..metric }
}

/// The write amplification of a pass.
pub(super) fn amplification((id, what): PassName) -> Metric {
    let title = format!("write amplification of sequential writes, {what}");
    let role = match id {
        _ if id == FRAGMENTED.0 => Some(Role::FragmentedWear),
        _ if id == TRIMMED.0 => Some(Role::RecoveredWear),
        _ => None,
    };
    Metric { role, ..Metric::member(format!("write-amplification-{id}"), title, "", Lower) }
}

/// What the same drive looks like with other data.
pub(super) const FRESH_COMPARED: Metric =
    Metric::new("fresh-compared", "fresh, other data", "MB/s", Higher);
pub(super) const FRAGMENTED_COMPARED: Metric =
    Metric::new("fragmented-compared", "fragmented, other data", "MB/s", Higher);
pub(super) const OF_FRESH_COMPARED: Metric = Metric::new(
    "fragmented-of-fresh-compared",
    "fragmented, other data, as a share of fresh with it",
    "",
    Higher,
);
pub(super) const FLATTERED: Metric =
    Metric::new("flattered-by", "fragmented, with other data over without", "", Neither);

/// All of them.
pub(super) fn metrics(method: &Recovery) -> Vec<Metric> {
    let mut metrics = vec![TRIMMED_OF_FRESH, FRAGMENTED_OF_FRESH];
    let on_files = method.free_space.is_some();
    if on_files {
        metrics.extend([COPIED_OF_FRESH, COPIED_OVER_FRAGMENTED, COPY_TIME, FSTRIM_TIME]);
    } else {
        metrics.push(HEALED_OF_FRESH);
    }
    let other = if on_files { HEALED } else { COPIED };
    let passes = PASSES.into_iter().filter(|pass| *pass != other);
    metrics.extend(passes.flat_map(|pass| [rate(pass), amplification(pass)]));
    if method.compare_data.is_some() {
        metrics.extend([FRESH_COMPARED, FRAGMENTED_COMPARED, OF_FRESH_COMPARED, FLATTERED]);
    }
    metrics
}
