//! The percentiles of every table.

use trimbench_core::Nanos;

use crate::histogram::{LatencyHistogram, Quantile};
use crate::steps;

steps! {
    /// The standard percentiles of latencies, each from at least 10 / (1 - q) samples.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct PercentilesStep {
        /// the median, with at least 20 samples
        measured p50: Option<f64>;
        /// 90th percentile, with at least 100 samples
        measured p90: Option<f64>;
        /// 99th percentile, with at least 1,000 samples
        measured p99: Option<f64>;
        /// 99.9th percentile, with at least 10,000 samples
        measured p99_9: Option<f64>;
        /// 99.99th percentile, with at least 100,000 samples
        measured p99_99: Option<f64>;
    }
}

impl PercentilesStep {
    /// Those of a histogram, in seconds.
    pub fn of(histogram: &LatencyHistogram) -> Self {
        let of = |quantile| histogram.percentile(quantile).map(Nanos::seconds);
        let [p50, p90, p99, p99_9, p99_99] = Quantile::STANDARD.map(of);
        Self { p50, p90, p99, p99_9, p99_99 }
    }

    /// Those that there are.
    pub fn present(&self) -> impl Iterator<Item = (Quantile, f64)> {
        let all = [self.p50, self.p90, self.p99, self.p99_9, self.p99_99];
        Quantile::STANDARD.into_iter().zip(all).filter_map(|(of, value)| Some((of, value?)))
    }
}
