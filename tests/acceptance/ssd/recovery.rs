//! The published recovery test on whole drives of 256 GB: its wall time and its results.

use anyhow::{Context as _, Result};
use trimbench_results::Step;

use crate::acceptance::runs::metric;
use crate::acceptance::{Bar, Context, Finding, Raw};

/// The drive of \[S2\], and one whose link is so slow that it hides garbage collection.
const PUBLISHED: &str = "like-m4-256";
const OTHER: &str = "generic-sata-tlc";
/// What the drives hold.
const CAPACITY: &str = "256GB";
/// What a run may take, s.
const PUBLISHED_SECONDS_MAX: f64 = 120.0;
const STANDARD_SECONDS_MAX: f64 = 300.0;
/// The drive's time over the wall's.
const SPEED_MIN: f64 = 50.0;
/// \[S2\]: "averaging 250MB/s".
const FRESH: f64 = 250.0;
const FRESH_MARGIN: f64 = 0.02;
/// Shares of the fresh throughput.
const TRIMMED_MIN: f64 = 0.98;
const FRAGMENTED_MAX: f64 = 0.7;
/// The method's own limit from which on a second pass counts as healing.
const HEALED_MIN: f64 = 1.02;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    run(context, PUBLISHED, "published")?;
    if !context.is_short() {
        run(context, OTHER, "published")?;
        run(context, PUBLISHED, "standard")?;
        run(context, OTHER, "standard")?;
    }
    Ok(())
}

fn run(context: &Context<'_>, drive: &str, preset: &str) -> Result<()> {
    let name = name(drive, preset);
    let target = format!("sim:{drive},capacity={CAPACITY}");
    let mut command =
        context.trimbench(&["run", "recovery", "--preset", preset, "--target", &target])?;
    command.arg("--output").arg(context.folder().join(&name));
    context.capture_well(&name, &mut command).map(|_| ())
}

fn name(drive: &str, preset: &str) -> String {
    format!("{preset}-{drive}")
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::from(times(raw, PUBLISHED, "published", PUBLISHED_SECONDS_MAX)?);
    findings.extend(passes(raw)?);
    if !raw.is_short() {
        findings.extend(times(raw, OTHER, "published", PUBLISHED_SECONDS_MAX)?);
        for drive in [PUBLISHED, OTHER] {
            findings.extend(times(raw, drive, "standard", STANDARD_SECONDS_MAX)?);
            findings.push(steady(raw, drive)?);
        }
    }
    Ok(findings)
}

/// How long the run took, and how much longer the drive would have taken, its rests left out.
fn times(raw: &Raw, drive: &str, preset: &str, most: f64) -> Result<[Finding; 2]> {
    let run = raw.good_run(&name(drive, preset))?;
    let itself = raw.capture_itself(&name(drive, preset))?;
    let elapsed = run.session.steps.iter().filter_map(|step| step.metrics.get("elapsed_s"));
    let emulated: f64 = elapsed.sum();
    let wall = itself.elapsed_seconds;
    let what = format!("`{preset}` on {drive} of {CAPACITY}");
    let note = format!("{emulated:.0} s of the drive's time in {wall:.1} s");
    let ratio = format!("{what}, the drive's time over the wall's");
    Ok([
        Finding::new(&format!("{what}, wall time"), (wall, "s"), Bar::AtMost(most), &itself),
        run.finding(&ratio, (emulated / wall, ""), Bar::AtLeast(SPEED_MIN)).with_note(&note),
    ])
}

/// The four passes of the published test, with the values of \[S2\].
fn passes(raw: &Raw) -> Result<[Finding; 4]> {
    let run = raw.good_run(&name(PUBLISHED, "published"))?;
    let speed = |pass: &str| run.throughput(pass);
    let (fresh, fragmented) = (speed("fresh")?, speed("fragmented")?);
    let (healed, trimmed) = (speed("self-healed")?, speed("trimmed")?);
    let finding = |what: &str, figure, bar, note: &str| {
        let what = format!("sequential writes of {PUBLISHED}, {what}");
        run.finding(&what, figure, bar).with_note(note)
    };
    let speeds = format!("{fragmented:.0} after {fresh:.0} MB/s");
    Ok([
        finding(
            "fresh",
            (fresh, "MB/s"),
            Bar::Near { value: FRESH, share: FRESH_MARGIN },
            "published: about 250 MB/s, to which the profile is fitted",
        ),
        finding(
            "fragmented over fresh",
            (fragmented / fresh, ""),
            Bar::AtMost(FRAGMENTED_MAX),
            &format!("published as a picture, \"a remarkable falloff\"; {speeds}"),
        ),
        finding(
            "second pass over the fragmented one",
            (healed / fragmented, ""),
            Bar::AtLeast(HEALED_MIN),
            "published: recovers \"pretty well\", not wholly; the emulated drive does wholly, \
             because it maps every 4 KiB by itself",
        ),
        finding(
            "trimmed over fresh",
            (trimmed / fresh, ""),
            Bar::AtLeast(TRIMMED_MIN),
            "published: \"back to new\"",
        ),
    ])
}

/// Whether the last round of the first torture ended a steady window.
fn steady(raw: &Raw, drive: &str) -> Result<Finding> {
    let run = raw.good_run(&name(drive, "standard"))?;
    let steps = run.session.steps.iter();
    let rounds: Vec<&Step> = steps.filter(|step| step.parameters.contains_key("round")).collect();
    let last = rounds.last().context("no rounds")?;
    let is_steady = last.metrics.get("window_steady").copied().unwrap_or(0.0);
    let note = format!("{} rounds, the last at {:.0} IOPS", rounds.len(), metric(last, "iops")?);
    let what = format!("`standard` on {drive} of {CAPACITY}, steady by [PTS] at the last round");
    Ok(run.finding(&what, (is_steady, ""), Bar::Equals(1.0)).with_note(&note))
}

#[cfg(test)]
mod tests;
