//! Computes figures and verdicts from the recorded steps. Pure: the same steps give the same
//! figures.

use trimbench_core::TrimPromise;
use trimbench_core::units::rounded;
use trimbench_results::{Figure, Step};

#[cfg(test)]
mod tests;

/// Figures that must be 0: else TRIM, or the drive, does what it must not.
pub(super) const LIMITED: [&str; 4] =
    ["neighbour-blocks-lost", "promise-violations", "rewritten-blocks-lost", "unwritten-blocks"];

/// Id and unit of every figure, in the order of reports.
pub(super) const FIGURES: [(&str, &str); 11] = [
    ("neighbour-blocks-lost", "blocks"),
    ("promise-violations", "blocks"),
    ("rewritten-blocks-lost", "blocks"),
    ("unwritten-blocks", "blocks"),
    ("trimmed-unstable-blocks", "blocks"),
    ("trimmed-foreign-blocks", "blocks"),
    ("trimmed-zeroes-share", "%"),
    ("trimmed-ones-share", "%"),
    ("trimmed-old-data-share", "%"),
    ("trimmed-other-share", "%"),
    ("edge-old-data-blocks", "blocks"),
];

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
    let share = |part: u64| if whole == 0 { f64::NAN } else { part as f64 / whole as f64 * 100.0 };
    let figure = |id: &str, title: &str, value: f64, n: u64| {
        let (id, unit) = FIGURES.iter().find(|(known, _)| *known == id)?;
        let mut figure = Figure::new(id, title, value, unit)?;
        figure.n = n;
        Some(figure)
    };
    let count = |id, title, count: u64, n| figure(id, title, count as f64, n);
    let mut headline = count(
        "neighbour-blocks-lost",
        "blocks beside TRIMs that lost their data",
        lost,
        neighbours,
    );
    if let Some(headline) = &mut headline {
        headline.headline = true;
        headline.verdict = Some(neighbour_verdict(steps, &totals));
    }
    let mut promise = count(
        "promise-violations",
        "trimmed blocks that read against the promise",
        totals.against,
        trimmed,
    );
    if let Some(promise) = &mut promise {
        promise.verdict = Some(promise_verdict(&totals));
    }
    let figures = [
        headline,
        promise,
        count(
            "rewritten-blocks-lost",
            "trimmed blocks that lost what was written later",
            totals.rewritten_lost,
            trimmed,
        ),
        count(
            "unwritten-blocks",
            "blocks that lost what was written before any TRIM",
            totals.unwritten,
            neighbours + trimmed,
        ),
        count(
            "trimmed-unstable-blocks",
            "trimmed blocks that two reads found different",
            totals.unstable,
            trimmed,
        ),
        count(
            "trimmed-foreign-blocks",
            "trimmed blocks that read as another block",
            totals.foreign,
            trimmed,
        ),
        figure("trimmed-zeroes-share", "trimmed: zeroes", share(totals.zeroes), whole),
        figure("trimmed-ones-share", "trimmed: ones", share(totals.ones), whole),
        figure("trimmed-old-data-share", "trimmed: old data", share(totals.old), whole),
        figure("trimmed-other-share", "trimmed: anything else", share(totals.other), whole),
        count(
            "edge-old-data-blocks",
            "blocks in partly trimmed granules that keep their data",
            totals.edge_old,
            totals.edge,
        ),
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
            lost: sum("neighbour_blocks_lost"),
            unwritten: sum("unwritten_blocks"),
            trimmed: sum("trimmed_blocks"),
            whole: sum("whole_blocks"),
            zeroes: sum("whole_blocks_zeroes"),
            ones: sum("whole_blocks_ones"),
            old: sum("whole_blocks_old_data") + sum("whole_blocks_stale_data"),
            other: sum("whole_blocks_other"),
            edge: sum("edge_blocks"),
            edge_old: sum("edge_blocks_old_data"),
            unstable: sum("trimmed_blocks_unstable"),
            foreign: sum("trimmed_blocks_foreign"),
            against: sum("trimmed_blocks_against_promise"),
            rewritten_lost: sum("rewritten_blocks_lost"),
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
                let text = |(count, kind): &(u64, &str)| format!("{kind} ({:.1}%)", share(*count));
                kinds.iter().map(text).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

fn neighbour_verdict(steps: &[Step], totals: &Totals) -> String {
    let mut hurt = steps.iter().filter(|step| metric(step, "neighbour_blocks_lost") > 0);
    let Some(first) = hurt.next() else {
        return match totals {
            Totals { neighbours: 0, .. } => "nothing was checked",
            Totals { unwritten: 1.., .. } => "intact, but writes were lost",
            Totals { against: 1.., .. } => "intact, but a promise is broken",
            // What a TRIM that reaches too far frees would read as before, too.
            Totals { whole: 1.., .. } if totals.old == totals.whole => {
                "no loss shows: trimmed blocks keep reading their old data"
            }
            _ => "intact",
        }
        .to_owned();
    };
    let others = match hurt.count() {
        0 => String::new(),
        1 => " and in 1 other case".to_owned(),
        count => format!(" and in {count} other cases"),
    };
    let lba = metric(first, "lost_lba_first");
    format!("data lost that was not trimmed: first in `{}` at LBA {lba}{others}", first.id)
}

fn promise_verdict(totals: &Totals) -> String {
    if totals.trimmed == 0 {
        return "nothing was trimmed".to_owned();
    }
    let seen = totals.seen();
    if totals.foreign > 0 {
        return "broken: trimmed blocks read as other blocks' data".to_owned();
    }
    let promised = match totals.promise {
        TrimPromise::Zeroes => "zeroes",
        TrimPromise::Ones => "ones",
        TrimPromise::Deterministic => "the same at each read",
        TrimPromise::Nothing => return format!("no promise; reads {seen}"),
        _ => return format!("promise unknown; reads {seen}"),
    };
    if totals.against > 0 {
        return format!("broken: promises {promised}, reads {seen}");
    }
    let kept = match totals.promise {
        TrimPromise::Deterministic => format!("kept: the same at each read, {seen}"),
        _ => format!("kept: {promised} as promised"),
    };
    if totals.edge_old > 0 {
        format!("{kept}; partly trimmed granules keep old data")
    } else {
        kept
    }
}

/// A count that the step measured; 0 where it did not.
fn metric(step: &Step, key: &str) -> u64 {
    step.metrics.get(key).map_or(0, |&value| rounded(value))
}
