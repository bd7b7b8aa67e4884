//! `delete-stall` on filesystems made for it: the modelled ext4 on the drives of \[S1\], and real
//! filesystems on loop devices.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use trimbench_results::{Figure, Interval};

use crate::acceptance::runs::Run;
use crate::acceptance::{Bar, Context, Finding, Form, Raw};

/// A drive, what \[S1\] has of it, and how far off the figure may be, all in s/GB.
const DRIVES: [(&str, f64, f64); 2] =
    [("like-optane-900p", 0.0, 0.000_5), ("like-rc100", 0.25, 0.01)];
/// What stands before a drive, and how it is called.
const LAYERS: [(&str, &str); 2] = [("sim:", "by itself"), ("ext4:sim:", "under the modelled ext4")];
/// Real filesystems, the first of them in the short form too.
const FILESYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// Of the image that they are made on, in memory and without holes filled: 2 GiB.
const IMAGE_BYTES: u64 = 2 << 30;
/// Few and small deletions, as nothing is learnt from more; of three sizes, as a slope has no
/// interval of fewer.
const OPTIONS: [&str; 7] = [
    "sizes=32MiB,64MiB,128MiB",
    "repetitions=2",
    "patience=1s",
    "span=64MiB",
    "window=500ms",
    "lead=200ms",
    "rest=200ms",
];
/// In s/GB and in s; what is less prints as 0.000.
const NOTICEABLE: f64 = 0.000_5;
/// Deletions and placebos of these.
const TRIALS: f64 = 12.0;

/// The search on a modelled filesystem: on what, how, and how many chunks may come in its 10.5 s.
const SEARCHED: &str = "ext4,era=2.6.33:sim:vendor2";
const SEARCH: [&str; 7] = [
    "p999-limit=80ms",
    // Of random arrivals more or fewer meet a TRIM.
    "arrivals=constant",
    "rate-chunks=32MiB",
    "sizes=64MiB",
    "patience=0s",
    "read-share=100%",
    // With the blocks of a larger file comes a scattered write of metadata before each TRIM.
    "span=64MiB",
];
const CHUNKS: [f64; 2] = [2.9, 5.1];
/// A chunk of it, MB, and the least time of a try, s.
const CHUNK_MB: f64 = 33.554_432;
const TRY_SECONDS: f64 = 10.5;
/// The search on a real one: beside [`OPTIONS`], and its limit, ms.
const REAL_SEARCH: [&str; 4] =
    ["p999-limit=20ms", "rate-chunks=16MiB", "rate-max=100MB", "rate=4000"];
const REAL_LIMIT: f64 = 20.0;
/// Runs of the search, modelled and real.
const SEARCH_RUN: &str = "search";
const REAL_SEARCH_RUN: &str = "search-ext4";

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for (drive, ..) in DRIVES {
        for (layer, _) in LAYERS {
            let target = format!("{layer}{drive}");
            let name = file_name(&target);
            context.run_well(&name, "delete-stall", (&target, &[]))?;
        }
    }
    context.run_well(SEARCH_RUN, "delete-stall", (SEARCHED, &SEARCH))?;
    if context.form() == Form::Acceptance {
        return Ok(());
    }
    let folder = context.memory_folder()?;
    let count = if context.is_short() { 1 } else { FILESYSTEMS.len() };
    for filesystem in &FILESYSTEMS[..count] {
        on_image(context, folder.path(), (filesystem, filesystem), &[])?;
    }
    if !context.is_short() {
        on_image(context, folder.path(), (REAL_SEARCH_RUN, "ext4"), &REAL_SEARCH)?;
    }
    Ok(())
}

/// Runs on a filesystem upon an image that is made for it in `folder`.
fn on_image(
    context: &Context<'_>,
    folder: &Path,
    (name, filesystem): (&str, &str),
    more: &[&str],
) -> Result<()> {
    let image = folder.join(name);
    // Closed before the run: what somebody writes to is not claimed.
    std::fs::File::create(&image)
        .and_then(|file| file.set_len(IMAGE_BYTES))
        .context("make an image")?;
    let target = format!("{filesystem}:{}", image.display());
    let options: Vec<&str> = OPTIONS.iter().chain(more).copied().collect();
    let mut command = context.run_into(name, "delete-stall", (&target, &options))?;
    command.arg("--destroy").arg(&image);
    context.capture(name, &mut command)?;
    // Its pages are memory.
    std::fs::remove_file(&image).context("remove the image")
}

