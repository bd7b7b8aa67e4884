//! Random loads: which steps come how often, where they go and how long they are.

use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{BlockCommand, Blocks, DISCARD_RANGES_MAX, Data, Lba, LbaRange, Nanos, Ppm};

use super::{HALF, PIECE, PIECE_BLOCKS, Scenario, Size, between, pick, scaled};

/// The commands to the drive, in order.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::soak) enum Step {
    /// A command that the drive must take, as soon as fewer than the queue depth are outstanding.
    Command(BlockCommand),
    /// The same, a discard of several ranges.
    Discards(Vec<LbaRange>),
    /// A command that the drive must refuse.
    Refused(BlockCommand),
    /// So long nothing is submitted.
    Idle(Nanos),
    /// All outstanding commands are waited for.
    Settle,
    /// The same, then the power is cut.
    PowerCut,
    /// The same, then the drive is purged.
    Purge,
}

/// What the drive holds at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::soak) enum Start {
    /// Nothing.
    #[default]
    Fresh,
    /// Data in every unit, written in order.
    Filled,
    /// The same, overwritten once at random.
    Fragmented,
}

/// How often each step comes, in relation to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weights {
    write: u32,
    read: u32,
    discard: u32,
    flush: u32,
    settle: u32,
    idle: u32,
    refused: u32,
    power_cut: u32,
    purge: u32,
}

/// The numbers of a load. Lengths are in mapping units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::soak) struct Load {
    /// The most commands that are outstanding.
    pub(in crate::soak) queue_depth: u32,
    pub(in crate::soak) start: Start,
    weights: Weights,
    idle_max: Nanos,
    /// Share of the drive that is used at all, and share of that which is hot.
    used: Ppm,
    hot: Ppm,
    /// Share of the commands that go to the hot part, and that go on where the last one ended.
    to_hot: Ppm,
    sequential: Ppm,
    /// Share of the commands that begin and end within a unit.
    partial: Ppm,
    length_max: u64,
    /// Share of the commands that may be longer, and how long.
    long: Ppm,
    long_max: u64,
    discard_max: u64,
    /// Share of the discards that have a list of ranges.
    listed: Ppm,
    /// Share of the writes that are stamped; of the others half are compressible.
    stamped: Ppm,
}

impl Load {
    /// The same on a full drive whose last units are left alone for ever: for faults that are
    /// planted there.
    pub(in crate::soak) fn leaving_the_end_alone(self) -> Self {
        let weights = Weights { purge: 0, ..self.weights };
        let (used, start) = (Ppm(900_000), Start::Filled);
        Self { weights, used, start, long_max: 16, discard_max: 16, ..self }
    }
}

pub(super) fn steps(rng: &mut Rng, it: &mut Scenario) {
    let seldom = |rng: &mut Rng, low, high| narrow(scaled(rng, low, high));
    // In a tiny drive everything is checked after each settling.
    let (settle, power_cut, purge) =
        if it.size == Size::Tiny { (250_000, 5_000, 1_000) } else { (1_000, 20, 2) };
    it.load.weights = Weights {
        write: narrow(between(rng, 300_000, 900_000)),
        read: narrow(between(rng, 20_000, 300_000)),
        discard: seldom(rng, 2_000, 200_000),
        flush: seldom(rng, 500, 50_000),
        settle,
        idle: seldom(rng, 50, 2_000),
        refused: 200,
        power_cut,
        purge,
    };
    it.load.idle_max = Nanos(scaled(rng, 1_000, 1_000_000_000));
    it.load.queue_depth = narrow(scaled(rng, 1, 64));
    it.load.start = pick(rng, &[Start::Fresh, Start::Filled, Start::Fragmented]);
    it.load.stamped = pick(rng, &[Ppm::ONE, Ppm(900_000), HALF]);
}

pub(super) fn addresses(rng: &mut Rng, it: &mut Scenario) {
    it.load.used = if rng.chance(HALF) { Ppm::ONE } else { share(rng, 200_000, 1_000_000) };
    it.load.hot = share(rng, 10_000, 500_000);
    it.load.to_hot = pick(rng, &[Ppm(0), HALF, Ppm(900_000)]);
    it.load.sequential = pick(rng, &[Ppm(0), Ppm(20_000), HALF, Ppm(990_000)]);
}

pub(super) fn lengths(rng: &mut Rng, it: &mut Scenario) {
    it.load.partial = pick(rng, &[Ppm(0), Ppm(50_000), HALF]);
    it.load.length_max = pick(rng, &[1, 1, 1, 2, 8]);
    it.load.long = share(rng, 100, 5_000);
    it.load.long_max = scaled(rng, 2, 256);
    it.load.discard_max = scaled(rng, 1, it.pieces());
}

pub(super) fn lists(rng: &mut Rng, it: &mut Scenario) {
    it.load.listed = pick(rng, &[Ppm(0), Ppm(50_000), HALF]);
}

fn share(rng: &mut Rng, low: u64, high: u64) -> Ppm {
    Ppm(narrow(scaled(rng, low, high)))
}

