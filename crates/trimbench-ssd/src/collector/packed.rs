//! Collection in a drive that compresses: a unit moves with the space that it takes.

use super::{Collector, Owed, split_bits, unit_of};
use crate::counters::Counters;
use crate::mapping::{Fill, Mapping, Packing};
use crate::nand::Nand;

/// The units of one word of a victim, on their way.
#[derive(Clone, Copy, Debug)]
struct Load {
    first: u32,
    bits: u64,
    /// The space of the victim's units, and how many of them have been moved before.
    from: Fill,
    moved: u32,
}

impl Load {
    /// The space of its first `units` units.
    fn space_of(&self, units: u32) -> u32 {
        self.from.space_of(self.moved + units) - self.from.space_of(self.moved)
    }

    /// How many of its units fit into `space`.
    fn fitting(&self, space: u32) -> u32 {
        let all = self.bits.count_ones();
        (0..=all).rev().find(|&units| self.space_of(units) <= space).unwrap_or(0)
    }
}

impl Collector {
    pub(super) fn collect_packed(
        &mut self,
        victim: u32,
        mapping: &mut Mapping,
        nand: &Nand,
        counters: &mut Counters,
    ) {
        let base = victim * mapping.superblock_units();
        let from = packing(mapping).fill(victim);
        let mut moved = 0;
        for word in 0..mapping.valid_words(victim).len() {
            let bits = mapping.valid_words(victim)[word];
            if bits != 0 {
                self.owe_packed_reads(victim, (unit_of(word), bits), packing(mapping), nand);
                let load = Load { first: base + unit_of(word), bits, from, moved };
                self.move_packed(load, mapping, nand);
                moved += bits.count_ones();
            }
        }
        counters.moved_units += u64::from(moved);
        self.owe_erase(nand);
        mapping.release(victim);
        counters.erased_superblocks += 1;
        packing(mapping).account(counters);
    }

    /// A read is owed for each program group of the word with something valid in it.
    fn owe_packed_reads(
        &mut self,
        victim: u32,
        (first, bits): (u32, u64),
        packing: &Packing,
        nand: &Nand,
    ) {
        let mut owe = |group: u32, units: u32| {
            let (die, units) = (nand.die_of(group), packing.transferred(group, units));
            self.owe([Owed::Read { die, units }]);
        };
        let mut left = bits;
        let mut open: Option<(u32, u32)> = None;
        while left != 0 {
            let group = packing.group_of(victim, first + left.trailing_zeros());
            left &= left - 1;
            open = match open {
                Some((current, units)) if current == group => Some((current, units + 1)),
                before => {
                    if let Some((group, units)) = before {
                        owe(group, units);
                    }
                    Some((group, 1))
                }
            };
        }
        if let Some((group, units)) = open {
            owe(group, units);
        }
    }

    /// Moves the units of a word to the collector's write point, over the end of its superblock if
    /// need be.
    fn move_packed(&mut self, mut load: Load, mapping: &mut Mapping, nand: &Nand) {
        while load.bits != 0 {
            if self.next == self.end {
                self.open(mapping);
            }
            let superblock = self.next / mapping.superblock_units();
            let packing = mapping.packing.as_mut().expect("checked by the caller");
            let count = load.fitting(packing.left(superblock)).min(self.end - self.next);
            let filled = packing.add(superblock, count, load.space_of(count));
            let die = |group| Owed::Program { die: nand.die_of(group) };
            self.owe(filled.map(die));
            let (part, rest) = split_bits(load.bits, count);
            mapping.relocate(load.first, part, self.next);
            self.next += count;
            load = Load { bits: rest, moved: load.moved + count, ..load };
            let packing = mapping.packing.as_mut().expect("checked by the caller");
            if rest != 0 || packing.left(superblock) == 0 {
                let padded = packing.pad_group(superblock);
                self.owe(padded.map(die));
                self.close_packed(mapping);
            }
        }
    }

    /// Nothing more fits into the collector's open superblock.
    fn close_packed(&mut self, mapping: &mut Mapping) {
        let first = self.end - mapping.superblock_units();
        mapping.truncate(first, self.next);
        mapping.close(self.end);
        self.next = self.end;
    }
}

fn packing(mapping: &Mapping) -> &Packing {
    mapping.packing.as_ref().expect("only called in a drive that compresses")
}
