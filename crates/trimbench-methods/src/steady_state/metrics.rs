//! The metrics of the method.

use Direction::{Higher, Lower, Neither};
use trimbench_engine::settings::whole_percent;
use trimbench_results::{Coordinates, Direction, Metric, MetricAxis, Quantile, Role};

use super::options::SteadyState;

/// Percentiles that are printed.
pub(super) const QUANTILES: [Quantile; 3] = [Quantile::P50, Quantile::P99, Quantile::P99_9];

/// The metrics of one trimmed share of the drive.
pub(super) struct ShareMetrics {
    pub(super) iops: Metric,
    pub(super) throughput: Metric,
    pub(super) amplification: Metric,
    /// In the order of [`QUANTILES`].
    pub(super) latencies: [Metric; 3],
    pub(super) rounds: Metric,
    pub(super) drift: Metric,
}

impl ShareMetrics {
    pub(super) fn of(percent: u32) -> Self {
        let suffix = suffix(percent);
        let metric = |id: &str, what: &str, unit, direction| {
            let place = place(id, &format!("{what} in the steady state"), percent);
            Metric::placed(format!("{id}{suffix}"), place, unit, direction)
        };
        let latency = |quantile: Quantile| {
            let place = place("latency", "latency in the steady state", percent);
            let place = place.at(MetricAxis::Quantile, quantile.to_string());
            Metric::placed(format!("latency-{quantile}{suffix}"), place, "ms", Lower)
        };
        let rounds = place("rounds-to-steady", "rounds until steady", percent);
        let iops = metric("steady-iops", "IOPS", "IOPS", Higher)
            .of_role(Role::SteadyRate { trimmed_percent: percent });
        Self {
            iops: Metric { headline: percent == 0, ..iops },
            throughput: metric("steady-throughput", "throughput", "MB/s", Higher),
            amplification: metric("write-amplification", "write amplification", "", Lower)
                .of_role(Role::SteadyWear { trimmed_percent: percent }),
            latencies: QUANTILES.map(latency),
            rounds: Metric::placed(format!("rounds-to-steady{suffix}"), rounds, "rounds", Neither),
            drift: metric(
                "amplification-drift",
                "change of write amplification over the last drive write",
                "%",
                Neither,
            ),
        }
    }
}

fn suffix(percent: u32) -> String {
    if percent == 0 { String::new() } else { format!("-trimmed-{percent}") }
}

/// What is measured, and how much of the drive was trimmed.
fn place(measure: &str, words: &str, percent: u32) -> Coordinates {
    let trimmed = if percent == 0 { String::new() } else { format!("{percent} % trimmed") };
    let place = Coordinates::of_measure(measure, words);
    place.called(MetricAxis::Trimmed, percent.to_string(), trimmed)
}

/// What trimming a share gained.
pub(super) fn gain(percent: u32) -> Metric {
    let title = format!("IOPS with {percent} % trimmed, over those without");
    let place = place("gain", "IOPS", percent);
    Metric::member(format!("gain{}", suffix(percent)), title, "", Higher)
        .of_role(Role::SteadyGain { trimmed_percent: percent })
        .at(place.called(MetricAxis::Over, "untrimmed", "over those without"))
}

/// The IOPS after so many rounds of ageing.
pub(super) fn aged_iops(rounds: usize) -> Metric {
    let title = format!("IOPS, {rounds} rounds after the steady state");
    Metric::member("aged-iops", title, "IOPS", Higher)
}
pub(super) const AGED_AMPLIFICATION: Metric =
    Metric::new("aged-write-amplification", "write amplification after ageing", "", Lower);
pub(super) const DRIFT: Metric =
    Metric::new("ageing-drift", "change of IOPS by ageing", "%", Higher);

/// All of them.
pub(super) fn metrics(method: &SteadyState) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for percent in method.trimmed_shares.iter().filter_map(|share| whole_percent(*share)) {
        let ShareMetrics { iops, throughput, amplification, latencies, rounds, drift } =
            ShareMetrics::of(percent);
        metrics.extend([iops, throughput, amplification, rounds, drift]);
        metrics.extend(latencies);
        metrics.extend((percent > 0).then(|| gain(percent)));
    }
    if method.ageing_rounds > 0 {
        let rounds = trimbench_core::units::index(method.ageing_rounds.into());
        metrics.extend([aged_iops(rounds), AGED_AMPLIFICATION, DRIFT]);
    }
    metrics
}
