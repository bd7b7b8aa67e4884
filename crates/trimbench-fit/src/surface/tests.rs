use super::*;

#[test]
fn a_surface_is_laid_through_what_is_linear_and_bent_and_what_is_off_it_is_told() {
    let shares = latin(30, 2, &mut Rng::new(3));
    let apart = |share: &DVector<f64>| share.map(|it| 2.0 * it - 1.0);
    let rows: Vec<DVector<f64>> =
        shares.iter().map(|share| Surface::row(&apart(share), &[(1, 1)])).collect();
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

#[test]
fn what_is_hardly_known_bends_alone_and_together_as_far_as_the_points_go() {
    assert_eq!(pairs(&[2, 5, 7], 20), [(2, 2), (5, 5), (7, 7), (2, 5), (2, 7), (5, 7)]);
    assert_eq!(pairs(&[2, 5, 7], 9), [(2, 2), (5, 5), (7, 7), (2, 5)]);
    assert_eq!(pairs(&[], 20), []);
}

#[test]
fn the_slopes_of_a_surface_are_those_of_its_terms() {
    let (wide, count) = ([0, 2], 3);
    let bent = pairs(&wide, 20);
    let terms = DMatrix::from_fn(1, 1 + count + bent.len(), |_, term| 0.3 + term as f64);
    let center = DVector::from_vec(vec![0.1, -0.2, 0.4]);
    let surface = Surface {
        region: Region::around(center.clone(), &DVector::from_element(count, 1.0)),
        figures: Vec::new(),
        wide: wide.to_vec(),
        bent: bent.clone(),
        terms: terms.clone(),
        chances: DVector::from_element(1, 0.5),
        scales: DVector::from_element(1, 0.5),
        doubts: DVector::zeros(1),
        scatter: DMatrix::zeros(1, 1),
        freedom: 1,
    };
    let at = DVector::from_vec(vec![0.7, 0.3, -0.5]);
    let value = |at: &DVector<f64>| (&terms * Surface::row(&(at - &center), &bent))[0] / 0.5;
    for number in 0..count {
        let moved = |by: f64| {
            let mut moved = at.clone();
            moved[number] += by;
            value(&moved)
        };
        let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
        assert!((surface.linear(&at).jacobian[(0, number)] - slope).abs() < 1e-6, "{number}");
    }
}

#[test]
fn a_value_is_known_no_better_than_its_figure() {
    let figure = |doubt: f64| Observed {
        name: crate::FigureName { method: "steady-state", figure: "steady-iops".to_owned() },
        session: 0,
        value: 1.0,
        unit: "IOPS".to_owned(),
        deviation: 0.0,
        doubt,
        set_aside: false,
    };
    let (slope, scatter, doubt) = (0.5, 0.001, 0.02);
    let known_by = |figure: &Observed| {
        let surface = Surface {
            region: Region::around(DVector::zeros(1), &DVector::from_element(1, 1.0)),
            figures: vec![figure],
            wide: Vec::new(),
            bent: Vec::new(),
            terms: DMatrix::from_row_slice(1, 2, &[0.0, slope]),
            chances: DVector::from_element(1, figure.known_to().hypot(scatter)),
            scales: DVector::from_element(1, figure.known_to().hypot(scatter)),
            doubts: DVector::from_element(1, figure.doubt),
            scatter: DMatrix::from_row_slice(1, 4, &[scatter, -scatter, scatter, -scatter]),
            freedom: 4,
        };
        surface.deviations(&DVector::zeros(1))[0]
    };
    let (sure, unsure) = (figure(0.0), figure(doubt));
    assert!((known_by(&sure) - scatter / slope).abs() < 1e-4, "{}", known_by(&sure));
    let expected = doubt.hypot(scatter) / slope;
    assert!((known_by(&unsure) / expected - 1.0).abs() < 0.01, "{}", known_by(&unsure));
}
