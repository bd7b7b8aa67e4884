//! Readers agree with blkparse on a recording and with fio on its logs; round trips through each
//! format that is written; readers survive damaged input.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::input::{self, Format};
use super::recorder::Recorder;
use crate::acceptance::{Bar, Context, Finding, Form, Raw};
use crate::process;

/// Kinds of commands, as `trace stat` calls them.
const KINDS: [&str; 4] = ["read", "write", "trim", "flush"];
/// Round trips: the trace, and the format on the way.
const TRIPS: [(&str, &str); 5] = [
    ("made", "trimbench"),
    ("made", "iolog"),
    ("made", "blkparse"),
    ("recorded", "trimbench"),
    ("recorded", "blkparse"),
];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    record(context)?;
    of_fio(context)?;
    let records = if context.is_short() { 50_000 } else { 2_000_000 };
    let file = context.folder().join("made");
    let file = File::create(&file).with_context(|| format!("create {}", file.display()))?;
    input::write(Format::Iolog, file, (records, u64::MAX))?;
    stat(context, "made", "made")?;
    for (from, through) in TRIPS {
        round_trip(context, from, through)?;
    }
    if context.form() == Form::Acceptance {
        // Fuzzing is a step of CI by itself.
        return Ok(());
    }
    let executions = if context.is_short() { "200000" } else { "10000000" };
    let arguments = ["xtask", "fuzz", "1", "--json", "--executions", executions];
    let mut fuzz = context.repository().command("cargo", &arguments);
    context.capture_well("fuzz", &mut fuzz).map(drop)
}

/// A recording of a filesystem being made and of reads, writes and TRIMs, and what blkparse and we
/// say of it.
fn record(context: &Context<'_>) -> Result<()> {
    let device = context.loop_device(Path::new("/dev/shm"), 256)?;
    let file = context.folder().join("recorded");
    let recorder = Recorder::of(device.node(), &file)?;
    let node = device.node();
    let script = format!(
        "mkfs.ext4 -q {node} && \
         dd if=/dev/urandom of={node} bs=64k count=200 oflag=direct seek=100 && \
         dd if={node} of=/dev/null bs=4k count=500 iflag=direct && \
         for start in 1 5 9; do \
         blkdiscard --force --offset $((start << 20)) --length 1048576 {node}; done && \
         dd if=/dev/urandom of={node} bs=4k count=300 oflag=direct,sync seek=1000"
    );
    process::output(Command::new("sh").args(["-c", &script]))?;
    recorder.end();
    // It decodes events of all processors in one file only if they come from a pipe.
    let mut blkparse = Command::new("sh");
    blkparse.args(["-c", "blkparse -i - < \"$0\""]).arg(&file);
    context.capture_well("blkparse", &mut blkparse)?;
    stat(context, "recorded", "recorded")
}

/// Two logs that fio writes, with its own account of each, and one of them replayed.
fn of_fio(context: &Context<'_>) -> Result<()> {
    let fio = |name: &str, arguments: &[&str]| -> Result<()> {
        let mut command = Command::new("fio");
        command.args(["--ioengine=null", "--output-format=json", &format!("--name={name}")]);
        command.args(arguments).current_dir(context.folder());
        context.capture_well(name, &mut command).map(drop)
    };
    let made = ["--size=1g", "--bs=4k", "--number_ios=20000"];
    let mixed = ["--rw=randrw", "--fsync=10", "--write_iolog=fio-mixed.log"];
    fio("fio-mixed", &[&made[..], &mixed].concat())?;
    let trims = ["--rw=randtrimwrite", "--write_iolog=fio-trims.log"];
    fio("fio-trims", &[&made[..], &trims].concat())?;
    fio("fio-replay", &["--read_iolog=fio-mixed.log", "--replay_no_stall=1"])?;
    stat(context, "fio-mixed.log", "ours-mixed")?;
    stat(context, "fio-trims.log", "ours-trims")
}

/// Our account of a trace in the folder, as `NAME-stat`.
fn stat(context: &Context<'_>, file: &str, name: &str) -> Result<()> {
    let mut command = context.trimbench(&["trace", "stat", "--output-format", "json"])?;
    command.arg(context.folder().join(file));
    context.capture_well(&format!("{name}-stat"), &mut command).map(drop)
}

/// A trace straight into our format, and by another: the two files compared.
fn round_trip(context: &Context<'_>, from: &str, through: &str) -> Result<()> {
    let folder = context.folder();
    let convert = |from: &str, to: &str, format: &str| -> Result<()> {
        let mut command =
            context.trimbench(&["trace", "convert", "--overwrite", "--to", format])?;
        command.arg(folder.join(from)).arg(folder.join(to));
        context.capture_well(&format!("{to}-convert"), &mut command).map(drop)
    };
    let name = format!("{from}-{through}");
    convert(from, &format!("{from}-once"), "trimbench")?;
    convert(from, &name, through)?;
    convert(&name, &format!("{name}-twice"), "trimbench")?;
    let mut compare = Command::new("cmp");
    compare.arg(folder.join(format!("{from}-once"))).arg(folder.join(format!("{name}-twice")));
    context.capture(&format!("{name}-compare"), &mut compare).map(drop)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = beside_blkparse(raw)?;
    findings.extend(beside_fio(raw)?);
    for (from, through) in TRIPS {
        let capture = raw.capture_itself(&format!("{from}-{through}-compare"))?;
        let differs = f64::from(capture.status.context("cmp was ended by a signal")?);
        let what = format!("{from} trace through `{through}`: exit code of cmp");
        findings.push(Finding::new(&what, (differs, ""), Bar::Equals(0.0), &capture));
    }
    let capture = raw.capture("made-stat")?;
    let made = raw.json(&capture.output)?;
    let bins = made.pointer("/kinds/2/sizes_bytes").and_then(Value::as_array);
    let long = bins.into_iter().flatten().filter(|bin| bin["from"].as_u64() >= Some(4 << 30));
    let long: f64 = long.filter_map(|bin| bin["count"].as_f64()).sum();
    let what = "TRIMs of more than 4 GiB in the made trace";
    findings.push(Finding::new(what, (long, ""), Bar::AtLeast(1.0), &capture));
    if raw.form() != Form::Acceptance {
        findings.extend(survival(raw)?);
    }
    Ok(findings)
}

