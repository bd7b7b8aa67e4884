//! The published tables of \[S0\] compared with those of the fitted drives: bars for the columns
//! that were not fitted, and a null model in which unbuffered equals buffered.

use anyhow::{Result, ensure};
use trimbench_methods::postmark::METRICS;

use crate::acceptance::{Bar, Capture, Context, Finding, Raw};
use crate::s0::published::{Durations, PublishedColumn, VENDORS, durations};
use crate::s0::{self, ColumnRun, Mean, PHASES, means, tables};

pub(in crate::acceptance) mod predictions;

/// The runs, a line of JSON for each.
pub(in crate::acceptance) const RUNS: &str = "runs";
/// Repetitions of each column. They differ in PostMark's seed and in what the drive had written.
const REPETITIONS: u32 = 10;
const REPETITIONS_SHORT: u32 = 3;
/// What the whole table may take, and of how many runs it is.
const WALL_SECONDS: f64 = 60.0;
const TABLE: f64 = 240.0;
/// How far off a duration may be, in percent.
const UNBUFFERED: f64 = 5.0;
const CREATION: f64 = 3.0;
/// And that of a deletion: the larger of these seconds and this share.
const DELETION_SECONDS: f64 = 2.0;
const DELETION_SHARE: f64 = 0.3;
/// A total under discard over that without, of a drive that is many times slower.
const RATIO_SHARE: f64 = 0.1;
/// How far off the DIFF of a drive's total may be, in points; without one its ratio is judged.
const POINTS: [(&str, Option<f64>); 6] = [
    ("vendor1", Some(3.0)),
    ("vendor2", None),
    ("vendor3", Some(5.0)),
    ("vendor4", Some(1.5)),
    ("vendor5", Some(1.5)),
    ("vendor6", Some(1.5)),
];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let repetitions = if context.is_short() { REPETITIONS_SHORT } else { REPETITIONS };
    context.keep(RUNS, || s0::built_in_runs(repetitions))
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, runs): (_, Vec<ColumnRun>) = raw.lines(RUNS)?;
    let mut findings = vec![tabled(&runs, &capture)?];
    for (vendor, points) in POINTS {
        findings.extend(Drive::read(&runs, (vendor, points), &capture)?.findings()?);
    }
    let count = runs.len() as f64;
    let what = format!("wall time of {count} runs");
    let bar = Bar::AtMost(WALL_SECONDS * count / TABLE);
    findings.push(
        Finding::new(&what, (capture.elapsed_seconds, "s"), bar, &raw.capture_itself(RUNS)?)
            .with_note("2 simulations side by side"),
    );
    Ok(findings)
}

/// The tables of the runs, as `cargo xtask s0` prints them.
fn tabled(runs: &[ColumnRun], capture: &Capture) -> Result<Finding> {
    let printed = tables(runs)?;
    let rows = METRICS.map(|metric| format!("{:34}|", metric.name));
    let is_row = |line: &&str| rows.iter().any(|row| line.starts_with(row));
    let count = printed.lines().filter(is_row).count() as f64;
    let what = "rows of the tables in the form of [S0]";
    let wanted = (rows.len() * VENDORS.len()) as f64;
    Ok(Finding::new(what, (count, ""), Bar::Equals(wanted), capture).with_note(
        "fitted cells are marked there, the null model stands below; 18 values fitted, 54 \
         durations predicted, by a machine that was chosen with the deletions in view",
    ))
}

/// A drive's columns, in the order of [`PublishedColumn::ALL`].
struct Drive<'a> {
    name: &'a str,
    points: Option<f64>,
    model: Vec<Mean>,
    published: Vec<Durations>,
    repetitions: usize,
    capture: &'a Capture,
}

