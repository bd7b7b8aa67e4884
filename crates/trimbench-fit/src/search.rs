//! The search for the best values.
//!
//! The loss is the sum of the squares of `ln(twin / measured)`, each in units of the scatter of its
//! figure between seeds. Points spread over the whole range are tried first; from the best of them
//! the method of Levenberg and Marquardt goes on, with the same seed at all points, so that chance
//! does not move what is compared. The last steps go by the mean over several seeds.

use std::cell::RefCell;

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn};
use trimbench_core::rng::Rng;

use crate::error::FitError;
use crate::linear::{Linear, PRIOR};
use crate::observed::Observed;
use crate::twin::{Outside, SessionFigures, Twin, TwinPoint};

/// Points that are tried for each parameter before the search begins.
const TRIED: usize = 4;
/// Points from which it begins, if the first does not come near.
const BEGINNINGS: usize = 3;
/// Near: the root of the mean square of `ln(twin / measured)`.
const NEAR: f64 = 0.004;
/// What a figure is taken to scatter by before that is known.
const FIRST_SCATTER: f64 = 0.02;
/// The least that it is taken to: what latency histograms resolve, and a little more.
pub(crate) const FLOOR: f64 = 0.003;
/// Figures that scatter more than this are not fitted to.
const SCATTER_MAX: f64 = 0.1;
/// Seeds by which the scatter is known.
pub(crate) const SEEDS: usize = 6;
/// How far the logarithm of a value is moved at first to see what changes.
const MOVED: f64 = 0.1;
/// What figures must change by to be told from the steps of latency histograms, whose buckets are
/// about 1 % wide.
const RESOLVED: f64 = 0.03;
/// A figure that is missing, or as far off, counts as this, and moves nothing any more.
const LOGARITHM_MAX: f64 = 3.0;
/// A descent ends where the squares, or the coordinates, change by less than this share: roughly
/// while the weights are not known, then finely.
const ROUGH: f64 = 1e-2;
const FINE: f64 = 1e-3;
/// Steps by the mean over seeds.
const LAST_STEPS: usize = 2;

/// Where the points lie by which slopes are measured.
#[derive(Clone, Copy)]
enum Sides<'a> {
    /// On one side of a point whose logarithms are these.
    One(&'a DVector<f64>),
    /// On either side.
    Both,
}

