//! The metrics of the method.

use Direction::{Higher, Lower, Neither};
use MetricAxis::{Data, Over, State};
use trimbench_results::{Coordinates, Direction, Metric, MetricAxis, Role};

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

const THROUGHPUT: &str = "throughput";
const AMPLIFICATION: &str = "write-amplification";
const WRITES: &str = "sequential writes";
const SHARE: &str = "as a share of fresh";

/// The throughput of a pass as a share of the fresh one's. That after TRIM is the headline.
pub(super) fn of_fresh(pass: PassName) -> Metric {
    let place = place(THROUGHPUT, WRITES, pass).called(Over, FRESH.0, SHARE);
    let role = match pass {
        TRIMMED => Some(Role::RecoveredSpeed),
        FRAGMENTED => Some(Role::FragmentedSpeed),
        _ => None,
    };
    let metric = Metric::placed(format!("{}-of-fresh", pass.0), place, "", Higher);
    Metric { headline: pass == TRIMMED, role, ..metric }
}

fn place(measure: &str, words: &str, (pass, state): PassName) -> Coordinates {
    Coordinates::of_measure(measure, words).called(State, pass, state)
}

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
pub(super) fn rate(pass: PassName) -> Metric {
    let metric = Metric::placed(pass.0, place(THROUGHPUT, WRITES, pass), "MB/s", Higher);
    Metric { headline: pass == TRIMMED || pass == COPIED, ..metric }
}

/// The write amplification of a pass.
pub(super) fn amplification(pass: PassName) -> Metric {
    let role = match pass {
        FRAGMENTED => Some(Role::FragmentedWear),
        TRIMMED => Some(Role::RecoveredWear),
        _ => None,
    };
    let place = place(AMPLIFICATION, &format!("write amplification of {WRITES}"), pass);
    Metric { role, ..Metric::placed(format!("{AMPLIFICATION}-{}", pass.0), place, "", Lower) }
}

/// What the same drive looks like with other data.
pub(super) fn compared(pass: PassName) -> Metric {
    Metric::placed(format!("{}-compared", pass.0), with_other_data(pass), "MB/s", Higher)
}

/// The fragmented pass with other data as a share of the fresh one with them.
pub(super) fn of_fresh_compared() -> Metric {
    let over = format!("{SHARE} with it");
    let place = with_other_data(FRAGMENTED).called(Over, FRESH.0, over);
    Metric::placed("fragmented-of-fresh-compared", place, "", Higher)
}

fn with_other_data(pass: PassName) -> Coordinates {
    place(THROUGHPUT, "", pass).called(Data, "compared", "other data")
}

pub(super) const FLATTERED: Metric =
    Metric::new("flattered-by", "fragmented, with other data over without", "", Neither);

/// All of them.
pub(super) fn metrics(method: &Recovery) -> Vec<Metric> {
    let mut metrics = vec![of_fresh(TRIMMED), of_fresh(FRAGMENTED)];
    let on_files = method.free_space.is_some();
    if on_files {
        metrics.extend([of_fresh(COPIED), COPIED_OVER_FRAGMENTED, COPY_TIME, FSTRIM_TIME]);
    } else {
        metrics.push(of_fresh(HEALED));
    }
    let other = if on_files { HEALED } else { COPIED };
    let passes = PASSES.into_iter().filter(|pass| *pass != other);
    metrics.extend(passes.flat_map(|pass| [rate(pass), amplification(pass)]));
    if method.compare_data.is_some() {
        metrics.extend([compared(FRESH), compared(FRAGMENTED), of_fresh_compared(), FLATTERED]);
    }
    metrics
}
