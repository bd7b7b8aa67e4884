//! From an observation to findings: pure, and the same for real and planted observations.

use std::collections::BTreeMap;

use trimbench_core::{Nanos, OperationKind};

use super::evidence::StallEvidence;
use super::latencies::{WatchLatencies, latencies, median_without};
use super::observation::{WatchObservation, WatchedRequest, WatchedThread};
use super::scene::WatchScene;
use super::stalls::{Stalls, WAIT_LEAST, WatchedStall, share, stalls};

/// Points of the series over time, at most; a point is at least 100 ms.
const POINTS_MAX: u64 = 60;
const POINT_LEAST: Nanos = Nanos::from_millis(100);
/// Threads that are named.
const THREADS_MAX: usize = 10;
/// A disk of which half of the requests take longer, without any discard, is slow.
const SLOW: Nanos = Nanos::from_millis(10);
/// Fewer stalls accuse nobody.
const STALLS_LEAST: u64 = 5;
/// How probable an accusation is at most where stalls and discards have nothing to do with each
/// other.
const SIGNIFICANCE: f64 = 0.01;
/// The share of stalls that discards must account for, with certainty, to be named.
const SHARE_LEAST: f64 = 0.1;
/// The share that they account for at most to be acquitted.
const SHARE_ACQUITTED: f64 = 0.5;
/// From this share of the time on, discards coincide with whatever happens.
const ALL_THE_TIME: f64 = 0.9;
/// Where fewer than one in so many events were lost, an accusation stands.
const LOST_FEW: u64 = 100;

/// Whose the stalls are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchVerdict {
    /// Stalls are due to discards: the share and its interval are in the evidence.
    Trim,
    /// They are not.
    NotTrim,
    /// Nothing stalled.
    NoStall,
    /// What was seen does not decide.
    CannotTell,
}

/// Why the verdict is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchReason {
    /// Stalls begin while discards are in flight, more often than by chance.
    StallsBeginUnderDiscards,
    /// No discard was seen in the stalls.
    NoDiscardInStalls,
    /// Stalls begin under discards no more often than by chance.
    NoMoreThanByChance,
    /// The disk takes long without discards too.
    DeviceSlow,
    /// Threads waited in the filesystem while no request was under way.
    AboveDevice,
    /// Nothing stalled.
    NothingStalled,
    /// Neither requests nor waits were seen.
    NothingSeen,
    /// Too few stalls to tell coincidence from cause.
    TooFewStalls,
    /// Events were lost, and what they would have told could change the verdict.
    EventsLost,
    /// Discards were in flight nearly all the time.
    DiscardsAllTheTime,
    /// Too near to chance.
    Ambiguous,
}

/// Discards of the watch.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct WatchedDiscards {
    /// How many were seen.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The most that were in flight at once.
    pub in_flight_count_max: u64,
    /// The share of the watch with a discard in flight on any disk.
    pub in_flight_share_ratio: f64,
    /// Mean time of one in the disk.
    pub latency_ns_mean: u64,
    /// The longest.
    pub latency_ns_max: u64,
    /// Who issued them, most bytes first; empty where requests are not seen by themselves.
    pub issuers: Vec<DiscardIssuer>,
    /// In flight over time.
    pub series: Vec<DiscardPoint>,
}

/// Who issued discards.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DiscardIssuer {
    /// The thread: for a filesystem's own discards often a worker of the kernel.
    pub thread: WatchedThread,
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Discards in a part of the watch.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DiscardPoint {
    /// When the part begins.
    pub start_ns: u64,
    /// The share of it with a discard in flight.
    pub in_flight_share_ratio: f64,
    /// Discards that the disks took in it.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Threads that waited above the disks.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct WaitsAbove {
    /// Which.
    pub threads: Vec<WatchedThread>,
    /// How many.
    pub threads_count: u64,
    /// In which functions of the kernel.
    pub functions: Vec<String>,
    /// Whether one of them waited as for a frozen filesystem.
    pub frozen: bool,
    /// The longest wait.
    pub wait_ns_max: u64,
    /// The share of that wait during which a request, of whomever, was under way.
    pub requests_share_ratio: f64,
}

