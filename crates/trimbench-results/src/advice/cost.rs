//! The cost of online TRIM for a concurrent load: how long one waits, and for what share of the
//! time. Each rule has a limit of its own.

use super::benefit::best_gain;
use super::facts::{Facts, Found};
use super::{
    DELETED_GB_A_DAY, LONG_TRIM_S, OVERDUE_SHARE, Reason, SHARE, SLOWDOWN_PERCENT, STORM_STALL_S,
    TAIL_ALIKE, TAIL_LONGER, WAIT_S,
};
use crate::number::quantity;
use crate::record::Session;
use crate::role::Role;
use crate::verdict::Verdict;

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

type Sign = (Side, Reason);

impl Cost {
    pub(super) fn of(facts: &Facts<'_>) -> Self {
        let deletions = facts
            .sessions()
            .flat_map(|it| [tail(facts, it), worst_response(facts, it), overdue(facts, it)]);
        let deletions = deletions.flatten();
        let others = [waits(facts), storm(facts), trace(facts), settling(facts)];
        Self::from_signs(deletions.chain(others.into_iter().flatten()).chain(files(facts)))
    }

    /// What vetoes online TRIM even where a simulation of all settings prefers it: a single wait
    /// that is felt, and what files on a filesystem showed.
    pub(super) fn veto(facts: &Facts<'_>) -> Vec<Reason> {
        let single = facts.sessions().filter_map(|it| worst_response(facts, it));
        let signs = single.chain(storm(facts)).chain(files(facts));
        let above = signs.filter(|(side, _)| *side == Side::Above);
        above.map(|(_, reason)| reason).collect()
    }

    /// Large deletions that are noticed, as far as they say so.
    pub(super) fn of_large_deletions(facts: &Facts<'_>) -> Vec<Reason> {
        let signs = facts.sessions().filter_map(|it| tail(facts, it));
        let above = signs.filter(|(side, _)| *side == Side::Above);
        above.map(|(_, reason)| reason).collect()
    }

