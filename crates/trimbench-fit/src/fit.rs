//! A fit from its beginning to its end.

use nalgebra::DVector;
use trimbench_core::rng::Rng;
use trimbench_results::statistics;

use crate::error::FitError;
use crate::interval::{self, Known};
use crate::observed::Observations;
use crate::report::Fit;
use crate::search::{Descended, Loss, Search};
use crate::surface::{Best, Way};
use crate::twin::{Outside, Twin};

/// Points from which the search begins, if the first leads nowhere.
const BEGINNINGS: usize = 3;
/// It led to the values if chi-square over the degrees of freedom is at most this...
const MISFIT: f64 = 2.0;
/// ... and half of the figures are off by no more than this, or than half of them are known by.
const ERROR: f64 = 0.01;
/// A way that was left is taken up again if half of the figures are off by no more than this there:
/// further surfaces do not help where no twin follows the drive.
const RESUMED: f64 = 0.2;

/// What the user may say of the search.
#[derive(Clone, Copy, Debug)]
pub struct FitOptions {
    /// Makes everything random.
    pub seed: u64,
}

/// Finds the best values, how well they are known, and what the twin says of what was set aside.
pub fn fit(
    twin: &Twin,
    observations: &Observations,
    options: FitOptions,
    outside: Outside<'_>,
) -> Result<Fit, FitError> {
    let rng = Rng::new(options.seed).split("fit");
    let fitted = observations.figures.iter().filter(|figure| !figure.set_aside);
    let mut search = Search::new(twin, fitted.collect(), (options.seed, outside));
    search.keep_what_the_twin_gives()?;
    let known = best(&search, &rng)?;
    Fit::new(&search, &known, observations, &rng)
}

/// The best of the points to which beginnings lead.
fn best<'a>(search: &Search<'a>, rng: &Rng) -> Result<Known<'a>, FitError> {
    let mut points = rng.split("surface");
    let deviations: Vec<f64> = search.figures.iter().map(|it| it.known_to()).collect();
    let error = statistics::median(&deviations).unwrap_or_default().max(ERROR);
    let (mut best, mut astray): (Option<Known<'_>>, Option<Way>) = (None, None);
    let mut beginnings = search.beginnings(rng)?;
    beginnings.truncate(BEGINNINGS);
    for begin in &beginnings {
        let mut way = Way::from(search, &search.descend(begin.clone(), Loss::Squares)?.at);
        let Some(end) = way.follow(search, true, &mut points)? else {
            if astray.as_ref().is_none_or(|least| way.error() < least.error()) {
                astray = Some(way);
            }
            continue;
        };
        let known = interval::know(search, end)?;
        if known.misfit <= MISFIT && known.typical_error() <= error {
            return Ok(known);
        }
        if best.as_ref().is_none_or(|least| known.typical_error() < least.typical_error()) {
            best = Some(known);
        }
    }
    if let Some(known) = best {
        return Ok(known);
    }
    let hopeful = astray.filter(|way| way.error() <= RESUMED);
    let resumed = hopeful.map(|mut way| way.follow(search, false, &mut points));
    let mut end = resumed.transpose()?.flatten();
    if end.is_none() {
        end = nearest(search, beginnings, &mut points)?;
    }
    match end {
        Some(end) => interval::know(search, end),
        None => Err(FitError::NotConverged { evaluations: search.runs() }),
    }
}

/// The drive may be none that the twin can be: then it is what comes nearest.
fn nearest<'a>(
    search: &Search<'a>,
    beginnings: Vec<DVector<f64>>,
    rng: &mut Rng,
) -> Result<Option<Best<'a>>, FitError> {
    let mut nearest: Option<Descended> = None;
    for begin in beginnings {
        let end = search.descend(begin, Loss::Amounts)?;
        if nearest.as_ref().is_none_or(|least| end.score() < least.score()) {
            nearest = Some(end);
        }
    }
    nearest.map_or(Ok(None), |end| Best::tolerant(search, &end, rng))
}
