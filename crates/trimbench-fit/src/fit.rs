//! A fit from its beginning to its end.

use trimbench_core::rng::Rng;

use crate::error::FitError;
use crate::interval;
use crate::observed::Observations;
use crate::report::Fit;
use crate::search::Search;
use crate::twin::{Outside, Twin};

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
    let begin = search.best_beginning(&rng)?;
    let scatter = search.scatter(&begin)?;
    search.weigh(&scatter)?;
    let best = search.descend_finely(begin)?;
    let known = interval::know(&search, best)?;
    Fit::new(&search, &known, observations, &rng)
}
