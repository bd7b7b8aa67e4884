//! The published tables of \[S0\] compared with those of the drives that were fitted to them, and
//! the hypotheses of vendor2's deletion phase.

mod printed;

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use tests::s0::published::{PublishedColumn, VENDORS, durations};
use tests::s0::{ColumnRun, Prediction, UNBUFFERED, deletion_run, means, predictions, runs};
use trimbench_fs::FsConfig;
use trimbench_policy::Issuer;
use trimbench_ssd::Profile;

use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// The published tables of six drives, reproduced from 18 fitted values.
pub(crate) const ENTRY: Entry = Entry {
    name: "tables",
    title: "18 fitted values reproduce the published tables of six drives on the modelled ext4; \
            the tables are printed",
    needs: &[],
    sources: EMULATED,
    run,
};

/// Repetitions of each column, short and in full. They differ in PostMark's seed and in what the
/// drive had written.
const REPETITIONS: [u32; 2] = [3, 10];
/// What a run may take, s, two of them side by side.
const SECONDS_A_RUN: f64 = 0.25;
/// How far off the ratio of totals may be of a drive that discards make many times slower.
const RATIO: f64 = 0.1;
/// How far off the DIFF of a drive's total may be, in points; without one its ratio is judged.
const POINTS: [(&str, Option<f64>); 6] = [
    ("vendor1", Some(3.0)),
    ("vendor2", None),
    ("vendor3", Some(5.0)),
    ("vendor4", Some(1.5)),
    ("vendor5", Some(1.5)),
    ("vendor6", Some(1.5)),
];
/// Predicted durations, and how many of them miss no bar at the least.
const PREDICTED: f64 = 54.0;
const WITHIN_LEAST: f64 = 48.0;
/// Why a prediction misses: by drive, and the beginning of what is predicted.
const REASONS: [(&str, &str, &str); 3] = [
    (
        "vendor1",
        "deletion",
        "its creation and transactions nearly equal those of vendor5, whose deletion takes half as \
         long: three values a drive can hardly give both",
    ),
    (
        "vendor3",
        "deletion, buffered, discard",
        "published shorter with discard than without (15.9 s), which no cost of a TRIM gives",
    ),
    (
        "vendor6",
        "transactions, unbuffered",
        "the model makes the same calls as buffered; published it is 4 % faster than buffered, and \
         that is faster with discard than without",
    ),
];
/// The drive whose deletion phase costs so much less a file than its transactions.
const SLOW: &str = "vendor2";

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let is_of_its_time = FsConfig::s0().discard == Some(Issuer::Ext4Since2_6_33);
    ensure!(is_of_its_time, "the machine does not discard as ext4 of its time");
    let drive = |vendor: &str| {
        let profile = Profile::built_in(vendor).with_context(|| format!("no `{vendor}`"))?;
        Ok((vendor.to_owned(), profile.config))
    };
    let drives = VENDORS.into_iter().map(drive).collect::<Result<Vec<_>>>()?;
    let begun = Instant::now();
    let runs = runs(&drives, lab.form(REPETITIONS[0], REPETITIONS[1]))?;
    let (seconds, count) = (begun.elapsed().as_secs_f64(), runs.len() as f64);
    eprint!("{}", printed::tables(&runs)?);
    let bar = Bar::AtMost(SECONDS_A_RUN * count);
    let mut figures = vec![
        Figure::new(format!("wall time of {count} runs"), (seconds, "s"), bar)
            .with_note("2 simulations side by side"),
    ];
    let predictions = predictions(&runs)?;
    let judged = predictions.iter().filter(|it| it.has_bar);
    figures.extend(judged.map(|it| Figure::from(it.expectation())));
    for (vendor, points) in POINTS {
        figures.extend(totals(&runs, vendor, points)?);
    }
    if !lab.is_short() {
        // A few repetitions are not the means that are published.
        figures.extend(counted(&predictions));
    }
    figures.extend(hypotheses()?);
    Ok(figures)
}

