//! What free space buys: beside a real drive with a part of it in use, and beside the closed form
//! of greedy collection over all over-provisioning.

use anyhow::{Context as _, Result};
use serde_json::Value;
use trimbench_core::{Bytes, Ppm};
use trimbench_ssd::{Profile, SsdConfig};

use crate::acceptance::ssd::formulas::greedy;
use crate::acceptance::{Bar, Context, Finding, Form, Raw};

/// The drive, and the share of it that is not in use: 224 of 745 GiB.
const DRIVE: &str = "micron-7450-max-800,capacity=16GiB";
const FREE: &str = "30.0671%";
/// Its figures with 521 of 745 GiB in use, rest never written. Source: \[SSDIQ\], `fill.csv`, a row
/// that nothing was fitted to.
const REAL_IOPS: f64 = 254_111.0;
const REAL_AMPLIFICATION: f64 = 1.2764;
const NEAR: f64 = 0.03;
/// As their runs.
const AS_THEIRS: [&str; 1] = ["queue-depth=512"];
/// In percent.
const OVER_PROVISIONING: [u32; 5] = [7, 15, 28, 40, 60];
const PROFILE: &str = "plain-nvme-tlc";
const CLOSED_FORM_CAPACITY: Bytes = Bytes::gib(16);
/// Largest error against the formula.
const MARGIN_PERCENT: f64 = 0.5;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let set = AS_THEIRS.into_iter().flat_map(|set| ["--set", set]);
    let drive: Vec<&str> = ["what-if", DRIVE, "--free", FREE, "--output-format", "json"]
        .into_iter()
        .chain(set)
        .collect();
    context.capture("drive", &mut context.trimbench(&drive)?)?;
    for percent in over_provisioning(context.form()) {
        let drive = format!("{PROFILE},capacity=16GiB,drive.over_provisioning={percent}%");
        let arguments = [
            "what-if",
            &drive,
            "--free",
            "0%",
            "--set",
            "ageing-rounds=60",
            "--output-format",
            "json",
        ];
        context.capture(&format!("closed-{percent}"), &mut context.trimbench(&arguments)?)?;
    }
    Ok(())
}

/// Those of this form.
fn over_provisioning(form: Form) -> impl Iterator<Item = u32> {
    let count = if form == Form::Full { OVER_PROVISIONING.len() } else { 1 };
    OVER_PROVISIONING.into_iter().rev().take(count)
}

/// A number, with the ends of its interval.
fn estimate(row: &Value, key: &str) -> Result<(f64, [f64; 2])> {
    let number = |value: &Value| value.as_f64().with_context(|| format!("no {key}"));
    let of = &row[key];
    Ok((number(&of["value"])?, [number(&of["interval"][0])?, number(&of["interval"][1])?]))
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.capture("drive")?;
    let rows = raw.json(&run.output)?;
    let mut findings = Vec::new();
    for (what, key, real) in [
        ("steady writes a second", "iops", REAL_IOPS),
        ("write amplification", "amplification", REAL_AMPLIFICATION),
    ] {
        let (value, [low, high]) = estimate(&rows[0], key)?;
        let what = format!("7450 MAX with 521 of 745 GiB in use: {what} over the real drive's");
        let note = format!("{value:.4} ({low:.4} to {high:.4}), real {real}");
        let bar = Bar::Near { value: 1.0, share: NEAR };
        findings.push(Finding::new(&what, (value / real, ""), bar, &run).with_note(&note));
        let what = format!("{key}: an interval around it (1: yes)");
        let is_one = low < value && value < high;
        let bar = Bar::Equals(1.0);
        findings.push(Finding::new(&what, (f64::from(u8::from(is_one)), ""), bar, &run));
    }
    for percent in over_provisioning(raw.form()) {
        let run = raw.capture(&format!("closed-{percent}"))?;
        let rows = raw.json(&run.output)?;
        let (value, _) = estimate(&rows[0], "amplification")?;
        let formula = closed_form(percent)?;
        let error = (value / formula - 1.0).abs() * 100.0;
        let what = format!("{percent} % over-provisioning: amplification off the closed form");
        let note = format!("{value:.4}, formula {formula:.4}");
        let bar = Bar::AtMost(MARGIN_PERCENT);
        findings.push(Finding::new(&what, (error, "%"), bar, &run).with_note(&note));
    }
    Ok(findings)
}

/// Greedy collection's write amplification at this over-provisioning, with the half superblock that
/// the collector has open.
fn closed_form(percent: u32) -> Result<f64> {
    let base = Profile::built_in(PROFILE).context("no such profile")?.config;
    let over_provisioning = Ppm(percent * 10_000);
    let config = SsdConfig { capacity: CLOSED_FORM_CAPACITY, over_provisioning, ..base };
    let exported = config.exported_units();
    let superblock = config.superblock_units();
    let physical = exported + over_provisioning.of(exported);
    let superblocks = physical.div_ceil(superblock) as f64;
    let alpha = (superblocks + 0.5) * superblock as f64 / exported as f64;
    Ok(greedy(alpha, u32::try_from(superblock).context("a superblock")?))
}
