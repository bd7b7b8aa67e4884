//! The figures around a point, as functions of the coordinates.
//!
//! Two runs of a twin differ by chance, and the values of a drive cannot be known better than that
//! allows. So points are spread around the best so far, each is run with a seed of its own, and a
//! response surface is laid through what they gave (\[BOXW51\]): the logarithm of each figure is
//! linear in the coordinates, and curved in those that are hardly known, alone and together. Terms
//! of the latter that are not significant are left out. How far the points lie off it, by chance,
//! steps and curvature, sets the weight of the figure. Where the twin cannot follow the figures,
//! what it is off by does so, too.

mod basis;
mod least_squares;

use nalgebra::{DMatrix, DVector, RowDVector};
use trimbench_core::rng::Rng;

use crate::error::FitError;
use crate::linear::{Linear, PRIOR};
use crate::observed::Observed;
use crate::parameter::Parameter;
use crate::search::{Descended, Search, latin, typical};
use basis::BasisFunction;
use least_squares::lay;

/// Points for each coordinate: of a surface that may be the last, and while the way is looked for.
const POINTS: usize = 6;
const POINTS_ON_THE_WAY: usize = 3;
/// Points at the least.
const POINTS_MIN: usize = 30;
/// Coordinates beyond this are within 1 % of an end of the range, where nothing changes any more.
pub(crate) const END: f64 = 4.595;
/// How far from the middle evenly spread points reach, in standard deviations.
const REACH: f64 = 1.732;
/// How far the logarithm of a value is spread at first, and at the least: a standard deviation.
const FIRST: f64 = 0.2;
const LEAST: f64 = 0.01;
/// The same later: so many times what the value is known by.
const KNOWN_BY: f64 = 2.0;
/// A coordinate that is known by less than this, or the logarithm of whose value is, or that lies
/// nearer to an end than the other, is curved: it has basis functions, alone and with others.
const WIDE: f64 = 0.2;
const NEAR_END: f64 = 0.8 * END;
/// The next surface ends in a curved coordinate where the squares have grown by this: farther off
/// the figures curve without telling anything.
const GROWN: f64 = 9.0;
/// Places at which a coordinate is held, from the best one to an end.
const PLACES: u32 = 50;
/// After a surface that is wider than the next one would be by less than this factor the last one
/// may come...
const NARROWER: f64 = 3.0;
/// ... which is the last if the same is true of it by this factor.
const ENOUGH: f64 = 2.0 * NARROWER;
/// Surfaces at the least, and at the most.
const SURFACES: std::ops::RangeInclusive<usize> = 2..=8;
/// A way leads astray if after the least number of surfaces half of the figures are off by more...
const ASTRAY: f64 = 0.05;
/// ... and after any by more than this.
const FAR_ASTRAY: f64 = 0.5;
/// Steps to the best point of a surface, and how often each is halved until it leads to less.
const STEPS: usize = 12;
const HALVED: i32 = 12;
/// The least that a figure scatters by: what classes of 0.1 % of histograms make of it.
const FLOOR: f64 = 0.0003;
/// The median of |x|, of what scatters normally by 1.
const MEDIAN_OF_NORMAL: f64 = 0.6745;
/// What is off by more standard deviations than this counts by its amount, no longer by its square
/// (\[HUBER64\]).
const HUBER: f64 = 1.345;
/// How wide the surface is around what comes nearest where the twin cannot follow the figures.
const TOLERANT: f64 = 2.0 * FIRST;

/// Where points are spread.
#[derive(Clone, Debug)]
struct Region {
    center: DVector<f64>,
    /// Ends in each coordinate.
    low: DVector<f64>,
    high: DVector<f64>,
}

impl Region {
    /// Around a point, with these standard deviations.
    fn around(center: DVector<f64>, spread: &DVector<f64>) -> Self {
        let low = (&center - spread * REACH).map(|it| it.max(-END));
        let high = (&center + spread * REACH).map(|it| it.min(END));
        Self { center, low, high }
    }

