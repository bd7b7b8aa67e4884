//! The card of a drive, as it stands in the record: for programs, which find the answer there
//! without knowing a rule.
//!
//! Reports do not read it: they ask the rules of their own version. A record of an older version
//! has none.

use serde::{Deserialize, Serialize};

/// What to do with one drive, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdviceCard {
    /// The drive, or the directory: `vendor2`.
    pub target: String,
    /// The sessions on it and on filesystems on it, by index.
    pub sessions: Vec<usize>,
    /// The id of the answer: `mount-with-discard`.
    pub action: String,
    /// What to write into `queue/discard_max_bytes`, where that is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The answer in a line.
    pub title: String,
    /// The facts that it follows from; none in records of before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<CardFact>,
    /// The lines to type for it: only what has to change.
    pub lines: Vec<CardLine>,
    /// What stands above lines that the reader has to complete; none if they are complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// What is as it should be already, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub already: Option<String>,
    /// The reasons, the most important first.
    pub because: Vec<CardReason>,
    /// What would change the answer, in words.
    pub would_change: Vec<String>,
    /// Questions that no session answers.
    pub not_measured: Vec<String>,
    /// What else was found, and cannot be followed.
    pub remarks: Vec<String>,
    /// Whether methods that measured one cost agree, in words.
    pub agreement: Vec<String>,
    /// The highest rate of deletion as settings of programs that pace their deletions.
    pub paced: Vec<String>,
}

/// A fact that the answer follows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardFact {
    /// The question: `TRIM reaches the drive`.
    pub question: String,
    /// `yes`, `no`, `close` or `unknown`.
    pub known: String,
    /// The figure that says so, in a few words; empty where there is none.
    pub by: String,
}

/// A line to type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardLine {
    /// For whom: `ext4`, `XFS`, `btrfs`, `f2fs`, `ZFS`, `swap`, `LVM`, `mkfs`, `dm-crypt`, or
    /// `all`.
    pub system: String,
    /// The file in which it stands; none for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line.
    pub text: String,
    /// The command that shows its effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// What one has to know before one types it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether trimbench's tests give it to the real program.
    pub tested: bool,
}

/// A reason for the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardReason {
    /// In words, with its numbers.
    pub text: String,
    /// The figures that it is drawn from: index of the session, id of the figure.
    pub figures: Vec<(usize, String)>,
    /// The steps in which it was seen: index of the session, id of the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(usize, String)>,
}
