//! Traps: what makes TRIM cost more, or do less, than its user expects, although it may reach the
//! drive.

use serde::Serialize;
use trimbench_results::advice::LineToType;

/// One trap that this place is in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trap {
    /// A stable id.
    pub id: &'static str,
    /// How much it matters.
    pub weight: TrapWeight,
    /// What happens, as a sentence.
    pub text: String,
    /// What mends it; empty where nothing simple does.
    pub lines: Vec<LineToType>,
}

/// How much a trap matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrapWeight {
    /// It explains what one may see.
    Note,
    /// Blocks stay untrimmed, or are trimmed over and over.
    Loss,
    /// Data or answers are at risk: lost data, seconds of stall.
    Danger,
}

impl Trap {
    pub(crate) fn note(id: &'static str, text: impl Into<String>) -> Self {
        Self { id, weight: TrapWeight::Note, text: text.into(), lines: Vec::new() }
    }

    pub(crate) fn loss(id: &'static str, text: impl Into<String>) -> Self {
        Self { weight: TrapWeight::Loss, ..Self::note(id, text) }
    }

    pub(crate) fn danger(id: &'static str, text: impl Into<String>) -> Self {
        Self { weight: TrapWeight::Danger, ..Self::note(id, text) }
    }

    pub(crate) fn mended_by(self, lines: Vec<LineToType>) -> Self {
        Self { lines, ..self }
    }
}
