//! The metrics of the method.

use Direction::{Higher, Lower, Neither};
use MetricAxis::{Trimmed, Written};
use trimbench_core::Ppm;
use trimbench_engine::settings::whole_percent;
use trimbench_results::{Coordinates, Direction, Metric, MetricAxis, Role};

use super::options::{Reference, Settle};

pub(super) const LONGEST: Metric =
    Metric::new("settle", "longest settling time of all ranges and amounts written", "s", Lower)
        .headline()
        .of_role(Role::SettlingTime);
pub(super) const SLOWEST: Metric = Metric::new(
    "settle-slowest",
    "lowest pace after a TRIM, as a share of the reference",
    "",
    Higher,
)
.of_role(Role::SettlingPace);
pub(super) const LOST: Metric = Metric::new(
    "settle-lost",
    "most time at the reference's pace that was lost after a TRIM",
    "s",
    Lower,
)
.of_role(Role::SettlingLost);
pub(super) const TRIM: Metric =
    Metric::new("settle-trim", "longest TRIM, until it was acknowledged", "s", Lower);
pub(super) const TWIN: Metric = Metric::new(
    "settle-twin",
    "longest settling time of the twins, against their own plateau",
    "s",
    Lower,
);

pub(super) const IDLE_WORK: Metric = Metric::new(
    "settle-idle",
    "idle time in which the work of the largest TRIM is done",
    "s",
    Lower,
);
pub(super) const IDLE_OVER_LOADED: Metric = Metric::new(
    "settle-idle-over-loaded",
    "idle, over the settling time of the same TRIM under load",
    "",
    Neither,
);

/// The settling time of each point, in the order of the options: percentages of what is trimmed
/// and of what was written before.
pub(super) fn of_points(method: &Settle) -> impl Iterator<Item = (Metric, (u32, u32))> {
    let percents = |shares: &[Ppm]| -> Vec<u32> {
        shares.iter().filter_map(|share| whole_percent(*share)).collect()
    };
    let (trimmed, written) = (percents(&method.ranges), percents(&method.written));
    let with_all = move |trimmed: u32| {
        let point = move |written: u32| {
            let id = format!("settling-trimmed-{trimmed}-written-{written}");
            let place = Coordinates::of_measure("settling", "settling time")
                .called(Trimmed, trimmed.to_string(), format!("{trimmed} % trimmed"))
                .called(Written, written.to_string(), format!("{written} % written before"));
            (Metric::placed(id, place, "s", Lower), (trimmed, written))
        };
        written.clone().into_iter().map(point)
    };
    trimmed.into_iter().flat_map(with_all)
}

/// All of them.
pub(super) fn metrics(method: &Settle) -> Vec<Metric> {
    let twin = (method.reference == Reference::Twin).then_some(TWIN);
    let points = of_points(method).map(|(metric, _)| metric);
    let idle = (method.idle_halvings > 0).then_some([IDLE_WORK, IDLE_OVER_LOADED]);
    let idle = idle.into_iter().flatten();
    [LONGEST, SLOWEST, LOST, TRIM].into_iter().chain(twin).chain(idle).chain(points).collect()
}
