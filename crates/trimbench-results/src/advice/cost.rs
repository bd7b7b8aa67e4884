//! The cost of online TRIM for a concurrent load.

use super::benefit::best_gain;
use super::facts::{Facts, Found};
use super::words::shown;
use super::{
    LONG_TRIM_S, Reason, SHARE, SLOWDOWN_PERCENT, STORM_STALL_S, STUTTER_S_PER_GB, WAIT_S,
};
use crate::role::Role;

/// The cost of online TRIM.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cost {
    /// Not noticeable.
    Fine(Vec<Reason>),
    /// The noise is as large as the limit.
    Unclear(Vec<Reason>),
    /// Noticeable: other requests wait.
    Noticed(Vec<Reason>),
    /// Not measured.
    Unmeasured,
}

/// On which side of a limit a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Below,
    Unclear,
    Above,
}

impl Side {
    /// Compares the whole interval. A figure without the interval that it should have is unclear.
    pub(super) fn of_estimate(found: Found<'_>, limit: f64) -> Self {
        match found.figure.interval {
            Some(interval) if interval.high <= limit => Self::Below,
            Some(interval) if interval.low > limit => Self::Above,
            _ => Self::Unclear,
        }
    }

    /// A count or a maximum, which has no interval.
    pub(super) fn of_fact(found: Found<'_>, limit: f64) -> Self {
        if found.value() <= limit { Self::Below } else { Self::Above }
    }
}

impl Cost {
    pub(super) fn of(facts: &Facts<'_>) -> Self {
        let signs = [stutter(facts), waits(facts), files(facts), storm(facts), trace(facts)];
        let (mut fine, mut unclear, mut noticed) = (Vec::new(), Vec::new(), Vec::new());
        for (side, reason) in signs.into_iter().flatten() {
            match side {
                Side::Below => fine.push(reason),
                Side::Unclear => unclear.push(reason),
                Side::Above => noticed.push(reason),
            }
        }
        if !noticed.is_empty() {
            Self::Noticed(noticed)
        } else if !unclear.is_empty() {
            Self::Unclear(unclear)
        } else if !fine.is_empty() {
            Self::Fine(fine)
        } else {
            Self::Unmeasured
        }
    }
}

type Signs = Vec<(Side, Reason)>;

/// How long a deletion stalls the load.
fn stutter(facts: &Facts<'_>) -> Signs {
    let mut signs = Signs::new();
    if let Some(found) = facts.worst(&Role::StutterPerGb) {
        let side = Side::of_estimate(found, STUTTER_S_PER_GB);
        let than = match side {
            Side::Below => "below",
            Side::Unclear => "not told apart from",
            Side::Above => "above",
        };
        let text = format!(
            "a deletion holds up others for {}: {than} the {STUTTER_S_PER_GB} s/GB that are \
             noticed",
            found.shown()
        );
        signs.push((side, Reason::new(text, &[found])));
    }
    // Only above: it mixes all sizes, and overdue time misses stops that are short.
    if let Some(found) = facts.worst(&Role::StutterPerDeletion)
        && Side::of_estimate(found, WAIT_S) == Side::Above
    {
        let text = format!("each deletion holds up others for {}", found.shown());
        signs.push((Side::Above, Reason::new(text, &[found])));
    }
    if let Some(found) = facts.worst(&Role::OverduePerGb)
        && Side::of_estimate(found, STUTTER_S_PER_GB) == Side::Above
    {
        let text = format!("accesses are overdue for {} deleted", found.shown());
        signs.push((Side::Above, Reason::new(text, &[found])));
    }
    signs
}

/// How long reads and writes wait during TRIMs. There is no such load without TRIMs to compare
/// with, so a long wait counts only if a single TRIM takes long, too.
fn waits(facts: &Facts<'_>) -> Signs {
    let Some(longest) = facts.worst(&Role::WaitBesideTrim) else { return Signs::new() };
    let text = format!("the longest read or write beside TRIMs took {}", longest.shown());
    if Side::of_fact(longest, WAIT_S) == Side::Below {
        return vec![(Side::Below, Reason::new(text, &[longest]))];
    }
    let trim = facts.worst(&Role::TrimLatency);
    let Some(trim) = trim.filter(|trim| trim.value() / 1e3 > LONG_TRIM_S) else {
        return Signs::new();
    };
    let text = format!("{text}; one TRIM takes {}", trim.shown());
    vec![(Side::Above, Reason::new(text, &[longest, trim]))]
}

/// How much mounting with `discard` slows a load of small files.
fn files(facts: &Facts<'_>) -> Signs {
    let found = [true, false].map(|buffered| facts.worst(&Role::DurationAdded { buffered }));
    let signs = found.into_iter().flatten().map(|found| {
        let text = format!("`discard` adds {} to the duration of PostMark", found.shown());
        (Side::of_estimate(found, SLOWDOWN_PERCENT), Reason::new(text, &[found]))
    });
    signs.collect()
}

/// Whether writers stalled after a mass deletion. One storm without a stall proves nothing about
/// smaller deletions.
fn storm(facts: &Facts<'_>) -> Signs {
    let found = facts.worst(&Role::StallAfterDeletion);
    let found = found.filter(|found| Side::of_fact(*found, STORM_STALL_S) == Side::Above);
    let sign = found.map(|found| {
        let text = format!("after a mass deletion the next job stood still for {}", found.shown());
        (Side::Above, Reason::new(text, &[found]))
    });
    sign.into_iter().collect()
}

/// Whether a trace completes fewer writes with its TRIMs, even in its best window.
fn trace(facts: &Facts<'_>) -> Signs {
    let best = facts.sessions().filter_map(|it| best_gain(facts, it)).map(|(_, gain)| gain);
    let worst = best.min_by(|a, b| a.value().total_cmp(&b.value()));
    let loss = worst.filter(|found| found.value() <= 1.0 - SHARE);
    let sign = loss.map(|found| {
        let text =
            format!("a trace with its TRIMs does {} of the writes", shown(found.value(), ""));
        (Side::Above, Reason::new(text, &[found]))
    });
    sign.into_iter().collect()
}

/// What would have to be measured for online TRIM not to be the answer.
pub(super) fn limits_that_hold(facts: &Facts<'_>) -> Vec<String> {
    let mut words = Vec::new();
    let stutter = facts.worst(&Role::StutterPerGb);
    let here = |found: Option<Found<'_>>| {
        found.map_or_else(String::new, |found| {
            format!(" (here {})", shown(found.value(), &found.figure.unit))
        })
    };
    words.push(format!("a stutter of more than {STUTTER_S_PER_GB} s/GB{}", here(stutter)));
    let wait = facts.worst(&Role::WaitBesideTrim);
    let wait = wait.or_else(|| facts.worst(&Role::WaitAfterDeletion));
    words.push(format!("a wait beside TRIMs of more than {WAIT_S} s{}", here(wait)));
    if let Some(wait) = wait.filter(|wait| wait.value() > 0.001) {
        words.push(format!(
            "a load to which a wait of {} is too long: then trim once a week",
            shown(wait.value(), &wait.figure.unit)
        ));
    }
    words
}
