//! The search for the highest rate of deletion whose p99.9 of the load stays within a limit: the
//! pace of a try, whether the target kept it, and the figures. No I/O.
//!
//! Units: rates in bytes a second, 1 MB = 10^6 bytes.

use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Nanos};
use trimbench_results::{Figure, Step, StepOf, Verdict};

use super::metrics::{
    HIGHEST_RATE, HIGHEST_RATE_CHUNK, rate_in_chunks, response_at_highest_rate,
    response_of_load_alone,
};
use super::steps::{RateDeletionStep, RateTryStep};
use trimbench_engine::{RateSearch, TAIL_BLOCKS};

#[cfg(test)]
mod tests;

/// Kinds of steps: a try of the search, the load alone, and the long run that confirms.
pub(super) const TRY: &str = "rate";
pub(super) const ALONE: &str = "rate-load-alone";
pub(super) const CONFIRMATION: &str = "rate-confirmation";
/// All of them.
pub(super) const KINDS: [&str; 3] = [TRY, ALONE, CONFIRMATION];
/// How much longer a confirmation is.
pub(super) const LONGER: u64 = 3;
/// The lowest rate that is tried.
const LOWEST: u64 = 1_000_000;
/// Halvings of the interval between a rate that passes and one that fails.
const HALVINGS: u32 = 7;
/// Rates that are confirmed at the most.
const CONFIRMATIONS: usize = 3;
/// A target that takes fewer of the chunks in time, discards less than was deleted, or takes longer
/// for it than the deletions, does not keep the rate.
const SUSTAINED: f64 = 0.98;

/// Tries of one chunk at the most, in lengths of the shortest: for the estimate of a run.
pub(super) const LENGTHS_MAX: u64 = 2 + HALVINGS as u64 + LONGER * CONFIRMATIONS as u64;

/// The search of one chunk, up to this rate.
pub(super) fn search(highest: u64) -> RateSearch {
    let (halvings, confirmations) = (HALVINGS, CONFIRMATIONS);
    RateSearch { lowest: LOWEST, highest, halvings, confirmations }
}

/// What one try is: chunks at a pace, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// From the start of one chunk to that of the next.
    pub(super) interval: Nanos,
    /// Chunks in all.
    pub(super) chunks: u64,
}

impl Pace {
    /// Chunks of `chunk` bytes at `rate`, for at least `time`.
    pub(super) fn new(chunk: Bytes, rate: u64, time: Nanos) -> Self {
        let interval = Nanos::from_seconds(chunk.0 as f64 / rate as f64).max(Nanos(1));
        Self { interval, chunks: time.0.div_ceil(interval.0).max(1) }
    }

    /// Without deletions, for at least `time`: as many parts as there are blocks.
    pub(super) fn alone(time: Nanos) -> Self {
        Self { interval: Nanos(time.0.div_ceil(TAIL_BLOCKS)), chunks: TAIL_BLOCKS }
    }

    /// All of it.
    pub(super) fn time(self) -> Nanos {
        self.interval.times(self.chunks)
    }
}

/// Whether the try kept the limit and the rate; `None` if it had too few accesses to say so.
pub(super) fn verdict(tried: &RateTryStep) -> Option<bool> {
    let keeps_limit = tried.tail.keeps_limit()?;
    let shares = |it: RateDeletionStep| {
        [
            it.issued_of_planned_ratio,
            it.discarded_of_deleted_ratio,
            it.deletion_over_discard_time_ratio,
        ]
    };
    // The load alone deletes nothing.
    let mut shares = tried.deletion.map(shares).into_iter().flatten();
    Some(keeps_limit && shares.all(|share| share >= SUSTAINED))
}

/// A try beside deletions.
struct Tried<'a> {
    all: &'a StepOf<'a, RateTryStep>,
    deletion: RateDeletionStep,
}

impl Tried<'_> {
    fn is(&self, kind: &str) -> bool {
        self.all.step.kind == kind
    }

    fn mb_per_s(&self) -> f64 {
        self.deletion.deletion_bytes_per_s as f64 / 1e6
    }
}

/// The figures of a search: a pure function of its steps.
pub(super) fn figures(steps: &[Step], rng: &mut Rng) -> Vec<Figure> {
    let all: Vec<StepOf<'_, RateTryStep>> = steps.iter().filter_map(StepOf::read).collect();
    let mut figures = Vec::new();
    let Some(alone) = all.iter().find(|it| it.step.kind == ALONE) else { return figures };
    let tries = all.iter().filter_map(|all| Some(Tried { all, deletion: all.deletion? }));
    let tries: Vec<Tried<'_>> = tries.collect();
    let rate = |it: &Tried<'_>| it.deletion.deletion_bytes_per_s;
    let mut chunks: Vec<Bytes> =
        tries.iter().filter(|it| it.is(TRY)).map(|it| it.deletion.chunk_bytes).collect();
    chunks.sort_unstable();
    chunks.dedup();
    let mut best: Option<&Tried<'_>> = None;
    let mut rows = Vec::new();
    for size in chunks {
        let of_it = || tries.iter().filter(move |it| it.deletion.chunk_bytes == size);
        let highest = of_it().filter(|it| it.is(TRY)).map(rate).max();
        let confirmed = of_it()
            .filter(|it| it.is(CONFIRMATION) && verdict(it.all) == Some(true))
            .max_by_key(|it| rate(it));
        let value = confirmed.map_or(0.0, Tried::mb_per_s);
        rows.extend(rate_in_chunks(size).measured(value).map(|figure| {
            let tried = of_it().any(|it| it.is(CONFIRMATION));
            let word = match confirmed {
                Some(it) if Some(rate(it)) >= highest => Verdict::RateAsHighAsTried,
                Some(_) => Verdict::RateConfirmed,
                None if tried => Verdict::RateNotConfirmed,
                None => Verdict::RateTooHigh { mb_per_s: LOWEST / 1_000_000 },
            };
            figure.with_n(of_it().count() as u64).judged(word)
        }));
        // Of equals the larger chunk: fewer commands.
        best = confirmed.filter(|it| best.is_none_or(|best| rate(it) >= rate(best))).or(best);
    }
    let limit_ms = alone.tail.limit_s * 1e3;
    let verdict = match best {
        _ if verdict(alone) != Some(true) => Verdict::LoadAloneExceeds,
        Some(it) => Verdict::RateInChunks { chunk: it.deletion.chunk_bytes.to_string(), limit_ms },
        None => Verdict::NoRate { limit_ms },
    };
    let figure = HIGHEST_RATE.measured(best.map_or(0.0, Tried::mb_per_s));
    figures.extend(figure.map(|figure| figure.judged(verdict)));
    if let Some(it) = best {
        let size = it.deletion.chunk_bytes.0 as f64 / f64::from(1 << 20);
        figures.extend(HIGHEST_RATE_CHUNK.measured(size));
        figures.extend(it.all.tail.figure(&response_at_highest_rate(), rng));
    }
    figures.extend(alone.tail.figure(&response_of_load_alone(), rng));
    figures.extend(rows);
    figures
}
