//! The scenario of \[S3\] in the manners of `OpenZFS` and FreeBSD: discards are as many and as long
//! as a calculation from the rules of their sources gives (`rules`, which shares no code with the
//! model), rates are kept, and what is freed is accounted for on every drive.

use anyhow::{Context as _, Result};
use trimbench_results::Step;

use self::rules::{Discards, Pool};
use crate::acceptance::runs::Run;
use crate::acceptance::{Bar, Context, Finding, Form, Raw};

mod rules;
#[cfg(test)]
mod tests;

/// One in so many of the bytes of \[S3\], with the capacity of a drive and the size of a file in
/// MiB.
#[derive(Clone, Copy, Debug)]
struct Size {
    scale: u64,
    drive: u64,
    file: u64,
    /// Settings of the drives: at a large scale TRIMs that are as much quicker.
    settings: Option<&'static str>,
}

const SMALL: Size = Size { scale: 512, drive: 704, file: 960, settings: Some(",trim.range=30us") };
const FULL: Size = Size { scale: 32, drive: 11_264, file: 15_360, settings: None };

const MANNERS: [&str; 4] = ["zfs-autotrim", "zfs-trim", "freebsd-2013", "freebsd-2017"];
/// Discards a second, on a drive that could do twice as many one after the other.
const RATES: [u64; 2] = [500, 5_000];
const QUICK_TRIM: &str = "trim.range=100us";
/// `zpool trim -r`, in MiB a second, on one drive of 8 GiB; 0: without.
const TRIM_RATES: [u64; 3] = [0, 64, 256];
const TRIM_RATE_DRIVE: u64 = 8 << 10;
/// So large that the files are written before they are deleted.
const TRIM_RATE_FILE: u64 = 512;
/// The first of the skipping that \[S3\] proposes.
const SKIPPING: &str = "skip-by-queue";
/// How far a figure may be off the calculation.
const SHARE: f64 = 0.1;

fn size(form: Form) -> Size {
    if form == Form::Full { FULL } else { SMALL }
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let size = size(context.form());
    for manner in MANNERS {
        run(context, manner, size, (manner, ""))?;
    }
    for rate in RATES {
        let settings = format!("freebsd-2017,policy=rate-limited+iops={rate}");
        run(context, &rate.to_string(), size, (&settings, &format!(",{QUICK_TRIM}")))?;
    }
    run(context, SKIPPING, size, (&format!("freebsd-2017,policy={SKIPPING}"), ""))?;
    for rate in TRIM_RATES {
        let pool = format!("stripe,manner=zfs-trim,trim-rate={rate}MiB");
        let target = format!("{pool}:sim:like-p3500,capacity={TRIM_RATE_DRIVE}MiB*1");
        storm(context, &format!("trim-rate-{rate}"), &target, TRIM_RATE_FILE)?;
    }
    Ok(())
}

fn run(context: &Context<'_>, name: &str, size: Size, (pool, drive): (&str, &str)) -> Result<()> {
    let Size { scale, drive: capacity, file, settings } = size;
    let drive = settings.unwrap_or(drive);
    let target = format!(
        "raidz2,manner={pool},scale={scale}:sim:like-p3500,capacity={capacity}MiB{drive}*10"
    );
    storm(context, name, &target, file)
}

fn storm(context: &Context<'_>, name: &str, target: &str, file: u64) -> Result<()> {
    let file = format!("file-size={file}MiB");
    let options = [&file, "rewrite=false", "interval=20ms", "probe-interval=20ms"];
    context.run_well(name, "delete-storm", (target, &options)).map(drop)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let size = size(raw.form());
    let pool = Pool::of_s3(size.scale, size.drive << 20, size.file << 20);
    let mut findings = Vec::new();
    for manner in MANNERS {
        let run = raw.run(manner)?;
        let expected = match manner {
            "zfs-autotrim" => pool.autotrim(),
            "zfs-trim" => pool.zpool_trim(),
            _ => pool.freebsd(),
        };
        findings.extend(discards(&run, manner, expected)?);
        findings.push(accounted(&run, manner)?);
    }
    let run = raw.run("zfs-autotrim")?;
    let time = near(&run, "zfs-autotrim: from the deletion to the last discard", "trim-time")?;
    findings.push(time(pool.autotrim_seconds()));
    for rate in RATES {
        let run = raw.run(&rate.to_string())?;
        let what = format!("freebsd-2017 at {rate} discards a second and drive: time");
        let time = near(&run, &what, "trim-time")?;
        findings.push(time(pool.freebsd_2017_seconds(rate as f64)));
    }
    let run = raw.run(SKIPPING)?;
    findings.push(accounted(&run, SKIPPING)?);
    let skipped = sum(&run, |step| metric(step, "skipped_count"))?;
    let what = format!("{SKIPPING}: extents skipped");
    findings.push(run.finding(&what, (skipped, ""), Bar::AtLeast(1.0)));
    findings.extend(trim_rates(raw)?);
    Ok(findings)
}

