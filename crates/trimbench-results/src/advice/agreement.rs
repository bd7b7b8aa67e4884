//! Whether methods that measure one cost agree.

use serde::Serialize;

use super::ALIKE_SHARE;
use super::facts::{Facts, Found};
use crate::record::Session;
use crate::role::Role;

/// Two methods' figures for one cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Whether their intervals meet.
    pub agrees: bool,
    /// Both figures and what it means, in words.
    pub text: String,
    /// The figures: index of the session, id of the figure.
    pub figures: Vec<(usize, String)>,
}

/// What a GB of TRIM costs: beside a load, and at rest; and in one go and in many TRIMs.
pub(super) fn all(facts: &Facts<'_>) -> Vec<Agreement> {
    let of = |role: Role| facts.worst(&role);
    let felt = of(Role::StutterPerGb);
    let rest = of(Role::TrimAtRestPerGb);
    let sweep = of(Role::TrimPerGb);
    let pairs = [
        (felt.map(|it| (it, "delete-stall")), rest.map(|it| (it, "idle-trim")), MEANS_OF_FELT),
        (sweep.map(|it| (it, "trim-sweep")), rest.map(|it| (it, "idle-trim")), MEANS_OF_SWEEP),
    ];
    let found = pairs.into_iter().filter_map(|(first, second, means)| {
        let (first, second) = (first?, second?);
        let both = is_resolved(facts, first.0) && is_resolved(facts, second.0);
        both.then(|| Agreement::of(first, second, means))
    });
    found.collect()
}

/// Whether a cost can be compared with another: it is above nothing with its whole interval. On a
/// real target a cost without an interval is not resolved; an emulated one repeats itself exactly.
fn is_resolved(facts: &Facts<'_>, found: Found<'_>) -> bool {
    let is_exact = || facts.sessions().any(|it| it.0 == found.session && is_emulated(it.1));
    match found.figure.interval {
        Some(interval) => interval.low > 0.0,
        None => found.value() > 0.0 && is_exact(),
    }
}

fn is_emulated(session: &Session) -> bool {
    session.target.clock == "virtual"
}

/// What it means where the first is less, and where it is more.
type Means = [&'static str; 2];

const MEANS_OF_FELT: Means = [
    "others wait for less than the TRIM takes at rest: the drive serves them beside it, or works \
     it off later",
    "others wait for longer than the TRIM takes at rest: they wait for its queue too, or the drive \
     does other work then",
];
const MEANS_OF_SWEEP: Means = [
    "single TRIMs take less time for a GB than one TRIM of everything that was written: that one \
     does work that single TRIMs put off",
    "single TRIMs take more time for a GB than one TRIM of everything that was written: each has a \
     cost of its own, so fewer and larger ones are cheaper",
];

impl Agreement {
    fn of(
        (first, one): (Found<'_>, &str),
        (second, other): (Found<'_>, &str),
        means: Means,
    ) -> Self {
        let agrees = meet(first, second);
        let (a, b) = (first.shown(), second.shown());
        let text = if agrees {
            format!("`{one}` and `{other}` agree on what a GB costs: {a} and {b}")
        } else {
            let [less, more] = means;
            let meaning = if first.value() < second.value() { less } else { more };
            format!("`{one}` says {a}, `{other}` {b}: {meaning}")
        };
        let figures = [first, second].map(|it| (it.session, it.figure.id.clone()));
        Self { agrees, text, figures: figures.to_vec() }
    }
}

/// Whether the intervals meet, each a share wider than it is. A figure without an interval is a
/// point; what is smaller than a millisecond for a GB is one.
fn meet(first: Found<'_>, second: Found<'_>) -> bool {
    let ends = |found: Found<'_>| {
        let interval = found.figure.interval;
        let (low, high) = interval.map_or((found.value(), found.value()), |it| (it.low, it.high));
        let wider = (found.value().abs() * ALIKE_SHARE).max(SMALLEST_S_PER_GB);
        (low - wider, high + wider)
    };
    let (a, b) = (ends(first), ends(second));
    a.0 <= b.1 && b.0 <= a.1
}

/// Costs that differ by less are one, s/GB.
const SMALLEST_S_PER_GB: f64 = 0.001;

/// The most that is known of a cost, in words; for reasons.
pub(super) fn at_rest<'a>(facts: &Facts<'a>) -> Option<(String, Found<'a>)> {
    let full = facts.worst(&Role::TrimAtRest)?;
    let took = full.quantity();
    Some((format!("at rest, a TRIM of all that was measured takes {took}"), full))
}
