//! TRIM of an idle drive: whole, when empty and when full, and what a GB costs.

use trimbench_results::chart::{Axis, Chart, LabelledSession};

const WHOLE: [(&str, &str); 4] = [
    ("idle-trim-empty", "empty, in one go"),
    ("idle-trim-full", "full, in one go"),
    ("chunked-empty", "empty, in chunks"),
    ("chunked-full", "full, in chunks"),
];
const EACH: [(&str, &str); 2] = [("idle-trim", "in one go"), ("chunked", "in chunks")];

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    let chart = |id, title, y, figures: &[_]| {
        let mut chart = Chart::new(id, title, Axis::targets(sessions), y);
        chart.describe(
            "Bars for each target. Work that an empty drive does not have is what \
            trimming data costs.",
        );
        chart.target_bars(figures, None, sessions);
        chart
    };
    let (duration, cost) = (Axis::from_zero("duration", "s"), Axis::from_zero("cost", "s/GB"));
    vec![
        chart("idle-trim-whole", "TRIM of the span", duration, &WHOLE),
        chart("idle-trim-per-gb", "What a GB costs: full less empty", cost, &EACH),
    ]
}
