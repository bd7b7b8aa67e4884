//! TRIM of an idle drive: whole, when empty and when full, and what a GB costs.

use super::{Sessions, bars_of_targets, targets};
use crate::chart::{Axis, Chart};

const WHOLE: [(&str, &str); 4] = [
    ("idle-trim-empty", "empty, in one go"),
    ("idle-trim-full", "full, in one go"),
    ("chunked-empty", "empty, in chunks"),
    ("chunked-full", "full, in chunks"),
];
const EACH: [(&str, &str); 2] = [("idle-trim", "in one go"), ("chunked", "in chunks")];

pub(super) fn pictures(sessions: Sessions<'_, '_>) -> Vec<Chart> {
    let chart = |id, title, y, figures: &[_]| {
        let mut chart = Chart::new(id, title, targets(sessions), y);
        chart.describe(
            "Bars for each target. Work that an empty drive does not have is what \
            trimming data costs.",
        );
        bars_of_targets(&mut chart, figures, None, sessions);
        chart
    };
    let (duration, cost) = (Axis::from_zero("duration", "s"), Axis::from_zero("cost", "s/GB"));
    vec![
        chart("idle-trim-whole", "TRIM of the whole drive", duration, &WHOLE),
        chart("idle-trim-per-gb", "What a GB costs: full less empty", cost, &EACH),
    ]
}
