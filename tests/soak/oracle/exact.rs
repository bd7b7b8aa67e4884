//! The slow and obvious oracle: a map of units, and of those that changed since the last flush what
//! they were then.

use std::collections::BTreeMap;

use trimbench_core::{Content, Data, Lba, LbaRange};
use trimbench_ssd::TrimmedReads;

use super::{BLOCKS, Found, Judgement, Oracle, Rules, lba, touched};
use crate::soak::scenario::{Scenario, UNIT_BLOCKS};

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    /// What it held before contents were kept, by its hash as soon as it was seen.
    Before(Option<u64>),
    /// Bytes that the drive made up, by their hash as soon as they were seen.
    Bytes(Option<u64>),
    Stamp(u32),
    Zeroes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Unit {
    mapped: bool,
    blocks: [Holds; BLOCKS],
}

/// The oracle.
#[derive(Debug)]
pub(in crate::soak) struct Exact {
    rules: Rules,
    /// Contents are kept from the first stamped write on.
    kept: bool,
    /// What is not in the map was never touched.
    untouched: Unit,
    units: BTreeMap<u64, Unit>,
    /// What those that changed since the last flush were then.
    flushed: BTreeMap<u64, Unit>,
}

impl Exact {
    fn unit(&mut self, unit: u64) -> &mut Unit {
        self.units.entry(unit).or_insert(self.untouched)
    }

    /// The unit is about to change.
    fn change(&mut self, unit: u64) -> &mut Unit {
        let now = *self.unit(unit);
        if self.kept && !self.rules.protected {
            self.flushed.entry(unit).or_insert(now);
        }
        self.unit(unit)
    }
}

impl Oracle for Exact {
    fn new(scenario: &Scenario) -> Self {
        let rules = Rules::new(scenario);
        let mapped = rules.filled || rules.always_mapped;
        let untouched = Unit { mapped, blocks: [Holds::Before(None); BLOCKS] };
        Self { rules, kept: false, untouched, units: BTreeMap::new(), flushed: BTreeMap::new() }
    }

    fn write(&mut self, range: LbaRange, data: Data) {
        self.kept |= matches!(data, Data::Stamped(_));
        let (kept, reads) = (self.kept, self.rules.reads);
        for (number, blocks) in touched(range) {
            let unit = self.change(number);
            if kept {
                if !unit.mapped {
                    unit.blocks = unit.blocks.map(|block| revived(block, reads));
                }
                unit.blocks[blocks].fill(match data {
                    Data::Stamped(generation) => Holds::Stamp(generation),
                    Data::Compressible(0) => Holds::Zeroes,
                    Data::Compressible(_) | Data::Random => Holds::Bytes(None),
                });
            }
            unit.mapped = true;
        }
    }

    fn discard(&mut self, range: LbaRange) {
        let Rules { granule, alignment, units, .. } = self.rules;
        let Some(granule) = granule else { return };
        let mut first = alignment;
        while first + granule <= units * UNIT_BLOCKS {
            if range.start().0 <= first && first + granule <= range.end().0 {
                for unit in first / UNIT_BLOCKS..(first + granule) / UNIT_BLOCKS {
                    self.change(unit).mapped = false;
                }
            }
            first += granule;
        }
    }

    fn flush(&mut self) {
        self.flushed.clear();
    }

    fn purge(&mut self) {
        self.kept = false;
        self.untouched.mapped = self.rules.always_mapped;
        self.units.clear();
        self.flushed.clear();
    }

    fn power_cut(&mut self, mut look: impl FnMut(u64) -> Found) -> Judgement {
        for (number, before) in std::mem::take(&mut self.flushed) {
            let found = look(number);
            let Err(now) = self.judge(number, &found) else { continue };
            *self.unit(number) = before;
            let then = self.judge(number, &found);
            then.map_err(|then| format!("neither as before the cut ({now}), nor ({then})"))?;
        }
        Ok(())
    }

    fn mapped_units(&self) -> u64 {
        let touched = self.units.values().filter(|unit| unit.mapped).count() as u64;
        let others = self.rules.units - self.units.len() as u64;
        touched + if self.untouched.mapped { others } else { 0 }
    }

    fn judge(&mut self, number: u64, found: &Found) -> Judgement {
        let (kept, reads) = (self.kept, self.rules.reads);
        let unit = self.unit(number);
        let Some(blocks) = &found.blocks else {
            let agrees = !kept && found.mapped == unit.mapped;
            return agrees.then_some(()).ok_or_else(|| format!("unit {number}: {found:?}"));
        };
        if found.mapped != unit.mapped {
            return Err(format!("unit {number} holds data: {}", found.mapped));
        }
        // What is seen for the first time is remembered only if all of it agrees.
        let mut seen = *unit;
        for (block, (&content, holds)) in blocks.iter().zip(&mut seen.blocks).enumerate() {
            let address = lba(number, block);
            let agrees = match (unit.mapped, reads) {
                (false, TrimmedReads::Zeroes) => content == Content::Zeroes,
                (false, TrimmedReads::Unstable) => matches!(content, Content::Other { .. }),
                (false, TrimmedReads::OldData) if matches!(holds, Holds::Before(_)) => {
                    content == Content::Zeroes
                }
                _ => holds.reads_as(address, content),
            };
            if !agrees {
                return Err(format!("{address:?} holds {content:?} instead of {holds:?}"));
            }
        }
        *unit = seen;
        Ok(())
    }
}

impl Holds {
    /// Whether a read may find this; bytes are the same at every sight.
    fn reads_as(&mut self, address: Lba, content: Content) -> bool {
        match (self, content) {
            (Self::Stamp(generation), content) => {
                content == Content::Stamp { lba: address, generation: *generation }
            }
            (Self::Zeroes, content) => content == Content::Zeroes,
            (Self::Before(known) | Self::Bytes(known), Content::Other { hash }) => {
                *known.get_or_insert(hash) == hash
            }
            _ => false,
        }
    }
}

/// What a block of a trimmed unit holds from a write of another block of it on.
fn revived(block: Holds, reads: TrimmedReads) -> Holds {
    match (reads, block) {
        (TrimmedReads::Zeroes, _) | (TrimmedReads::OldData, Holds::Before(_)) => Holds::Zeroes,
        (TrimmedReads::OldData, block) => block,
        (TrimmedReads::Unstable, _) => Holds::Bytes(None),
    }
}
