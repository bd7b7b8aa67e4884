use MetricAxis::{Trimmed, Written};
use trimbench_core::Caveat;
use trimbench_results::{Coordinates, MetricAxis, Outcome};

use crate::style::Style;
use crate::terminal::{Detail, terminal};
use crate::testing::{placed, record, session};

const STYLE: Style = Style { width: 80, colour: false, unicode: false };

#[test]
fn figures_over_a_plane_are_a_table_with_bounds_and_notes() {
    let mut with = session("vendor6", 0.0, [0.0, 0.0]);
    with.figures.truncate(2);
    for (trimmed, written, value) in
        [(50, 0, 0.0), (100, 0, 0.07), (50, 100, 0.34), (100, 100, 2.0)]
    {
        let place = Coordinates::of_measure("settling", "settling time")
            .called(Trimmed, trimmed.to_string(), format!("{trimmed} % trimmed"))
            .called(Written, written.to_string(), format!("{written} % written before"));
        let mut figure = placed(&place.to_string(), place, value, "s");
        if value >= 2.0 {
            figure.caveat(Caveat::WindowTooShort);
        }
        with.figures.push(figure);
    }
    let text = terminal(&record(vec![with], Outcome::Complete), Detail::Full, STYLE);
    let table: Vec<String> = text
        .lines()
        .skip_while(|line| !line.starts_with("settling time"))
        .take(4)
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(table[0], "settling time 50 % trimmed 100 % trimmed note");
    assert_eq!(table[2], "0 % written before 0 s 70 ms");
    assert!(table[3].starts_with("100 % written before 340 ms > 2 s "), "{}", table[3]);
    assert!(!text.contains("% written before,"), "each figure stands there once: {text}");
}