    /// Whether each side is at most so many times as long as that of the next one, and in what is
    /// curved the value at its ends at most so many times as far outside.
    fn is_within(
        &self,
        factor: f64,
        (next, wide): (&Self, &[usize]),
        parameters: &[Parameter],
    ) -> bool {
        let is_long =
            |it: usize| self.high[it] - self.low[it] > (next.high[it] - next.low[it]) * factor;
        let is_outside = |it: &usize| {
            let value = |coordinate: f64| parameters[*it].value(coordinate);
            value(self.high[*it]) > value(next.high[*it]) * factor
                || value(self.low[*it]) < value(next.low[*it]) / factor
        };
        !(0..self.center.len()).any(is_long) && !wide.iter().any(is_outside)
    }
}

/// A response surface.
#[derive(Debug)]
pub(crate) struct Surface<'a> {
    region: Region,
    /// What it has.
    pub(crate) figures: Vec<&'a Observed>,
    /// Coordinates that are hardly known.
    wide: Vec<usize>,
    /// Basis functions that are not linear.
    curved: Vec<BasisFunction<'a>>,
    /// For each figure: the logarithm at the middle, slopes, factors of the basis functions.
    terms: DMatrix<f64>,
    /// What each figure scatters by, by chance and by what is known of it.
    pub(crate) chances: DVector<f64>,
    /// What it is taken to be off by: the same, and what the twin may be off by.
    pub(crate) scales: DVector<f64>,
    /// What it may be off by beyond the chance of a run.
    doubts: DVector<f64>,
    /// What each point is off the surface: a column for each.
    scatter: DMatrix<f64>,
    /// Points less terms.
    pub(crate) freedom: usize,
}

/// How a surface is laid.
struct Layout<'b> {
    region: Region,
    points: usize,
    wide: &'b [usize],
    /// What the twin may be off by in each figure of the search, as a standard deviation of the
    /// logarithm; empty where it is expected to follow them.
    model_errors: &'b [f64],
}

/// A figure of a surface.
struct Laid<'a> {
    figure: &'a Observed,
    terms: RowDVector<f64>,
    /// What each point is off it.
    scatter: RowDVector<f64>,
    /// What it scatters by.
    chance: f64,
    /// What the twin may be off by.
    model_error: f64,
}

/// The last surface of a search, and the best point on it.
pub(crate) struct Best<'a> {
    pub(crate) surface: Surface<'a>,
    pub(crate) at: DVector<f64>,
    /// What each coordinate is known by: a standard deviation.
    pub(crate) deviations: DVector<f64>,
}

/// A way to the values: surfaces one after the other, each around the best point of the one before,
/// and as wide as that is known.
#[derive(Debug)]
pub(crate) struct Way {
    /// Of the next surface.
    region: Region,
    wide: Vec<usize>,
    /// How many there were.
    surfaces: usize,
    /// The next one may be the last.
    may_end: bool,
    /// Median over the figures of |ln(twin / measured)| at the best point of the last one.
    error: f64,
}

impl Way {
    /// Begins at a point.
    pub(crate) fn from(search: &Search<'_>, begin: &DVector<f64>) -> Self {
        let parameters = search.twin.parameters();
        let at = begin.map(|it| it.clamp(-END, END));
        let spread = DVector::from_fn(at.len(), |it, _| FIRST / slope(&parameters[it], at[it]));
        let (region, wide) = (Region::around(at, &spread), Vec::new());
        Self { region, wide, surfaces: 0, may_end: false, error: f64::INFINITY }
    }

    /// How far off the figures are where it has come to.
    pub(crate) fn error(&self) -> f64 {
        self.error
    }

    fn is_astray(&self) -> bool {
        let limit = match self.surfaces {
            0 => f64::INFINITY,
            few if few < *SURFACES.start() => FAR_ASTRAY,
            _ => ASTRAY,
        };
        self.error > limit
    }

