//! Stated limits: `p99.9=5ms`, `stutter=0.1s/GB`. All mean "at most".
//!
//! A limit holds where its figure was measured and is not above it. A figure that is missing where
//! it should be, or that a caveat on it or on its session invalidates, fails the limit: nothing
//! passes by not being measured. Where a load overloads the drive by itself, what a method would
//! measure beside it is left out and its limits are not judged: they neither hold nor fail, and the
//! run is invalid.

use std::fmt;
use std::str::FromStr;

use trimbench_core::Caveat;
use trimbench_core::nearest::{did_you_mean, nearest};

use crate::histogram::Quantile;
use crate::metric::Metric;
use crate::record::{RunRecord, Session};

#[cfg(test)]
mod tests;
mod unit;
mod verdict;

use unit::Unit;
pub use verdict::{VerdictLimit, VerdictLimitError, VerdictOutcome};

/// A figure and the most that it may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The id of a figure (`stutter`), or the last part of one (`p99.9` for `response-p99.9`).
    pub figure: String,
    /// The most that it may be, in `unit`. Finite.
    pub value: f64,
    /// The unit as written; empty for a plain number.
    pub unit: String,
}

/// How one limit fared in one session.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitOutcome {
    /// The limit.
    pub limit: Limit,
    /// Index of the session in the record.
    pub session: usize,
    /// Id of the figure that was judged: the highest one that the limit names; `None` if the
    /// session has none.
    pub figure: Option<String>,
    /// That figure in the limit's unit; `None` if the session has none.
    pub value: Option<f64>,
    /// Whether the figure is there, valid and not above the limit.
    pub holds: bool,
    /// The caveat because of which the session could not measure the figure: the limit then neither
    /// holds nor fails.
    pub unmeasured: Option<Caveat>,
}

/// How a limit fared, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedLimit {
    /// The limit: `p99.9 <= 5ms`.
    pub limit: String,
    /// Where it was judged: `vendor2`, or `delete-stall on vendor2`.
    pub place: String,
    /// What was found there, in words.
    pub found: String,
    /// Whether it holds; `None` where it could not be judged.
    pub holds: Option<bool>,
}

/// A limit that cannot be understood or judged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// Not `FIGURE=VALUE`.
    #[error("`{text}` is not a limit; write for example `p99.9=5ms`")]
    NotALimit {
        /// The text as given.
        text: String,
    },
    /// Another comparison than "at most".
    #[error("`{text}`: a limit means \"at most\"; write `FIGURE=VALUE` or `FIGURE<=VALUE`")]
    NotAtMost {
        /// The text as given.
        text: String,
    },
    /// What should be the value does not begin with a number.
    #[error("`{text}`: `{value}` does not begin with a number; write for example `5ms`")]
    NoNumber {
        /// The text as given.
        text: String,
        /// The part that should be a number and a unit.
        value: String,
    },
    /// A number without a unit, for a figure that has one.
    #[error("`{figure}={value}` has no unit, and `{id}` is in `{has}`")]
    NoUnit {
        /// The figure as given.
        figure: String,
        /// The number as given.
        value: f64,
        /// The figure that it names.
        id: String,
        /// The figure's unit.
        has: String,
    },
    /// A unit that is not one of the known ones.
    #[error("`{unit}` is not a unit here; use for example `ms`, `s/GB`, `MB/s`, `%`")]
    UnknownUnit {
        /// The unit as given.
        unit: String,
    },
    /// No method of this run has such a figure.
    #[error("no figure is called `{figure}`{}", did_you_mean(nearest.as_deref()))]
    UnknownFigure {
        /// The name as given.
        figure: String,
        /// The known id that is most like it, if any is.
        nearest: Option<String>,
        /// All ids that could have been named.
        known: Vec<String>,
    },
    /// The limit's unit measures something else than the figure's.
    #[error("`{figure}` is in `{has}`, which cannot be compared with `{given}`")]
    OtherQuantity {
        /// The figure's id.
        figure: String,
        /// The figure's unit.
        has: String,
        /// The limit's unit.
        given: String,
    },
}

impl Limit {
    /// Whether it names one of these metrics and all that it names can be compared with it. To be
    /// asked before the run.
    pub fn check_metrics(&self, metrics: &[Metric]) -> Result<(), LimitError> {
        self.check(metrics.iter().map(|metric| &*metric.id))?;
        let mut named = metrics.iter().filter(|metric| self.names(&metric.id));
        named.try_for_each(|metric| self.factor(&metric.id, metric.unit).map(drop))
    }

