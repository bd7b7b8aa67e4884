use trimbench_engine::MethodDefinition as _;

use super::super::Replay;
use crate::testing::{charts, curve, find, step, with};

#[test]
fn a_gain_is_the_ratio_of_both_passes_window_by_window() {
    let pass = |id: &str, y: &[f64]| {
        with(step(id, "pass", &[("queue_depth", 32.0)], &[]), "iops-window", &[1.0, 2.0, 3.0], y)
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
