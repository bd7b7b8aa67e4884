use trimbench_core::rng::Rng;
use trimbench_engine::testing::figure;

use super::*;

const SIZES: [f64; 5] = [0.25, 0.5, 0.75, 1.0, 1.25];

/// Three pairs of each size whose difference is `effect` of the size, and noise between -1 and 1
/// ms.
fn pairs(seed: u64, effect: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut rng = Rng::new(seed);
    let mut noise = || (rng.below(2_001) as f64 - 1_000.0) / 1e6;
    SIZES.iter().flat_map(|&size| [size; 3]).map(|size| (size, effect(size) + noise())).collect()
}

fn verdict_of(points: &[(f64, f64)]) -> Verdict {
    figure(&stutter(points), "stutter").verdict.clone().unwrap()
}

fn is_none(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::NoSlowdownFound { .. } | Verdict::NothingToNotice)
}

#[test]
fn where_a_deletion_changes_nothing_one_run_in_20_says_otherwise() {
    // Of 2,000, 100 are expected, with a standard deviation of 10; the test is discrete, so fewer.
    let false_ones = (0..2_000).filter(|&seed| !is_none(&verdict_of(&pairs(seed, |_| 0.0))));
    let count = false_ones.count();
    assert!((30..=120).contains(&count), "{count} of 2,000");
}

#[test]
fn so_does_noise_that_grows_with_the_size() {
    let of = |seed| pairs(seed, |_| 0.0).into_iter().map(|(x, y)| (x, y * x * 4.0)).collect();
    let false_ones = (0..2_000).filter(|&seed| {
        let points: Vec<(f64, f64)> = of(seed);
        !is_none(&verdict_of(&points))
    });
    let count = false_ones.count();
    assert!(count <= 120, "{count} of 2,000");
}

#[test]
fn nine_of_ten_runs_find_a_slowdown_at_the_limit_and_nearly_all_twice_that() {
    let limits: Vec<f64> = (0..200)
        .map(|seed| figure(&stutter(&pairs(seed, |_| 0.0)), "detection-limit").value)
        .collect();
    let limit = limits.iter().sum::<f64>() / 200.0;
    let found = |slope: f64| {
        let runs = (1_000..1_200).map(|seed| verdict_of(&pairs(seed, |size| slope * size)));
        runs.filter(|verdict| !is_none(verdict)).count()
    };
    assert!((160..=199).contains(&found(limit)), "{} of 200 at {limit} s/GB", found(limit));
    assert!(found(2.0 * limit) >= 198, "{} of 200", found(2.0 * limit));
}

#[test]
fn a_slope_below_zero_is_invalid_beyond_its_interval_only() {
    let found = stutter(&pairs(1, |size| -0.02 * size));
    let headline = figure(&found, "stutter");
    assert_eq!(headline.verdict, Some(Verdict::FasterThanPlacebo));
    assert_eq!(headline.caveats, [Caveat::FasterThanPlacebo.id()]);
    assert!(Caveat::FasterThanPlacebo.invalidates());
    let within = verdict_of(&[(0.5, 0.0), (1.0, 0.01), (1.5, -0.02), (2.0, 0.01), (2.5, -0.02)]);
    assert!(matches!(within, Verdict::NoSlowdownFound { .. }), "{within:?}");
}

#[test]
fn the_bound_of_a_slowdown_is_that_of_the_interval_rounded_up() {
    let interval = Interval::new(-0.004, 0.003_1, LEVEL).unwrap();
    let at_most = "0.004 s/GB".to_owned();
    assert_eq!(verdict(-0.001, interval, None), Verdict::NoSlowdownFound { at_most });
    let below = Interval::new(-0.004, -0.000_1, LEVEL).unwrap();
    let at_most = "0.000 s/GB".to_owned();
    assert_eq!(verdict(-0.000_4, below, None), Verdict::NoSlowdownFound { at_most });
}

#[test]
fn a_cost_of_any_deletion_is_told_from_one_that_may_grow() {
    let flat = pairs(3, |_| 0.02).into_iter().map(|(x, y)| (x, y / 50.0)).collect::<Vec<_>>();
    let flat: Vec<_> = flat.into_iter().map(|(x, y)| (x, y + 0.02)).collect();
    assert_eq!(verdict_of(&flat), Verdict::StallsAtAnySize);
    let wide: Vec<_> = pairs(3, |_| 0.0).into_iter().map(|(x, y)| (x, y * 8.0 + 0.02)).collect();
    assert_eq!(verdict_of(&wide), Verdict::StallsBySizeOrNot);
}

#[test]
fn few_points_say_that_they_are_few() {
    let found = stutter(&[(1.0, 0.1), (2.0, 0.2)]);
    let headline = figure(&found, "stutter");
    assert_eq!((headline.verdict.as_ref(), headline.interval), (None, None));
    assert_eq!(headline.caveats, [Caveat::TooFewPoints.id()]);
    assert!(found.iter().all(|figure| figure.id != "detection-limit"));
}
