use trimbench_results::Verdict;

use trimbench_engine::MethodDefinition as _;

use super::super::PolicyLab;
use crate::testing::{charts, curve, find};

#[test]
fn the_policies_that_are_not_beaten_are_joined_and_one_is_to_choose() {
    let charts = charts(
        &PolicyLab::INFO,
        Vec::new(),
        &[
            ("p99.9-under-none", 5.0, Some(Verdict::Front)),
            ("amplification-under-none", 2.0, None),
            ("p99.9-under-ext4-4.13", 900.0, None),
            ("amplification-under-ext4-4.13", 1.5, None),
            ("p99.9-under-paced", 10.0, Some(Verdict::ToChoose)),
            ("amplification-under-paced", 1.2, None),
        ],
    );
    let chart = find(&charts, "pareto");
    assert_eq!(curve(chart, "not beaten").x, [5.0, 10.0]);
    for (name, x, y) in
        [("none", 5.0, 2.0), ("paced (to choose)", 10.0, 1.2), ("ext4-4.13", 900.0, 1.5)]
    {
        let point = curve(chart, name);
        assert_eq!((point.x.as_slice(), point.y.as_slice()), (&[x][..], &[Some(y)][..]), "{name}");
    }
}
