//! Compares two records: which figures became better or worse, and which cannot be compared.
//!
//! Sessions are paired by method and target, those with the same preset and options first. If each
//! record has one target, and not the same one, they are paired by method: two drives are compared.
//! Figures are paired by id. A change is *significant* if both figures have intervals that do not
//! overlap; or, without intervals, if both records are of an emulated drive with the same seed,
//! where any difference has a cause. Otherwise no change is claimed.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::metric::Direction;
use crate::number::ShownFigure;
use crate::record::{Figure, Interval, NOT_FINISHED, RunRecord, Session};

mod limit;
#[cfg(test)]
mod tests;

pub use limit::{ChangeLimit, ChangeLimitError, ChangeOutcome, judge};

/// The comparison of two records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Pairs of sessions, in the order of the record before.
    pub pairs: Vec<Pair>,
    /// Sessions of the record before that have no partner, by index.
    pub only_before: Vec<usize>,
    /// Sessions of the record after that have no partner, by index.
    pub only_after: Vec<usize>,
}

/// Two sessions of the same method: on the same target, or each on the only one of its record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The method of both.
    pub method: String,
    /// The target's name, of the session after.
    pub target: String,
    /// The name of the target before, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_before: Option<String>,
    /// Index of the session before.
    pub before: usize,
    /// Index of the session after.
    pub after: usize,
    /// Why none of the figures can be compared; empty if they can.
    pub obstacles: Vec<String>,
    /// Other differences, which may be the cause of a change.
    pub differences: Vec<String>,
    /// The figures of both, headlines first, then in the order of the session before.
    pub changes: Vec<MetricChange>,
}

/// One figure before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricChange {
    /// The figure's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its unit.
    pub unit: String,
    /// Which way it is better.
    pub direction: Direction,
    /// Whether it is the method's main result.
    pub headline: bool,
    /// The figure before; `None` where there is none.
    pub before: Option<Value>,
    /// The figure after; `None` where there is none.
    pub after: Option<Value>,
    /// After less before, in `unit`; `None` unless both can be compared.
    pub difference: Option<f64>,
    /// After over before; `None` also where before is 0 or has another sign.
    pub ratio: Option<f64>,
    /// By how much of the value before it is worse, in percent; negative if it is better. `None`
    /// where it has no direction, or a ratio has no meaning and there is a difference.
    pub worse_percent: Option<f64>,
    /// How it changed.
    pub effect: Effect,
    /// Why it cannot be compared, or why the change is not significant, in words.
    pub remark: Option<String>,
}

/// A figure's value and interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Value {
    /// The value.
    pub value: f64,
    /// Its interval, if it has one.
    pub interval: Option<Interval>,
}

/// How a figure changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Significantly worse.
    Worse,
    /// There is a difference, but it is not distinguishable from noise.
    NotToldApart,
    /// Significantly different, of a figure without a direction.
    Changed,
    /// Missing on one side, invalid, or in another unit.
    NotComparable,
    /// The same to the last bit.
    Same,
    /// Significantly better.
    Better,
}

impl Value {
    /// Value and interval, in this unit, as every report shows them.
    pub fn shown(&self, unit: &str) -> ShownFigure {
        let ends = self.interval.map(|interval| (interval.low, interval.high));
        ShownFigure::of(self.value, ends, unit)
    }
}

impl Comparison {
    /// All changes with their pairs, the worst first: what is worse by its share, then what cannot
    /// be judged, then what is the same or better. Those of pairs with obstacles are left out.
    pub fn worst_first(&self) -> Vec<(&Pair, &MetricChange)> {
        let pairs = self.pairs.iter().filter(|pair| pair.obstacles.is_empty());
        let mut changes: Vec<(&Pair, &MetricChange)> =
            pairs.flat_map(|pair| pair.changes.iter().map(move |change| (pair, change))).collect();
        let share = |change: &MetricChange| change.worse_percent.unwrap_or(f64::INFINITY);
        changes.sort_by(|(_, a), (_, b)| {
            a.effect.cmp(&b.effect).then_with(|| share(b).total_cmp(&share(a)))
        });
        changes
    }
}