    /// Whether one of the `known` figure ids is what this limit names.
    fn check<'a>(&self, known: impl IntoIterator<Item = &'a str>) -> Result<(), LimitError> {
        let known: Vec<&str> = known.into_iter().collect();
        if known.iter().any(|id| self.names(id)) {
            return Ok(());
        }
        Err(LimitError::UnknownFigure {
            figure: self.figure.clone(),
            nearest: nearest(&self.figure, known.iter().copied()).map(str::to_owned),
            known: known.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Whether the figure `id` is meant: by its whole id; a percentile also by the part after a
    /// `-`, so that `p99.9` is every view's.
    pub fn names(&self, id: &str) -> bool {
        names(&self.figure, id)
    }

    /// Judges one session by the worst of the figures that the limit names.
    fn judge(&self, index: usize, session: &Session) -> Result<LimitOutcome, LimitError> {
        let mut outcome = LimitOutcome {
            limit: self.clone(),
            session: index,
            figure: None,
            value: None,
            holds: true,
            unmeasured: None,
        };
        for figure in session.figures.iter().filter(|figure| self.names(&figure.id)) {
            let value = figure.value * self.factor(&figure.id, &figure.unit)?;
            // A value that is no number is neither above nor at most: it does not hold.
            outcome.holds &= value <= self.value && session.believes(figure);
            if outcome.value.is_none_or(|worst| value > worst) {
                outcome.figure = Some(figure.id.clone());
                outcome.value = Some(value);
            }
        }
        outcome.holds &= outcome.value.is_some();
        if outcome.value.is_none() {
            outcome.unmeasured = unmeasured(session);
        }
        Ok(outcome)
    }

    /// By what to multiply a figure in `unit` to have it in the limit's. A bare 0 is at home in
    /// every unit.
    fn factor(&self, figure: &str, unit: &str) -> Result<f64, LimitError> {
        if self.unit == unit || (self.unit.is_empty() && self.value == 0.0) {
            return Ok(1.0);
        }
        if self.unit.is_empty() {
            return Err(LimitError::NoUnit {
                figure: self.figure.clone(),
                value: self.value,
                id: figure.to_owned(),
                has: unit.to_owned(),
            });
        }
        let mismatch = || LimitError::OtherQuantity {
            figure: figure.to_owned(),
            has: unit.to_owned(),
            given: self.unit.clone(),
        };
        let own = Unit::parse(&self.unit).ok_or_else(mismatch)?;
        let theirs = Unit::parse(unit).ok_or_else(mismatch)?;
        theirs.over(&own).ok_or_else(mismatch)
    }
}

impl FromStr for Limit {
    type Err = LimitError;

    /// Reads `FIGURE=VALUEUNIT` or `FIGURE<=VALUEUNIT`, blanks around the parts allowed.
    fn from_str(text: &str) -> Result<Self, LimitError> {
        let not_a_limit = || LimitError::NotALimit { text: text.to_owned() };
        if text.contains('>') || (text.contains('<') && !text.contains("<=")) {
            return Err(LimitError::NotAtMost { text: text.to_owned() });
        }
        let (figure, quantity) =
            text.split_once("<=").or_else(|| text.split_once('=')).ok_or_else(not_a_limit)?;
        let (figure, quantity) = (figure.trim(), quantity.trim());
        if figure.is_empty() || quantity.is_empty() {
            return Err(not_a_limit());
        }
        let signed = |c: char| !c.is_ascii_digit() && c != '.' && c != '-';
        let (number, unit) = quantity.split_at(quantity.find(signed).unwrap_or(quantity.len()));
        let value = number.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| LimitError::NoNumber {
            text: text.to_owned(),
            value: quantity.to_owned(),
        })?;
        let unit = unit.trim();
        // `0. 1` is a slip of the hand and no zero; a quotient may begin with its 1.
        if unit == "1" || Unit::parse(unit).is_none() {
            return Err(LimitError::UnknownUnit { unit: unit.to_owned() });
        }
        Ok(Self { figure: figure.to_owned(), value, unit: unit.to_owned() })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.unit.starts_with(|c: char| c.is_ascii_digit()) { " " } else { "" };
        write!(formatter, "{} <= {}{gap}{}", self.figure, self.value, self.unit)
    }
}

/// Judges by every limit the sessions that it `concerns` (whose method finds such a figure), in the
/// order of limits, then sessions.
///
/// A name that no session has is an error if it is none of the standard percentiles and the record
/// has figures at all. A session that a limit concerns and that has no such figure fails it.
pub fn evaluate(
    record: &RunRecord,
    limits: &[Limit],
    concerns: impl Fn(&Limit, &Session) -> bool,
) -> Result<Vec<LimitOutcome>, LimitError> {
    let figures = record.sessions.iter().flat_map(|session| &session.figures);
    let mut known: Vec<&str> = figures.map(|figure| figure.id.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let mut outcomes = Vec::with_capacity(limits.len() * record.sessions.len());
    for limit in limits {
        // A percentile is missing wherever there were too few samples: that fails, and is no
        // typing error.
        let percentile = limit.figure.parse::<Quantile>().is_ok();
        let excused = record.sessions.iter().any(|it| unmeasured(it).is_some());
        if !known.is_empty() && !percentile && !excused {
            limit.check(known.iter().copied())?;
        }
        let sessions = record.sessions.iter().enumerate();
        for (index, session) in sessions.filter(|(_, session)| concerns(limit, session)) {
            outcomes.push(limit.judge(index, session)?);
        }
    }
    Ok(outcomes)
}

/// The caveat because of which a session left out what it could not measure, if it did.
fn unmeasured(session: &Session) -> Option<Caveat> {
    let overloaded = |id: &String| id == Caveat::Overloaded.id();
    let mut caveats = session.steps.iter().flat_map(|step| &step.caveats);
    caveats.any(overloaded).then_some(Caveat::Overloaded)
}

/// Whether `name` means the figure `id`: see [`Limit::names`].
pub(crate) fn names(name: &str, id: &str) -> bool {
    let percentile = name.parse::<Quantile>().is_ok();
    let before = id.strip_suffix(name);
    before.is_some_and(|before| before.is_empty() || percentile && before.ends_with('-'))
}
