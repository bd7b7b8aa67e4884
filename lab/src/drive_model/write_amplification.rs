//! Write amplification in steady state beside closed forms: more drives, policies and patterns than
//! the tests of `trimbench-ssd` have.
//!
//! Everything is written by preconditioning, in no time: what is counted does not depend on time,
//! and a drive is filled dozens of times in seconds. The drive's numbers are those of a profile; of
//! them only capacity, over-provisioning, superblock and policy matter here.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use tests::theory;
use trimbench_core::rng::Rng;
use trimbench_core::units::{index, narrow};
use trimbench_core::{Bytes, Ppm};
use trimbench_ssd::VictimPolicy::{self, DChoices, Fifo, Greedy};
use trimbench_ssd::{GcConfig, Geometry, PreconditionStep, Profile, SsdConfig};

use crate::entry::{DRIVES, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "write_amplification",
    title: "Write amplification agrees with closed forms: uniform writes under three policies, \
            skewed ones under FIFO, and both greedy and FIFO collection beside trimmed space",
    needs: &[],
    sources: DRIVES,
    run,
};

/// Largest error against a formula, and the same with the half superblock that garbage collection
/// has open: on average it is half full of valid data, besides the closed ones when a victim is
/// chosen.
const MARGIN_PERCENT: f64 = 0.5;
const MARGIN_WITH_OPEN_PERCENT: f64 = 0.25;
const OPEN: f64 = 0.5;
/// In tenths of a percent.
const OVER_PROVISIONING: [u32; 4] = [70, 125, 200, 280];
const POLICIES: [VictimPolicy; 4] = [Fifo, Greedy, DChoices(2), DChoices(10)];
const SKEWED: [Traffic; 2] = [Traffic::HotCold(80), Traffic::HotCold(90)];
const TRIMMED: [Traffic; 6] = [
    Traffic::Deallocating(10),
    Traffic::Deallocating(20),
    Traffic::Deallocating(30),
    Traffic::Trimmed(10),
    Traffic::Trimmed(13),
    Traffic::Trimmed(25),
];
/// Capacities in GiB, and units a superblock; the largest ones make 2048 superblocks of each.
const SIZES: [(u64, [u32; 3]); 2] = [(8, [64, 256, 1024]), (32, [256, 1024, 4096])];
/// Bytes of a mapping unit.
const UNIT: u64 = 4096;
/// Operations before anything is counted, in drive fills: \[FRAN12\]'s share in use comes to rest
/// at a rate of 1 - q a fill.
const WARM_UP: u64 = 12;
/// The profile of all parameters that do not matter here.
const PROFILE: &str = "plain-nvme-tlc";

/// What is written and trimmed, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traffic {
    /// Whole units, uniform over the drive.
    Uniform,
    /// So much of the writes to the rest of the space, uniform within.
    HotCold(u32),
    /// Each step trims a random unit in use with this probability, and else writes a random unit.
    Deallocating(u32),
    /// So much of the drive is trimmed and never written again; writes are uniform over the rest.
    Trimmed(u32),
}

/// A drive and its load.
#[derive(Clone, Copy, Debug)]
struct SteadyDrive {
    policy: VictimPolicy,
    traffic: Traffic,
    capacity_gib: u64,
    /// Units a superblock.
    units: u32,
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let [least, .., most] = OVER_PROVISIONING;
    let (mut figures, mut worst_with_open) = (Vec::new(), 0.0_f64);
    for drive in drives(lab.is_short()) {
        let trims = matches!(drive.traffic, Traffic::Deallocating(_) | Traffic::Trimmed(_));
        let ratios = match (lab.is_short(), trims) {
            (true, true) => &[least][..],
            (true, false) | (false, true) => &[least, most],
            (false, false) => &OVER_PROVISIONING,
        };
        let (mut worst, mut note) = (0.0_f64, String::from("over-provisioning: measured, error:"));
        for &ratio in ratios {
            let (measured, [error, with_open]) = drive.measure(Ppm(ratio * 1_000))?;
            worst = worst.max(error.abs());
            if !trims {
                worst_with_open = worst_with_open.max(with_open.abs());
            }
            write!(note, " {} %: {measured:.4}, {error:+.2} %;", f64::from(ratio) / 10.0)?;
        }
        let SteadyDrive { policy, traffic, capacity_gib, units } = drive;
        let what = format!(
            "largest error of write amplification: {policy:?}, {traffic:?}, {capacity_gib} GiB, \
             {units} units a superblock"
        );
        let bar = Bar::AtMost(MARGIN_PERCENT);
        figures.push(Figure::new(what, (worst, "%"), bar).with_note(note));
    }
    let what = "the largest error of all without TRIM, with the half superblock that the \
                collector has open";
    figures.push(Figure::new(what, (worst_with_open, "%"), Bar::AtMost(MARGIN_WITH_OPEN_PERCENT)));
    Ok(figures)
}

