//! Interrupted and failed runs: what the record holds, and how the run is resumed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use trimbench_core::exit;
use trimbench_results::{Outcome, RunRecord};

use crate::acceptance::runs::{UNLOOKED, ended_well, steps_kept};
use crate::acceptance::{Bar, Context, Finding, Raw};
use crate::process::{Signal, output};
use crate::{Mounted, kept_record};

/// A method with options that give something to interrupt, and the virtual time at which a planted
/// fault finds some steps done and others not.
struct Method {
    id: &'static str,
    options: &'static [&'static str],
    fault_at: &'static str,
    /// Small enough for a loop device, with the same aim.
    on_loop: &'static [&'static str],
}

const METHODS: [Method; 6] = [
    Method {
        id: "delete-stall",
        options: &["sizes=64MiB,128MiB", "span=256MiB", "repetitions=20"],
        fault_at: "60s",
        on_loop: &["sizes=16MiB,32MiB", "span=32MiB", "window=300ms", "rest=0s", "lead=100ms"],
    },
    Method {
        id: "trim-sweep",
        options: &["commands=2000"],
        fault_at: "5s",
        on_loop: &[
            "sizes=4KiB,64KiB,1MiB",
            "reference=1MiB",
            "commands=40",
            "row-bytes-max=40MiB",
            "rest=50ms",
            "load-time=200ms",
            "load-span=32MiB",
        ],
    },
    Method {
        id: "idle-trim",
        options: &["repetitions=10", "chunk-repetitions=10"],
        fault_at: "10s",
        on_loop: &["repetitions=2", "rest=100ms"],
    },
    Method { id: "recovery", options: &[], fault_at: "5s", on_loop: &["torture=10%", "rest=0s"] },
    Method {
        id: "steady-state",
        options: &["round-share=100%"],
        fault_at: "4s",
        on_loop: &["precondition=100%", "round-share=5%"],
    },
    Method {
        id: "trim-integrity",
        options: &[],
        fault_at: "500ms",
        on_loop: &["region=8MiB", "guard=64KiB"],
    },
];

/// Methods that are interrupted on a loop device: one that keeps rows, one that keeps cases, and
/// one that starts anew.
const ON_LOOP: [&str; 3] = ["trim-sweep", "trim-integrity", "steady-state"];
/// The emulated drive.
const DRIVE: &str = "sim:generic-nvme-tlc,capacity=4GiB";
/// Planted faults: the setting, the name of the error.
const FAULTS: [(&str, &str); 2] = [("eio-from", "EIO"), ("vanish-from", "ENODEV")];
const SIGNALS: [(&str, Signal); 2] = [("SIGINT", Signal::INT), ("SIGKILL", Signal::KILL)];
/// Room for a record that is begun, and for one that is complete.
const SMALL_DISK: &str = "20k";
const LARGE_DISK: &str = "64m";
/// Room below a loop device, and what the device shows.
const BACKING_DISK: &str = "64m";
const BACKED_MEBIBYTES: u64 = 1024;
/// Size of the other loop devices.
const LOOP_MEBIBYTES: u64 = 512;
/// Steps that are done before a signal is sent.
const STEPS_BEFORE: usize = 2;

/// What each ending's captures and records begin with.
fn name_of(ending: &str, method: &str) -> String {
    format!("{ending}-{method}")
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for method in &METHODS {
        for (fault, _) in FAULTS {
            let target = format!("{DRIVE},{fault}={}", method.fault_at);
            let name = name_of(fault, method.id);
            let mut command = context.run(method.id, target, &[])?;
            let ended = Ended::new(context, &name, context.folder().join(&name));
            ended.capture(command.arg("--output").arg(&ended.output))?;
            ended.resume(&[])?;
        }
        for (signal, sent) in SIGNALS {
            let name = name_of(signal, method.id);
            let mut command = context.run(method.id, DRIVE, method.options)?;
            let ended = Ended::new(context, &name, context.folder().join(&name));
            command.args(["--output-format", "ndjson", "--output"]).arg(&ended.output);
            // The record has them when the session ends.
            let printed = context.folder().join(format!("{name}.stdout"));
            let steps = || {
                let text = fs::read_to_string(&printed).unwrap_or_default();
                text.matches("\"event\":\"step\"").count()
            };
            ended.interrupt(&mut command, sent, steps)?;
            ended.resume(&[])?;
        }
        full_disk(context, method)?;
        full_backing(context, method)?;
    }
    for method in METHODS.iter().filter(|method| ON_LOOP.contains(&method.id)) {
        for (signal, sent) in SIGNALS {
            interrupted_on_loop(context, method, (signal, sent))?;
        }
    }
    Ok(())
}

