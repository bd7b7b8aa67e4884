//! The emulated SSD's own speed, beside a bare C model measured in the same minutes.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::evidence::{Bar, Capture, Claim, Context, Finding, Raw};

pub(super) const CLAIM: Claim = Claim {
    id: "foundation.6",
    title: "The emulated SSD is fast enough for whole drives",
    bar: "4 KiB random writes in steady state on 256 GiB, through the contract with a histogram \
          at queue depth 32: at least 0.2 of the bare C model, at 7 and at 28 % \
          over-provisioning (short form: at 28 %, where it is slower by comparison)",
    short: Duration::from_secs(25),
    full: Duration::from_secs(300),
    measure,
    read,
};

/// The cases, by their names in the benchmark.
const CASES: [&str; 2] = ["256 GiB, OP 7 %", "256 GiB, OP 28 %"];
/// The lowest ratio.
const RATIO_MIN: f64 = 0.2;
/// How far the two write amplifications may lie apart: more, and the work is not the same.
const AMPLIFICATION_MARGIN: f64 = 0.02;

fn measure(context: &Context<'_>) -> Result<()> {
    let mut arguments = vec!["xtask", "bench", "ssd", "--json"];
    if context.is_short() {
        arguments.extend(["--case", CASES[1], "--repetitions", "1"]);
    }
    let mut bench = context.repository().command("cargo", &arguments);
    context.capture_well("bench", &mut bench).map(|_| ())
}

fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let capture = raw.capture("bench")?;
    capture.expect_status(0)?;
    let printed = raw.text(&capture.output)?;
    if let Some(reason) = printed.lines().find(|line| line.contains(": skipped: ")) {
        anyhow::bail!("{reason}");
    }
    // Between them stand the lines that name the step.
    let lines = printed.lines().filter(|line| line.starts_with('{')).map(serde_json::from_str);
    let lines: Vec<Value> =
        lines.collect::<Result<_, _>>().context("read the benchmark's lines")?;
    // Only the short form leaves a case out, and says so in its command line.
    let in_short = capture.command.contains("--case");
    let mut findings = Vec::new();
    for case in if in_short { &CASES[1..] } else { &CASES[..] } {
        findings.extend(judge(case, &lines, &capture)?);
    }
    Ok(findings)
}

/// One side of a case.
struct Side {
    median: f64,
    amplification: f64,
    repetitions: usize,
}

fn judge(case: &str, lines: &[Value], capture: &Capture) -> Result<[Finding; 2]> {
    let of_case: Vec<&Value> = lines.iter().filter(|line| line["case"] == case).collect();
    ensure!(of_case.len() == 2, "{} sides of `{case}`, not 2", of_case.len());
    let is_ours = |line: &&&Value| line["side"] == "ours";
    let ours = of_case.iter().find(is_ours).context("our side was not measured")?;
    let peer = of_case.iter().find(|line| !is_ours(line)).context("the peer was not measured")?;
    let (ours, peer) = (side(ours)?, side(peer)?);
    let note = format!(
        "{:.2} over {:.2} million writes a second, medians of {}; write amplification {:.4} and \
         {:.4}",
        ours.median, peer.median, ours.repetitions, ours.amplification, peer.amplification
    );
    let ratio = Finding::new(
        &format!("speed over that of the C model, {case}"),
        (ours.median / peer.median, ""),
        Bar::AtLeast(RATIO_MIN),
        capture,
    );
    let amplification = Finding::new(
        &format!("write amplification over that of the C model, {case}"),
        (ours.amplification / peer.amplification, ""),
        Bar::near(1.0, AMPLIFICATION_MARGIN),
        capture,
    );
    Ok([ratio.with_note(&note), amplification])
}

fn side(line: &Value) -> Result<Side> {
    let check = line["check"].as_str().context("a side has no check")?;
    let amplification = check.strip_prefix("WA ").context("the check has no amplification")?;
    let amplification = amplification.split(',').next().unwrap_or(amplification);
    Ok(Side {
        median: line["median"].as_f64().context("a side has no median")?,
        amplification: amplification.parse().context("the amplification is no number")?,
        repetitions: line["values"].as_array().map_or(0, Vec::len),
    })
}

#[cfg(test)]
mod tests;
