//! The surface of one figure: least squares through what the points gave.
//!
//! Through 46 figures that do not change with a value, chance lays 46 slopes, and together they
//! would say more of it than a figure that does. So a value that is hardly known has terms in a
//! figure only where they explain more of it than chance would.

use nalgebra::{DMatrix, DVector};
use statrs::distribution::{ContinuousCDF as _, FisherSnedecor};

use super::FLOOR;

/// Figures that so many of the points lack are not fitted to: a tenth.
const LACKING: usize = 10;
/// A term is kept if chance would explain as much with this probability, at the most: that of
/// three standard deviations. Where no figure changes with a value, hardly a term stays.
const BY_CHANCE: f64 = 0.003;

/// A surface of some of the terms.
struct Solved {
    /// Which terms it has.
    used: Vec<usize>,
    /// Their factors.
    factors: DVector<f64>,
    /// What each point is off it.
    off: DVector<f64>,
}

impl Solved {
    fn of(matrix: &DMatrix<f64>, right: &DVector<f64>, used: Vec<usize>) -> Option<Self> {
        let columns = matrix.select_columns(&used);
        let factors = columns.clone().svd(true, true).solve(right, 1e-12).ok()?;
        let off = right - columns * &factors;
        Some(Self { used, factors, off })
    }

    /// Points less terms; at least 1.
    fn freedom(&self) -> usize {
        self.off.len().saturating_sub(self.used.len()).max(1)
    }

    fn deviation(&self) -> f64 {
        (self.off.norm_squared() / self.freedom() as f64).sqrt()
    }

    /// How probable it is that by chance one further term explains as much as that of `all` which
    /// this has not: an F-test.
    fn probability(&self, all: &Self) -> f64 {
        let explained = (self.off.norm_squared() - all.off.norm_squared()).max(0.0);
        let chance = all.deviation().max(FLOOR).powi(2);
        let test = FisherSnedecor::new(1.0, all.freedom() as f64).expect("both are above 0");
        test.sf(explained / chance)
    }
}

/// Lays a surface through the values of one figure: its terms, what each point is off it (0 where
/// it has no value), and the standard deviation of that. Of the `doubtful` terms the one that
/// explains the least is left out, as long as chance explains as much; its factor is 0. `None` if
/// too many points have no value.
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
    let mut solved = Solved::of(&matrix, &right, (0..count).collect())?;
    loop {
        let without = |term: &usize| {
            let used = solved.used.iter().copied().filter(|it| it != term).collect();
            let fewer = Solved::of(&matrix, &right, used)?;
            Some((fewer.probability(&solved), fewer))
        };
        let left = doubtful.iter().filter(|term| solved.used.contains(term));
        let least = left.filter_map(without).max_by(|one, two| one.0.total_cmp(&two.0));
        match least {
            Some((probability, fewer)) if probability > BY_CHANCE => solved = fewer,
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
