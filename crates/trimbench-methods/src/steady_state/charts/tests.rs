use trimbench_engine::MethodDefinition as _;

use super::super::SteadyState;
use crate::testing::{charts, curve, find, step};

#[test]
fn the_steady_window_has_its_band_and_its_slope() {
    let round = |number: u32, iops: f64| {
        let parameters = [("trimmed_percent", 0.0), ("round", f64::from(number))];
        step(&format!("round-{number}"), "round", &parameters, &[("iops", iops)])
    };
    let iops = [200.0, 98.0, 99.0, 100.0, 101.0, 102.0];
    let rounds = (1..).zip(iops).map(|(number, iops)| round(number, iops)).collect();
    let charts = charts(&SteadyState::INFO, rounds, &[]);
    let chart = find(&charts, "rounds");
    let measured = curve(chart, "0 % trimmed");
    assert_eq!(measured.low.as_ref().unwrap()[..2], [None, Some(90.0)]);
    assert_eq!(measured.high.as_ref().unwrap()[5], Some(100.0 * (1.0 + 0.1)));
    let slope = curve(chart, "0 % trimmed: slope");
    assert_eq!((&slope.x, &slope.y), (&vec![2.0, 6.0], &vec![Some(98.0), Some(102.0)]));
}
