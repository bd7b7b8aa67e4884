//! Tables in the format of \[S0\].

use std::fmt::Write as _;

use anyhow::Result;
use tests::s0::published::{PublishedColumn, VENDORS};
use tests::s0::{ColumnRun, Mean, means};
use trimbench_methods::postmark::{METRICS, PostmarkMetric};

/// Metrics that follow from the duration of the transactions alone, by their place.
const OF_TRANSACTIONS: [usize; 6] = [1, 2, 5, 6, 7, 10];
/// And the one that follows from that of creation alone.
const OF_CREATION: usize = 4;

/// All tables with their titles.
pub(super) fn tables(runs: &[ColumnRun]) -> Result<String> {
    let repetitions = runs.iter().map(|run| run.repetition + 1).max().unwrap_or(0);
    let mut text = format!(
        "Means of {repetitions} repetitions, which differ in PostMark's seed (42 and on) and in \
         what the drive had written before mkfs.\n`*` follows from durations that were fitted: 18 \
         values are fitted, 54 durations are predicted.\n`Deletion_alone/s` is by its true \
         formula.\n"
    );
    for vendor in VENDORS {
        let means = means(runs, vendor)?;
        let _ = write!(text, "\n{vendor}\n\n{:34}|{:^42}|{:^42}|\n", "", ON, OFF);
        let heads = format!("{:>12} {:>13} {:>13}  |", "NODISCARD", "DISCARD", "DIFF");
        let _ = writeln!(text, "{:34}|{heads}{heads}", "Type");
        text += &"=".repeat(34 + 2 * 43 + 1);
        text.push('\n');
        for (place, PostmarkMetric { name, .. }) in METRICS.iter().enumerate() {
            let _ = write!(text, "{name:34}|");
            for (buffered, pair) in [(true, &means[..2]), (false, &means[2..])] {
                let of = |mean: &Mean, discard| {
                    let fitted = is_fitted(PublishedColumn { buffered, discard }, place);
                    format!("{:.2}{}", mean.metrics[place], if fitted { "*" } else { " " })
                };
                let (without, with) = (&pair[0], &pair[1]);
                let diff = 100.0 * (with.metrics[place] / without.metrics[place] - 1.0);
                let (without, with) = (of(without, false), of(with, true));
                let _ = write!(text, "{without:>13} {with:>13} {diff:>11.2}%  |");
            }
            text.push('\n');
        }
    }
    Ok(text)
}

const ON: &str = "BUFFERING ENABLED";
const OFF: &str = "BUFFERING DISABLED";

fn is_fitted(column: PublishedColumn, place: usize) -> bool {
    let transactions = OF_TRANSACTIONS.contains(&place);
    column.buffered && (transactions || (place == OF_CREATION && !column.discard))
}
