//! What one configuration is: a random drive, a random load and what goes wrong.
//!
//! Each [`Dimension`] draws its part with a generator of its own, by its name, so that a new one
//! does not change what the others draw. They draw in the order of [`DIMENSIONS`]; a later one may
//! look at what an earlier one drew. Whatever comes out must be a drive that can be built.

mod drive;
mod load;

use trimbench_core::fault::FaultPlan;
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Ppm, TrimPromise};
use trimbench_ssd::{Media, Profile, SsdConfig, TrimMode, TrimmedReads, VictimPolicy};

pub(super) use load::{Load, Start, Step, Steps};

#[cfg(test)]
mod tests;

/// Bytes of a piece: the smallest mapping unit. Larger ones are several pieces.
pub(super) const PIECE: u64 = 4_096;
/// Logical blocks of a piece.
pub(super) const PIECE_BLOCKS: u64 = 8;
const HALF: Ppm = Ppm(500_000);
const QUARTER: Ppm = Ppm(250_000);

/// How large the drive is, and how long it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// 8 to 24 superblocks of at most 1 MiB, so that every invariant can be checked after every
    /// step.
    Tiny,
    /// Up to 128 MiB, so that a long run writes it over many times.
    Small,
}

/// A configuration. Its text is what a violation prints.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scenario {
    pub(super) size: Size,
    pub(super) drive: SsdConfig,
    pub(super) load: Load,
    pub(super) faults: FaultPlan,
}

/// Something in which configurations differ.
#[derive(Clone, Copy, Debug)]
struct Dimension {
    /// Names its random numbers: another name draws others.
    name: &'static str,
    draw: fn(&mut Rng, &mut Scenario),
}

const DIMENSIONS: [Dimension; 31] = [
    Dimension { name: "mapping-unit", draw: drive::mapping_unit },
    Dimension { name: "geometry", draw: drive::geometry },
    Dimension { name: "capacity", draw: drive::capacity },
    Dimension { name: "over-provisioning", draw: drive::over_provisioning },
    Dimension { name: "timing", draw: drive::timing },
    Dimension { name: "host", draw: drive::host },
    Dimension { name: "write-buffer", draw: drive::write_buffer },
    Dimension { name: "power-loss-protection", draw: drive::power_loss_protection },
    Dimension { name: "collector", draw: drive::gc },
    Dimension { name: "slc-cache", draw: drive::slc_cache },
    Dimension { name: "compression", draw: drive::compression },
    Dimension { name: "victims", draw: drive::victims },
    Dimension { name: "separation", draw: drive::separation },
    Dimension { name: "collection", draw: drive::collection },
    Dimension { name: "firmware", draw: drive::firmware },
    Dimension { name: "suspension", draw: drive::suspension },
    Dimension { name: "mapping-cache", draw: drive::mapping_cache },
    Dimension { name: "trim-mode", draw: drive::trim_mode },
    Dimension { name: "trim-cost", draw: drive::trim_cost },
    Dimension { name: "trim-bound", draw: drive::trim_bound },
    Dimension { name: "trim-granularity", draw: drive::trim_granularity },
    Dimension { name: "trim-tail", draw: drive::trim_tail },
    Dimension { name: "reads", draw: |rng, it| it.drive.contents.reads = pick(rng, &READS) },
    Dimension { name: "promise", draw: |rng, it| it.drive.contents.promise = pick(rng, &PROMISES) },
    Dimension { name: "media", draw: drive::media },
    Dimension { name: "trim-arbitration", draw: drive::trim_arbitration },
    Dimension { name: "steps", draw: load::steps },
    Dimension { name: "addresses", draw: load::addresses },
    Dimension { name: "lengths", draw: load::lengths },
    Dimension { name: "lists", draw: load::lists },
    Dimension { name: "faults", draw: drive::faults },
];

const READS: [TrimmedReads; 3] =
    [TrimmedReads::Zeroes, TrimmedReads::OldData, TrimmedReads::Unstable];
const PROMISES: [TrimPromise; 3] =
    [TrimPromise::Unknown, TrimPromise::Deterministic, TrimPromise::Zeroes];

impl Scenario {
    /// What these random numbers make; much the same features at either size.
    pub(super) fn draw(rng: &Rng, size: Size) -> Self {
        let base = Profile::built_in("plain-nvme-tlc").expect("a built-in profile").config;
        let (load, faults) = (Load::default(), FaultPlan::default());
        let mut scenario = Self { size, drive: base, load, faults };
        for Dimension { name, draw } in DIMENSIONS {
            draw(&mut rng.split(name), &mut scenario);
        }
        scenario
    }

    /// Pieces that the host addresses.
    pub(super) fn pieces(&self) -> u64 {
        self.drive.capacity.0 / PIECE
    }

    /// Pieces of a mapping unit.
    pub(super) fn unit_pieces(&self) -> u64 {
        self.drive.mapping_unit.0 / PIECE
    }

    /// Whether a TRIM changes what a unit holds.
    pub(super) fn trims(&self) -> bool {
        let idle = matches!(self.drive.trim.mode, TrimMode::None | TrimMode::Ignored);
        self.drive.media == Media::Flash && !idle
    }

    /// Whether victims are searched for by many superblocks at once, unless a drive is told to
    /// search plainly.
    pub(super) fn searches_vectorised(&self) -> bool {
        let policy = self.drive.gc.policy;
        self.drive.media == Media::Flash
            && self.drive.compression.is_none()
            && matches!(
                policy,
                VictimPolicy::Greedy | VictimPolicy::CostBenefit | VictimPolicy::CostBenefitRoot
            )
    }
}

/// One of these, each as likely.
fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[index(rng.below(from.len() as u64))]
}

/// From the first to the last, both included, each as likely.
fn between(rng: &mut Rng, low: u64, high: u64) -> u64 {
    low + rng.below(high - low + 1)
}

/// From the first to the last, both included, each power of two about as likely.
fn scaled(rng: &mut Rng, low: u64, high: u64) -> u64 {
    let bits = between(rng, low.max(1).ilog2().into(), high.max(1).ilog2().into());
    between(rng, low.max(1 << bits), high.min((2 << bits) - 1))
}
