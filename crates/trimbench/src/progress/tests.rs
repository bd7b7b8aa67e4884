use super::*;

fn style(unicode: bool) -> Style {
    Style { width: 80, colour: false, unicode }
}

#[test]
fn the_line_shows_the_last_steps_and_the_running_figure() {
    let mut live = Live::default();
    assert_eq!(live.line(style(true)), "");
    for index in 1..=20 {
        let index = f64::from(index);
        live.add(LiveFigures {
            throughput: None,
            latency: Some((index / 1e3, "s")),
            headline: Some(("stutter", 0.5, "s")),
        });
    }
    assert_eq!(live.line(style(true)), "▄▄▄▅▅▅▆▆▆▇▇█ 20 ms  stutter 500 ms");
    assert_eq!(live.line(style(false)).find(|letter: char| !letter.is_ascii()), None);
    let (throughput, latency) = (Some((523.0, "MB/s")), Some((2e6, "ns")));
    live.add(LiveFigures { throughput, latency, headline: None });
    // Another unit begins another curve.
    assert_eq!(live.line(style(true)), "█ 523 MB/s  █ 2 ms  stutter 500 ms");
    // What a step did not measure stays as it was.
    live.add(LiveFigures::default());
    assert_eq!(live.line(style(true)), "█ 523 MB/s  █ 2 ms  stutter 500 ms");
}

#[test]
fn the_line_is_never_wider_than_the_terminal() {
    let mut live = Live::default();
    for index in 0..20 {
        let value = 123_456.0 + f64::from(index);
        live.add(LiveFigures {
            throughput: Some((value, "MB/s")),
            latency: Some((value, "s")),
            headline: Some(("write amplification", value, "")),
        });
    }
    assert!(live.line(style(true)).chars().count() < 80);
    let narrow = live.line(Style { width: 40, ..style(true) });
    assert_eq!(narrow.chars().count(), 39);
}

#[test]
fn a_span_is_said_in_the_unit_that_suits_it() {
    let table = [
        (1, "1 s"),
        (119_000_000_000, "119 s"),
        (120_000_000_000, "2 min"),
        (7_199_000_000_000, "120 min"),
        (7_260_000_000_000, "2 h 1 min"),
        (345_600_000_000_000, "96 h 0 min"),
    ];
    for (nanoseconds, expected) in table {
        assert_eq!(span(Duration::from_nanos(nanoseconds)), expected);
    }
}

#[test]
fn the_bar_reads_well_at_any_width() {
    let table = [
        (80, 30.0, 90.0, "[======                  ] 30 s so far, 90 s left  1/3 recovery on a"),
        (60, 30.0, 90.0, "[==        ] 30 s so far, 90 s left"),
        (40, 30.0, 90.0, "[==        ] 30 s so far, 90 s left"),
        (40, 7_260.0, 86_400.0, "2 h 1 min so far, 24 h 0 min left"),
        (20, 30.0, 90.0, "30 s so far, 90 s l"),
        (80, 0.0, 0.0, "[                        ] 0 s so far, 0 s left  1/3 recovery on a"),
        (1, 0.0, 0.0, ""),
    ];
    for (width, elapsed, left, expected) in table {
        assert_eq!(line(width, (elapsed, left), "1/3 recovery on a"), expected);
    }
}
