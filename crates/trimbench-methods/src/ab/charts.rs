//! Charts: what others waited for in each visit, arm by arm.

use trimbench_core::settings::Named as _;
use trimbench_results::chart::{Axis, Chart, ChartSeries, LabelledSession};
use trimbench_results::{Quantile, Series, StepOf};

use super::options::AbArm;
use super::steps::AbVisitStep;

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    let tail = |visit: &AbVisitStep| {
        let times = &visit.load.as_ref()?.response_time;
        Some(times.percentile(Quantile::P99_9)?.seconds() * 1e3)
    };
    let command = |visit: &AbVisitStep| Some(visit.program.as_ref()?.program_s * 1e3);
    vec![
        by_visit("ab-tail", "p99.9 of reads and writes, visit by visit", tail, sessions),
        by_visit("ab-command", "Time of the command, visit by visit", command, sessions),
    ]
}

/// A measure in each visit, in the order of time.
fn by_visit(
    id: &'static str,
    title: &'static str,
    value: fn(&AbVisitStep) -> Option<f64>,
    sessions: &[LabelledSession<'_>],
) -> Chart {
    let (x, y) = (Axis::linear("visit", ""), Axis::log("time", "ms"));
    let mut chart = Chart::new(id, title, x, y);
    chart.describe(
        "Each point is a visit of an arm. Arms that differ lie apart from each other; a target \
         that drifts takes all of them along.",
    );
    for session in sessions {
        for (arm, _) in AbArm::NAMES {
            let visits = session.steps_of(arm).filter_map(StepOf::<AbVisitStep>::read);
            let (x, y): (Vec<f64>, _) = visits
                .filter_map(|visit| Some((visit.place as f64, value(&visit)?)))
                .map(|(x, y)| (x, Some(y)))
                .unzip();
            // An arm that was not asked for has no line, and no place in the legend.
            if !x.is_empty()
                && let Some(series) = Series::new("visit", "ms", x, y)
            {
                chart.curve(ChartSeries::line(format!("{}, {arm}", session.label), &series));
            }
        }
    }
    chart
}
