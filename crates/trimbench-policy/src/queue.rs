//! The queue of freed extents that wait for their discard.
//!
//! Extents neither overlap nor touch: neighbours are merged as they arrive. A merged extent is as
//! old as its oldest part, so that an extent which keeps growing is not postponed forever. (btrfs,
//! too, counts the age of a block group from the first extent freed in it \[LINUXT\].) The oldest
//! extent goes first, of equal ones the lowest address. Every operation takes O(log n) for n
//! extents; a rewrite takes that for each extent that it meets.
//!
//! Memory is bounded. Extents that no longer fit are skipped and counted, as in Ceph's `BlueStore`
//! \[CEPH\]: a new extent that touches no neighbour, or the shorter part of an extent that a
//! rewrite has split in two.
//!
//! Space that a filesystem withholds without writing it is set aside, and waits as before when it
//! returns.
//!
//! Invariant: blocks freed = issued + skipped + invalidated + waiting + set aside. Numbers of
//! extents do not add up, because extents merge and split.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use trimbench_core::{Blocks, Instant, Lba, LbaRange};

#[cfg(test)]
mod tests;

/// The extents that wait.
#[derive(Clone, Debug)]
pub(crate) struct FreedQueue {
    extents: BTreeMap<Lba, Extent>,
    by_age: BTreeSet<(Instant, Lba)>,
    extents_max: usize,
    waiting: Blocks,
    /// What is withheld of what waited. Few extents: those that a filesystem reserves.
    aside: BTreeMap<Lba, Extent>,
    set_aside: Blocks,
    counters: QueueCounters,
}

/// What became of all that was freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Extents freed, as they were told.
    pub freed: ExtentCounts,
    /// Discards issued.
    pub issued: ExtentCounts,
    /// Of these, the ones that did not go at the instant of their freeing.
    pub deferred: ExtentCounts,
    /// Given up without a discard.
    pub skipped: ExtentCounts,
    /// Written again before their discard.
    pub invalidated: ExtentCounts,
}

/// A number of extents or discards, and their blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtentCounts {
    /// How many.
    pub count: u64,
    /// Their blocks.
    pub blocks: Blocks,
}

impl FreedQueue {
    /// An empty queue that holds at most so many extents, about 100 bytes each.
    ///
    /// # Panics
    /// If it could hold none.
    pub(crate) fn new(extents_max: usize) -> Self {
        assert!(extents_max > 0, "a queue holds at least one extent");
        Self {
            extents: BTreeMap::new(),
            by_age: BTreeSet::new(),
            extents_max,
            waiting: Blocks(0),
            aside: BTreeMap::new(),
            set_aside: Blocks(0),
            counters: QueueCounters::default(),
        }
    }

    /// `range` was freed at `now`. Its first `kept` blocks wait from now on, the rest is skipped.
    ///
    /// # Panics
    /// If part of `range` waits already: a block is freed once.
    pub(crate) fn freed(&mut self, now: Instant, range: LbaRange, kept: Blocks) {
        assert!(kept <= range.length(), "no more is kept than was freed");
        self.counters.freed.add(range.length());
        if kept < range.length() {
            self.counters.skipped.add(range.length() - kept);
        }
        if let Some(range) = LbaRange::new(range.start(), kept) {
            self.insert_merged(now, range);
        }
        self.check();
    }

    /// `range` was written: what of it waits, or is set aside, needs no discard any more. How many
    /// blocks that were.
    pub(crate) fn rewritten(&mut self, range: LbaRange) -> Blocks {
        let mut gone = Blocks(0);
        let parts = [self.cut_waiting(range), self.cut_aside(range)];
        for (_, part) in parts.into_iter().flatten() {
            self.counters.invalidated.add(part.length);
            gone += part.length;
        }
        self.check();
        gone
    }

    /// `range` is not free for now, though not written: what of it waits is set aside.
    pub(crate) fn withheld(&mut self, range: LbaRange) {
        for (start, part) in self.cut_waiting(range) {
            self.set_aside += part.length;
            self.aside.insert(start, part);
        }
        self.check();
    }

    /// `range` is free again, not written: what of it was set aside waits as before.
    pub(crate) fn returned(&mut self, range: LbaRange) {
        for (start, part) in self.cut_aside(range) {
            let range = LbaRange::new(start, part.length).expect("parts are not empty");
            self.insert_merged(part.since, range);
        }
        self.check();
    }

    /// Blocks that are set aside.
    pub(crate) fn set_aside(&self) -> Blocks {
        self.set_aside
    }

    /// Takes the oldest extent for its discard, at most `limit` blocks of it.
    ///
    /// # Panics
    /// If `limit` is nothing.
    pub(crate) fn take(&mut self, now: Instant, limit: Blocks) -> Option<LbaRange> {
        assert!(limit > Blocks(0), "a discard has at least one block");
        let &(since, start) = self.by_age.first()?;
        let length = self.remove(start).length;
        let taken = length.min(limit);
        if taken < length {
            self.insert(start + taken, Extent { length: length - taken, since });
        }
        self.counters.issued.add(taken);
        if since < now {
            self.counters.deferred.add(taken);
        }
        self.check();
        LbaRange::new(start, taken)
    }

    /// Gives up all that waits.
    pub(crate) fn skip_all(&mut self) {
        for extent in self.extents.values() {
            self.counters.skipped.add(extent.length);
        }
        self.extents.clear();
        self.by_age.clear();
        self.waiting = Blocks(0);
        self.check();
    }

    /// Blocks that wait.
    pub(crate) fn waiting(&self) -> Blocks {
        self.waiting
    }