/// The record's own disk is full; then there is room again.
fn full_disk(context: &Context<'_>, method: &Method) -> Result<()> {
    let name = name_of("full-disk", method.id);
    let disk = context.memory_folder()?;
    let _mounted = Mounted::memory(SMALL_DISK, disk.path());
    let mut command = context.run(method.id, DRIVE, &[])?;
    let ended = Ended::new(context, &name, disk.path().join("run"));
    ended.capture(command.arg("--output").arg(&ended.output))?;
    let mut larger = Command::new("mount");
    larger.arg("-o").arg(format!("remount,size={LARGE_DISK}")).arg(disk.path());
    output(&mut larger)?;
    ended.resume(&[])
}

/// The disk below a loop device's image is full.
fn full_backing(context: &Context<'_>, method: &Method) -> Result<()> {
    let name = name_of("full-backing", method.id);
    let disk = context.memory_folder()?;
    let _mounted = Mounted::memory(BACKING_DISK, disk.path());
    let device = context.loop_device(disk.path(), BACKED_MEBIBYTES)?;
    // More than the disk holds, whatever the method.
    let options: &[&str] = match method.id {
        "delete-stall" => &["sizes=64MiB", "span=128MiB"],
        _ => &[],
    };
    let mut command = context.run(method.id, device.node(), options)?;
    command.arg("--destroy").arg(device.image());
    let ended = Ended::new(context, &name, context.folder().join(&name));
    ended.capture(command.arg("--output").arg(&ended.output))
}

fn interrupted_on_loop(
    context: &Context<'_>,
    method: &Method,
    (signal, sent): (&str, Signal),
) -> Result<()> {
    let name = name_of(&format!("loop-{signal}"), method.id);
    let device = context.loop_device(Path::new("/var/tmp"), LOOP_MEBIBYTES)?;
    let mut command = context.run(method.id, device.node(), method.on_loop)?;
    command.arg("--destroy").arg(device.image());
    let ended = Ended::new(context, &name, context.folder().join(&name));
    command.arg("--output").arg(&ended.output);
    ended.interrupt(&mut command, sent, || steps_kept(&ended.output))?;
    let mut unnamed = context.trimbench(&["run", "--resume"])?;
    context.capture(&format!("{name}-unnamed"), unnamed.arg(&ended.output))?;
    ended.resume(&[Path::new("--destroy"), device.image()])
}

/// A run that ends early, and what follows it.
struct Ended<'a> {
    context: &'a Context<'a>,
    name: &'a str,
    output: PathBuf,
}

impl<'a> Ended<'a> {
    fn new(context: &'a Context<'a>, name: &'a str, output: PathBuf) -> Self {
        Self { context, name, output }
    }

    /// Runs to an end that the target or the disk brings about.
    fn capture(&self, command: &mut Command) -> Result<()> {
        self.context.capture(self.name, command)?;
        self.look()
    }

    /// Runs, and ends it when so many steps are done.
    fn interrupt(
        &self,
        command: &mut Command,
        signal: Signal,
        steps: impl Fn() -> usize,
    ) -> Result<()> {
        let some_are_done = || steps() >= STEPS_BEFORE;
        self.context.capture_signalled(self.name, command, signal, some_are_done)?;
        self.look()
    }

