//! The methods on the disk that the repository is on: in a directory, and on an image file.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use trimbench_core::Bytes;
use trimbench_core::units::rounded;
use trimbench_results::Interval;
use trimbench_results::statistics::median;

use crate::acceptance::{Bar, Context, Finding, Raw};

#[cfg(test)]
mod tests;

/// A run: its name, which is its method, its options, and those of a shorter one, by whose time
/// that of the run is foretold.
type OwnRun = (&'static str, &'static [&'static str], &'static [&'static str]);

const IN_DIRECTORY: [OwnRun; 3] = [
    ("delete-stall", &["sizes=64MiB,128MiB,256MiB"], &["sizes=64MiB", "repetitions=1"]),
    ("postmark", &[], &["repetitions=1"]),
    ("delete-storm", &["file-size=128MiB"], &["file-size=64MiB"]),
];
const ON_IMAGE: [OwnRun; 3] = [
    ("trim-sweep", &[], &["commands=50"]),
    ("idle-trim", &[], &["repetitions=1"]),
    ("recovery", &[], &["span=512MiB"]),
];
/// What of these the short form runs.
const SHORT: [&str; 2] = ["postmark", "idle-trim"];
/// The image's size.
const IMAGE: Bytes = Bytes::gib(2);
/// Passes by which the disk's rate is found.
const RATE_PASSES: u32 = 5;
/// How far a forecast may be off.
const OFF_MOST: f64 = 0.2;
/// The page that says why two figures for one cost differ, and the heading of that part.
const PAGE: &str = "docs/methods/README.md";
const WHY: &str = "## Two figures for one cost";
/// Runs a program, and prints what it and its children wrote after its own errors. The counters of
/// the shell include those of programs that it waited for.
const COUNTED: &str = "\"$@\"; code=$?; while read -r line; do echo \"$line\" >&2; done \
                       < /proc/$$/io; exit $code";

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let disk = tempfile::tempdir_in(context.repository().target()).context("a directory")?;
    let image = disk.path().join("image");
    let made = File::create(&image).and_then(|file| file.set_len(IMAGE.0));
    made.with_context(|| format!("make {}", image.display()))?;
    // The record is not kept on the disk that is measured.
    let records = context.memory_folder()?;
    context.alias(disk.path(), "DIRECTORY");
    context.alias(records.path(), "RECORDS");
    let rate = written_rate(context, &image)?;
    let rate = rate.as_str();
    let wanted = |name: &str| !context.is_short() || SHORT.contains(&name);
    for run in IN_DIRECTORY.into_iter().filter(|run| wanted(run.0)) {
        foretold(context, run, disk.path(), (records.path(), rate, &[]))?;
    }
    let destroy = ["--destroy", image.to_str().context("a path of UTF-8")?];
    for run in ON_IMAGE.into_iter().filter(|run| wanted(run.0)) {
        foretold(context, run, &image, (records.path(), rate, &destroy))?;
    }
    let page = fs::read_to_string(context.repository().root().join(PAGE)).context("read a page")?;
    fs::write(context.folder().join("page.md"), page).context("keep the page")
}

/// What the disk writes a second, as a user would find out: the median of so many times that the
/// image is written once.
fn written_rate(context: &Context<'_>, image: &Path) -> Result<String> {
    let mut seconds = Vec::new();
    for pass in 1..=RATE_PASSES {
        let mut dd = Command::new("dd");
        dd.args(["if=/dev/zero", "bs=1M", "oflag=direct", "conv=notrunc,fsync"]);
        dd.arg(format!("of={}", image.display())).arg(format!("count={}", IMAGE.0 >> 20));
        seconds.push(context.capture_well(&format!("rate-{pass}"), &mut dd)?.elapsed_seconds);
    }
    let median = median(&seconds).context("no pass")?;
    Ok(Bytes(rounded(IMAGE.0 as f64 / median)).to_string())
}

/// The shorter run, the dry run, then the run itself.
fn foretold(
    context: &Context<'_>,
    (name, options, shorter): OwnRun,
    target: &Path,
    (records, rate, more): (&Path, &str, &[&str]),
) -> Result<()> {
    let earlier = records.join(format!("{name}-shorter"));
    let mut short = context.run(name, target, shorter)?;
    short.args(more).arg("--output").arg(&earlier);
    context.capture(&format!("{name}-shorter"), &mut short)?;
    let mut dry = context.run(name, target, options)?;
    dry.args(more).args(["--dry-run", "--assumed-rate", rate, "--timed-by"]).arg(&earlier);
    context.capture(&format!("{name}-forecast"), &mut dry)?;
    let mut run = context.run(name, target, options)?;
    run.args(more).arg("--output").arg(records.join(name));
    let mut counted = Command::new("sh");
    counted.args(["-c", COUNTED, "sh"]).arg(run.get_program()).args(run.get_args());
    context.capture(name, &mut counted)?;
    let kept = context.folder().join(name);
    fs::create_dir_all(&kept).context("keep a record")?;
    let record = records.join(name).join("run.json");
    // A run that was refused has none.
    if record.exists() {
        fs::copy(record, kept.join("run.json")).context("keep a record")?;
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let runs = IN_DIRECTORY.into_iter().chain(ON_IMAGE);
    for (name, ..) in runs.filter(|run| !raw.is_short() || SHORT.contains(&run.0)) {
        findings.extend(valid_and_foretold(raw, name)?);
    }
    if !raw.is_short() {
        findings.push(agreement(raw)?);
    }
    Ok(findings)
}

/// Whether a run was valid or refused with a reason, and how far its forecast was off.
fn valid_and_foretold(raw: &Raw, name: &str) -> Result<Vec<Finding>> {
    let run = raw.capture(name)?;
    let errors = raw.text(&run.errors)?;
    let reason = errors.lines().find(|line| line.starts_with("error: "));
    let fine = run.status == Some(0) || (run.status == Some(3) && reason.is_some());
    let said = reason.map_or_else(|| "valid".to_owned(), str::to_owned);
    let what = format!("{name}: valid, or refused with the reason (1: yes)");
    let ok = Finding::new(&what, (f64::from(u8::from(fine)), ""), Bar::Equals(1.0), &run);
    let mut findings = vec![ok.with_note(&said)];
    if run.status != Some(0) {
        return Ok(findings);
    }
    let forecast = raw.text(&raw.capture(&format!("{name}-forecast"))?.output)?;
    let written = counter(&errors, "write_bytes: ").context("the shell printed no counters")?;
    let bytes = fact(&forecast, "writes").and_then(quantity).context("no forecast of bytes")?;
    let time = fact(&forecast, "time").and_then(quantity).context("no forecast of time")?;
    let itself = raw.capture_itself(name)?;
    for (of, foretold, found) in [("bytes", bytes, written), ("time", time, run.elapsed_seconds)] {
        let off = found / foretold - 1.0;
        let what = format!("{name}: {of} over the dry run's forecast, less 1");
        let finding = Finding::new(&what, (off, ""), Bar::Within(-OFF_MOST, OFF_MOST), &itself);
        findings.push(finding.with_note(&format!("{foretold} foretold, {found} found")));
    }
    Ok(findings)
}

/// A line `  LABEL  VALUE` of a dry run.
fn fact<'a>(forecast: &'a str, label: &str) -> Option<&'a str> {
    forecast.lines().find_map(|line| line.trim_start().strip_prefix(label)?.strip_prefix(' '))
}

/// The first number of a text, times its unit: bytes or seconds.
fn quantity(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let number: f64 = words.by_ref().find_map(|word| word.parse().ok())?;
    let unit = match words.next()?.trim_end_matches(',') {
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "s" => 1.0,
        "min" => 60.0,
        _ => return None,
    };
    Some(number * unit)
}

/// A counter of `/proc/PID/io`.
fn counter(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.parse().ok())
}

