//! The speed of the emulated SSD, compared with a bare C model measured in the same minutes.

use anyhow::Result;

use crate::acceptance::bench::{CONTRACT, DRIVES, Printed, beside_yardstick, measure_ssd};
use crate::acceptance::{Context, Finding, Raw};

/// The drives of the short form: filling the others four times, by us and by the peer, takes longer
/// than it has.
const SMALL_DRIVES: [&str; 2] = ["4 GiB, OP 7 %", "4 GiB, OP 28 %"];
/// The lowest ratio.
const RATIO_MIN: f64 = 0.2;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    // Without the drives that have all features on, whose names end otherwise.
    let case = format!("%, {CONTRACT}");
    let short = ["--case", &case, "--repetitions", "1", "--small"];
    // The peer fills its drive anew for each repetition: 5 of them take longer than there is.
    let full = ["--case", &case, "--repetitions", "3"];
    measure_ssd(context, if context.is_short() { &short } else { &full })
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let bench = Printed::of(raw)?;
    let mut findings = Vec::new();
    let is_small = bench.capture.command.contains("--small");
    for drive in if is_small { SMALL_DRIVES } else { DRIVES } {
        let case = format!("{drive}, {CONTRACT}");
        findings.extend(beside_yardstick(&bench, &case, RATIO_MIN)?);
    }
    Ok(findings)
}

#[cfg(test)]
mod tests;
