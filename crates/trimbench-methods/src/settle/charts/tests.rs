use trimbench_engine::MethodDefinition as _;

use super::super::Settle;
use crate::testing::{charts, curve, find, step};

#[test]
fn settling_times_stand_where_they_were_measured() {
    let point = |trimmed: f64, written: f64| {
        let id = format!("trimmed-{trimmed}-written-{written}");
        step(&id, "point", &[("trimmed_percent", trimmed), ("written_percent", written)], &[])
    };
    let charts = charts(
        &Settle::INFO,
        vec![point(25.0, 0.0), point(100.0, 50.0)],
        &[
            ("settling-trimmed-25-written-0", 0.5, None),
            ("settling-trimmed-100-written-50", 2.0, None),
        ],
    );
    let chart = find(&charts, "surface");
    assert_eq!(chart.x.categories, ["25 %", "100 %"]);
    let cells = curve(chart, "settling time");
    assert_eq!((&cells.x, &cells.y), (&vec![0.0, 1.0], &vec![Some(0.0), Some(1.0)]));
    assert_eq!(cells.z, Some(vec![Some(0.5), Some(2.0)]));
    assert_eq!(chart.z.as_ref().unwrap().max, Some(2.0));
}
