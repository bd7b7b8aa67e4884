//! The metrics of the method, by pass: its pace, and what becomes of TRIMs.

use Direction::{Higher, Lower};
use MetricAxis::{Pace, Trims};
use trimbench_core::settings::Named as _;
use trimbench_results::{Coordinates, Direction, Metric, MetricAxis, Role};

use super::options::{Replay, ReplayedTrims};
use super::steps::ReplayPassStep;

/// The value of a metric in a pass.
type OfPass = fn(&ReplayPassStep) -> Option<f64>;

/// What a pass came to.
pub(super) fn of_pass(pace: &str, trims: &str) -> [(Metric, OfPass); 4] {
    let metric = |key, title, unit, direction| {
        // Tables call a pass by both.
        let place = Coordinates::of_measure(key, title).called(Pace, pace, "");
        let place = place.called(Trims, trims, format!("{pace}-{trims}"));
        Metric::placed(format!("{key}-{pace}-{trims}"), place, unit, direction)
    };
    let wear = metric("write-amplification", "write amplification", "", Lower);
    let with_own = trims == ReplayedTrims::Kept.id();
    let role = (with_own || trims == ReplayedTrims::Stripped.id())
        .then(|| Role::TraceWear { pace: pace.to_owned(), trims: with_own });
    [
        (metric("write-iops", "write IOPS", "IOPS", Higher), |pass| pass.meter.write_iops),
        (metric("throughput", "throughput of writes", "MB/s", Higher), |pass| {
            pass.meter.throughput_mb_per_s
        }),
        (Metric { role, ..wear }, |pass| pass.meter.write_amplification_ratio),
        (metric("service-max", "longest write", "ms", Lower), |pass| {
            Some(pass.meter.service_ms_max)
        }),
    ]
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
            let words = format!("{how}write IOPS {trims} over stripped");
            let place = Coordinates::of_measure(key, words).at(Pace, pace).called(Trims, trims, "");
            Metric::placed(format!("{key}-{pace}-{trims}"), place, "", Higher)
        };
        let average = metric("gain", "").headline();
        let role =
            (trims == ReplayedTrims::Kept.id()).then(|| Role::TraceGain { pace: pace.to_owned() });
        Self {
            average: Metric { role, ..average },
            least: metric("gain-min", "least in a window: "),
            most: metric("gain-max", "most in a window: "),
        }
    }
}

/// All of them.
pub(super) fn metrics(method: &Replay) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for pass in method.passes() {
        let (pace, trims) = (pass.pace.id(), pass.trims.id());
        metrics.extend(of_pass(&pace, trims).map(|(metric, _)| metric));
        if pass.trims != ReplayedTrims::Stripped {
            let Gain { average, least, most } = Gain::of(&pace, trims);
            metrics.extend([average, least, most]);
        }
    }
    metrics
}
