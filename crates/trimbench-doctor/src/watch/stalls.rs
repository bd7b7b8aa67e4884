//! Which requests and waits are stalls.
//!
//! A request stalls if it takes longer than the threshold: five times the median of reads, writes
//! and flushes without discards, but at least [`THRESHOLD_LEAST`] and at most [`THRESHOLD_MOST`]. A
//! hundred times what an SSD takes is noticed, and five times what a busy disk takes; with an upper
//! bound a disk that is slow all the time still has stalls. A thread stalls if it is seen to wait
//! without interruption for [`WAIT_LEAST`].
//!
//! Stalls of one disk that overlap are shown as one.

use std::collections::BTreeMap;

use trimbench_core::{Nanos, OperationKind};

use super::busy::BusyIntervals;
use super::evidence::{StallUnit, independent};
use super::observation::{ThreadWait, WatchedThread};
use super::scene::WatchScene;

const THRESHOLD_LEAST: Nanos = Nanos::from_millis(10);
const THRESHOLD_MOST: Nanos = Nanos::from_millis(100);
/// How many times the median is a stall.
const TIMES_MEDIAN: u64 = 5;
/// Waits of threads are looked at every few tens of milliseconds.
pub(super) const WAIT_LEAST: Nanos = Nanos::from_millis(200);
/// Stalls that are shown, and threads of each.
const SHOWN: usize = 10;
/// What a request takes at least with certainty, for the order of requests that come together.
const SLACK_LEAST: Nanos = Nanos::from_micros(100);

/// Requests that stalled one after the other without a gap.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct WatchedStall {
    /// When it began, since the begin of the watch.
    pub start_ns: u64,
    /// For how long something was stalled.
    pub span_ns: u64,
    /// Where: the disk's kernel name, or `above` where threads waited and no request stalled.
    pub place: String,
    /// Requests that stalled.
    pub requests_count: u64,
    /// Threads that waited: those that caused the requests, and those in state D.
    pub threads: Vec<WatchedThread>,
    /// Discards in flight at any time meanwhile.
    pub discards_count: u64,
    /// Their bytes.
    pub discards_bytes: u64,
    /// The share of the stall during which a discard was in flight.
    pub discards_share_ratio: f64,
}

/// All stalls, by what is known of them.
#[derive(Debug, Default)]
pub(super) struct Stalls {
    pub(super) threshold: Nanos,
    /// The longest first.
    pub(super) shown: Vec<WatchedStall>,
    /// How many there are, merged.
    pub(super) count: u64,
    pub(super) units: Vec<StallUnit>,
    /// Time with a request stalled, disk by disk, or a thread that waited for requests.
    pub(super) below: Nanos,
    /// Time with a thread that waited above the disks.
    pub(super) above: Nanos,
}

/// One that stalled.
#[derive(Clone, Debug)]
struct Stalled {
    unit: StallUnit,
    requests: u64,
    threads: Vec<WatchedThread>,
}

pub(super) fn stalls(scene: &WatchScene<'_>, median: Option<Nanos>) -> Stalls {
    let usual = median.map_or(Nanos::ZERO, |median| median.times(TIMES_MEDIAN));
    let threshold = usual.max(THRESHOLD_LEAST).min(THRESHOLD_MOST);
    let requests = slow_requests(scene, threshold, median);
    let waits = scene.seen.waits.iter();
    let waits = waits.filter(|wait| wait.to.saturating_sub(wait.from) >= WAIT_LEAST);
    let (above, below): (Vec<&ThreadWait>, Vec<&ThreadWait>) =
        waits.partition(|wait| scene.is_above(wait));
    let wait = |wait: &&ThreadWait| Stalled {
        unit: StallUnit {
            place: scene.above(),
            from: wait.from,
            to: wait.to,
            slack: scene.seen.wait_resolution,
        },
        requests: 0,
        threads: vec![wait.thread.clone()],
    };
    let (above, below): (Vec<Stalled>, Vec<Stalled>) =
        (above.iter().map(wait).collect(), below.iter().map(wait).collect());
    // A wait counts for itself where no request that stalled accounts for it.
    let slow: Vec<(Nanos, Nanos)> = requests.iter().map(|it| (it.unit.from, it.unit.to)).collect();
    let slow = BusyIntervals::of(slow);
    let (with, mut alone): (Vec<Stalled>, Vec<Stalled>) =
        below.into_iter().partition(|it| slow.meets(it.unit.from, it.unit.to));
    let units = requests.iter().chain(&alone).map(|it| it.unit).collect();
    let spans = |all: &[Stalled]| {
        BusyIntervals::of(all.iter().map(|it| (it.unit.from, it.unit.to)).collect()).total()
    };
    let (below, above_time) = (slow.total() + spans(&alone), spans(&above));
    alone.extend(above);
    let mut shown = merged(scene, requests, &with);
    shown.extend(merged(scene, alone, &[]));
    shown.sort_by_key(|stall| (std::cmp::Reverse(stall.span_ns), stall.start_ns));
    let count = shown.len() as u64;
    shown.truncate(SHOWN);
    Stalls { threshold, shown, count, units: independent(units), below, above: above_time }
}

