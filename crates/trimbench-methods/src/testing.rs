//! Records made by hand, and what is found in the charts that are made of them.

use std::collections::BTreeMap;

use trimbench_engine::Preset;
use trimbench_results::{
    Chart, ChartSeries, Coordinates, Direction, LabelledSession, Metric, PlannedSession, Session,
    Step, Verdict,
};

/// The charts of one session, which is called `vendor2`, of these steps and figures, which stand
/// where the method's metrics do.
pub(crate) fn charts(
    method: &trimbench_engine::MethodInfo,
    steps: Vec<Step>,
    figures: &[(&str, f64, Option<Verdict>)],
) -> Vec<Chart> {
    let metrics = method.resolve(Preset::Standard, &BTreeMap::new()).unwrap().method.metrics();
    let figure = |(id, value, verdict): &(&str, f64, Option<Verdict>)| {
        let known = metrics.iter().find(|metric| metric.id == *id);
        let place = known.map_or(Coordinates::none(), |metric| metric.coordinates.clone());
        let metric = Metric::member(*id, *id, "", Direction::Neither).at(place);
        let mut figure = metric.measured(*value).unwrap();
        figure.verdict.clone_from(verdict);
        figure
    };
    let plan = PlannedSession {
        method: method.id.to_owned(),
        target: "sim:vendor2".to_owned(),
        preset: "quick".to_owned(),
        options: BTreeMap::new(),
    };
    let session = Session {
        steps,
        figures: figures.iter().map(figure).collect(),
        finished: true,
        ..Session::planned(plan, method.version)
    };
    let label = "vendor2".to_owned();
    (method.charts)(&[LabelledSession { source: 0, index: 0, session: &session, label }])
}

/// The chart whose id ends so.
pub(crate) fn find<'a>(charts: &'a [Chart], end: &str) -> &'a Chart {
    let found = charts.iter().find(|chart| chart.id.ends_with(end));
    found.unwrap_or_else(|| {
        panic!("no {end} in {:?}", charts.iter().map(|one| &one.id).collect::<Vec<_>>())
    })
}

/// The curve of this name.
pub(crate) fn curve<'a>(chart: &'a Chart, name: &str) -> &'a ChartSeries {
    chart.series.iter().find(|curve| curve.name == name).unwrap_or_else(|| panic!("no {name}"))
}
