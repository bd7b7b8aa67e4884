use proptest::prelude::*;

use super::super::ChartKind;
use super::*;

fn curve(y: Vec<Option<f64>>) -> ChartSeries {
    let x = (0..y.len()).map(|place| place as f64 * 0.25).collect();
    ChartSeries::new("curve", ChartKind::Line, x, y)
}

/// The stall and its time survive ten million samples to one.
#[test]
fn a_single_stall_is_kept_where_it_was() {
    let mut y = vec![Some(0.1); 1_000_000];
    y[777_777] = Some(2000.0);
    let thinned = thin(curve(y), 400);
    assert!(thinned.x.len() <= 400, "{} points", thinned.x.len());
    let place = thinned.y.iter().position(|y| *y == Some(2000.0)).expect("the stall is there");
    assert!((thinned.x[place] - 777_777.0 * 0.25).abs() < f64::EPSILON);
    assert_eq!(thinned.thinned_from, Some(1_000_000));
}

#[test]
fn what_fits_is_left_alone() {
    let short = curve((0..400).map(|place| Some(f64::from(place))).collect());
    assert_eq!(thin(short.clone(), 400), short);
}

#[test]
fn a_gap_stays_a_gap() {
    let mut y = vec![Some(1.0); 10_000];
    y[4000..6000].fill(None);
    let thinned = thin(curve(y), 200);
    let inside: Vec<_> =
        thinned.x.iter().zip(&thinned.y).filter(|(x, _)| **x > 1000.0 && **x < 1500.0).collect();
    assert!(!inside.is_empty() && inside.iter().all(|(_, y)| y.is_none()));
}

/// Of a curve with intervals the outermost ends count.
#[test]
fn a_band_keeps_its_outermost_ends() {
    let mut wide = curve(vec![Some(5.0); 10_000]);
    let mut high = vec![Some(6.0); 10_000];
    high[1234] = Some(99.0);
    wide.low = Some(vec![Some(4.0); 10_000]);
    wide.high = Some(high);
    let thinned = thin(wide, 100);
    assert!(thinned.high.expect("it has a band").contains(&Some(99.0)));
}

proptest! {
    #[test]
    fn extremes_ends_and_order_survive(
        y in prop::collection::vec(prop::option::weighted(0.9, -1e6..1e6f64), 9..3000),
        most in 8usize..200,
    ) {
        let whole = curve(y);
        let thinned = thin(whole.clone(), most);
        prop_assert!(thinned.x.len() <= most.max(8));
        let extreme = |y: &[Option<f64>]| {
            let values = || y.iter().flatten().copied();
            (values().min_by(f64::total_cmp), values().max_by(f64::total_cmp))
        };
        prop_assert_eq!(extreme(&thinned.y), extreme(&whole.y));
        prop_assert!(thinned.x.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(thinned.x.first(), whole.x.first());
        prop_assert_eq!(thinned.x.last(), whole.x.last());
        // Every point that is kept was measured.
        for (x, y) in thinned.x.iter().zip(&thinned.y) {
            let place = whole.x.iter().position(|other| other.total_cmp(x).is_eq());
            prop_assert_eq!(place.map(|place| whole.y[place]), Some(*y));
        }
    }
}