    /// Keeps the record as it is, if there is one, and prints it again.
    fn look(&self) -> Result<()> {
        if let Some(record) = kept_record(&self.output) {
            let kept = self.context.folder().join(before(self.name));
            fs::write(kept, record.to_json()).context("keep the record of what ended early")?;
        }
        let mut report = self.context.trimbench(&["report"])?;
        self.context.capture(&format!("{}-report", self.name), report.arg(&self.output))?;
        Ok(())
    }

    fn resume(&self, arguments: &[&Path]) -> Result<()> {
        let mut resume = self.context.trimbench(&["run", "--resume"])?;
        resume.arg(&self.output).args(arguments).args(UNLOOKED);
        self.context.capture(&format!("{}-resumed", self.name), &mut resume)?;
        let record = self.output.join("run.json");
        if record.exists() {
            let kept = self.context.folder().join(after(self.name));
            fs::copy(&record, kept).context("keep the record of a resumed run")?;
        }
        Ok(())
    }
}

fn before(name: &str) -> String {
    format!("{name}-before.json")
}

fn after(name: &str) -> String {
    format!("{name}-after.json")
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let all = METHODS.map(|method| method.id);
    let mut findings = Vec::new();
    for (fault, error) in FAULTS {
        let what = format!("methods that end clearly, before and after `--resume`: {error}");
        findings.push(counted(raw, (&what, fault), &all, |name| broken(raw, name, error))?);
    }
    let what = "methods that keep their record on a full disk and go on when there is room";
    findings.push(counted(raw, (what, "full-disk"), &all, |name| without_room(raw, name))?);
    let what = "methods that end clearly on a loop device whose backing disk is full";
    findings.push(counted(raw, (what, "full-backing"), &all, |name| backing(raw, name))?);
    for (signal, _) in SIGNALS {
        let what = format!("methods that keep what was measured and resume: {signal}");
        let findings_of = |name: &str| interrupted(raw, name);
        findings.push(counted(raw, (&what, signal), &all, findings_of)?);
    }
    let what = "methods whose resumed run equals, byte for byte, whichever signal ended it";
    findings.push(counted(raw, (what, "SIGINT"), &all, |name| {
        let other = name.replace("SIGINT", "SIGKILL");
        let same = raw.bytes(&after(name))? == raw.bytes(&after(&other))?;
        ensure!(same, "the records differ");
        Ok(())
    })?);
    for (signal, _) in SIGNALS {
        let what = format!("methods that resume on a loop device, named again only: {signal}");
        let ending = format!("loop-{signal}");
        let is_right = |name: &str| interrupted_device(raw, name);
        findings.push(counted(raw, (&what, &ending), &ON_LOOP, is_right)?);
    }
    Ok(findings)
}

/// How many methods pass a check, and why the others do not.
fn counted(
    raw: &Raw,
    (what, ending): (&str, &str),
    methods: &[&str],
    check: impl Fn(&str) -> Result<()>,
) -> Result<Finding> {
    let (mut right, mut wrong) = (0_u32, Vec::new());
    for method in methods {
        match check(&name_of(ending, method)) {
            Ok(()) => right += 1,
            Err(error) => wrong.push(format!("not {method}: {error:#}")),
        }
    }
    let first = methods.first().context("no method")?;
    let capture = raw.capture_itself(&name_of(ending, first))?;
    let bar = Bar::Equals(methods.len() as f64);
    Ok(Finding::new(what, (right.into(), ""), bar, &capture).with_note(&wrong.join("; ")))
}

/// An error unless a program ended with this code and named this error.
fn ended_with(raw: &Raw, name: &str, (code, error): (u8, &str)) -> Result<()> {
    let capture = raw.capture(name)?;
    capture.expect_status(code.into())?;
    let said = raw.text(&capture.errors)?;
    let line = said.lines().find(|line| line.starts_with("error: "));
    let line = line.with_context(|| format!("`{}` gives no reason", capture.command))?;
    ensure!(line.contains(error), "`{}` says `{line}`, not {error}", capture.command);
    Ok(())
}

