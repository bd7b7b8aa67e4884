//! The metrics of the method.

use Direction::{Higher, Lower, Neither};
use trimbench_results::{Direction, Metric, Quantile};

use super::options::{LatencyUnderLoad, OfferedRate};
use super::watch::Class;

pub(super) const SUSTAINED: Metric =
    Metric::new("sustained", "reads and writes a second that the drive sustains", "IOPS", Higher);

/// One offered rate, beside so many TRIMs a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RatePoint {
    pub(super) rate: OfferedRate,
    pub(super) trim_rate: u64,
}

impl RatePoint {
    /// The id of its step.
    pub(super) fn id(self) -> String {
        format!("rate-{}{}", self.rate.id(), suffix(self.trim_rate))
    }

    /// The id of the step that runs it once more, for longer.
    pub(super) fn confirmation(self) -> String {
        format!("confirm-{}{}", self.rate.id(), suffix(self.trim_rate))
    }

    fn metric(self, what: &str, title: &str, unit: &'static str, direction: Direction) -> Metric {
        let Self { rate, trim_rate } = self;
        let id = format!("at-{}-{what}{}", rate.id(), suffix(trim_rate));
        Metric::member(id, title.to_owned(), unit, direction)
    }

    /// What it is called: `reads at 50 % of sustained`.
    fn title(self, what: &str) -> String {
        format!("{what} at {}{}", self.rate.words(), beside(self.trim_rate))
    }

    /// Reads and writes that were served.
    pub(super) fn achieved(self) -> Metric {
        self.metric("achieved", &self.title("reads and writes a second"), "IOPS", Neither)
    }

    /// A percentile of response times.
    pub(super) fn percentile(self, class: Class, quantile: Quantile) -> Metric {
        // The percentile last: tables make columns of it.
        let title = format!("{}, {quantile}", self.title(class.plural()));
        self.metric(&format!("{}-{quantile}", class.id()), &title, "ms", Lower)
    }

    /// The mean response time: unlike a percentile it never jumps with the rate.
    pub(super) fn mean(self, class: Class) -> Metric {
        let title = format!("{}, mean", self.title(class.plural()));
        self.metric(&format!("{}-mean", class.id()), &title, "ms", Lower)
    }

    /// The longest response time.
    pub(super) fn longest(self, class: Class) -> Metric {
        let title = format!("longest of the {}", self.title(class.plural()));
        self.metric(&format!("{}-max", class.id()), &title, "ms", Lower)
    }
}

/// The highest rate that keeps a response time.
pub(super) fn rate_kept(method: &LatencyUnderLoad, trim_rate: u64) -> Metric {
    let title = format!(
        "highest rate tried whose reads and writes keep a p99 of {}{}",
        method.keep,
        beside(trim_rate)
    );
    Metric::member(format!("rate-kept{}", suffix(trim_rate)), title, "IOPS", Higher).headline()
}

fn suffix(trim_rate: u64) -> String {
    if trim_rate == 0 { String::new() } else { format!("-trim-{trim_rate}") }
}

fn beside(trim_rate: u64) -> String {
    if trim_rate == 0 { String::new() } else { format!(" beside {trim_rate} TRIMs a second") }
}

/// Every rate with every TRIM rate, curve by curve.
pub(super) fn points(method: &LatencyUnderLoad) -> impl Iterator<Item = RatePoint> {
    method
        .trim_rates
        .iter()
        .flat_map(|&trim_rate| method.rates.iter().map(move |&rate| RatePoint { rate, trim_rate }))
}

/// All of them.
pub(super) fn metrics(method: &LatencyUnderLoad) -> Vec<Metric> {
    let mut metrics: Vec<Metric> =
        method.trim_rates.iter().map(|trim_rate| rate_kept(method, *trim_rate)).collect();
    metrics.push(SUSTAINED);
    for point in points(method) {
        metrics.push(point.achieved());
        for class in Class::ALL.into_iter().filter(|it| *it != Class::Trim || point.trim_rate > 0) {
            metrics.extend(Quantile::STANDARD.map(|quantile| point.percentile(class, quantile)));
            metrics.extend([point.mean(class), point.longest(class)]);
        }
    }
    metrics
}
