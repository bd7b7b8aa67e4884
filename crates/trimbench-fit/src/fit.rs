//! A fit from its beginning to its end.

use trimbench_core::rng::Rng;

use crate::error::FitError;
use crate::interval::{self, Known};
use crate::observed::Observations;
use crate::report::Fit;
use crate::search::Search;
use crate::surface;
use crate::twin::{Outside, Twin};

/// Points from which the search begins, if the first leads nowhere.
const BEGINNINGS: usize = 3;
/// It led to the values if chi-square over the degrees of freedom is at most this...
const MISFIT: f64 = 2.0;
/// ... and half of the figures are off by no more.
const ERROR: f64 = 0.01;

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
    let mut best: Result<Known<'_>, FitError> =
        Err(FitError::NotConverged { evaluations: search.runs() });
    for begin in search.beginnings(rng)?.into_iter().take(BEGINNINGS) {
        let end = search.descend(begin)?;
        let known = match surface::best(search, &end, &mut points) {
            Ok(end) => interval::know(search, end)?,
            Err(FitError::NotConverged { evaluations }) => {
                if best.is_err() {
                    best = Err(FitError::NotConverged { evaluations });
                }
                continue;
            }
            Err(error) => return Err(error),
        };
        let is_it = known.misfit <= MISFIT && known.typical_error() <= ERROR;
        if best.as_ref().map_or(true, |least| known.typical_error() < least.typical_error()) {
            best = Ok(known);
        }
        if is_it {
            break;
        }
    }
    best
}
