use trimbench_core::Caveat;
use trimbench_results::{Interval, Outcome, Verdict};

use super::*;
use crate::testing::{detail, figure, placed, record, session};

const WIDE: Style = Style { width: 100, colour: false, unicode: false };

fn shown(change: impl FnOnce(&mut Session), width: usize) -> String {
    let mut session = session("vendor2", 0.412_3, [0.4, 0.43]);
    detail(&mut session);
    change(&mut session);
    let record = record(vec![session], Outcome::Complete);
    let notes = Notes::of(&record);
    figures(&record.sessions[0], &notes, Style { width, ..WIDE }).join("\n")
}

#[test]
fn percentiles_are_those_that_their_coordinates_name() {
    let named = |key: &str| {
        let place = Coordinates::of_measure("response", "responses");
        quantile(&placed("a", place.at(MetricAxis::Quantile, key), 1.0, "s"))
    };
    assert_eq!(named("p99"), Some(Quantile::P99));
    assert_eq!(named("p99.99"), Some(Quantile::P99_99));
    for other in ["99", "p", "p9x", "p99.", "p99.9.9", "p3500", "pinf", "p1e1", "p-9"] {
        assert_eq!(named(other), None, "{other}");
    }
    assert_eq!(quantile(&figure("response-p99", "response time, p99", 1.0, "s")), None);
}

#[test]
fn percentiles_are_columns_and_what_they_are_of_is_rows() {
    let text = shown(|_| (), 80);
    let matrix: Vec<&str> = text.lines().skip_while(|line| !line.contains("p99.9")).collect();
    let expected = [
        "response time after a ...     p50      p99   p99.9       n",
        "--------------------------------------------------------------------------------",
        "deletion, per access       101 us  16.3 ms  720 ms  45,000",
        "deletion, by time spent    101 us  16.3 ms  720 ms  45,000",
        "placebo, per access        101 us  16.3 ms       -  24,000",
        "placebo, by time spent     101 us  16.3 ms       -  24,000",
    ];
    assert_eq!(matrix, expected);
}

#[test]
fn percentiles_of_any_method_share_the_matrix() {
    let text = shown(
        |session| {
            session.figures.clear();
            for (measure, quantile, n) in [
                ("TRIM latency", "p99", 1_000),
                ("TRIM latency", "p5", 2_000),
                ("of reads", "p99", 7),
            ] {
                let place = Coordinates::of_measure(measure, measure);
                let place = place.at(MetricAxis::Quantile, quantile);
                let mut figure = placed(&place.to_string(), place, 0.5, "s");
                figure.n = n;
                session.figures.push(figure);
            }
            session.figures[2].caveat(Caveat::WindowTooShort);
        },
        80,
    );
    let expected = [
        "percentiles       p5     p99               n  note",
        "--------------------------------------------------------------------------------",
        "TRIM latency  500 ms  500 ms  1,000 to 2,000",
        "of reads           -  500 ms               7  2",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_percentile_of_which_more_is_known_keeps_its_line() {
    let text = shown(
        |session| {
            let figures = &mut session.figures;
            let find = |id: &str| figures.iter().position(|figure| figure.id == id).unwrap();
            let (judged, bounded) = (find("response-p99"), find("response-p50"));
            figures[judged].verdict = Some(Verdict::Other("too long".to_owned()));
            figures[bounded].interval = Interval::new(0.1, 0.2, 0.95);
        },
        120,
    );
    let line = |part: &str| text.lines().find(|line| line.contains(part)).unwrap().to_owned();
    assert!(line("p99 of accesses").ends_with("too long"), "{text}");
    assert!(line("p50 of accesses").contains("100 to 200"), "{text}");
}

#[test]
fn neighbours_with_the_same_ending_stand_below_it() {
    let text = shown(|_| (), 80);
    let group: Vec<&str> =
        text.lines().skip_while(|line| *line != "4GB deleted:").skip(1).take(2).collect();
    assert!(group[0].starts_with("  delay A                     0.110 request-s "), "{text}");
    assert!(group[1].starts_with("  longest gap between writes     16 ms "), "{text}");
    assert_eq!(text.matches("4GB deleted").count(), 1);

    let single = shown(|session| session.figures.retain(|figure| figure.id != "largest-gap"), 80);
    assert!(single.contains("delay A, 4GB deleted"), "one alone needs no group: {single}");
}

#[test]
fn only_signed_effects_are_said_to_hold_zero() {
    let text = shown(
        |session| {
            session.figures.clear();
            let table = [
                ("below zero", "s", [-1.0, 1.0]),
                ("change per size", "s/GB", [0.0, 2.0]),
                ("longest gap", "s", [0.0, 2.0]),
                ("exactly zero", "s/GB", [0.0, 0.0]),
                ("clearly above", "s/GB", [0.5, 2.0]),
            ];
            for (title, unit, [low, high]) in table {
                let mut figure = figure("id", title, low, unit);
                figure.interval = Interval::new(low, high, 0.95);
                session.figures.push(figure);
            }
        },
        80,
    );
    let said: Vec<bool> = text.lines().skip(2).map(|line| line.ends_with("  holds 0")).collect();
    assert_eq!(said, [true, true, false, false, false], "{text}");
}

#[test]
fn a_remark_without_room_stands_below_its_figure() {
    let wide = shown(|_| (), 100);
    let line = wide.lines().find(|line| line.starts_with("stutter per GB")).unwrap();
    assert!(line.ends_with("differs from placebo"), "{wide}");
    let narrow = shown(|_| (), 70);
    let mut lines = narrow.lines().skip_while(|line| !line.starts_with("stutter per GB"));
    assert!(lines.next().unwrap().ends_with(" 15"), "{narrow}");
    assert_eq!(lines.next(), Some("    differs from placebo"));
}
