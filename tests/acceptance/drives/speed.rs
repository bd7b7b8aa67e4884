//! Claim `drives.4`: what named drives asked for cost neither the speed of the emulated SSD nor its
//! agreement with theory.

use anyhow::Result;

use crate::acceptance::bench::{
    CONTRACT, DRIVES, Printed, beside_yardstick, measure_ssd, median, over_yardstick,
};
use crate::acceptance::{Bar, Context, Finding, Form, Raw, ssd};

#[cfg(test)]
mod tests;

/// The lowest ratios to the C model, with the features of named drives off.
const OFF_MIN: [f64; 2] = [0.60, 0.55];
/// The drives of the benchmark that have all of them, and all but the separation of hot data; their
/// lowest ratio.
const ALL_ON: [&str; 2] = ["256 GiB, all on, 7 % OP", "256 GiB, all on, 28 % OP"];
const NO_HOT: [&str; 2] = ["256 GiB, all but hot, 7 % OP", "256 GiB, all but hot, 28 % OP"];
const ON_MIN: f64 = 0.40;
/// Bytes a mapping unit.
const MEMORY_MAX: f64 = 10.0;
/// What the short form measures: the drive whose ratio is lowest.
const SHORT: &str = "256 GiB, OP 28 %, through the contract";

/// A claim about the emulated SSD that must hold as before.
struct Before {
    id: &'static str,
    measure: fn(&Context<'_>) -> Result<()>,
    read: fn(&Raw) -> Result<Vec<Finding>>,
}

const BEFORE: [Before; 4] = [
    Before { id: "ssd.1", measure: ssd::uniform::measure, read: ssd::uniform::read },
    Before { id: "ssd.2", measure: ssd::trimmed::measure, read: ssd::trimmed::read },
    Before { id: "ssd.3", measure: ssd::queueing::measure, read: ssd::queueing::read },
    Before { id: "ssd.7", measure: ssd::soak::measure, read: ssd::soak::read },
];

/// The form of those claims, and which of them are measured: one step smaller than this claim's,
/// and without the soak in the short form.
fn before(form: Form) -> (Form, &'static [Before]) {
    match form {
        Form::Full => (Form::Short, &BEFORE),
        Form::Short | Form::Acceptance => (Form::Acceptance, &BEFORE[..3]),
    }
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let short = ["--case", SHORT, "--repetitions", "1"];
    let full = ["--repetitions", "3"];
    measure_ssd(context, if context.is_short() { &short[..] } else { &full })?;
    let (form, claims) = before(context.form());
    claims.iter().try_for_each(|claim| (claim.measure)(&context.part(claim.id, form)?))
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = beside(raw)?;
    let (form, claims) = before(raw.form());
    for claim in claims {
        let inside = |finding: Finding| {
            let file = format!("{}/{}", claim.id, finding.raw);
            let what = format!("`{}`: {}", claim.id, finding.what);
            Finding { what, ..finding }.from_file(&file)
        };
        let of = (claim.read)(&raw.part(claim.id, form))?;
        findings.extend(of.into_iter().map(inside));
    }
    Ok(findings)
}

/// Speed and memory.
fn beside(raw: &Raw) -> Result<Vec<Finding>> {
    let bench = Printed::of(raw)?;
    let mut findings = Vec::new();
    let first = usize::from(raw.is_short());
    for (drive, ratio_min) in DRIVES.into_iter().zip(OFF_MIN).skip(first) {
        let case = format!("{drive}, {CONTRACT}");
        findings.extend(beside_yardstick(&bench, &case, ratio_min)?);
    }
    if raw.is_short() {
        return Ok(findings);
    }
    for drive in NO_HOT.into_iter().chain(ALL_ON) {
        findings.push(over_yardstick(&bench, &format!("{drive}, {CONTRACT}"), ON_MIN)?);
    }
    for drive in DRIVES.into_iter().chain(ALL_ON) {
        let side = bench.single(&format!("{drive}, memory"))?;
        let (what, figure) = (format!("memory a 4 KiB unit, {drive}"), (median(side)?, "B"));
        let finding = Finding::new(&what, figure, Bar::AtMost(MEMORY_MAX), &bench.capture);
        findings.push(finding.with_note(side["check"].as_str().unwrap_or_default()));
    }
    Ok(findings)
}