    /// Goes on to the end; `None` if there is none within reach, if too few of the figures are
    /// given there, or, where the way may be left, if it leads astray.
    pub(crate) fn follow<'a>(
        &mut self,
        search: &Search<'a>,
        may_leave: bool,
        rng: &mut Rng,
    ) -> Result<Option<Best<'a>>, FitError> {
        while self.surfaces < *SURFACES.end() {
            if may_leave && self.is_astray() {
                break;
            }
            if let Some(end) = self.step(search, rng)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// Lays the next surface, and goes to the best point on it; it is the end where the surface
    /// holds that point, and was laid with all points over no more than what is known, or is the
    /// last of all and gives the figures. Where no surface can be laid, the way ends.
    fn step<'a>(
        &mut self,
        search: &Search<'a>,
        rng: &mut Rng,
    ) -> Result<Option<Best<'a>>, FitError> {
        let count = search.twin.parameters().len();
        let may_end = self.may_end;
        let points = if may_end { POINTS } else { POINTS_ON_THE_WAY } * count;
        let layout = Layout {
            region: self.region.clone(),
            points: points.max(POINTS_MIN),
            wide: &self.wide,
            model_errors: &[],
        };
        self.surfaces += 1;
        let Some(surface) = Surface::of(search, layout, rng)? else {
            (self.surfaces, self.error) = (*SURFACES.end(), f64::INFINITY);
            return Ok(None);
        };
        let at = surface.best();
        let deviations = surface.deviations(&at);
        let parameters = search.twin.parameters();
        let is_wide = |it: &usize| is_wide(&parameters[*it], at[*it], deviations[*it]);
        self.wide = (0..count).filter(is_wide).collect();
        let next = surface.next(parameters, (&at, &deviations), &self.wide);
        let is_narrow =
            |factor: f64| self.region.is_within(factor, (&next, &self.wide), parameters);
        let is_enough = may_end && is_narrow(ENOUGH);
        self.may_end = is_narrow(NARROWER);
        self.region = next;
        self.error = surface.typical_error(&at);
        let is_last = self.surfaces == *SURFACES.end() && self.error <= ASTRAY;
        let is_end = (is_enough || is_last) && surface.holds(&at);
        Ok(is_end.then_some(Best { surface, at, deviations }))
    }
}

/// How much the logarithm of a value changes with its coordinate; at an end of the range hardly.
fn slope(parameter: &Parameter, at: f64) -> f64 {
    parameter.slope(at).max(1e-3)
}

/// Whether a coordinate is known so badly that the figures are not linear in it.
pub(crate) fn is_wide(parameter: &Parameter, coordinate: f64, deviation: f64) -> bool {
    deviation * parameter.slope(coordinate).max(1.0) > WIDE || coordinate.abs() > NEAR_END
}

impl<'a> Best<'a> {
    /// The point to which a descent led, where the twin cannot follow the figures: they all are
    /// taken to be off about as much, and those that are more off count less. `None` where too
    /// many points lack figures.
    pub(crate) fn tolerant(
        search: &Search<'a>,
        end: &Descended,
        rng: &mut Rng,
    ) -> Result<Option<Self>, FitError> {
        let parameters = search.twin.parameters();
        let at = end.at.map(|it| it.clamp(-END, END));
        let spread = |it: usize| (TOLERANT / slope(&parameters[it], at[it])).min(END / REACH);
        let scale = typical(&end.logarithms) / MEDIAN_OF_NORMAL;
        let model_error = |it: &f64| scale.max((scale * it.abs() / HUBER).sqrt());
        let layout = Layout {
            region: Region::around(at.clone(), &DVector::from_fn(at.len(), |it, _| spread(it))),
            points: (POINTS * at.len()).max(POINTS_MIN),
            wide: &[],
            model_errors: &end.logarithms.iter().map(model_error).collect::<Vec<_>>(),
        };
        let Some(surface) = Surface::of(search, layout, rng)? else { return Ok(None) };
        let deviations = surface.deviations(&at);
        Ok(Some(Self { surface, at, deviations }))
    }
}

