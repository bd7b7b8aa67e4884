//! The surface of one figure: least squares through what the points gave.
//!
//! A line fitted to noise has a slope, too. The random slopes of dozens of figures that do not
//! depend on a value add up, and would pass for information about it. So terms of a value that is
//! hardly known are kept in a figure's surface only if they are significant (backward elimination).

use nalgebra::{DMatrix, DVector};
use statrs::distribution::{ContinuousCDF as _, FisherSnedecor};

use super::FLOOR;

/// Figures that so many of the points lack are not fitted to: a tenth.
const LACKING: usize = 10;
/// Significance level: a term with a greater p-value is left out. It is that of three standard
/// deviations, so that even of a hundred terms that explain nothing hardly one stays.
const SIGNIFICANCE: f64 = 0.003;

/// A least-squares fit of some of the terms.
struct LeastSquares {
    /// Which terms it has.
    used: Vec<usize>,
    /// Their coefficients.
    factors: DVector<f64>,
    /// The residual of each point.
    off: DVector<f64>,
}

impl LeastSquares {
    fn of(matrix: &DMatrix<f64>, right: &DVector<f64>, used: Vec<usize>) -> Option<Self> {
        let columns = matrix.select_columns(&used);
        let factors = columns.clone().svd(true, true).solve(right, 1e-12).ok()?;
        let off = right - columns * &factors;
        Some(Self { used, factors, off })
    }

    /// Degrees of freedom of the residuals: points less terms, at least 1.
    fn freedom(&self) -> usize {
        self.off.len().saturating_sub(self.used.len()).max(1)
    }

    fn deviation(&self) -> f64 {
        (self.off.norm_squared() / self.freedom() as f64).sqrt()
    }

    /// The p-value (F-test) of the one term that `all` has and this has not.
    fn p_value(&self, all: &Self) -> f64 {
        let explained = (self.off.norm_squared() - all.off.norm_squared()).max(0.0);
        let chance = all.deviation().max(FLOOR).powi(2);
        let test = FisherSnedecor::new(1.0, all.freedom() as f64).expect("both are above 0");
        test.sf(explained / chance)
    }
}

/// Lays a surface through the values of one figure: its coefficients, the residual of each point (0
/// where it has no value), and the standard deviation of the residuals. Of the `doubtful` terms the
/// least significant is left out until all are significant; the coefficient of such a term is 0.
/// `None` if too many points have no value.
pub(super) fn lay(
    rows: &[DVector<f64>],
    values: &[Option<f64>],
    doubtful: &[usize],
) -> Option<(DVector<f64>, DVector<f64>, f64)> {
    let given: Vec<usize> = (0..rows.len()).filter(|it| values[*it].is_some()).collect();
    if (rows.len() - given.len()) * LACKING > rows.len() {
        return None;
    }
    let count = rows[0].len();
    let matrix = DMatrix::from_fn(given.len(), count, |it, term| rows[given[it]][term]);
    let right = DVector::from_fn(given.len(), |it, _| values[given[it]].unwrap_or_default());
    let mut solved = LeastSquares::of(&matrix, &right, (0..count).collect())?;
    loop {
        let without = |term: &usize| {
            let used = solved.used.iter().copied().filter(|it| it != term).collect();
            let fewer = LeastSquares::of(&matrix, &right, used)?;
            Some((fewer.p_value(&solved), fewer))
        };
        let left = doubtful.iter().filter(|term| solved.used.contains(term));
        let least = left.filter_map(without).max_by(|one, two| one.0.total_cmp(&two.0));
        match least {
            Some((p_value, fewer)) if p_value > SIGNIFICANCE => solved = fewer,
            _ => break,
        }
    }
    let mut terms = DVector::zeros(count);
    for (place, term) in solved.used.iter().enumerate() {
        terms[*term] = solved.factors[place];
    }
    let mut scatter = DVector::zeros(rows.len());
    for (place, number) in given.iter().enumerate() {
        scatter[*number] = solved.off[place];
    }
    Some((terms, scatter, solved.deviation()))
}

#[cfg(test)]
mod tests;
