//! The search for the highest rate of deletion whose p99.9 of the load stays within a limit: which
//! rate to try next, the result of a try, and the figures. No I/O.
//!
//! A try at one rate and chunk counts the accesses of the load whose response time exceeds the
//! limit. Its p99.9 is within the limit if and only if no more than the thousandth part of the
//! accesses (rounded down) exceed it, which needs no percentile; none is computed from fewer than
//! 10 / (1 - q) accesses.
//!
//! Units: rates in bytes a second, 1 MB = 10^6 bytes.

use trimbench_core::rng::Rng;
use trimbench_core::units::{index, rounded};
use trimbench_core::{Bytes, Nanos};
use trimbench_results::statistics::{Bootstrap, bootstrap_interval};
use trimbench_results::{Figure, Metric, Quantile, Series, Step, StepOf, Verdict};

use super::metrics::{
    HIGHEST_RATE, HIGHEST_RATE_CHUNK, rate_in_chunks, response_at_highest_rate,
    response_of_load_alone,
};
use super::steps::{RateDeletionStep, RateTryStep};

#[cfg(test)]
mod tests;

/// The percentile that is limited.
const QUANTILE: Quantile = Quantile::P99_9;
/// Kinds of steps: a try of the search, the load alone, and the long run that confirms.
pub(super) const TRY: &str = "rate";
pub(super) const ALONE: &str = "rate-load-alone";
pub(super) const CONFIRMATION: &str = "rate-confirmation";
/// All of them.
pub(super) const KINDS: [&str; 3] = [TRY, ALONE, CONFIRMATION];
/// How much longer a confirmation is.
pub(super) const LONGER: u64 = 3;
/// The lowest rate that is tried.
pub(super) const LOWEST: u64 = 1_000_000;
/// Halvings of the interval between a rate that passes and one that fails: a factor of 1000
/// becomes one of 1000^(1/128), 5.5 %.
const HALVINGS: u32 = 7;
/// Rates that are confirmed at the most, the highest first.
const CONFIRMATIONS: usize = 3;
/// Blocks of a try.
const BLOCKS: u64 = 30;

/// Tries of one chunk at the most, in lengths of the shortest: for the estimate of a run.
pub(super) const LENGTHS_MAX: u64 = 2 + HALVINGS as u64 + LONGER * CONFIRMATIONS as u64;

fn accesses_needed() -> u64 {
    QUANTILE.samples_needed()
}

/// The accesses that a try is meant to have: a twentieth more than it needs, as random arrivals may
/// be fewer than meant (five standard deviations).
pub(super) fn accesses_meant() -> u64 {
    accesses_needed() + accesses_needed() / 20
}

/// How many accesses of `count` may exceed the limit.
fn allowed(count: u64) -> u64 {
    count / 1_000
}

/// The highest of the rates in `[LOWEST, highest]` that passes and is confirmed, if any: the ends
/// first, then halving the interval of their logarithms. `passes` is shown each rate, and whether
/// it is a confirmation.
pub(super) fn search<E>(
    highest: u64,
    mut passes: impl FnMut(u64, bool) -> Result<bool, E>,
) -> Result<Option<u64>, E> {
    let mut passed = Vec::new();
    if passes(highest, false)? {
        passed.push(highest);
    } else if passes(LOWEST, false)? {
        passed.push(LOWEST);
        let (mut low, mut high) = (LOWEST, highest);
        for _ in 0..HALVINGS {
            let middle = rounded((low as f64 * high as f64).sqrt());
            if passes(middle, false)? {
                passed.push(middle);
                low = middle;
            } else {
                high = middle;
            }
        }
    }
    for rate in passed.into_iter().rev().take(CONFIRMATIONS) {
        if passes(rate, true)? {
            return Ok(Some(rate));
        }
    }
    Ok(None)
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
        Self { interval: Nanos(time.0.div_ceil(BLOCKS)), chunks: BLOCKS }
    }

    /// All of it.
    pub(super) fn time(self) -> Nanos {
        self.interval.times(self.chunks)
    }
}

/// The slowest accesses of a try, block by block, so that its p99.9 can be resampled.
///
/// A block is a part of the time, no shorter than the pace of the chunks: what a chunk does to the
/// load lies in one block, or in two neighbours.
#[derive(Clone, Debug)]
pub(super) struct Tails {
    block: Nanos,
    limit: Nanos,
    /// Accesses of each block, and the slowest of them, the slowest first.
    blocks: Vec<(u64, Vec<Nanos>)>,
    /// Of each block so many are kept: what lies above the percentile of all accesses, and one.
    keep: usize,
    exceeding: u64,
}

impl Tails {
    /// Of a load of one access every `gap` for the time of `pace`.
    pub(super) fn new(pace: Pace, gap: Nanos, limit: Nanos) -> Self {
        let block = Nanos(pace.time().0.div_ceil(BLOCKS)).max(pace.interval);
        let count = index(pace.time().0.div_ceil(block.0));
        let accesses = pace.time().0 / gap.0.max(1);
        // Arrivals may be random: half as many more.
        let keep = index(allowed(accesses) * 3 / 2 + 2);
        Self { block, limit, blocks: vec![(0, Vec::new()); count], keep, exceeding: 0 }
    }