impl<'a> Surface<'a> {
    /// Around a point; `None` where too many points lack figures, so that those which are left
    /// could not determine the values.
    fn of(
        search: &Search<'a>,
        layout: Layout<'_>,
        rng: &mut Rng,
    ) -> Result<Option<Self>, FitError> {
        let Layout { region, points, wide, model_errors } = layout;
        let count = region.center.len();
        let ends = [&region.low, &region.high];
        let curved = BasisFunction::of(wide, search.twin.parameters(), ends, points - count - 1);
        let shares = latin(points, count, rng);
        let place =
            |share: &DVector<f64>| &region.low + (&region.high - &region.low).component_mul(share);
        let places: Vec<DVector<f64>> = shares.iter().map(place).collect();
        let found = search.given(&search.with_own_seeds(&places))?;
        let row = |place: &DVector<f64>| Self::row(place, &region.center, &curved);
        let rows: Vec<DVector<f64>> = places.iter().map(row).collect();
        let doubtful: Vec<usize> =
            wide.iter().map(|it| 1 + it).chain(1 + count..1 + count + curved.len()).collect();
        let mut laid = Vec::new();
        for (number, figure) in search.figures.iter().enumerate() {
            // On a way one that is far off leads astray: it curves as no other does.
            let counts = |it: &f64| !model_errors.is_empty() || Search::is_near(*it);
            let values: Vec<Option<f64>> =
                found.iter().map(|given| given[number].filter(counts)).collect();
            let Some((terms, scatter, deviation)) = lay(&rows, &values, &doubtful) else {
                continue;
            };
            let chance = deviation * (1.0 + rows[0].len() as f64 / points as f64).sqrt();
            laid.push(Laid {
                figure,
                terms: terms.transpose(),
                scatter: scatter.transpose(),
                chance: FLOOR.hypot(figure.known_to()).hypot(chance),
                model_error: model_errors.get(number).copied().unwrap_or_default(),
            });
        }
        if laid.len() < count {
            return Ok(None);
        }
        let rows_of = |of: &dyn Fn(&Laid<'a>) -> RowDVector<f64>| {
            DMatrix::from_rows(&laid.iter().map(of).collect::<Vec<_>>())
        };
        let column =
            |of: &dyn Fn(&Laid<'a>) -> f64| DVector::from_iterator(laid.len(), laid.iter().map(of));
        Ok(Some(Self {
            terms: rows_of(&|it| it.terms.clone()),
            scatter: rows_of(&|it| it.scatter.clone()),
            chances: column(&|it| it.chance),
            scales: column(&|it| it.chance.hypot(it.model_error)),
            doubts: column(&|it| it.figure.doubt.hypot(it.model_error)),
            figures: laid.iter().map(|it| it.figure).collect(),
            freedom: points - rows[0].len(),
            wide: wide.to_vec(),
            curved,
            region,
        }))
    }

    /// The terms' factors at a point, where the middle is another.
    fn row(at: &DVector<f64>, center: &DVector<f64>, curved: &[BasisFunction<'_>]) -> DVector<f64> {
        let values = curved.iter().map(|function| function.value(at, center));
        let apart = at - center;
        DVector::from_iterator(
            1 + at.len() + curved.len(),
            std::iter::once(1.0).chain(apart.iter().copied()).chain(values),
        )
    }

    /// The figures at a point, and how they change: in units of their scatter.
    pub(crate) fn linear(&self, at: &DVector<f64>) -> Linear {
        let center = &self.region.center;
        let logarithms = &self.terms * Self::row(at, center, &self.curved);
        let mut jacobian = self.terms.columns(1, at.len()).into_owned();
        for (place, function) in self.curved.iter().enumerate() {
            let term = self.terms.column(1 + at.len() + place);
            for (number, slope) in function.slopes(at, center) {
                let mut column = jacobian.column_mut(number);
                column += term * slope;
            }
        }
        for (number, mut row) in jacobian.row_iter_mut().enumerate() {
            row /= self.scales[number];
        }
        Linear { residuals: logarithms.component_div(&self.scales), jacobian }
    }

    /// A point that is not farther outside than the region is wide.
    fn near(&self, at: &DVector<f64>) -> DVector<f64> {
        let Region { low, high, .. } = &self.region;
        DVector::from_fn(at.len(), |it, _| {
            let width = if self.wide.contains(&it) { 0.0 } else { (high[it] - low[it]) / 2.0 };
            at[it].clamp((low[it] - width).max(-END), (high[it] + width).min(END))
        })
    }

    /// Where the squares are least. Whole steps would swing from one side to the other where a
    /// figure is met by no value, and flat on one side.
    fn best(&self) -> DVector<f64> {
        let mut at = self.region.center.clone();
        for _ in 0..STEPS {
            let (linear, before) = (self.linear(&at), self.squares(&at));
            let step = linear.step(&at);
            let shorter = |halved: i32| self.near(&(&at + &step * 0.5_f64.powi(halved)));
            let Some(next) = (0..HALVED).map(shorter).find(|it| self.squares(it) < before) else {
                break;
            };
            at = next;
        }
        at
    }

    /// What [`Linear::step`] makes small: the squares, and those of the coordinates over [`PRIOR`].
    fn squares(&self, at: &DVector<f64>) -> f64 {
        self.linear(at).residuals.norm_squared() + at.norm_squared() / (PRIOR * PRIOR)
    }

    /// The least squares where a coordinate is held.
    fn held(&self, from: &DVector<f64>, number: usize, coordinate: f64) -> f64 {
        let mut at = from.clone();
        for _ in 0..STEPS {
            let change = coordinate - at[number];
            let step = self.linear(&at).step_with(number, change);
            at = self.near(&(&at + step));
        }
        self.linear(&at).residuals.norm_squared()
    }

    /// Median of |ln(twin / measured)| at a point.
    fn typical_error(&self, at: &DVector<f64>) -> f64 {
        typical(&self.linear(at).residuals.component_mul(&self.scales))
    }

    /// Whether a point lies where the points were.
    fn holds(&self, at: &DVector<f64>) -> bool {
        let Region { low, high, .. } = &self.region;
        (0..at.len()).all(|it| (low[it]..=high[it]).contains(&at[it]))
    }

    /// The next region: around the best point, as far as the values are known.
    fn next(
        &self,
        parameters: &[Parameter],
        (at, deviations): (&DVector<f64>, &DVector<f64>),
        wide: &[usize],
    ) -> Region {
        let moved = at - &self.region.center;
        let spread = DVector::from_fn(at.len(), |it, _| {
            let known_by = (KNOWN_BY * deviations[it]).max(moved[it].abs() / REACH);
            known_by.clamp(LEAST / slope(&parameters[it], at[it]), END / REACH)
        });
        let mut next = Region::around(at.clone(), &spread);
        for &number in wide {
            let [low, high] = self.ends(at, number, GROWN);
            // Once it was curved, and ends nowhere in reach: the next one reaches twice as far.
            let was_curved = self.wide.contains(&number);
            let reach = |distance: f64| 2.0 * if was_curved { distance.max(0.0) } else { END };
            let (first, last) = (self.region.low[number], self.region.high[number]);
            let low = low.unwrap_or_else(|| at[number] - reach(at[number] - first));
            let high = high.unwrap_or_else(|| at[number] + reach(last - at[number]));
            next.low[number] = next.low[number].max(low);
            next.high[number] = next.high[number].min(high);
        }
        next
    }

    /// The coordinates at which the squares have grown by so much, low and high, while all others
    /// follow; `None` where they do not as far as the surface reaches.
    pub(crate) fn ends(&self, at: &DVector<f64>, number: usize, grown: f64) -> [Option<f64>; 2] {
        let here = self.held(at, number, at[number]);
        [(-1.0, &self.region.low), (1.0, &self.region.high)].map(|(side, ends)| {
            // A point outside has no such end on that side.
            let step = side * ((ends[number] - at[number]) * side).max(0.0) / f64::from(PLACES);
            let place = |it: u32| at[number] + step * f64::from(it);
            (1..=PLACES).map(place).find(|it| self.held(at, number, *it) - here > grown)
        })
    }

    /// What chance makes of the coordinates of a drive, from the best ones: a move for what each
    /// point is off, and one for what each figure may be off beyond that. They are independent,
    /// and each is a standard deviation.
    pub(crate) fn moves(&self, at: &DVector<f64>) -> Vec<DVector<f64>> {
        let estimator = self.linear(at).estimator();
        let root = (self.freedom as f64).sqrt();
        let scatter = self.scatter.column_iter().map(|column| {
            let weighed = column.component_div(&self.scales) / root;
            -(&estimator * weighed)
        });
        let in_doubt = self.doubts.iter().enumerate().filter(|(_, doubt)| **doubt > 0.0);
        let doubts = in_doubt
            .map(|(number, doubt)| estimator.column(number) * (doubt / self.scales[number]));
        scatter.chain(doubts).collect()
    }

    /// What each coordinate is known by: a standard deviation, of what chance and doubt make of it
    /// and of what the figures do not tell.
    fn deviations(&self, at: &DVector<f64>) -> DVector<f64> {
        let moves = self.moves(at);
        let untold = self.linear(at).untold();
        DVector::from_fn(at.len(), |number, _| {
            let squares: f64 = moves.iter().map(|moved| moved[number].powi(2)).sum();
            squares.sqrt().hypot(untold[number])
        })
    }
}

#[cfg(test)]
mod tests;
