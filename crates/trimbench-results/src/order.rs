//! Drives in the order of one result, so that the figures of other methods stand in it: a review
//! keeps the order of its test of speed when it comes to TRIM. Source: \[S1\].

use std::cmp::Ordering;
use std::collections::BTreeMap;

use trimbench_core::nearest::{did_you_mean, nearest};

use crate::advice::drive_of;
use crate::metric::Direction;
use crate::record::{Figure, RunRecord, Session};

#[cfg(test)]
mod tests;

/// The order of drives by one figure of one method, the best first; what has neither better nor
/// worse, the smallest first. Drives without the figure, or with an invalid one, come last, in the
/// order in which they were measured.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveOrder {
    method: String,
    /// Of the figure that was found first.
    title: String,
    direction: Direction,
    /// The value of each drive, by record and drive.
    values: BTreeMap<(usize, String), f64>,
    /// Drives that have none, in no record.
    without: Vec<String>,
}

/// An order that these records do not give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// No record has a result of the method.
    #[error("no run has a result of a method `{method}`{}", did_you_mean(meant.as_deref()))]
    Method {
        /// What was asked for.
        method: String,
        /// The nearest that there is.
        meant: Option<String>,
        /// Those that there are.
        known: String,
    },
    /// The method's results have no such figure.
    #[error("`{method}` has no figure `{figure}` in these runs{}", did_you_mean(meant.as_deref()))]
    Figure {
        /// The method.
        method: String,
        /// What was asked for.
        figure: String,
        /// The nearest that there is.
        meant: Option<String>,
        /// Those that there are.
        known: String,
    },
}

impl OrderError {
    /// What there is.
    pub fn hint(&self) -> String {
        match self {
            Self::Method { known, .. } => format!("methods with results: {known}"),
            Self::Figure { known, .. } => format!("its figures: {known}"),
        }
    }
}

impl DriveOrder {
    /// The order by `METHOD`, which is its headline, or by `METHOD.FIGURE`. A drive that several
    /// records have has in each the value from there, or else the first of the others. Records that
    /// cannot be read are `None`.
    pub fn by(text: &str, records: &[Option<&RunRecord>]) -> Result<Self, OrderError> {
        let (method, id) = match text.split_once('.') {
            Some((method, id)) => (method, Some(id)),
            None => (text, None),
        };
        let all = || records.iter().flatten().flat_map(|record| &record.sessions);
        let of_method = || all().filter(|session| session.plan.method == method);
        let figures: Vec<&Figure> = of_method().flat_map(|session| &session.figures).collect();
        if figures.is_empty() {
            let measured = all().filter(|session| !session.figures.is_empty());
            let known = distinct(measured.map(|session| session.plan.method.as_str()));
            let (meant, known) = (meant(method, &known), listed(&known));
            return Err(OrderError::Method { method: method.to_owned(), meant, known });
        }
        let is_it = |figure: &&Figure| id.map_or(figure.headline, |id| figure.id == id);
        let Some(first) = figures.iter().copied().find(is_it) else {
            let figure = id.unwrap_or("(headline)").to_owned();
            let known = distinct(figures.iter().map(|figure| figure.id.as_str()));
            let (meant, known) = (meant(&figure, &known), listed(&known));
            return Err(OrderError::Figure { method: method.to_owned(), figure, meant, known });
        };
        let mut values = BTreeMap::new();
        let sessions = || {
            let numbered = records.iter().enumerate();
            let readable = numbered.filter_map(|(index, record)| Some((index, (*record)?)));
            readable.flat_map(|(index, record)| {
                record.sessions.iter().map(move |session| (index, session))
            })
        };
        for (index, session) in sessions().filter(|(_, one)| one.plan.method == method) {
            // Of another headline the numbers are not comparable.
            let found = session.figures.iter().find(|figure| {
                (&figure.id, &figure.unit) == (&first.id, &first.unit) && session.believes(figure)
            });
            if let Some(figure) = found {
                values.entry((index, drive_of(session))).or_insert(figure.value);
            }
        }
        let (title, direction) = (first.title.clone(), first.direction);
        let method = method.to_owned();
        let mut order = Self { method, title, direction, values, without: Vec::new() };
        let mut without: Vec<String> = Vec::new();
        for (index, session) in sessions().filter(|(_, one)| one.left_out.is_none()) {
            let name = drive_of(session);
            if order.value(index, session).is_none() && !without.contains(&name) {
                without.push(name);
            }
        }
        order.without = without;
        Ok(order)
    }

    /// The value of the drive of a session of the record with this index; `None` without one.
    pub fn value(&self, record: usize, session: &Session) -> Option<f64> {
        let drive = drive_of(session);
        let elsewhere =
            || self.values.iter().find(|((_, other), _)| *other == drive).map(|(_, value)| *value);
        self.values.get(&(record, drive.clone())).copied().or_else(elsewhere)
    }

    /// Puts things into the order of their drives; those of one drive keep theirs.
    pub fn sort<T>(&self, things: &mut [T], session: impl Fn(&T) -> (usize, &Session)) {
        let value = |thing: &T| {
            let (record, session) = session(thing);
            self.value(record, session)
        };
        things.sort_by(|one, other| match (value(one), value(other)) {
            (Some(one), Some(other)) if self.direction == Direction::Higher => {
                other.total_cmp(&one)
            }
            (Some(one), Some(other)) => one.total_cmp(&other),
            (one, other) => one.is_none().cmp(&other.is_none()).then(Ordering::Equal),
        });
    }

    /// What the order is, and which drives are not in it.
    pub fn words(&self) -> String {
        let first = match self.direction {
            Direction::Higher => "the highest first",
            Direction::Lower | Direction::Neither => "the lowest first",
        };
        let Self { method, title, without, .. } = self;
        let last = match without.as_slice() {
            [] => String::new(),
            [one] => format!("; {one} has no valid one and comes last"),
            several => format!("; {} have no valid one and come last", several.join(", ")),
        };
        format!("drives by {method}: {title}, {first}{last}")
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn meant(given: &str, known: &[&str]) -> Option<String> {
    nearest(given, known.iter().copied()).map(str::to_owned)
}

fn listed(known: &[&str]) -> String {
    if known.is_empty() { "none at all".to_owned() } else { known.join(", ") }
}
