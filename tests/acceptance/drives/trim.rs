//! Claim `drives.3`: the times of large discards on real drives, and on the emulated drives of
//! their names, measured alike: the greatest of those of an interval, and of many intervals the
//! least and the median.

use anyhow::{Context as _, Result, ensure};
use trimbench_core::Bytes;
use trimbench_core::units::rounded;

use super::{keep_table, rows, table};
use crate::acceptance::{Bar, Context, Finding, Form, Raw, short};

#[cfg(test)]
mod tests;

/// The figures, with their source in the page beside them.
const TIMES: &str = "docs/drives/trim.csv";
const KEPT: &str = "trim.csv";
/// How far a least may be off, as a share.
const LEAST_OFF: f64 = 0.3;
/// How far a median may be off, as a factor.
const MEDIAN_OFF: f64 = 1.5;
/// Real discards are of whole writes of this size.
const PIECE: Bytes = Bytes(512 << 10);
/// A discard of 8 GiB is three commands on Linux, which are outstanding together.
const TOGETHER: &str = "queue-depth=4";

/// What is known of a real time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Exactly,
    /// It lies below what the source can show.
    AtMost,
    /// It lies beyond the end of the source's scale.
    AtLeast,
}

/// A time of a real drive.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RealTime {
    known: Known,
    milliseconds: f64,
}

impl RealTime {
    fn read(text: &str) -> Result<Self> {
        let (known, number) = match text.split_at_checked(2) {
            Some(("<=", number)) => (Known::AtMost, number),
            Some((">=", number)) => (Known::AtLeast, number),
            _ => (Known::Exactly, text),
        };
        let milliseconds = number.parse().with_context(|| format!("`{text}` is no time"))?;
        Ok(Self { known, milliseconds })
    }

    /// The bar of ours over this, where `exactly` is that of a time that is known.
    fn bar(self, exactly: Bar) -> Bar {
        match self.known {
            Known::Exactly => exactly,
            Known::AtMost => Bar::AtMost(1.0),
            Known::AtLeast => Bar::AtLeast(1.0),
        }
    }

    /// As the table has it.
    fn text(self) -> String {
        let sign = match self.known {
            Known::Exactly => "",
            Known::AtMost => "<=",
            Known::AtLeast => ">=",
        };
        format!("{sign}{}", self.milliseconds)
    }

    fn shown(self) -> String {
        let sign = match self.known {
            Known::Exactly => "",
            Known::AtMost => "at most ",
            Known::AtLeast => "at least ",
        };
        format!("{sign}{} ms", short(self.milliseconds))
    }
}

/// Discards of one size on a real drive.
#[derive(Clone, Debug)]
pub(super) struct Discards {
    drive: String,
    fitted: bool,
    gib: f64,
    /// In an interval.
    count: usize,
    intervals: usize,
    least: RealTime,
    median: RealTime,
}

impl Discards {
    pub(super) fn read(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [drive, split, gib, count, intervals, least, median] = fields[..] else {
            anyhow::bail!("`{line}` has not seven fields");
        };
        let whole = |text: &str| text.parse::<usize>().with_context(|| format!("`{text}`"));
        Ok(Self {
            drive: drive.to_owned(),
            fitted: split == "fit",
            gib: gib.parse().with_context(|| format!("`{gib}`"))?,
            count: whole(count)?,
            intervals: whole(intervals)?,
            least: RealTime::read(least)?,
            median: RealTime::read(median)?,
        })
    }

    /// The same row as text.
    pub(super) fn line(&self) -> String {
        let Self { drive, fitted, gib, count, intervals, least, median } = self;
        let split = if *fitted { "fit" } else { "predict" };
        format!("{drive},{split},{gib},{count},{intervals},{},{}", least.text(), median.text())
    }

    /// The same with fewer intervals.
    pub(super) fn shortened_to(self, intervals: usize) -> Self {
        Self { intervals, ..self }
    }

    /// The name in the raw output.
    pub(super) fn name(&self) -> String {
        format!("{}-{}-gib", self.drive, self.gib)
    }

    /// Runs as many discards of ours, each of data that were written before.
    pub(super) fn run(&self, context: &Context<'_>) -> Result<()> {
        let pieces = rounded(self.gib * Bytes::gib(1).0 as f64 / PIECE.0 as f64);
        let span = format!("span={}", Bytes(pieces * PIECE.0));
        let repetitions = format!("repetitions={}", self.count * self.intervals);
        let target = format!("sim:{},fill=none", self.drive);
        let options = [&*span, &*repetitions, "chunk=none", "rest=0", TOGETHER];
        context.run_well(&self.name(), "idle-trim", (&target, &options)).map(drop)
    }

    /// How long each discard of ours took, in milliseconds, in their order.
    fn ours(&self, raw: &Raw) -> Result<Vec<f64>> {
        let record = raw.record(&format!("{}/run.json", self.name()))?;
        let session = record.sessions.first().context("no session")?;
        let times: Vec<f64> = session
            .steps
            .iter()
            .filter(|step| step.kind == "one-go")
            .filter_map(|step| step.metric("full_s"))
            .map(|seconds| seconds * 1e3)
            .collect();
        let wanted = self.count * self.intervals;
        ensure!(times.len() == wanted, "{}: {} discards of {wanted}", self.name(), times.len());
        Ok(times)
    }

    /// What is said of the greatest of each interval, and how it compares.
    pub(super) fn findings(&self, raw: &Raw) -> Result<[Finding; 2]> {
        let times = self.ours(raw)?;
        let mut greatest: Vec<f64> = times
            .chunks(self.count)
            .map(|interval| interval.iter().copied().fold(0.0, f64::max))
            .collect();
        greatest.sort_by(f64::total_cmp);
        let capture = raw.capture(&self.name())?;
        let split = if self.fitted { "fitted" } else { "predicted" };
        let finding = |which: &str, ours: f64, real: RealTime, exactly: Bar| {
            let what = format!(
                "{}: {which} of discards of {} GiB, {split}, ours over real",
                self.drive, self.gib
            );
            let note = format!("ours {} ms, real {}", short(ours), real.shown());
            let ratio = ours / real.milliseconds;
            Finding::new(&what, (ratio, ""), real.bar(exactly), &capture).with_note(&note)
        };
        let least = Bar::Near { value: 1.0, share: LEAST_OFF };
        let median = Bar::Within(rounded_to_thousandth(1.0 / MEDIAN_OFF), MEDIAN_OFF);
        Ok([
            finding("least", greatest[0], self.least, least),
            finding("median", greatest[greatest.len() / 2], self.median, median),
        ])
    }
}

fn rounded_to_thousandth(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// The row of a drive that is predicted.
pub(super) fn predicted(context: &Context<'_>, drive: &str) -> Result<Discards> {
    let rows = rows(&table(context, TIMES)?, Form::Full, Discards::read)?;
    let found = rows.into_iter().find(|row| row.drive == drive && !row.fitted);
    found.with_context(|| format!("{drive} has no predicted row"))
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let text = keep_table(context, TIMES, KEPT)?;
    for row in rows(&text, context.form(), Discards::read)? {
        row.run(context)?;
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let rows = rows(&raw.text(KEPT)?, raw.form(), Discards::read)?;
    let findings: Result<Vec<_>> = rows.iter().map(|row| row.findings(raw)).collect();
    Ok(findings?.into_iter().flatten().collect())
}
