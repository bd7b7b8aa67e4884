//! The load on a drive, and the metrics that are measured.

use trimbench_core::rng::Rng;

use super::numbers::CAPACITY_UNITS;

/// Random reads in a closed loop, and concurrent sequential writes of whole groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Reads outstanding.
    pub(super) read_depth: usize,
    /// Units of a read, which begins at a multiple of them.
    pub(super) read_units: u64,
    /// Reads to complete.
    pub(super) reads: usize,
    pub(super) writes: Writes,
    pub(super) seed: u64,
}

/// Concurrent writes, of 64 KiB each.
#[derive(Clone, Copy, Debug)]
pub(super) enum Writes {
    None,
    /// One after so many ns, whatever happens.
    Every(u64),
    /// So many outstanding.
    Depth(usize),
}

/// Where the reads go: the same for whoever is compared.
#[derive(Debug)]
pub(super) struct Reads {
    rng: Rng,
    units: u64,
    first: u64,
    places: u64,
}

impl Reads {
    pub(super) fn new(load: &Load) -> Self {
        let (units, first) = (load.read_units, CAPACITY_UNITS / 2);
        let places = (CAPACITY_UNITS - first) / units;
        Self { rng: Rng::new(load.seed).split("reads"), units, first, places }
    }

    pub(super) fn next_unit(&mut self) -> u64 {
        self.first + self.rng.below(self.places) * self.units
    }
}

/// Completions in their order: when, and after how long. Times in ns.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) reads: Vec<(u64, u64)>,
    pub(super) writes: Vec<(u64, u64)>,
}

impl Measured {
    pub(super) fn add(&mut self, is_read: bool, submitted: u64, at: u64) {
        let completions = if is_read { &mut self.reads } else { &mut self.writes };
        completions.push((at, at - submitted));
    }
}