/// A target's name without what a file name may not have.
fn file_name(target: &str) -> String {
    target.replace(':', "-")
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (drive, published, off) in DRIVES {
        for (layer, called) in LAYERS {
            let run = raw.good_run(&file_name(&format!("{layer}{drive}")))?;
            let what = format!("stutter of {drive} {called}");
            let bar = Bar::Within(published - off, published + off);
            let finding = run.finding(&what, (run.value("stutter")?, "s/GB"), bar);
            findings.push(finding.with_note(&format!("published: {published} s/GB")));
        }
    }
    let captures = raw.captures()?;
    let real = FILESYSTEMS.into_iter().filter(|one| captures.iter().any(|it| it.name == **one));
    for filesystem in real {
        findings.extend(on_loop_device(raw, filesystem)?);
    }
    findings.push(searched(raw)?);
    if captures.iter().any(|it| it.name == REAL_SEARCH_RUN) {
        findings.push(searched_on_ext4(raw)?);
    }
    Ok(findings)
}

/// The chunks of a try at the highest rate that the modelled ext4 keeps.
fn searched(raw: &Raw) -> Result<Finding> {
    let run = raw.run(SEARCH_RUN)?;
    let rate = run.value("highest-deletion-rate")?;
    let chunks = rate * TRY_SECONDS / CHUNK_MB;
    let what = format!("chunks of 32 MiB in {TRY_SECONDS} s at the highest rate on {SEARCHED}");
    let finding = run.finding(&what, (chunks, ""), Bar::Within(CHUNKS[0], CHUNKS[1]));
    Ok(finding.with_note(&format!("{rate:.1} MB/s")))
}

/// The p99.9 at the highest rate that real ext4 keeps.
fn searched_on_ext4(raw: &Raw) -> Result<Finding> {
    let run = raw.run(REAL_SEARCH_RUN)?;
    let rate = run.value("highest-deletion-rate")?;
    ensure!(rate > 0.0, "no rate keeps {REAL_LIMIT} ms on real ext4");
    let response = (run.value("highest-deletion-rate-response")?, "ms");
    let what = "p99.9 at the highest rate of deletion on real ext4 upon a loop device";
    let finding = run.finding(what, response, Bar::AtMost(REAL_LIMIT));
    Ok(finding.with_note(&format!("{rate:.1} MB/s")))
}

/// What a real filesystem's run measured, and what it says of noise.
fn on_loop_device(raw: &Raw, filesystem: &str) -> Result<[Finding; 2]> {
    let run = raw.run(filesystem)?;
    let status = run.capture.status;
    ensure!(matches!(status, Some(0 | 4)), "{filesystem} ended with {status:?}");
    let ran = if run.session.finished { run.session.steps.len() } else { 0 };
    let stutter = run.figure("stutter")?;
    let interval = stutter.interval.context("no interval")?;
    let says = stutter.words().unwrap_or_default();
    let is_told = u8::from(says.starts_with(verdict(&run)?));
    let note =
        format!("{:.2} s/GB ({:.2} to {:.2}): {says}", stutter.value, interval.low, interval.high);
    let finding = |what: &str, figure: f64, bar| {
        run.finding(&format!("real {filesystem} on a loop device: {what}"), (figure, ""), bar)
    };
    Ok([
        finding("deletions and placebos measured", ran as f64, Bar::Equals(TRIALS)),
        finding("the verdict is what the intervals say", is_told.into(), Bar::Equals(1.0))
            .with_note(&note),
    ])
}

/// What the intervals say: a difference by size, or one whatever the size, or none; or that
/// deletions were quicker than placebos.
/// Where other load spoiled placebos, that of the latter may have no interval, and says nothing.
fn verdict(run: &Run) -> Result<&'static str> {
    let shows = |figure: &Figure| {
        let excludes = |interval: Interval| !interval.contains(0.0);
        figure.interval.is_some_and(excludes) && figure.value.abs() > NOTICEABLE
    };
    let (slope, each) = (run.figure("stutter")?, run.figure("stutter-per-deletion")?);
    let interval = slope.interval.context("no interval of the slope")?;
    let small = interval.low > -NOTICEABLE && interval.high < NOTICEABLE;
    let is_faster = |figure: &Figure| shows(figure) && figure.value < 0.0;
    Ok(if is_faster(slope) || is_faster(each) {
        "invalid"
    } else if shows(slope) {
        "differs"
    } else if shows(each) {
        "stalls"
    } else if small {
        "nothing"
    } else {
        "no slowdown found"
    })
}

#[cfg(test)]
mod tests;
