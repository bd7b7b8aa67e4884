//! The stutter that was published of two drives, found by `delete-stall` on each and through a
//! filesystem. A test asserts the same; the ledger of published figures shows these.

use anyhow::Result;

use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// s/GB of the drives of \[S1\].
pub(crate) const ENTRY: Entry = Entry {
    name: "stutter",
    title: "How long a deletion stalls a load on two published drives, bare and under ext4",
    needs: &[],
    sources: EMULATED,
    run,
};

/// A drive, what \[S1\] has of it, and how far off the figure may be, all in s/GB.
const DRIVES: [(&str, f64, f64); 2] =
    [("like-optane-900p", 0.0, 0.000_5), ("like-rc100", 0.25, 0.01)];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (drive, published, off) in DRIVES {
        for (layer, called) in [("sim:", "by itself"), ("ext4:sim:", "under the modelled ext4")] {
            let run = lab.run("delete-stall", &format!("{layer}{drive}"), &[])?;
            let what = format!("stutter of {drive} {called}");
            let bar = Bar::Within(published - off, published + off);
            let figure = Figure::new(what, (run.value("stutter")?, "s/GB"), bar);
            figures.push(figure.with_note(format!("published: {published} s/GB")));
        }
    }
    Ok(figures)
}
