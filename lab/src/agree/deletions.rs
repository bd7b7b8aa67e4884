//! `delete-stall` on filesystems of the running kernel upon attached drives, beside the modelled
//! filesystems on the same drives.

use anyhow::{Context as _, Result};
use trimbench_results::Figure as RunFigure;

use super::drives::{Pair, SOURCES, doubts};
use crate::entry::{Entry, FILESYSTEMS_ON_DRIVES};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "deletions",
    title: "A deletion stalls a load on the modelled ext4, XFS and btrfs as on those of the \
            running kernel",
    needs: FILESYSTEMS_ON_DRIVES,
    sources: SOURCES,
    run,
};

/// Files so large that their stalls stand out of what this machine does by itself.
const OPTIONS: &[&str] = &["sizes=1GiB,4GiB", "span=256MiB", "window=3s", "rest=1s", "patience=1s"];
/// Of the drives, for such files.
const CAPACITY: &str = "16GiB";
/// How far the slope, and the longest gap, may be off.
const SLOPE_OFF: f64 = 0.15;
const GAP_OFF: f64 = 0.25;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for pair in &Pair::ALL[..lab.form(1, Pair::ALL.len())] {
        let repetitions = lab.form("repetitions=3", "repetitions=6");
        let options = [OPTIONS, &[repetitions]].concat();
        let runs = pair.run(lab, CAPACITY, "delete-stall", &options)?;
        let doubts = doubts(&runs[0]);
        let figure = |what: &str, value, off: f64| {
            let bar = Bar::Within(1.0 - off, 1.0 + off);
            Figure::new(format!("{}: {what}, real over model", pair.name()), (value, ""), bar)
        };
        let of = |id: &str| -> Result<_> { Ok([runs[0].figure(id)?, runs[1].figure(id)?]) };
        // By overdue time: a pause of this machine adds to it only what is longer than 10 ms.
        let slopes = of("overdue")?;
        let told_slopes = format!("{}{doubts}", told(&slopes)?);
        figures
            .push(figure("overdue time per GB", ratio(&slopes), SLOPE_OFF).with_note(told_slopes));
        let widths = slopes.map(|it| half_width(it).unwrap_or(f64::INFINITY) / it.value.abs());
        figures.push(Figure::new(
            format!("{}: half the wider interval of the slopes, over its slope", pair.name()),
            (widths[0].max(widths[1]), ""),
            Bar::AtMost(SLOPE_OFF),
        ));
        for (id, what, off) in [
            ("largest-overdue", "overdue time after 4 GiB", SLOPE_OFF),
            ("largest-read-gap", "longest gap between reads after 4 GiB", GAP_OFF),
        ] {
            let both = of(id)?;
            figures.push(figure(what, ratio(&both), off).with_note(told(&both)?));
        }
    }
    Ok(figures)
}

fn ratio([real, model]: &[&RunFigure; 2]) -> f64 {
    real.value / model.value
}

fn half_width(figure: &RunFigure) -> Option<f64> {
    figure.interval.map(|interval| (interval.high - interval.low) / 2.0)
}

fn told([real, model]: &[&RunFigure; 2]) -> Result<String> {
    let text = |figure: &RunFigure| -> Result<String> {
        let interval = figure.interval.context("no interval")?;
        Ok(format!("{:.3} ({:.3} to {:.3})", figure.value, interval.low, interval.high))
    };
    Ok(format!("real {}, model {} {}", text(real)?, text(model)?, real.unit))
}