/// Whether the seconds a GB of two methods agree within their intervals, or the page says why not.
fn agreement(raw: &Raw) -> Result<Finding> {
    let (stall, idle) = (raw.run("delete-stall")?, raw.run("idle-trim")?);
    let (stutter, cost) = (stall.figure("stutter")?, idle.figure("idle-trim")?);
    let range = |figure: &trimbench_results::Figure| {
        let of = |it: &Interval| (it.low, it.high);
        figure.interval.as_ref().map_or((figure.value, figure.value), of)
    };
    let (one, other) = (range(stutter), range(cost));
    let agree = one.0 <= other.1 && other.0 <= one.1;
    let explained = raw.text("page.md")?.contains(WHY);
    let note = format!(
        "delete-stall {:.4} ({:.4} to {:.4}) s/GB, idle-trim {:.4} ({:.4} to {:.4}) s/GB: {}",
        stutter.value,
        one.0,
        one.1,
        cost.value,
        other.0,
        other.1,
        if agree { "they agree" } else { "they differ, and the page says why" }
    );
    let what = "delete-stall and idle-trim agree, or the page says why not (1: yes)";
    let figure = (f64::from(u8::from(agree || explained)), "");
    Ok(stall.finding(what, figure, Bar::Equals(1.0)).with_note(&note))
}
