//! `delete-stall` on filesystems of the running kernel upon attached drives, beside the modelled
//! filesystems on the same drives.

use anyhow::{Context as _, Result};
use trimbench_results::Figure as RunFigure;

use super::drives::{Pair, SOURCES};
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

const OPTIONS: &[&str] = &["sizes=128MiB,256MiB,512MiB", "span=256MiB", "window=5s"];
/// How far the slope, and the longest gap, may be off.
const SLOPE_OFF: f64 = 0.15;
const GAP_OFF: f64 = 0.25;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for pair in &Pair::ALL[..lab.form(1, Pair::ALL.len())] {
        let repetitions = lab.form("repetitions=3", "repetitions=6");
        let [real, model] = pair.run(lab, "delete-stall", &[OPTIONS, &[repetitions]].concat())?;
        let figure = |what: &str, value, bar| {
            Figure::new(format!("{}: {what}", pair.name()), (value, ""), bar)
        };
        let of = |id: &str| -> Result<_> { Ok([real.figure(id)?, model.figure(id)?]) };
        let slopes = of("stutter")?;
        let within = |off: f64| Bar::Within(1.0 - off, 1.0 + off);
        figures.push(
            figure("slope, real over model", ratio(&slopes), within(SLOPE_OFF))
                .with_note(told(&slopes)?),
        );
        let widths = slopes.map(|it| half_width(it).unwrap_or(f64::INFINITY) / it.value.abs());
        let wider = widths[0].max(widths[1]);
        figures.push(figure(
            "half the wider interval, over its slope",
            wider,
            Bar::AtMost(SLOPE_OFF),
        ));
        let gaps = of("largest-read-gap")?;
        figures.push(
            figure("longest gap, real over model", ratio(&gaps), within(GAP_OFF))
                .with_note(told(&gaps)?),
        );
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
