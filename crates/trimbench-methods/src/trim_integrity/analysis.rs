//! Computes figures and verdicts from the recorded steps. Pure: the same steps give the same
//! figures.

use trimbench_core::TrimPromise;
use trimbench_core::units::index;
use trimbench_results::number::quantity;
use trimbench_results::{Figure, Harm, Metric, Step, StepOf, Verdict};

use super::metrics::{
    EDGE_OLD, FOREIGN, NEIGHBOURS_LOST, OLD, ONES, OTHER, PROMISE_BROKEN, REWRITTEN_LOST, UNSTABLE,
    UNWRITTEN, ZEROES,
};
use super::steps::{TrimBlocksStep, TrimIntegrityStep};

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

type CaseOf<'a> = StepOf<'a, TrimIntegrityStep>;

/// The number by which steps record a promise; 0 for ones of later versions.
pub(super) fn code(promise: TrimPromise) -> u64 {
    CODES.iter().position(|known| *known == promise).unwrap_or(0) as u64
}

/// The figures of all steps together. A step of a damaged record that lacks the count of a harm
/// does not count: it could not say that nothing was lost.
pub fn analyse(steps: &[Step]) -> Vec<Figure> {
    let cases = steps.iter().filter_map(StepOf::read);
    let says = |case: &CaseOf<'_>, harm| case.blocks.harm.blocks(harm).is_some();
    let cases = cases.filter(|case| Harm::ALL.into_iter().all(|harm| says(case, harm)));
    let cases: Vec<CaseOf<'_>> = cases.collect();
    let totals = Totals::of(&cases);
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
        headline.map(|figure| figure.judged(neighbour_verdict(&cases, &totals))),
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
    fn of(cases: &[CaseOf<'_>]) -> Self {
        let blocks = || cases.iter().map(|case| case.blocks);
        let sum = |count: fn(TrimBlocksStep) -> u64| blocks().map(count).sum();
        let harm = |harm| blocks().filter_map(|blocks| blocks.harm.blocks(harm)).sum();
        let edges = || blocks().filter_map(|blocks| blocks.edges);
        let code = cases.first().map(|case| index(case.promise_code));
        let promise = code.and_then(|code| CODES.get(code));
        Self {
            promise: promise.copied().unwrap_or(TrimPromise::Unknown),
            neighbours: sum(|it| it.neighbour_blocks),
            lost: harm(Harm::NeighboursLost),
            unwritten: harm(Harm::WritesLost),
            trimmed: sum(|it| it.trimmed_blocks),
            whole: sum(|it| it.whole_blocks),
            zeroes: sum(|it| it.whole_blocks_zeroes),
            ones: sum(|it| it.whole_blocks_ones),
            old: sum(|it| it.whole_blocks_old_data + it.whole_blocks_stale_data),
            other: sum(|it| it.whole_blocks_other),
            edge: edges().map(|edges| edges.edge_blocks).sum(),
            edge_old: edges().map(|edges| edges.edge_blocks_old_data).sum(),
            unstable: sum(|it| it.trimmed_blocks_unstable),
            foreign: harm(Harm::ForeignRead),
            against: harm(Harm::PromiseBroken),
            rewritten_lost: harm(Harm::RewrittenLost),
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

/// `None` where blocks were lost and the record does not say where.
fn neighbour_verdict(cases: &[CaseOf<'_>], totals: &Totals) -> Option<Verdict> {
    let lost = |case: &&CaseOf<'_>| case.blocks.harm.neighbour_blocks_lost > Some(0);
    let mut hurt = cases.iter().filter(lost);
    let Some(first) = hurt.next() else {
        return Some(match totals {
            Totals { neighbours: 0, .. } => Verdict::NothingChecked,
            Totals { unwritten: 1.., .. } => Verdict::IntactButWritesLost,
            Totals { against: 1.., .. } => Verdict::IntactButPromiseBroken,
            // What a TRIM that reaches too far frees would read as before, too.
            Totals { whole: 1.., .. } if totals.old == totals.whole => Verdict::NoLossShows,
            _ => Verdict::Intact,
        });
    };
    let (case, lba) = (first.step.id.clone(), first.blocks.lost_lba_first?);
    Some(match hurt.count() as u64 {
        0 => Verdict::DataLost { case, lba },
        1 => Verdict::DataLostTwice { case, lba },
        others => Verdict::DataLostOften { case, lba, others },
    })
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
