//! What the sources say beside their main figures: \[S3\]'s Vertex 4 at half its speed on a full
//! drive, \[S2\]'s cure for a filesystem without TRIM, \[S1\]'s TRIM that takes less on an idle
//! drive; and what a small drive is worth beside the
//! formula of a large one.

use anyhow::{Context as _, Result};
use trimbench_results::Step;

use crate::acceptance::device::steady::{Drive, profile_of};
use crate::acceptance::runs::Run;
use crate::acceptance::ssd::formulas::greedy;
use crate::acceptance::{Bar, Context, Finding, Raw};

#[cfg(test)]
mod tests;

const VERTEX: &str = "sim:like-vertex4,capacity=4GiB";
/// MB/s below half of the capacity, of \[S3\].
const QUICK: f64 = 200.0;
/// So much of a pass lies below half of the capacity for certain.
const BELOW_HALF: f64 = 0.45;
/// Filesystems whose free space is cured.
const FILESYSTEMS: [&str; 4] = ["ext4", "xfs", "btrfs", "f2fs"];
const FREE_SPACE: &[&str] = &["free-space=90%"];
/// A drive that puts its TRIMs off: 100 ms of work a GiB, for which it takes 30 % of its time under
/// load.
const POSTPONING: &str = "sim:vendor6";
const IDLE: &[&str] = &["ranges=100%", "written=100%", "slice=1ms", "idle-halvings=7"];
/// The work of its TRIM of 2 GiB, s, and that share.
const WORK: f64 = 0.2;
const SHARE: f64 = 0.3;
/// A drive of 128 superblocks.
const SMALL: &str = "sim:plain-nvme-tlc,capacity=2GiB";

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    context.run_well("vertex", "recovery", (VERTEX, &[]))?;
    for filesystem in FILESYSTEMS {
        let target = format!("{filesystem}:sim:like-m4-256,capacity=2GiB");
        context.run_well(filesystem, "recovery", (&target, FREE_SPACE))?;
    }
    context.run_well("postponing", "settle", (POSTPONING, IDLE))?;
    profile_of(context, "plain-nvme-tlc")?;
    context.run_well("small", "steady-state", (SMALL, &["trimmed-shares=0"])).map(drop)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = vertex(&raw.good_run("vertex")?)?;
    for filesystem in FILESYSTEMS {
        findings.extend(cured(filesystem, &raw.good_run(filesystem)?)?);
    }
    let run = raw.good_run("postponing")?;
    let near = |value| Bar::Near { value, share: 0.05 };
    findings.push(run.finding(
        "work of a TRIM, idle",
        (run.value("settle-idle")?, "s"),
        near(WORK),
    ));
    let ratio = run.value("settle-idle-over-loaded")?;
    findings.push(
        run.finding("idle over under load", (ratio, ""), near(SHARE))
            .with_note("[S1]: these times are shorter on an idle drive"),
    );
    findings.extend(small(raw)?);
    Ok(findings)
}

/// The mean of a pass over its part below half of the capacity, MB/s; points are equally long.
fn below_half(pass: &Step) -> Result<f64> {
    let curve = pass.series.get("throughput-address").context("no curve")?;
    let last = curve.x.last().copied().context("an empty curve")?;
    let points = curve.x.iter().zip(&curve.y).filter(|(x, _)| **x <= last * BELOW_HALF);
    let slowness: Vec<f64> = points.filter_map(|(_, y)| y.map(f64::recip)).collect();
    Ok(slowness.len() as f64 / slowness.iter().sum::<f64>())
}

fn vertex(run: &Run) -> Result<Vec<Finding>> {
    let quick = below_half(run.step("fresh")?)?;
    let trimmed = below_half(run.step("trimmed")?)?;
    // The pass before it went over what was fragmented.
    let second = run.throughput("self-healed")?;
    let near = |value, share| Bar::Near { value, share };
    Ok(vec![
        run.finding("Vertex 4 below half full", (quick, "MB/s"), near(QUICK, 0.02))
            .with_note("[S3]: 200 MB/s (fitted)"),
        run.finding(
            "over that, a later pass over a full drive",
            (second / quick, ""),
            near(0.5, 0.1),
        )
        .with_note("[S3]: 200 MB/s fall to around 100"),
        run.finding(
            "over that, below half full after a TRIM",
            (trimmed / quick, ""),
            near(1.0, 0.05),
        ),
    ])
}

fn cured(filesystem: &str, run: &Run) -> Result<Vec<Finding>> {
    let finding = |what: &str, id: &str, bar| -> Result<Finding> {
        Ok(run.finding(&format!("{filesystem}: {what}"), (run.value(id)?, ""), bar))
    };
    let times = run.value("fstrim-time")? / run.value("copy-time")?;
    Ok(vec![
        finding("fragmented over fresh", "fragmented-of-fresh", Bar::AtMost(0.7))?,
        finding("copied and deleted over fresh", "copied-of-fresh", Bar::AtLeast(0.95))?,
        finding("trimmed over fresh", "trimmed-of-fresh", Bar::AtLeast(0.98))?,
        run.finding(
            &format!("{filesystem}: time of fstrim over that of the copy"),
            (times, ""),
            Bar::AtMost(0.05),
        ),
    ])
}

fn small(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.good_run("small")?;
    let Drive { alpha, superblock_units } = Drive::read(raw, &run.session)?;
    let exported = run.session.target.identity.get("capacity").context("no capacity")?;
    let exported: trimbench_core::Bytes = exported.parse().ok().context("a capacity")?;
    let superblock = f64::from(superblock_units) * 4096.0;
    let half = superblock / 2.0 / exported.0 as f64;
    let measured = run.value("write-amplification")?;
    let without = greedy(alpha, superblock_units);
    let value = greedy(alpha + half, superblock_units);
    let note = format!("without the half superblock {:+.2} %", (measured / without - 1.0) * 100.0);
    let bar = Bar::Near { value, share: 0.015 };
    Ok(vec![
        run.finding("write amplification of 128 superblocks", (measured, ""), bar).with_note(&note),
    ])
}
