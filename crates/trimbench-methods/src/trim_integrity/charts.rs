//! What trimmed blocks read as.

use trimbench_results::chart::{Axis, Chart, LabelledSession};

const READS: [(&str, &str); 4] = [
    ("trimmed-zeroes-share", "zeroes"),
    ("trimmed-ones-share", "ones"),
    ("trimmed-old-data-share", "old data"),
    ("trimmed-other-share", "anything else"),
];

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    let mut share = Axis::from_zero("share of trimmed blocks", "%");
    share.max = Some(100.0);
    let (title, x) = ("What trimmed blocks read as", Axis::targets(sessions));
    let mut chart = Chart::new("trim-integrity-reads", title, x, share);
    chart.target_bars(&READS, Some("reads"), sessions);
    chart.describe(
        "Of the blocks in wholly trimmed granules, the share that reads as zeroes, \
        ones, the old data or anything else.",
    );
    vec![chart]
}
