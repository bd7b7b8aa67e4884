//! The times of large discards on real drives, and on the emulated drives of their names, measured
//! alike: the greatest of those of an interval, and of many intervals the least and the median.

use anyhow::{Context as _, Result, ensure};
use trimbench_core::Bytes;
use trimbench_core::units::rounded;
use trimbench_methods::idle_trim::IdleRoundStep;

use super::{SOURCES, number, rows_of_form};
use crate::entry::Entry;
use crate::figure::{Bar, Figure, FigureStanding, RealFigure, RealValue};
use crate::lab::Lab;

#[cfg(test)]
mod tests;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "discards",
    title: "Emulated drives of four names take as long for a discard of 2 to 8 GiB as those; times \
            of 2 and 8 GiB are fitted, of 2.581 GiB predicted",
    needs: &[],
    sources: SOURCES,
    run,
};

/// The figures, with their source in the page beside them.
const TIMES: &str = "docs/drives/trim.csv";
/// How far a least may be off, as a share.
const LEAST: Bar = Bar::Near { value: 1.0, share: 0.3 };
/// How far a median may be off, as a factor of 1.5.
const MEDIAN: Bar = Bar::Within(0.667, 1.5);
/// Real discards are of whole writes of this size.
const PIECE: Bytes = Bytes(512 << 10);
/// A discard of 8 GiB is three commands on Linux, which are outstanding together.
const TOGETHER: &str = "queue-depth=4";

/// Discards of one size on a real drive.
#[derive(Clone, Debug)]
struct DiscardRow {
    drive: String,
    fitted: bool,
    gib: f64,
    /// In an interval.
    count: usize,
    intervals: usize,
    /// In ms.
    least: RealValue,
    median: RealValue,
}

impl DiscardRow {
    fn read(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [drive, split, gib, count, intervals, least, median] = fields[..] else {
            anyhow::bail!("`{line}` has not seven fields");
        };
        let whole = |text: &str| text.parse::<usize>().with_context(|| format!("`{text}`"));
        Ok(Self {
            drive: drive.to_owned(),
            fitted: split == "fit",
            gib: number(gib)?,
            count: whole(count)?,
            intervals: whole(intervals)?,
            least: real_time(least)?,
            median: real_time(median)?,
        })
    }

    /// Runs as many discards of ours, each of data that were written before; how long each took,
    /// ms, in their order.
    fn times(&self, lab: &Lab<'_>) -> Result<Vec<f64>> {
        let pieces = rounded(self.gib * Bytes::gib(1).0 as f64 / PIECE.0 as f64);
        let span = format!("span={}", Bytes(pieces * PIECE.0));
        let wanted = self.count * self.intervals;
        let repetitions = format!("repetitions={wanted}");
        let target = format!("sim:{},fill=none", self.drive);
        let options = [&*span, &*repetitions, "chunk=none", "rest=0", TOGETHER];
        let run = lab.run("idle-trim", &target, &options)?;
        let times = run.steps("one-go").map(|step| {
            let round: IdleRoundStep = step.read()?;
            Ok(round.full.trim_s * 1e3)
        });
        let times: Vec<f64> = times.collect::<Result<_>>()?;
        ensure!(times.len() == wanted, "{target}: {} discards of {wanted}", times.len());
        Ok(times)
    }

    /// What is said of the greatest of each interval of our times, ms, and how it compares.
    fn figures(&self, times: &[f64]) -> [Figure; 2] {
        let greatest = |interval: &[f64]| interval.iter().copied().fold(0.0, f64::max);
        let mut greatest: Vec<f64> = times.chunks(self.count).map(greatest).collect();
        greatest.sort_by(f64::total_cmp);
        [
            self.figure("least", greatest[0], (self.least, LEAST)),
            self.figure("median", greatest[greatest.len() / 2], (self.median, MEDIAN)),
        ]
    }

    fn figure(&self, which: &str, ours: f64, (real, exactly): (RealValue, Bar)) -> Figure {
        let Self { drive, gib, fitted, .. } = self;
        let standing = FigureStanding::of(*fitted);
        let name = format!("{which} of discards of {gib} GiB");
        let what = format!("{drive}: {name}, {}, ours over real", standing.name());
        let figure = Figure::new(what, (ours / real.number(), ""), bar(real, exactly));
        let holds = figure.holds();
        let part = RealFigure::new((drive, name), standing, (Some(ours), real, "ms"), holds);
        figure.with_note(part.both_told()).with_parts(vec![part])
    }
}

/// A time, or a bound of it: `<=0.368`.
fn real_time(text: &str) -> Result<RealValue> {
    Ok(match text.split_at_checked(2) {
        Some(("<=", most)) => RealValue::AtMost(number(most)?),
        Some((">=", least)) => RealValue::AtLeast(number(least)?),
        _ => RealValue::Exactly(number(text)?),
    })
}

/// The bar of ours over the real one, where `exactly` is that of a time that is known.
fn bar(real: RealValue, exactly: Bar) -> Bar {
    match real {
        RealValue::AtMost(_) => Bar::AtMost(1.0),
        RealValue::AtLeast(_) => Bar::AtLeast(1.0),
        RealValue::Exactly(_) | RealValue::Between(..) => exactly,
    }
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for row in rows_of_form(lab, TIMES, DiscardRow::read)? {
        figures.extend(row.figures(&row.times(lab)?));
    }
    Ok(figures)
}
