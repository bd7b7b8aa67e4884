use trimbench_results::Verdict;

use trimbench_engine::MethodDefinition as _;

use super::super::Postmark;
use crate::testing::{charts, curve, find};

#[test]
fn noise_is_drawn_hollow_and_says_so() {
    let charts = charts(
        &Postmark::INFO,
        Vec::new(),
        &[
            ("total-duration-diff-buffered", 16.0, None),
            ("transactions-diff-buffered", 0.2, Some(Verdict::Noise)),
        ],
    );
    let bars = curve(find(&charts, "diff"), "buffered");
    assert_eq!(bars.faint, Some(vec![false, true]));
    assert_eq!(bars.labels, Some(vec![String::new(), "noise".to_owned()]));
}