/// Commands and bytes of each kind.
type Counts = BTreeMap<String, (u64, u64)>;

/// What `trace stat` counted.
fn ours(raw: &Raw, name: &str) -> Result<Counts> {
    let document = raw.json(&raw.capture(&format!("{name}-stat"))?.output)?;
    let kinds = document["kinds"].as_array().context("it lists kinds")?;
    let count = |kind: &Value| {
        let number = |key: &str| kind[key].as_u64().with_context(|| format!("no {key}"));
        let name = kind["kind"].as_str().context("a kind has a name")?;
        Ok((name.to_owned(), (number("commands")?, number("bytes")?)))
    };
    kinds.iter().map(count).collect()
}

/// What blkparse printed of events `Q`. An event of no sectors has none printed.
fn blkparse(text: &str) -> Result<Counts> {
    let mut counts = Counts::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields.get(5) != Some(&"Q") {
            continue;
        }
        let operation = *fields.get(6).context("an event has an operation")?;
        let sectors: u64 = match fields.get(8..10) {
            Some(["+", sectors]) => sectors.parse().context("a number of sectors")?,
            _ => 0,
        };
        let kind = match operation {
            _ if operation.contains('D') => "trim",
            _ if operation.contains('F') && sectors == 0 => "flush",
            _ if operation.contains('W') => "write",
            _ => "read",
        };
        let (commands, bytes) = counts.entry(kind.to_owned()).or_default();
        *commands += 1;
        *bytes += 512 * sectors;
    }
    ensure!(!counts.is_empty(), "blkparse printed no event `Q`");
    Ok(counts)
}

fn beside_blkparse(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture("blkparse")?;
    let (ours, theirs) = (ours(raw, "recorded")?, blkparse(&raw.text(&capture.output)?)?);
    let mut findings = Vec::new();
    for kind in KINDS {
        let (ours, theirs) = (at(&ours, kind), at(&theirs, kind));
        let what = format!("recorded: {kind}s, commands off from blkparse's");
        let note = format!("{} commands, {} bytes", ours.0, ours.1);
        let off = off(ours.0, theirs.0);
        findings.push(Finding::new(&what, off, Bar::Equals(0.0), &capture).with_note(&note));
        let what = format!("recorded: {kind}s, bytes off from blkparse's");
        findings.push(Finding::new(&what, self::off(ours.1, theirs.1), Bar::Equals(0.0), &capture));
    }
    Ok(findings)
}

fn at(counts: &Counts, kind: &str) -> (u64, u64) {
    counts.get(kind).copied().unwrap_or_default()
}

fn off(ours: u64, theirs: u64) -> (f64, &'static str) {
    (ours.abs_diff(theirs) as f64, "")
}

/// fio calls a flush a sync, and 3.33 replays no TRIMs.
fn beside_fio(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (fio, name, kinds) in [
        ("fio-mixed", "ours-mixed", &["read", "write", "flush"][..]),
        ("fio-trims", "ours-trims", &["write", "trim"]),
        ("fio-replay", "ours-mixed", &["read", "write", "flush"]),
    ] {
        let capture = raw.capture(fio)?;
        let document = fio_json(&raw.text(&capture.output)?)?;
        let ours = ours(raw, name)?;
        for kind in kinds {
            let theirs = if *kind == "flush" { "sync" } else { kind };
            let theirs = document.pointer(&format!("/jobs/0/{theirs}/total_ios"));
            let theirs = theirs.and_then(Value::as_u64).context("fio counts commands")?;
            ensure!(theirs > 0, "fio did no {kind} in {fio}");
            let what = format!("{fio}: {kind}s off from fio's");
            let note = format!("{theirs} of fio's");
            let off = off(at(&ours, kind).0, theirs);
            findings.push(Finding::new(&what, off, Bar::Equals(0.0), &capture).with_note(&note));
        }
    }
    Ok(findings)
}

/// What fio prints of its doings may stand before its JSON.
fn fio_json(text: &str) -> Result<Value> {
    let start = text.find('{').context("fio printed no JSON")?;
    serde_json::from_str(&text[start..]).context("read fio's JSON")
}

fn survival(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture("fuzz")?;
    let number = |pointer: &str| raw.number(&capture.output, pointer);
    // Only the full form says so in its command line.
    let least = if capture.command.contains("10000000") { 1e7 } else { 2e5 };
    let (executions, refused) = (number("/executions")?, number("/refused")?);
    let note = format!(
        "{} records out of {} files read to their end, {refused} refused; slowest {:.2} s",
        number("/records")?,
        number("/whole")?,
        number("/slowest_seconds")?
    );
    let finding = |what: &str, figure, bar| Finding::new(what, figure, bar, &capture);
    Ok(vec![
        finding("damaged files and garbage read", (executions, ""), Bar::AtLeast(least))
            .with_note(&note),
        finding("panics, hangs and broken laws", (number("/violations")?, ""), Bar::Equals(0.0)),
        finding("memory", (number("/memory_kib")? / 1024.0, "MiB"), Bar::AtMost(1024.0)),
    ])
}

#[cfg(test)]
mod tests;
