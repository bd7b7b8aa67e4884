//! How well the values are known: an interval of 95 % for each, or that the figures do not
//! determine it.
//!
//! What the points around the best one are off the surface, and what the figures may be off beyond
//! that, becomes, through it, a scatter of the values; its standard deviation and Student's
//! distribution give the interval. It is wider where the twin cannot follow the figures: by the
//! root of chi-square over the degrees of freedom.
//!
//! Where that interval is wide, the profile of the likelihood on the surface gives the ends: a
//! value is held at a place, all others are found anew, and the end is where the squares have grown
//! by the square of Student's quantile.

use nalgebra::DVector;
use statrs::distribution::{ContinuousCDF as _, StudentsT};
use trimbench_core::rng::Rng;

use crate::error::FitError;
use crate::linear::Linear;
use crate::search::{Search, logarithm, typical, uniform};
use crate::surface::{Best, Surface, is_wide};
use crate::twin::SessionFigures;

/// Level of the intervals.
pub const LEVEL: f64 = 0.95;
/// Seeds of the best twin.
const SEEDS: usize = 6;
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
pub(crate) struct Known<'a> {
    pub(crate) surface: Surface<'a>,
    pub(crate) at: DVector<f64>,
    linear: Linear,
    /// What chance makes of the coordinates: moves that are independent, each a standard deviation.
    moves: Vec<DVector<f64>>,
    pub(crate) values: Vec<Knowledge>,
    /// The best twin with several seeds.
    pub(crate) runs: Vec<Vec<SessionFigures>>,
    /// ln(twin / measured) of each figure: the mean over these seeds.
    pub(crate) logarithms: DVector<f64>,
    /// Chi-square over the degrees of freedom, of what is chance.
    pub(crate) misfit: f64,
}

/// Finds out how well the values are known.
pub(crate) fn know<'a>(search: &Search<'a>, best: Best<'a>) -> Result<Known<'a>, FitError> {
    let Best { surface, at, deviations } = best;
    let runs = search.run(&search.seeds_at(&at, SEEDS))?;
    let mean = |figure: &&crate::Observed| {
        let found: Vec<f64> = runs.iter().filter_map(|it| logarithm(figure, it)).collect();
        found.iter().sum::<f64>() / found.len().max(1) as f64
    };
    let logarithms =
        DVector::from_iterator(surface.figures.len(), surface.figures.iter().map(mean));
    // As many figures as values can be met exactly, and nothing is left to judge by.
    let freedom = (logarithms.len() - at.len()).max(1) as f64;
    let over = |scales: &DVector<f64>| logarithms.component_div(scales).norm_squared() / freedom;
    let misfit = over(&surface.chances);
    let widened = over(&surface.scales).sqrt().max(1.0);
    let half = quantile(surface.freedom + 1) * widened;
    let value = |number: usize| {
        let parameter = &search.twin.parameters()[number];
        let half = half * deviations[number];
        if is_wide(parameter, at[number], deviations[number] * widened) {
            let limit = (half / deviations[number]).powi(2);
            return by_ends(search, (number, at[number]), surface.ends(&at, number, limit));
        }
        let [value, low, high] =
            [0.0, -half, half].map(|apart| parameter.value(at[number] + apart));
        Knowledge { value, low, high, determined: Determined::Yes }
    };
    let values = (0..at.len()).map(value).collect();
    let moves = surface.moves(&at).into_iter().map(|moved| moved * widened).collect();
    let linear = surface.linear(&at);
    Ok(Known { surface, at, linear, moves, values, runs, logarithms, misfit })
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

/// What is known of a value by the ends of its interval, as coordinates.
fn by_ends(
    search: &Search<'_>,
    (number, coordinate): (usize, f64),
    ends: [Option<f64>; 2],
) -> Knowledge {
    let parameter = &search.twin.parameters()[number];
    let (first, last) = parameter.range();
    let [low, high] = ends.map(|end| end.map(|it| parameter.value(it)));
    let determined = match (low, high) {
        (Some(low), Some(high)) if high / low <= DETERMINED => Determined::Yes,
        (Some(low), None) if low >= first * EXCLUDED => Determined::AtLeast,
        (None, Some(high)) if high * EXCLUDED <= last => Determined::AtMost,
        _ => Determined::No,
    };
    let (low, high) = (low.unwrap_or(first), high.unwrap_or(last));
    Knowledge { value: parameter.value(coordinate), low, high, determined }
}

impl Known<'_> {
    /// Mean of |ln(twin / measured)|.
    pub(crate) fn error(&self) -> f64 {
        self.logarithms.iter().map(|it| it.abs()).sum::<f64>() / self.logarithms.len() as f64
    }

    /// Median of |ln(twin / measured)|.
    pub(crate) fn typical_error(&self) -> f64 {
        typical(&self.logarithms)
    }

    /// Coordinates that might be the true ones: drawn as they scatter, and evenly over the interval
    /// where the figures do not determine a value.
    pub(crate) fn drawn(&self, search: &Search<'_>, rng: &mut Rng) -> DVector<f64> {
        let mut drawn = self.at.clone();
        for moved in &self.moves {
            drawn += moved * normal(rng);
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
