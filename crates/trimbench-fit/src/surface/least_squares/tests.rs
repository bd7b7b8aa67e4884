use trimbench_core::rng::Rng;

use super::*;
use crate::search::{latin, uniform};

/// Points, a term for each of two coordinates and for the product, and 50 figures that change
/// with the first one only, and by chance.
fn by_chance(slope_of_second: f64) -> usize {
    let mut rng = Rng::new(5);
    let rows: Vec<DVector<f64>> = latin(48, 2, &mut rng)
        .iter()
        .map(|at| DVector::from_vec(vec![1.0, at[0], at[1], at[0] * at[1]]))
        .collect();
    let mut figure = |_: &i32| {
        let mut value =
            |row: &DVector<f64>| Some(row[1] + slope_of_second * row[2] + uniform(&mut rng));
        let values: Vec<Option<f64>> = rows.iter().map(&mut value).collect();
        let (terms, scatter, deviation) = lay(&rows, &values, &[2, 3]).unwrap();
        assert!(terms[1] > 0.0 && deviation > 0.2, "{terms}");
        assert!(scatter.sum().abs() < 1e-9);
        terms[2] != 0.0 || terms[3] != 0.0
    };
    (0..50).filter(&mut figure).count()
}

#[test]
fn a_figure_tells_of_a_value_only_what_chance_does_not() {
    assert!(by_chance(0.0) <= 3, "{}", by_chance(0.0));
    assert_eq!(by_chance(1.0), 50);
}

#[test]
fn of_two_doubtful_values_the_one_stays_that_explains_something() {
    let mut rng = Rng::new(6);
    let rows: Vec<DVector<f64>> = latin(48, 2, &mut rng)
        .iter()
        .map(|at| DVector::from_vec(vec![1.0, at[0], at[1]]))
        .collect();
    let values: Vec<Option<f64>> =
        rows.iter().map(|row| Some(3.0 * row[2] + uniform(&mut rng))).collect();
    let (terms, ..) = lay(&rows, &values, &[1, 2]).unwrap();
    assert!(terms[1] == 0.0 && (terms[2] - 3.0).abs() < 0.5, "{terms}");
    // A figure without any chance depends on what it depends on.
    let exact: Vec<Option<f64>> = rows.iter().map(|row| Some(3.0 * row[2])).collect();
    let (terms, _, deviation) = lay(&rows, &exact, &[1, 2]).unwrap();
    assert!((terms[2] - 3.0).abs() < 1e-9 && terms[1] == 0.0 && deviation < 1e-9, "{terms}");
}
