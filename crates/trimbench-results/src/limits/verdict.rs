//! Limits on verdicts: `verdict=mount-with-discard`, `verdict!=differs-from-placebo`.
//!
//! The id of an answer is judged on the card of every drive; the id of a figure's verdict in every
//! session that was not left out: `=` on its headline, `!=` on all its figures. Nothing passes
//! because it was not measured: a card without an answer fails every limit but those on `unknown`,
//! and so does a session without a valid headline.

use std::fmt;
use std::str::FromStr;

use trimbench_core::nearest::{did_you_mean, nearest};

use crate::advice::Action;
use crate::cards::cards;
use crate::record::{AdviceCard, RunRecord, Session};
use crate::verdict::Verdict;

#[cfg(test)]
mod tests;

/// What stands before the comparison.
const NAME: &str = "verdict";

/// A verdict that must be, or must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictLimit {
    /// The id of an answer or of a figure's verdict.
    id: String,
    /// Whether it must not be.
    is_not: bool,
}

/// How a limit on verdicts fared on one drive or in one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictOutcome {
    /// The limit.
    pub limit: VerdictLimit,
    /// The drive, or method and target.
    pub place: String,
    /// What was found there, in words.
    pub found: String,
    /// Whether it holds.
    pub holds: bool,
}

/// A limit on verdicts that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerdictLimitError {
    /// Another comparison than `=` and `!=`.
    #[error("`{text}`: a verdict is or is not: write `verdict=ID` or `verdict!=ID`")]
    NotEqual {
        /// The text as given.
        text: String,
    },
    /// No answer and no figure's verdict has this id.
    #[error("no verdict is called `{id}`{}", did_you_mean(nearest.as_deref()))]
    Unknown {
        /// The id as given.
        id: String,
        /// The known id that is most like it, if any is.
        nearest: Option<String>,
    },
}

impl VerdictLimit {
    /// Whether a text is a limit on verdicts, right or wrong.
    pub fn is_meant(text: &str) -> bool {
        let rest = text.trim_start().strip_prefix(NAME);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '!', '<', '>']))
    }

    /// All ids that can be named: the answers first.
    pub fn known() -> impl Iterator<Item = String> {
        Action::IDS.into_iter().map(str::to_owned).chain(Verdict::ids())
    }

    /// How it fares on each drive, or in each session.
    pub fn judge(&self, record: &RunRecord) -> Vec<VerdictOutcome> {
        if Action::IDS.contains(&self.id.as_str()) {
            return cards(record).iter().map(|card| self.judge_card(card)).collect();
        }
        let sessions = record.sessions.iter().filter(|session| session.left_out.is_none());
        sessions.map(|session| self.judge_session(session)).collect()
    }

    fn judge_card(&self, card: &AdviceCard) -> VerdictOutcome {
        let unknown = Action::Unknown.id();
        let is_answered = card.action != unknown || self.id == unknown;
        VerdictOutcome {
            limit: self.clone(),
            place: card.target.clone(),
            found: format!("{} ({})", card.title, card.action),
            holds: is_answered && (card.action == self.id) != self.is_not,
        }
    }

    fn judge_session(&self, session: &Session) -> VerdictOutcome {
        let headline = session.headline().filter(|figure| session.believes(figure));
        let has = |verdict: &Verdict| verdict.id().as_deref() == Some(&self.id);
        let of_headline = headline.and_then(|figure| figure.verdict.as_ref());
        let figures = &session.figures;
        let forbidden = figures.iter().find(|it| it.verdict.as_ref().is_some_and(has));
        let (found, holds) = match (headline, forbidden) {
            (None, _) => ("no valid headline".to_owned(), false),
            (Some(_), Some(figure)) if self.is_not => {
                (format!("{}: {}", figure.title, figure.words().unwrap_or_default()), false)
            }
            (Some(_), _) => {
                let words = of_headline.map_or_else(|| "no verdict".to_owned(), Verdict::to_string);
                (words, self.is_not || of_headline.is_some_and(has))
            }
        };
        let place = format!("{} on {}", session.plan.method, session.target.name);
        VerdictOutcome { limit: self.clone(), place, found, holds: holds && session.finished }
    }
}

impl FromStr for VerdictLimit {
    type Err = VerdictLimitError;

    fn from_str(text: &str) -> Result<Self, VerdictLimitError> {
        let wrong = || VerdictLimitError::NotEqual { text: text.to_owned() };
        let rest = text.trim().strip_prefix(NAME).map(str::trim_start).ok_or_else(wrong)?;
        let (is_not, id) = match (rest.strip_prefix("!="), rest.strip_prefix('=')) {
            (Some(id), _) => (true, id.trim()),
            (_, Some(id)) => (false, id.trim()),
            _ => return Err(wrong()),
        };
        let known: Vec<String> = Self::known().collect();
        if known.iter().all(|other| other != id) {
            let nearest = nearest(id, known.iter().map(String::as_str)).map(str::to_owned);
            return Err(VerdictLimitError::Unknown { id: id.to_owned(), nearest });
        }
        Ok(Self { id: id.to_owned(), is_not })
    }
}

impl fmt::Display for VerdictLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_not { "!=" } else { "=" };
        write!(formatter, "{NAME}{sign}{}", self.id)
    }
}
