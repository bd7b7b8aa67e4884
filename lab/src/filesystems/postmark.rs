//! The wall time of `postmark` compared with that of Debian's program, in memory: on a disk that
//! others use the runs of one program differ by a factor of four.

use anyhow::Result;
use tests::Need::Program;
use tests::postmark::PostmarkSet;
use trimbench_methods::postmark::PostmarkStep;

use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// Ours over Debian's.
pub(crate) const ENTRY: Entry = Entry {
    name: "postmark",
    title: "`postmark` is no slower than Debian's program in the same directory",
    needs: &[Program("postmark")],
    sources: &[
        "crates/trimbench-claim",
        "crates/trimbench-engine",
        "crates/trimbench-linux",
        "crates/trimbench-methods/src/postmark",
        "crates/trimbench-methods/src/postmark.rs",
    ],
    run,
};

const TIMED: PostmarkSet = PostmarkSet(&[
    ("number", "20000"),
    ("transactions", "20000"),
    ("read-block", "4096B"),
    ("write-block", "4096B"),
]);
const RATIO_MOST: f64 = 1.05;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let (memory, program) = (lab.memory_folder()?, lab.program()?);
    let ours = || -> Result<f64> {
        let run = TIMED.run_ours(program, memory.path())?;
        Ok(run.session.steps[0].read::<PostmarkStep>()?.phases.total_s)
    };
    let theirs = || -> Result<f64> {
        let all = TIMED.run_debians(program, memory.path())?.seconds;
        Ok(all - TIMED.run_idle(program, memory.path())?.seconds)
    };
    let mut ratios = Vec::new();
    for pair in 0..lab.form(3, 12) {
        // Each goes first in every second pair.
        ratios.push(if pair % 2 == 0 {
            let theirs = theirs()?;
            ours()? / theirs
        } else {
            ours()? / theirs()?
        });
    }
    ratios.sort_by(f64::total_cmp);
    let (count, last) = (ratios.len(), ratios.len() - 1);
    let median = f64::midpoint(ratios[last / 2], ratios[count / 2]);
    let note = format!(
        "{count} interleaved pairs on tmpfs, ratios {:.3} to {:.3}; ours from the first file to \
         the last, Debian's as a process, less a run of it that only reads its parameters",
        ratios[0], ratios[last]
    );
    let what = "wall time, ours over Debian's";
    Ok(vec![Figure::new(what, (median, ""), Bar::AtMost(RATIO_MOST)).with_note(note)])
}
