//! Which units hold data, as bits in a file.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use trimbench_core::units::index;

use crate::drive::BLOCK;

/// Units whose bits are written together.
const GROUP: u64 = 256;

/// Which units hold data, in a file.
#[derive(Debug)]
pub(crate) struct UnitMap {
    file: File,
    /// Where in the file the bits begin.
    start: u64,
    /// Bytes of a unit.
    unit: u64,
    units: u64,
    /// Groups whose bits may have changed.
    changed: BTreeSet<u64>,
}

impl UnitMap {
    /// So many units, each of so many bytes; their bits begin at the byte `start`.
    pub(crate) fn new(file: File, start: u64, (unit, units): (u64, u64)) -> Self {
        Self { file, start, unit, units, changed: BTreeSet::new() }
    }

    /// What these blocks hold may have changed.
    pub(crate) fn change(&mut self, blocks: &Range<u64>) {
        let group = |block: u64| block * BLOCK / self.unit / GROUP;
        if !blocks.is_empty() {
            self.changed.extend(group(blocks.start)..=group(blocks.end - 1));
        }
    }

    /// Writes the bits that may have changed; `holds` says of a unit's first byte whether the unit
    /// holds data.
    pub(crate) fn write(&mut self, mut holds: impl FnMut(u64) -> bool) -> io::Result<()> {
        while let Some(&group) = self.changed.first() {
            let units = group * GROUP..self.units.min((group + 1) * GROUP);
            let mut bits = [0_u8; index(GROUP / 8)];
            for unit in units {
                if holds(unit * self.unit) {
                    bits[index(unit % GROUP / 8)] |= 1 << (unit % 8);
                }
            }
            let length = index(self.units.div_ceil(8) - group * GROUP / 8).min(bits.len());
            self.file.write_all_at(&bits[..length], self.start + group * GROUP / 8)?;
            self.changed.pop_first();
        }
        Ok(())
    }

    /// The bits, eight units a byte.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        let mut bits = vec![0; index(self.units.div_ceil(8))];
        self.file.read_exact_at(&mut bits, self.start)?;
        Ok(bits)
    }
}
