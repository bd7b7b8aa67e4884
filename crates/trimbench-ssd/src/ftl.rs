//! The flash translation layer: mapping, write buffer, garbage collection and the host's write
//! frontiers.
//!
//! Model: host data fills superblocks unit by unit; a program group leaves for the flash when its
//! last unit has arrived. Each group that leaves pays its share of the garbage-collection debt.
//!
//! A write changes the mapping when it starts. It occupies dies and channels at its own time
//! ([`Ftl::leave`]): a resource is reserved when the group reaches it, not earlier.

use std::ops::Range;

use trimbench_core::units::{index, narrow};
use trimbench_core::{Instant, Nanos};

use crate::config::SsdConfig;
use crate::counters::DriveCounters;
use crate::gc::GarbageCollector;
use crate::mapping::{Deallocated, Frontier, Mapping, MappingCache, Packing, Region};
use crate::nand::{Cells, Nand};
use crate::write_buffer::WriteBuffer;

mod slc_cache;

use slc_cache::SlcCache;

/// Where a unit was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    group: u32,
    /// Not in the buffer any more.
    on_flash: bool,
}

/// The translation layer of a flash drive.
#[derive(Debug)]
pub(crate) struct Ftl {
    pub(crate) mapping: Mapping,
    pub(crate) buffer: WriteBuffer,
    gc: GarbageCollector,
    /// Where the next unit of the host goes.
    frontier: Frontier,
    /// The other frontier, which is not in use, where there are two.
    parked: Frontier,
    /// Whether the one in use is that of the cache, or of hot data.
    second: bool,
    /// Whether it is that of the cache.
    caching: bool,
    streams: Streams,
    /// Units of a program group, less one: groups begin where `unit & mask == 0`, or where a drive
    /// compresses, maybe anywhere.
    group_mask: u32,
    /// Whether the choice between the two may have changed since it was made.
    reconsider: bool,
}

/// What the host's data are divided into: where there are two streams, each has its frontier.
#[derive(Debug)]
enum Streams {
    /// Nothing.
    One,
    /// What goes past the SLC cache, and what goes into it.
    SlcCache(SlcCache),
    /// Data that is warm, and data that is hot.
    ///
    /// There are three regions: cold, warm and hot. What the host overwrites rises by one, and what
    /// the collector moves falls by one; new data is warm. So the host writes into two of them and
    /// the collector into the other two, each with a frontier for either. Source: dynamic data
    /// clustering \[CHIA99\], here with three regions and without its threshold of age.
    ///
    /// A region is known of a superblock: a byte in 256 KiB or more. Each write looks up where the
    /// data are that it replaces.
    Hot,
}

impl Ftl {
    pub(crate) fn new(config: &SsdConfig) -> Self {
        let groups = config.write_buffer.0 / config.geometry.program_bytes.0;
        let superblocks = config.superblocks() + config.cache_superblocks();
        let mut mapping = Mapping::new(
            config.exported_units(),
            superblocks,
            config.superblock_slots(),
            config.program_units(),
        );
        mapping = mapping.with_policy(config.gc.policy);
        if config.slc_cache.is_some() {
            mapping = mapping.with_cache(config.cache_superblocks());
        }
        if config.compression.is_some() {
            let (superblock, group) = (config.superblock_units(), config.program_units());
            mapping = mapping.with_packing(Packing::new(superblocks, superblock, group));
        }
        if let Some(cache) = &config.mapping_cache {
            mapping = mapping.with_translation(MappingCache::new(cache, config));
        }
        let looks_up = config.buffer_overwrites || config.gc.separate_hot;
        Self {
            mapping: mapping.looking_up(looks_up),
            buffer: WriteBuffer::new(index(groups))
                .freeing_early(config.buffer_frees_early)
                .absorbing(config.buffer_overwrites),
            gc: GarbageCollector::new(config),
            frontier: Frontier::default(),
            parked: Frontier::default(),
            second: false,
            caching: false,
            group_mask: match config.compression {
                None => narrow(config.program_units() - 1),
                Some(_) => 0,
            },
            streams: match config.slc_cache {
                Some(cache) => Streams::SlcCache(SlcCache::new(cache, config)),
                None if config.gc.separate_hot => Streams::Hot,
                None => Streams::One,
            },
            reconsider: false,
        }
    }

    /// The host will probably write `lpn` soon: fetches what that will ask.
    #[inline]
    pub(crate) fn prefetch_write(&self, lpn: u32) {
        if self.mapping.looks_up() {
            self.mapping.prefetch_entry(lpn);
        }
    }

    /// Decides where one unit of host data goes, of which a drive that compresses stores `percent`.
    #[inline]
    pub(crate) fn write(
        &mut self,
        lpn: u32,
        percent: u32,
        (nand, now): (&Nand, Instant),
        counters: &mut DriveCounters,
    ) {
        if self.mapping.looks_up() {
            let replaced = self.mapping.replaced_by(lpn);
            if self.is_absorbed(replaced, now) {
                counters.host_written_units += 1;
                counters.absorbed_units += 1;
                return;
            }
            self.direct(replaced);
        }
        if self.frontier.next & self.group_mask == 0 {
            self.begin_group(percent, nand, counters);
        }
        self.mapping.place(lpn, self.frontier.next);
        self.frontier.next += 1;
        counters.host_written_units += 1;
        counters.cached_units += u64::from(self.caching);
        counters.programmed_units += 1;
        if self.frontier.next & self.group_mask == 0 {
            self.end_group(percent);
        }
    }

