use proptest::prelude::*;
use trimbench_core::rng::Rng;

use super::*;
use crate::record::Interval;

mod intervals;

/// Points of `y = intercept + slope x + bend x^2` at `xs`, `repeats` times each.
fn curve(xs: &[f64], repeats: usize, [intercept, slope, bend]: [f64; 3]) -> Vec<(f64, f64)> {
    xs.iter().flat_map(|&x| vec![(x, intercept + slope * x + bend * x * x); repeats]).collect()
}

fn is_close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * (1.0 + left.abs().max(right.abs()))
}

/// Few distinct x, so that ties are common.
fn points(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(f64, f64)>> {
    let point = (0_i32..6, -1e3..1e3_f64).prop_map(|(x, y)| (f64::from(x), y));
    prop::collection::vec(point, count)
}

/// The median by definition: as many values above as below.
fn median_by_counting(values: &[f64]) -> f64 {
    let mut rest = values.to_vec();
    while rest.len() > 2 {
        for extreme in [f64::max, f64::min] {
            let bound = rest.iter().copied().reduce(extreme).unwrap();
            let position = rest.iter().position(|value| value.to_bits() == bound.to_bits());
            rest.swap_remove(position.unwrap());
        }
    }
    rest.iter().sum::<f64>() / rest.len() as f64
}

proptest! {
    #[test]
    fn the_median_has_half_the_values_on_either_side(
        values in prop::collection::vec(-1e6..1e6_f64, 1..60),
    ) {
        prop_assert!(is_close(median(&values).unwrap(), median_by_counting(&values)));
    }

    #[test]
    fn the_line_is_the_median_of_all_pairs(points in points(0..25)) {
        let mut slopes = Vec::new();
        for (i, a) in points.iter().enumerate() {
            for (j, b) in points.iter().enumerate() {
                // Every pair twice: the median is the same.
                if i != j && (a.0 - b.0).abs() > 0.5 {
                    slopes.push((a.1 - b.1) / (a.0 - b.0));
                }
            }
        }
        let line = theil_sen(&points);
        prop_assert_eq!(line.is_some(), !slopes.is_empty());
        if let Some(line) = line {
            let slope = median_by_counting(&slopes);
            prop_assert!(is_close(line.slope, slope));
            let offsets: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
            prop_assert!(is_close(line.intercept, median_by_counting(&offsets)));
        }
    }

    #[test]
    fn curvature_is_the_median_of_all_parabolas_through_three_points(points in points(0..14)) {
        let mut bends = Vec::new();
        for (i, &(x0, y0)) in points.iter().enumerate() {
            for (j, &(x1, y1)) in points.iter().enumerate().skip(i + 1) {
                for &(x2, y2) in &points[j + 1..] {
                    let distinct = [x0 - x1, x1 - x2, x2 - x0].iter().all(|d| d.abs() > 0.5);
                    if distinct {
                        // Lagrange's form of the leading coefficient.
                        bends.push(
                            y0 / ((x0 - x1) * (x0 - x2))
                                + y1 / ((x1 - x0) * (x1 - x2))
                                + y2 / ((x2 - x0) * (x2 - x1)),
                        );
                    }
                }
            }
        }
        let bend = curvature(&points);
        prop_assert_eq!(bend.is_some(), !bends.is_empty());
        if let Some(bend) = bend {
            prop_assert!(is_close(bend, median_by_counting(&bends)));
        }
    }

    #[test]
    fn the_slopes_interval_holds_the_slope_and_grows_with_the_level(points in points(0..40)) {
        let narrow = sen_interval(&points, 0.8);
        if let Some(wide) = sen_interval(&points, 0.99) {
            let narrow = narrow.unwrap();
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
            let slope = theil_sen(&points).unwrap().slope;
            prop_assert!(narrow.contains(slope));
        }
    }
}

#[test]
fn quantiles_of_sorted_values_lie_between_neighbours() {
    let values = [1.0, 2.0, 4.0, 8.0];
    let table = [(0.0, 1.0), (1.0 / 3.0, 2.0), (0.5, 3.0), (0.75, 5.0), (1.0, 8.0)];
    for (share, expected) in table {
        assert!(is_close(quantile_of_sorted(&values, share).unwrap(), expected), "{share}");
    }
    assert_eq!(quantile_of_sorted(&[3.0], 0.9), Some(3.0));
    assert_eq!(quantile_of_sorted(&[], 0.5), None);
    assert_eq!(quantile_of_sorted(&values, 1.01), None);
    assert_eq!(quantile_of_sorted(&values, f64::NAN), None);
}

#[test]
fn means_and_medians_of_nothing_or_of_no_numbers_are_none() {
    for values in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY, 1.0]] {
        assert_eq!(mean(values), None);
        assert_eq!(median(values), None);
    }
    assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
}

#[test]
fn an_exact_line_is_found_exactly() {
    let points = curve(&[0.0, 1.0, 2.0, 4.0, 8.0], 3, [0.5, 0.25, 0.0]);
    assert_eq!(theil_sen(&points), Some(Line { slope: 0.25, intercept: 0.5 }));
    assert_eq!(sen_interval(&points, 0.95), Interval::new(0.25, 0.25, 0.95));
    assert_eq!(curvature(&points), Some(0.0));
}