/// A search under way.
pub(crate) struct Search<'a> {
    pub(crate) twin: &'a Twin,
    /// What is fitted to.
    pub(crate) figures: Vec<&'a Observed>,
    /// The standard deviation of the logarithm of each.
    pub(crate) scales: Vec<f64>,
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
        let scales = vec![FIRST_SCATTER; figures.len()];
        Self { twin, figures, scales, seed, outside, runs: RefCell::new(0) }
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
    fn at(&self, coordinates: &[DVector<f64>]) -> Vec<TwinPoint> {
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

    /// ln(twin / measured) of each figure at each point.
    pub(crate) fn logarithms(&self, points: &[TwinPoint]) -> Result<Vec<DVector<f64>>, FitError> {
        let found = self.run(points)?;
        let of = |sessions: &Vec<SessionFigures>| {
            let logarithms = self.figures.iter().map(|figure| logarithm(figure, sessions));
            DVector::from_iterator(
                self.figures.len(),
                logarithms.map(|it| {
                    it.map_or(LOGARITHM_MAX, |it| it.clamp(-LOGARITHM_MAX, LOGARITHM_MAX))
                }),
            )
        };
        Ok(found.iter().map(of).collect())
    }

    pub(crate) fn run(&self, points: &[TwinPoint]) -> Result<Vec<Vec<SessionFigures>>, FitError> {
        *self.runs.borrow_mut() += points.len();
        self.twin.run(points, self.outside)
    }

    /// Drops the figures that the twin does not give at all, by its base.
    pub(crate) fn keep_what_the_twin_gives(&mut self) -> Result<(), FitError> {
        let begin = DVector::from_vec(self.twin.begin());
        let found = self.run(&self.at(&[begin]))?;
        let sessions = &found[0];
        let problem = sessions.iter().find_map(|session| session.as_ref().err().cloned());
        self.figures.retain(|figure| logarithm(figure, sessions).is_some());
        self.scales = vec![FIRST_SCATTER; self.figures.len()];
        if let (true, Some(reason)) = (self.figures.is_empty(), problem) {
            return Err(FitError::NoTwin { reason });
        }
        self.check_count()
    }

    fn check_count(&self) -> Result<(), FitError> {
        let (figures, parameters) = (self.figures.len(), self.twin.parameters().len());
        if figures <= parameters {
            return Err(FitError::TooFew { figures, parameters });
        }
        Ok(())
    }

    /// The best of the points to which descents lead.
    pub(crate) fn best_beginning(&self, rng: &Rng) -> Result<DVector<f64>, FitError> {
        let mut tried = spread(self.twin, &mut rng.split("spread"));
        tried.push(DVector::from_vec(self.twin.begin()));
        let found = self.logarithms(&self.at(&tried))?;
        let mut scored: Vec<(f64, DVector<f64>)> = found
            .iter()
            .zip(tried)
            .map(|(logarithms, it)| (logarithms.iter().map(|it| it.abs().min(1.0)).sum(), it))
            .collect();
        scored.sort_by(|one, two| one.0.total_cmp(&two.0));
        let mut best: Option<(f64, DVector<f64>)> = None;
        for (_, begin) in scored.into_iter().take(BEGINNINGS) {
            let (end, squares) = self.descend(begin, ROUGH)?;
            let error = FIRST_SCATTER * (squares / self.figures.len() as f64).sqrt();
            if best.as_ref().is_none_or(|(least, _)| error < *least) {
                best = Some((error, end));
            }
            if error < NEAR {
                break;
            }
        }
        Ok(best.expect("there is a beginning").1)
    }

    /// From a point to where the squares are least, and what they are.
    fn descend(
        &self,
        begin: DVector<f64>,
        tolerance: f64,
    ) -> Result<(DVector<f64>, f64), FitError> {
        let problem = Descent { search: self, at: begin, known: RefCell::default() };
        let method = LevenbergMarquardt::new()
            .with_ftol(tolerance)
            .with_xtol(tolerance)
            .with_gtol(1e-9)
            .with_stepbound(3.0)
            .with_patience(2);
        let (problem, report) = method.minimize(problem);
        let known = problem.known.into_inner();
        if let Some(error) = known.error {
            return Err(error);
        }
        Ok((problem.at, 2.0 * report.objective_function))
    }

    /// From a point to the best one near it.
    pub(crate) fn descend_finely(&self, begin: DVector<f64>) -> Result<DVector<f64>, FitError> {
        Ok(self.descend(begin, FINE)?.0)
    }

    /// How the logarithms scatter between seeds: for each seed, the difference from their mean, and
    /// that mean.
    pub(crate) fn scatter(&self, at: &DVector<f64>) -> Result<Scatter, FitError> {
        let found = self.logarithms(&self.seeds_at(at, SEEDS))?;
        let mean = found.iter().sum::<DVector<f64>>() / found.len() as f64;
        let differences = found.iter().map(|it| it - &mean).collect();
        Ok(Scatter { mean, differences })
    }

    /// Weighs each figure by its scatter, and drops those that scatter too much.
    pub(crate) fn weigh(&mut self, scatter: &Scatter) -> Result<(), FitError> {
        let deviations = scatter.deviations();
        let kept = |at: &usize| deviations[*at] <= SCATTER_MAX;
        let kept: Vec<usize> = (0..self.figures.len()).filter(kept).collect();
        let twice = 1.0 + 1.0 / SEEDS as f64;
        let scale = |at: &usize| {
            let (own, twin) = (self.figures[*at].deviation, deviations[*at]);
            (FLOOR.powi(2) + own.powi(2) + twice * twin.powi(2)).sqrt()
        };
        self.scales = kept.iter().map(scale).collect();
        self.figures = kept.iter().map(|at| self.figures[*at]).collect();
        self.check_count()
    }

    /// Residuals of these logarithms.
    pub(crate) fn weighed(&self, logarithms: &DVector<f64>) -> DVector<f64> {
        let scaled = logarithms.iter().zip(&self.scales).map(|(it, scale)| it / scale);
        DVector::from_iterator(logarithms.len(), scaled)
    }

    /// Residuals at points, with the search's seed.
    pub(crate) fn residuals(
        &self,
        coordinates: &[DVector<f64>],
    ) -> Result<Vec<DVector<f64>>, FitError> {
        let found = self.logarithms(&self.at(coordinates))?;
        Ok(found.iter().map(|it| self.weighed(it)).collect())
    }

    /// How the logarithms change with each coordinate, by points moved to one side of `at`, or to
    /// either side. A move that changes no figure by what a latency histogram resolves tells
    /// nothing: the next is larger.
    fn slopes(&self, at: &DVector<f64>, sides: Sides<'_>) -> Result<Vec<DVector<f64>>, FitError> {
        let parameters = self.twin.parameters();
        let first = |number: usize| MOVED / parameters[number].slope(at[number]).max(MOVED / 2.0);
        let mut moves: Vec<f64> = (0..at.len()).map(first).collect();
        let mut columns: Vec<Option<DVector<f64>>> = vec![None; at.len()];
        for is_last in [false, false, true] {
            let open: Vec<usize> = (0..at.len()).filter(|it| columns[*it].is_none()).collect();
            let ends: Vec<(DVector<f64>, DVector<f64>)> = open
                .iter()
                .map(|&number| {
                    // Away from the nearer end of the range, where nothing changes any more.
                    let away = if at[number] > 0.0 { -1.0 } else { 1.0 };
                    let (mut one, mut other) = (at.clone(), at.clone());
                    one[number] += away * moves[number];
                    if matches!(sides, Sides::Both) {
                        other[number] -= away * moves[number];
                    }
                    (one, other)
                })
                .collect();
            let mut points: Vec<DVector<f64>> = ends.iter().map(|it| it.0.clone()).collect();
            if matches!(sides, Sides::Both) {
                points.extend(ends.iter().map(|it| it.1.clone()));
            }
            let found = self.logarithms(&self.at(&points))?;
            for (place, number) in open.into_iter().enumerate() {
                let other = match sides {
                    Sides::One(here) => here,
                    Sides::Both => &found[ends.len() + place],
                };
                let change = &found[place] - other;
                let apart = ends[place].0[number] - ends[place].1[number];
                if is_last || change.amax() > RESOLVED {
                    columns[number] = Some(change / apart);
                } else {
                    moves[number] *= 3.0;
                }
            }
        }
        Ok(columns.into_iter().flatten().collect())
    }

    /// The same of residuals, as a matrix.
    fn jacobian(&self, at: &DVector<f64>, sides: Sides<'_>) -> Result<DMatrix<f64>, FitError> {
        let slopes = self.slopes(at, sides)?;
        let columns: Vec<DVector<f64>> = slopes.iter().map(|it| self.weighed(it)).collect();
        Ok(DMatrix::from_columns(&columns))
    }

    /// The last steps: where the mean over seeds is best. Where it is, the scatter there, and how
    /// the residuals change.
    pub(crate) fn last_steps(
        &self,
        mut at: DVector<f64>,
    ) -> Result<(DVector<f64>, Scatter, Linear), FitError> {
        let jacobian = self.jacobian(&at, Sides::Both)?;
        let mut scatter = self.scatter(&at)?;
        let mut linear = Linear { residuals: self.weighed(&scatter.mean), jacobian };
        for _ in 0..LAST_STEPS {
            let next = &at + linear.step(&at);
            let there = self.scatter(&next)?;
            let residuals = self.weighed(&there.mean);
            if residuals.norm_squared() >= linear.residuals.norm_squared() {
                break;
            }
            (at, scatter, linear.residuals) = (next, there, residuals);
        }
        Ok((at, scatter, linear))
    }
}

