//! The emulated drive under a load, through the device contract.

use anyhow::{Context as _, Result};
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Completion, Instant, Lba, LbaRange, Nanos, Tag, Target, Virtual,
};
use trimbench_ssd::Ssd;

use super::load::{Load, Measured, Reads, Writes};
use super::numbers::{CAPACITY_UNITS, GROUP_UNITS, Numbers, UNIT, WRITE_GROUPS};

/// Logical blocks of a unit.
const UNIT_BLOCKS: u64 = 8;
/// Tags of writes have this bit.
const WRITE: u32 = 1 << 31;

/// A filled drive whose next write needs an erase.
pub(super) fn filled(numbers: &Numbers) -> Result<Virtual<Ssd>> {
    let mut ssd = numbers.config().build()?;
    let superblock = ssd.config().geometry.superblock.0;
    ssd.precondition_sequential(Bytes(0), Bytes(CAPACITY_UNITS * UNIT));
    // What was free is used up.
    ssd.precondition_sequential(Bytes(0), Bytes(superblock * 16));
    Ok(Virtual::new(ssd))
}

/// The range of so many units.
pub(super) fn range(first: u64, units: u64) -> Result<LbaRange> {
    let range = LbaRange::new(Lba(first * UNIT_BLOCKS), Blocks(units * UNIT_BLOCKS));
    range.context("a range on the drive")
}

/// Runs a load to its end.
pub(super) fn run(numbers: &Numbers, load: &Load) -> Result<Measured> {
    let mut driver = Driver {
        target: filled(numbers)?,
        load,
        reads: Reads::new(load),
        writes_begun: 0,
        submitted: Vec::new(),
        vacant: Vec::new(),
        measured: Measured::default(),
    };
    driver.run()?;
    Ok(driver.measured)
}

struct Driver<'a> {
    target: Virtual<Ssd>,
    load: &'a Load,
    reads: Reads,
    writes_begun: u64,
    /// By the tag, without [`WRITE`].
    submitted: Vec<Instant>,
    vacant: Vec<u32>,
    measured: Measured,
}

impl Driver<'_> {
    fn run(&mut self) -> Result<()> {
        for _ in 0..self.load.read_depth {
            self.read()?;
        }
        if let Writes::Depth(depth) = self.load.writes {
            (0..depth).try_for_each(|_| self.write())?;
        }
        let pace = match self.load.writes {
            Writes::Every(pace) => Some(Nanos(pace)),
            _ => None,
        };
        let mut due = pace.map_or(Instant::NEVER, Instant::from_start);
        let mut completions = Vec::new();
        while self.measured.reads.len() < self.load.reads {
            self.target.reap(due, &mut completions);
            for completion in completions.drain(..) {
                self.over(completion)?;
            }
            if let Some(pace) = pace
                && self.target.now() >= due
            {
                self.write()?;
                due += pace;
            }
        }
        Ok(())
    }

    fn read(&mut self) -> Result<()> {
        let first = self.reads.next_unit();
        self.submit(0, BlockCommand::Read(range(first, self.load.read_units)?))
    }

    fn write(&mut self) -> Result<()> {
        let group = self.writes_begun % WRITE_GROUPS;
        self.writes_begun += 1;
        self.submit(WRITE, BlockCommand::write(range(group * GROUP_UNITS, GROUP_UNITS)?))
    }

    fn submit(&mut self, kind: u32, command: BlockCommand) -> Result<()> {
        let now = self.target.now();
        let tag = if let Some(tag) = self.vacant.pop() {
            self.submitted[tag as usize] = now;
            tag
        } else {
            self.submitted.push(now);
            u32::try_from(self.submitted.len() - 1).context("tags run out")?
        };
        self.target.submit(Tag(tag | kind), command).context("submit a command")
    }

    fn over(&mut self, completion: Completion) -> Result<()> {
        let (is_read, tag) = (completion.tag.0 & WRITE == 0, completion.tag.0 & !WRITE);
        let submitted = self.submitted[tag as usize];
        self.vacant.push(tag);
        self.measured.add(is_read, submitted.since_start().0, completion.at.since_start().0);
        match self.load.writes {
            _ if is_read => self.read(),
            Writes::Depth(_) => self.write(),
            _ => Ok(()),
        }
    }
}
