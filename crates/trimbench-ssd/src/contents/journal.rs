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
//! Invariant: the entries of a unit have ascending numbers. A unit without entries holds what no
//! power cut takes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

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
            Entry::Vacant(_) => true,
            Entry::Occupied(occupied) => {
                let durable = is_on_flash(lpn);
                if durable {
                    occupied.remove();
                }
                durable
            }
        }
    }

    /// Whether a power cut may take this block of the unit back to this.
    pub(super) fn keeps(&self, lpn: u32, block: usize, held: Held) -> bool {
        let versions = self.entries.get(&lpn);
        versions.is_some_and(|versions| versions.iter().any(|version| version.held[block] == held))
    }

    /// The power is cut: what each unit falls back to if the program of what it holds has not
    /// ended, by ascending unit. The journal is empty, and no flush is under way.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (u32, Version)> + use<> {
        self.under_way.clear();
        self.prune_at = self.units_min;
        let entries = std::mem::take(&mut self.entries);
        entries.into_iter().filter_map(|(lpn, versions)| Some((lpn, versions.into_iter().next()?)))
    }

    /// Units with entries.
    #[cfg(test)]
    pub(super) fn units(&self) -> usize {
        self.entries.len()
    }
}