/// What chance does to the figures at a point.
#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    pub(crate) mean: DVector<f64>,
    pub(crate) differences: Vec<DVector<f64>>,
}

impl Scatter {
    /// The standard deviation of each figure's logarithm.
    pub(crate) fn deviations(&self) -> Vec<f64> {
        let freedom = (self.differences.len() - 1) as f64;
        let square = |at: usize| self.differences.iter().map(move |it| it[at].powi(2));
        (0..self.mean.len()).map(|at| (square(at).sum::<f64>() / freedom).sqrt()).collect()
    }
}

/// ln(twin / measured) of a figure; `None` where the twin does not give it.
pub(crate) fn logarithm(figure: &Observed, sessions: &[SessionFigures]) -> Option<f64> {
    let found = sessions[figure.session].as_ref().ok()?;
    let ours = found.get(&figure.name.figure).filter(|value| **value > 0.0)?;
    Some((ours / figure.value).ln())
}

/// Points that fill the ranges evenly: in each coordinate each part of the range once (a Latin
/// hypercube).
fn spread(twin: &Twin, rng: &mut Rng) -> Vec<DVector<f64>> {
    let parameters = twin.parameters();
    let count = TRIED * parameters.len();
    let mut points = vec![DVector::zeros(parameters.len()); count];
    for (number, parameter) in parameters.iter().enumerate() {
        let mut parts: Vec<usize> = (0..count).collect();
        rng.shuffle(&mut parts);
        let (low, _) = parameter.range();
        for (point, part) in points.iter_mut().zip(parts) {
            let share = (part as f64 + uniform(rng)) / count as f64;
            point[number] = parameter.coordinate((low.ln() + share * parameter.width()).exp());
        }
    }
    points
}