/// Compares the record before with the record after.
pub fn compare(before: &RunRecord, after: &RunRecord) -> Comparison {
    let mut free: Vec<usize> = (0..after.sessions.len()).collect();
    let mut partners: Vec<Option<usize>> = vec![None; before.sessions.len()];
    // Whole matches first, so that a session does not take the partner of another.
    for alike in [same_plan, same_target_text, same_target_name] {
        for (index, session) in before.sessions.iter().enumerate() {
            if partners[index].is_none() {
                let found = free.iter().position(|&other| alike(session, &after.sessions[other]));
                partners[index] = found.map(|place| free.remove(place));
            }
        }
    }
    if let ([_], [_]) = (&targets(before)[..], &targets(after)[..]) {
        // One drive was measured before and another after, so these are compared.
        for (index, session) in before.sessions.iter().enumerate() {
            if partners[index].is_none() {
                let same =
                    |other: &&usize| after.sessions[**other].plan.method == session.plan.method;
                partners[index] = free.iter().find(same).copied();
                free.retain(|other| partners[index] != Some(*other));
            }
        }
    }
    let matched = partners.iter().enumerate();
    let pairs =
        matched.filter_map(|(index, partner)| Some(pair(before, index, after, (*partner)?)));
    let pairs = pairs.collect();
    let alone = partners.iter().enumerate().filter(|(_, partner)| partner.is_none());
    let only_before = alone.map(|(index, _)| index).collect();
    Comparison { pairs, only_before, only_after: free }
}

/// The names of the targets of a record, each once.
pub fn targets(record: &RunRecord) -> Vec<&str> {
    let mut names: Vec<&str> =
        record.sessions.iter().map(|session| session.target.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn same_plan(a: &Session, b: &Session) -> bool {
    a.plan == b.plan
}

fn same_target_text(a: &Session, b: &Session) -> bool {
    a.plan.method == b.plan.method && a.plan.target == b.plan.target
}

fn same_target_name(a: &Session, b: &Session) -> bool {
    a.plan.method == b.plan.method && a.target.name == b.target.name
}

fn pair(before: &RunRecord, a: usize, after: &RunRecord, b: usize) -> Pair {
    let (one, other) = (&before.sessions[a], &after.sessions[b]);
    let virtual_clock = |session: &Session| session.target.clock == "virtual";
    let exact = virtual_clock(one) && virtual_clock(other) && before.seed == after.seed;
    let mut changes: Vec<MetricChange> = one
        .figures
        .iter()
        .map(|figure| change(Some((one, figure)), side(other, &figure.id), exact))
        .collect();
    let new = other.figures.iter().filter(|figure| one.figure(&figure.id).is_none());
    changes.extend(new.map(|figure| change(None, Some((other, figure)), exact)));
    changes.sort_by_key(|change| !change.headline);
    let mut obstacles = obstacles(one, other);
    let models = (before.program.model_version, after.program.model_version);
    if (virtual_clock(one) || virtual_clock(other)) && models.0 != models.1 {
        obstacles.push(differ("model version", models.0, models.1));
    }
    Pair {
        method: one.plan.method.clone(),
        target: other.target.name.clone(),
        target_before: (one.target.name != other.target.name).then(|| one.target.name.clone()),
        before: a,
        after: b,
        differences: differences(one, other, (before.seed, after.seed)),
        changes: if obstacles.is_empty() { changes } else { Vec::new() },
        obstacles,
    }
}

fn side<'a>(session: &'a Session, id: &str) -> Option<(&'a Session, &'a Figure)> {
    session.figure(id).map(|figure| (session, figure))
}

fn differ(what: &str, before: impl std::fmt::Display, after: impl std::fmt::Display) -> String {
    format!("{what}: {before} before, {after} after")
}

/// Why the figures of two sessions cannot be compared.
fn obstacles(before: &Session, after: &Session) -> Vec<String> {
    let mut found = Vec::new();
    if before.left_out.is_some() && after.left_out.is_some() {
        // There is nothing to compare, and nothing that hinders it.
        return found;
    }
    if before.method_version != after.method_version {
        found.push(differ("method version", before.method_version, after.method_version));
    }
    if before.target.clock != after.target.clock {
        found.push(differ("clock", &before.target.clock, &after.target.clock));
    }
    if before.plan.preset != after.plan.preset {
        found.push(differ("preset", &before.plan.preset, &after.plan.preset));
    }
    let options = unequal(&before.plan.options, &after.plan.options);
    found.extend(options.into_iter().map(|(key, a, b)| differ(&format!("`{key}`"), a, b)));
    for (session, when) in [(before, "before"), (after, "after")] {
        if let Some(reason) = &session.left_out {
            found.push(format!("left out {when}: {reason}"));
        } else if !session.finished {
            found.push(format!("{NOT_FINISHED} {when}"));
        }
    }
    found
}

/// What may be the cause of a change.
fn differences(before: &Session, after: &Session, seeds: (u64, u64)) -> Vec<String> {
    let mut found = Vec::new();
    if before.plan.target != after.plan.target {
        found.push(differ("target", &before.plan.target, &after.plan.target));
    }
    if seeds.0 != seeds.1 {
        found.push(differ("seed", seeds.0, seeds.1));
    }
    if before.state != after.state {
        found.push(differ("state", &before.state, &after.state));
    }
    let settings = [
        (&before.target.identity, &after.target.identity),
        (&before.target.capabilities, &after.target.capabilities),
        (&before.environment_before, &after.environment_before),
    ];
    for (before, after) in settings {
        let unequal = unequal(before, after);
        let settings = unequal.into_iter().filter(|(key, ..)| !is_reading(key));
        found.extend(settings.map(|(key, a, b)| differ(&format!("`{key}`"), a, b)));
    }
    found
}

/// Whether a fact is no setting but a reading, which is another one each time.
fn is_reading(key: &str) -> bool {
    const READINGS: [&str; 4] = ["drive-log", "free-bytes", "pressure-", "temperature-celsius"];
    READINGS.iter().any(|reading| key.starts_with(reading))
}

/// The keys whose values differ, with both.
fn unequal<'a>(
    before: &'a BTreeMap<String, String>,
    after: &'a BTreeMap<String, String>,
) -> Vec<(&'a str, &'a str, &'a str)> {
    let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
    let value = |map: &'a BTreeMap<String, String>, key: &str| map.get(key).map_or("none", |it| it);
    keys.map(|key| (key.as_str(), value(before, key), value(after, key)))
        .filter(|(_, before, after)| before != after)
        .collect()
}