/// What a watch found.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct WatchFindings {
    /// Requests that were seen, discards included.
    pub requests_count: u64,
    /// Discards.
    pub discards: WatchedDiscards,
    /// Of each class with and without discards in flight.
    pub latencies: Vec<WatchLatencies>,
    /// The median of all classes without discards; absent with fewer than 20 requests.
    pub latency_ns_p50_without_discards: Option<u64>,
    /// What takes longer is a stall.
    pub stall_threshold_ns: u64,
    /// Stalls, those that overlap counted as one.
    pub stalls_count: u64,
    /// The longest of them.
    pub stalls: Vec<WatchedStall>,
    /// Threads that waited above the disks.
    pub waits_above: Option<WaitsAbove>,
    /// How stalls and discards go together; absent without stalls of requests.
    pub evidence: Option<StallEvidence>,
    /// Whose the stalls are.
    pub verdict: WatchVerdict,
    /// Why.
    pub reason: WatchReason,
}

/// Finds what an observation says.
pub fn analyse(seen: &WatchObservation) -> WatchFindings {
    let scene = WatchScene::new(seen);
    let median = median_without(&scene);
    let stalls = stalls(&scene, median);
    let discards = discards(&scene);
    let evidence = StallEvidence::of(&scene, &stalls.units);
    let requests_count = seen.requests.iter().map(|it| u64::from(it.count)).sum();
    let facts = Facts {
        discards: &discards,
        stalls: &stalls,
        evidence,
        is_slow: median.is_some_and(|median| median >= SLOW),
        is_empty: requests_count == 0 && seen.waits.is_empty(),
        events_lost: seen.events_lost,
        requests_count,
    };
    let (verdict, reason) = facts.verdict();
    WatchFindings {
        requests_count,
        latencies: latencies(&scene),
        latency_ns_p50_without_discards: median.map(|median| median.0),
        stall_threshold_ns: stalls.threshold.0,
        stalls_count: stalls.count,
        waits_above: waits_above(&scene),
        discards,
        stalls: stalls.shown,
        evidence,
        verdict,
        reason,
    }
}

/// What decides.
struct Facts<'a> {
    discards: &'a WatchedDiscards,
    stalls: &'a Stalls,
    evidence: Option<StallEvidence>,
    is_slow: bool,
    is_empty: bool,
    events_lost: u64,
    requests_count: u64,
}

impl Facts<'_> {
    /// Lost events lower the claim: they may have been the discards that an acquittal misses.
    fn verdict(&self) -> (WatchVerdict, WatchReason) {
        let (verdict, reason) = self.without_losses();
        // A request has at least three events.
        let few = self.events_lost.saturating_mul(LOST_FEW) <= self.requests_count * 3;
        match verdict {
            _ if self.events_lost == 0 => (verdict, reason),
            WatchVerdict::Trim if few => (verdict, reason),
            _ => (WatchVerdict::CannotTell, WatchReason::EventsLost),
        }
    }

    fn without_losses(&self) -> (WatchVerdict, WatchReason) {
        use WatchVerdict::{CannotTell, NoStall, NotTrim, Trim};
        let Some(evidence) = &self.evidence else {
            return match () {
                () if self.stalls.above > Nanos::ZERO => (NotTrim, WatchReason::AboveDevice),
                () if self.is_slow => (NotTrim, WatchReason::DeviceSlow),
                () if self.is_empty => (NoStall, WatchReason::NothingSeen),
                () => (NoStall, WatchReason::NothingStalled),
            };
        };
        let is_enough = evidence.stalls_count_independent >= STALLS_LEAST;
        let is_significant = evidence.chance_p_value <= SIGNIFICANCE;
        if is_enough && is_significant && evidence.trim_share_ratio_low >= SHARE_LEAST {
            return (Trim, WatchReason::StallsBeginUnderDiscards);
        }
        let acquitted = self.acquitted();
        if evidence.stalls_count_overlapped == 0 {
            return (NotTrim, acquitted.unwrap_or(WatchReason::NoDiscardInStalls));
        }
        if self.discards.in_flight_share_ratio >= ALL_THE_TIME {
            return (CannotTell, WatchReason::DiscardsAllTheTime);
        }
        if evidence.trim_share_ratio_high < SHARE_ACQUITTED {
            return (NotTrim, acquitted.unwrap_or(WatchReason::NoMoreThanByChance));
        }
        let reason = if is_enough { WatchReason::Ambiguous } else { WatchReason::TooFewStalls };
        (CannotTell, reason)
    }

    /// What else the stalls are due to.
    fn acquitted(&self) -> Option<WatchReason> {
        if self.stalls.above > self.stalls.below {
            return Some(WatchReason::AboveDevice);
        }
        self.is_slow.then_some(WatchReason::DeviceSlow)
    }
}

