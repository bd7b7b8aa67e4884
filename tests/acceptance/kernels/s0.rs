//! \[S0\] with the era of its kernel, ext4 of Linux 2.6.33 to 4.12: how many of the durations that
//! are not fitted are within their bars, and what the model says of the hypotheses of vendor2's
//! deletion phase. The runs and the bars are those of `files.3`.

use anyhow::{Context as _, Result};
use trimbench_core::Issuer;
use trimbench_fs::FsConfig;

use crate::acceptance::files::table::{self, RUNS, predictions::predictions};
use crate::acceptance::{Bar, Capture, Context, Finding, Form, Raw};
use crate::s0::{ColumnRun, DeletionRun, deletion_run};

/// The ends of PostMark whose discards are counted.
const DELETIONS: &str = "deletions";
/// The drive whose deletion phase costs so much less a file than its transactions.
const SLOW: &str = "vendor2";
/// Predictions, and how many of them may miss their bars.
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

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    // A few repetitions are not the means that S0 gives.
    if !context.is_short() {
        table::measure(context)?;
    }
    context.keep(DELETIONS, || Ok(vec![deletion_run(SLOW)?]))
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, ends): (_, Vec<DeletionRun>) = raw.lines(DELETIONS)?;
    let era = FsConfig::s0().discard == Some(Issuer::Ext4Since2_6_33);
    let what = "the machine discards in the manner of ext4-2.6.33";
    let era = (f64::from(u8::from(era)), "");
    let mut findings = vec![Finding::new(what, era, Bar::Equals(1.0), &capture)];
    findings.extend(hypotheses(ends.first().context("one end was run")?, &capture)?);
    if raw.form() == Form::Full {
        let (capture, runs): (_, Vec<ColumnRun>) = raw.lines(RUNS)?;
        findings.extend(predicted(&runs, &capture)?);
    }
    Ok(findings)
}

fn predicted(runs: &[ColumnRun], capture: &Capture) -> Result<Vec<Finding>> {
    let all = predictions(runs)?;
    let (judged, without): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.has_bar);
    let missed: Vec<_> = judged.into_iter().filter(|it| !it.is_near()).collect();
    let reason = |vendor: &str, what: &str| {
        let of = |row: &&(&str, &str, &'static str)| row.0 == vendor && what.starts_with(row.1);
        REASONS.iter().find(of).map(|row| row.2)
    };
    let told = missed.iter().map(|it| {
        format!("{} ({})", it.told(), reason(it.vendor, &it.what).unwrap_or("no reason is known"))
    });
    let told = told.collect::<Vec<_>>().join("; ");
    let unknown = missed.iter().filter(|it| reason(it.vendor, &it.what).is_none()).count();
    let loose = without.iter().filter(|it| !it.is_near()).map(|it| it.told());
    let loose = loose.collect::<Vec<_>>().join("; ");
    let finding = |what: &str, value: f64, bar| Finding::new(what, (value, ""), bar, capture);
    Ok(vec![
        finding("predicted durations", all.len() as f64, Bar::Equals(PREDICTED)),
        finding(
            "predicted durations that miss no bar",
            (all.len() - missed.len()) as f64,
            Bar::AtLeast(WITHIN_LEAST),
        )
        .with_note(&format!("missed: {told}")),
        finding("misses without a reason", unknown as f64, Bar::Equals(0.0)),
        finding("of the predicted durations, those that have no bar", without.len() as f64, {
            Bar::Equals(4.0)
        })
        .with_note(&format!("those that would miss the bar of the other drives: {loose}")),
    ])
}

/// What each hypothesis predicts of the deletion phase, and whether it is so.
///
/// \[S0\] gives the time that TRIMs can have taken within PostMark's clock, and so their number
/// (`trims`). *Merging alone*: PostMark waits for all discards of the phase; then there are not
/// more of them than that. *The clock*: PostMark waits for not more than that many, and the rest
/// comes after its clock has stopped.
fn hypotheses(slow: &DeletionRun, capture: &Capture) -> Result<Vec<Finding>> {
    let trims = slow.published_trims()?;
    let finding = |what: &str, value: (f64, &'static str), bar| {
        Finding::new(&format!("deletion phase, {what}"), value, bar, capture)
    };
    let needs = format!(
        "published: {:.1} s more for {} files, at {:.1} ms at most {trims:.0} TRIMs",
        slow.published_more()?,
        slow.files,
        1e3 * slow.trim,
    );
    let counts = format!(
        "{:.0} discards within the clock, {:.0} after it, in {:.0} s",
        slow.during, slow.after, slow.after_seconds
    );
    let phase = format!(
        "the deletion takes {:.1} s, published {:.1} s",
        slow.durations.deletion,
        slow.published()?
    );
    Ok(vec![
        finding("merging alone refuted: files a discard", (slow.files_a_discard(), ""), {
            Bar::Within(1.0, rounded(slow.files / trims))
        })
        .with_note(&needs),
        finding("the clock: share of the discards after it", (slow.share_after(), ""), {
            Bar::AtLeast(rounded(1.0 - trims / slow.files))
        })
        .with_note(&counts),
        finding("the clock: discards within it", (slow.during, ""), Bar::AtMost(trims.floor()))
            .with_note(&phase),
    ])
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests;
