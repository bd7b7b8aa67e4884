//! The search for the best values.
//!
//! The loss is the sum of the squares of `ln(twin / measured)`; where the twin cannot follow the
//! figures, in the end nearly that of its amounts, so that a few that are far off do not lead all
//! others away. Points spread over the whole
//! range are tried first; from the best of them the method of Levenberg and Marquardt goes on,
//! with the same seed at all points, so that chance does not move what is compared. Slopes are
//! measured once, and then follow from what each step changed (\[BROY65\]), until a step does not
//! do what they say. Where a descent ends, the [`surface`] of the figures around it goes on.
//!
//! [`surface`]: crate::surface

use std::cell::RefCell;

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn};
use trimbench_core::rng::Rng;
use trimbench_results::statistics;

use crate::error::FitError;
use crate::linear::PRIOR;
use crate::observed::Observed;
use crate::parameter::coordinate_at;
use crate::twin::{Outside, SessionFigures, Twin, TwinPoint};

/// Points that are tried for each parameter before the search begins.
const TRIED: usize = 4;
/// What a figure is taken to scatter by before that is known.
pub(crate) const FIRST_SCATTER: f64 = 0.02;
/// How far the logarithm of a value is moved at first to see what changes.
const MOVED: f64 = 0.1;
/// A figure must change by this, or a value is moved further.
const NOTICEABLE: f64 = 0.03;
/// A figure that is missing, or as far off, counts as this, and moves nothing any more...
const LOGARITHM_MAX: f64 = 3.0;
/// ... where amounts count, only one that is off by a factor of a thousand.
const LOGARITHM_MAX_OF_AMOUNTS: f64 = 6.9;
/// Beyond this the amount of a logarithm counts and not its square.
const SQUARES_TO: f64 = 0.05;
/// A descent ends where the squares, or the coordinates, change by less than this share.
const TOLERANCE: f64 = 5e-2;
/// It takes so many steps for each value at the most.
const PATIENCE: usize = 2;
/// Slopes are measured anew where a step changed the figures otherwise than they said, by this
/// share of the change...
const OTHERWISE: f64 = 0.7;
/// ... and after so many steps.
const STEPS: usize = 5;

/// Numbers of seeds from here on are of points with seeds of their own.
const SEEDS_APART: usize = 1000;

/// How much a figure counts by what it is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// By the square of the logarithm.
    Squares,
    /// By the amount, but for small ones: `2 (sqrt(1 + z^2) - 1)`, z in [`SQUARES_TO`].
    Amounts,
}

impl Loss {
    fn limit(self) -> f64 {
        match self {
            Self::Squares => LOGARITHM_MAX,
            Self::Amounts => LOGARITHM_MAX_OF_AMOUNTS,
        }
    }

    /// The residual whose square is the loss, and its slope.
    fn residual(self, logarithm: f64) -> (f64, f64) {
        let z = logarithm / SQUARES_TO;
        let root = z.hypot(1.0);
        // The same as the square root of `2 (root - 1)`, and exact near 0.
        let residual = z * (2.0 / (root + 1.0)).sqrt();
        match self {
            Self::Squares => (logarithm / FIRST_SCATTER, 1.0 / FIRST_SCATTER),
            Self::Amounts => {
                let slope = if z == 0.0 { 1.0 } else { z / (root * residual) };
                (residual * SQUARES_TO / FIRST_SCATTER, slope / FIRST_SCATTER)
            }
        }
    }
}

