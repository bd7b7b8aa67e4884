//! The linear view of the twin around a point: how its figures change with the coordinates.

use nalgebra::{DMatrix, DVector};

/// What a coordinate scatters by, around the middle of its range, before anything is known of it: a
/// value may lie anywhere in its range, evenly by its logarithm, and then the coordinate has the
/// logistic distribution, whose standard deviation is pi / sqrt(3).
pub(crate) const PRIOR: f64 = 1.814;

/// Residuals, in standard deviations, and how they change with the coordinates.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    pub(crate) residuals: DVector<f64>,
    pub(crate) jacobian: DMatrix<f64>,
}

impl Linear {
    /// The step from `at` to where the squares are least, with those of the coordinates over
    /// [`PRIOR`].
    pub(crate) fn step(&self, at: &DVector<f64>) -> DVector<f64> {
        -(covariance(information(&self.jacobian))
            * (self.jacobian.transpose() * &self.residuals + at / (PRIOR * PRIOR)))
    }

    /// The matrix that makes changes of coordinates of changes of residuals.
    pub(crate) fn estimator(&self) -> DMatrix<f64> {
        estimator(&self.jacobian)
    }

    /// What each coordinate may be off because the figures do not tell it, and the preference for
    /// the middle of its range does: a standard deviation.
    pub(crate) fn untold(&self) -> DVector<f64> {
        let covariance = covariance(information(&self.jacobian));
        DVector::from_fn(covariance.nrows(), |at, _| covariance.row(at).norm() / PRIOR)
    }

    /// The step in which coordinate `fixed` changes by `change` and the others follow so that the
    /// squares are least.
    pub(crate) fn step_with(&self, fixed: usize, change: f64) -> DVector<f64> {
        let count = self.jacobian.ncols();
        let others: Vec<usize> = (0..count).filter(|at| *at != fixed).collect();
        let jacobian = self.jacobian.select_columns(&others);
        let moved = &self.residuals + self.jacobian.column(fixed) * change;
        let following = -(estimator(&jacobian) * moved);
        let mut step = DVector::zeros(count);
        step[fixed] = change;
        for (at, other) in others.into_iter().enumerate() {
            step[other] = following[at];
        }
        step
    }
}

/// That of the coordinates, where the figures give this Fisher information of them, and they
/// scatter by [`PRIOR`] before.
pub(crate) fn covariance(information: DMatrix<f64>) -> DMatrix<f64> {
    let count = information.ncols();
    let prior = DMatrix::identity(count, count) / (PRIOR * PRIOR);
    (information + prior).try_inverse().expect("a positive diagonal makes it regular")
}

/// The information that residuals give which scatter by 1, independently.
fn information(jacobian: &DMatrix<f64>) -> DMatrix<f64> {
    jacobian.transpose() * jacobian
}

/// With a weak preference for no change, so that what the figures do not say stays as it is.
fn estimator(jacobian: &DMatrix<f64>) -> DMatrix<f64> {
    covariance(information(jacobian)) * jacobian.transpose()
}
