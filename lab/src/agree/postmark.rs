//! `postmark` on filesystems of the running kernel upon attached drives, beside the modelled ones:
//! the discards come after the sync, so their number, bytes and end are compared.

use ::tests::program::Run;
use anyhow::Result;
use trimbench_methods::postmark::PostmarkStep;
use trimbench_results::Step;

use super::drives::{Pair, SOURCES, doubts};
use crate::entry::{Entry, FILESYSTEMS_ON_DRIVES};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "postmark",
    title: "PostMark's files are discarded on the modelled ext4, XFS and btrfs as on those of the \
            running kernel",
    needs: FILESYSTEMS_ON_DRIVES,
    sources: SOURCES,
    run,
};

/// Files of the sizes of PostMark's published runs, with less memory than they take: of files that
/// never leave the page cache nothing is discarded.
const OPTIONS: &[&str] = &[
    "number=1000",
    "transactions=1000",
    "size-low=1000B",
    "size-high=200000B",
    "memory=64MiB",
    "mounts=discard",
    "bufferings=one",
];
const CAPACITY: &str = "4GiB";
/// How far the time, and number and bytes of the discards, may be off.
const TIME_OFF: f64 = 0.15;
const DISCARDS_OFF: f64 = 0.1;

/// What is compared: its name, how far it may be off, and its unit.
const KINDS: [(&str, f64, &str); 3] = [
    ("time from the sync until the discards end", TIME_OFF, "s"),
    ("number of discards", DISCARDS_OFF, ""),
    ("bytes of discards", DISCARDS_OFF, "B"),
];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for pair in &Pair::ALL[..lab.form(1, Pair::ALL.len())] {
        let repetitions = lab.form("repetitions=3", "repetitions=10");
        let options = [OPTIONS, &[repetitions]].concat();
        let runs = pair.run(lab, CAPACITY, "postmark", &options)?;
        let (real, model) = (means(&runs[0])?, means(&runs[1])?);
        for ((what, off, unit), (real, model)) in KINDS.into_iter().zip(real.into_iter().zip(model))
        {
            let what = format!("{}: {what}, real over model", pair.name());
            let figure = Figure::new(what, (real / model, ""), Bar::Within(1.0 - off, 1.0 + off));
            let note = format!("real {real:.3}, model {model:.3} {unit}{}", doubts(&runs[0]));
            figures.push(figure.with_note(note));
        }
    }
    Ok(figures)
}

/// Means over the repetitions: time from the sync until the last discard, which is looked for every
/// 50 ms; number and bytes of discards.
fn means(run: &Run) -> Result<[f64; 3]> {
    let steps = run.session.steps.iter().map(Step::read::<PostmarkStep>);
    let steps = steps.collect::<Result<Vec<_>, _>>()?;
    let mean =
        |value: fn(&PostmarkStep) -> f64| steps.iter().map(value).sum::<f64>() / steps.len() as f64;
    Ok([
        mean(|step| step.sync_s + step.drain_s),
        mean(|step| step.discard_commands as f64),
        mean(|step| step.discarded_bytes.0 as f64),
    ])
}
