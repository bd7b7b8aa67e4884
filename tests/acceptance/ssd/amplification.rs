//! Drives in steady state and their counters: the raw output of `ssd.1` and `ssd.2`.
//!
//! Everything is written by preconditioning, in no time: what is counted does not depend on time,
//! and a drive is filled dozens of times in seconds. The drive's numbers are those of a profile; of
//! them only capacity, over-provisioning, superblock and policy matter here.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use trimbench_core::rng::Rng;
use trimbench_core::units::{index, narrow};
use trimbench_core::{Bytes, Ppm};
use trimbench_ssd::{
    DriveCounters, GcConfig, Geometry, PreconditionStep, Profile, Ssd, SsdConfig, VictimPolicy,
};

use crate::acceptance::Context;

/// Bytes of a mapping unit.
const UNIT: u64 = 4096;
/// Operations before anything is counted, in drive fills: \[FRAN12\]'s share in use comes to rest
/// at a rate of 1 - q a fill.
const WARM_UP: u64 = 12;
/// The profile of all parameters that do not matter here.
const PROFILE: &str = "plain-nvme-tlc";

/// A policy of garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Policy {
    Greedy,
    Fifo,
    CostBenefit,
    DChoices(u32),
}

/// What is written and trimmed, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Traffic {
    /// Whole units, uniform over the drive.
    Uniform,
    /// So much of the writes to the rest of the space, uniform within.
    HotCold(u32),
    /// Each step trims a random unit in use with this probability, and else writes a random unit.
    Deallocating(u32),
    /// So much of the drive is trimmed and never written again; writes are uniform over the rest.
    Trimmed(u32),
    /// From the first unit to the last, twice.
    Sequential,
    /// The same after torture.
    Healing,
}

/// A drive and its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) policy: Policy,
    pub(super) traffic: Traffic,
    pub(super) capacity_gib: u64,
    /// Units a superblock.
    pub(super) units: u32,
    /// In tenths of a percent.
    pub(super) over_provisioning: u32,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    #[serde(flatten)]
    pub(super) cell: Cell,
    /// Logical units.
    pub(super) exported: u64,
    /// Superblocks without those reserved for garbage collection.
    pub(super) superblocks: u64,
    /// Write amplification of successive parts.
    pub(super) parts: Vec<f64>,
}

impl Measured {
    /// Write amplification over all parts, which have the same length.
    pub(super) fn amplification(&self) -> f64 {
        self.parts.iter().sum::<f64>() / self.parts.len() as f64
    }

    /// Physical over logical space, with so many superblocks more than there are without reserve.
    pub(super) fn alpha(&self, more: f64) -> f64 {
        (self.superblocks as f64 + more) * f64::from(self.cell.units) / self.exported as f64
    }
}

/// Measures these cells into the raw output of this name, a line each.
pub(super) fn keep(context: &Context<'_>, name: &str, cells: Vec<Cell>) -> Result<()> {
    context.keep(name, || cells.into_iter().map(measure).collect())
}

/// Brings a drive to its steady state and counts.
fn measure(cell: Cell) -> Result<Measured> {
    let config = config(cell)?;
    let exported = config.exported_units();
    // Whole superblocks; the reserve of the collector is beyond them.
    let physical = exported + config.over_provisioning.of(exported);
    let superblocks = physical.div_ceil(u64::from(cell.units));
    let capacity = config.capacity;
    let mut drive = Drive { ssd: config.build()?, exported, rng: Rng::new(1).split("evidence") };
    drive.ssd.precondition_sequential(Bytes(0), capacity);
    let parts = match cell.traffic {
        Traffic::Sequential => drive.pass_twice(),
        Traffic::Healing => {
            drive.apply(&mut Steps::new(Traffic::Uniform, exported), 4 * exported);
            drive.pass_twice()
        }
        traffic => drive.settle(traffic, cell.capacity_gib),
    };
    drive.ssd.check();
    Ok(Measured { cell, exported, superblocks, parts })
}

fn config(cell: Cell) -> Result<SsdConfig> {
    let base = Profile::built_in(PROFILE).context("no such profile")?.config;
    let policy = match cell.policy {
        Policy::Greedy => VictimPolicy::Greedy,
        Policy::Fifo => VictimPolicy::Fifo,
        Policy::CostBenefit => VictimPolicy::CostBenefit,
        Policy::DChoices(count) => VictimPolicy::DChoices(count),
    };
    Ok(SsdConfig {
        capacity: Bytes::gib(cell.capacity_gib),
        over_provisioning: Ppm(cell.over_provisioning * 1_000),
        geometry: Geometry { superblock: Bytes(u64::from(cell.units) * UNIT), ..base.geometry },
        gc: GcConfig { policy, separate_hot: false, ..base.gc },
        ..base
    })
}

