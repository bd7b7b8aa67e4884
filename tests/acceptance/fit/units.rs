//! Large mapping units: write amplification beside the closed form, what a TRIM frees, and how much
//! memory the largest drives take.
//!
//! Writes of w bytes at random multiples of w, with w at most the unit, program a unit each: their
//! write amplification is unit / w times that of collection \[RAGH23\], and greedy collection under
//! uniform random writes has the formula F2 of \[DESN12\]. Writes of several sizes in equal numbers
//! have the mean of the sizes in place of w.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{
    BlockCommand, BlockSize, Bytes, Instant, LbaRange, Ppm, Tag, Target as _, Virtual,
};
use trimbench_ssd::{Geometry, Profile, Ssd, SsdConfig};

use crate::acceptance::ssd::formulas::greedy;
use crate::acceptance::{Bar, Context, Finding, Form, Raw};
use crate::process::resident;

const KIB: u64 = 1 << 10;
/// Mapping units in KiB.
const UNITS: [u64; 2] = [16, 64];
/// Sizes of the writes in KiB; with two of them each is every second one.
const WRITES: [&[u64]; 3] = [&[4], &[16], &[4, 16]];
/// In percent.
const OVER_PROVISIONING: [u32; 2] = [7, 28];
/// Units of a superblock.
const SUPERBLOCK: u32 = 256;
const PROFILE: &str = "plain-nvme-tlc";
/// Drive fills before anything is counted, and counted ones.
const WARM_UP: u64 = 10;
const QUEUE_DEPTH: usize = 32;
/// Largest error against the formula.
const MARGIN_PERCENT: f64 = 0.5;
/// What a drive of 61.44 TB may take.
const LARGE: &str = "sim:generic-nvme-qlc-large,capacity=61.44TB,drive.mapping_unit=64KiB";
const LARGE_CAPACITY: Bytes = Bytes(61_440_000_000_000);
const LARGEST: &str = "sim:generic-nvme-qlc-large,capacity=256TB,drive.mapping_unit=64KiB,\
                       drive.over_provisioning=7%";
const MEMORY_GIB: f64 = 10.0;

/// What came of writes of some sizes.
#[derive(Debug, Serialize, Deserialize)]
struct Amplified {
    unit_kib: u64,
    writes_kib: Vec<u64>,
    /// In percent.
    over_provisioning: u32,
    /// Physical over exported units, without the reserve of garbage collection, with the half
    /// superblock that it has open.
    alpha: f64,
    amplification: f64,
}

/// What TRIMs left, in mapping units.
#[derive(Debug, Serialize, Deserialize)]
struct Trimmed {
    unit_kib: u64,
    granularity_kib: u64,
    full: u64,
    after_pieces: u64,
    after_units: u64,
}

/// What a large drive takes once all of it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Large {
    units: u64,
    mapped: u64,
    announced_gib: f64,
    resident_gib: f64,
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let form = context.form();
    context.keep("amplified", || amplified(form))?;
    context.keep("trimmed", || UNITS.iter().map(|&unit| trimmed(unit)).collect())?;
    if form == Form::Full {
        context.keep("large", || Ok(vec![large()?]))?;
    }
    let mut plan = context.trimbench(&["run", "trim-sweep", "--dry-run", "--target", LARGE])?;
    context.capture("plan", &mut plan)?;
    let mut largest =
        context.trimbench(&["run", "trim-sweep", "--dry-run", "--target", LARGEST])?;
    context.capture("largest", &mut largest).map(drop)
}

fn config(unit_kib: u64, over_provisioning: u32, superblocks: u64) -> Result<SsdConfig> {
    let base = Profile::built_in(PROFILE).context("no such profile")?.config;
    let unit = Bytes(unit_kib * KIB);
    let superblock = Bytes(unit.0 * u64::from(SUPERBLOCK));
    Ok(SsdConfig {
        capacity: Bytes(superblock.0 * superblocks),
        mapping_unit: unit,
        over_provisioning: Ppm(over_provisioning * 10_000),
        geometry: Geometry { superblock, ..base.geometry },
        ..base
    })
}

