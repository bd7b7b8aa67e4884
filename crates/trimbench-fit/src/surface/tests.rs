use super::*;

/// Three of the usual ones.
fn parameters() -> Vec<Parameter> {
    ["nand.read", "nand.program", "trim.command"].map(|key| key.parse().unwrap()).into()
}

#[test]
fn a_surface_is_laid_through_what_is_linear_and_curved_and_what_is_off_it_is_told() {
    let parameters = parameters();
    let shares = latin(30, 2, &mut Rng::new(3));
    let center = DVector::zeros(2);
    let ends = [DVector::from_element(2, -1.0), DVector::from_element(2, 1.0)];
    let curved = BasisFunction::of(&[1], &parameters, [&ends[0], &ends[1]], 30);
    let at = |share: &DVector<f64>| share.map(|it| 2.0 * it - 1.0);
    let rows: Vec<DVector<f64>> =
        shares.iter().map(|share| Surface::row(&at(share), &center, &curved)).collect();
    let expected = [0.5, -2.0, 3.0, 0.25, 0.75];
    let value = |row: &DVector<f64>| row.iter().zip(expected).map(|(it, term)| it * term).sum();
    let mut values: Vec<Option<f64>> = rows.iter().map(|row| Some(value(row))).collect();
    let (terms, _, deviation) = lay(&rows, &values, &[]).unwrap();
    for (term, expected) in terms.iter().zip(expected) {
        assert!((term - expected).abs() < 1e-6, "{terms}");
    }
    assert!(deviation < 1e-9, "{deviation}");
    // One that lacks says nothing, one that is off is the farthest; many that lack are too many.
    values[4] = None;
    values[7] = values[7].map(|it| it + 0.5);
    let (_, scatter, deviation) = lay(&rows, &values, &[]).unwrap();
    assert_eq!(scatter.iamax(), 7);
    assert!(scatter[4] == 0.0 && deviation > 0.05, "{deviation}");
    values[..4].fill(None);
    assert!(lay(&rows, &values, &[]).is_none());
}

#[test]
fn what_is_hardly_known_curves_alone_and_together_as_far_as_the_points_go() {
    let parameters = parameters();
    let ends = [DVector::from_element(3, -1.0), DVector::from_element(3, 1.0)];
    let curved =
        |wide: &[usize], points| BasisFunction::of(wide, &parameters, [&ends[0], &ends[1]], points);
    let is_product =
        |function: &BasisFunction<'_>| matches!(function, BasisFunction::Product(0, 2));
    assert_eq!(curved(&[0, 2], 20).len(), 5);
    assert!(is_product(&curved(&[0, 2], 20)[4]));
    assert_eq!(curved(&[0, 2], 9).len(), 4);
    assert!(!curved(&[0, 2], 9).iter().any(is_product));
    assert!(curved(&[], 20).is_empty());
}

#[test]
fn a_time_that_adds_to_others_is_not_curved() {
    // ln(1 + v / 100 us) over a range of three decades: off by less than a tenth of what the best
    // parabola is.
    let parameters = parameters();
    let (low, high) = (DVector::from_element(3, -3.0), DVector::from_element(3, -0.5));
    let curved = BasisFunction::of(&[2], &parameters, [&low, &high], 30);
    let shares = latin(30, 3, &mut Rng::new(5));
    let places: Vec<DVector<f64>> =
        shares.iter().map(|share| &low + (&high - &low).component_mul(share)).collect();
    let values: Vec<Option<f64>> =
        places.iter().map(|at| Some((parameters[2].value(at[2]) / 1e5).ln_1p())).collect();
    let off = |rows: Vec<DVector<f64>>| lay(&rows, &values, &[]).unwrap().2;
    let center = DVector::from_element(3, -1.75);
    let ours = off(places.iter().map(|at| Surface::row(at, &center, &curved)).collect());
    let parabola = |at: &DVector<f64>| DVector::from_vec(vec![1.0, at[2], at[2] * at[2]]);
    let theirs = off(places.iter().map(parabola).collect());
    assert!(ours < 0.1 * theirs, "{ours} {theirs}");
}

#[test]
fn the_slopes_of_a_surface_are_those_of_its_terms() {
    let (parameters, wide, count) = (parameters(), [0, 2], 3);
    let ends = [DVector::from_element(3, -1.0), DVector::from_element(3, 1.0)];
    let curved = BasisFunction::of(&wide, &parameters, [&ends[0], &ends[1]], 20);
    let terms = DMatrix::from_fn(1, 1 + count + curved.len(), |_, term| 0.3 + term as f64);
    let center = DVector::from_vec(vec![0.1, -0.2, 0.4]);
    let surface = Surface {
        region: Region::around(center.clone(), &DVector::from_element(count, 1.0)),
        figures: Vec::new(),
        wide: wide.to_vec(),
        curved: curved.clone(),
        terms: terms.clone(),
        chances: DVector::from_element(1, 0.5),
        scales: DVector::from_element(1, 0.5),
        doubts: DVector::zeros(1),
        scatter: DMatrix::zeros(1, 1),
        freedom: 1,
    };
    let at = DVector::from_vec(vec![0.7, 0.3, -0.5]);
    let value = |at: &DVector<f64>| (&terms * Surface::row(at, &center, &curved))[0] / 0.5;
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
fn what_no_value_gives_has_its_least_squares_where_no_other_place_has_less() {
    // A time that adds hardly anything, and a figure that is less than what the others make.
    let parameters = parameters();
    let one = |value| DVector::from_element(1, value);
    let ends = [one(-4.5), one(2.0)];
    let parameter = &parameters[2..];
    let surface = Surface {
        region: Region { center: one(0.0), low: ends[0].clone(), high: ends[1].clone() },
        figures: Vec::new(),
        wide: vec![0],
        curved: BasisFunction::of(&[0], parameter, [&ends[0], &ends[1]], 30),
        terms: DMatrix::from_row_slice(1, 4, &[0.02, 0.0, 2.0, 0.0]),
        chances: one(0.01),
        scales: one(0.01),
        doubts: one(0.0),
        scatter: DMatrix::zeros(1, 1),
        freedom: 1,
    };
    let best = surface.squares(&surface.best());
    let elsewhere = (0..=65).map(|it| surface.squares(&one(-4.5 + 0.1 * f64::from(it))));
    let least = elsewhere.fold(f64::INFINITY, f64::min);
    assert!(best <= least + 0.05, "{best} {least} {}", surface.best());
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
            curved: Vec::new(),
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
