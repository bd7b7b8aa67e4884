//! Computes figures and verdicts from the recorded steps. Pure: the same steps give the same
//! figures.

use trimbench_core::TrimPromise;
use trimbench_core::units::rounded;
use trimbench_results::number::quantity;
use trimbench_results::{Figure, Harm, Metric, Step, Verdict};

use super::metrics::{
    EDGE_OLD, FOREIGN, NEIGHBOURS_LOST, OLD, ONES, OTHER, PROMISE_BROKEN, REWRITTEN_LOST, UNSTABLE,
    UNWRITTEN, ZEROES,
};

#[cfg(test)]
mod tests;

/// Promises by the number that steps record.
const CODES: [TrimPromise; 5] = [
    TrimPromise::Unknown,
    TrimPromise::Nothing,
    TrimPromise::Deterministic,
    TrimPromise::Zeroes,
    TrimPromise::Ones,
];

/// The number by which steps record a promise; 0 for ones of later versions.
pub(super) fn code(promise: TrimPromise) -> f64 {
    CODES.iter().position(|known| *known == promise).unwrap_or(0) as f64
}

/// The figures of all steps together.
pub fn analyse(steps: &[Step]) -> Vec<Figure> {
    let totals = Totals::of(steps);
    let Totals { neighbours, lost, trimmed, whole, .. } = totals;
    let count = |metric: Metric, count: u64, n: u64| {
        metric.measured(count as f64).map(|figure| figure.with_n(n))
    };
    let share = |metric: Metric, part: u64| {
        let percent = (whole > 0).then(|| part as f64 / whole as f64 * 100.0);
        metric.measured(percent).map(|figure| figure.with_n(whole))
    };
    let headline = count(NEIGHBOURS_LOST, lost, neighbours);
    let promise = count(PROMISE_BROKEN, totals.against, trimmed);
    let figures = [
        headline.map(|figure| figure.judged(neighbour_verdict(steps, &totals))),
        promise.map(|figure| figure.judged(promise_verdict(&totals))),
        count(REWRITTEN_LOST, totals.rewritten_lost, trimmed),
        count(UNWRITTEN, totals.unwritten, neighbours + trimmed),
        count(UNSTABLE, totals.unstable, trimmed),
        count(FOREIGN, totals.foreign, trimmed),
        share(ZEROES, totals.zeroes),
        share(ONES, totals.ones),
        share(OLD, totals.old),
        share(OTHER, totals.other),
        count(EDGE_OLD, totals.edge_old, totals.edge),
    ];
    figures.into_iter().flatten().collect()
}

/// Sums over all steps, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Totals {
    promise: TrimPromise,
    neighbours: u64,
    lost: u64,
    unwritten: u64,
    trimmed: u64,
    whole: u64,
    zeroes: u64,
    ones: u64,
    /// What was last written, or earlier.
    old: u64,
    other: u64,
    edge: u64,
    edge_old: u64,
    unstable: u64,
    foreign: u64,
    against: u64,
    rewritten_lost: u64,
}

impl Totals {
    fn of(steps: &[Step]) -> Self {
        let sum = |key: &str| steps.iter().map(|step| metric(step, key)).sum();
        let code = steps.iter().find_map(|step| step.parameters.get("promise_code"));
        let code = code.map_or(0, |&code| trimbench_core::units::index(rounded(code)));
        Self {
            promise: CODES.get(code).copied().unwrap_or(TrimPromise::Unknown),
            neighbours: sum("neighbour_blocks"),
            lost: sum(Harm::NeighboursLost.key()),
            unwritten: sum(Harm::WritesLost.key()),
            trimmed: sum("trimmed_blocks"),
            whole: sum("whole_blocks"),
            zeroes: sum("whole_blocks_zeroes"),
            ones: sum("whole_blocks_ones"),
            old: sum("whole_blocks_old_data") + sum("whole_blocks_stale_data"),
            other: sum("whole_blocks_other"),
            edge: sum("edge_blocks"),
            edge_old: sum("edge_blocks_old_data"),
            unstable: sum("trimmed_blocks_unstable"),
            foreign: sum(Harm::ForeignRead.key()),
            against: sum(Harm::PromiseBroken.key()),
            rewritten_lost: sum(Harm::RewrittenLost.key()),
        }
    }

    /// What trimmed blocks read as.
    fn seen(&self) -> String {
        if self.unstable > 0 {
            return "something else at each read".to_owned();
        }
        let kinds = [
            (self.zeroes, "zeroes"),
            (self.ones, "ones"),
            (self.old, "old data"),
            (self.other, "data that was never written there"),
        ];
        let kinds: Vec<_> = kinds.into_iter().filter(|(count, _)| *count > 0).collect();
        match kinds[..] {
            [] => "nothing that was trimmed whole".to_owned(),
            [(_, kind)] => kind.to_owned(),
            _ => {
                let share = |count: u64| count as f64 / self.whole as f64 * 100.0;
                let text = |(count, kind): &(u64, &str)| {
                    format!("{kind} ({})", quantity(share(*count), "%"))
                };
                kinds.iter().map(text).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

fn neighbour_verdict(steps: &[Step], totals: &Totals) -> Verdict {
    let mut hurt = steps.iter().filter(|step| metric(step, Harm::NeighboursLost.key()) > 0);
    let Some(first) = hurt.next() else {
        return match totals {
            Totals { neighbours: 0, .. } => Verdict::NothingChecked,
            Totals { unwritten: 1.., .. } => Verdict::IntactButWritesLost,
            Totals { against: 1.., .. } => Verdict::IntactButPromiseBroken,
            // What a TRIM that reaches too far frees would read as before, too.
            Totals { whole: 1.., .. } if totals.old == totals.whole => Verdict::NoLossShows,
            _ => Verdict::Intact,
        };
    };
    let (case, lba) = (first.id.clone(), metric(first, "lost_lba_first"));
    match hurt.count() as u64 {
        0 => Verdict::DataLost { case, lba },
        1 => Verdict::DataLostTwice { case, lba },
        others => Verdict::DataLostOften { case, lba, others },
    }
}

fn promise_verdict(totals: &Totals) -> Verdict {
    if totals.trimmed == 0 {
        return Verdict::NothingTrimmed;
    }
    let reads = totals.seen();
    if totals.foreign > 0 {
        return Verdict::ForeignData;
    }
    let promised = match totals.promise {
        TrimPromise::Zeroes => "zeroes",
        TrimPromise::Ones => "ones",
        TrimPromise::Deterministic => "the same at each read",
        TrimPromise::Nothing => return Verdict::NoPromise { reads },
        _ => return Verdict::PromiseUnknown { reads },
    };
    let (promised, edges) = (promised.to_owned(), totals.edge_old > 0);
    match totals.promise {
        _ if totals.against > 0 => Verdict::PromiseBroken { promised, reads },
        TrimPromise::Deterministic if edges => Verdict::StableButEdges { reads },
        TrimPromise::Deterministic => Verdict::Stable { reads },
        _ if edges => Verdict::PromiseKeptButEdges { promised },
        _ => Verdict::PromiseKept { promised },
    }
}

/// A count that the step measured; 0 where it did not.
fn metric(step: &Step, key: &str) -> u64 {
    step.metrics.get(key).map_or(0, |&value| rounded(value))
}