impl<'a> Drive<'a> {
    fn read(
        runs: &[ColumnRun],
        (name, points): (&'a str, Option<f64>),
        capture: &'a Capture,
    ) -> Result<Self> {
        let model = means(runs, name)?;
        let published = PublishedColumn::ALL
            .iter()
            .map(|column| durations(name, *column))
            .collect::<Result<_>>()?;
        let its = runs.iter().filter(|run| run.vendor == name).count();
        ensure!(its % PublishedColumn::ALL.len() == 0, "{name}: {its} runs of four columns");
        Ok(Self {
            name,
            points,
            model,
            published,
            repetitions: its / PublishedColumn::ALL.len(),
            capture,
        })
    }

    fn findings(&self) -> Result<Vec<Finding>> {
        let mut findings = vec![self.unbuffered(), self.creation()];
        findings.extend([0, 2].map(|first| self.diff(first)));
        if self.points.is_some() {
            findings.extend((0..PublishedColumn::ALL.len()).map(|place| self.deletion(place)));
        }
        ensure!(VENDORS.contains(&self.name), "{} is no drive of the table", self.name);
        Ok(findings)
    }

    fn finding(&self, what: &str, figure: (f64, &'static str), bar: Bar) -> Finding {
        Finding::new(&format!("{}: {what}", self.name), figure, bar, self.capture)
    }

    /// How far the unbuffered durations but deletion are off, and those of the null model.
    fn unbuffered(&self) -> Finding {
        let (mut furthest, mut furthest_null, mut notes) = (0.0_f64, 0.0_f64, Vec::new());
        for place in [2, 3] {
            for (phase, of) in &PHASES[..3] {
                let published = of(&self.published[place]);
                let off = percent(of(&self.model[place].durations), published);
                let null = percent(of(&self.published[place - 2]), published);
                furthest = furthest.max(off.abs());
                furthest_null = furthest_null.max(null.abs());
                let column = PublishedColumn::ALL[place].name();
                notes.push(format!("{phase}, {column} {off:+.1} ({null:+.1})"));
            }
        }
        let note = format!(
            "%, in brackets the null model (unbuffered = buffered, as published; furthest off \
             {furthest_null:.1}); {} repetitions: {}",
            self.repetitions,
            notes.join(", ")
        );
        self.finding(
            "unbuffered total, creation and transactions, furthest off",
            (furthest, "%"),
            Bar::AtMost(UNBUFFERED),
        )
        .with_note(&note)
    }

    fn creation(&self) -> Finding {
        let off = |place: usize| {
            percent(self.model[place].durations.creation, self.published[place].creation)
        };
        let furthest = off(1).abs().max(off(3).abs());
        let note = format!("buffered {:+.1} %, unbuffered {:+.1} %", off(1), off(3));
        let what = "creation under discard, further off";
        self.finding(what, (furthest, "%"), Bar::AtMost(CREATION)).with_note(&note)
    }

    /// What `discard` adds to the total, of the column at this place and the next.
    fn diff(&self, first: usize) -> Finding {
        let buffering =
            if PublishedColumn::ALL[first].buffered { "buffered" } else { "unbuffered" };
        let model = self.model[first + 1].durations.total() / self.model[first].durations.total();
        let published = self.published[first + 1].total() / self.published[first].total();
        let Some(points) = self.points else {
            let what = format!("total with discard over total without, {buffering}");
            let deletion = |place: usize| {
                let (model, published) = (&self.model[place].durations, &self.published[place]);
                format!("{:.1} ({:.1})", model.deletion, published.deletion)
            };
            let note = format!(
                "deletion takes {} s without and {} s with discard, in brackets as published; no \
                 bar",
                deletion(first),
                deletion(first + 1)
            );
            let bar = Bar::Near { value: published, share: RATIO_SHARE };
            return self.finding(&what, (model, ""), bar).with_note(&note);
        };
        let diff = |ratio: f64| 100.0 * (ratio - 1.0);
        let (low, high) = (diff(published) - points, diff(published) + points);
        let bar = Bar::Within(rounded(low), rounded(high));
        self.finding(&format!("DIFF of the total, {buffering}"), (diff(model), "%"), bar)
    }

    fn deletion(&self, place: usize) -> Finding {
        let published = self.published[place].deletion;
        let off = DELETION_SECONDS.max(DELETION_SHARE * published);
        let bar = Bar::Within(rounded(published - off), rounded(published + off));
        let what = format!("deletion, {}", PublishedColumn::ALL[place].name());
        self.finding(&what, (self.model[place].durations.deletion, "s"), bar)
    }
}

fn percent(value: f64, published: f64) -> f64 {
    100.0 * (value / published - 1.0)
}

/// A bar with the two digits of the published figures.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
pub(in crate::acceptance) mod tests;
