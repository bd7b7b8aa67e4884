use trimbench_engine::MethodDefinition as _;
use trimbench_results::{Series, Step};

use super::super::{DeleteStorm, StormClassStep, StormMeterStep, StormPhaseStep};
use crate::testing::{charts, curve, find};

#[test]
fn phases_of_a_storm_stand_in_a_row() {
    let phase = |id: &str, span: f64, y: [f64; 2]| {
        let throughput = Series::new("s", "MB/s", vec![0.5, 1.0], y.map(Some).into());
        let write = StormClassStep { throughput, ..StormClassStep::default() };
        let meter = Some(StormMeterStep { write, ..StormMeterStep::default() });
        let duration_s = Some(span);
        Step::of(id, "phase", &StormPhaseStep { duration_s, meter, ..StormPhaseStep::default() })
    };
    let charts = charts(
        &DeleteStorm::INFO,
        vec![phase("write", 2.0, [5.0, 6.0]), phase("second-write", 3.0, [0.0, 7.0])],
        &[("located-above", 0.9, None)],
    );
    let chart = find(&charts, "throughput");
    assert_eq!(curve(chart, "writes").x, [0.5, 1.0, 2.5, 3.0]);
    let phases: Vec<_> =
        chart.marks.iter().map(|mark| (mark.label.as_str(), mark.at, mark.to)).collect();
    assert_eq!(phases, [("write", 0.0, Some(2.0)), ("second-write", 2.0, Some(5.0))]);
    assert_eq!(curve(find(&charts, "places"), "above").y, [Some(0.9)]);
}