    /// Extents that wait.
    pub(crate) fn extents(&self) -> u64 {
        self.extents.len() as u64
    }

    /// When the first of what waits was freed; [`Instant::NEVER`] when nothing does.
    pub(crate) fn oldest(&self) -> Instant {
        self.by_age.first().map_or(Instant::NEVER, |&(since, _)| since)
    }

    /// The length of the extent that is taken next; none when nothing waits.
    pub(crate) fn oldest_length(&self) -> Blocks {
        let extent = self.by_age.first().and_then(|(_, start)| self.extents.get(start));
        extent.map_or(Blocks(0), |extent| extent.length)
    }

    /// What became of all that was freed.
    pub(crate) fn counters(&self) -> &QueueCounters {
        &self.counters
    }

    /// Removes the part of `range` that waits. Of an extent that is cut in two the longer part is
    /// put back first, because the queue may be full then.
    fn cut_waiting(&mut self, range: LbaRange) -> Vec<(Lba, Extent)> {
        let met = overlapping(&self.extents, range);
        for &(start, extent) in &met {
            self.remove(start);
            let mut remains = extent.outside(start, range);
            remains.sort_by_key(|&(start, part)| (Reverse(part.length), start));
            for (start, part) in remains {
                self.insert_or_skip(start, part);
            }
        }
        met.into_iter().map(|(start, extent)| extent.within(start, range)).collect()
    }

    /// Removes what of `range` is set aside.
    fn cut_aside(&mut self, range: LbaRange) -> Vec<(Lba, Extent)> {
        let met = overlapping(&self.aside, range);
        for &(start, extent) in &met {
            self.aside.remove(&start);
            self.aside.extend(extent.outside(start, range));
        }
        let parts = met.into_iter().map(|(start, extent)| extent.within(start, range));
        parts.inspect(|(_, part)| self.set_aside = self.set_aside - part.length).collect()
    }

    fn insert_merged(&mut self, now: Instant, range: LbaRange) {
        let (mut start, mut end, mut since) = (range.start(), range.end(), now);
        let (before, after) = (last_before(&self.extents, start), self.extents.get(&end).copied());
        let next = self.extents.range(start..).next();
        let overlaps = before.is_some_and(|(at, extent)| at + extent.length > start)
            || next.is_some_and(|(&at, _)| at < end);
        assert!(!overlaps, "a block is freed once: {range:?} waits already, in part at least");
        if let Some((at, extent)) = before.filter(|&(at, extent)| at + extent.length == start) {
            self.remove(at);
            (start, since) = (at, since.min(extent.since));
        }
        if let Some(extent) = after {
            self.remove(end);
            (end, since) = (end + extent.length, since.min(extent.since));
        }
        self.insert_or_skip(start, Extent { length: Blocks(end.0 - start.0), since });
    }

    /// Inserts an extent, or skips it if the queue is full.
    fn insert_or_skip(&mut self, start: Lba, extent: Extent) {
        if self.extents.len() == self.extents_max {
            self.counters.skipped.add(extent.length);
        } else {
            self.insert(start, extent);
        }
    }

    fn insert(&mut self, start: Lba, extent: Extent) {
        self.extents.insert(start, extent);
        self.by_age.insert((extent.since, start));
        self.waiting += extent.length;
    }

    fn remove(&mut self, start: Lba) -> Extent {
        let extent = self.extents.remove(&start).expect("an extent begins here");
        self.by_age.remove(&(extent.since, start));
        self.waiting = self.waiting - extent.length;
        extent
    }

    fn check(&self) {
        let QueueCounters { freed, issued, skipped, invalidated, .. } = &self.counters;
        let told = issued.blocks + skipped.blocks + invalidated.blocks;
        let told = told + self.waiting + self.set_aside;
        debug_assert_eq!(freed.blocks, told, "every freed block is accounted for");
        debug_assert_eq!(self.extents.len(), self.by_age.len());
        debug_assert!(self.extents.len() <= self.extents_max);
    }
}

impl ExtentCounts {
    fn add(&mut self, blocks: Blocks) {
        debug_assert!(blocks > Blocks(0), "nothing is not counted");
        self.count += 1;
        self.blocks += blocks;
    }
}

/// Freed blocks that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    length: Blocks,
    since: Instant,
}

impl Extent {
    /// What of it, which begins at `start`, lies within `range`.
    fn within(self, start: Lba, range: LbaRange) -> (Lba, Self) {
        let (from, to) = (start.max(range.start()), (start + self.length).min(range.end()));
        (from, Self { length: Blocks(to.0 - from.0), ..self })
    }

    /// The parts of it before `range` and behind it.
    fn outside(self, start: Lba, range: LbaRange) -> Vec<(Lba, Self)> {
        let sides = [(start, range.start()), (range.end(), start + self.length)];
        let remains = sides.into_iter().filter(|(from, to)| from < to);
        remains.map(|(from, to)| (from, Self { length: Blocks(to.0 - from.0), ..self })).collect()
    }
}

/// The extents that overlap `range`, the last first.
fn overlapping(extents: &BTreeMap<Lba, Extent>, range: LbaRange) -> Vec<(Lba, Extent)> {
    let before_end = extents.range(..range.end()).rev().map(|(&start, &extent)| (start, extent));
    before_end.take_while(|&(start, extent)| start + extent.length > range.start()).collect()
}

fn last_before(extents: &BTreeMap<Lba, Extent>, end: Lba) -> Option<(Lba, Extent)> {
    extents.range(..end).next_back().map(|(&start, &extent)| (start, extent))
}
