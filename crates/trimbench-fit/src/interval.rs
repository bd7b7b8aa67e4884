//! How well the values are known: an interval of 95 % for each, or that the figures do not
//! determine it.
//!
//! Two runs of a drive differ by chance, and so do two of the twin. What the figures scatter by
//! between seeds of the twin becomes, through the linear view of the twin, a scatter of the values;
//! its standard deviation, and Student's distribution for as many seeds, give the interval. It is
//! wider where the twin cannot follow the figures: by the root of chi-square over the degrees of
//! freedom.
//!
//! Where that interval is wide, the linear view is not trusted, and the profile of the likelihood
//! gives the ends: a value is held at a place, all others are found anew, and the end is where the
//! squares have grown by the square of Student's quantile.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector};
use statrs::distribution::{ContinuousCDF as _, StudentsT};
use trimbench_core::rng::Rng;

use crate::error::FitError;
use crate::linear::Linear;
use crate::search::{FLOOR, SEEDS, Scatter, Search, uniform};

/// Level of the intervals.
pub const LEVEL: f64 = 0.95;
/// Standard deviations of the logarithm from which on the profile decides.
const WIDE: f64 = 0.15;
/// Standard deviations of half a normal interval of 95 %.
const Z: f64 = 1.96;
/// So many points are taken for the best until a better one shows.
const BETTER: usize = 4;
/// At the end of an interval the squares are more by this, at the least.
const WORSE: f64 = 1.0;
/// Coordinates beyond this are near an end of the range, where nothing is linear.
const NEAR_END: f64 = 3.5;
/// How often an end is bisected.
const BISECTIONS: usize = 3;
/// The ends of a range, as shares of its logarithm.
const ENDS: [f64; 2] = [0.01, 0.99];
/// An interval over a larger factor than this determines nothing.
const DETERMINED: f64 = 10.0;
/// Where only one end is known, it says something if it excludes this factor of the range.
const EXCLUDED: f64 = 3.0;

/// A value, as far as it is known; in ns, bytes or millionths.
#[derive(Clone, Debug, PartialEq)]
pub struct Knowledge {
    /// The best.
    pub value: f64,
    /// Its interval; an end that is not known is the end of the range.
    pub low: f64,
    /// Likewise.
    pub high: f64,
    /// Whether the figures determine it.
    pub determined: Determined,
}

/// What the figures say of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Determined {
    /// Both ends of its interval.
    Yes,
    /// Only that it is at most the high end.
    AtMost,
    /// Only that it is at least the low end.
    AtLeast,
    /// Nothing that would help.
    No,
}

/// All that is known at the end of a search.
pub(crate) struct Known {
    pub(crate) at: DVector<f64>,
    pub(crate) linear: Linear,
    /// What the seeds make of the coordinates.
    pub(crate) moves: Vec<DVector<f64>>,
    pub(crate) values: Vec<Knowledge>,
    /// The standard deviation of each coordinate by what figures resolve.
    pub(crate) resolution: DVector<f64>,
    /// Mean over seeds of ln(twin / measured).
    pub(crate) scatter: Scatter,
    /// Chi-square over the degrees of freedom.
    pub(crate) misfit: f64,
}

/// Takes the last steps from the end of a search, and finds out how well the values are known.
/// Where a better point shows on the way, the search goes on from there.
pub(crate) fn know(search: &Search<'_>, mut at: DVector<f64>) -> Result<Known, FitError> {
    for _ in 0..BETTER {
        match known_at(search, at)? {
            Outcome::Known(known) => return Ok(*known),
            Outcome::Better(better) => at = search.descend_finely(better)?,
        }
    }
    Err(FitError::NotConverged { evaluations: search.runs() })
}

/// What became of a point.
enum Outcome {
    Known(Box<Known>),
    /// There is a better one.
    Better(DVector<f64>),
}

fn known_at(search: &Search<'_>, at: DVector<f64>) -> Result<Outcome, FitError> {
    let (at, scatter, linear) = search.last_steps(at)?;
    let freedom = (linear.residuals.len() - at.len()).max(1) as f64;
    let misfit = linear.residuals.norm_squared() / freedom;
    let widened = misfit.sqrt().max(1.0);
    let estimator = linear.estimator();
    let moves: Vec<DVector<f64>> = scatter
        .differences
        .iter()
        .map(|difference| -(&estimator * search.weighed(difference)) * widened)
        .collect();
    let resolution = resolution(search, &estimator) * widened;
    let mut known = Known { at, linear, moves, resolution, values: Vec::new(), scatter, misfit };
    let alone = known.linear.deviations();
    let alone = alone.iter().map(|it| it * widened);
    let mut known_well: Vec<Option<Knowledge>> =
        alone.enumerate().map(|(number, alone)| linearly(search, &known, number, alone)).collect();
    let here = search.residuals(std::slice::from_ref(&known.at))?.remove(0).norm_squared();
    let bar = Bar { here, limit: quantile(SEEDS).powi(2) * misfit.max(1.0) };
    let bent = match bent(search, &known, &known_well, bar)? {
        Probed::Value(bent) => bent,
        Probed::Better(better) => return Ok(Outcome::Better(better)),
    };
    for number in bent {
        known_well[number] = None;
    }
    let wide: Vec<usize> = (0..known_well.len()).filter(|it| known_well[*it].is_none()).collect();
    let ends = match ends(search, &known, &wide, bar)? {
        Probed::Value(ends) => ends,
        Probed::Better(better) => return Ok(Outcome::Better(better)),
    };
    let mut ends = ends.into_iter();
    for (number, value) in known_well.into_iter().enumerate() {
        let by_ends = || by_ends(search, &known, number, ends.next().expect("one for each"));
        let value = value.unwrap_or_else(by_ends);
        known.values.push(value);
    }
    Ok(Outcome::Known(Box::new(known)))
}