#[test]
fn a_drive_that_never_stutters_has_a_slope_of_zero() {
    let points = curve(&[0.0, 1.0, 2.0, 4.0, 8.0], 3, [0.0; 3]);
    assert_eq!(theil_sen(&points), Some(Line { slope: 0.0, intercept: 0.0 }));
    assert_eq!(sen_interval(&points, 0.95), Interval::new(0.0, 0.0, 0.95));
    assert_eq!(power_exponent(&points), None);
}

#[test]
fn the_slope_withstands_29_percent_of_wild_points() {
    let xs: Vec<f64> = (0_i32..100).map(f64::from).collect();
    let mut points = curve(&xs, 1, [1.0, 2.0, 0.0]);
    let wild = |x: f64| 1e12 * x;
    points[71..].iter_mut().for_each(|point| point.1 = wild(point.0));
    // 71 good points make 2,485 of 4,950 pairs: just more than half, so the median is theirs.
    assert!(is_close(theil_sen(&points).unwrap().slope, 2.0));
    points[70].1 = wild(70.0);
    assert!(theil_sen(&points).unwrap().slope > 3.0, "30 % is beyond the breakdown point");
}

#[test]
fn the_curvature_of_a_parabola_is_its_coefficient() {
    let points = curve(&[-0.0, 0.0, 1.0, 3.0, 7.0], 2, [5.0, -1.0, 0.75]);
    assert!(is_close(curvature(&points).unwrap(), 0.75));
    let mut reversed = points.clone();
    reversed.reverse();
    assert_eq!(curvature(&reversed), curvature(&points));
    assert_eq!(curvature(&curve(&[1.0, 2.0], 5, [0.0; 3])), None);
}

#[test]
fn the_exponent_of_a_power_law_is_found_and_zeros_are_left_out() {
    let mut points: Vec<(f64, f64)> =
        [1.0, 2.0, 4.0, 8.0_f64].map(|x| (x, 31.0 * x.powf(1.9))).to_vec();
    points.extend([(0.0, 5.0), (3.0, 0.0), (3.0, -1.0)]);
    assert!(is_close(power_exponent(&points).unwrap(), 1.9));
    assert_eq!(power_exponent(&points[..1]), None);
}

#[test]
fn one_number_that_is_none_spoils_the_answer_not_the_program() {
    for bad in [(f64::NAN, 1.0), (1.0, f64::NAN), (f64::INFINITY, 1.0), (1.0, f64::NEG_INFINITY)] {
        let mut points = curve(&[0.0, 1.0, 2.0, 3.0], 3, [0.0, 1.0, 0.0]);
        points.push(bad);
        assert_eq!(theil_sen(&points), None);
        assert_eq!(sen_interval(&points, 0.95), None);
        assert_eq!(curvature(&points), None);
        assert_eq!(power_exponent(&points), None);
        let slope = |points: &[(f64, f64)]| theil_sen(points).map(|line| line.slope);
        let interval = bootstrap_interval(&points, &mut Rng::new(1), Bootstrap::default(), slope);
        assert_eq!(interval, None);
    }
}

#[test]
fn too_few_points_have_no_line() {
    assert_eq!(theil_sen(&[]), None);
    assert_eq!(theil_sen(&[(1.0, 2.0)]), None);
    assert_eq!(theil_sen(&[(1.0, 2.0), (1.0, 3.0)]), None);
}

#[test]
fn the_line_of_least_squares_is_the_textbook_one() {
    // Residuals 1, -2, 1 of y = 3 x + 5 at x = 10, 11, 12 are at right angles to 1 and x.
    let line = least_squares(&[(10.0, 36.0), (11.0, 36.0), (12.0, 42.0)]).unwrap();
    assert!((line.slope - 3.0).abs() < 1e-12 && (line.intercept - 5.0).abs() < 1e-9);
    assert_eq!(least_squares(&[]), None);
    assert_eq!(least_squares(&[(1.0, 2.0), (1.0, 3.0)]), None, "one x");
    assert_eq!(least_squares(&[(1.0, f64::NAN), (2.0, 3.0)]), None);
}

#[test]
fn a_paired_ratio_needs_three_positive_pairs() {
    assert_eq!(paired_ratio(&[(1.0, 2.0), (1.0, 2.0)]), None);
    assert_eq!(paired_ratio(&[(1.0, 2.0), (0.0, 2.0), (1.0, 2.0)]), None);
    assert_eq!(paired_ratio(&[(1.0, 2.0), (1.0, f64::NAN), (1.0, 2.0)]), None);
    let exact = paired_ratio(&[(1.0, 2.0), (4.0, 8.0), (3.0, 6.0)]).unwrap();
    assert!((exact.low - 2.0).abs() < 1e-12 && (exact.high - 2.0).abs() < 1e-12);
    // 40 pairs of 2 and 1/2: the mean is 1, the error ln 2 / sqrt(39), t taken for 30.
    let pairs: Vec<(f64, f64)> =
        (0..40).map(|index| (1.0, if index % 2 == 0 { 2.0 } else { 0.5 })).collect();
    let wide = paired_ratio(&pairs).unwrap();
    let half = 2.042 * 2.0_f64.ln() / 39.0_f64.sqrt();
    assert!((wide.high - half.exp()).abs() < 1e-9 && (wide.low - (-half).exp()).abs() < 1e-9);
}
