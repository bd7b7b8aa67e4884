//! The second fact: whether the cost of online TRIM is noticeable.
//!
//! Each kind of cost has a limit of its own. A figure is on one side of it only with its whole
//! interval, and close to it within a stated factor. What deletions of a stated size cost on this
//! target outranks what was simulated for it with deletions that are no larger.

use std::cmp::Ordering;

use trimbench_core::Bytes;

use super::benefit::best_gain;
use super::choice::Simulated;
use super::facts::{Deletions, Facts, Found};
use super::table::{Fact, Known};
use super::{
    CLOSE, CLOSE_SINGLE, IN_ALL_S, LONG_TRIM_S, Reason, SHARE, SLOWDOWN_PERCENT, STORM_STALL_S,
    TAIL_LONGER, WAIT_S,
};
use crate::number::quantity;
use crate::record::Session;
use crate::role::Role;
use crate::verdict::Verdict;

/// The fact, and what else the answer asks of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cost {
    pub(super) fact: Fact,
    /// The deletion that it is stated for; `None` where it is that of no deletion of a known size.
    size: Option<Bytes>,
    /// Whether the fact is from a simulation only.
    pub(super) is_simulated: bool,
    /// Measurement and simulation of deletions of one size that contradict each other.
    pub(super) contradiction: Option<Reason>,
    /// Large deletions that are noticed by the p99.9 of others.
    pub(super) large: Vec<Reason>,
}

/// On which side of a limit a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Below,
    /// Near the limit: another run may be on the other side.
    Close,
    /// Not resolved.
    Unclear,
    Above,
}

impl Side {
    /// Compares the whole interval. A figure without the interval that it should have is unclear.
    pub(super) fn of_estimate(found: Found<'_>, limit: f64) -> Self {
        match found.figure.interval {
            Some(it) if it.low >= limit / CLOSE && it.high <= limit * CLOSE => Self::Close,
            Some(it) if it.high <= limit => Self::Below,
            Some(it) if it.low > limit => Self::Above,
            _ => Self::Unclear,
        }
    }

    /// A percentile of many, which has no interval.
    fn of_tail(value: f64, limit: f64) -> Self {
        Self::within(value, limit, CLOSE)
    }

    /// A single longest response: two runs of one load differ more in it than in a percentile.
    fn of_single(value: f64, limit: f64) -> Self {
        Self::within(value, limit, CLOSE_SINGLE)
    }

    fn within(value: f64, limit: f64, close: f64) -> Self {
        if value <= limit / close {
            Self::Below
        } else if value <= limit * close {
            Self::Close
        } else {
            Self::Above
        }
    }
}

type Sign = (Side, Reason);

impl Cost {
    /// The question that the fact answers.
    pub(super) fn question(&self) -> String {
        let of = |size| format!("the cost of deletions of up to {size} is noticeable");
        self.size.map_or_else(|| "its cost is noticeable".to_owned(), of)
    }

    pub(super) fn of(facts: &Facts<'_>, simulated: Option<&Simulated<'_>>) -> Self {
        let (mut deletions, mut stated) = (Vec::new(), None);
        for it in facts.sessions() {
            let signs = of_deletions(facts, it);
            stated = stated
                .max(Facts::deletions(it.1).filter(|_| !signs.is_empty()).map(|it| it.stated));
            deletions.extend(signs);
        }
        let large = facts.sessions().filter_map(|it| tail(facts, it));
        let large = large.filter(|(side, _)| *side == Side::Above).map(|(_, reason)| reason);
        let large = large.collect();
        let has_deletions = !deletions.is_empty();
        let others = [added(facts), waits(facts), storm(facts), trace(facts), settling(facts)];
        let others = others.into_iter().flatten().chain(files(facts));
        let measured = from_signs(deletions.into_iter().chain(others));
        let alone = |fact| {
            let (is_simulated, contradiction) = (false, None);
            Self { fact, size: stated, is_simulated, contradiction, large: Vec::new() }
        };
        let Some(it) = simulated else { return Self { large, ..alone(measured) } };
        let simulation = it.noticeable();
        let sizes = stated.zip(it.deletion).filter(|_| has_deletions);
        let is_same = sizes.is_some_and(|(measured, simulated)| measured == simulated);
        let is_smaller =
            !has_deletions || sizes.is_some_and(|(measured, simulated)| measured < simulated);
        match (measured.known, simulation.known) {
            (Known::Yes, Known::No) | (Known::No, Known::Yes) if is_same => {
                let contradiction = contradiction(&measured, &simulation);
                let because = [measured.because, simulation.because].concat();
                let fact = Fact::new(Known::Unknown, because);
                Self { contradiction: Some(contradiction), large, ..alone(fact) }
            }
            (Known::Unknown, _) => {
                let because = [simulation.because, measured.because].concat();
                let fact = Fact::new(simulation.known, because);
                let size = it.deletion.filter(|_| simulation.known != Known::Unknown).or(stated);
                Self { is_simulated: true, size, large, ..alone(fact) }
            }
            // A cost at smaller deletions, or at none of a known size, says nothing of larger ones.
            (Known::No | Known::Close, _) if is_smaller && simulation.known != Known::Unknown => {
                let because = [simulation.because, measured.because].concat();
                let fact = Fact::new(simulation.known, because);
                Self { is_simulated: true, size: it.deletion, large, ..alone(fact) }
            }
            _ => {
                let because = [measured.because, simulation.because].concat();
                Self { large, ..alone(Fact::new(measured.known, because)) }
            }
        }
    }
}

