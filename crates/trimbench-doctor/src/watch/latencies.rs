//! How long requests took, with and without discards in flight.

use trimbench_core::{Nanos, OperationKind};

use super::scene::WatchScene;

/// With fewer requests there is no median to compare with.
const MEDIAN_LEAST: u64 = 20;

/// Latencies of one class: from when a request was given to the block layer to its end.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WatchLatencies {
    /// `read`, `write`, `flush` or `discard`.
    pub operation: String,
    /// Whether a discard was in flight on the same disk at any time meanwhile; of discards it is
    /// themselves.
    pub with_discards: bool,
    /// Requests that ended.
    pub requests_count: u64,
    /// Median.
    pub latency_ns_p50: u64,
    /// 99th percentile, by nearest rank.
    pub latency_ns_p99: u64,
    /// 99.9th percentile.
    pub latency_ns_p99_9: u64,
    /// The longest.
    pub latency_ns_max: u64,
}

/// Latencies with how many requests had each.
type Weighted = Vec<(Nanos, u64)>;

/// Of each class that was seen: without discards, then with them.
pub(super) fn latencies(scene: &WatchScene<'_>) -> Vec<WatchLatencies> {
    let mut rows = Vec::new();
    for kind in [OperationKind::Read, OperationKind::Write, OperationKind::Flush] {
        for with_discards in [false, true] {
            let of = |it: OperationKind| it == kind;
            rows.extend(row(kind, with_discards, weighted(scene, of, with_discards)));
        }
    }
    let discards = weighted(scene, |kind| kind == OperationKind::Discard, true);
    rows.extend(row(OperationKind::Discard, true, discards));
    rows
}

/// The median of reads, writes and flushes during which no discard was in flight; `None` with too
/// few of them.
pub(super) fn median_without(scene: &WatchScene<'_>) -> Option<Nanos> {
    let mut all = weighted(scene, |kind| kind != OperationKind::Discard, false);
    all.sort_unstable();
    let count: u64 = all.iter().map(|(_, count)| count).sum();
    (count >= MEDIAN_LEAST).then(|| quantile(&all, count, 500))
}

fn weighted(
    scene: &WatchScene<'_>,
    of: impl Fn(OperationKind) -> bool,
    with_discards: bool,
) -> Weighted {
    let requests = scene.seen.requests.iter();
    let wanted = requests.filter(|request| {
        of(request.kind)
            && request.completed.is_some()
            && scene.is_with_discards(request) == with_discards
    });
    wanted.map(|request| (request.took(scene.seen.span), u64::from(request.count))).collect()
}

fn row(kind: OperationKind, with_discards: bool, mut all: Weighted) -> Option<WatchLatencies> {
    all.sort_unstable();
    let count: u64 = all.iter().map(|(_, count)| count).sum();
    let longest = all.last()?.0;
    let at = |permille| quantile(&all, count, permille).0;
    Some(WatchLatencies {
        operation: kind.id().to_owned(),
        with_discards,
        requests_count: count,
        latency_ns_p50: at(500),
        latency_ns_p99: at(990),
        latency_ns_p99_9: at(999),
        latency_ns_max: longest.0,
    })
}

/// By nearest rank, of sorted latencies of `count` requests.
fn quantile(sorted: &Weighted, count: u64, permille: u64) -> Nanos {
    let rank = (count * permille).div_ceil(1_000).max(1);
    let mut seen = 0;
    for (latency, count) in sorted {
        seen += count;
        if seen >= rank {
            return *latency;
        }
    }
    sorted.last().map_or(Nanos::ZERO, |it| it.0)
}