fn amplified(form: Form) -> Result<Vec<Amplified>> {
    let (superblocks, fills) = match form {
        Form::Acceptance => (256, 3),
        Form::Short => (512, 6),
        Form::Full => (2_048, 8),
    };
    let mut all = Vec::new();
    for unit_kib in UNITS {
        for writes in WRITES {
            for over_provisioning in OVER_PROVISIONING {
                // The smallest form has one of each kind.
                if form == Form::Acceptance && (over_provisioning == 7 || unit_kib == 64) {
                    continue;
                }
                let config = config(unit_kib, over_provisioning, superblocks)?;
                all.push(amplification_of(config, (unit_kib, writes, over_provisioning), fills)?);
            }
        }
    }
    Ok(all)
}

fn amplification_of(
    config: SsdConfig,
    (unit_kib, writes_kib, over_provisioning): (u64, &[u64], u32),
    fills: u64,
) -> Result<Amplified> {
    let exported = config.exported_units();
    let physical = exported + config.over_provisioning.of(exported);
    let superblocks = physical.div_ceil(SUPERBLOCK.into()) as f64;
    let alpha = (superblocks + 0.5) * f64::from(SUPERBLOCK) / exported as f64;
    let mut rng = Rng::new(1).split("units");
    let mut ssd = config.build()?;
    ssd.precondition_random(WARM_UP * exported, &mut rng);
    let mut target = Virtual::new(ssd);
    let before = target.model().counters();
    let writes = (0..fills * exported).map(|number| {
        let size = writes_kib[index(number % writes_kib.len() as u64)].min(unit_kib);
        let first = rng.below(exported) * unit_kib + rng.below(unit_kib / size) * size;
        Ok(BlockCommand::write(range(Bytes(first * KIB), Bytes(size * KIB))?))
    });
    run(&mut target, writes)?;
    let amplification = target.model().counters().waf_since(&before).context("nothing written")?;
    target.model_mut().check();
    let writes_kib = writes_kib.to_vec();
    Ok(Amplified { unit_kib, writes_kib, over_provisioning, alpha, amplification })
}

fn range(offset: Bytes, length: Bytes) -> Result<LbaRange> {
    LbaRange::from_bytes(offset, length, BlockSize::SECTOR).context("whole blocks")
}

/// Runs the commands in their order, so many at once.
fn run(
    target: &mut Virtual<Ssd>,
    commands: impl Iterator<Item = Result<BlockCommand>>,
) -> Result<()> {
    let (mut out, mut under_way) = (Vec::new(), 0);
    for command in commands {
        while under_way == QUEUE_DEPTH {
            target.reap(Instant::NEVER, &mut out);
            under_way -= out.len();
            out.clear();
        }
        target.submit(Tag(0), command?)?;
        under_way += 1;
    }
    while under_way > 0 {
        target.reap(Instant::NEVER, &mut out);
        under_way -= out.len();
        out.clear();
    }
    Ok(())
}

/// TRIMs every 4 KiB by itself, then every unit.
fn trimmed(unit_kib: u64) -> Result<Trimmed> {
    let config = config(unit_kib, 28, 16)?;
    let capacity = config.capacity;
    let granularity_kib = config.capabilities().discard_granularity.0 / KIB;
    let mut ssd = config.build()?;
    ssd.precondition_sequential(Bytes(0), capacity);
    let mut target = Virtual::new(ssd);
    let full = target.model_mut().mapped_units();
    let mut after = |kib: u64| -> Result<u64> {
        let length = Bytes(kib * KIB);
        let pieces = (0..capacity.0 / length.0)
            .map(|number| Ok(BlockCommand::Discard(range(Bytes(number * length.0), length)?)));
        run(&mut target, pieces)?;
        Ok(target.model_mut().mapped_units())
    };
    let (after_pieces, after_units) = (after(4)?, after(unit_kib)?);
    Ok(Trimmed { unit_kib, granularity_kib, full, after_pieces, after_units })
}

