//! The metrics of the method.

use Direction::{Higher, Lower, Neither};
use MetricAxis::{After, Beside, Chunk, Size, View};
use trimbench_core::Bytes;
use trimbench_results::{Coordinates, Direction, Metric, MetricAxis, Quantile, Role};

use super::options::DeleteStall;
use super::steps::StallTrialStep;

pub(super) const STUTTER: Metric = Metric::new("stutter", "stutter per GB deleted", "s/GB", Lower)
    .headline()
    .of_role(Role::StutterPerGb);
pub(super) const PER_DELETION: Metric =
    Metric::new("stutter-per-deletion", "stutter per deletion of any size", "s", Lower)
        .of_role(Role::StutterPerDeletion);
pub(super) const DETECTION_LIMIT: Metric =
    Metric::new("detection-limit", "smallest slowdown per GB that would be found", "s/GB", Lower);
pub(super) const OVERDUE: Metric =
    Metric::new("overdue", "overdue time per GB deleted", "s/GB", Lower)
        .of_role(Role::OverduePerGb);
pub(super) const INTERCEPT: Metric =
    Metric::new("stutter-intercept", "stutter at size 0", "s", Lower);
pub(super) const CURVATURE: Metric =
    Metric::new("stutter-curvature", "curvature of the stutter", "s/GB^2", Neither);
pub(super) const EXPONENT: Metric =
    Metric::new("delay-exponent", "exponent of the delay on size", "", Neither);

/// A value of a trial.
pub(super) type OfTrial = fn(&StallTrialStep) -> Option<f64>;