/// A search under way.
pub(crate) struct Search<'a> {
    pub(crate) twin: &'a Twin,
    /// What is fitted to.
    pub(crate) figures: Vec<&'a Observed>,
    pub(crate) seed: u64,
    pub(crate) outside: Outside<'a>,
    runs: RefCell<usize>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        twin: &'a Twin,
        figures: Vec<&'a Observed>,
        (seed, outside): (u64, Outside<'a>),
    ) -> Self {
        Self { twin, figures, seed, outside, runs: RefCell::new(0) }
    }

    /// Runs of all sessions so far.
    pub(crate) fn runs(&self) -> usize {
        *self.runs.borrow()
    }

    /// The seed of the search, or another one.
    pub(crate) fn seed_of(&self, number: usize) -> u64 {
        self.seed.wrapping_add(1_000_003 * (number as u64 + 1))
    }

    /// Points at these coordinates, all with the search's seed.
    pub(crate) fn at(&self, coordinates: &[DVector<f64>]) -> Vec<TwinPoint> {
        let seed = self.seed_of(0);
        let point =
            |it: &DVector<f64>| TwinPoint { coordinates: it.iter().copied().collect(), seed };
        coordinates.iter().map(point).collect()
    }

    /// One point with several seeds.
    pub(crate) fn seeds_at(&self, coordinates: &DVector<f64>, seeds: usize) -> Vec<TwinPoint> {
        let coordinates: Vec<f64> = coordinates.iter().copied().collect();
        let point =
            |number| TwinPoint { coordinates: coordinates.clone(), seed: self.seed_of(number) };
        (0..seeds).map(point).collect()
    }

    /// These points, each with a seed that no other point has.
    pub(crate) fn with_own_seeds(&self, coordinates: &[DVector<f64>]) -> Vec<TwinPoint> {
        let first = SEEDS_APART + self.runs();
        let point = |(number, it): (usize, &DVector<f64>)| TwinPoint {
            coordinates: it.iter().copied().collect(),
            seed: self.seed_of(first + number),
        };
        coordinates.iter().enumerate().map(point).collect()
    }

    /// Whether a logarithm is not that of a figure that is far off, or missing.
    pub(crate) fn is_near(logarithm: f64) -> bool {
        logarithm.abs() < LOGARITHM_MAX
    }

    /// ln(twin / measured) of each figure at each point; `None` where the twin does not give it.
    pub(crate) fn given(&self, points: &[TwinPoint]) -> Result<Vec<Vec<Option<f64>>>, FitError> {
        let of = |sessions: &Vec<SessionFigures>| {
            self.figures.iter().map(|figure| logarithm(figure, sessions)).collect()
        };
        Ok(self.run(points)?.iter().map(of).collect())
    }

    /// The same for a descent, which nothing leads too far away.
    pub(crate) fn logarithms(
        &self,
        points: &[TwinPoint],
        loss: Loss,
    ) -> Result<Vec<DVector<f64>>, FitError> {
        let limited =
            |it: &Option<f64>| it.map_or(LOGARITHM_MAX, |it| it.clamp(-loss.limit(), loss.limit()));
        let of = |given: &Vec<Option<f64>>| {
            DVector::from_iterator(given.len(), given.iter().map(limited))
        };
        Ok(self.given(points)?.iter().map(of).collect())
    }

    pub(crate) fn run(&self, points: &[TwinPoint]) -> Result<Vec<Vec<SessionFigures>>, FitError> {
        *self.runs.borrow_mut() += points.len();
        self.twin.run(points, self.outside)
    }

    /// Drops the figures that the twin does not give at all, by its base.
    pub(crate) fn keep_what_the_twin_gives(&mut self) -> Result<(), FitError> {
        let parameters = self.twin.parameters().len();
        if self.figures.is_empty() {
            return Err(FitError::TooFew { figures: 0, parameters });
        }
        let begin = DVector::from_vec(self.twin.begin());
        let found = self.run(&self.at(&[begin]))?;
        let sessions = &found[0];
        let problem = sessions.iter().find_map(|session| session.as_ref().err().cloned());
        self.figures.retain(|figure| logarithm(figure, sessions).is_some());
        if let (true, Some(reason)) = (self.figures.is_empty(), problem) {
            return Err(FitError::NoTwin { reason: reason.to_string() });
        }
        let figures = self.figures.len();
        if figures < parameters {
            return Err(FitError::TooFew { figures, parameters });
        }
        Ok(())
    }

    /// Points that are spread over the ranges, and the base's own: the best first.
    pub(crate) fn beginnings(&self, rng: &Rng) -> Result<Vec<DVector<f64>>, FitError> {
        let mut tried = spread(self.twin, &mut rng.split("spread"));
        tried.push(DVector::from_vec(self.twin.begin()));
        let found = self.logarithms(&self.at(&tried), Loss::Squares)?;
        let mut scored: Vec<(f64, DVector<f64>)> =
            found.iter().zip(tried).map(|(logarithms, it)| (score(logarithms), it)).collect();
        scored.sort_by(|one, two| one.0.total_cmp(&two.0));
        Ok(scored.into_iter().map(|(_, point)| point).collect())
    }

    /// From a point to where the loss is least.
    pub(crate) fn descend(&self, begin: DVector<f64>, loss: Loss) -> Result<Descended, FitError> {
        let problem = Descent { search: self, at: begin, loss, known: RefCell::default() };
        let method = LevenbergMarquardt::new()
            .with_ftol(TOLERANCE)
            .with_xtol(TOLERANCE)
            .with_gtol(1e-9)
            .with_stepbound(3.0)
            .with_patience(PATIENCE);
        let (problem, _) = method.minimize(problem);
        let logarithms = problem.logarithms()?;
        match problem.known.into_inner().error {
            Some(error) => Err(error),
            None => Ok(Descended { at: problem.at, logarithms }),
        }
    }

    /// How the logarithms change with each coordinate around a point where they are `here`. A move
    /// that changes no figure noticeably tells nothing: the next is larger.
    pub(crate) fn slopes(
        &self,
        (at, here): (&DVector<f64>, &DVector<f64>),
        loss: Loss,
    ) -> Result<DMatrix<f64>, FitError> {
        let parameters = self.twin.parameters();
        // Away from the nearer end of the range, where nothing changes any more.
        let away = |number: usize| if at[number] > 0.0 { -1.0 } else { 1.0 };
        let first = |number: usize| {
            away(number) * MOVED / parameters[number].slope(at[number]).max(MOVED / 2.0)
        };
        let mut moves: Vec<f64> = (0..at.len()).map(first).collect();
        let mut slopes = DMatrix::zeros(here.len(), at.len());
        let mut open: Vec<usize> = (0..at.len()).collect();
        for is_last in [false, false, true] {
            let moved = |&number: &usize| {
                let mut point = at.clone();
                point[number] += moves[number];
                point
            };
            let points: Vec<DVector<f64>> = open.iter().map(moved).collect();
            let found = self.logarithms(&self.at(&points), loss)?;
            let mut next = Vec::new();
            for (number, found) in std::mem::take(&mut open).into_iter().zip(found) {
                let change = found - here;
                if is_last || change.amax() > NOTICEABLE {
                    slopes.set_column(number, &(change / moves[number]));
                } else {
                    moves[number] *= 3.0;
                    next.push(number);
                }
            }
            open = next;
        }
        Ok(slopes)
    }
}

