use super::*;

#[test]
fn a_surface_is_laid_through_what_is_linear_and_bent_and_what_is_off_it_is_told() {
    let shares = latin(30, 2, &mut Rng::new(3));
    let apart = |share: &DVector<f64>| share.map(|it| 2.0 * it - 1.0);
    let rows: Vec<DVector<f64>> =
        shares.iter().map(|share| Surface::row(&apart(share), &[1])).collect();
    let value = |row: &DVector<f64>| 0.5 - 2.0 * row[1] + 3.0 * row[2] + 0.25 * row[3];
    let mut values: Vec<Option<f64>> = rows.iter().map(|row| Some(value(row))).collect();
    let (terms, _, deviation) = lay(&rows, &values).unwrap();
    for (term, expected) in terms.iter().zip([0.5, -2.0, 3.0, 0.25]) {
        assert!((term - expected).abs() < 1e-9, "{terms}");
    }
    assert!(deviation < 1e-9, "{deviation}");
    // One that lacks says nothing, one that is off is the farthest; many that lack are too many.
    values[4] = None;
    values[7] = values[7].map(|it| it + 0.5);
    let (_, scatter, deviation) = lay(&rows, &values).unwrap();
    assert_eq!(scatter.iamax(), 7);
    assert!(scatter[4] == 0.0 && deviation > 0.05, "{deviation}");
    values[..4].fill(None);
    assert!(lay(&rows, &values).is_none());
}
