//! How much worse a figure may become: `10`, `stutter=5`.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use trimbench_core::nearest::{did_you_mean, nearest};

use super::{Comparison, Effect};
use crate::limits::names;

/// By how much a figure may become worse.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeLimit {
    /// The id of a figure, or the last part of one that is a percentile; `None` means every
    /// headline.
    pub figure: Option<String>,
    /// By how much of the value before, in percent. Finite, at least 0.
    pub percent: f64,
}

/// The result of a limit for one figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeOutcome {
    /// The limit.
    pub limit: ChangeLimit,
    /// The method of the session.
    pub method: String,
    /// The target's name.
    pub target: String,
    /// The figure's id.
    pub figure: String,
    /// By how much it is worse, in percent; `None` where that cannot be said.
    pub worse_percent: Option<f64>,
    /// Why it failed; `None` if it holds.
    pub failure: Option<String>,
}

/// A limit that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeLimitError {
    /// Neither `PERCENT` nor `FIGURE=PERCENT`.
    #[error("`{text}` is no limit on a change; write for example `10` or `stutter=5`, in percent")]
    NotALimit {
        /// The text as given.
        text: String,
    },
    /// The limit applies to every headline, and the record before has none.
    #[error("the run before has no headline to judge by")]
    NoHeadline,
    /// The record before has no such figure.
    #[error("no figure is called `{figure}`{}", did_you_mean(nearest.as_deref()))]
    UnknownFigure {
        /// The name as given.
        figure: String,
        /// The known id that is most like it, if any is.
        nearest: Option<String>,
    },
}

impl FromStr for ChangeLimit {
    type Err = ChangeLimitError;

    fn from_str(text: &str) -> Result<Self, ChangeLimitError> {
        let (figure, percent) = match text.split_once('=') {
            Some((figure, percent)) => (Some(figure.trim()), percent),
            None => (None, text),
        };
        let percent = percent.trim().trim_end_matches('%').trim_end();
        let percent = percent.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0);
        match percent {
            Some(percent) if figure != Some("") => {
                Ok(Self { figure: figure.map(str::to_owned), percent })
            }
            _ => Err(ChangeLimitError::NotALimit { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for ChangeLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.figure.as_deref().unwrap_or("every headline");
        write!(formatter, "{what} at most {} % worse", self.percent)
    }
}

/// Judges every figure that a limit names, the limits in their order. A regression fails if it is
/// told apart and larger than the limit. So does a figure that the record before has and that
/// cannot be compared: nothing passes by not being measured. One that is not told apart holds.
pub fn judge(
    comparison: &Comparison,
    before: &crate::RunRecord,
    limits: &[ChangeLimit],
) -> Result<Vec<ChangeOutcome>, ChangeLimitError> {
    let mut outcomes = Vec::new();
    for limit in limits {
        let of_limit = outcomes_of(comparison, before, limit);
        if of_limit.is_empty() {
            let Some(figure) = &limit.figure else { return Err(ChangeLimitError::NoHeadline) };
            let known = before.sessions.iter().flat_map(|session| &session.figures);
            let nearest = nearest(figure, known.map(|figure| figure.id.as_str()));
            let nearest = nearest.map(str::to_owned);
            return Err(ChangeLimitError::UnknownFigure { figure: figure.clone(), nearest });
        }
        outcomes.extend(of_limit);
    }
    Ok(outcomes)
}

/// Every figure of the record before that the limit means.
fn outcomes_of(
    comparison: &Comparison,
    before: &crate::RunRecord,
    limit: &ChangeLimit,
) -> Vec<ChangeOutcome> {
    let mut outcomes = Vec::new();
    for (index, session) in before.sessions.iter().enumerate() {
        let meant = session.figures.iter().filter(|figure| match &limit.figure {
            Some(name) => names(name, &figure.id),
            None => figure.headline,
        });
        let pair = comparison.pairs.iter().find(|pair| pair.before == index);
        for figure in meant {
            let change = pair.and_then(|pair| pair.changes.iter().find(|it| it.id == figure.id));
            let failure = match (pair, change) {
                (None, _) => Some("not measured after".to_owned()),
                (Some(pair), None) => Some(pair.obstacles.join("; ")),
                (_, Some(change)) => match change.effect {
                    Effect::NotComparable => change.remark.clone(),
                    // No share can be said where it was 0: that is more than any.
                    Effect::Worse if change.worse_percent.is_none_or(|it| it > limit.percent) => {
                        Some("worse".to_owned())
                    }
                    _ => None,
                },
            };
            outcomes.push(ChangeOutcome {
                limit: limit.clone(),
                method: session.plan.method.clone(),
                target: session.target.name.clone(),
                figure: figure.id.clone(),
                worse_percent: change.and_then(|change| change.worse_percent),
                failure,
            });
        }
    }
    outcomes
}