/// What the figures' resolution makes of each coordinate. Equal figures of a session are off alike:
/// they are medians in the same bucket of a histogram.
fn resolution(search: &Search<'_>, estimator: &DMatrix<f64>) -> DVector<f64> {
    let mut groups: BTreeMap<(usize, u64), DVector<f64>> = BTreeMap::new();
    for (number, figure) in search.figures.iter().enumerate() {
        let moved = estimator.column(number) * (FLOOR / search.scales[number]);
        let group = groups.entry((figure.session, figure.value.to_bits()));
        *group.or_insert_with(|| DVector::zeros(estimator.nrows())) += moved;
    }
    let mut squares = DVector::zeros(estimator.nrows());
    for moved in groups.values() {
        squares += moved.component_mul(moved);
    }
    squares.map(f64::sqrt)
}

/// Student's quantile of the intervals.
pub(crate) fn quantile(samples: usize) -> f64 {
    let student = StudentsT::new(0.0, 1.0, (samples - 1) as f64).expect("two samples or more");
    student.inverse_cdf(f64::midpoint(1.0, LEVEL))
}

/// How much wider the next sample scatters than the mean of so many is off.
pub(crate) fn next_of(samples: usize) -> f64 {
    (1.0 + 1.0 / samples as f64).sqrt()
}

/// What is known of a value by the linear view; `None` where its interval is wide. Its coordinate
/// scatters by `alone` if all figures scatter independently.
fn linearly(search: &Search<'_>, known: &Known, number: usize, alone: f64) -> Option<Knowledge> {
    let parameter = &search.twin.parameters()[number];
    let coordinate = known.at[number];
    let squares: f64 = known.moves.iter().map(|moved| moved[number].powi(2)).sum();
    let together = (squares / (SEEDS - 1) as f64).sqrt() * next_of(SEEDS);
    let half = (quantile(SEEDS) * together).hypot(Z * known.resolution[number]).max(Z * alone);
    let (slope, value) = (parameter.slope(coordinate), parameter.value(coordinate));
    let (low, high) = ((value.ln() - half * slope).exp(), (value.ln() + half * slope).exp());
    (half / Z * slope <= WIDE && coordinate.abs() < NEAR_END).then_some(Knowledge {
        value,
        low,
        high,
        determined: Determined::Yes,
    })
}

/// The values of which an end of the linear interval is no end: there the twin is hardly worse, as
/// where a limit that is not reached bounds a value from one side only.
fn bent(
    search: &Search<'_>,
    known: &Known,
    values: &[Option<Knowledge>],
    bar: Bar,
) -> Result<Probed<Vec<usize>>, FitError> {
    let mut places = Vec::new();
    for (number, value) in values.iter().enumerate() {
        places.extend(value.iter().flat_map(|it| [(number, it.low), (number, it.high)]));
    }
    let Bar { here, limit } = bar;
    let mut bent = Vec::new();
    for ((number, _), (point, squares)) in places.iter().zip(held(search, known, &places)?) {
        if here - squares > limit {
            return Ok(Probed::Better(point));
        }
        if squares - here < WORSE && !bent.contains(number) {
            bent.push(*number);
        }
    }
    Ok(Probed::Value(bent))
}

/// What is known of a value by the ends of its interval.
fn by_ends(
    search: &Search<'_>,
    known: &Known,
    number: usize,
    [low, high]: [Option<f64>; 2],
) -> Knowledge {
    let parameter = &search.twin.parameters()[number];
    let (first, last) = parameter.range();
    let determined = match (low, high) {
        (Some(low), Some(high)) if high / low <= DETERMINED => Determined::Yes,
        (Some(low), None) if low >= first * EXCLUDED => Determined::AtLeast,
        (None, Some(high)) if high * EXCLUDED <= last => Determined::AtMost,
        _ => Determined::No,
    };
    let (low, high) = (low.unwrap_or(first), high.unwrap_or(last));
    Knowledge { value: parameter.value(known.at[number]), low, high, determined }
}

