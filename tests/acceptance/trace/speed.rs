//! Speed and memory of reading traces, in turns with blkparse and fio.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use trimbench_results::statistics::median;

use super::input::{self, Format, Memory};
use crate::acceptance::{Bar, Capture, Context, Finding, Raw};

/// Runs of each side.
const RUNS: usize = 5;
/// Bytes through the pipe: the full form, the short form, and what both are compared with.
const FULL: u64 = 10_000_000_000;
const SHORT: u64 = 1_000_000_000;
const LITTLE: u64 = 30_000_000;
/// What is timed: its name, and the shell's line, in which `$0` is trimbench.
const SIDES: [(&str, &str); 6] = [
    ("blkparse", "blkparse -q -i made > /dev/null"),
    ("ours-binary", "\"$0\" trace convert made.blktrace.0 - --to blkparse > /dev/null"),
    ("ours-text", "\"$0\" trace convert made.txt - --to iolog > /dev/null"),
    (
        "fio",
        "fio --name=read --ioengine=null --replay_no_stall=1 --read_iolog=made.log \
         --replay_skip=read,write,trim,sync > /dev/null; true",
    ),
    (
        "fio-start",
        "fio --name=read --ioengine=null --replay_no_stall=1 --read_iolog=little.log \
         --replay_skip=read,write,trim,sync > /dev/null; true",
    ),
    ("ours-iolog", "\"$0\" trace convert made.log - --to iolog > /dev/null"),
];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let records = if context.is_short() { 1_000_000 } else { 4_000_000 };
    let folder = tempfile::Builder::new().prefix("trimbench-traces-").tempdir_in("/dev/shm");
    let folder: TempDir = folder.context("make a folder in /dev/shm")?;
    context.alias(folder.path(), "$TRACES");
    make(context, folder.path(), records)?;
    for run in 0..RUNS {
        for (name, line) in SIDES {
            let mut command = Command::new("sh");
            command.args(["-c", line]).arg(context.binary()?).current_dir(folder.path());
            context.capture_well(&format!("{name}-{run}"), &mut command)?;
        }
    }
    let large = if context.is_short() { SHORT } else { FULL };
    for form in [Format::Iolog, Format::Blktrace] {
        for (name, bytes) in [("little", LITTLE), ("large", large)] {
            let program = context.binary()?;
            let memory = || Ok(vec![input::memory(program, form, bytes)?]);
            context.keep(&format!("{name}-{}", form.id()), memory)?;
        }
    }
    Ok(())
}

/// The made trace in each form.
fn make(context: &Context<'_>, folder: &Path, records: u64) -> Result<()> {
    for (name, form, records) in [
        ("made.log", Format::Untrimmed, records),
        ("little.log", Format::Untrimmed, 1),
        ("made.blktrace.0", Format::Blktrace, records),
    ] {
        let file = File::create(folder.join(name)).with_context(|| format!("create {name}"))?;
        input::write(form, file, (records, u64::MAX))?;
    }
    let mut text = context.trimbench(&["trace", "convert", "--to", "blkparse"])?;
    text.arg(folder.join("made.blktrace.0")).arg(folder.join("made.txt"));
    context.capture_well("text", &mut text).map(drop)
}

/// The median time of a side, and one of its captures.
fn seconds(raw: &Raw, name: &str) -> Result<(f64, Capture)> {
    let capture = |run| raw.capture_itself(&format!("{name}-{run}"));
    let captures: Vec<Capture> = (0..RUNS).map(capture).collect::<Result<_>>()?;
    let times: Vec<f64> = captures.iter().map(|capture| capture.elapsed_seconds).collect();
    let median = median(&times).context("a side has times")?;
    ensure!(median > 0.0, "`{name}` took no time");
    Ok((median, captures.into_iter().next_back().context("a side has captures")?))
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let (blkparse, capture) = seconds(raw, "blkparse")?;
    for (name, what, least) in [
        ("ours-binary", "blktrace's binary to text: times as fast as blkparse", 5.0),
        ("ours-text", "blkparse's text read: times as fast as blkparse prints it", 3.0),
    ] {
        let (ours, _) = seconds(raw, name)?;
        let note = format!("medians {ours:.3} and {blkparse:.3} s");
        let figure = (blkparse / ours, "");
        findings.push(Finding::new(what, figure, Bar::AtLeast(least), &capture).with_note(&note));
    }
    let ((fio, capture), (start, _)) = (seconds(raw, "fio")?, seconds(raw, "fio-start")?);
    let (ours, _) = seconds(raw, "ours-iolog")?;
    let what = "an iolog read: times as fast as fio, without its start";
    let note = format!("medians {ours:.3} and {fio:.3} s, of which fio's start {start:.3} s");
    let figure = ((fio - start) / ours, "");
    findings.push(Finding::new(what, figure, Bar::AtLeast(3.0), &capture).with_note(&note));
    for form in [Format::Iolog, Format::Blktrace] {
        findings.extend(memory(raw, form)?);
    }
    Ok(findings)
}

fn memory(raw: &Raw, form: Format) -> Result<[Finding; 3]> {
    let of = |name: &str| -> Result<(Capture, Memory)> {
        let (capture, mut lines) = raw.lines(&format!("{name}-{}", form.id()))?;
        Ok((capture, lines.remove(0)))
    };
    let ((_, little), (capture, large)) = (of("little")?, of("large")?);
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    let kib = large.peak_kib as f64;
    let id = form.id();
    let finding =
        |what: &str, figure, bar| Finding::new(&format!("`{id}` {what}"), figure, bar, &capture);
    let note = format!("{} records in {:.1} s", large.records, large.seconds);
    let least = Bar::AtLeast(gigabytes(large.wanted_bytes));
    Ok([
        finding("through a pipe", (gigabytes(large.bytes), "GB"), least).with_note(&note),
        finding("of it: memory", (kib / 1024.0, "MiB"), Bar::AtMost(64.0)),
        finding(
            "of it: memory over that of 0.03 GB",
            (kib / little.peak_kib as f64, ""),
            Bar::AtMost(1.1),
        ),
    ])
}

#[cfg(test)]
mod tests;
