//! End to end: `PostMark` on a real filesystem that sends discards is recorded at its device, then
//! replayed on an emulated drive and on a device.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::pause;
use crate::LoopFilesystem;
use crate::acceptance::{Bar, Context, Finding, Raw};
use crate::process;

/// How it is mounted. Without `sync` files of seconds would live and die in the page cache.
const OPTIONS: &str = "discard,sync";
/// The filesystem, and the devices of the replays.
const MEBIBYTES: u64 = 640;
/// Transactions of `PostMark`: some hundred files of up to 40 kB at a time.
const FILES: &str = "number=300";
const TRANSACTIONS: &str = "transactions=500";
const SIZE: &str = "size-high=40000B";
/// How long the filesystem has for discards that it sends late.
const SETTLE: Duration = Duration::from_secs(4);
/// The replays and their targets.
const REPLAYS: [(&str, &str); 2] =
    [("replay-sim", "emulated drive"), ("replay-loop", "loop device")];
const EMULATED: &str = "sim:generic-sata-tlc,capacity=640MiB";

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "loop devices and tracing need root");
    let file = record(context)?;
    let mut stat = context.trimbench(&["trace", "stat", "--output-format", "json"])?;
    context.capture_well("stat", stat.arg(&file))?;
    replay(context, (REPLAYS[0].0, EMULATED), None, &file)?;
    let image = context.loop_device(Path::new("/dev/shm"), MEBIBYTES)?;
    replay(context, (REPLAYS[1].0, image.node()), Some(image.image()), &file)
}

/// Records the device of a filesystem while `PostMark` runs on it, and what its counters show
/// before and after. The trace.
fn record(context: &Context<'_>) -> Result<PathBuf> {
    let memory = context.memory_folder()?;
    let filesystem = LoopFilesystem::within(memory.path(), "ext4", MEBIBYTES, OPTIONS);
    let name = filesystem.device_name().to_owned();
    let counters = format!("/sys/block/{name}/stat");
    let look = |when: &str| {
        process::output(Command::new("sync").arg("-f").arg(filesystem.path()))?;
        context.capture_well(when, Command::new("cat").arg(&counters)).map(drop)
    };
    look("before")?;
    let file = context.folder().join("recorded");
    let node = format!("/dev/{name}");
    let mut recorder = context.trimbench(&["trace", "record", &node])?;
    recorder.arg(&file).args(["--to", "trimbench", "--event", "issue"]);
    let mut recorder = Recording::begin(recorder)?;
    let options = [FILES, SIZE, TRANSACTIONS];
    let mut postmark = context.run("postmark", filesystem.path(), &options)?;
    postmark.arg("--output").arg(context.folder().join("postmark"));
    context.capture("postmark", &mut postmark)?;
    process::output(Command::new("sync").arg("-f").arg(filesystem.path()))?;
    pause(SETTLE);
    look("after")?;
    recorder.end()?;
    Ok(file)
}

/// `trace record` under way; ended when dropped.
struct Recording {
    program: Child,
    ended: bool,
}

impl Recording {
    /// Starts it and waits until it says that it records.
    fn begin(mut command: Command) -> Result<Self> {
        let mut program =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().context("record")?;
        let said = program.stderr.take().context("it was asked for")?;
        let recording = Self { program, ended: false };
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).context("hear of the recording")?;
        ensure!(line.starts_with("recording"), "no recording: {line}");
        Ok(recording)
    }

    fn end(&mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.program), Signal::INT).context("end the recording")?;
        self.ended = true;
        let status = self.program.wait().context("wait for the recording")?;
        ensure!(status.success(), "the recording ended with {status}");
        Ok(())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.program.kill();
            let _ = self.program.wait();
        }
    }
}

/// Replays the trace on a target, and on a device only with the image that may be destroyed.
fn replay(
    context: &Context<'_>,
    (name, target): (&str, &str),
    destroy: Option<&Path>,
    file: &Path,
) -> Result<()> {
    let trace = format!("trace={}", file.display());
    let options = [trace.as_str(), "span=all", "passes=kept", "queue-depths=32", "window=1000"];
    let mut run = context.run_into(name, "replay", (target, &options))?;
    if let Some(image) = destroy {
        run.arg("--destroy").arg(image);
    }
    context.capture(name, &mut run).map(drop)
}

/// Commands and bytes of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Amount {
    commands: f64,
    bytes: f64,
}

/// Writes and discards in the counters of a device (`Documentation/admin-guide/iostats.rst`).
fn counted(text: &str) -> Result<[Amount; 2]> {
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let numbers = numbers.context("read the counters of a device")?;
    ensure!(numbers.len() >= 15, "a device has {} counters", numbers.len());
    let of = |first: usize| Amount { commands: numbers[first], bytes: 512.0 * numbers[first + 2] };
    Ok([of(4), of(11)])
}

/// The same in a trace.
fn recorded(statistics: &Value) -> Result<[Amount; 2]> {
    let of = |kind: &str| -> Result<Amount> {
        let kinds = statistics["kinds"].as_array().context("no kinds")?;
        let Some(found) = kinds.iter().find(|it| it["kind"] == kind) else {
            bail!("no `{kind}` in the statistics");
        };
        let number = |key: &str| found[key].as_f64().with_context(|| format!("no {key}"));
        Ok(Amount { commands: number("commands")?, bytes: number("bytes")? })
    };
    Ok([of("write")?, of("trim")?])
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let look = |when: &str| counted(&raw.text(&raw.capture(when)?.output)?);
    let (before, after) = (look("before")?, look("after")?);
    let stat = raw.capture("stat")?;
    stat.expect_status(0)?;
    let text = raw.text(&stat.output)?;
    let recorded = recorded(&serde_json::from_str(&text).context("read the statistics")?)?;
    let mut findings = Vec::new();
    for (index, what) in ["written", "trimmed"].into_iter().enumerate() {
        let by_device = after[index].bytes - before[index].bytes;
        let off = recorded[index].bytes - by_device;
        let text = format!("recorded less counted by the device: bytes {what}");
        let note = format!("{:.0} commands, {by_device:.0} B", recorded[index].commands);
        let finding = Finding::new(&text, (off, "B"), Bar::Equals(0.0), &stat);
        findings.push(finding.with_note(&note));
    }
    let [writes, trims] = recorded;
    let some = Finding::new("TRIMs recorded", (trims.commands, ""), Bar::AtLeast(100.0), &stat);
    findings.push(some);
    for (name, called) in REPLAYS {
        let run = raw.good_run(name)?;
        let pass = |key: &str| run.metric("qd32-kept", key);
        let finding = |what: &str, figure, expected| {
            run.finding(&format!("{called}: {what}"), figure, Bar::Equals(expected))
        };
        findings.push(finding("writes replayed", (pass("write_count")?, ""), writes.commands));
        let trimmed = (pass("discarded_bytes")?, "B");
        findings.push(finding("bytes trimmed", trimmed, trims.bytes));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests;
