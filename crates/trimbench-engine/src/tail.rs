//! Whether the p99.9 of a load's response time stays within a limit.
//!
//! It does if and only if no more than the thousandth part of the accesses (rounded down) exceed
//! the limit, which needs no percentile, and is often certain before the load is over. No
//! percentile is computed from fewer than 10 / (1 - q) accesses. The slowest accesses are kept
//! block by block, so that the percentile is exact and can be resampled from the record.

use trimbench_core::Nanos;
use trimbench_core::rng::Rng;
use trimbench_core::units::{index, rounded};
use trimbench_results::statistics::{Bootstrap, bootstrap_interval};
use trimbench_results::{Figure, Metric, Quantile, Series, steps};

#[cfg(test)]
mod tests;

/// The percentile that is limited.
const QUANTILE: Quantile = Quantile::P99_9;
/// Blocks of a load.
pub const TAIL_BLOCKS: u64 = 30;

steps! {
    /// A load whose p99.9 is limited.
    #[derive(Clone, Debug)]
    pub struct TailStep {
        /// the limit of the load's p99.9
        set limit_s: f64;
        /// accesses of the load that were to start in the time that counts
        measured load_count: u64;
        /// accesses above the limit, those included that follow until what they measure is over
        measured exceeding_count: u64;
        /// the slowest accesses of each block of time
        series slowest: Option<Series> = "slowest-accesses";
        /// how many accesses each block had
        series accesses: Option<Series> = "block-accesses";
    }
}

/// The slowest accesses of a load, block by block, so that its p99.9 can be resampled.
///
/// A block is a part of the time, no shorter than the pace of what disturbs the load: what one
/// disturbance does to it lies in one block, or in two neighbours.
#[derive(Clone, Debug)]
pub struct LimitedTail {
    block: Nanos,
    limit: Nanos,
    /// Accesses of each block, and the slowest of them, the slowest first.
    blocks: Vec<(u64, Vec<Nanos>)>,
    /// Of each block so many are kept: what lies above the percentile of all accesses, and one.
    keep: usize,
    exceeding: u64,
}

impl LimitedTail {
    /// Of a load of one access every `gap` for `time`, disturbed every `pace`.
    pub fn new((time, pace): (Nanos, Nanos), gap: Nanos, limit: Nanos) -> Self {
        let block = Nanos(time.0.div_ceil(TAIL_BLOCKS)).max(pace);
        let count = index(time.0.div_ceil(block.0));
        let accesses = time.0 / gap.0.max(1);
        // Arrivals may be random: half as many more.
        let keep = index(allowed(accesses) * 3 / 2 + 2);
        Self { block, limit, blocks: vec![(0, Vec::new()); count], keep, exceeding: 0 }
    }

    /// The accesses that a load is meant to have: a twentieth more than it needs, as random
    /// arrivals may be fewer than meant (five standard deviations).
    pub fn accesses_meant() -> u64 {
        accesses_needed() + accesses_needed() / 20
    }

    /// Takes in an access that was intended so long after the beginning.
    pub fn note(&mut self, after: Nanos, response: Nanos) {
        self.block_at(after).0 += 1;
        self.note_behind(after, response);
    }

    /// Takes in an access that was intended behind the time that counts, and waits for what was
    /// done in it: it belongs to what happened `after` the beginning, and is not one of the
    /// accesses whose thousandth part may exceed the limit. So a pause before the disturbance
    /// thins nothing out.
    pub fn note_behind(&mut self, after: Nanos, response: Nanos) {
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

    /// Whether a load of `expected` accesses has exceeded the limit, whatever comes.
    pub fn has_failed(&self, expected: u64) -> bool {
        self.exceeding > allowed(expected.max(self.count()))
    }

    /// Counts, and the slowest accesses of each block.
    pub fn measured(&self) -> TailStep {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for (block, (_, slowest)) in self.blocks.iter().enumerate() {
            x.extend(std::iter::repeat_n(block as f64, slowest.len()));
            y.extend(slowest.iter().map(|response| Some(response.0 as f64 / 1e6)));
        }
        let blocks = (0..self.blocks.len()).map(|block| block as f64).collect();
        let counts = self.blocks.iter().map(|(count, _)| Some(*count as f64)).collect();
        TailStep {
            limit_s: self.limit.seconds(),
            load_count: self.count(),
            exceeding_count: self.exceeding,
            slowest: Series::new("block", "ms", x, y),
            accesses: Series::new("block", "accesses", blocks, counts),
        }
    }
}

impl TailStep {
    /// Whether the load kept the limit; `None` if it had too few accesses to say so.
    pub fn keeps_limit(&self) -> Option<bool> {
        let keeps = self.exceeding_count <= allowed(self.load_count);
        (!keeps || self.load_count >= accesses_needed()).then_some(keeps)
    }

    /// p99.9 in ms, with the interval of the block bootstrap.
    pub fn figure(&self, metric: &Metric, rng: &mut Rng) -> Option<Figure> {
        let blocks = self.blocks()?;
        let figure = metric.measured(p999(blocks.iter()))?;
        let points: Vec<(f64, f64)> = (0..blocks.len()).map(|block| (0.0, block as f64)).collect();
        let interval = bootstrap_interval(&points, rng, Bootstrap::default(), |drawn| {
            p999(drawn.iter().map(|(_, block)| &blocks[index(rounded(*block))]))
        });
        Some(figure.with_n(self.load_count).with_interval(interval))
    }

    /// Accesses of each block, and the slowest of them in ms.
    fn blocks(&self) -> Option<Vec<(f64, Vec<f64>)>> {
        let counts = self.accesses.as_ref()?.y.iter().copied().collect::<Option<Vec<f64>>>()?;
        let mut blocks: Vec<(f64, Vec<f64>)> =
            counts.into_iter().map(|count| (count, Vec::new())).collect();
        let slowest = self.slowest.as_ref()?;
        for (block, response) in slowest.x.iter().zip(&slowest.y) {
            blocks.get_mut(index(rounded(*block)))?.1.push((*response)?);
        }
        Some(blocks)
    }
}

fn accesses_needed() -> u64 {
    QUANTILE.samples_needed()
}

/// How many accesses of `count` may exceed the limit.
fn allowed(count: u64) -> u64 {
    count / 1_000
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
