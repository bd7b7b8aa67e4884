use proptest::prelude::*;

use super::*;

/// The verdict as a reader of the specification would calculate it: the line by the normal
/// equations in plain sums, the rise as the difference of the line's ends.
fn naive(window: &[f64]) -> bool {
    let n = window.len() as f64;
    let (mut x1, mut x2, mut y1, mut xy) = (0.0, 0.0, 0.0, 0.0);
    for (index, y) in window.iter().enumerate() {
        let x = index as f64 + 1.0;
        x1 += x;
        x2 += x * x;
        y1 += y;
        xy += x * y;
    }
    let slope = (n * xy - x1 * y1) / (n * x2 - x1 * x1);
    let intercept = (y1 - slope * x1) / n;
    let (first, last) = (slope + intercept, slope * n + intercept);
    let mut sorted = window.to_vec();
    sorted.sort_by(f64::total_cmp);
    let average = y1 / n;
    let excursion = sorted[sorted.len() - 1] - sorted[0];
    excursion <= 0.2 * average && (last - first).abs() <= 0.1 * average
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_verdict_is_that_of_a_naive_calculation(
        base in 100.0..1e6_f64,
        // Wide enough for both limits to be met and missed.
        parts in prop::collection::vec(-0.14..0.14_f64, 5..30),
        drift in -0.06..0.06_f64,
    ) {
        let rounds: Vec<f64> = parts
            .iter()
            .enumerate()
            .map(|(round, part)| base * (1.0 + part + drift * (round % 7) as f64))
            .collect();
        let expected = (5..=rounds.len()).find(|end| naive(&rounds[end - 5..*end]));
        prop_assert_eq!(Criterion::PTS.steady_at(&rounds), expected);
    }
}

#[test]
fn both_limits_are_limits_of_their_own() {
    let judge = |window: &[f64]| Criterion::PTS.judge(window).unwrap();
    // A wide excursion without a slope.
    let spike = judge(&[100.0, 100.0, 130.0, 100.0, 100.0]);
    assert!(!spike.steady && spike.rise < 1e-12 && spike.excursion > 0.2);
    // A slope within the excursion: 4 x 3 % = 12 %.
    let ramp = judge(&[94.0, 97.0, 100.0, 103.0, 106.0]);
    assert!(!ramp.steady && ramp.excursion < 0.2 && (ramp.rise - 0.12).abs() < 1e-12);
    // Falling counts as rising.
    assert!(!judge(&[106.0, 103.0, 100.0, 97.0, 94.0]).steady);
    assert!(judge(&[98.0, 99.0, 100.0, 101.0, 102.0]).steady);
}

#[test]
fn the_limits_themselves_are_within() {
    // Numbers that are exact in binary: mean 1024.
    let criterion = Criterion { window: 5, excursion_max: 0.25, rise_max: 0.125 };
    let judge = |window: &[f64]| criterion.judge(window).unwrap();
    assert!(judge(&[1024.0, 1152.0, 1024.0, 896.0, 1024.0]).excursion <= 0.25);
    assert!(judge(&[1024.0, 1024.0, 1152.0, 896.0, 1024.0]).steady);
    let ramp = judge(&[960.0, 992.0, 1024.0, 1056.0, 1088.0]);
    assert!(ramp.steady && (ramp.rise - 0.125).abs() < 1e-15);
}

/// Exactly, in integers: with e = max - min, S the sum and N = -2 y0 - y1 + y3 + 2 y4 of a window
/// of five the limits of \[PTS\] are 25 e <= S and 20 |N| <= S.
#[test]
fn a_window_exactly_at_a_limit_is_steady_and_the_least_beyond_it_is_not() {
    // S = 125 and e = 5 without a rise; N = 10 and S = 200, rising and falling.
    for window in [[27, 22, 27, 22, 27], [38, 39, 40, 41, 42], [42, 41, 40, 39, 38]] {
        for scale in 1..20_000 {
            let scaled = window.map(|round| f64::from(round * scale));
            assert_eq!(Criterion::PTS.steady_at(&scaled), Some(5), "{scaled:?}");
            let mut beyond = scaled;
            // The highest: one more of it is one more of `e`, and two more of `N`.
            beyond[if window[0] > window[4] { 0 } else { 4 }] += 1.0;
            assert_eq!(Criterion::PTS.steady_at(&beyond), None, "{beyond:?}");
            // Rounds that are far from steady come before it.
            let before = [1_000, 2_000].map(|round| f64::from(round * scale));
            assert_eq!(Criterion::PTS.steady_at(&[&before[..], &scaled].concat()), Some(7));
        }
    }
}

#[test]
fn too_few_rounds_and_stopped_drives_are_not_steady() {
    assert_eq!(Criterion::PTS.judge_last(&[1.0; 4]), None);
    assert_eq!(Criterion::PTS.steady_at(&[1.0; 4]), None);
    assert_eq!(Criterion::PTS.judge(&[1.0; 6]), None, "a window has five rounds");
    assert_eq!(Criterion::PTS.judge(&[0.0; 5]), None, "nothing is not steady");
    assert_eq!(Criterion::PTS.judge(&[1.0, 1.0, f64::NAN, 1.0, 1.0]), None);
}

#[test]
fn the_window_moves_on_until_it_is_steady() {
    let mut rounds = vec![400.0, 300.0, 200.0, 100.0];
    rounds.extend([100.0; 10]);
    // The first window without a round above 100 ends with the eighth.
    assert_eq!(Criterion::PTS.steady_at(&rounds), Some(8));
    assert_eq!(Criterion::PTS.steady_at(&rounds[..7]), None);
}
