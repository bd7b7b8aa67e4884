//! What mapping units held that a power cut may take back to it.
//!
//! Flushes are numbered in the order in which they start. An entry belongs to a unit and to the
//! last flush that has started before a change of the unit: it keeps what the unit held when that
//! flush started. Only the first change after a flush's start makes one.
//!
//! ```text
//!            flush 1 starts       flush 2 starts    flush 1 ends         cut
//!   ---- A ------|------- B --- C -------|---- D ----------|---------------|---
//!                   (1, A)                 (2, C)     keeps (1, A): what flush 1 made durable
//! ```
//!
//! The end of flush `n` drops the entries of all flushes before it. A power cut takes a unit back
//! to its oldest entry, unless the program of what it holds has ended: then that is durable, and
//! older contents are not needed any more.
//!
//! A TRIM of units whose data were durable makes one entry for all of them: what they held stays
//! where contents are kept, until a unit is written, which gives it entries of its own. So a TRIM
//! of a gigabyte costs no entry for each of its units.
//!
//! Invariants: the entries of a unit have ascending numbers. A unit has entries of its own or is in
//! one trimmed range, never both. A unit that has neither holds what no power cut takes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use super::Held;
use crate::slots::Slot;

/// What a unit held when a flush started.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// The flush's number.
    flush: u64,
    /// Whether the unit held data.
    pub(crate) mapped: bool,
    pub(super) held: Box<[Held]>,
}

#[derive(Debug)]
pub(super) struct Journal {
    /// By unit, the oldest first.
    entries: BTreeMap<u32, Vec<Version>>,
    /// Units that held durable data when they were trimmed, and hold none since: by the first of a
    /// range the one behind it, and the last flush that had started. They do not overlap.
    trimmed: BTreeMap<u32, (u32, u64)>,
    /// Flushes that have started.
    started: u64,
    /// The number of each that has not ended.
    under_way: Vec<(Slot, u64)>,
    /// So many units with entries are worth a look at all of them: at least `units_min`, and twice
    /// as many as the last look left, so that looking costs each entry a constant share.
    prune_at: usize,
    units_min: usize,
}

impl Journal {
    /// Of a drive whose buffer holds so many units.
    pub(super) fn new(buffer_units: usize) -> Self {
        let units_min = buffer_units.saturating_mul(2).max(64);
        Self {
            entries: BTreeMap::new(),
            trimmed: BTreeMap::new(),
            started: 0,
            under_way: Vec::new(),
            prune_at: units_min,
            units_min,
        }
    }

    /// The unit is about to change and holds what `now` says; `is_on_flash` says whether the
    /// program of that has ended.
    pub(super) fn change(
        &mut self,
        lpn: u32,
        is_on_flash: impl FnOnce() -> bool,
        now: impl FnOnce() -> (bool, Box<[Held]>),
    ) {
        let flush = self.started;
        if let Some(before) = self.take_trimmed(lpn) {
            // It is free, and what it held before is still there.
            let (_, held) = now();
            let trimmed = Version { flush: before, mapped: true, held: held.clone() };
            let free = Version { flush, mapped: false, held };
            let versions = if before < flush { vec![trimmed, free] } else { vec![trimmed] };
            self.entries.insert(lpn, versions);
            return;
        }
        let version = || {
            let (mapped, held) = now();
            Version { flush, mapped, held }
        };
        match self.entries.entry(lpn) {
            Entry::Vacant(vacant) => drop(vacant.insert(vec![version()])),
            Entry::Occupied(mut occupied) if is_on_flash() => {
                occupied.get_mut().clear();
                occupied.get_mut().push(version());
            }
            Entry::Occupied(mut occupied) => {
                if occupied.get().last().is_none_or(|last| last.flush < flush) {
                    occupied.get_mut().push(version());
                }
            }
        }
    }

    /// These units hold durable data and are about to be trimmed.
    pub(super) fn trim_durable(&mut self, units: Range<u32>) {
        if units.is_empty() {
            return;
        }
        let own: Vec<u32> = self.entries.range(units.clone()).map(|(lpn, _)| *lpn).collect();
        for lpn in own {
            self.entries.remove(&lpn);
        }
        match self.trimmed.range_mut(..units.start).next_back() {
            Some((_, (end, flush))) if *end == units.start && *flush == self.started => {
                *end = units.end;
            }
            _ => drop(self.trimmed.insert(units.start, (units.end, self.started))),
        }
    }