/// The steps of a load, without end. What comes does not depend on what became of what came before.
#[derive(Clone, Debug)]
pub(in crate::soak) struct Steps {
    load: Load,
    rng: Rng,
    /// How likely each kind of step and those before it are, in the order of [`Weights`].
    until: [u64; 9],
    /// In logical blocks.
    capacity: u64,
    discard_max: u64,
    /// In mapping units.
    used: u64,
    hot: u64,
    /// Where the last command ended, in mapping units.
    cursor: u64,
    generation: u32,
}

impl Steps {
    pub(in crate::soak) fn new(scenario: &Scenario, rng: Rng) -> Self {
        let Weights { write, read, discard, flush, settle, idle, refused, power_cut, purge } =
            scenario.load.weights;
        let mut sum = 0;
        let until = [write, read, discard, flush, settle, idle, refused, power_cut, purge];
        let until = until.map(|weight| {
            sum += u64::from(weight);
            sum
        });
        let used = scenario.load.used.of(scenario.pieces()).max(1);
        Self {
            load: scenario.load,
            rng,
            until,
            capacity: scenario.pieces() * PIECE_BLOCKS,
            discard_max: scenario.drive.trim.command_max.0 / PIECE * PIECE_BLOCKS,
            used,
            hot: scenario.load.hot.of(used).max(1),
            cursor: 0,
            generation: 0,
        }
    }

    /// The next step.
    pub(in crate::soak) fn next_step(&mut self) -> Step {
        let chosen = self.rng.below(self.until[self.until.len() - 1]);
        let kind = self.until.iter().position(|&until| chosen < until);
        match kind.expect("below the last of the sums") {
            0 => Step::Command(self.write()),
            1 => Step::Command(BlockCommand::Read(self.range())),
            2 if self.rng.chance(self.load.listed) => Step::Discards(self.discarded_list()),
            2 => Step::Command(BlockCommand::Discard(self.discarded(self.discard_max))),
            3 => Step::Command(BlockCommand::Flush),
            4 => Step::Settle,
            5 => Step::Idle(Nanos(scaled(&mut self.rng, 1, self.load.idle_max.0))),
            6 => Step::Refused(self.refused()),
            7 => Step::PowerCut,
            _ => Step::Purge,
        }
    }

    fn write(&mut self) -> BlockCommand {
        let range = self.range();
        let data = if self.rng.chance(self.load.stamped) {
            self.generation += 1;
            Data::Stamped(self.generation)
        } else if self.rng.chance(HALF) {
            let percent = self.rng.below(101);
            Data::Compressible(u8::try_from(percent).expect("at most 100"))
        } else {
            Data::Random
        };
        BlockCommand::Write { range, data }
    }

    /// What a read or a write is of.
    fn range(&mut self) -> LbaRange {
        let long = self.rng.chance(self.load.long);
        let longest = if long { self.load.long_max } else { self.load.length_max };
        let units = if longest == 1 { 1 } else { scaled(&mut self.rng, 1, longest) };
        self.place(units)
    }

    /// Of several ranges, which may overlap.
    fn discarded_list(&mut self) -> Vec<LbaRange> {
        let most = self.discard_max.min(DISCARD_RANGES_MAX as u64);
        let count = scaled(&mut self.rng, 1, most);
        (0..count).map(|_| self.discarded(self.discard_max / count)).collect()
    }

    /// So many blocks at most.
    fn discarded(&mut self, most: u64) -> LbaRange {
        let units = scaled(&mut self.rng, 1, self.load.discard_max);
        let range = self.place(units);
        let length = range.length().0.min(most);
        LbaRange::new(range.start(), Blocks(length)).expect("a part of a range")
    }

    /// Somewhere on the drive, so long at most.
    fn place(&mut self, units: u64) -> LbaRange {
        let start = if self.rng.chance(self.load.sequential) {
            self.cursor
        } else if self.rng.chance(self.load.to_hot) {
            self.rng.below(self.hot)
        } else {
            self.rng.below(self.used)
        };
        self.cursor = (start + units) % self.used;
        let (mut first, mut end) = (start * PIECE_BLOCKS, (start + units) * PIECE_BLOCKS);
        if self.rng.chance(self.load.partial) {
            first += self.rng.below(PIECE_BLOCKS);
            end = (end - self.rng.below(PIECE_BLOCKS)).max(first + 1);
        }
        let length = Blocks(end.min(self.capacity) - first);
        LbaRange::new(Lba(first), length).expect("at least one block")
    }

    /// A command that ends beyond the drive, or a discard that is longer than it takes.
    fn refused(&mut self) -> BlockCommand {
        let beyond = self.capacity + 1 + self.rng.below(self.capacity);
        let range = |start: u64, end: u64| {
            LbaRange::new(Lba(start), Blocks(end - start)).expect("at least one block")
        };
        let across = range(self.rng.below(self.capacity), beyond);
        match self.rng.below(4) {
            0 => BlockCommand::Read(across),
            1 => BlockCommand::write(across),
            2 if self.discard_max < self.capacity => {
                BlockCommand::Discard(range(0, self.discard_max + PIECE_BLOCKS))
            }
            _ => BlockCommand::Discard(across),
        }
    }
}
