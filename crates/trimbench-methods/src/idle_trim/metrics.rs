//! The metrics of the method.

use Direction::{Higher, Lower};
use trimbench_results::{Coordinates, Direction, Metric, MetricAxis, Role};

use super::session::Way;

pub(super) const NEVER_WRITTEN: Metric =
    Metric::new("never-written", "TRIM of the span before it was ever written", "s", Lower);

/// The measure whose ids say no more than the way.
const COST: &str = "cost";

/// The metrics of TRIMs that are sent in one way.
pub(super) struct WayMetrics {
    /// What a GB costs.
    pub(super) cost: Metric,
    pub(super) spread: Metric,
    pub(super) empty: Metric,
    pub(super) full: Metric,
    pub(super) rate: Metric,
    pub(super) command_max: Metric,
}

impl WayMetrics {
    pub(super) fn of(way: Way) -> Self {
        let (prefix, how) = match way {
            Way::OneGo => ("idle-trim", "in one go"),
            Way::Chunks => ("chunked", "in chunks"),
        };
        let metric = |key, title, unit, direction| {
            let id = if key == COST { prefix.to_owned() } else { format!("{prefix}-{key}") };
            let place = Coordinates::of_measure(key, title).called(MetricAxis::Way, way.id(), how);
            Metric::placed(id, place, unit, direction)
        };
        let cost = metric(COST, "cost of a GB on an idle drive", "s/GB", Lower);
        let full = metric("full", "TRIM of the span, full", "s", Lower);
        Self {
            cost: Metric {
                headline: way == Way::OneGo,
                role: (way == Way::OneGo).then_some(Role::TrimAtRestPerGb),
                ..cost
            },
            spread: metric("spread", "largest less smallest cost of a GB", "s/GB", Lower),
            empty: metric("empty", "TRIM of the span, empty", "s", Lower),
            full: Metric { role: (way == Way::OneGo).then_some(Role::TrimAtRest), ..full },
            rate: metric("rate", "bytes discarded a second of the full span", "GB/s", Higher),
            command_max: metric("command-max", "longest single TRIM of the full span", "s", Lower),
        }
    }
}

/// All of them.
pub(super) fn metrics() -> Vec<Metric> {
    let of = |way| {
        let WayMetrics { cost, spread, empty, full, rate, command_max } = WayMetrics::of(way);
        [cost, spread, empty, full, rate, command_max]
    };
    [Way::OneGo, Way::Chunks].into_iter().flat_map(of).chain([NEVER_WRITTEN]).collect()
}
