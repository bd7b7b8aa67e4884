//! The page of what the steps of each method hold.

use std::fmt::Write as _;

use trimbench_engine::{AnswerLatenessStep, DriveHeatStep, OwnPauseStep};
use trimbench_methods::METHODS;
use trimbench_results::step::unit_of;
use trimbench_results::{StepPlace, StepRow, StepTable as _};

/// The page.
pub(super) fn page() -> String {
    let mut page = String::from(
        "# Steps: what a record holds of each measurement\n\n\
         A session of a [record](run-record.md) is a list of steps, each with an `id`, a `kind`, \
         and four maps: `parameters` (what was\nset), `metrics` (what was measured), `histograms` \
         of latencies and `series` (curves). This page has the keys of each kind of\nstep. They \
         are the tables of the methods' `steps.rs`; `cargo xtask docs` writes this page from them. \
         A key without *always* is\nabsent where it does not apply or was not measured: an absent \
         value is never 0. Words in capitals stand for names.\n\n\
         Any step on a real target may also have these:\n\n",
    );
    let shared =
        [OwnPauseStep::rows(""), DriveHeatStep::rows(""), AnswerLatenessStep::rows("")].concat();
    table(&mut page, &shared);
    for info in METHODS {
        write!(page, "\n## {}\n", info.id).expect("a string takes everything");
        for (kinds, rows) in (info.steps)() {
            let kinds: Vec<String> = kinds.split(", ").map(|kind| format!("`{kind}`")).collect();
            write!(page, "\n{}:\n\n", kinds.join(", ")).expect("a string takes everything");
            match rows.as_slice() {
                [] => page.push_str("nothing but that it was done.\n"),
                rows => table(&mut page, rows),
            }
        }
    }
    page
}

fn table(page: &mut String, rows: &[StepRow]) {
    page.push_str("| key | in | unit | there | meaning |\n|---|---|---|---|---|\n");
    for StepRow { key, place, always, help } in rows {
        let (place, unit) = match place {
            StepPlace::Set => ("parameters", unit_of(key)),
            StepPlace::Measured => ("metrics", unit_of(key)),
            // A histogram counts nanoseconds; a curve has its units itself.
            StepPlace::Histogram => ("histograms", "ns"),
            StepPlace::Series => ("series", ""),
        };
        let there = if *always { "always" } else { "" };
        let help = super::escape(help);
        writeln!(page, "| `{key}` | {place} | {unit} | {there} | {help} |")
            .expect("a string takes everything");
    }
}
