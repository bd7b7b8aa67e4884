//! Speed of reading traces in turns with blkparse and fio, and the memory that it takes.

mod made;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use tests::Need;
use trimbench_results::statistics::median;
use xtask::process;

use super::turns::{in_turns, ratio};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

use made::Format;

pub(super) const ENTRY: Entry = Entry {
    name: "readers",
    title: "Traces are read faster than blkparse and fio read them, in constant memory",
    needs: &[Need::Program("blkparse"), Need::Program("fio")],
    sources: &[
        "crates/trimbench-trace",
        "crates/trimbench-app/src/traces.rs",
        "crates/trimbench/src/trace",
    ],
    run,
};

/// Runs of each side.
const RUNS: usize = 5;
/// Bytes through the pipe that memory is compared with.
const LITTLE: u64 = 30_000_000;

/// What is timed: lines of a shell, in which `$0` is trimbench. fio's start is that of a log of one
/// line.
const SIDES: [&str; 6] = [
    "blkparse -q -i made > /dev/null",
    "\"$0\" trace convert made.blktrace.0 - --to blkparse > /dev/null",
    "\"$0\" trace convert made.txt - --to iolog > /dev/null",
    "fio --name=read --ioengine=null --replay_no_stall=1 --read_iolog=made.log \
     --replay_skip=read,write,trim,sync > /dev/null; true",
    "fio --name=read --ioengine=null --replay_no_stall=1 --read_iolog=little.log \
     --replay_skip=read,write,trim,sync > /dev/null; true",
    "\"$0\" trace convert made.log - --to iolog > /dev/null",
];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = speeds(lab)?;
    for format in [Format::Iolog, Format::Blktrace] {
        figures.extend(memory(lab, format)?);
    }
    Ok(figures)
}

fn speeds(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let folder = lab.memory_folder()?;
    let records = lab.form(1_000_000, 4_000_000);
    for (name, format, records) in [
        ("made.log", Format::Untrimmed, records),
        ("little.log", Format::Untrimmed, 1),
        ("made.blktrace.0", Format::Blktrace, records),
    ] {
        let file = fs::File::create(folder.path().join(name)).context("make a trace")?;
        made::write(format, file, (records, u64::MAX))?;
    }
    let arguments = ["trace", "convert", "made.blktrace.0", "made.txt", "--to", "blkparse"];
    lab.call_well(lab.trimbench(&arguments)?.current_dir(folder.path()))?;
    let seconds = in_turns(SIDES.len(), RUNS, |side| {
        let mut shell = Command::new("sh");
        shell.args(["-c", SIDES[side]]).arg(lab.program()?.path()).current_dir(folder.path());
        Ok(lab.call_well(&mut shell)?.seconds)
    })?;
    let [blkparse, binary, text, fio, start, iolog] =
        <[Vec<f64>; 6]>::try_from(seconds).ok().context("every side was measured")?;
    let start = median(&start).context("fio was started")?;
    let reading: Vec<f64> = fio.iter().map(|seconds| seconds - start).collect();
    let faster = |what: &str, peer: &[f64], ours: &[f64], least: f64| {
        ratio(format!("times as fast: {what}"), (peer, ours), "s", Bar::AtLeast(least))
    };
    Ok(vec![
        faster("blktrace's binary to text, over blkparse", &blkparse, &binary, 5.0)?,
        faster("blkparse's text read, over blkparse that prints it", &blkparse, &text, 3.0)?,
        faster("an iolog read, over fio without its start", &reading, &iolog, 3.0)?,
    ])
}

/// Much and little through a pipe, and the memory of both.
fn memory(lab: &Lab<'_>, format: Format) -> Result<[Figure; 3]> {
    let wanted = lab.form(1_000_000_000, 10_000_000_000);
    let (_, little) = feed(lab.program()?.path(), format, LITTLE)?;
    let (bytes, large) = feed(lab.program()?.path(), format, wanted)?;
    let (kib, id) = (large as f64, format.id());
    let figure = |what: &str, value, bar| Figure::new(format!("`{id}` {what}"), value, bar);
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    let least = Bar::AtLeast(gigabytes(wanted));
    let growth = (kib / little as f64, "");
    Ok([
        figure("through a pipe", (gigabytes(bytes), "GB"), least),
        figure("through a pipe: memory", (kib / 1024.0, "MiB"), Bar::AtMost(64.0)),
        figure("through a pipe: memory over that of 0.03 GB", growth, Bar::AtMost(1.1)),
    ])
}

/// Feeds at least so many bytes of the made trace through a pipe to `trimbench trace convert`: how
/// many, and its peak of memory, KiB.
fn feed(program: &Path, format: Format, wanted: u64) -> Result<(u64, u64)> {
    let start = Instant::now();
    let mut command = Command::new(program);
    command.args(["trace", "convert", "-", "-", "--to", "iolog", "--format", format.id()]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("start {}", program.display()))?;
    let status = format!("/proc/{}/status", child.id());
    let mut pipe = child.stdin.take().context("it has a standard input")?;
    let (records, bytes) = made::write(format, &mut pipe, (u64::MAX, wanted))?;
    // It still waits for more, and has taken what it takes: no reading needs more at its end.
    let status = fs::read_to_string(status).context("read what memory a process takes")?;
    let peak_kib = process::peak_kib(&status)?;
    drop(pipe);
    let output = child.wait_with_output().context("wait for its end")?;
    let account = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "it failed: {account}");
    let told = account.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
    ensure!(told == Some(records), "{records} commands were fed, and it says: {account}");
    eprintln!("  {records} commands, {bytes} bytes in {:.1} s", start.elapsed().as_secs_f64());
    Ok((bytes, peak_kib))
}
