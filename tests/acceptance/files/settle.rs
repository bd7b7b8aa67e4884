//! How long a drive is slower after a TRIM: two drives that postpone TRIM work, compared with work
//! / share, and a drive that does not.

use anyhow::{Context as _, Result, ensure};
use trimbench_results::Step;
use trimbench_ssd::{Profile, TrimMode};

use crate::acceptance::runs::{Run, metric, parameter};
use crate::acceptance::{Bar, Context, Finding, Raw};

/// Drives that put TRIM off, and their windows and slices.
const BACKGROUND: [(&str, [&str; 2]); 2] =
    [("vendor6", ["window=1s", "slice=10ms"]), ("plain-nvme-tlc", ["window=300ms", "slice=2ms"])];
/// One that works at once.
const AT_ONCE: &str = "generic-sata-tlc";
/// Points of the surface.
const POINTS: usize = 9;
/// What a slice may miss of the plateau before the method calls it slow.
const SLOW: f64 = 0.05;
/// How far from the closed form a settling time may be, in slices.
const EARLY: f64 = -1.0;
const LATE: f64 = 2.0;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let of = |name: &str, options: &[&str]| -> Result<()> {
        let target = format!("sim:{name}");
        context.run_well(name, "settle", (&target, options)).map(drop)
    };
    // The full form shows the presets themselves.
    for (name, options) in BACKGROUND {
        of(name, if context.is_short() { &options } else { &options[1..] })?;
    }
    of(AT_ONCE, &BACKGROUND[0].1)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (name, _) in BACKGROUND {
        findings.extend(background(raw, name)?);
    }
    findings.extend(at_once(raw)?);
    Ok(findings)
}

/// The points of a run.
fn points(run: &Run) -> Result<Vec<&Step>> {
    let points: Vec<&Step> = run.steps("point").collect();
    ensure!(points.len() == POINTS, "{} points, not {POINTS}", points.len());
    Ok(points)
}

fn settling(run: &Run, point: &Step) -> Result<f64> {
    run.value(&format!("settling-{}", point.id))
}

/// What the model owes for the TRIM of a point: its mapped and its unmapped part, s.
fn work(name: &str, point: &Step) -> Result<(f64, f64)> {
    let trim = Profile::built_in(name).context("a built-in profile")?.config.trim;
    ensure!(trim.mode == TrimMode::Background || name == AT_ONCE, "{name} puts nothing off");
    let (range, written) = (parameter(point, "range_bytes")?, parameter(point, "written_bytes")?);
    let (mapped, gib) = (range.min(written), (1_u64 << 30) as f64);
    let work = mapped / gib * trim.per_gib_mapped.seconds()
        + (range - mapped) / gib * trim.per_gib_unmapped.seconds();
    Ok((work, work / trim.background_share.fraction()))
}

fn background(raw: &Raw, name: &str) -> Result<Vec<Finding>> {
    let run = raw.run(name)?;
    let (mut earliest, mut latest, mut notes) = (f64::INFINITY, f64::NEG_INFINITY, Vec::new());
    let mut starts: f64 = 0.0;
    for point in points(&run)? {
        let slice = parameter(point, "slice_s")?;
        starts = starts.max(starting(name, slice)?);
        let (after, expected) = (settling(&run, point)?, work(name, point)?.1);
        let off = (after - expected) / slice;
        (earliest, latest) = (earliest.min(off), latest.max(off));
        notes.push(format!("{} {after:.3} ({expected:.3})", point.id));
    }
    let note = format!("s, in brackets work over share: {}", notes.join(", "));
    let finding =
        |what: &str, figure, bar| run.finding(&format!("{name}: {what}"), (figure, ""), bar);
    let early = "earliest settling time of the surface, slices after work over share";
    let late = "latest settling time of the surface, slices after work over share";
    let longest = run.value("settle")?;
    ensure!(longest > 0.0, "{name} is not slowed at all");
    let lost = run.value("settle-lost")?;
    let slowest = run.value("settle-slowest")?;
    let slowed = format!("lowest pace {slowest:.3} of the twin's, lost time {lost:.3} s");
    Ok(vec![
        finding(early, earliest, Bar::AtLeast(EARLY)).with_note(&note),
        finding(late, latest, Bar::AtMost(LATE)).with_note(&slowed),
        finding("settling time that the twins show, s", run.value("settle-twin")?, {
            Bar::AtMost(starts)
        }),
    ])
}

/// How long a twin is slow by itself, s: in the first slice, if the stream of writes that begins
/// there costs enough of it.
fn starting(name: &str, slice: f64) -> Result<f64> {
    let profile = Profile::built_in(name).context("a built-in profile")?;
    let switch = profile.config.write_streams.map_or(0.0, |streams| streams.switch.seconds());
    Ok(if switch > SLOW * slice { slice } else { 0.0 })
}

fn at_once(raw: &Raw) -> Result<[Finding; 2]> {
    let run = raw.run(AT_ONCE)?;
    let (mut longest, mut least) = (0.0, f64::INFINITY);
    for point in points(&run)? {
        longest = settling(&run, point)?.max(longest);
        let (took, work) = (metric(point, "trim_s")?, work(AT_ONCE, point)?.0);
        if work > 0.0 {
            least = (took / work).min(least);
        }
    }
    let finding = |what: &str, figure, bar| run.finding(&format!("{AT_ONCE}: {what}"), figure, bar);
    Ok([
        finding("longest settling time of the surface", (longest, "s"), Bar::Equals(0.0)),
        finding("least time of a TRIM over its work", (least, ""), Bar::AtLeast(1.0)),
    ])
}

#[cfg(test)]
mod tests;
