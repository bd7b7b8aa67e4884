//! A machine on which nobody else asks the disk for anything: trimming must take hardly longer than
//! `fstrim` does.

use anyhow::{Context as _, Result};
use trimbench_core::rng::Rng;
use trimbench_results::statistics::median;

use super::full_filesystem::{FILESYSTEMS, FSTRIM, SOURCES, SlowDrive, trial};
use super::own_disk::{Bench, Way};
use super::slow_drives::TEN_MS;
use super::trial::Trimmed;
use crate::entry::{Entry, FILESYSTEMS_ON_DRIVES};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "idle",
    title: "`trimpace --p99` on an idle machine takes hardly longer than `fstrim`",
    needs: FILESYSTEMS_ON_DRIVES,
    sources: SOURCES,
    run,
};

/// So many extents that `fstrim` takes some seconds.
const DRIVE: SlowDrive = SlowDrive { files: 800, deleted: 400, rate: 0, ..TEN_MS };
/// Pairs, in random order; short and in full.
const PAIRS: [usize; 2] = [1, 5];
/// Over the time of `fstrim`.
const MOST: f64 = 1.2;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let bench = Bench::new(lab)?;
    let own = pairs(lab, "this machine's disk, ext4 in an image", |ours| {
        bench.trial(lab, if ours { Way::Trimpace } else { Way::Fstrim }, 0)
    })?;
    drop(bench);
    let slow = pairs(lab, "10 ms a discard, ext4", |ours| {
        let law: Option<&[&str]> = if ours { Some(&["--p99", "5ms"]) } else { FSTRIM };
        trial(lab, &DRIVE, FILESYSTEMS[0], law)
    })?;
    Ok(vec![own, slow])
}

/// The median time of ours over that of `fstrim`.
fn pairs(lab: &Lab<'_>, of: &str, trial: impl Fn(bool) -> Result<Trimmed>) -> Result<Figure> {
    let mut rng = Rng::new(1);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..lab.form(PAIRS[0], PAIRS[1]) {
        let mut order = [false, true];
        rng.shuffle(&mut order);
        for ours in order {
            times[usize::from(ours)].push(trial(ours)?.time.seconds());
        }
    }
    let [fstrim, ours] = [0, 1].map(|side: usize| median(&times[side]).context("no trial"));
    let (fstrim, ours) = (fstrim?, ours?);
    let figure =
        Figure::new(format!("{of}: time over fstrim's"), (ours / fstrim, ""), Bar::AtMost(MOST));
    let count = times[0].len();
    Ok(figure.with_note(format!("medians of {count}: {ours:.2} s, fstrim {fstrim:.2} s")))
}
