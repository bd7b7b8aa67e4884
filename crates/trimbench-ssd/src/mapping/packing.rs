//! Space that units take in a superblock, in a drive that compresses.
//!
//! Space is counted in hundredths of a unit (`points`): a unit that compresses to 46 percent takes
//! 46. A superblock has as many addresses as the best compression may fill, and uses as many as its
//! space allows. The size of one unit of a superblock is their mean: exact if all data compresses
//! alike.
//! 46. A superblock has as many addresses as the best compression may fill, of which those are used
//! that its space allows. What one unit of a superblock takes is their mean: exact where all data
//! compresses alike.

use std::ops::Range;

use super::{Mapping, Stage};
use crate::config::WHOLE;
use crate::counters::DriveCounters;

/// What a superblock has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fill {
    /// Space, with padding: how far it is written.
    points: u32,
    /// Addresses, with those of padding.
    slots: u32,
    /// Space of its units alone.
    data: u32,
    units: u32,
}

impl Fill {
    /// The space of its first `units` units. Sums of successive differences are exact.
    pub(crate) fn space_of(self, units: u32) -> u32 {
        share(self.data, units, self.units)
    }
}

/// `total * part / whole`, nothing of nothing.
fn share(total: u32, part: u32, whole: u32) -> u32 {
    if whole == 0 {
        return 0;
    }
    let product = u64::from(total) * u64::from(part) / u64::from(whole);
    u32::try_from(product).expect("part of the whole superblock, which fits")
}

/// The space of all superblocks.
#[derive(Debug)]
pub(crate) struct Packing {
    fills: Vec<Fill>,
    /// Space of a program group.
    group: u32,
    /// Program groups of a superblock.
    groups: u32,
    /// All space that was ever taken, by units and by padding.
    data: u64,
    padding: u64,
}

impl Packing {
    pub(crate) fn new(superblocks: u64, superblock_units: u64, program_units: u64) -> Self {
        let narrow = |units| u32::try_from(units).expect("checked geometry");
        Self {
            fills: vec![Fill::default(); trimbench_core::units::index(superblocks)],
            group: narrow(program_units) * WHOLE,
            groups: narrow(superblock_units / program_units),
            data: 0,
            padding: 0,
        }
    }

    /// Space of a superblock.
    pub(crate) fn capacity(&self) -> u32 {
        self.group * self.groups
    }

    /// Program groups that were not full before `points` were taken.
    pub(crate) fn groups_left(&self, superblock: u32, points: u32) -> u32 {
        (self.left(superblock) + points).div_ceil(self.group)
    }

    pub(crate) fn fill(&self, superblock: u32) -> Fill {
        self.fills[superblock as usize]
    }

    pub(crate) fn left(&self, superblock: u32) -> u32 {
        self.capacity() - self.fill(superblock).points
    }

    /// The same counters with programs as compression made them.
    pub(crate) fn account(&self, counters: DriveCounters) -> DriveCounters {
        let whole = u64::from(WHOLE);
        let padding_units = self.padding.div_ceil(whole);
        let programmed_units = (self.data + self.padding) / whole;
        let taken = counters.host_written_units + counters.moved_units + padding_units;
        // Never negative: no unit takes more than its size, and padding is rounded up.
        let saved_units = taken - programmed_units;
        DriveCounters { padding_units, saved_units, programmed_units, ..counters }
    }

    /// A superblock takes `units` with `points`; the program groups, numbered through the drive,
    /// that became full by it.
    pub(crate) fn add(&mut self, superblock: u32, units: u32, points: u32) -> Range<u32> {
        let fill = &mut self.fills[superblock as usize];
        fill.data += points;
        fill.units += units;
        fill.slots += units;
        self.data += u64::from(points);
        self.write(superblock, points)
    }

    /// Writes on by `points`; the program groups that became full.
    fn write(&mut self, superblock: u32, points: u32) -> Range<u32> {
        let fill = &mut self.fills[superblock as usize];
        let before = fill.points;
        fill.points += points;
        debug_assert!(fill.points <= self.group * self.groups, "no superblock is overfull");
        let first = superblock * self.groups;
        first + before / self.group..first + (before + points) / self.group
    }

    /// Gives up what is left of the open program group of a superblock; the group, if one was open.
    pub(crate) fn pad_group(&mut self, superblock: u32) -> Option<u32> {
        let open = self.fill(superblock).points % self.group;
        (open > 0).then(|| {
            self.padding += u64::from(self.group - open);
            self.write(superblock, self.group - open).start
        })
    }

    /// As many addresses are given up as that space would have held; how many.
    pub(crate) fn pad_slots(&mut self, superblock: u32) -> u32 {
        let fill = &mut self.fills[superblock as usize];
        let held = share(fill.units, fill.points, fill.data);
        let padded = held.saturating_sub(fill.slots);
        fill.slots += padded;
        padded
    }

    /// The program group of a superblock that has begun and is not full.
    pub(crate) fn open_group(&self, superblock: u32) -> Option<u32> {
        let written = self.fill(superblock).points;
        let has_begun = !written.is_multiple_of(self.group);
        has_begun.then(|| superblock * self.groups + written / self.group)
    }

    /// The program group of a unit.
    pub(crate) fn group_of(&self, superblock: u32, offset: u32) -> u32 {
        let fill = self.fill(superblock);
        let within = share(fill.points, offset, fill.slots) / self.group;
        superblock * self.groups + within.min(self.groups - 1)
    }

    /// How many units' worth of a channel's time `units` of this program group take.
    pub(crate) fn transferred(&self, group: u32, units: u32) -> u32 {
        self.fill(group / self.groups).space_of(units).div_ceil(WHOLE)
    }

    /// A superblock that was collected is empty.
    pub(super) fn clear(&mut self, superblock: u32) {
        self.fills[superblock as usize] = Fill::default();
    }
}

impl Mapping {
    /// Checks that no superblock is overfull and that only free ones are empty.
    pub(super) fn check_packing(&self) {
        let Some(packing) = self.packing() else { return };
        for (fill, stage) in packing.fills.iter().zip(&self.stages) {
            assert!(fill.points <= packing.capacity(), "no superblock is overfull");
            assert_eq!(*fill == Fill::default(), *stage == Stage::Free, "free is empty");
        }
    }
}
