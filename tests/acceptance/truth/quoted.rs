//! Commands with which an expert found figures that were wrong, each again: a load that overloads a
//! drive, a steady state that still drifts, a TRIM that reads as free, the dry run of a pool.
//!
//! The formula of write amplification is that of `device.6`: greedy collection \[DESN12\], with a
//! share that is trimmed as over-provisioning \[FRAN12\].

use anyhow::{Context as _, Result, ensure};
use trimbench_core::Bytes;
use trimbench_results::number::quantity;

use crate::acceptance::device::steady::{Drive, profile_of};
use crate::acceptance::runs::{Run, metric};
use crate::acceptance::ssd::formulas::greedy;
use crate::acceptance::{Bar, Context, Finding, Raw};

#[cfg(test)]
mod tests;

/// A drive whose load alone overloads it, whose TRIMs cost nothing.
const SLOW: &str = "sim:vendor4";
/// The trimmed shares, in percent.
const SHARES: [u32; 5] = [0, 10, 25, 30, 50];
const STEADY: &str = "sim:plain-nvme-tlc,capacity=16GiB";
const TRIMMED: &str = "trimmed-shares=0,10%,25%,30%,50%";
/// How far write amplification may be off the formula.
const MARGIN: f64 = 0.02;
const POOL: &str = "raidz2:sim:vendor2*10";
/// What the writers of the pool's run write is some GB without these.
const STORM: &[&str] = &["file-size=128MiB"];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for (name, options) in [("auto", &[][..]), ("given", &["load-rate=1000"])] {
        let mut sweep = context.run_into(name, "trim-sweep", (SLOW, options))?;
        context.capture(name, sweep.args(["--limit", "hlk"]))?;
    }
    profile_of(context, "plain-nvme-tlc")?;
    context.run_well("settled", "steady-state", (STEADY, &[TRIMMED]))?;
    context.run_well("letter", "steady-state", (STEADY, &[TRIMMED, "settle-rounds=0"]))?;
    context.run_well("idle", "idle-trim", ("sim:vendor2", &[]))?;
    let mut dry = context.run("delete-storm", POOL, STORM)?;
    context.capture_well("forecast", dry.arg("--dry-run"))?;
    context.run_well("pool", "delete-storm", (POOL, STORM)).map(drop)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = served(raw)?;
    findings.extend(overloaded(raw)?);
    findings.extend(steady(raw)?);
    findings.extend(idle(raw)?);
    findings.extend(pool(raw)?);
    Ok(findings)
}

/// Lines of what a run said that begin with `limit` and hold this word.
fn limits(raw: &Raw, run: &Run, word: &str) -> Result<f64> {
    let said = raw.text(&run.capture.errors)?;
    let lines = said.lines().filter(|line| line.starts_with("limit ") && line.contains(word));
    Ok(lines.count() as f64)
}

fn status(run: &Run, expected: f64) -> Finding {
    let status = f64::from(run.capture.status.unwrap_or(-1));
    run.finding("exit code", (status, ""), Bar::Equals(expected))
}

/// With the load that the drive serves.
fn served(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.run("auto")?;
    let note = run.figure("load-rate")?.words().unwrap_or_default();
    let at_most = |id: &str, most| -> Result<Finding> {
        let what = format!("{SLOW}: {id} of the load that it serves");
        Ok(run.finding(&what, (run.value(id)?, "s"), Bar::AtMost(most)))
    };
    let holding = limits(raw, &run, " holds ")?;
    Ok(vec![
        status(&run, 0.0),
        run.finding("limits of `hlk` that hold", (holding, ""), Bar::Equals(3.0)),
        run.finding("the load", (run.value("load-rate")?, "IOPS"), Bar::Within(50.0, 500.0))
            .with_note(&note),
        at_most("trim-max", 0.5)?,
        at_most("alone-max", 0.5)?,
        at_most("loaded-max", 0.5)?,
    ])
}

/// With the load of 1,000 accesses a second, which it does not serve.
fn overloaded(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.run("given")?;
    let (failing, open) = (limits(raw, &run, " FAILS ")?, limits(raw, &run, " NOT JUDGED ")?);
    let trim = run.value("trim-max")?;
    let beside = run.steps("mapped-loaded").count() as f64;
    Ok(vec![
        status(&run, 4.0),
        run.finding("limits that fail because of the load", (failing, ""), Bar::Equals(0.0)),
        run.finding("limits that are not judged", (open, ""), Bar::Equals(2.0)),
        run.finding("rows beside the load", (beside, ""), Bar::Equals(0.0)),
        run.finding("longest TRIM without it", (trim, "s"), Bar::AtMost(0.5)),
    ])
}

