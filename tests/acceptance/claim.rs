//! A claim, its findings, and the bar that a figure must meet.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use anyhow::{Result, bail};

use super::{Context, Raw};
use crate::Need;

/// Something that the project says of itself.
#[derive(Clone, Copy, Debug)]
pub struct ClaimRow {
    /// Key and number: `foundation.1`.
    pub id: &'static str,
    /// What is claimed.
    pub title: &'static str,
    /// Where CI checks it.
    pub tier: Tier,
    /// When it holds, in words.
    pub bar: &'static str,
    /// What `measure` may take in the short form: at most 5 minutes for all claims of a key.
    /// What it leaves goes to the claims after it.
    pub short: Duration,
    /// What `measure` may take in the full form: at most 45 minutes for all claims of a key.
    pub full: Duration,
    /// Runs what is to be measured and keeps its raw output.
    pub measure: fn(&Context<'_>) -> Result<()>,
    /// Reads the figures out of the raw output. Looks at nothing else.
    pub read: fn(&Raw) -> Result<Vec<Finding>>,
}

/// Where CI checks a claim. `cargo xtask evidence` measures all of them.
#[derive(Clone, Copy, Debug)]
pub enum Tier {
    /// By the test `acceptance`, in the smallest form, on machines that have all of this.
    Acceptance(&'static [Need]),
    /// By other tests, which are here.
    Tests(&'static str),
    /// Nowhere: it is a benchmark, or takes too long.
    Evidence,
    /// Nowhere: it takes hours. Its result is committed.
    Campaign,
}

/// How much of a claim is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In seconds, by a program with checks for overflows.
    Acceptance,
    /// In at most 5 minutes a key.
    Short,
    /// In at most 45 minutes a key.
    Full,
}

impl ClaimRow {
    /// Measures it. A panic, as of a helper to which the machine refuses something, is an error.
    pub fn measured(&self, context: &Context<'_>) -> Result<()> {
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.measure)(context)));
        outcome.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let reason = text.or_else(|| panic.downcast_ref::<&str>().copied());
            bail!(
                "{} could not be measured: {} (`cargo xtask setup --for bench` installs what \
                 measurements need)",
                self.id,
                reason.unwrap_or("it panicked")
            )
        })
    }
}

/// A figure found in raw output, and the bar it must meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What the figure is.
    pub what: String,
    /// The figure.
    pub figure: f64,
    /// Its unit, and that of the bar; empty for a count or a ratio.
    pub unit: &'static str,
    /// What it must be.
    pub bar: Bar,
    /// What printed the raw output.
    pub command: String,
    /// The file of raw output, in the claim's folder.
    pub raw: String,
    /// A remark on the figure; may be empty.
    pub note: String,
}

impl Finding {
    /// A figure, where it stands and what printed it; to be followed by [`Finding::with_note`]
    /// where a reader must know more.
    pub fn new(
        what: &str,
        (figure, unit): (f64, &'static str),
        bar: Bar,
        raw: &super::Capture,
    ) -> Self {
        Self {
            what: what.to_owned(),
            figure,
            unit,
            bar,
            command: raw.command.clone(),
            raw: raw.output.clone(),
            note: String::new(),
        }
    }

    /// The same with a note.
    #[must_use]
    pub fn with_note(self, note: &str) -> Self {
        Self { note: note.to_owned(), ..self }
    }

    /// The same with another file of raw output.
    #[must_use]
    pub fn from_file(self, raw: &str) -> Self {
        Self { raw: raw.to_owned(), ..self }
    }

    /// Whether the figure meets its bar.
    pub fn holds(&self) -> bool {
        self.bar.holds(self.figure)
    }
}

/// What a figure must be. A figure that is no number meets no bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// From the first to the second, both included.
    Within(f64, f64),
    /// Within this share of the value, either way: `0.01` is one percent.
    Near {
        /// What is expected.
        value: f64,
        /// How far off it may be.
        share: f64,
    },
    /// Exactly this: for counts.
    Equals(f64),
}

impl Bar {
    /// Whether `figure` meets it.
    #[expect(clippy::float_cmp, reason = "`Equals` is for counts, which a double holds exactly")]
    pub fn holds(self, figure: f64) -> bool {
        match self {
            Self::AtMost(most) => figure <= most,
            Self::AtLeast(least) => figure >= least,
            Self::Within(low, high) => (low..=high).contains(&figure),
            Self::Near { value, share } => (figure - value).abs() <= (value * share).abs(),
            Self::Equals(value) => figure == value,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(formatter, "<= {most}"),
            Self::AtLeast(least) => write!(formatter, ">= {least}"),
            Self::Within(low, high) => write!(formatter, "{low} .. {high}"),
            Self::Near { value, share } => {
                write!(formatter, "{} +- {} %", short(*value), decimal(share * 100.0, 9))
            }
            Self::Equals(value) => write!(formatter, "= {value}"),
        }
    }
}

/// Four digits after the point at most, and no zeroes at the end.
pub fn short(value: f64) -> String {
    decimal(value, 4)
}

/// So many digits after the point at most, and no zeroes at the end.
fn decimal(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
