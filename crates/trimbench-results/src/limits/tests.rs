use trimbench_core::Caveat;

use super::*;
use crate::metric::Direction;
use crate::record::Figure;
use crate::testing::{figure, record};

fn session(figures: Vec<Figure>) -> Session {
    crate::testing::session("delete-stall", figures)
}

/// Judges one figure by one limit.
fn holds(limit: &str, value: f64, unit: &'static str) -> Result<bool, LimitError> {
    let record = record(vec![session(vec![figure("response-p99.9", value, unit)])]);
    Ok(evaluate(&record, &[limit.parse()?], |_, _| true)?[0].holds)
}

#[test]
fn limits_are_read_as_written() {
    let table = [
        ("p99.9=5ms", "p99.9", 5.0, "ms"),
        ("stutter=0.1s/GB", "stutter", 0.1, "s/GB"),
        (" stutter <= 0.1 s/GB ", "stutter", 0.1, "s/GB"),
        ("stutter=0", "stutter", 0.0, ""),
        ("gain=-2.5%", "gain", -2.5, "%"),
        ("rate=5 1/s", "rate", 5.0, "1/s"),
    ];
    for (text, figure, value, unit) in table {
        let limit: Limit = text.parse().unwrap();
        let expected = Limit { figure: figure.to_owned(), value, unit: unit.to_owned() };
        assert_eq!(limit, expected, "{text}");
        assert_eq!(limit.to_string().parse(), Ok(expected));
    }
}

#[test]
fn what_is_no_limit_says_why() {
    let message = |text: &str| text.parse::<Limit>().unwrap_err().to_string();
    assert_eq!(message("p99.9"), "`p99.9` is not a limit; write for example `p99.9=5ms`");
    assert_eq!(message("=5ms"), "`=5ms` is not a limit; write for example `p99.9=5ms`");
    assert_eq!(message("a="), "`a=` is not a limit; write for example `p99.9=5ms`");
    let unknown = LimitError::UnknownUnit { unit: "1".to_owned() };
    assert_eq!("a=0. 1".parse::<Limit>(), Err(unknown));
    for text in ["a>=5ms", "a>5ms", "a<5ms"] {
        assert!(message(text).contains("means \"at most\""), "{text}");
    }
    for text in ["a=ms", "a=1.2.3ms", "a=5-3ms", "a=NaN", "a=inf", "a=--5ms"] {
        assert!(message(text).contains("does not begin with a number"), "{text}");
    }
    for text in ["a=5parsec", "a=1e3ms", "a=5s/GB/s", "a=5K"] {
        assert!(message(text).contains("is not a unit here"), "{text}");
    }
}

#[test]
fn a_limit_means_at_most_in_any_unit_of_the_quantity() {
    let table = [
        ("p99.9=5ms", 5.0, "ms", true),
        ("p99.9=5ms", 5.000_001, "ms", false),
        ("p99.9=5ms", 0.004, "s", true),
        ("p99.9=5ms", 0.006, "s", false),
        ("p99.9=5000us", 4_900_000.0, "ns", true),
        ("response-p99.9=5ms", 4.0, "ms", true),
        ("p99.9=0.1s/GB", 0.2, "ms/MB", false),
        ("p99.9=0.3s/GB", 0.2, "ms/MB", true),
        ("p99.9=1s/GiB", 0.94, "s/GB", false),
        ("p99.9=1s/GiB", 0.93, "s/GB", true),
        ("p99.9=5%", 0.04, "", true),
        ("p99.9=0", 0.0, "s/GB", true),
        ("p99.9=0", 0.001, "s/GB", false),
        ("p99.9=900IOPS", 1_000.0, "commands/s", false),
        ("p99.9=1ms", -3.0, "ms", true),
        ("p99.9=1ms/GB^2", 0.002, "s/GB^2", false),
    ];
    for (limit, value, unit, expected) in table {
        assert_eq!(holds(limit, value, unit), Ok(expected), "{limit} on {value} {unit}");
    }
}

#[test]
fn quantities_that_differ_are_not_compared() {
    let missing = holds("p99.9=5", 0.0, "ms");
    assert!(matches!(missing, Err(LimitError::NoUnit { .. })), "{missing:?}");
    for (limit, unit) in [("p99.9=5ms", "s/GB"), ("p99.9=5ms", "furlong")] {
        assert!(
            matches!(holds(limit, 0.0, unit), Err(LimitError::OtherQuantity { .. })),
            "{limit} on {unit}"
        );
    }
}