/// A number in [0, 1).
pub(crate) fn uniform(rng: &mut Rng) -> f64 {
    (rng.bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A column below another one.
fn below(upper: &DVector<f64>, lower: &DVector<f64>) -> DVector<f64> {
    let both = upper.iter().chain(lower.iter()).copied();
    DVector::from_iterator(upper.len() + lower.len(), both)
}

/// The search as the optimiser sees it: with a weak preference for the middle of each range, so
/// that what the figures do not tell has an end.
struct Descent<'a> {
    search: &'a Search<'a>,
    at: DVector<f64>,
    known: RefCell<Known>,
}

/// What was computed at the point where it is.
#[derive(Default)]
struct Known {
    residuals: Option<DVector<f64>>,
    error: Option<FitError>,
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Descent<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, at: &DVector<f64>) {
        if self.at != *at {
            self.at.clone_from(at);
            self.known.borrow_mut().residuals = None;
        }
    }

    fn params(&self) -> DVector<f64> {
        self.at.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let mut known = self.known.borrow_mut();
        if known.residuals.is_none() {
            match self.search.residuals(std::slice::from_ref(&self.at)) {
                Ok(found) => known.residuals = found.into_iter().next(),
                Err(error) => known.error = Some(error),
            }
        }
        let residuals = known.residuals.as_ref()?;
        Some(below(residuals, &(&self.at / PRIOR)))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        self.residuals()?;
        let here = self.known.borrow().residuals.clone()?;
        let scales = self.search.scales.iter();
        let here = DVector::from_iterator(
            here.len(),
            here.iter().zip(scales).map(|(it, scale)| it * scale),
        );
        match self.search.jacobian(&self.at, Sides::One(&here)) {
            Ok(jacobian) => {
                let (rows, count) = jacobian.shape();
                let mut whole = jacobian.insert_rows(rows, count, 0.0);
                for at in 0..count {
                    whole[(rows + at, at)] = 1.0 / PRIOR;
                }
                Some(whole)
            }
            Err(error) => {
                self.known.borrow_mut().error = Some(error);
                None
            }
        }
    }
}
