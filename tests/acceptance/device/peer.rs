//! The block target compared with fio, in turns on one loop device.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::acceptance::bench::Printed;
use crate::acceptance::{Bar, Context, Finding, Raw};

/// Interleaved pairs of the full form, at least.
const PAIRS: usize = 12;
const QUEUE_DEPTHS: [u32; 2] = [1, 32];
/// The suffix of a case that compares fio with itself.
const CONTROL: &str = ", fio against fio";
/// Figures, and what the ratio of ours to fio's must be.
const FIGURES: [(&str, Bar); 4] = [
    ("IOPS", Bar::AtLeast(0.95)),
    ("p50", Bar::AtMost(1.1)),
    ("p99", Bar::AtMost(1.1)),
    ("CPU", Bar::AtMost(1.05)),
];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let mut arguments = vec!["xtask", "bench", "block", "--json"];
    if context.is_short() {
        arguments.extend(["--small", "--repetitions", "3"]);
    } else {
        arguments.extend(["--repetitions", "16"]);
    }
    let mut bench = context.repository().command("cargo", &arguments);
    context.capture_well("bench", &mut bench).map(|_| ())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let bench = Printed::of(raw)?;
    let capture = &bench.capture;
    // Only the short form says so in its command line.
    let pairs_min = if capture.command.contains("--small") { 3 } else { PAIRS };
    let mut findings = Vec::new();
    for depth in QUEUE_DEPTHS {
        for (figure, bar) in FIGURES {
            findings.push(judge((&bench, &format!("QD {depth} {figure}")), bar)?);
        }
        let compared = Compared::of(&bench, &format!("QD {depth} IOPS"))?;
        let what = format!("interleaved pairs at queue depth {depth}");
        let bar = Bar::AtLeast(pairs_min as f64);
        findings.push(Finding::new(&what, (compared.pairs as f64, ""), bar, capture));
    }
    Ok(findings)
}

/// Two sides of a case.
struct Compared {
    ratio: f64,
    interval: (f64, f64),
    pairs: usize,
    medians: (f64, f64),
    unit: String,
}

fn judge((bench, case): (&Printed, &str), bar: Bar) -> Result<Finding> {
    let compared = Compared::of(bench, case)?;
    let control = Compared::of(bench, &format!("{case}{CONTROL}"))?;
    let note = format!(
        "95 % interval {:.3} to {:.3}, medians {:.3} and {:.3} {}; fio against fio {:.3}, {:.3} to \
         {:.3}",
        compared.interval.0,
        compared.interval.1,
        compared.medians.0,
        compared.medians.1,
        compared.unit,
        control.ratio,
        control.interval.0,
        control.interval.1
    );
    let what = format!("ours over fio's, {case}");
    Ok(Finding::new(&what, (compared.ratio, ""), bar, &bench.capture).with_note(&note))
}

impl Compared {
    fn of(bench: &Printed, case: &str) -> Result<Self> {
        let (ours, peer) = bench.pair(case)?;
        let (values, peers) = (values(ours)?, values(peer)?);
        ensure!(values.len() == peers.len(), "`{case}` has {} pairs", values.len());
        let end = |index: usize| {
            ours["interval"][index].as_f64().with_context(|| format!("`{case}` has no interval"))
        };
        let medians = (median(&values)?, median(&peers)?);
        Ok(Self {
            ratio: medians.0 / medians.1,
            interval: (end(0)?, end(1)?),
            pairs: values.len(),
            medians,
            unit: ours["unit"].as_str().unwrap_or_default().to_owned(),
        })
    }
}

fn values(line: &Value) -> Result<Vec<f64>> {
    let values = line["values"].as_array().context("a side has no values")?;
    values.iter().map(|value| value.as_f64().context("a value is no number")).collect()
}

fn median(values: &[f64]) -> Result<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1).context("a side has no value")?;
    Ok(f64::midpoint(sorted[last / 2], sorted[sorted.len() / 2]))
}

#[cfg(test)]
mod tests;