fn contradiction(measured: &Fact, simulation: &Fact) -> Reason {
    let first = |fact: &Fact| fact.because.first().map_or("", |it| it.short.as_str()).to_owned();
    let text = format!(
        "what was measured and what was simulated with deletions of the same size contradict each \
         other: {}; {}",
        first(measured),
        first(simulation)
    );
    Reason::new(text, &[]).in_short("measurement and simulation contradict each other")
}

fn from_signs(signs: impl Iterator<Item = Sign>) -> Fact {
    let signs: Vec<Sign> = signs.collect();
    let known = [
        (Side::Above, Known::Yes),
        (Side::Unclear, Known::Unknown),
        (Side::Close, Known::Close),
        (Side::Below, Known::No),
    ];
    let found = known.into_iter().find(|(side, _)| signs.iter().any(|(it, _)| it == side));
    let Some((side, known)) = found else { return Fact::unknown() };
    let because = signs.into_iter().filter(|(it, _)| *it == side).map(|(_, reason)| reason);
    Fact::new(known, because.collect())
}

/// What one session's deletions cost others.
fn of_deletions<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Vec<Sign> {
    let signs = [tail(facts, it), worst_response(facts, it), in_all(facts, it)];
    signs.into_iter().flatten().collect()
}

/// Whether the sum of all delays shows that deletions delay others at all: more with their size, or
/// each of them. Without it, one long response among many may be anybody's.
fn is_shown<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> bool {
    let stalls = [Verdict::StallsAtAnySize, Verdict::StallsBySizeOrNot];
    facts.within(it, &Role::StutterPerGb).is_some_and(|sum| {
        sum.figure.interval.is_some_and(|interval| interval.low > 0.0)
            || sum.figure.verdict.as_ref().is_some_and(|verdict| stalls.contains(verdict))
    })
}

/// The p99.9 of responses after deletions, beside that after placebos.
fn tail<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Option<Sign> {
    let tail = facts.within(it, &Role::TailAfterDeletion)?;
    let placebo = facts.within(it, &Role::TailAfterPlacebo)?;
    let (long, limit) = (tail.value(), LONG_TRIM_S * 1e3);
    let is_longer = long > placebo.value() * TAIL_LONGER && is_shown(facts, it);
    let side = match Side::of_tail(long, limit) {
        // As long without any deletion: what TRIM adds cannot be told, however little it seems.
        Side::Above | Side::Close if !is_longer => Side::Unclear,
        side => side,
    };
    let deletions = Facts::deletions(it.1);
    let of = deletions.map_or_else(String::new, |it| format!(" of up to {}", it.largest));
    let (asked, other) = asked(side, deletions);
    let text = format!(
        "after a deletion{of}, 99.9 % of the accesses took at most {}, after a placebo {}: {} \
         {}{other}",
        tail.shown(),
        placebo.shown(),
        match side {
            Side::Below => "below the limit of",
            Side::Close => "close to the limit of",
            Side::Unclear => "what TRIM adds is not resolved at the limit of",
            Side::Above => "above the limit of",
        },
        quantity(LONG_TRIM_S, "s")
    );
    let short = format!("p99.9 at deletions {}, else {}", tail.quantity(), placebo.quantity());
    Some((asked, Reason::new(text, &[tail, placebo]).in_short(short)))
}