    /// The trimmed range that a unit is in: its first unit, the one behind it, and its flush.
    fn trimmed_around(&self, lpn: u32) -> Option<(u32, u32, u64)> {
        let (start, (end, flush)) = self.trimmed.range(..=lpn).next_back()?;
        (lpn < *end).then_some((*start, *end, *flush))
    }

    /// Takes a unit out of the trimmed range that it is in; the range's flush.
    fn take_trimmed(&mut self, lpn: u32) -> Option<u64> {
        let (start, end, flush) = self.trimmed_around(lpn)?;
        self.trimmed.remove(&start);
        for part in [start..lpn, lpn + 1..end] {
            if !part.is_empty() {
                self.trimmed.insert(part.start, (part.end, flush));
            }
        }
        Some(flush)
    }

    pub(super) fn flush_started(&mut self, slot: Slot) {
        self.started += 1;
        self.under_way.push((slot, self.started));
    }

    /// The flush in this slot ended; nothing happens if it started before contents were kept.
    pub(super) fn flush_ended(&mut self, slot: Slot) {
        let Some(place) = self.under_way.iter().position(|(other, _)| *other == slot) else {
            return;
        };
        let (_, ended) = self.under_way.remove(place);
        self.entries.retain(|_, versions| {
            versions.retain(|version| version.flush >= ended);
            !versions.is_empty()
        });
        self.trimmed.retain(|_, (_, flush)| *flush >= ended);
    }

    /// Whether it should be pruned.
    pub(super) fn is_overgrown(&self) -> bool {
        self.entries.len() >= self.prune_at
    }

    /// Drops the entries of units whose contents are durable.
    pub(super) fn prune(&mut self, mut is_on_flash: impl FnMut(u32) -> bool) {
        self.entries.retain(|lpn, _| !is_on_flash(*lpn));
        self.prune_at = self.units_min.max(self.entries.len() * 2);
    }

    /// Whether no power cut takes what the unit holds.
    pub(super) fn is_durable(&mut self, lpn: u32, is_on_flash: impl FnOnce(u32) -> bool) -> bool {
        match self.entries.entry(lpn) {
            Entry::Vacant(_) => self.trimmed_around(lpn).is_none(),
            Entry::Occupied(occupied) => {
                let durable = is_on_flash(lpn);
                if durable {
                    occupied.remove();
                }
                durable
            }
        }
    }

    /// Whether a power cut may take this block of the unit back to this, which is not what was last
    /// written to it: to that the units of a trimmed range go back.
    pub(super) fn keeps(&self, lpn: u32, block: usize, held: Held) -> bool {
        let versions = self.entries.get(&lpn);
        versions.is_some_and(|versions| versions.iter().any(|version| version.held[block] == held))
    }

    /// The power is cut: what each unit falls back to if the program of what it holds has not
    /// ended, by ascending unit. The journal is empty, and no flush is under way.
    ///
    /// `held` says what was last written to a unit.
    pub(super) fn take(&mut self, held: impl Fn(u32) -> Box<[Held]>) -> Vec<(u32, Version)> {
        self.under_way.clear();
        self.prune_at = self.units_min;
        let mut entries = std::mem::take(&mut self.entries);
        for (start, (end, flush)) in std::mem::take(&mut self.trimmed) {
            let version = |lpn| vec![Version { flush, mapped: true, held: held(lpn) }];
            entries.extend((start..end).map(|lpn| (lpn, version(lpn))));
        }
        let oldest =
            |(lpn, versions): (u32, Vec<Version>)| Some((lpn, versions.into_iter().next()?));
        entries.into_iter().filter_map(oldest).collect()
    }

    /// Units with entries.
    #[cfg(test)]
    pub(super) fn units(&self) -> usize {
        let trimmed: u32 = self.trimmed.iter().map(|(start, (end, _))| end - start).sum();
        self.entries.len() + trimbench_core::units::index(trimmed.into())
    }
}
