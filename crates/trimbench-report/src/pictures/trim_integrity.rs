//! What trimmed blocks read as.

use super::{Sessions, bars_of_targets, targets};
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
    let (title, x) = ("What trimmed blocks read as", targets(sessions));
    let mut chart = Chart::new("trim-integrity-reads", title, x, share);
    bars_of_targets(&mut chart, &READS, Some("reads"), sessions);
    chart.describe(
        "Of the blocks in wholly trimmed granules, the share that reads as zeroes, \
        ones, the old data or anything else.",
    );
    vec![chart]
}