    fn from_signs(signs: impl Iterator<Item = Sign>) -> Self {
        let (mut fine, mut unclear, mut noticed) = (Vec::new(), Vec::new(), Vec::new());
        for (side, reason) in signs {
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

/// Whether the sum of all delays shows that deletions delay others at all: more with their size, or
/// each of them. Without it, one long response among many may be anybody's.
fn is_shown(facts: &Facts<'_>, it: (usize, &Session)) -> bool {
    let sum = facts.sessions().find(|(index, _)| *index == it.0);
    let sum = sum.and_then(|it| facts.within(it, &Role::StutterPerGb));
    let stalls = [Verdict::StallsAtAnySize, Verdict::StallsBySizeOrNot];
    let is_told = |sum: Found<'_>| {
        Side::of_estimate(sum, 0.0) == Side::Above
            || sum.figure.verdict.as_ref().is_some_and(|verdict| stalls.contains(verdict))
    };
    sum.is_some_and(is_told)
}

/// The p99.9 of responses after deletions, beside that after placebos.
fn tail<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Option<Sign> {
    let tail = facts.within(it, &Role::TailAfterDeletion)?;
    let placebo = facts.within(it, &Role::TailAfterPlacebo)?;
    let (long, limit) = (tail.value(), LONG_TRIM_S * 1e3);
    let side = if long <= limit || long <= placebo.value() * TAIL_ALIKE {
        Side::Below
    } else if long > placebo.value() * TAIL_LONGER && is_shown(facts, it) {
        Side::Above
    } else {
        Side::Unclear
    };
    let text = format!(
        "after a deletion, 99.9 % of the accesses took at most {}, after a placebo {}: {} {}",
        tail.shown(),
        placebo.shown(),
        match side {
            Side::Below => "not noticed, by the limit of",
            Side::Unclear => "not clear, by the limit of",
            Side::Above => "above the limit of",
        },
        quantity(LONG_TRIM_S, "s")
    );
    let short = format!("p99.9 at deletions {}, else {}", tail.quantity(), placebo.quantity());
    Some((side, Reason::new(text, &[tail, placebo]).in_short(short)))
}

/// The longest single response after a deletion: the limit is that of what people notice.
fn worst_response<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Option<Sign> {
    let worst = facts.within(it, &Role::WaitAfterDeletion)?;
    let placebo = facts.within(it, &Role::TailAfterPlacebo)?;
    let is_long = Side::of_fact(worst, WAIT_S) == Side::Above
        && worst.value() * 1e3 > placebo.value() * TAIL_LONGER;
    let text = format!("after a deletion, the longest access took {}", worst.shown());
    let (side, text) = match (is_long, is_shown(facts, it)) {
        (false, _) => (Side::Below, text),
        (true, true) => (Side::Above, format!("{text}: a wait of more than {WAIT_S} s is felt")),
        (true, false) => (Side::Unclear, text),
    };
    let figures: &[Found<'_>] = if is_long { &[worst, placebo] } else { &[worst] };
    let short = format!("longest wait after a deletion {}", worst.shown());
    Some((side, Reason::new(text, figures).in_short(short)))
}

/// For what share of a day accesses are overdue. Only above: overdue time misses short stops.
fn overdue<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Option<Sign> {
    let found = facts.within(it, &Role::OverduePerGb)?;
    if Side::of_estimate(found, overdue_limit()) != Side::Above {
        return None;
    }
    let text = format!(
        "accesses are overdue for {} deleted: at {DELETED_GB_A_DAY} GB a day for more than {} % \
         of the time",
        found.shown(),
        quantity(OVERDUE_SHARE * 1e2, "")
    );
    let short = format!("overdue for {} deleted", found.shown());
    Some((Side::Above, Reason::new(text, &[found]).in_short(short)))
}

/// The overdue time of a GB from which on it is more than its share of a day, s/GB.
fn overdue_limit() -> f64 {
    OVERDUE_SHARE * DAY_S / DELETED_GB_A_DAY
}

const DAY_S: f64 = 86_400.0;

/// How long reads and writes wait during TRIMs. There is no such load without TRIMs to compare
/// with, so a long wait counts only if a single TRIM takes long, too.
fn waits(facts: &Facts<'_>) -> Option<Sign> {
    let longest = facts.worst(&Role::WaitBesideTrim)?;
    let text = format!("the longest read or write beside TRIMs took {}", longest.shown());
    let short = format!("longest wait beside TRIMs {}", longest.shown());
    if Side::of_fact(longest, WAIT_S) == Side::Below {
        return Some((Side::Below, Reason::new(text, &[longest]).in_short(short)));
    }
    let trim = facts.worst(&Role::TrimLatency)?;
    let text = format!("{text}; one TRIM takes {}", trim.shown());
    let is_long = trim.value() / 1e3 > LONG_TRIM_S;
    is_long.then(|| (Side::Above, Reason::new(text, &[longest, trim]).in_short(short)))
}

/// How much mounting with `discard` slows a load of small files.
fn files(facts: &Facts<'_>) -> Vec<Sign> {
    let ways = [(true, "buffered"), (false, "unbuffered")];
    let found = ways
        .into_iter()
        .filter_map(|(buffered, way)| Some((facts.worst(&Role::DurationAdded { buffered })?, way)));
    let signs = found.map(|(found, way)| {
        // From some percent on a change is shown as a number of times.
        let (text, short) = if found.figure.shown().unit == "times" {
            let long = format!("PostMark, {way}, takes {} as long with `discard`", found.shown());
            (long, format!("PostMark takes {} as long", found.quantity()))
        } else {
            let long =
                format!("`discard` adds {} to the duration of PostMark, {way}", found.shown());
            (long, format!("`discard` adds {} to PostMark", found.quantity()))
        };
        (Side::of_estimate(found, SLOWDOWN_PERCENT), Reason::new(text, &[found]).in_short(short))
    });
    signs.collect()
}

/// Whether writers stalled after a mass deletion. One storm without a stall proves nothing about
/// smaller deletions.
fn storm(facts: &Facts<'_>) -> Option<Sign> {
    let found = facts.worst(&Role::StallAfterDeletion)?;
    let text = format!("after a mass deletion the next job stood still for {}", found.shown());
    let is_long = Side::of_fact(found, STORM_STALL_S) == Side::Above;
    let short = format!("stands still for {} after a deletion", found.shown());
    is_long.then(|| (Side::Above, Reason::new(text, &[found]).in_short(short)))
}

/// Whether a job runs at less than half its pace after a TRIM, for longer than a pause that
/// interrupts a thought. Only above: TRIMs that settle at once may still block.
fn settling(facts: &Facts<'_>) -> Option<Sign> {
    let time = facts.worst(&Role::SettlingTime)?;
    let pace = facts.worst(&Role::SettlingPace)?;
    let text = format!(
        "after a TRIM the drive is slower for {}, at {} of its pace at the lowest",
        time.shown(),
        pace.quantity()
    );
    let is_felt = time.value() > STORM_STALL_S && pace.value() < 0.5;
    let short = format!("slower for {} after a TRIM", time.shown());
    is_felt.then(|| (Side::Above, Reason::new(text, &[time, pace]).in_short(short)))
}

/// Whether a trace completes fewer writes with its TRIMs, even in its best window.
fn trace(facts: &Facts<'_>) -> Option<Sign> {
    let best = facts.sessions().filter_map(|it| best_gain(facts, it)).map(|(_, gain)| gain);
    let worst = best.min_by(|a, b| a.value().total_cmp(&b.value()));
    let found = worst.filter(|found| found.value() <= 1.0 - SHARE)?;
    let text = format!("a trace with its TRIMs does {} of the writes", found.quantity());
    let short = format!("a trace does {} of its writes", found.quantity());
    Some((Side::Above, Reason::new(text, &[found]).in_short(short)))
}

/// What would have to be measured, or done, for online TRIM not to be the answer.
pub(super) fn limits_that_hold(facts: &Facts<'_>) -> Vec<String> {
    let mut words = Vec::new();
    let here = |found: Option<Found<'_>>| {
        found.map_or_else(String::new, |it| format!(" (here {})", it.quantity()))
    };
    let tail = facts.worst(&Role::TailAfterDeletion);
    words.push(format!(
        "a p99.9 after deletions of more than {}{}, without TRIM less",
        quantity(LONG_TRIM_S, "s"),
        here(tail)
    ));
    let wait = facts.worst(&Role::WaitAfterDeletion);
    let wait = wait.or_else(|| facts.worst(&Role::WaitBesideTrim));
    words.push(format!("a single wait of more than {WAIT_S} s{}", here(wait)));
    words.extend(a_day(facts));
    if let Some(wait) = wait.filter(|wait| wait.value() > 0.001) {
        words.push(format!(
            "a load to which a wait of {} is too long: then trim once a week",
            wait.quantity()
        ));
    }
    words
}

/// How much may be deleted a day so that accesses are overdue for no more than their share of it.
fn a_day(facts: &Facts<'_>) -> Option<String> {
    let overdue = facts.worst(&Role::OverduePerGb)?;
    let surely = Side::of_estimate(overdue, 0.0) == Side::Above;
    let amount = OVERDUE_SHARE * DAY_S / overdue.value();
    surely.then(|| {
        format!(
            "deletions of more than {} a day, from which on accesses are overdue for {} % of the \
             time",
            quantity(amount, "GB"),
            quantity(OVERDUE_SHARE * 1e2, "")
        )
    })
}
