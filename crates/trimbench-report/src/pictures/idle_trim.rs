//! TRIM of an idle drive: whole, when empty and when full, and what a GB costs.

use super::{Sessions, bars_of, labels};
use crate::chart::{Axis, Chart};

pub(super) fn pictures(sessions: Sessions<'_, '_>) -> Vec<Chart> {
    let whole = [
        ("idle-trim-empty", "empty, in one go"),
        ("idle-trim-full", "full, in one go"),
        ("chunked-empty", "empty, in chunks"),
        ("chunked-full", "full, in chunks"),
    ];
    let each = [("idle-trim", "in one go"), ("chunked", "in chunks")];
    vec![
        chart(("idle-trim-whole", "TRIM of the whole drive"), ("duration", "s"), &whole, sessions),
        chart(
            ("idle-trim-per-gb", "What a GB costs: full less empty"),
            ("cost", "s/GB"),
            &each,
            sessions,
        ),
    ]
}

fn chart(
    (id, title): (&str, &str),
    (axis, unit): (&str, &str),
    bars: &[(&str, &str)],
    sessions: Sessions<'_, '_>,
) -> Chart {
    let x = Axis::of("target", labels(sessions));
    let mut chart = Chart::new(id, title, x, Axis::from_zero(axis, unit));
    chart.horizontal = true;
    chart.describe(
        "Bars for each target. Work that an empty drive does not have is what \
        trimming data costs.",
    );
    for (figure, name) in bars {
        chart.curve(bars_of(name, figure, sessions));
    }
    chart
}
