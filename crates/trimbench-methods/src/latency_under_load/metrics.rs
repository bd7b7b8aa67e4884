//! The metrics of the method.

use Direction::{Higher, Lower, Neither};
use MetricAxis::{Beside, Rate};
use trimbench_results::{Coordinates, Direction, Metric, MetricAxis, Quantile};

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

    fn id_of(self, what: &str) -> String {
        format!("at-{}-{what}{}", self.rate.id(), suffix(self.trim_rate))
    }

    /// `reads at 50 % of sustained`.
    fn place(self, measure: &str, words: &str) -> Coordinates {
        let place = Coordinates::of_measure(measure, words);
        let at = format!("at {}", self.rate.words());
        beside(place.called(Rate, self.rate.id(), at), self.trim_rate)
    }

    /// Reads and writes that were served.
    pub(super) fn achieved(self) -> Metric {
        let place = self.place("achieved", "reads and writes a second");
        Metric::placed(self.id_of("achieved"), place, "IOPS", Neither)
    }

    /// A percentile of response times.
    pub(super) fn percentile(self, class: Class, quantile: Quantile) -> Metric {
        let place = self.place(class.id(), class.plural());
        let place = place.at(MetricAxis::Quantile, quantile.to_string());
        Metric::placed(self.id_of(&format!("{}-{quantile}", class.id())), place, "ms", Lower)
    }

    /// The mean response time: unlike a percentile it never jumps with the rate.
    pub(super) fn mean(self, class: Class) -> Metric {
        let title = format!("{}, mean", self.place(class.id(), class.plural()).phrase());
        let mean = format!("{}-mean", class.id());
        let place = self.place(&mean, &format!("mean of the {}", class.plural()));
        Metric::member(self.id_of(&mean), title, "ms", Lower).at(place)
    }

    /// The longest response time.
    pub(super) fn longest(self, class: Class) -> Metric {
        let longest = format!("{}-max", class.id());
        let place = self.place(&longest, &format!("longest of the {}", class.plural()));
        Metric::placed(self.id_of(&longest), place, "ms", Lower)
    }
}

/// The highest rate that keeps a response time.
pub(super) fn rate_kept(method: &LatencyUnderLoad, trim_rate: u64) -> Metric {
    let kept = format!("highest rate tried whose reads and writes keep a p99 of {}", method.keep);
    let place = beside(Coordinates::of_measure("rate-kept", kept), trim_rate);
    Metric::placed(format!("rate-kept{}", suffix(trim_rate)), place, "IOPS", Higher).headline()
}

fn suffix(trim_rate: u64) -> String {
    if trim_rate == 0 { String::new() } else { format!("-trim-{trim_rate}") }
}

fn beside(place: Coordinates, trim_rate: u64) -> Coordinates {
    let words = match trim_rate {
        0 => String::new(),
        _ => format!("beside {trim_rate} TRIMs a second"),
    };
    place.called(Beside, trim_rate.to_string(), words)
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
