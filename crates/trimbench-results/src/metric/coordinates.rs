//! Where a metric of a family stands, as data: tables pivot on it, and nobody reads it out of an id
//! or a title.
//!
//! A family is one measure under several conditions: percentiles under policies, settling times
//! over what was trimmed and written. Each condition is an axis, and a metric has one place on it.
//! A metric that stands alone has no coordinates.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use trimbench_core::named_enum;
use trimbench_core::settings::Named as _;

#[cfg(test)]
mod tests;

named_enum! {
    /// What tells the metrics of a family apart, in the order in which words name it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum MetricAxis {
        /// What is measured.
        Measure = "measure",
        /// The trim policy.
        Policy = "policy",
        /// The system that discards: filesystem, era and setting.
        System = "system",
        /// The offered rate.
        Rate = "rate",
        /// What goes on meanwhile: TRIMs a second, or their kind.
        Beside = "beside",
        /// What happened before.
        After = "after",
        /// The state of the drive, or of the blocks.
        State = "state",
        /// The data that are written, if not those of all other figures.
        Data = "data",
        /// How much is trimmed, in percent.
        Trimmed = "trimmed",
        /// How much was written before, in percent.
        Written = "written",
        /// How much is deleted.
        Size = "size",
        /// The pieces in which it is deleted.
        Chunk = "chunk",
        /// In which pieces a span is trimmed.
        Way = "way",
        /// How a trace is paced.
        Pace = "pace",
        /// What becomes of a trace's TRIMs.
        Trims = "trims",
        /// The percentile: `p99.9`.
        Quantile = "quantile",
        /// What a percentile is a share of.
        View = "view",
        /// The mount option, or the difference that it makes.
        Side = "side",
        /// The way to trim that is compared with none.
        Arm = "arm",
        /// Whether files are moved by the C library.
        Buffering = "buffering",
        /// What it is a share of.
        Over = "over",
    }
}

/// A place on each axis along which a family of metrics extends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Coordinates(BTreeMap<MetricAxis, Place>);

/// A place on an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// Stable: `ext4`, `25`, `64MiB`.
    key: String,
    /// What a table shows for it, if not the key; empty where it shows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    words: Option<String>,
}

impl MetricAxis {
    /// Whether titles name its places behind a comma; otherwise with a preposition.
    const fn has_comma(self) -> bool {
        !matches!(self, Self::Rate | Self::Beside | Self::After | Self::Arm)
    }
}

impl Coordinates {
    /// Of a metric that belongs to no family.
    pub const fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// Of this measure, which tables call so.
    pub fn of_measure(key: impl Into<String>, words: impl Into<String>) -> Self {
        Self::none().called(MetricAxis::Measure, key, words)
    }

    /// The same at this place of an axis; tables show the key.
    #[must_use]
    pub fn at(mut self, axis: MetricAxis, key: impl Into<String>) -> Self {
        self.0.insert(axis, Place { key: key.into(), words: None });
        self
    }

    /// The same at this place of an axis; tables show the words, or nothing if they are empty.
    #[must_use]
    pub fn called(
        mut self,
        axis: MetricAxis,
        key: impl Into<String>,
        words: impl Into<String>,
    ) -> Self {
        let (key, words) = (key.into(), words.into());
        let words = (words != key).then_some(words);
        self.0.insert(axis, Place { key, words });
        self
    }

    /// Whether the metric belongs to no family.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The place on an axis; `None` if the family does not extend along it.
    pub fn key(&self, axis: MetricAxis) -> Option<&str> {
        self.0.get(&axis).map(|place| place.key.as_str())
    }

    /// What a table shows for the place on an axis.
    pub fn words(&self, axis: MetricAxis) -> Option<&str> {
        self.0.get(&axis).map(Place::words)
    }

    /// Without the axes that a table takes for its rows or columns.
    #[must_use]
    pub fn without(&self, axes: &[MetricAxis]) -> Self {
        let others = self.0.iter().filter(|(axis, _)| !axes.contains(axis));
        Self(others.map(|(axis, place)| (*axis, place.clone())).collect())
    }

    /// All that tables show of it, in one phrase: `response time after a deletion, per access`.
    pub fn phrase(&self) -> String {
        let mut phrase = String::new();
        for (axis, place) in self.0.iter().filter(|(_, place)| !place.words().is_empty()) {
            if !phrase.is_empty() {
                phrase.push_str(if axis.has_comma() { ", " } else { " " });
            }
            phrase.push_str(place.words());
        }
        phrase
    }
}

impl fmt::Display for Coordinates {
    /// `measure=settling;trimmed=50;written=100`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (axis, place)) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { ";" };
            write!(formatter, "{gap}{}={}", axis.id(), place.key)?;
        }
        Ok(())
    }
}

impl Place {
    fn words(&self) -> &str {
        self.words.as_deref().unwrap_or(&self.key)
    }
}