/// A drive that was filled once, in order.
struct Drive {
    ssd: Ssd,
    exported: u64,
    rng: Rng,
}

impl Drive {
    /// Write amplification of each part of a run in steady state.
    fn settle(&mut self, traffic: Traffic, capacity_gib: u64) -> Vec<f64> {
        let mut steps = Steps::new(traffic, self.exported);
        self.ssd.precondition_with((0..steps.trimmed()).map(PreconditionStep::Discard));
        // As many units are counted on a small drive as on half of a large one.
        let fills = if capacity_gib < 16 { 6 } else { 3 };
        self.apply(&mut steps, WARM_UP * self.exported);
        (0..2 * fills).map(|_| self.apply(&mut steps, self.exported / 2)).collect()
    }

    /// Write amplification of so many steps.
    fn apply(&mut self, steps: &mut Steps, count: u64) -> f64 {
        let (before, rng) = (self.ssd.counters(), &mut self.rng);
        self.ssd.precondition_with((0..count).map(|_| steps.next(rng)));
        amplification(&self.ssd, &before)
    }

    /// Two passes in order: write amplification of each tenth of each pass.
    fn pass_twice(&mut self) -> Vec<f64> {
        let tenth = |part: u64| narrow(self.exported * part / 10);
        let tenths: Vec<_> = (0..20).map(|part| tenth(part % 10)..tenth(part % 10 + 1)).collect();
        let pass = |units: std::ops::Range<u32>| {
            let before = self.ssd.counters();
            self.ssd.precondition_with(units.map(PreconditionStep::Write));
            amplification(&self.ssd, &before)
        };
        tenths.into_iter().map(pass).collect()
    }
}

fn amplification(ssd: &Ssd, before: &DriveCounters) -> f64 {
    ssd.counters().waf_since(before).unwrap_or(f64::NAN)
}

/// Where the next step goes.
struct Steps {
    traffic: Traffic,
    exported: u64,
    /// Units in use, in no order, and where in this list each unit is; empty unless units are
    /// deallocated one by one.
    in_use: Vec<u32>,
    places: Vec<u32>,
}

impl Steps {
    fn new(traffic: Traffic, exported: u64) -> Self {
        let count = if matches!(traffic, Traffic::Deallocating(_)) { exported } else { 0 };
        let all: Vec<u32> = (0..narrow(count)).collect();
        Self { traffic, exported, in_use: all.clone(), places: all }
    }

    /// So many units of all.
    fn share(&self, percent: u32) -> u64 {
        self.exported * u64::from(percent) / 100
    }

    /// How many units, the first ones, are trimmed before anything else.
    fn trimmed(&self) -> u32 {
        match self.traffic {
            Traffic::Trimmed(percent) => narrow(self.share(percent)),
            _ => 0,
        }
    }

    fn next(&mut self, rng: &mut Rng) -> PreconditionStep {
        let all = self.exported;
        match self.traffic {
            Traffic::Uniform | Traffic::Sequential | Traffic::Healing => {
                PreconditionStep::Write(narrow(rng.below(all)))
            }
            Traffic::HotCold(percent) => {
                let hot = self.share(100 - percent);
                let in_hot = rng.below(100) < u64::from(percent);
                let unit = if in_hot { rng.below(hot) } else { hot + rng.below(all - hot) };
                PreconditionStep::Write(narrow(unit))
            }
            Traffic::Trimmed(percent) => {
                let first = self.share(percent);
                PreconditionStep::Write(narrow(first + rng.below(all - first)))
            }
            Traffic::Deallocating(percent) => {
                let trims = rng.below(100) < u64::from(percent) && !self.in_use.is_empty();
                if trims { self.trim(rng) } else { self.write(rng) }
            }
        }
    }

    fn trim(&mut self, rng: &mut Rng) -> PreconditionStep {
        let place = rng.below(self.in_use.len() as u64);
        let unit = self.in_use.swap_remove(index(place));
        if let Some(&moved) = self.in_use.get(index(place)) {
            self.places[moved as usize] = narrow(place);
        }
        self.places[unit as usize] = u32::MAX;
        PreconditionStep::Discard(unit)
    }

    fn write(&mut self, rng: &mut Rng) -> PreconditionStep {
        let unit = narrow(rng.below(self.exported));
        if self.places[unit as usize] == u32::MAX {
            self.places[unit as usize] = narrow(self.in_use.len() as u64);
            self.in_use.push(unit);
        }
        PreconditionStep::Write(unit)
    }
}

#[cfg(test)]
mod tests;