/// A figure on both sides, or one.
fn change(
    before: Option<(&Session, &Figure)>,
    after: Option<(&Session, &Figure)>,
    exact: bool,
) -> MetricChange {
    let of = |side: Option<(&Session, &Figure)>| {
        side.map(|(_, figure)| Value { value: figure.value, interval: figure.interval })
    };
    let (_, figure) = after.or(before).expect("a change has a side");
    let mut change = MetricChange {
        id: figure.id.clone(),
        title: figure.title.clone(),
        unit: figure.unit.clone(),
        direction: figure.direction,
        headline: figure.headline,
        before: of(before),
        after: of(after),
        difference: None,
        ratio: None,
        worse_percent: None,
        effect: Effect::NotComparable,
        remark: None,
    };
    let (Some(before), Some(after)) = (before, after) else {
        let when = if before.is_none() { "before" } else { "after" };
        change.remark = Some(format!("not there {when}"));
        return change;
    };
    let invalid = |(session, figure): (&Session, &Figure)| !session.believes(figure);
    if before.1.unit != after.1.unit {
        change.remark = Some(differ("unit", &before.1.unit, &after.1.unit));
        return change;
    }
    if invalid(before) || invalid(after) {
        let when = if invalid(before) { "before" } else { "after" };
        change.remark = Some(format!("invalid {when}"));
        return change;
    }
    let (a, b) = (before.1.value, after.1.value);
    change.difference = Some(b - a);
    change.ratio = (a != 0.0 && (b / a) >= 0.0).then(|| b / a);
    let worse = match figure.direction {
        Direction::Lower => Some(b - a),
        Direction::Higher => Some(a - b),
        Direction::Neither => None,
    };
    change.worse_percent = worse
        .filter(|_| a != 0.0 || b == 0.0)
        .map(|it| if it == 0.0 { 0.0 } else { it / a.abs() * 100.0 });
    (change.effect, change.remark) = effect(before.1, after.1, worse, exact);
    change
}

/// How a comparable figure changed, and a remark about it.
fn effect(
    before: &Figure,
    after: &Figure,
    worse: Option<f64>,
    exact: bool,
) -> (Effect, Option<String>) {
    let apart = match (before.interval, after.interval) {
        _ if before.value.to_bits() == after.value.to_bits() => return (Effect::Same, None),
        (Some(before), Some(after)) => {
            let apart = before.high < after.low || after.high < before.low;
            if apart { Ok(()) } else { Err("the intervals meet") }
        }
        _ if exact => Ok(()),
        _ => Err("no interval"),
    };
    match (apart, worse) {
        (Err(why), _) => (Effect::NotToldApart, Some(why.to_owned())),
        (Ok(()), None) => (Effect::Changed, None),
        (Ok(()), Some(worse)) if worse > 0.0 => (Effect::Worse, None),
        (Ok(()), Some(_)) => (Effect::Better, None),
    }
}