fn slow_requests(scene: &WatchScene<'_>, threshold: Nanos, median: Option<Nanos>) -> Vec<Stalled> {
    let seen = scene.seen;
    // A request that was under way already when the discard came, and would have ended soon.
    let usual = median.map_or(Nanos::ZERO, |median| median.times(2)).min(threshold);
    let slack = usual.max(SLACK_LEAST).max(seen.resolution);
    let slow = |request: &&super::observation::WatchedRequest| {
        request.is_foreground() && request.took(seen.span) > threshold
    };
    let stalled = |request: &super::observation::WatchedRequest| {
        let (from, to) = (request.entered, request.end(seen.span));
        let thread = request.thread.and_then(|at| seen.threads.get(usize::try_from(at).ok()?));
        Stalled {
            unit: StallUnit { place: scene.disk(request.disk), from, to, slack },
            requests: u64::from(request.count),
            threads: thread.cloned().into_iter().collect(),
        }
    };
    seen.requests.iter().filter(slow).map(stalled).collect()
}

/// Merges what overlaps in one place; threads of `waits` are added to the stalls that they overlap.
fn merged(scene: &WatchScene<'_>, mut all: Vec<Stalled>, waits: &[Stalled]) -> Vec<WatchedStall> {
    all.sort_by_key(|stalled| (stalled.unit.place, stalled.unit.from));
    let mut stalls: Vec<Stalled> = Vec::new();
    for stalled in all {
        match stalls.last_mut() {
            Some(last)
                if last.unit.place == stalled.unit.place && stalled.unit.from <= last.unit.to =>
            {
                last.unit.to = last.unit.to.max(stalled.unit.to);
                last.requests += stalled.requests;
                last.threads.extend(stalled.threads);
            }
            _ => stalls.push(stalled),
        }
    }
    let longest =
        |stall: &Stalled| std::cmp::Reverse(stall.unit.to.saturating_sub(stall.unit.from));
    let described = |(at, mut stall): (usize, Stalled)| {
        // Only what may be shown is worth the search.
        if at < SHOWN {
            let (from, to) = (stall.unit.from, stall.unit.to);
            let overlapping = waits.iter().filter(|it| it.unit.from < to && from < it.unit.to);
            stall.threads.extend(overlapping.flat_map(|it| it.threads.iter().cloned()));
        }
        shown(scene, stall, at < SHOWN)
    };
    stalls.sort_by_key(longest);
    stalls.into_iter().enumerate().map(described).collect()
}

fn shown(scene: &WatchScene<'_>, stall: Stalled, in_full: bool) -> WatchedStall {
    let StallUnit { place, from, to, .. } = stall.unit;
    let disk = (place != scene.above()).then(|| scene.seen.disks.get(place)).flatten();
    let span = to.saturating_sub(from);
    let (mut count, mut bytes) = (0, 0);
    if in_full {
        for request in &scene.seen.requests {
            let here = place == scene.above() || scene.disk(request.disk) == place;
            let issued = request.issued.unwrap_or(Nanos(u64::MAX));
            let meets = issued < to && from < request.end(scene.seen.span);
            if request.kind == OperationKind::Discard && here && meets {
                count += u64::from(request.count);
                bytes += request.length.0;
            }
        }
    }
    WatchedStall {
        start_ns: from.0,
        span_ns: span.0,
        place: disk.map_or_else(|| "above".to_owned(), Clone::clone),
        requests_count: stall.requests,
        threads: most_frequent(stall.threads),
        discards_count: count,
        discards_bytes: bytes,
        discards_share_ratio: share(scene.place(place).discards.covered(from, to), span),
    }
}

/// Each once, those that are named most often first.
fn most_frequent(threads: Vec<WatchedThread>) -> Vec<WatchedThread> {
    let mut counts: BTreeMap<WatchedThread, u64> = BTreeMap::new();
    for thread in threads {
        *counts.entry(thread).or_default() += 1;
    }
    let mut all: Vec<(u64, WatchedThread)> =
        counts.into_iter().map(|(thread, count)| (count, thread)).collect();
    all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    all.into_iter().take(SHOWN).map(|(_, thread)| thread).collect()
}

/// Part of a whole; 0 of nothing.
pub(super) fn share(part: Nanos, whole: Nanos) -> f64 {
    if whole == Nanos::ZERO { 0.0 } else { part.0 as f64 / whole.0 as f64 }
}