/// How far the write amplification of a run with `percent` trimmed is off the formula.
fn residual(run: &Run, percent: u32, drive: &Drive) -> Result<(f64, f64)> {
    let suffix = if percent == 0 { String::new() } else { format!("-trimmed-{percent}") };
    let measured = run.value(&format!("write-amplification{suffix}"))?;
    let alpha = drive.alpha / (1.0 - f64::from(percent) / 100.0);
    Ok((measured, greedy(alpha, drive.superblock_units)))
}

fn steady(raw: &Raw) -> Result<Vec<Finding>> {
    let (settled, letter) = (raw.good_run("settled")?, raw.good_run("letter")?);
    let drive = Drive::read(raw, &settled.session)?;
    let mut findings = Vec::new();
    let mut most: f64 = 0.0;
    for percent in SHARES {
        let (measured, value) = residual(&settled, percent, &drive)?;
        let (before, _) = residual(&letter, percent, &drive)?;
        most = most.max((before / value - 1.0).abs());
        let note = format!(
            "off the formula by {:+.2} %; at the steady state of [PTS] by {:+.2} %",
            (measured / value - 1.0) * 100.0,
            (before / value - 1.0) * 100.0
        );
        let what = format!("write amplification with {percent} % trimmed");
        let bar = Bar::Near { value, share: MARGIN };
        findings.push(settled.finding(&what, (measured, ""), bar).with_note(&note));
    }
    let what = "largest residual at the steady state of [PTS] alone";
    findings.push(letter.finding(what, (most * 100.0, "%"), Bar::AtLeast(3.0)));
    Ok(findings)
}

/// Whether the headline of the idle TRIM says what the whole drive takes.
fn idle(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.good_run("idle")?;
    let words = run.figure("idle-trim")?.words().unwrap_or_default();
    let full = quantity(run.value("idle-trim-full")?, "s");
    let said = f64::from(u8::from(words.contains(&format!("{full} full"))));
    let longest = metric(run.step("one-go-1")?, "full_s")?;
    Ok(vec![
        run.finding("verdicts with the time of the whole drive", (said, ""), Bar::Equals(1.0))
            .with_note(&words),
        run.finding("TRIM of a full vendor2", (longest, "s"), Bar::Within(0.5, 1.0)),
    ])
}

/// Bytes behind `about` in the line `label` of a dry run.
fn forecast(plan: &str, label: &str) -> Result<f64> {
    let line = plan.lines().find(|line| line.trim_start().starts_with(label));
    let line = line.with_context(|| format!("no line `{label}`"))?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "about").skip(1);
    let (number, unit) = words.next().zip(words.next()).context("no quantity")?;
    let unit = unit.trim_end_matches([',', ';']);
    ensure!(["TB", "GB", "MB", "kB"].contains(&unit), "`{unit}`");
    let one: Bytes = format!("1{}", unit.to_uppercase()).parse().ok().context("a unit")?;
    Ok(number.parse::<f64>().context("a number")? * one.0 as f64)
}

fn pool(raw: &Raw) -> Result<Vec<Finding>> {
    let plan = raw.text(&raw.capture("forecast")?.output)?;
    let run = raw.good_run("pool")?;
    let sum =
        |key: &str| -> f64 { run.session.steps.iter().filter_map(|step| step.metric(key)).sum() };
    let of = |what: &str, written: f64, label: &str, bar| -> Result<Finding> {
        let forecast = forecast(&plan, label)?;
        let note = format!("{written} B of {forecast} B");
        Ok(run.finding(what, (written / forecast, ""), bar).with_note(&note))
    };
    let files = "bytes of the pool's files over the forecast of the dry run";
    let drives = "bytes that its drives were written over the forecast";
    Ok(vec![
        of(files, sum("callers_written_bytes"), "writes", Bar::Within(0.8, 1.0))?,
        of(drives, sum("write_bytes"), "on drives", Bar::Within(0.8, 1.05))?,
    ])
}