/// The side for the deletion that is asked about, where others were measured, and what is then
/// said: larger ones cost no less, and smaller ones no more.
fn asked(side: Side, deletions: Option<Deletions>) -> (Side, String) {
    let Some(Deletions { largest, stated }) = deletions else { return (side, String::new()) };
    let than = match (side, stated.cmp(&largest)) {
        (Side::Below | Side::Close, Ordering::Greater) => "larger",
        (Side::Above | Side::Close, Ordering::Less) => "smaller",
        _ => return (side, String::new()),
    };
    let said = format!("; no {than} deletion was measured, and one of {stated} is asked about");
    (Side::Unclear, said)
}

/// The longest single response after a deletion: the limit is that of what people notice.
fn worst_response<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Option<Sign> {
    let worst = facts.within(it, &Role::WaitAfterDeletion)?;
    let placebo = facts.within(it, &Role::TailAfterPlacebo)?;
    let side = Side::of_single(worst.value(), WAIT_S);
    let is_longer = worst.value() * 1e3 > placebo.value() * TAIL_LONGER && is_shown(facts, it);
    let side = match side {
        Side::Above | Side::Close if !is_longer => Side::Unclear,
        side => side,
    };
    let end = match side {
        Side::Above => format!(": a wait of more than {WAIT_S} s is felt"),
        Side::Close => format!(": close to {WAIT_S} s, from which on a wait is felt"),
        _ => String::new(),
    };
    let (asked, other) = asked(side, Facts::deletions(it.1));
    let (title, shown) = (&worst.figure.title, worst.shown());
    let text = format!("{title}: {shown}{end}{other}");
    let figures: &[Found<'_>] = if side == Side::Below { &[worst] } else { &[worst, placebo] };
    let short = format!("longest wait after a deletion {}", worst.shown());
    Some((asked, Reason::new(text, figures).in_short(short)))
}

/// For how long one deletion of the stated size slows others in all: by the sum of delays, and by
/// the time during which accesses are overdue. Only above: short waits can be noticed, too.
fn in_all<'a>(facts: &Facts<'a>, it: (usize, &'a Session)) -> Option<Sign> {
    let Deletions { largest, stated } = Facts::deletions(it.1)?;
    let gigabytes = stated.0 as f64 / 1e9;
    let from = if stated > largest {
        format!(", extrapolated from deletions of up to {largest}")
    } else {
        String::new()
    };
    let of = |role: Role, what: &str| {
        let found = facts.within(it, &role).filter(|found| found.figure.interval.is_some())?;
        let side = Side::of_estimate(found, IN_ALL_S / gigabytes);
        let took = quantity(found.value() * gigabytes, "s");
        let text = format!("a deletion of {stated} {what} {took} in all ({}){from}", found.shown());
        let short = format!("a deletion of {stated} {what} {took} in all");
        (side != Side::Below).then(|| (side, Reason::new(text, &[found]).in_short(short)))
    };
    let signs = [
        of(Role::StutterPerGb, "delays others by"),
        of(Role::OverduePerGb, "makes others overdue for"),
    ];
    signs.into_iter().flatten().min_by_key(|(side, _)| match side {
        Side::Above => 0,
        Side::Unclear => 1,
        _ => 2,
    })
}

/// What `discard` adds to the p99.9 of accesses, beside the same load with `nodiscard`.
fn added(facts: &Facts<'_>) -> Option<Sign> {
    let found = facts.worst(&Role::TailAdded)?;
    let side = Side::of_estimate(found, LONG_TRIM_S * 1e3);
    let limit = quantity(LONG_TRIM_S, "s");
    let text = format!(
        "`discard` adds {} to the p99.9 of reads and writes beside a deletion: {} {limit}",
        found.shown(),
        match side {
            Side::Below => "below the limit of",
            Side::Close => "close to the limit of",
            Side::Unclear => "not resolved at the limit of",
            Side::Above => "above the limit of",
        }
    );
    let short = format!("`discard` adds {} to the p99.9", found.quantity());
    Some((side, Reason::new(text, &[found]).in_short(short)))
}

/// How long reads and writes wait during TRIMs. There is no such load without TRIMs to compare
/// with, so a long wait counts only if a single TRIM takes long, too.
fn waits(facts: &Facts<'_>) -> Option<Sign> {
    let longest = facts.worst(&Role::WaitBesideTrim)?;
    let text = format!("the longest read or write beside TRIMs took {}", longest.shown());
    let short = format!("longest wait beside TRIMs {}", longest.shown());
    let side = Side::of_single(longest.value(), WAIT_S);
    if side == Side::Below {
        return Some((side, Reason::new(text, &[longest]).in_short(short)));
    }
    let trim = facts.worst(&Role::TrimLatency)?;
    let text = format!("{text}; one TRIM takes {}", trim.shown());
    let is_long = trim.value() / 1e3 > LONG_TRIM_S;
    is_long.then(|| (side, Reason::new(text, &[longest, trim]).in_short(short)))
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
    let side = Side::of_single(found.value(), STORM_STALL_S);
    let short = format!("stands still for {} after a deletion", found.shown());
    (side != Side::Below).then(|| (side, Reason::new(text, &[found]).in_short(short)))
}

/// Whether a job runs at less than half its pace after a TRIM, for longer than a pause that
/// interrupts a thought. Only above: TRIMs that settle at once may still block. A pace may fall and
/// rise for long without much being lost, so that the time counts only as far as twice what was
/// lost, which is how long half the pace loses as much.
fn settling(facts: &Facts<'_>) -> Option<Sign> {
    let time = facts.worst(&Role::SettlingTime)?;
    let pace = facts.worst(&Role::SettlingPace)?;
    let text = format!(
        "after a TRIM the drive is slower for {}, at {} of its pace at the lowest",
        time.shown(),
        pace.quantity()
    );
    let lost = facts.worst(&Role::SettlingLost);
    let at_half = lost.map_or(f64::INFINITY, |lost| 2.0 * lost.value());
    let side = Side::of_single(time.value().min(at_half), STORM_STALL_S);
    let text = lost.map_or_else(
        || text.clone(),
        |lost| format!("{text}; {} at its pace are lost", lost.shown()),
    );
    let short = format!("slower for {} after a TRIM", time.shown());
    let is_felt = side != Side::Below && pace.value() < 0.5;
    let figures: Vec<Found<'_>> = [time, pace].into_iter().chain(lost).collect();
    is_felt.then(|| (side, Reason::new(text, &figures).in_short(short)))
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

/// What would have to be measured, or done, for the cost of online TRIM to be `known`: close to its
/// limit, or noticeable.
pub(super) fn limits_that_hold(facts: &Facts<'_>, known: Known) -> Vec<String> {
    let bound = |limit: f64, close: f64| match known {
        Known::Yes => quantity(limit * close, "s"),
        _ => quantity(limit / close, "s"),
    };
    let mut words = Vec::new();
    let here = |found: Option<Found<'_>>| {
        found.map_or_else(String::new, |it| format!(" (here {})", it.quantity()))
    };
    let tail = facts.worst(&Role::TailAfterDeletion);
    words.push(format!(
        "a p99.9 after deletions of more than {}{}, without TRIM less",
        bound(LONG_TRIM_S, CLOSE),
        here(tail)
    ));
    let wait = facts.worst(&Role::WaitAfterDeletion);
    let wait = wait.or_else(|| facts.worst(&Role::WaitBesideTrim));
    let longest = bound(WAIT_S, CLOSE_SINGLE);
    words.push(format!("a single wait of more than {longest}{}", here(wait)));
    words.extend(larger(facts));
    if let Some(wait) = wait.filter(|wait| wait.value() > 0.001) {
        words.push(format!(
            "a load to which a wait of {} is too long: then trim once a week",
            wait.quantity()
        ));
    }
    words
}

/// From which size on one deletion delays others by more than is noticed.
fn larger(facts: &Facts<'_>) -> Option<String> {
    let sum = facts.worst(&Role::StutterPerGb)?;
    let surely = sum.figure.interval.is_some_and(|interval| interval.low > 0.0);
    let gigabytes = IN_ALL_S / sum.value();
    surely.then(|| {
        format!(
            "single deletions of more than {}, from which on others are delayed by more than \
             {IN_ALL_S} s in all",
            quantity(gigabytes, "GB")
        )
    })
}