/// A figure of a run, with its bar around what is expected.
fn near(run: &Run, what: &str, id: &str) -> Result<impl Fn(f64) -> Finding> {
    let value = run.value(id)?;
    Ok(move |expected| run.finding(what, (value, "s"), Bar::Near { value: expected, share: SHARE }))
}

/// Number and sizes of the discards after the first deletion.
fn discards(run: &Run, manner: &str, expected: Discards) -> Result<[Finding; 3]> {
    let (count, bytes) = (run.metric("trim", "issued_count")?, run.metric("trim", "issued_bytes")?);
    let near = |what: &str, figure, value| {
        let bar = Bar::Near { value, share: SHARE };
        run.finding(&format!("{manner}: {what}"), figure, bar)
    };
    let ended = run.metric("trim", "discard_count")?;
    Ok([
        near("discards", (count, ""), expected.count as f64),
        near("mean size of a discard", (bytes / count, "B"), expected.mean()),
        run.finding(
            &format!("{manner}: discards that ended at the drives"),
            (ended, ""),
            Bar::Equals(count),
        ),
    ])
}

/// What of the freed bytes is in no account of its drive.
fn accounted(run: &Run, name: &str) -> Result<Finding> {
    let mut lost: f64 = 0.0;
    for drive in 0..rules::DRIVES {
        let mut known = 0.0;
        let mut freed = 0.0;
        for step in run.steps("phase") {
            freed += of_drive(step, "freed-bytes", drive)?;
            for counter in ["issued-bytes", "skipped-bytes", "invalidated-bytes"] {
                known += of_drive(step, counter, drive)?;
            }
        }
        let last = run.steps("phase").last().context("no phase")?;
        known += of_drive(last, "waiting-bytes", drive)?;
        lost = lost.max((freed - known).abs());
    }
    let what = format!("{name}: freed bytes in no account, the most of all drives");
    let note = "freed = issued + skipped + written again + waiting";
    Ok(run.finding(&what, (lost, "B"), Bar::Equals(0.0)).with_note(note))
}

fn of_drive(step: &Step, counter: &str, drive: usize) -> Result<f64> {
    let series = step.series.get(&format!("{counter}-by-drive"));
    let value = series.and_then(|series| *series.y.get(drive)?);
    value.with_context(|| format!("`{}` has no {counter} of drive {drive}", step.id))
}

fn metric(step: &Step, key: &str) -> Result<f64> {
    step.metric(key).with_context(|| format!("`{}` has no {key}", step.id))
}

fn sum(run: &Run, of: impl Fn(&Step) -> Result<f64>) -> Result<f64> {
    run.steps("phase").map(of).sum()
}

/// How much longer `zpool trim` takes with a rate than without.
fn trim_rates(raw: &Raw) -> Result<Vec<Finding>> {
    let without = raw.run("trim-rate-0")?.value("trim-time")?;
    let with_a_rate = TRIM_RATES.into_iter().filter(|rate| *rate > 0);
    let found = with_a_rate.map(|rate| {
        let run = raw.run(&format!("trim-rate-{rate}"))?;
        let longer = run.value("trim-time")? - without;
        let value = Pool::of_one(TRIM_RATE_DRIVE << 20).rate_seconds(rate << 20);
        let what = format!("zpool trim -r {rate}M: seconds longer than without a rate");
        Ok(run.finding(&what, (longer, "s"), Bar::Near { value, share: SHARE }))
    });
    found.collect()
}
