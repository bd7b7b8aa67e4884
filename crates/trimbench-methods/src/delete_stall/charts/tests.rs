use trimbench_engine::MethodDefinition as _;

use super::super::DeleteStall;
use crate::testing::{charts, curve, find, step};

#[test]
fn deletions_stand_over_their_sizes_with_placebos_at_nothing() {
    let charts = charts(
        &DeleteStall::INFO,
        vec![
            step("delete-2", "delete", &[("size_bytes", 2e9)], &[("stutter_s", 1.0)]),
            step("delete-1", "delete", &[("size_bytes", 1e9)], &[("stutter_s", 0.6)]),
            step("placebo", "placebo", &[("size_bytes", 0.0)], &[("stutter_s", 0.1)]),
        ],
        &[("stutter", 0.45, None), ("stutter-intercept", 0.1, None)],
    );
    let chart = find(&charts, "regression");
    let points = curve(chart, "vendor2");
    assert_eq!(points.x, [0.0, 1.0, 2.0]);
    assert_eq!(points.y, [Some(0.1), Some(0.6), Some(1.0)]);
    assert_eq!(curve(chart, "vendor2: line").y, [Some(0.1), Some(1.0)]);
}