/// What one deletion of the largest size came to: id, title, unit, direction, and the value.
type OfLargest = (&'static str, &'static str, &'static str, Direction, OfTrial);

/// Beside any load.
const LARGEST: [OfLargest; 3] = [
    ("largest-stutter", "stutter", "s", Lower, |it| Some(it.found?.stutter_s)),
    ("largest-read-gap", "mean of the longest gaps between reads", "s", Lower, |it| {
        Some(it.window.read_gap_s)
    }),
    ("largest-response-max", "mean of the worst responses", "s", Lower, |it| {
        it.window.response_s_max
    }),
];
/// Beside the open-loop load.
const LARGEST_OPEN: [OfLargest; 5] = [
    (LARGEST_DELAY, "delay A", "request-s", Lower, |it| it.found?.delay_request_s),
    ("largest-equivalent-stop", "equivalent stop T_eq", "s", Lower, |it| {
        it.found?.equivalent_stop_s
    }),
    ("largest-overdue", "overdue time", "s", Lower, |it| Some(it.window.overdue_s)),
    ("largest-write-gap", "mean of the longest gaps between writes", "s", Lower, |it| {
        Some(it.window.write_gap_s)
    }),
    ("largest-drained", "time until nothing is overdue", "s", Lower, |it| {
        Some(it.window.drained_s)
    }),
];
/// Beside a closed loop of reads.
const LARGEST_CLOSED: [OfLargest; 2] = [
    ("largest-slow-time", "time with less than half the reads", "s", Lower, |it| {
        Some(it.found?.slow?.slow_s)
    }),
    ("largest-slow-reads", "reads a second meanwhile", "1/s", Higher, |it| {
        it.found?.slow?.slow_reads_per_s
    }),
];
pub(super) const LARGEST_DELAY: &str = "largest-delay";

/// One access, not the mean of the worst of each deletion.
pub(super) const WORST_RESPONSE: Metric =
    Metric::new("response-max", "worst response after any of the deletions", "s", Lower)
        .of_role(Role::WaitAfterDeletion);
pub(super) const READS_AT_REST: Metric = Metric::new(
    "reads-at-rest",
    "reads a second of the closed loop after a placebo",
    "1/s",
    Higher,
);

/// The metrics of a deletion of this size, the largest, each with the value of a trial that it is
/// the mean of.
pub(super) fn of_largest(method: &DeleteStall, size: Bytes) -> Vec<(Metric, OfTrial)> {
    let of_load = if method.readers > 0 { &LARGEST_CLOSED[..] } else { &LARGEST_OPEN[..] };
    let make = |&(id, what, unit, direction, value): &OfLargest| {
        let place = Coordinates::of_measure(id, what);
        let place = place.called(Size, size.to_string(), format!("{size} deleted"));
        (Metric::placed(id, place, unit, direction), value)
    };
    LARGEST.iter().chain(of_load).map(make).collect()
}

/// Response times in two views, per access and weighted by the time spent, after a deletion or a
/// placebo.
pub(super) fn response(quantile: Quantile, weighted: bool, placebo: bool) -> Metric {
    let (id, of, (view, per)) = if weighted {
        ("weighted", "of the time in accesses", ("time", "by time spent"))
    } else {
        ("response", "of accesses", ("accesses", "per access"))
    };
    let (suffix, after) = if placebo { ("-placebo", "placebo") } else { ("", "deletion") };
    let title = format!("response time after a {after}, {quantile} {of}");
    let place = Coordinates::of_measure("response", "response time")
        .called(After, after, format!("after a {after}"))
        .at(MetricAxis::Quantile, quantile.to_string())
        .called(View, view, per);
    let role = match (quantile, weighted, placebo) {
        (Quantile::P99_9, false, false) => Some(Role::TailAfterDeletion),
        (Quantile::P99_9, false, true) => Some(Role::TailAfterPlacebo),
        _ => None,
    };
    let metric = Metric::member(format!("{id}-{quantile}{suffix}"), title, "ms", Lower);
    Metric { role, ..metric }.at(place)
}

pub(super) const HIGHEST_RATE: Metric = Metric::new(
    "highest-deletion-rate",
    "highest rate of deletion that keeps p99.9 of the load within the limit",
    "MB/s",
    Higher,
)
.of_role(Role::DeletionRate);
pub(super) const HIGHEST_RATE_CHUNK: Metric =
    Metric::new("highest-deletion-rate-chunk", "chunk of that rate", "MiB", Neither)
        .of_role(Role::DeletionRateChunk);

/// The p99.9 of the load at the highest rate.
pub(super) fn response_at_highest_rate() -> Metric {
    let beside = ("highest-deletion-rate", "at that rate");
    response_of_load("highest-deletion-rate-response", beside).of_role(Role::DeletionRateResponse)
}

/// The same without deletions.
pub(super) fn response_of_load_alone() -> Metric {
    response_of_load("deletion-rate-load-alone", ("nothing", "without deletions"))
}

fn response_of_load(id: &'static str, (beside, how): (&str, &str)) -> Metric {
    let place = Coordinates::of_measure("load-response", "response time of the load")
        .called(Beside, beside, how)
        .at(MetricAxis::Quantile, Quantile::P99_9.to_string());
    Metric::placed(id, place, "ms", Lower)
}

/// The highest rate in chunks of this size.
pub(super) fn rate_in_chunks(chunk: Bytes) -> Metric {
    let rate = "highest rate of deletion within the limit";
    let place = Coordinates::of_measure("deletion-rate", rate);
    let place = place.called(Chunk, chunk.to_string(), format!("in chunks of {chunk}"));
    Metric::placed(format!("deletion-rate-in-chunks-of-{chunk}"), place, "MB/s", Higher)
}

/// All of them.
pub(super) fn metrics(method: &DeleteStall) -> Vec<Metric> {
    let mut metrics = vec![STUTTER, DETECTION_LIMIT, PER_DELETION, INTERCEPT, CURVATURE];
    let largest = method.sizes.iter().max().copied().unwrap_or(Bytes(0));
    metrics.push(WORST_RESPONSE);
    metrics.extend(of_largest(method, largest).into_iter().map(|(metric, _)| metric));
    if method.readers > 0 {
        metrics.push(READS_AT_REST);
        return metrics;
    }
    metrics.extend([OVERDUE, EXPONENT]);
    for placebo in [false, true] {
        for quantile in Quantile::STANDARD {
            metrics.extend([false, true].map(|weighted| response(quantile, weighted, placebo)));
        }
    }
    if method.p999_limit.is_some() {
        metrics.extend([HIGHEST_RATE, HIGHEST_RATE_CHUNK]);
        metrics.extend([response_at_highest_rate(), response_of_load_alone()]);
        metrics.extend(method.rate_chunks.iter().map(|chunk| rate_in_chunks(*chunk)));
    }
    metrics
}