/// Where a descent ended.
pub(crate) struct Descended {
    pub(crate) at: DVector<f64>,
    /// ln(twin / measured) of each figure there.
    pub(crate) logarithms: DVector<f64>,
}

impl Descended {
    /// How far off it is: the less, the nearer.
    pub(crate) fn score(&self) -> f64 {
        score(&self.logarithms)
    }
}

/// Median over figures of |ln(twin / measured)|: the mean is that of a few that scatter.
pub(crate) fn typical(logarithms: &DVector<f64>) -> f64 {
    let errors: Vec<f64> = logarithms.iter().map(|it| it.abs()).collect();
    statistics::median(&errors).unwrap_or(f64::INFINITY)
}

/// How far off all figures are, none more than another that is quite wrong.
fn score(logarithms: &DVector<f64>) -> f64 {
    logarithms.iter().map(|it| it.abs().min(1.0)).sum()
}

/// ln(twin / measured) of a figure; `None` where the twin does not give it.
pub(crate) fn logarithm(figure: &Observed, sessions: &[SessionFigures]) -> Option<f64> {
    let found = sessions[figure.session].as_ref().ok()?;
    let ours = found.get(&figure.name.figure).filter(|value| **value > 0.0)?;
    Some((ours / figure.value).ln())
}

/// Points that fill the ranges of all values evenly.
fn spread(twin: &Twin, rng: &mut Rng) -> Vec<DVector<f64>> {
    let count = twin.parameters().len();
    let shares = latin(TRIED * count, count, rng);
    shares.into_iter().map(|shares| shares.map(coordinate_at)).collect()
}

/// Points that fill the unit cube evenly: in each coordinate each part of it once (a Latin
/// hypercube).
pub(crate) fn latin(count: usize, coordinates: usize, rng: &mut Rng) -> Vec<DVector<f64>> {
    let mut points = vec![DVector::zeros(coordinates); count];
    for number in 0..coordinates {
        let mut parts: Vec<usize> = (0..count).collect();
        rng.shuffle(&mut parts);
        for (point, part) in points.iter_mut().zip(parts) {
            point[number] = (part as f64 + uniform(rng)) / count as f64;
        }
    }
    points
}

