use trimbench_engine::MethodDefinition as _;

use trimbench_results::{Series, Step};

use super::super::Replay;
use super::super::steps::{ReplayMeterStep, ReplayPassStep, ReplayWindowsStep};
use crate::testing::{charts, curve, find};

#[test]
fn a_gain_is_the_ratio_of_both_passes_window_by_window() {
    let pass = |id: &str, y: &[f64]| {
        let y = y.iter().copied().map(Some).collect();
        let iops = Series::new("window", "IOPS", vec![1.0, 2.0, 3.0], y);
        let windows = ReplayWindowsStep { iops, ..Default::default() };
        let meter = ReplayMeterStep { windows, ..Default::default() };
        let pass = ReplayPassStep { queue_depth: Some(32), meter, ..Default::default() };
        Step::of(id, "pass", &pass)
    };
    let charts = charts(
        &Replay::INFO,
        vec![pass("qd32-kept", &[10.0, 40.0, 5.0]), pass("qd32-stripped", &[10.0, 10.0, 0.0])],
        &[],
    );
    assert_eq!(curve(find(&charts, "gain"), "qd32").y, [Some(1.0), Some(4.0), None]);
    let windows = find(&charts, "iops-window");
    assert_eq!(
        curve(windows, "vendor2: qd32-stripped").like.as_deref(),
        Some("vendor2: qd32-kept")
    );
}
