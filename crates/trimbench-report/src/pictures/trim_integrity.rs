//! What trimmed blocks read as.

use super::{Sessions, bars_of, labels};
use crate::chart::{Axis, Chart};

const READS: [(&str, &str); 4] = [
    ("trimmed-zeroes-share", "zeroes"),
    ("trimmed-ones-share", "ones"),
    ("trimmed-old-data-share", "old data"),
    ("trimmed-other-share", "anything else"),
];

pub(super) fn pictures(sessions: Sessions<'_, '_>) -> Vec<Chart> {
    let mut share = Axis::from_zero("share of trimmed blocks", "%");
    share.max = Some(100.0);
    let x = Axis::of("target", labels(sessions));
    let mut chart = Chart::new("trim-integrity-reads", "What trimmed blocks read as", x, share);
    chart.horizontal = true;
    chart.describe(
        "Of the blocks in wholly trimmed granules, the share that reads as zeroes, \
        ones, the old data or anything else.",
    );
    for (figure, name) in READS {
        let mut curve = bars_of(name, figure, sessions);
        curve.stack = Some("reads".to_owned());
        chart.curve(curve);
    }
    vec![chart]
}
