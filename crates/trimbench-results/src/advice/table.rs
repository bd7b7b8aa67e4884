//! The decision: three facts about a target, and the answer that follows from them.

use serde::Serialize;

use super::Reason;

/// What is known of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// The figures are so close to the limit that another run may be on its other side.
    Close,
    /// Not measured, not resolved, or not valid.
    Unknown,
}

impl Known {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Yes, Self::No, Self::Close, Self::Unknown];

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Close => "close",
            Self::Unknown => "unknown",
        }
    }
}

/// A fact about a target, with the figures that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fact {
    pub(super) known: Known,
    pub(super) because: Vec<Reason>,
}

impl Fact {
    pub(super) fn new(known: Known, because: Vec<Reason>) -> Self {
        Self { known, because }
    }

    pub(super) fn unknown() -> Self {
        Self::new(Known::Unknown, Vec::new())
    }
}

/// What follows from the facts, before anything overrides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Find the layer that drops the TRIMs.
    FindTheLayer,
    /// Mount with `discard`.
    Discard,
    /// `fstrim` once a week.
    Weekly,
    /// `discard` or `fstrim`: neither is noticeably better.
    Either,
    /// Leave TRIM off.
    Nothing,
    /// No answer.
    NoAnswer,
}

/// The answer for three facts: whether TRIM reaches the drive, whether its cost is noticeable, and
/// whether it brings anything. The table of `docs/reference/verdicts.md`.
#[expect(clippy::match_same_arms, reason = "the rows of the table, in its order")]
pub fn decide(reaches: Known, noticeable: Known, brings: Known) -> Decision {
    use Known::{Close, No, Unknown, Yes};
    match (reaches, noticeable, brings) {
        (No, _, _) => Decision::FindTheLayer,
        // Deletions that cost nothing may have sent no TRIM at all.
        (Unknown, No | Close | Unknown, No | Close | Unknown) => Decision::NoAnswer,
        (_, _, No) => Decision::Nothing,
        (_, No, Yes) => Decision::Discard,
        (_, No | Close, _) => Decision::Either,
        // Nobody waits beside an `fstrim` at a quiet time, whatever it takes.
        (_, Yes, _) | (_, Unknown, Yes) => Decision::Weekly,
        (_, Unknown, Close | Unknown) => Decision::NoAnswer,
    }
}
