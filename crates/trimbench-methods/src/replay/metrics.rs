//! The metrics of the method, by the id of a pass.

use Direction::{Higher, Lower};
use trimbench_core::settings::Named as _;
use trimbench_results::{Direction, Metric};

use super::options::{Replay, ReplayedTrims};

/// What a pass came to, each with the metric of its step.
pub(super) fn of_pass(id: &str) -> [(Metric, &'static str); 4] {
    [
        ("write-iops", "write IOPS", "IOPS", Higher, "write_iops"),
        ("throughput", "throughput of writes", "MB/s", Higher, "throughput_mb_per_s"),
        ("write-amplification", "write amplification", "", Lower, "write_amplification_ratio"),
        ("service-max", "longest write", "ms", Lower, "service_ms_max"),
    ]
    .map(|(key, title, unit, direction, metric)| {
        let (key, title) = (format!("{key}-{id}"), format!("{title}, {id}"));
        (Metric::member(key, title, unit, direction), metric)
    })
}

/// What a pass with TRIMs gains over that without at the same pace.
pub(super) struct Gain {
    /// On average over all time.
    pub(super) average: Metric,
    /// In the window in which it is least.
    pub(super) least: Metric,
    /// In the window in which it is most.
    pub(super) most: Metric,
}

impl Gain {
    pub(super) fn of(pace: &str, trims: &str) -> Self {
        let metric = |key, how| {
            let title = format!("{how}write IOPS {trims} over stripped, {pace}");
            Metric::member(format!("{key}-{pace}-{trims}"), title, "", Higher)
        };
        Self {
            average: metric("gain", "").headline(),
            least: metric("gain-min", "least in a window: "),
            most: metric("gain-max", "most in a window: "),
        }
    }
}

/// All of them.
pub(super) fn metrics(method: &Replay) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for pass in method.passes() {
        metrics.extend(of_pass(&pass.id()).map(|(metric, _)| metric));
        if pass.trims != ReplayedTrims::Stripped {
            let Gain { average, least, most } = Gain::of(&pass.pace.id(), pass.trims.id());
            metrics.extend([average, least, most]);
        }
    }
    metrics
}