/// What probing found, or a point that is better than the best so far.
enum Probed<T> {
    Value(T),
    Better(DVector<f64>),
}

/// What the squares of a point are held against.
#[derive(Clone, Copy)]
struct Bar {
    /// Those of the best point.
    here: f64,
    /// By how much more they are at the end of an interval.
    limit: f64,
}

/// The search for one end of an interval.
struct End {
    number: usize,
    /// Values that are in the interval, and beyond its end.
    inside: f64,
    outside: f64,
    /// It ends between the two.
    is_open: bool,
    /// It is known that it ends.
    ends: bool,
}

/// The ends of the intervals of some values, low and high; `None` where the figures do not end one.
fn ends(
    search: &Search<'_>,
    known: &Known,
    numbers: &[usize],
    bar: Bar,
) -> Result<Probed<Vec<[Option<f64>; 2]>>, FitError> {
    let mut all: Vec<End> = Vec::new();
    for &number in numbers {
        let parameter = &search.twin.parameters()[number];
        let inside = parameter.value(known.at[number]);
        for share in ENDS {
            let outside = (parameter.range().0.ln() + share * parameter.width()).exp();
            let is_open = if share < 0.5 { outside < inside } else { inside < outside };
            all.push(End { number, inside, outside, is_open, ends: false });
        }
    }
    let Bar { here, limit } = bar;
    for probe in 0..=BISECTIONS {
        let place = |end: &End| {
            if probe == 0 { end.outside } else { (end.inside * end.outside).sqrt() }
        };
        let open: Vec<usize> = (0..all.len()).filter(|it| all[*it].is_open).collect();
        let places: Vec<(usize, f64)> =
            open.iter().map(|it| (all[*it].number, place(&all[*it]))).collect();
        let found = held(search, known, &places)?;
        for ((at, (_, place)), (point, squares)) in open.into_iter().zip(places).zip(found) {
            if here - squares > limit {
                return Ok(Probed::Better(point));
            }
            let end = &mut all[at];
            let is_in = squares - here <= limit;
            end.ends |= probe == 0 && !is_in;
            end.is_open = end.ends;
            *(if is_in { &mut end.inside } else { &mut end.outside }) = place;
        }
    }
    let of = |end: &End| end.ends.then(|| (end.inside * end.outside).sqrt());
    Ok(Probed::Value(all.chunks(2).map(|two| [of(&two[0]), of(&two[1])]).collect()))
}

/// For each value that is held at a place: the best point, as the linear view finds it in two
/// steps, and its squares.
fn held(
    search: &Search<'_>,
    known: &Known,
    places: &[(usize, f64)],
) -> Result<Vec<(DVector<f64>, f64)>, FitError> {
    let change = |number: usize, place: f64| {
        search.twin.parameters()[number].coordinate(place) - known.at[number]
    };
    let first: Vec<DVector<f64>> = places
        .iter()
        .map(|&(number, place)| &known.at + known.linear.step_with(number, change(number, place)))
        .collect();
    let found = search.residuals(&first)?;
    let second: Vec<DVector<f64>> = found
        .iter()
        .zip(places.iter().zip(&first))
        .map(|(residuals, ((number, _), point))| {
            let jacobian = known.linear.jacobian.clone();
            let there = Linear { residuals: residuals.clone(), jacobian };
            point + there.step_with(*number, 0.0)
        })
        .collect();
    let again = search.residuals(&second)?;
    let one_or_other =
        |((first, before), (second, after)): ((_, &DVector<f64>), (_, &DVector<f64>))| {
            let (before, after) = (before.norm_squared(), after.norm_squared());
            if after < before { (second, after) } else { (first, before) }
        };
    Ok(first
        .into_iter()
        .zip(&found)
        .zip(second.into_iter().zip(&again))
        .map(one_or_other)
        .collect())
}

impl Known {
    /// Coordinates that might be the true ones: drawn as they scatter, and evenly over the interval
    /// where the figures do not determine a value.
    pub(crate) fn drawn(&self, search: &Search<'_>, rng: &mut Rng) -> DVector<f64> {
        let mut drawn = self.at.clone();
        let spread = next_of(self.moves.len()) / ((self.moves.len() - 1) as f64).sqrt();
        for moved in &self.moves {
            drawn += moved * (normal(rng) * spread);
        }
        for (number, value) in self.values.iter().enumerate() {
            if value.determined != Determined::Yes {
                let parameter = &search.twin.parameters()[number];
                let share = uniform(rng);
                let anywhere = (value.low.ln() + share * (value.high / value.low).ln()).exp();
                let change = parameter.coordinate(anywhere) - drawn[number];
                drawn += self.linear.step_with(number, change) - self.linear.step_with(number, 0.0);
            }
        }
        drawn
    }
}

/// A number of the standard normal distribution.
fn normal(rng: &mut Rng) -> f64 {
    let normal = statrs::distribution::Normal::standard();
    normal.inverse_cdf(uniform(rng).max(f64::EPSILON))
}
