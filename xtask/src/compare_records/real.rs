//! Real targets: the measured figures differ each time, but steps and commands are planned.
//!
//! The kernel counts the commands (`/sys/block/*/stat`) and loses none; requests that were merged
//! into others count, too.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use ::tests::{LoopDevice, Need, requires, scratch};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use trimbench_core::exit;
use trimbench_results::RunRecord;

use super::difference::differences;
use super::{Compared, Comparison, Side, into, read};
use crate::process;

/// Methods whose commands do not depend on how fast the device is.
const CASES: [&str; 6] = [
    "trim-sweep --set commands=20 --set load-rate=0 --set row-bytes-max=64MiB --set rest=0s",
    "trim-integrity --set region=16MiB",
    "recovery --set span=128MiB --set rest=0s",
    "replay --set span=128MiB --set rest=0s --set length=5%",
    "idle-trim --set span=256MiB --set rest=0s",
    "delete-stall --set sizes=8MiB,16MiB --set repetitions=2 --set patience=0s \
     --set window=300ms --set lead=100ms --set rest=10ms --set span=64MiB",
];
/// Of the loop device, MiB.
const SIZE: u64 = 1024;
/// What is read may differ by this share: the kernel and programs that look for signatures read
/// too, and the serial probe reads as often as the device lets it. In how many commands is not
/// compared: it depends on how the pages of a buffer lie in memory.
const READ: f64 = 0.15;

/// Runs both programs on a loop device, one after the other; nothing where there can be none.
pub(super) fn compare(comparison: &Comparison) -> Result<Vec<Compared>> {
    if !requires("comparison on loop devices", &[Need::Root, Need::Loop]) {
        return Ok(Vec::new());
    }
    let mut compared = Vec::new();
    for case in CASES {
        let sides = [&comparison.before, &comparison.now];
        let [before, now] = sides.map(|side| measured(side, case));
        let (before, now) = (before?, now?);
        let found = differences(&before, &now).into_iter().filter(|difference| {
            let count = |value: &Option<Value>| value.as_ref().and_then(Value::as_f64);
            let close = |(before, now): (f64, f64)| (before - now).abs() <= READ * before;
            let is_close = count(&difference.before).zip(count(&difference.now)).is_some_and(close);
            !(difference.at == "sectors-read" && is_close)
        });
        let method = case.split_whitespace().next().unwrap_or_default();
        compared.push(Compared {
            what: format!("{method} on a loop device"),
            bytes: now.to_string().len(),
            differences: found.map(|difference| difference.to_string()).collect(),
            rows: BTreeSet::new(),
        });
    }
    Ok(compared)
}

/// The steps of a run, and the commands that the device had of it.
fn measured(side: &Side, case: &str) -> Result<Value> {
    let scratch = scratch();
    let device = LoopDevice::over(&scratch.path().join("image"), SIZE);
    let name = device.node().trim_start_matches("/dev/");
    let counters = || counters(name);
    let before = counters()?;
    let mut command = Command::new(&side.program);
    command.arg("run").args(case.split_whitespace()).args(["--purge=trim", "--no-report"]);
    command.args(["--target", device.node(), "--output", "run", "--destroy"]).arg(device.image());
    command.args(unlooked(side)?);
    into(&mut command, scratch.path(), "printed")?;
    let ended = process::run(&mut command, None)?;
    let printed = fs::read_to_string(scratch.path().join("printed.err")).unwrap_or_default();
    // A busy machine makes figures invalid, and no command another one.
    let code =
        ended.status.and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    let measured = matches!(code, Some(exit::DONE | exit::INVALID));
    ensure!(measured, "`{}` {}: {printed}", process::show(&command), ended.describe());
    let after = counters()?;
    let of = |place: usize| after[place] - before[place];
    let record = RunRecord::from_json(&read(&scratch.path().join("run"))?)?;
    let steps = record.sessions.iter().flat_map(|session| &session.steps);
    let step = |step: &trimbench_results::Step| json!([step.id, step.kind, step.parameters]);
    // The places are those of Documentation/block/stat.rst.
    Ok(json!({
        "steps": steps.map(step).collect::<Vec<_>>(),
        "sectors-read": of(2),
        "writes": { "commands": of(4) + of(5), "sectors": of(6) },
        "discards": { "commands": of(11) + of(12), "sectors": of(13) },
        "flushes": of(15),
    }))
}

/// What keeps a program from looking for other load, which takes reads; an older one has no need.
fn unlooked(side: &Side) -> Result<&'static [&'static str]> {
    let help = process::output(Command::new(&side.program).args(["run", "--help"]))?;
    let looks = help.contains("--quiet-wait");
    Ok(if looks { &["--quiet-wait", "0s"] } else { &[] })
}

/// What the kernel has counted of a device.
fn counters(name: &str) -> Result<Vec<u64>> {
    let path = format!("/sys/block/{name}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let counters: Vec<u64> =
        text.split_whitespace().map(str::parse).collect::<Result<_, _>>().context(path.clone())?;
    ensure!(counters.len() >= 17, "{path}: the kernel counts no flushes");
    Ok(counters)
}
