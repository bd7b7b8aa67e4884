//! The load, and the emulated drive under it through the device contract.

use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Instant, Lba, LbaRange, Nanos, Tag, Target as _, Virtual,
};
use trimbench_ssd::{Ssd, SsdConfig};

/// Bytes of a mapping unit.
pub(super) const UNIT: u64 = 4_096;
/// Units of a program group: 64 KiB.
pub(super) const GROUP_UNITS: u64 = 16;
/// Units of every drive here: 4 GiB.
pub(super) const CAPACITY_UNITS: u64 = 1 << 20;
/// Groups that writes go to, in order and round: the first half of the drive. Reads go to the other
/// one, so that none finds its data in the buffer.
pub(super) const WRITE_GROUPS: u64 = CAPACITY_UNITS / 2 / GROUP_UNITS;
/// Of each write.
const WRITE: Tag = Tag(u32::MAX);

/// Of reads, in their order: when, and after how long, in ns.
pub(super) type Completions = Vec<(u64, u64)>;

/// Random reads in a closed loop, and concurrent sequential writes of whole groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Reads outstanding.
    pub(super) read_depth: u32,
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
    Depth(u32),
}

/// Where the reads go: the same for whoever is compared.
#[derive(Debug)]
pub(super) struct Reads {
    rng: Rng,
    units: u64,
}

impl Reads {
    pub(super) fn new(load: &Load) -> Self {
        Self { rng: Rng::new(load.seed).split("reads"), units: load.read_units }
    }

    pub(super) fn next_unit(&mut self) -> u64 {
        let first = CAPACITY_UNITS / 2;
        first + self.rng.below((CAPACITY_UNITS - first) / self.units) * self.units
    }
}

/// A filled drive whose next write needs an erase.
pub(super) fn filled(config: &SsdConfig) -> Virtual<Ssd> {
    let mut ssd = config.clone().build().unwrap();
    ssd.precondition_sequential(Bytes(0), config.capacity);
    // What was free is used up.
    ssd.precondition_sequential(Bytes(0), Bytes(config.geometry.superblock.0 * 16));
    Virtual::new(ssd)
}

/// The range of so many units.
pub(super) fn range(first: u64, units: u64) -> LbaRange {
    const UNIT_BLOCKS: u64 = 8;
    LbaRange::new(Lba(first * UNIT_BLOCKS), Blocks(units * UNIT_BLOCKS)).unwrap()
}

/// The group of this number, from the first one again after the last.
pub(super) fn write(number: u64) -> BlockCommand {
    BlockCommand::write(range(number % WRITE_GROUPS * GROUP_UNITS, GROUP_UNITS))
}

/// Runs a load on the emulated drive to its end.
pub(super) fn run(config: &SsdConfig, load: &Load) -> Completions {
    let mut target = filled(config);
    let (mut reads, mut writes) = (Reads::new(load), (0..).map(write));
    let mut submitted = vec![Instant::START; index(load.read_depth.into())];
    // A read that is over is followed by another one with its tag.
    let mut read = |target: &mut Virtual<Ssd>, submitted: &mut [Instant], tag: u32| {
        submitted[index(tag.into())] = target.now();
        let range = range(reads.next_unit(), load.read_units);
        target.submit(Tag(tag), BlockCommand::Read(range)).unwrap();
    };
    let mut write = |target: &mut Virtual<Ssd>| {
        target.submit(WRITE, writes.next().unwrap()).unwrap();
    };
    (0..load.read_depth).for_each(|tag| read(&mut target, &mut submitted, tag));
    let (depth, pace) = match load.writes {
        Writes::None => (0, None),
        Writes::Every(pace) => (0, Some(Nanos(pace))),
        Writes::Depth(depth) => (depth, None),
    };
    (0..depth).for_each(|_| write(&mut target));
    let mut due = pace.map_or(Instant::NEVER, Instant::from_start);
    let (mut completed, mut out) = (Completions::new(), Vec::new());
    while completed.len() < load.reads {
        target.reap(due, &mut out);
        for completion in out.drain(..) {
            if completion.tag != WRITE {
                let begin = submitted[index(completion.tag.0.into())];
                completed.push((completion.at.since_start().0, (completion.at - begin).0));
                read(&mut target, &mut submitted, completion.tag.0);
            } else if depth > 0 {
                write(&mut target);
            }
        }
        if let Some(pace) = pace
            && target.now() >= due
        {
            write(&mut target);
            due += pace;
        }
    }
    completed
}
