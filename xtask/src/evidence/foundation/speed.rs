//! The emulated SSD's own speed, beside a bare C model measured in the same minutes.

use std::time::Duration;

use anyhow::Result;

use crate::evidence::bench::{Printed, beside_yardstick};
use crate::evidence::{Claim, Context, Finding, Raw};

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

fn measure(context: &Context<'_>) -> Result<()> {
    let mut arguments = vec!["xtask", "bench", "ssd", "--json"];
    if context.is_short() {
        arguments.extend(["--case", CASES[1], "--repetitions", "1"]);
    }
    let mut bench = context.repository().command("cargo", &arguments);
    context.capture_well("bench", &mut bench).map(|_| ())
}

fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let bench = Printed::of(raw)?;
    // Only the short form leaves a case out, and says so in its command line.
    let in_short = bench.capture.command.contains("--case");
    let mut findings = Vec::new();
    for case in if in_short { &CASES[1..] } else { &CASES[..] } {
        findings.extend(beside_yardstick(&bench, case, RATIO_MIN)?);
    }
    Ok(findings)
}

#[cfg(test)]
mod tests;