    /// Whether a write that replaces what is at `replaced` finds it in the buffer, where it takes
    /// its place, in a drive that takes time.
    #[inline]
    fn is_absorbed(&self, replaced: Option<u32>, now: Instant) -> bool {
        let waits = |ppn| {
            let group = self.mapping.group_of(ppn);
            self.is_filling(group) || self.buffer.awaits(group, now)
        };
        self.buffer.absorbs() && self.gc.is_timed() && replaced.is_some_and(waits)
    }

    /// When a write of so many units is acknowledged that could be at `at`.
    #[inline]
    pub(crate) fn paced(&mut self, at: Instant, units: u64) -> Instant {
        self.gc.paced(at, units)
    }

    /// All writes so far are gone, so that the next is not paced by them.
    pub(crate) fn unpace(&mut self) {
        self.gc.unpace();
    }

    /// The group that is due leaves for the flash, behind what the collector owes for it.
    pub(crate) fn leave(&mut self, nand: &mut Nand) {
        let Some(full) = self.buffer.leave() else { return };
        self.gc.pay(full.owes, full.at, nand);
        let cells = Cells::of(full.cached);
        let die = nand.die_of(full.group);
        let programmed_at = nand.program(cells, die, full.at, Some(full.group));
        let begun_at = nand.begun(cells, programmed_at);
        self.buffer.programmed(full.group, programmed_at, begun_at);
    }

    /// Where a unit is read from at `now`: its program group, or `None` when no flash is involved
    /// (it holds nothing, or is still in the buffer).
    pub(crate) fn locate(&mut self, lpn: u32, now: Instant) -> Option<u32> {
        self.locate_beside(lpn, now, &mut None)
    }

    /// The same. `before` is what was found of the unit before this one at the same instant:
    /// neighbours mostly lie in one group.
    pub(crate) fn locate_beside(
        &mut self,
        lpn: u32,
        now: Instant,
        before: &mut Option<Located>,
    ) -> Option<u32> {
        let ppn = self.mapping.lookup(lpn)?;
        let group = self.mapping.group_of(ppn);
        let located = before.filter(|before| before.group == group).unwrap_or_else(|| Located {
            group,
            on_flash: !self.is_filling(group) && !self.buffer.holds(group, now),
        });
        *before = Some(located);
        located.on_flash.then_some(group)
    }

    /// Frees these logical units.
    pub(crate) fn deallocate(
        &mut self,
        units: &Range<u32>,
        counters: &mut DriveCounters,
    ) -> Deallocated {
        let freed = self.mapping.deallocate(units.start, units.end);
        counters.discarded_mapped_units += freed.mapped;
        counters.discarded_cached_units += freed.cached;
        counters.discarded_unmapped_units += freed.unmapped;
        self.reconsider |= matches!(self.streams, Streams::SlcCache(_));
        freed
    }

    /// Pads the open groups, so that they leave; with power-loss protection there is no need to.
    pub(crate) fn pad(&mut self, counters: &mut DriveCounters) {
        self.pad_group(counters);
        if matches!(self.streams, Streams::Hot) {
            self.exchange();
            self.pad_group(counters);
        }
    }

    /// Uses the time until `until`, in which the host was quiet from `quiet` on: folds the cache,
    /// then lets the collector work ahead.
    pub(crate) fn use_idle_time(
        &mut self,
        quiet: Instant,
        until: Instant,
        nand: &mut Nand,
        counters: &mut DriveCounters,
    ) {
        self.fold_while_idle(quiet, until, nand, counters);
        let from = quiet + self.gc.idle_after();
        if from < until {
            self.gc.use_idle_time(&(from..until), &mut self.mapping, nand, counters);
        }
    }

    /// How long the host must be quiet before idle time counts for anything.
    #[inline]
    pub(crate) fn idle_after(&self) -> Nanos {
        let gc = self.gc.idle_after();
        match &self.streams {
            Streams::SlcCache(cache) => cache.fold_idle_after().min(gc),
            Streams::One | Streams::Hot => gc,
        }
    }

    /// From now on nothing takes time, is owed or goes into the SLC cache: a preconditioning.
    pub(crate) fn begin_untimed(&mut self) {
        self.gc.begin_untimed();
        self.bypass_cache(true);
    }

    /// The end of a preconditioning: the drive is at rest.
    pub(crate) fn end_untimed(&mut self, nand: &Nand, counters: &mut DriveCounters) {
        self.fold_all(nand, counters);
        self.bypass_cache(false);
        self.gc.end_untimed();
        self.buffer.settle();
        self.mapping.rest_translation();
    }

