use trimbench_core::rng::Rng;

use super::*;
use crate::search::{latin, uniform};

/// Points with a term for each of two coordinates and one for their product.
fn rows(rng: &mut Rng) -> Vec<DVector<f64>> {
    let row = |at: &DVector<f64>| DVector::from_vec(vec![1.0, at[0], at[1], at[0] * at[1]]);
    latin(48, 2, rng).iter().map(row).collect()
}

/// How many of 50 noisy figures, which all depend on the first coordinate, get a term of the
/// second.
fn with_second(slope_of_second: f64) -> usize {
    let mut rng = Rng::new(5);
    let rows = rows(&mut rng);
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
fn noise_gives_a_figure_no_terms_of_what_it_does_not_depend_on() {
    assert!(with_second(0.0) <= 3, "{}", with_second(0.0));
    assert_eq!(with_second(1.0), 50);
}

#[test]
fn of_doubtful_terms_the_significant_one_stays() {
    let mut rng = Rng::new(6);
    let rows = rows(&mut rng);
    let values: Vec<Option<f64>> =
        rows.iter().map(|row| Some(3.0 * row[2] + uniform(&mut rng))).collect();
    let (terms, ..) = lay(&rows, &values, &[1, 2, 3]).unwrap();
    assert!(terms[1] == 0.0 && (terms[2] - 3.0).abs() < 0.5, "{terms}");
    // Without noise, too.
    let exact: Vec<Option<f64>> = rows.iter().map(|row| Some(3.0 * row[2])).collect();
    let (terms, _, deviation) = lay(&rows, &exact, &[1, 2, 3]).unwrap();
    assert!((terms[2] - 3.0).abs() < 1e-9 && terms[1] == 0.0 && deviation < 1e-9, "{terms}");
}
