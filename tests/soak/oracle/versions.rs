//! The fast oracle: what was last written to each logical block, as a number in a flat array.

use trimbench_core::units::{index, narrow};
use trimbench_core::{Content, Data, LbaRange};
use trimbench_ssd::TrimmedReads;

use super::{BLOCKS, Found, Judgement, Oracle, Rules, lba, touched};
use crate::soak::scenario::{Scenario, UNIT_BLOCKS};

/// What a block holds: the generation of its stamp, or one of the numbers below.
type Version = u32;

/// Never written since contents are kept. Generations begin at 1.
const BEFORE: Version = 0;
const ZEROES: Version = u32::MAX;
/// Bytes that the drive made up.
const BYTES: Version = u32::MAX - 1;
/// One of two of the others, between which a power cut did not let decide.
const EITHER: Version = u32::MAX - 2;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Unit {
    mapped: bool,
    /// Has changed since the last flush.
    changed: bool,
    blocks: [Version; BLOCKS],
}

/// The oracle.
#[derive(Debug)]
pub(in crate::soak) struct Versions {
    rules: Rules,
    kept: bool,
    units: Vec<Unit>,
    /// At the last flush, of those that have changed since.
    flushed: Vec<Unit>,
    changed: Vec<u32>,
    mapped: u64,
}

impl Versions {
    fn change(&mut self, number: u64) -> &mut Unit {
        let unit = &mut self.units[index(number)];
        if self.kept && !self.rules.protected && !unit.changed {
            self.flushed[index(number)] = *unit;
            unit.changed = true;
            self.changed.push(narrow(number));
        }
        unit
    }

    /// Everything as it is made, or purged.
    fn reset(&mut self, mapped: bool) {
        self.units.fill(Unit { mapped, changed: false, blocks: [BEFORE; BLOCKS] });
        self.changed.clear();
        self.kept = false;
        self.mapped = if mapped { self.rules.units } else { 0 };
    }
}

impl Oracle for Versions {
    fn new(scenario: &Scenario) -> Self {
        let rules = Rules::new(scenario);
        let unit = Unit { mapped: false, changed: false, blocks: [BEFORE; BLOCKS] };
        let units = vec![unit; index(rules.units)];
        let (flushed, changed) = (units.clone(), Vec::new());
        let mut versions = Self { rules, kept: false, units, flushed, changed, mapped: 0 };
        versions.reset(rules.filled || rules.always_mapped);
        versions
    }

    fn write(&mut self, range: LbaRange, data: Data) {
        let version = match data {
            Data::Stamped(generation) => generation,
            Data::Compressible(0) => ZEROES,
            Data::Compressible(_) | Data::Random => BYTES,
        };
        self.kept |= matches!(data, Data::Stamped(_));
        let (kept, reads) = (self.kept, self.rules.reads);
        for (number, blocks) in touched(range) {
            let unit = self.change(number);
            let was_mapped = std::mem::replace(&mut unit.mapped, true);
            if kept {
                if !was_mapped && blocks.len() < unit.blocks.len() {
                    revive(&mut unit.blocks, reads);
                }
                unit.blocks[blocks].fill(version);
            }
            self.mapped += u64::from(!was_mapped);
        }
    }

    fn discard(&mut self, range: LbaRange) {
        let Rules { granule, alignment, .. } = self.rules;
        let Some(granule) = granule.filter(|_| range.end().0 >= alignment) else { return };
        let start = range.start().0.max(alignment) - alignment;
        let first = start.next_multiple_of(granule) + alignment;
        let end = (range.end().0 - alignment) / granule * granule + alignment;
        for number in first / UNIT_BLOCKS..end / UNIT_BLOCKS {
            let unit = self.change(number);
            let was_mapped = std::mem::replace(&mut unit.mapped, false);
            self.mapped -= u64::from(was_mapped);
        }
    }

    fn flush(&mut self) {
        for number in self.changed.drain(..) {
            self.units[number as usize].changed = false;
        }
    }

    fn purge(&mut self) {
        self.reset(self.rules.always_mapped);
    }

    fn power_cut(&mut self, mut look: impl FnMut(u64) -> Found) -> Judgement {
        for number in std::mem::take(&mut self.changed) {
            let found = look(number.into());
            let unit = &mut self.units[number as usize];
            unit.changed = false;
            let (before, now) = (self.flushed[number as usize], *unit);
            let reads = self.rules.reads;
            let is = |unit: &Unit| agrees(unit, number.into(), &found, reads);
            match (is(&before), is(&now)) {
                (false, false) => {
                    return Err(format!(
                        "unit {number}: {found:?}, neither {before:?} nor {now:?}"
                    ));
                }
                (true, false) => *unit = before,
                (false, true) => {}
                (true, true) => {
                    for (block, before) in unit.blocks.iter_mut().zip(before.blocks) {
                        *block = if *block == before { before } else { EITHER };
                    }
                }
            }
            self.mapped = self.mapped - u64::from(now.mapped) + u64::from(unit.mapped);
        }
        Ok(())
    }

    fn mapped_units(&self) -> u64 {
        self.mapped
    }

    fn judge(&mut self, number: u64, found: &Found) -> Judgement {
        let unit = &self.units[index(number)];
        let good =
            self.kept == found.blocks.is_some() && agrees(unit, number, found, self.rules.reads);
        good.then_some(()).ok_or_else(|| format!("unit {number}: {found:?} instead of {unit:?}"))
    }
}

/// Whether this may be found of such a unit.
fn agrees(unit: &Unit, number: u64, found: &Found, reads: TrimmedReads) -> bool {
    let matches = |(block, content): (usize, &Content)| {
        let version = unit.blocks[block];
        let version = match (unit.mapped, reads) {
            (false, TrimmedReads::Zeroes) => ZEROES,
            (false, TrimmedReads::OldData) if version == BEFORE => ZEROES,
            (false, TrimmedReads::Unstable) => BYTES,
            _ => version,
        };
        match (version, *content) {
            (ZEROES | EITHER, Content::Zeroes) => true,
            (BEFORE | BYTES | EITHER, content) => matches!(content, Content::Other { .. }),
            (generation, content) => {
                content == Content::Stamp { lba: lba(number, block), generation }
            }
        }
    };
    let blocks = found.blocks.as_ref();
    found.mapped == unit.mapped
        && blocks.is_none_or(|blocks| blocks.iter().enumerate().all(matches))
}

/// A unit that was trimmed is written in part.
fn revive(blocks: &mut [Version], reads: TrimmedReads) {
    match reads {
        TrimmedReads::Zeroes => blocks.fill(ZEROES),
        TrimmedReads::Unstable => blocks.fill(BYTES),
        TrimmedReads::OldData => {
            blocks.iter_mut().filter(|block| **block == BEFORE).for_each(|block| *block = ZEROES);
        }
    }
}
