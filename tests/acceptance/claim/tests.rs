use super::{Bar, short};

const NEAR: Bar = Bar::Near { value: 7.801_28, share: 0.005 };

#[test]
fn a_bar_is_met_up_to_and_including_its_edge() {
    for (bar, figure, holds) in [
        (Bar::AtMost(20.0), 20.0, true),
        (Bar::AtMost(20.0), 20.001, false),
        (Bar::AtLeast(0.2), 0.2, true),
        (Bar::AtLeast(0.2), 0.199, false),
        (Bar::Within(1.98, 2.02), 1.98, true),
        (Bar::Within(1.98, 2.02), 2.02, true),
        (Bar::Within(1.98, 2.02), 2.03, false),
        (Bar::Equals(0.0), 0.0, true),
        (Bar::Equals(0.0), 1.0, false),
        (Bar::Near { value: 2.0, share: 0.01 }, 2.019, true),
        (Bar::Near { value: 2.0, share: 0.01 }, 1.979, false),
        (Bar::Near { value: -2.0, share: 0.01 }, -2.01, true),
    ] {
        assert_eq!(bar.holds(figure), holds, "{figure} {bar}");
    }
}

#[test]
fn what_is_no_number_meets_no_bar() {
    for bar in [Bar::AtMost(1.0), Bar::AtLeast(1.0), Bar::Within(0.0, 1.0), Bar::Equals(1.0), NEAR]
    {
        assert!(!bar.holds(f64::NAN), "{bar}");
    }
}

#[test]
fn a_bar_reads_as_a_relation() {
    assert_eq!(Bar::AtMost(180.0).to_string(), "<= 180");
    assert_eq!(Bar::Within(1.98, 2.02).to_string(), "1.98 .. 2.02");
    assert_eq!(NEAR.to_string(), "7.8013 +- 0.5 %");
    assert_eq!(Bar::Near { value: 1.0, share: 1e-9 }.to_string(), "1 +- 0.0000001 %");
}

#[test]
fn figures_are_short_and_not_rounded_to_nothing() {
    for (value, text) in [
        (0.0, "0"),
        (7.0, "7"),
        (100.0, "100"),
        (0.25, "0.25"),
        (12.345_67, "12.3457"),
        (f64::NAN, "NaN"),
    ] {
        assert_eq!(short(value), text);
    }
}