fn discards(scene: &WatchScene<'_>) -> WatchedDiscards {
    let seen = scene.seen;
    let taken = |request: &&WatchedRequest| {
        request.kind == OperationKind::Discard && request.issued.is_some()
    };
    let all: Vec<&WatchedRequest> = seen.requests.iter().filter(taken).collect();
    let mut found = WatchedDiscards::default();
    let (mut issuers, mut steps) = (BTreeMap::<WatchedThread, (u64, u64)>::new(), Vec::new());
    let mut total = Nanos::ZERO;
    for request in &all {
        let (count, bytes) = (u64::from(request.count), request.length.0);
        let (issued, end) = (request.issued.unwrap_or(request.entered), request.end(seen.span));
        let took = end.saturating_sub(issued);
        found.count += count;
        found.bytes += bytes;
        found.latency_ns_max = found.latency_ns_max.max(took.0);
        total += took.times(count);
        steps.extend([(issued, true), (end, false)]);
        let thread = request.thread.and_then(|at| seen.threads.get(usize::try_from(at).ok()?));
        if let Some(thread) = thread {
            let of = issuers.entry(thread.clone()).or_default();
            (of.0, of.1) = (of.0 + count, of.1 + bytes);
        }
    }
    found.latency_ns_mean = total.0.checked_div(found.count).unwrap_or(0);
    // An end before a begin of the same instant.
    steps.sort_unstable();
    let mut in_flight: u64 = 0;
    for (_, begins) in steps {
        in_flight = if begins { in_flight + 1 } else { in_flight.saturating_sub(1) };
        found.in_flight_count_max = found.in_flight_count_max.max(in_flight);
    }
    let busy = &scene.place(scene.above()).discards;
    found.in_flight_share_ratio = share(busy.covered(Nanos::ZERO, seen.span), seen.span);
    let mut issuers: Vec<DiscardIssuer> = issuers
        .into_iter()
        .map(|(thread, (count, bytes))| DiscardIssuer { thread, count, bytes })
        .collect();
    issuers.sort_by_key(|issuer| std::cmp::Reverse(issuer.bytes));
    issuers.truncate(THREADS_MAX);
    found.issuers = issuers;
    found.series = series(scene, &all);
    found
}

fn series(scene: &WatchScene<'_>, discards: &[&WatchedRequest]) -> Vec<DiscardPoint> {
    let span = scene.seen.span;
    let step = Nanos(span.0.div_ceil(POINTS_MAX)).max(POINT_LEAST);
    let busy = &scene.place(scene.above()).discards;
    let mut points: Vec<DiscardPoint> = (0..span.0.div_ceil(step.0))
        .map(|number| {
            let (from, to) = (step.times(number), step.times(number + 1).min(span));
            let busy = share(busy.covered(from, to), to.saturating_sub(from));
            DiscardPoint { start_ns: from.0, in_flight_share_ratio: busy, count: 0, bytes: 0 }
        })
        .collect();
    for request in discards {
        let issued = request.issued.unwrap_or(request.entered);
        let at = usize::try_from(issued.0 / step.0).unwrap_or(usize::MAX);
        if let Some(point) = points.get_mut(at) {
            point.count += u64::from(request.count);
            point.bytes += request.length.0;
        }
    }
    points
}

fn waits_above(scene: &WatchScene<'_>) -> Option<WaitsAbove> {
    let span = |wait: &super::observation::ThreadWait| wait.to.saturating_sub(wait.from);
    let waits = scene.seen.waits.iter();
    let above: Vec<_> =
        waits.filter(|wait| span(wait) >= WAIT_LEAST && scene.is_above(wait)).collect();
    let longest = above.iter().max_by_key(|wait| span(wait))?;
    let busy = share(scene.under_way.covered(longest.from, longest.to), span(longest));
    let wait_ns_max = span(longest).0;
    let mut threads: Vec<WatchedThread> = above.iter().map(|wait| wait.thread.clone()).collect();
    threads.sort_unstable();
    threads.dedup();
    let threads_count = threads.len() as u64;
    threads.truncate(THREADS_MAX);
    let mut functions: Vec<String> = above.iter().map(|wait| wait.function.clone()).collect();
    functions.retain(|function| !function.is_empty());
    functions.sort_unstable();
    functions.dedup();
    let frozen = above.iter().any(|wait| wait.seems_frozen());
    Some(WaitsAbove {
        threads,
        threads_count,
        functions,
        frozen,
        wait_ns_max,
        requests_share_ratio: busy,
    })
}

#[cfg(test)]
mod tests;