/// A record as it was before it was resumed, printed again without complaint.
fn reported(raw: &Raw, name: &str) -> Result<RunRecord> {
    let record = raw.record(&before(name))?;
    let report = raw.capture(&format!("{name}-report"))?;
    report.expect_status(exit::INVALID.into())?;
    let method = record.plan.first().map(|plan| plan.method.as_str()).unwrap_or_default();
    ensure!(raw.text(&report.output)?.contains(method), "the report does not name {method}");
    Ok(record)
}

fn steps_of(record: &RunRecord) -> usize {
    record.sessions.iter().map(|session| session.steps.len()).sum()
}

fn is_complete(record: &RunRecord) -> bool {
    let all_finished = record.sessions.iter().all(|session| session.finished);
    record.outcome == Outcome::Complete && all_finished && !record.sessions.is_empty()
}

/// A fault that comes again on every resumption.
fn broken(raw: &Raw, name: &str, error: &str) -> Result<()> {
    ended_with(raw, name, (exit::TARGET, error))?;
    let record = reported(raw, name)?;
    let Outcome::Failed { message } = &record.outcome else {
        bail!("the record says {:?}", record.outcome);
    };
    ensure!(message.contains(error), "the record says `{message}`");
    ensure!(steps_of(&record) > 0, "no step was kept");
    ended_with(raw, &format!("{name}-resumed"), (exit::TARGET, error))
}

/// No room for the record, and then some.
fn without_room(raw: &Raw, name: &str) -> Result<()> {
    ended_with(raw, name, (exit::TARGET, "ENOSPC"))?;
    let record = reported(raw, name)?;
    ensure!(!is_complete(&record), "there was room enough");
    raw.capture(&format!("{name}-resumed"))?.expect_status(exit::DONE.into())?;
    ensure!(is_complete(&raw.record(&after(name))?), "the resumed run is not complete");
    Ok(())
}

/// No room below the device. Where nothing was measured before, there is no record.
fn backing(raw: &Raw, name: &str) -> Result<()> {
    ended_with(raw, name, (exit::TARGET, "ENOSPC"))
        .or_else(|_| ended_with(raw, name, (exit::TARGET, "EIO")))?;
    let said = raw.text(&raw.capture(name)?.errors)?;
    if said.contains("kept in ") {
        ensure!(steps_of(&reported(raw, name)?) > 0, "no step was kept");
    }
    Ok(())
}

fn interrupted(raw: &Raw, name: &str) -> Result<()> {
    let capture = raw.capture(name)?;
    // SIGKILL leaves no exit code and no time to write an outcome.
    let expected = if capture.status.is_some() { Outcome::Interrupted } else { Outcome::Running };
    if capture.status.is_some() {
        capture.expect_status(exit::INTERRUPTED.into())?;
    }
    let record = reported(raw, name)?;
    ensure!(record.outcome == expected, "the record says {:?}", record.outcome);
    // A killed session on an emulated drive begins anew, and comes to the same.
    let begins_anew = capture.status.is_none() && !name.starts_with("loop-");
    let kept = steps_of(&record);
    ensure!(begins_anew || kept >= STEPS_BEFORE, "{kept} steps were kept");
    let resumed = raw.record(&after(name))?;
    ended_well(&raw.capture(&format!("{name}-resumed"))?, &resumed.sessions)?;
    ensure!(is_complete(&resumed), "the resumed run is not complete");
    Ok(())
}

/// As [`interrupted`]; a device is to be named again, and what methods of independent steps have
/// measured stays as it was.
fn interrupted_device(raw: &Raw, name: &str) -> Result<()> {
    interrupted(raw, name)?;
    ended_with(raw, &format!("{name}-unnamed"), (exit::TARGET, "--destroy"))
        .or_else(|_| ended_with(raw, &format!("{name}-unnamed"), (exit::TARGET, "destroy")))?;
    if name.ends_with("steady-state") {
        // The drive's state is the result of all that went before: it starts anew.
        return Ok(());
    }
    let (early, late) = (raw.record(&before(name))?, raw.record(&after(name))?);
    for step in early.sessions.iter().flat_map(|session| &session.steps) {
        let mut steps = late.sessions.iter().flat_map(|session| &session.steps);
        ensure!(steps.any(|other| other == step), "`{}` was measured again", step.id);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
