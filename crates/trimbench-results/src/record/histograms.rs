//! The histograms of a step: whether they can be read, and count what the step says.

use trimbench_core::units::rounded;

use super::Step;
use crate::histogram::{HistogramError, LatencyHistogram};

/// Histograms, and the metrics that say how many commands are in them, where a step has both.
const COUNTED: [(&str, &str); 6] = [
    ("latency", "command_count"),
    ("write-service", "write_count"),
    ("discard-service", "discard_count"),
    ("probe-latency", "probe_count"),
    ("response-time", "load_count"),
    ("response-time", "accesses"),
];

/// What is wrong with a histogram of a step.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HistogramFlaw {
    /// Its text holds none.
    #[error("`{key}`: {error}")]
    Unreadable {
        /// Which.
        key: String,
        /// What is wrong with the text.
        error: HistogramError,
    },
    /// It does not count what the step says was done.
    #[error("histogram `{key}` has {counted} commands, and `{metric}` is {said}")]
    Count {
        /// Which.
        key: String,
        /// Commands in it.
        counted: u64,
        /// The metric that has their number, too.
        metric: &'static str,
        /// What that says.
        said: f64,
    },
}

impl HistogramFlaw {
    /// The histogram's key in the step.
    pub fn key(&self) -> &str {
        match self {
            Self::Unreadable { key, .. } | Self::Count { key, .. } => key,
        }
    }
}

/// What is wrong with the histograms of a step, at most one flaw for each.
pub(super) fn histogram_flaws(step: &Step) -> impl Iterator<Item = HistogramFlaw> + '_ {
    step.histograms.iter().filter_map(|(key, text)| {
        let key = || key.clone();
        let histogram = match LatencyHistogram::from_text(text) {
            Ok(histogram) => histogram,
            Err(error) => return Some(HistogramFlaw::Unreadable { key: key(), error }),
        };
        let counted = histogram.count();
        let metrics = COUNTED.iter().filter(|(of, _)| *of == key());
        let mut said =
            metrics.filter_map(|(_, metric)| Some((*metric, *step.metrics.get(*metric)?)));
        let (metric, said) = said.find(|(_, said)| rounded(*said) != counted)?;
        Some(HistogramFlaw::Count { key: key(), counted, metric, said })
    })
}