fn large() -> Result<Large> {
    let base = Profile::built_in("generic-nvme-qlc-large").context("no such profile")?.config;
    let unit = Bytes(64 * KIB);
    let config = SsdConfig { capacity: LARGE_CAPACITY, mapping_unit: unit, ..base };
    let (units, announced) = (config.exported_units(), config.memory());
    let before = resident()?;
    let mut ssd = config.build()?;
    ssd.precondition_sequential(Bytes(0), LARGE_CAPACITY);
    let (resident, mapped) = (resident()?.0.saturating_sub(before.0), ssd.mapped_units());
    let gib = |bytes: u64| bytes as f64 / Bytes::gib(1).0 as f64;
    Ok(Large { units, mapped, announced_gib: gib(announced.0), resident_gib: gib(resident) })
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let (run, all): (_, Vec<Amplified>) = raw.lines("amplified")?;
    let mut findings = Vec::new();
    for it in &all {
        let mean = it.writes_kib.iter().map(|&kib| kib.min(it.unit_kib)).sum::<u64>() as f64
            / it.writes_kib.len() as f64;
        let formula = it.unit_kib as f64 / mean * greedy(it.alpha, SUPERBLOCK);
        let error = (it.amplification / formula - 1.0).abs() * 100.0;
        let sizes: Vec<String> = it.writes_kib.iter().map(ToString::to_string).collect();
        let what = format!(
            "units of {} KiB, writes of {} KiB, {} % over-provisioning: off the closed form",
            it.unit_kib,
            sizes.join(" and "),
            it.over_provisioning
        );
        let note = format!("measured {:.4}, formula {formula:.4}", it.amplification);
        let bar = Bar::AtMost(MARGIN_PERCENT);
        findings.push(Finding::new(&what, (error, "%"), bar, &run).with_note(&note));
    }
    let (run, all): (_, Vec<Trimmed>) = raw.lines("trimmed")?;
    for it in &all {
        let unit = it.unit_kib;
        let mut add = |what: &str, figure: u64, expected: u64| {
            let (what, bar) =
                (format!("units of {unit} KiB, {what}"), Bar::Equals(expected as f64));
            findings.push(Finding::new(&what, (figure as f64, ""), bar, &run));
        };
        add("that hold data after a TRIM of every 4 KiB by itself", it.after_pieces, it.full);
        add("after a TRIM of every unit", it.after_units, 0);
        add("discard granularity that the drive reports, in KiB", it.granularity_kib, unit);
    }
    if raw.form() == Form::Full {
        let (run, all): (_, Vec<Large>) = raw.lines("large")?;
        let it = all.first().context("no large drive")?;
        let bar = Bar::AtMost(MEMORY_GIB);
        let note = format!("announced {:.2} GiB", it.announced_gib);
        let what = "memory of a drive of 61.44 TB with units of 64 KiB, all written";
        findings.push(Finding::new(what, (it.resident_gib, "GiB"), bar, &run).with_note(&note));
        let what = "its units that hold data";
        let bar = Bar::Equals(it.units as f64);
        findings.push(Finding::new(what, (it.mapped as f64, ""), bar, &run));
    }
    for (name, what) in [("plan", "61.44 TB"), ("largest", "256 TB")] {
        let capture = raw.capture(name)?;
        // Where the machine has less, it is said in the refusal.
        let refused = capture.status != Some(0);
        let said = raw.text(if refused { &capture.errors } else { &capture.output })?;
        let announces = said.contains("memory") && !said.contains("is beyond");
        let what = format!("{what}: the dry run announces its memory");
        let bar = Bar::Equals(1.0);
        findings.push(Finding::new(&what, (f64::from(u8::from(announces)), ""), bar, &capture));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests;
