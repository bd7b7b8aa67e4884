//! Speed and memory of the emulated SSD on a drive larger than any CPU cache, compared with a bare
//! C model.

use anyhow::Result;

use crate::acceptance::bench::{CONTRACT, DRIVES, Printed, beside_yardstick, measure_ssd, median};
use crate::acceptance::{Bar, Context, Finding, Raw};

/// The lowest ratio of the model alone, and through the contract.
const ALONE_MIN: f64 = 0.6;
const CONTRACT_MIN: f64 = 0.35;
/// Bytes a mapping unit.
const MEMORY_MAX: f64 = 10.0;
/// Seconds.
const TRIM_MAX: f64 = 1.0;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let short = ["--case", DRIVES[1], "--repetitions", "1"];
    // Without the drives that have all features on: those are `drives.4`'s.
    let full = ["--case", "GiB, OP"];
    measure_ssd(context, if context.is_short() { &short[..] } else { &full })
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let bench = Printed::of(raw)?;
    let mut findings = Vec::new();
    // Only the short form leaves a drive out.
    let in_short = raw.is_short();
    for drive in if in_short { &DRIVES[1..] } else { &DRIVES[..] } {
        let (alone, contract) = (format!("{drive}, model alone"), format!("{drive}, {CONTRACT}"));
        findings.extend(beside_yardstick(&bench, &alone, ALONE_MIN)?);
        findings.extend(beside_yardstick(&bench, &contract, CONTRACT_MIN)?);
        for (suffix, what, most, unit) in [
            ("memory", "memory a 4 KiB unit", MEMORY_MAX, "B"),
            ("TRIM of all", "wall time of a TRIM of the whole drive", TRIM_MAX, "s"),
        ] {
            let side = bench.single(&format!("{drive}, {suffix}"))?;
            let figure = (median(side)?, unit);
            let what = format!("{what}, {drive}");
            let finding = Finding::new(&what, figure, Bar::AtMost(most), &bench.capture);
            findings.push(finding.with_note(side["check"].as_str().unwrap_or_default()));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests;