#[test]
fn a_missing_figure_fails_its_limit() {
    let with = session(vec![figure("stutter", 0.1, "s/GB")]);
    let record_with_gap = record(vec![with, session(Vec::new())]);
    let limit: Limit = "stutter=1s/GB".parse().unwrap();
    let outcomes = evaluate(&record_with_gap, std::slice::from_ref(&limit), |_, _| true).unwrap();
    assert_eq!(outcomes.len(), 2);
    assert!(outcomes[0].holds && !outcomes[1].holds);
    assert_eq!((outcomes[1].session, outcomes[1].value), (1, None));

    // A percentile from too few samples is missing, not misspelt; so is all of an empty run.
    let percentile: Limit = "p99.99=1s".parse().unwrap();
    assert!(!evaluate(&record_with_gap, &[percentile], |_, _| true).unwrap()[0].holds);
    assert!(!evaluate(&record(vec![session(Vec::new())]), &[limit], |_, _| true).unwrap()[0].holds);
}

#[test]
fn a_value_that_is_no_number_does_not_hold() {
    let mut figure = figure("stutter", 0.0, "s/GB");
    figure.value = f64::NAN;
    let record = record(vec![session(vec![figure])]);
    let outcomes = evaluate(&record, &["stutter=1s/GB".parse().unwrap()], |_, _| true).unwrap();
    assert!(!outcomes[0].holds);
}

#[test]
fn an_invalid_figure_or_session_fails_its_limit() {
    let limits = ["stutter=1s/GB".parse().unwrap()];
    let mut session = session(vec![figure("stutter", 0.1, "s/GB")]);
    session.caveats.push(Caveat::Emulated.id().to_owned());
    assert!(evaluate(&record(vec![session.clone()]), &limits, |_, _| true).unwrap()[0].holds);
    let mut spoiled = session.clone();
    spoiled.figures[0].caveat(Caveat::DiscardsIncomplete);
    assert!(!evaluate(&record(vec![spoiled]), &limits, |_, _| true).unwrap()[0].holds);
    session.caveats.push(Caveat::WindowTooShort.id().to_owned());
    assert!(!evaluate(&record(vec![session]), &limits, |_, _| true).unwrap()[0].holds);
}

#[test]
fn what_an_overloaded_drive_could_not_be_measured_for_is_not_judged() {
    let limits: Vec<Limit> =
        ["loaded-max=1s", "trim-max=1s"].map(|text| text.parse().unwrap()).to_vec();
    let mut session = session(vec![figure("trim-max", 0.1, "s")]);
    let mut step = crate::Step::new("load-alone", "load-alone");
    step.caveat(Caveat::Overloaded);
    session.steps.push(step);
    let outcomes = evaluate(&record(vec![session.clone()]), &limits, |_, _| true).unwrap();
    assert!(!outcomes[0].holds, "nothing passes by not being measured");
    assert_eq!(outcomes[0].unmeasured, Some(Caveat::Overloaded));
    assert!(outcomes[1].holds && outcomes[1].unmeasured.is_none());
    // Without that reason a figure that no session has is a slip of the pen.
    session.steps.clear();
    let error = evaluate(&record(vec![session]), &limits, |_, _| true).unwrap_err();
    assert!(matches!(error, LimitError::UnknownFigure { .. }));
}

#[test]
fn the_worst_of_the_named_figures_decides() {
    let figures = vec![
        figure("probe-p99", 1.0, "ms"),
        figure("load-p99", 9.0, "ms"),
        figure("trim-p99", 2_000.0, "us"),
        figure("probe-p99.9", 99.0, "ms"),
    ];
    let outcomes =
        evaluate(&record(vec![session(figures)]), &["p99=5ms".parse().unwrap()], |_, _| true)
            .unwrap();
    assert_eq!(outcomes[0].figure.as_deref(), Some("load-p99"));
    assert_eq!(outcomes[0].value, Some(9.0));
    assert!(!outcomes[0].holds);
}

#[test]
fn an_unknown_figure_comes_with_the_nearest_known_one() {
    let record =
        record(vec![session(vec![figure("stutter", 0.1, "s/GB"), figure("overdue", 0.1, "s/GB")])]);
    let unknown = |text: &str| {
        evaluate(&record, &[text.parse().unwrap()], |_, _| true).unwrap_err().to_string()
    };
    assert_eq!(unknown("stuter=1s/GB"), "no figure is called `stuter`; did you mean `stutter`?");
    assert_eq!(unknown("zzz=1s/GB"), "no figure is called `zzz`");
    // Part of a word is no name.
    assert!(unknown("utter=1s/GB").starts_with("no figure is called `utter`"));
    let limit: Limit = "stutter=1s/GB".parse().unwrap();
    let stutter = |unit| Metric::member("stutter", "", unit, Direction::Lower);
    let other = Metric::member("a", "", "ms", Direction::Lower);
    assert_eq!(limit.check_metrics(&[other.clone(), stutter("ms/MB")]), Ok(()));
    assert!(matches!(limit.check_metrics(&[other]), Err(LimitError::UnknownFigure { .. })));
    let quantity = limit.check_metrics(&[stutter("ms")]);
    assert!(matches!(quantity, Err(LimitError::OtherQuantity { .. })));
}