    /// Checks all invariants.
    ///
    /// # Panics
    /// If one does not hold.
    pub(crate) fn check(&mut self, counters: &DriveCounters) {
        assert!(counters.balanced(), "programs are host's, collector's and padding: {counters:?}");
        let left = counters.cached_units - counters.folded_units - counters.discarded_cached_units;
        assert!(self.mapping.cache_valid() <= left, "the cache holds what was written into it");
        let erases: u64 = self.mapping.erases().iter().map(|&erases| u64::from(erases)).sum();
        assert_eq!(erases, counters.erased_superblocks, "every erase wears a superblock");
        let [moving, resting] = self.gc.frontiers();
        let mut open = vec![self.frontier, self.parked, moving, resting];
        open.retain(|frontier| !frontier.is_closed());
        self.mapping.check(&open);
    }

    /// A program group begins at the frontier, which may have to be another one.
    #[cold]
    fn begin(&mut self, nand: &Nand, counters: &mut DriveCounters) {
        self.reconsider = false;
        if let Streams::SlcCache(_) = self.streams
            && self.chooses_cache(nand, counters) != self.second
        {
            self.exchange();
        }
        if self.frontier.is_closed() {
            self.open(nand, counters);
        }
    }

    /// Opens the host's next superblock, collecting first if there is no room.
    fn open(&mut self, nand: &Nand, counters: &mut DriveCounters) {
        let opened = match &self.streams {
            Streams::SlcCache(cache) if self.second => {
                Some(self.mapping.open_cache(cache.usable_units()).expect("the cache has room"))
            }
            _ => None,
        };
        self.frontier = opened.unwrap_or_else(|| {
            self.gc.make_room(&mut self.mapping, nand, counters);
            let region = if self.second { Region::Hot } else { Region::Warm };
            self.mapping.open_in(region).expect("the collector left room for the host")
        });
    }

    /// Puts the frontier to use to which a write belongs that replaces what is at `replaced`.
    #[inline]
    fn direct(&mut self, replaced: Option<u32>) {
        if let Streams::Hot = self.streams
            && replaced.is_some_and(|ppn| self.mapping.is_warm(ppn)) != self.second
        {
            self.exchange();
        }
    }

    /// The frontiers change places.
    fn exchange(&mut self) {
        std::mem::swap(&mut self.frontier, &mut self.parked);
        self.second = !self.second;
        self.caching = self.second && matches!(self.streams, Streams::SlcCache(_));
    }

    /// A program group begins at the frontier, or may begin where a drive compresses.
    #[inline(never)]
    fn begin_group(&mut self, percent: u32, nand: &Nand, counters: &mut DriveCounters) {
        if !self.mapping.fits(self.frontier, percent) {
            self.finish();
        }
        if self.mapping.open_group(self.frontier).is_none() {
            if self.frontier.is_closed() || self.reconsider {
                self.begin(nand, counters);
            }
            self.buffer.begin();
        }
    }

    /// A program group is full at the frontier, or may be where a drive compresses.
    #[inline(never)]
    fn end_group(&mut self, percent: u32) {
        let filled = self.mapping.taken(self.frontier, 1, percent);
        if !filled.is_empty() {
            self.fill(filled, self.mapping.groups_left(self.frontier, percent));
        }
    }

    /// Whether a group has begun at a frontier and is not full.
    #[inline]
    fn is_filling(&self, group: u32) -> bool {
        let fills = |frontier| self.mapping.open_group(frontier) == Some(group);
        fills(self.frontier) || fills(self.parked)
    }

    /// Gives up the rest of the group that has begun at the frontier, so that it can leave.
    fn pad_group(&mut self, counters: &mut DriveCounters) {
        let Some(group) = self.mapping.open_group(self.frontier) else { return };
        let groups_left = self.mapping.groups_left(self.frontier, 0);
        let padded = u64::from(self.mapping.pad_group(&mut self.frontier));
        counters.padding_units += padded;
        counters.programmed_units += padded;
        self.fill(group..group + 1, groups_left);
    }

    /// These groups became full; there were so many left to fill.
    #[inline(never)]
    fn fill(&mut self, filled: Range<u32>, groups_left: u32) {
        let last = filled.end - 1;
        for group in filled {
            self.send(group, groups_left);
            // A unit may begin in one group and end in another.
            if group < last || self.mapping.open_group(self.frontier).is_some() {
                self.buffer.begin();
            }
        }
        if self.mapping.is_full(self.frontier) {
            self.finish();
        }
    }

    /// Nothing more goes into the open superblock.
    #[cold]
    fn finish(&mut self) {
        if let Some(group) = self.mapping.finish(&mut self.frontier) {
            self.send(group, 1);
        }
    }

    /// A full group is for the flash, with its share of what the collector owes while the host
    /// fills `groups_left` groups.
    #[inline]
    fn send(&mut self, group: u32, groups_left: u32) {
        if self.gc.is_timed() {
            let owes = self.gc.assign_share(groups_left);
            self.buffer.fill(group, owes, self.caching);
        } else {
            self.buffer.fill_untimed();
        }
    }
}
