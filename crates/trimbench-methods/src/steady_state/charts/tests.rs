use trimbench_engine::MethodDefinition as _;

use super::super::SteadyState;
use super::super::tests::rounds;
use crate::testing::{charts, curve, find};

#[test]
fn the_steady_window_has_its_band_and_its_slope() {
    let rounds = rounds(0, "round", &[200.0, 98.0, 99.0, 100.0, 101.0, 102.0]);
    let charts = charts(&SteadyState::INFO, rounds, &[]);
    let chart = find(&charts, "rounds");
    let measured = curve(chart, "0 % trimmed");
    assert_eq!(measured.low.as_ref().unwrap()[..2], [None, Some(90.0)]);
    assert_eq!(measured.high.as_ref().unwrap()[5], Some(100.0 * (1.0 + 0.1)));
    let slope = curve(chart, "0 % trimmed: slope");
    assert_eq!((&slope.x, &slope.y), (&vec![2.0, 6.0], &vec![Some(98.0), Some(102.0)]));
}