fn drives(is_short: bool) -> Vec<SteadyDrive> {
    let mut drives = Vec::new();
    for (capacity_gib, sizes) in SIZES.into_iter().take(if is_short { 1 } else { SIZES.len() }) {
        let [smallest, _, largest] = sizes;
        let of = |policy, traffic, units| SteadyDrive { policy, traffic, capacity_gib, units };
        for policy in POLICIES {
            // Few superblocks are the hardest: the short form has one of many beside them, and two
            // choices are twice as much work as any other.
            let is_chosen = |units: &u32| {
                !(is_short && *units != largest && policy != Greedy
                    || *units == smallest && policy == DChoices(2))
            };
            let sizes = sizes.into_iter().filter(is_chosen);
            drives.extend(sizes.map(|units| of(policy, Traffic::Uniform, units)));
        }
        drives.extend(SKEWED.map(|traffic| of(Fifo, traffic, largest)));
    }
    let is_chosen = |traffic: &Traffic| {
        !is_short || !matches!(traffic, Traffic::Trimmed(percent) if *percent != 13)
    };
    for traffic in TRIMMED.into_iter().filter(is_chosen) {
        let of = |policy, units| SteadyDrive { policy, traffic, capacity_gib: 8, units };
        if is_short {
            drives.push(of(Greedy, 1024));
        } else {
            drives.extend([of(Greedy, 256), of(Fifo, 256)]);
        }
    }
    drives
}

impl SteadyDrive {
    /// Write amplification in steady state, and its error against the closed form in percent:
    /// without and with the half superblock that is open.
    fn measure(self, over_provisioning: Ppm) -> Result<(f64, [f64; 2])> {
        let base = Profile::built_in(PROFILE).context("no such profile")?.config;
        let superblock = Bytes(u64::from(self.units) * UNIT);
        let capacity = Bytes::gib(self.capacity_gib);
        let config = SsdConfig {
            capacity,
            over_provisioning,
            geometry: Geometry { superblock, ..base.geometry },
            gc: GcConfig { policy: self.policy, separate_hot: false, ..base.gc },
            ..base
        };
        let exported = config.exported_units();
        // Whole superblocks; the reserve of the collector is beyond them.
        let physical = exported + over_provisioning.of(exported);
        let superblocks = physical.div_ceil(u64::from(self.units)) as f64;
        // The label is part of the seed: figures that were published are of this one.
        let rng = Rng::new(1).split("evidence");
        let mut steps = Steps { traffic: self.traffic, rng, in_use: vec![true; index(exported)] };
        let mut ssd = config.build()?;
        ssd.precondition_sequential(Bytes(0), capacity);
        if let Traffic::Trimmed(percent) = self.traffic {
            let trimmed = 0..narrow(steps.share(percent));
            ssd.precondition_with(trimmed.map(PreconditionStep::Discard));
        }
        // As many units are counted on a small drive as on half of a large one.
        let counted = if self.capacity_gib < 16 { 6 } else { 3 };
        ssd.precondition_with((0..WARM_UP * exported).map(|_| steps.next()));
        let before = ssd.counters();
        ssd.precondition_with((0..counted * exported).map(|_| steps.next()));
        let measured = ssd.counters().waf_since(&before).context("nothing was written")?;
        ssd.check();
        let alpha = |more| (superblocks + more) * f64::from(self.units) / exported as f64;
        let error = |more| (measured / self.expected(alpha(more)) - 1.0) * 100.0;
        Ok((measured, [0.0, OPEN].map(error)))
    }

    /// The closed form's, with this ratio of physical to exported units.
    fn expected(self, alpha: f64) -> f64 {
        let share = |percent: u32| f64::from(percent) / 100.0;
        let in_use = match self.traffic {
            Traffic::Deallocating(percent) => theory::share_in_use(share(percent)),
            Traffic::Trimmed(percent) => 1.0 - share(percent),
            Traffic::Uniform | Traffic::HotCold(_) => 1.0,
        };
        let alpha = alpha / in_use;
        match (self.traffic, self.policy) {
            (Traffic::HotCold(percent), _) => {
                let hot = share(percent);
                theory::fifo_of_classes(alpha, &[(hot, 1.0 - hot), (1.0 - hot, hot)])
            }
            (_, Greedy) => theory::greedy(alpha, self.units),
            (_, DChoices(choices)) => theory::d_choices(alpha, self.units, choices),
            _ => theory::fifo(alpha),
        }
    }
}

/// Where the next step goes.
struct Steps {
    traffic: Traffic,
    rng: Rng,
    /// Whether a unit holds data, where units are deallocated one by one.
    in_use: Vec<bool>,
}

impl Steps {
    /// So many units of all.
    fn share(&self, percent: u32) -> u64 {
        self.in_use.len() as u64 * u64::from(percent) / 100
    }

    fn next(&mut self) -> PreconditionStep {
        let all = self.in_use.len() as u64;
        let unit = match self.traffic {
            Traffic::Uniform => self.rng.below(all),
            Traffic::HotCold(percent) => {
                let hot = self.share(100 - percent);
                let in_hot = self.rng.below(100) < u64::from(percent);
                if in_hot { self.rng.below(hot) } else { hot + self.rng.below(all - hot) }
            }
            Traffic::Trimmed(percent) => {
                let first = self.share(percent);
                first + self.rng.below(all - first)
            }
            Traffic::Deallocating(percent) => {
                let trims = self.rng.below(100) < u64::from(percent);
                let mut unit = self.rng.below(all);
                while trims && !self.in_use[index(unit)] {
                    unit = self.rng.below(all);
                }
                self.in_use[index(unit)] = !trims;
                if trims {
                    return PreconditionStep::Discard(narrow(unit));
                }
                unit
            }
        };
        PreconditionStep::Write(narrow(unit))
    }
}
