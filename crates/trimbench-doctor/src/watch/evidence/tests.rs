use super::*;

#[test]
fn wilsons_interval_is_that_of_the_tables() {
    // E. B. Wilson's formula for 8 of 10, by hand: 0.4902 to 0.9433.
    let [low, high] = wilson(8, 10);
    assert!((low - 0.4902).abs() < 1e-4 && (high - 0.9433).abs() < 1e-4, "{low} {high}");
    let [low, high] = wilson(0, 10);
    assert!(low.abs() < 1e-12 && (high - 0.2775).abs() < 1e-4, "{low} {high}");
}

#[test]
fn units_of_a_place_do_not_overlap() {
    let unit =
        |place, from, to| StallUnit { place, from: Nanos(from), to: Nanos(to), slack: Nanos::ZERO };
    let stalls = vec![unit(0, 5, 20), unit(1, 6, 8), unit(0, 0, 10), unit(0, 10, 12)];
    let expected = [unit(0, 0, 10), unit(0, 10, 12), unit(1, 6, 8)];
    assert_eq!(independent(stalls), expected);
}

#[test]
fn what_reaches_over_the_end_goes_on_at_the_beginning() {
    let busy = BusyIntervals::of(vec![(Nanos(2), Nanos(4))]);
    let meets = |from, to| meets_around(&busy, (Nanos(from), Nanos(to)), Nanos(100));
    assert!(meets(98, 103) && meets(98, 102) && meets(203, 203));
    assert!(!meets(98, 101) && !meets(104, 190));
}
