use trimbench_core::Caveat;
use trimbench_results::{Coordinates, MetricAxis, Outcome, Verdict};

use crate::style::Style;
use crate::terminal::{Detail, terminal};
use crate::testing::{placed, record, session};

const STYLE: Style = Style { width: 60, colour: false, unicode: false };

#[test]
fn figures_under_different_things_are_tables_as_wide_as_the_terminal() {
    let mut with = session("vendor6", 0.0, [0.0, 0.0]);
    with.figures.truncate(2);
    for (row, base) in [("none", 1.0), ("paced", 2.0)] {
        let columns = ["p50", "p99.9", "write amplification", "left untrimmed", "longest TRIM"];
        for (at, column) in columns.into_iter().enumerate() {
            // One is not there.
            if (row, at) == ("none", 4) {
                continue;
            }
            let place = Coordinates::of_measure(column, column).at(MetricAxis::Policy, row);
            let mut figure = placed(&place.to_string(), place, base + at as f64, "ms");
            if (row, at) == ("paced", 1) {
                figure.verdict = Some(Verdict::Front);
                figure.caveat(Caveat::NoSteadyState);
            }
            with.figures.push(figure);
        }
    }
    let text = terminal(&record(vec![with], Outcome::Complete), Detail::Full, STYLE);
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .skip_while(|line| !line.starts_with("under p50"))
        .collect();
    assert_eq!(lines[0], "under p50 p99.9 write amplification note");
    assert_eq!(lines[2], "none 1 ms 2 ms 3 ms");
    assert!(lines[3].starts_with("paced 2 ms 3 ms 4 ms front; "), "{}", lines[3]);
    assert_eq!(lines[4..6], ["", "under left untrimmed longest TRIM"]);
    assert_eq!(lines[7..9], ["none 4 ms -", "paced 5 ms 6 ms"]);
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    assert_eq!(text.matches("left untrimmed").count(), 1, "each stands there once: {text}");
}
