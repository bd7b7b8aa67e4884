use trimbench_core::Bytes;
use trimbench_engine::MethodDefinition as _;
use trimbench_results::Step;

use super::super::{Settle, SettlePaceStep, SettlePointStep};
use crate::testing::{charts, curve, find};

#[test]
fn settling_times_stand_where_they_were_measured() {
    let point = |trimmed_percent: u32, written_percent: u32| {
        let id = format!("trimmed-{trimmed_percent}-written-{written_percent}");
        let point = SettlePointStep {
            trimmed_percent,
            written_percent,
            range_bytes: Bytes(0),
            written_bytes: Bytes(0),
            trim_s: 0.1,
            pace: SettlePaceStep { slice_s: 0.1, trimmed: None, twin: None, placebo: None },
        };
        Step::of(id, "point", &point)
    };
    let charts = charts(
        &Settle::INFO,
        vec![point(25, 0), point(100, 50)],
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
