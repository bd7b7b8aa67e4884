use trimbench_core::Bytes;
use trimbench_engine::MethodDefinition as _;
use trimbench_results::Step;

use super::super::DeleteStall;
use super::*;
use crate::testing::{charts, curve, find};

fn step(kind: &str, size_bytes: Bytes, stutter_s: f64) -> Step {
    let mut step = Step::of(
        format!("{kind}-{size_bytes}"),
        kind,
        &DeletionStep { size_bytes, ..DeletionStep::default() },
    );
    let (delay_request_s, equivalent_stop_s) = (None, None);
    step.store(&StallFoundStep { stutter_s, delay_request_s, equivalent_stop_s, slow: None });
    step
}

#[test]
fn deletions_stand_over_their_sizes_with_placebos_at_nothing() {
    let charts = charts(
        &DeleteStall::INFO,
        vec![
            step("delete", Bytes(2_000_000_000), 1.0),
            step("delete", Bytes(1_000_000_000), 0.6),
            step("placebo", Bytes(0), 0.1),
        ],
        &[("stutter", 0.45, None), ("stutter-intercept", 0.1, None)],
    );
    let chart = find(&charts, "regression");
    let points = curve(chart, "vendor2");
    assert_eq!(points.x, [0.0, 1.0, 2.0]);
    assert_eq!(points.y, [Some(0.1), Some(0.6), Some(1.0)]);
    assert_eq!(curve(chart, "vendor2: line").y, [Some(0.1), Some(1.0)]);
}