/// The unbuffered totals of a drive, and what `discard` adds to them.
fn totals(runs: &[ColumnRun], vendor: &str, points: Option<f64>) -> Result<Vec<Figure>> {
    let means = means(runs, vendor)?;
    let published = PublishedColumn::ALL.map(|column| durations(vendor, column));
    let published = published.into_iter().collect::<Result<Vec<_>>>()?;
    let total = |place: usize| (means[place].durations.total(), published[place].total());
    let mut figures = Vec::new();
    for place in [2, 3] {
        let (model, value) = total(place);
        let what = format!("{vendor}: total, {}", PublishedColumn::ALL[place].name());
        let null = 100.0 * (published[place - 2].total() / value - 1.0);
        figures.push(
            Figure::new(what, (model, "s"), Bar::Near { value, share: UNBUFFERED })
                .with_note(format!("null model (unbuffered = buffered) {null:+.1} %")),
        );
    }
    for (first, buffering) in [(0, "buffered"), (2, "unbuffered")] {
        let (without, with) = (total(first), total(first + 1));
        let (model, value) = (with.0 / without.0, with.1 / without.1);
        let diff = |ratio: f64| 100.0 * (ratio - 1.0);
        figures.push(if let Some(points) = points {
            let bar = Bar::Within(rounded(diff(value) - points), rounded(diff(value) + points));
            let what = format!("{vendor}: DIFF of the total, {buffering}");
            Figure::new(what, (diff(model), "%"), bar)
        } else {
            let bar = Bar::Near { value, share: RATIO };
            let what = format!("{vendor}: total with discard over without, {buffering}");
            Figure::new(what, (model, ""), bar)
        });
    }
    Ok(figures)
}

/// How many of the predicted durations are within their bars, and whether each of the others has
/// its reason.
fn counted(all: &[Prediction]) -> Vec<Figure> {
    let (judged, without): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.has_bar);
    let missed: Vec<_> = judged.into_iter().filter(|it| !it.is_near()).collect();
    let reason = |it: &Prediction| {
        let of =
            |row: &&(&str, &str, &'static str)| row.0 == it.vendor && it.what.starts_with(row.1);
        REASONS.iter().find(of).map(|row| row.2)
    };
    let told = missed
        .iter()
        .map(|it| format!("{} ({})", it.told(), reason(it).unwrap_or("no reason is known")));
    let told = told.collect::<Vec<_>>().join("; ");
    let unknown = missed.iter().filter(|it| reason(it).is_none()).count() as f64;
    let loose = without.iter().filter(|it| !it.is_near()).map(|it| it.told());
    let loose = loose.collect::<Vec<_>>().join("; ");
    let within = (all.len() - missed.len()) as f64;
    let figure = |what: &str, value: f64, bar| Figure::new(what, (value, ""), bar);
    vec![
        figure("predicted durations", all.len() as f64, Bar::Equals(PREDICTED)),
        figure("predicted durations that miss no bar", within, Bar::AtLeast(WITHIN_LEAST))
            .with_note(format!("missed: {told}")),
        figure("misses without a reason", unknown, Bar::Equals(0.0)),
        figure(
            "of the predicted durations, those that have no bar",
            without.len() as f64,
            Bar::Equals(4.0),
        )
        .with_note(format!("those that would miss the bar of the other drives: {loose}")),
    ]
}

/// What each hypothesis predicts of the deletion phase, and whether it is so.
///
/// \[S0\] gives the time that TRIMs can have taken within PostMark's clock, and so their number
/// (`trims`). *Merging alone*: PostMark waits for all discards of the phase; then there are not
/// more of them than that. *The clock*: PostMark waits for not more than that many, and the rest
/// comes after its clock has stopped.
fn hypotheses() -> Result<Vec<Figure>> {
    let slow = deletion_run(SLOW)?;
    let published = |discard| durations(SLOW, PublishedColumn { buffered: true, discard });
    let (without, with) = (published(false)?.deletion, published(true)?.deletion);
    let trims = (with - without) / slow.trim;
    let all = slow.during + slow.after;
    let figure = |what: &str, value: f64, bar| {
        Figure::new(format!("deletion phase, {what}"), (value, ""), bar)
    };
    let needs = format!(
        "published: {:.1} s more for {} files, at {:.1} ms at most {trims:.0} TRIMs",
        with - without,
        slow.files,
        1e3 * slow.trim,
    );
    let counts = format!(
        "{:.0} discards within the clock, {:.0} after it, in {:.0} s",
        slow.during, slow.after, slow.after_seconds
    );
    let phase =
        format!("the deletion takes {:.1} s, published {with:.1} s", slow.durations.deletion);
    Ok(vec![
        figure("merging alone refuted: files a discard", slow.files / all, {
            Bar::Within(1.0, rounded(slow.files / trims))
        })
        .with_note(needs),
        figure("the clock: share of the discards after it", slow.after / all, {
            Bar::AtLeast(rounded(1.0 - trims / slow.files))
        })
        .with_note(counts),
        figure("the clock: discards within it", slow.during, Bar::AtMost(trims.floor()))
            .with_note(phase),
    ])
}

/// A bar in thousandths.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