    /// Takes in an access that was intended so long after the beginning.
    pub(super) fn note(&mut self, after: Nanos, response: Nanos) {
        self.block_at(after).0 += 1;
        self.note_behind(after, response);
    }

    /// Takes in an access that was intended behind the deletions, until their discards were over:
    /// it belongs to what happened `after` the beginning, and is not one of the accesses whose
    /// thousandth part may exceed the limit. So a pause that a filesystem makes before it discards
    /// thins nothing out.
    pub(super) fn note_behind(&mut self, after: Nanos, response: Nanos) {
        self.exceeding += u64::from(response > self.limit);
        let keep = self.keep;
        let slowest = &mut self.block_at(after).1;
        let at = slowest.partition_point(|other| *other >= response);
        if at < keep {
            slowest.insert(at, response);
            slowest.truncate(keep);
        }
    }

    fn block_at(&mut self, after: Nanos) -> &mut (u64, Vec<Nanos>) {
        let last = self.blocks.len() - 1;
        &mut self.blocks[index(after.0 / self.block.0).min(last)]
    }

    fn count(&self) -> u64 {
        self.blocks.iter().map(|(count, _)| count).sum()
    }

    /// Whether a try of `expected` accesses has failed, whatever comes.
    pub(super) fn has_failed(&self, expected: u64) -> bool {
        self.exceeding > allowed(expected.max(self.count()))
    }

    /// Counts, and the slowest accesses of each block, beside this deletion.
    pub(super) fn measured(&self, deletion: Option<RateDeletionStep>) -> RateTryStep {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for (block, (_, slowest)) in self.blocks.iter().enumerate() {
            x.extend(std::iter::repeat_n(block as f64, slowest.len()));
            y.extend(slowest.iter().map(|response| Some(response.0 as f64 / 1e6)));
        }
        let blocks = (0..self.blocks.len()).map(|block| block as f64).collect();
        let counts = self.blocks.iter().map(|(count, _)| Some(*count as f64)).collect();
        RateTryStep {
            limit_s: self.limit.seconds(),
            load_count: self.count(),
            exceeding_count: self.exceeding,
            slowest: Series::new("block", "ms", x, y),
            accesses: Series::new("block", "accesses", blocks, counts),
            deletion,
        }
    }
}

/// Whether the try kept the limit and the rate; `None` if it had too few accesses to say so.
pub(super) fn verdict(tried: &RateTryStep) -> Option<bool> {
    let kept = tried.exceeding_count <= allowed(tried.load_count);
    if kept && tried.load_count < accesses_needed() {
        return None;
    }
    let shares = |it: RateDeletionStep| {
        [
            it.issued_of_planned_ratio,
            it.discarded_of_deleted_ratio,
            it.deletion_over_discard_time_ratio,
        ]
    };
    // The load alone deletes nothing.
    let mut shares = tried.deletion.map(shares).into_iter().flatten();
    Some(kept && shares.all(|share| share >= SUSTAINED))
}

/// A target that takes fewer of the chunks in time, discards less than was deleted, or takes longer
/// for it than the deletions, does not keep the rate.
const SUSTAINED: f64 = 0.98;

/// The blocks of a try: accesses, and the slowest of them in ms.
fn blocks(tried: &RateTryStep) -> Option<Vec<(f64, Vec<f64>)>> {
    let counts = tried.accesses.as_ref()?.y.iter().copied().collect::<Option<Vec<f64>>>()?;
    let mut blocks: Vec<(f64, Vec<f64>)> =
        counts.into_iter().map(|count| (count, Vec::new())).collect();
    let slowest = tried.slowest.as_ref()?;
    for (block, response) in slowest.x.iter().zip(&slowest.y) {
        blocks.get_mut(index(rounded(*block)))?.1.push((*response)?);
    }
    Some(blocks)
}

/// p99.9 of blocks together, ms; `None` with too few accesses.
fn p999<'a>(blocks: impl Iterator<Item = &'a (f64, Vec<f64>)>) -> Option<f64> {
    let (mut count, mut slowest) = (0.0, Vec::new());
    for (accesses, of_block) in blocks {
        count += accesses;
        slowest.extend_from_slice(of_block);
    }
    if rounded(count) < accesses_needed() {
        return None;
    }
    slowest.sort_unstable_by(|a: &f64, b| b.total_cmp(a));
    slowest.get(index(allowed(rounded(count)))).copied()
}

/// p99.9 of a try with the interval of the block bootstrap.
fn response(metric: &Metric, tried: &RateTryStep, rng: &mut Rng) -> Option<Figure> {
    let blocks = blocks(tried)?;
    let figure = metric.measured(p999(blocks.iter()))?;
    let points: Vec<(f64, f64)> = (0..blocks.len()).map(|block| (0.0, block as f64)).collect();
    let interval = bootstrap_interval(&points, rng, Bootstrap::default(), |drawn| {
        p999(drawn.iter().map(|(_, block)| &blocks[index(rounded(*block))]))
    });
    Some(figure.with_n(tried.load_count).with_interval(interval))
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
    let limit_ms = alone.limit_s * 1e3;
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
        figures.extend(response(&response_at_highest_rate(), it.all, rng));
    }
    figures.extend(response(&response_of_load_alone(), alone, rng));
    figures.extend(rows);
    figures
}
