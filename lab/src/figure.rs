//! A figure that was measured, and the bar that it must meet.

mod real;

use std::fmt;

use ::tests::expectation::Expectation;
use serde::{Deserialize, Serialize};

pub(crate) use real::{FigureStanding, RealFigure, RealValue, ResponseTime};

/// A figure, and what it must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    /// What it is; one of a kind within its entry.
    pub(crate) what: String,
    /// The figure.
    pub(crate) value: f64,
    /// Its unit, and that of the bar; empty for a count or a ratio.
    pub(crate) unit: String,
    /// What it must be.
    pub(crate) bar: Bar,
    /// A remark on it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    /// The published figures of which it is the worst, or that it counts; for the ledger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<RealFigure>,
    /// The point of a curve that it is; for the page that shows the curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) point: Option<PacePoint>,
}

/// What reads met beside a trim, and how long it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PacePoint {
    /// The filesystem.
    pub(crate) filesystem: String,
    /// What paced it, and with which setting; the latter may be empty.
    pub(crate) law: String,
    pub(crate) setting: String,
    /// From the start until the last discard had ended, s.
    pub(crate) time_s: f64,
    /// Of the reads, ms.
    pub(crate) p99_ms: f64,
    /// The share of reads that were later than the target, %.
    pub(crate) late_percent: f64,
}

impl Figure {
    /// A figure; to be followed by [`Figure::with_note`] where a reader must know more.
    pub(crate) fn new(what: impl Into<String>, (value, unit): (f64, &str), bar: Bar) -> Self {
        let (what, unit, note) = (what.into(), unit.to_owned(), String::new());
        Self { what, value, unit, bar, note, parts: Vec::new(), point: None }
    }

    /// The same with a note.
    #[must_use]
    pub(crate) fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// The same with the published figures that it speaks of.
    #[must_use]
    pub(crate) fn with_parts(self, parts: Vec<RealFigure>) -> Self {
        Self { parts, ..self }
    }

    /// The same as a point of a curve.
    #[must_use]
    pub(crate) fn with_point(self, point: PacePoint) -> Self {
        Self { point: Some(point), ..self }
    }

    /// Whether the figure meets its bar.
    pub(crate) fn holds(&self) -> bool {
        self.bar.holds(self.value)
    }
}

/// What a figure must be. A figure that is no number meets no bar.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Bar {
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

impl From<Expectation> for Figure {
    fn from(it: Expectation) -> Self {
        let bar = match it.range {
            [low, high] if low.to_bits() == high.to_bits() => Bar::Equals(low),
            [low, f64::INFINITY] => Bar::AtLeast(low),
            [low, high] => Bar::Within(low, high),
        };
        Self::new(it.what, (it.value, it.unit), bar).with_note(it.note)
    }
}

impl Bar {
    /// Whether `figure` meets it.
    #[expect(clippy::float_cmp, reason = "`Equals` is for counts, which a double holds exactly")]
    pub(crate) fn holds(self, figure: f64) -> bool {
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
pub(crate) fn short(value: f64) -> String {
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
mod tests {
    use super::Bar::{AtLeast, AtMost, Equals, Near, Within};

    #[test]
    fn a_bar_holds_up_to_its_edge_and_for_no_nan() {
        let near = Near { value: -2.0, share: 0.5 };
        for (bar, inside, outside) in [
            (AtMost(2.0), 2.0, 2.1),
            (AtLeast(2.0), 2.0, 1.9),
            (Within(1.0, 2.0), 1.0, 0.9),
            (near, -3.0, -3.1),
            (Equals(2.0), 2.0, 2.1),
        ] {
            assert!(bar.holds(inside), "{bar}");
            assert!(!bar.holds(outside), "{bar}");
            assert!(!bar.holds(f64::NAN), "{bar}");
        }
        assert_eq!(near.to_string(), "-2 +- 50 %");
    }
}