/// A number in [0, 1).
pub(crate) fn uniform(rng: &mut Rng) -> f64 {
    (rng.bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// The search as the optimiser sees it: with a weak preference for the middle of each range, so
/// that what the figures do not tell has an end.
struct Descent<'a> {
    search: &'a Search<'a>,
    at: DVector<f64>,
    loss: Loss,
    known: RefCell<Known>,
}

/// What was computed so far.
#[derive(Default)]
struct Known {
    /// Where it was last.
    last: Option<(DVector<f64>, DVector<f64>)>,
    slopes: Option<Slopes>,
    error: Option<FitError>,
}

/// How the logarithms change with the coordinates.
struct Slopes {
    by_coordinate: DMatrix<f64>,
    /// Steps since they were measured.
    steps: usize,
    /// The last step did otherwise.
    failed: bool,
}

impl Slopes {
    /// Learns from a step that changed the logarithms.
    fn learn(&mut self, step: &DVector<f64>, change: &DVector<f64>) {
        let otherwise = change - &self.by_coordinate * step;
        self.failed |= otherwise.norm() > OTHERWISE * change.norm();
        self.by_coordinate += otherwise * step.transpose() / step.norm_squared();
    }
}

impl Descent<'_> {
    /// ln(twin / measured) where it is.
    fn logarithms(&self) -> Result<DVector<f64>, FitError> {
        let known = &mut *self.known.borrow_mut();
        if let Some((at, logarithms)) = &known.last
            && *at == self.at
        {
            return Ok(logarithms.clone());
        }
        let points = self.search.at(std::slice::from_ref(&self.at));
        let found = self.search.logarithms(&points, self.loss)?.remove(0);
        let last = known.last.replace((self.at.clone(), found.clone()));
        if let (Some((at, logarithms)), Some(slopes)) = (last, &mut known.slopes) {
            slopes.learn(&(&self.at - at), &(&found - logarithms));
        }
        Ok(found)
    }

    fn slopes(&self) -> Result<DMatrix<f64>, FitError> {
        let here = self.logarithms()?;
        let known = &mut *self.known.borrow_mut();
        if let Some(slopes) = &mut known.slopes
            && !slopes.failed
            && slopes.steps < STEPS
        {
            slopes.steps += 1;
            return Ok(slopes.by_coordinate.clone());
        }
        let by_coordinate = self.search.slopes((&self.at, &here), self.loss)?;
        let slopes = Slopes { by_coordinate: by_coordinate.clone(), steps: 0, failed: false };
        known.slopes = Some(slopes);
        Ok(by_coordinate)
    }

    /// What was found; an error ends the descent.
    fn keep<T>(&self, found: Result<T, FitError>) -> Option<T> {
        found.map_err(|error| self.known.borrow_mut().error = Some(error)).ok()
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Descent<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, at: &DVector<f64>) {
        self.at.clone_from(at);
    }

    fn params(&self) -> DVector<f64> {
        self.at.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let found = self.keep(self.logarithms())?.map(|it| self.loss.residual(it).0);
        let both = found.iter().copied().chain(self.at.iter().map(|it| it / PRIOR));
        Some(DVector::from_iterator(found.len() + self.at.len(), both))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let logarithms = self.keep(self.logarithms())?;
        let mut slopes = self.keep(self.slopes())?;
        for (mut row, logarithm) in slopes.row_iter_mut().zip(logarithms.iter()) {
            row *= self.loss.residual(*logarithm).1;
        }
        let (rows, count) = slopes.shape();
        let mut whole = slopes.insert_rows(rows, count, 0.0);
        for at in 0..count {
            whole[(rows + at, at)] = 1.0 / PRIOR;
        }
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_off_figures_count_by_their_amount_and_near_ones_by_their_square() {
        for loss in [Loss::Squares, Loss::Amounts] {
            for logarithm in [-2.0, -0.05, -1e-4, 0.0, 1e-4, 0.05, 2.0] {
                let (residual, slope) = loss.residual(logarithm);
                let moved = |by: f64| loss.residual(logarithm + by).0;
                let measured = (moved(1e-7) - moved(-1e-7)) / 2e-7;
                assert!((slope / measured - 1.0).abs() < 1e-5, "{loss:?} {logarithm}: {slope}");
                assert!((residual.abs() <= (logarithm / FIRST_SCATTER).abs() + 1e-9));
            }
        }
        let squared = |loss: Loss, logarithm: f64| loss.residual(logarithm).0.powi(2);
        let ratio = squared(Loss::Amounts, 4.0) / squared(Loss::Amounts, 2.0);
        assert!((ratio - 2.0).abs() < 0.05, "{ratio}");
        let near = squared(Loss::Amounts, 1e-3) / squared(Loss::Squares, 1e-3);
        assert!((near - 1.0).abs() < 1e-3, "{near}");
    }
}
