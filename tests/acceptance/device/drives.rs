//! Every method on four emulated drives, and the effect of TRIM on the speed of two of them.

use anyhow::{Context as _, Result};
use trimbench_results::{RunRecord, Session};

use super::METHODS;
use crate::acceptance::runs::throughput;
use crate::acceptance::{Bar, Capture, Context, Finding, Form, Raw};

/// Emulated drives that a run without arguments takes.
const DRIVES: usize = 4;
/// What the whole run may take, s.
const SECONDS_MAX: f64 = 60.0;
/// The drive whose recovery is judged.
const FRAGMENTED: &str = "generic-nvme-tlc";
/// The drive that compresses, and the data that it is flattered by.
const COMPRESSING: &str = "sim:generic-sata-compressing";
const COMPRESSIBLE: &str = "compare-data=compressible-10%";
/// Shares of the fresh throughput.
const TRIMMED_MIN: f64 = 0.98;
const FRAGMENTED_MAX: f64 = 0.7;
/// The method's own limit from which on a second pass counts as healing.
const HEALED_MIN: f64 = 1.02;
/// What "well above" the drive's true speed is.
const FLATTERED_MIN: f64 = 1.5;
/// What the report must say of a flattered drive, wherever it breaks the line.
const VERDICT: &str = "compressible data make the drive look better than it is";
const CAVEAT: &str = "compressible-data: the data could be compressed";

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    if context.form() == Form::Acceptance {
        let target = format!("sim:{FRAGMENTED}");
        context.run_well("run", "recovery", (&target, &[]))?;
    } else {
        let mut all = context.trimbench(&["run"])?;
        all.args(METHODS).arg("--output").arg(context.folder().join("run"));
        context.capture_well("run", &mut all)?;
    }
    context.run_well("compressing", "recovery", (COMPRESSING, &[COMPRESSIBLE])).map(drop)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.capture("run")?;
    run.expect_status(0)?;
    let record = raw.record("run/run.json")?;
    let elapsed = (run.elapsed_seconds, "s");
    let itself = raw.capture_itself("run")?;
    let bar = Bar::AtMost(SECONDS_MAX);
    let mut findings = Vec::new();
    if raw.form() != Form::Acceptance {
        let what = "`trimbench run` with six methods";
        findings.push(Finding::new(what, elapsed, bar, &itself));
        findings.push(complete(&record, &run));
    }
    findings.extend(recovery(&record, &run)?);
    findings.extend(flattered(raw)?);
    Ok(findings)
}

/// How many of the sessions were measured to their end.
fn complete(record: &RunRecord, run: &Capture) -> Finding {
    let is_measured = |session: &&Session| {
        session.finished && session.left_out.is_none() && session.headline().is_some()
    };
    let measured = record.sessions.iter().filter(is_measured);
    let methods = METHODS.iter().map(|method| {
        let of_method = measured.clone().filter(|it| it.plan.method == *method).count();
        format!("{method} {of_method}")
    });
    let note = methods.collect::<Vec<_>>().join(", ");
    let bar = Bar::Equals((METHODS.len() * DRIVES) as f64);
    let figure = (measured.count() as f64, "");
    let what = "sessions that were measured to their end and have a headline";
    Finding::new(what, figure, bar, run).from_file("run/run.json").with_note(&note)
}

fn recovery(record: &RunRecord, run: &Capture) -> Result<[Finding; 3]> {
    let is_it = |it: &&Session| it.plan.method == "recovery" && it.target.name == FRAGMENTED;
    let session = record.sessions.iter().find(is_it);
    let session = session.with_context(|| format!("no recovery of {FRAGMENTED}"))?;
    let pass = |name: &str| {
        let step = session.steps.iter().find(|step| step.id == name);
        throughput(step.with_context(|| format!("no pass `{name}`"))?)
    };
    let (fresh, fragmented) = (pass("fresh")?, pass("fragmented")?);
    let (healed, trimmed) = (pass("self-healed")?, pass("trimmed")?);
    let note = format!(
        "fresh {fresh:.1}, fragmented {fragmented:.1}, after a second pass {healed:.1}, after TRIM \
         {trimmed:.1} MB/s"
    );
    let finding = |what: &str, figure, bar| {
        let what = format!("sequential writes of {FRAGMENTED}, {what}");
        Finding::new(&what, (figure, ""), bar, run).from_file("run/run.json").with_note(&note)
    };
    let healing = finding(
        "second pass over the fragmented one",
        healed / fragmented,
        Bar::AtLeast(HEALED_MIN),
    );
    let explained = format!(
        "{note}; the emulated drive maps every 4 KiB by itself and keeps no coarser units, so that \
         one pass heals it completely, where a real drive is often healed in part"
    );
    Ok([
        finding("trimmed over fresh", trimmed / fresh, Bar::AtLeast(TRIMMED_MIN)),
        finding("fragmented over fresh", fragmented / fresh, Bar::AtMost(FRAGMENTED_MAX)),
        healing.with_note(&explained),
    ])
}

/// How much faster the compressing drive looks, and whether its report says why.
fn flattered(raw: &Raw) -> Result<[Finding; 2]> {
    let run = raw.good_run("compressing")?;
    let true_speed = run.throughput("fragmented")?;
    let flattered = run.throughput("fragmented-compared")?;
    let note = format!("fragmented: {flattered:.1} over {true_speed:.1} MB/s");
    let what = "speed of the compressing drive with compressible data over that without";
    let ratio = run.finding(what, (flattered / true_speed, ""), Bar::AtLeast(FLATTERED_MIN));
    let run = run.capture;
    let report = raw.text(&run.output)?;
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = [VERDICT, CAVEAT].iter().filter(|sentence| words.contains(**sentence)).count();
    let what = "sentences of the report that warn of it: verdict and caveat";
    Ok([ratio.with_note(&note), Finding::new(what, (said as f64, ""), Bar::Equals(2.0), &run)])
}

#[cfg(test)]
mod tests;
