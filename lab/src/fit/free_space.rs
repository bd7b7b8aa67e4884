//! What free space buys: beside a real drive with a part of it in use, and beside the closed form
//! of greedy collection over all over-provisioning.

use anyhow::{Context as _, Result};
use serde::Deserialize;
use tests::theory::greedy;
use trimbench_core::units::narrow;
use trimbench_core::{Bytes, Ppm};
use trimbench_ssd::{Profile, SsdConfig};

use super::SOURCES;
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "free_space",
    title: "`what-if` says of free space what theory says, and a real drive, to which nothing was \
            fitted",
    needs: &[],
    sources: SOURCES,
    run,
};

/// The drive, and the share of it that is not in use: 224 of 745 GiB.
const DRIVE: &str = "micron-7450-max-800,capacity=16GiB";
const FREE: &str = "30.0671%";
/// With 521 of 745 GiB in use, rest never written. Source: \[SSDIQ\], `fill.csv`, a row that
/// nothing was fitted to.
const REAL_IOPS: f64 = 254_111.0;
const REAL_AMPLIFICATION: f64 = 1.2764;
const NEAR: f64 = 0.03;
/// In percent.
const OVER_PROVISIONING: [u32; 5] = [60, 40, 28, 15, 7];
const PROFILE: &str = "plain-nvme-tlc";
/// Largest error against the formula.
const MARGIN_PERCENT: f64 = 0.5;

/// What `what-if` says of a share of free space.
#[derive(Debug, Deserialize)]
struct FreeSpace {
    iops: Estimate,
    amplification: Estimate,
}

/// A number and the ends of its interval.
#[derive(Debug, Deserialize)]
struct Estimate {
    value: f64,
    interval: [f64; 2],
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let FreeSpace { iops, amplification } = what_if(lab, DRIVE, FREE, "queue-depth=512")?;
    for (what, found, real) in [
        ("steady writes a second", iops, REAL_IOPS),
        ("write amplification", amplification, REAL_AMPLIFICATION),
    ] {
        let Estimate { value, interval: [low, high] } = found;
        let name = format!("7450 MAX with 521 of 745 GiB in use: {what} over the real drive's");
        let note = format!("{value:.4} ({low:.4} to {high:.4}), real {real}");
        let bar = Bar::Near { value: 1.0, share: NEAR };
        figures.push(Figure::new(name, (value / real, ""), bar).with_note(note));
        let is_within = f64::from(u8::from(low < value && value < high));
        let name = format!("{what}: an interval around it (1: yes)");
        figures.push(Figure::new(name, (is_within, ""), Bar::Equals(1.0)));
    }
    let base = Profile::built_in(PROFILE).context("no such profile")?.config;
    let plain = SsdConfig { capacity: Bytes::gib(16), ..base };
    for &percent in lab.form(&OVER_PROVISIONING[..1], &OVER_PROVISIONING) {
        let drive = format!("{PROFILE},capacity=16GiB,drive.over_provisioning={percent}%");
        let value = what_if(lab, &drive, "0%", "ageing-rounds=60")?.amplification.value;
        let over_provisioning = Ppm(percent * 10_000);
        let (exported, superblock) = (plain.exported_units(), plain.superblock_units());
        let physical = exported + over_provisioning.of(exported);
        // The collector has half a superblock open.
        let superblocks = physical.div_ceil(superblock) as f64 + 0.5;
        let alpha = superblocks * superblock as f64 / exported as f64;
        let formula = greedy(alpha, narrow(superblock));
        let error = (value / formula - 1.0).abs() * 100.0;
        let what = format!("{percent} % over-provisioning: amplification off the closed form");
        let note = format!("{value:.4}, formula {formula:.4}");
        figures.push(Figure::new(what, (error, "%"), Bar::AtMost(MARGIN_PERCENT)).with_note(note));
    }
    Ok(figures)
}

fn what_if(lab: &Lab<'_>, drive: &str, free: &str, option: &str) -> Result<FreeSpace> {
    let arguments = ["what-if", drive, "--free", free, "--set", option, "--output-format", "json"];
    let output = lab.call_well(&mut lab.trimbench(&arguments)?)?;
    let rows: Vec<FreeSpace> = serde_json::from_str(&output.stdout).context("read the answer")?;
    rows.into_iter().next().context("no share")
}
