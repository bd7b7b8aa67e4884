//! Intervals: against exhaustive enumeration, against each other, and by simulation.

use std::collections::BTreeMap;

use super::*;
use crate::statistics::kendall::{EXACT_POINTS, arrangements, tail_count};

/// A seeded number in [0, 1).
fn uniform(rng: &mut Rng) -> f64 {
    (rng.bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Noise as latencies have it: mostly narrow, one in ten 30 times as wide, skewed.
fn heavy_tailed(rng: &mut Rng) -> f64 {
    let scale = if uniform(rng) < 0.1 { 30.0 } else { 1.0 };
    -scale * (1.0 - uniform(rng)).ln()
}

fn add_noise(points: &mut [(f64, f64)], rng: &mut Rng) {
    for point in points {
        point.1 += heavy_tailed(rng);
    }
}

/// Falling pairs by trying every order of y, Heap's way.
fn arrangements_by_enumeration(groups: &[u64]) -> BTreeMap<usize, i128> {
    let group_of: Vec<usize> = groups
        .iter()
        .enumerate()
        .flat_map(|(group, &count)| vec![group; usize::try_from(count).unwrap()])
        .collect();
    let mut counts = BTreeMap::new();
    let mut order: Vec<usize> = (0..group_of.len()).collect();
    permute(&mut order, 0, &mut |order| {
        let mut falling = 0;
        for left in 0..order.len() {
            for right in left + 1..order.len() {
                let pair = group_of[left] != group_of[right] && order[left] > order[right];
                falling += usize::from(pair);
            }
        }
        *counts.entry(falling).or_insert(0) += 1;
    });
    counts
}

fn permute(order: &mut Vec<usize>, from: usize, visit: &mut impl FnMut(&[usize])) {
    if from == order.len() {
        return visit(order);
    }
    for other in from..order.len() {
        order.swap(from, other);
        permute(order, from + 1, visit);
        order.swap(from, other);
    }
}

#[test]
fn arrangements_equal_those_of_every_order() {
    let cases: [&[u64]; 6] = [&[1, 1, 1, 1, 1], &[3, 3], &[2, 2, 2], &[1, 3, 2, 1], &[4], &[1, 6]];
    for groups in cases {
        let tied: i128 = groups.iter().map(|&t| (1..=i128::from(t)).product::<i128>()).product();
        let expected = arrangements_by_enumeration(groups);
        for (falling, count) in arrangements(groups).into_iter().enumerate() {
            // Enumeration tells equal x apart: it meets each arrangement once for every order in
            // their groups.
            let enumerated = expected.get(&falling).copied().unwrap_or(0);
            assert_eq!(count * tied, enumerated, "{groups:?}, {falling} falling");
        }
    }
}

#[test]
fn arrangements_of_the_most_points_are_counted_without_overflow() {
    let counts = arrangements(&[1; 32]);
    let factorial: i128 = (1..=32).product();
    assert_eq!(counts.iter().sum::<i128>(), factorial);
    assert_eq!(counts.len(), 32 * 31 / 2 + 1);
    assert!(counts.iter().eq(counts.iter().rev()), "falling and rising are alike");
}

#[test]
fn the_rank_for_five_sizes_three_times_is_that_of_the_exact_distribution() {
    // Sen's normal approximation gives floor((90 - 1.96 * sqrt(390)) / 2) = 25.
    let exact = tail_count(&[3; 5], 0.025).unwrap();
    let counts = arrangements(&[3; 5]);
    let total: i128 = counts.iter().sum();
    let below = |k: usize| counts[..k].iter().sum::<i128>() as f64 / total as f64;
    assert!(below(exact) <= 0.025 && below(exact + 1) > 0.025);
    assert!(exact.abs_diff(25) <= 1, "{exact}");
}

#[test]
fn the_approximation_takes_over_where_counting_ends() {
    let approximate = |groups: &[u64]| {
        let n: f64 = groups.iter().sum::<u64>() as f64;
        let ties: f64 =
            groups.iter().map(|&t| t as f64).map(|t| t * (t - 1.0) * (2.0 * t + 5.0)).sum();
        let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
        let tied: f64 = groups.iter().map(|&t| t as f64 * (t as f64 - 1.0) / 2.0).sum();
        (n * (n - 1.0) / 2.0 - tied - 1.959_964 * variance.sqrt()) / 2.0
    };
    assert_eq!(EXACT_POINTS, 32);
    let cases: [&[u64]; 4] = [&[4; 8], &[1; 32], &[11, 11, 11], &[1; 60]];
    for groups in cases {
        let rank = tail_count(groups, 0.025).unwrap() as f64;
        assert!((rank - approximate(groups)).abs() <= 1.5, "{groups:?}: {rank}");
    }
}

#[test]
fn the_interval_needs_five_sizes_or_three_twice() {
    let noisy = |xs: &[f64]| -> Vec<(f64, f64)> {
        xs.iter().enumerate().map(|(i, &x)| (x, [3.0, 1.0, 4.0, 1.5, 5.0, 9.0][i])).collect()
    };
    assert!(sen_interval(&noisy(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.95).is_some());
    assert!(sen_interval(&noisy(&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]), 0.95).is_some());
    assert_eq!(sen_interval(&noisy(&[1.0, 2.0, 3.0, 4.0]), 0.95), None);
    assert_eq!(sen_interval(&noisy(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), 0.95), None);
    for level in [0.0, 1.0, -0.5, f64::NAN] {
        assert_eq!(sen_interval(&noisy(&[1.0, 2.0, 3.0, 4.0, 5.0]), level), None);
    }
}

#[test]
fn five_points_give_the_extreme_slopes() {
    // 10 slopes; P(no falling pair) = 1/120 and P(at most one) = 5/120 > 2.5 %: k = 1.
    let points = [(0.0, 0.0), (1.0, 1.0), (2.0, 5.0), (3.0, 6.0), (4.0, 3.0)];
    assert_eq!(sen_interval(&points, 0.95), Interval::new(-3.0, 4.0, 0.95));
}

#[test]
fn the_interval_covers_the_slope_as_often_as_it_says() {
    let (slope, repetitions) = (0.25, 4_000);
    let mut rng = Rng::new(20_261_120).split("coverage");
    let (mut covered, mut width) = (0, 0.0);
    for _ in 0..repetitions {
        let mut points = curve(&[0.0, 1.0, 2.0, 4.0, 8.0], 3, [0.0, slope, 0.0]);
        add_noise(&mut points, &mut rng);
        let interval = sen_interval(&points, 0.95).unwrap();
        covered += u32::from(interval.contains(slope));
        width += interval.high - interval.low;
    }
    let share = f64::from(covered) / f64::from(repetitions);
    // At least 95 % by construction, and not much more: a useless wide interval also covers.
    // The standard error of the share is 0.35 %.
    assert!((0.94..=0.97).contains(&share), "covered {share}, mean width {}", width / 4_000.0);
}

#[test]
fn the_bootstrap_resamples_within_each_x_and_by_its_seed_only() {
    let mut rng = Rng::new(3);
    let mut points = curve(&[1.0, 2.0, 4.0], 4, [0.0, 2.0, 0.0]);
    add_noise(&mut points, &mut rng);
    let run = |seed: u64| {
        bootstrap_interval(&points, &mut Rng::new(seed), Bootstrap::default(), |drawn| {
            let xs: Vec<f64> = drawn.iter().map(|point| point.0).collect();
            assert_eq!(xs, [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0, 4.0]);
            theil_sen(drawn).map(|line| line.slope)
        })
    };
    let interval = run(9).unwrap();
    assert_eq!(run(9), Some(interval));
    assert_ne!(run(10), Some(interval));
    assert!(interval.contains(theil_sen(&points).unwrap().slope));
}

#[test]
fn the_bootstrap_of_an_exact_line_is_the_line() {
    let points = curve(&[1.0, 2.0, 4.0], 3, [1.0, 2.0, 0.0]);
    let slope = |points: &[(f64, f64)]| theil_sen(points).map(|line| line.slope);
    let interval = bootstrap_interval(&points, &mut Rng::new(1), Bootstrap::default(), slope);
    assert_eq!(interval, Interval::new(2.0, 2.0, 0.95));
}

#[test]
fn the_bootstrap_of_a_mean_agrees_with_theory() {
    let mut rng = Rng::new(5);
    let (mut covered, mut width) = (0, 0.0);
    let bootstrap = Bootstrap { resamples: 400, level: 0.95 };
    for _ in 0..500 {
        let values: Vec<f64> = (0..100).map(|_| uniform(&mut rng)).collect();
        let interval = bootstrap_mean(&values, &mut rng, bootstrap).unwrap();
        covered += u32::from(interval.contains(0.5));
        width += (interval.high - interval.low) / 500.0;
    }
    // Uniform in [0, 1): the mean of 100 has a standard deviation of 0.0289, and the interval is
    // 2 * 1.96 of it wide (2 * 1.64 at 90 %, which would be 0.095).
    assert!((0.109..0.116).contains(&width), "{width}");
    // 95 % of 500 is 475; the standard deviation is 5.
    assert!((460..=490).contains(&covered), "{covered}");
}

#[test]
fn the_ratio_of_medians_is_that_of_the_two_samples() {
    let ratio = |above: &[f64], below: &[f64]| {
        bootstrap_ratio_of_medians(above, below, &mut Rng::new(1), Bootstrap::default())
    };
    assert_eq!(ratio(&[6.0; 4], &[3.0; 5]), Interval::new(2.0, 2.0, 0.95));
    let interval = ratio(&[5.0, 6.0, 7.0, 6.5, 5.5], &[2.0, 3.0, 4.0]).unwrap();
    assert!(interval.contains(2.0));
    // The extremes of the resampled medians: 5/4 and 7/2.
    assert!(interval.low >= 1.25 && interval.high <= 3.5);
    assert_eq!(ratio(&[6.0; 4], &[0.0; 5]), None);
    assert_eq!(ratio(&[6.0; 4], &[3.0; 2]), None);
    assert_eq!(ratio(&[f64::NAN; 4], &[3.0; 5]), None);
}

#[test]
fn a_statistic_that_fails_on_a_tenth_of_the_resamples_has_no_interval() {
    let points = curve(&[1.0, 2.0, 3.0], 2, [0.0; 3]);
    let failing_every = |period: u32| {
        let calls = std::cell::Cell::new(0_u32);
        bootstrap_interval(&points, &mut Rng::new(1), Bootstrap::default(), |_| {
            calls.set(calls.get() + 1);
            (!calls.get().is_multiple_of(period)).then_some(1.0)
        })
    };
    assert_eq!(failing_every(9), None);
    assert_eq!(failing_every(11), Interval::new(1.0, 1.0, 0.95));
}

#[test]
fn what_cannot_be_resampled_has_no_interval() {
    let mut rng = Rng::new(1);
    let slope = |points: &[(f64, f64)]| theil_sen(points).map(|line| line.slope);
    let single = curve(&[1.0, 2.0, 3.0], 1, [0.0; 3]);
    let options = Bootstrap::default();
    assert_eq!(bootstrap_interval(&single, &mut rng, options, slope), None);
    assert_eq!(bootstrap_interval(&single[..2], &mut rng, options, slope), None);
    let twice = curve(&[1.0, 2.0, 3.0], 2, [0.0; 3]);
    assert_eq!(bootstrap_interval(&twice, &mut rng, options, |_| None), None);
    for options in [
        Bootstrap { resamples: 99, ..options },
        Bootstrap { level: 0.0, ..options },
        Bootstrap { level: f64::NAN, ..options },
    ] {
        assert_eq!(bootstrap_interval(&twice, &mut rng, options, slope), None);
    }
    assert_eq!(bootstrap_mean(&[1.0, 2.0], &mut rng, options), None);
    assert_eq!(bootstrap_mean(&[1.0, 2.0, f64::NAN], &mut rng, options), None);
}
