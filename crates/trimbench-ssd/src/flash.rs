//! The flash translation layer: mapping, write buffer, collector and the host's write point.
//!
//! Model: host data fills superblocks unit by unit; a program group leaves for the flash when its
//! last unit has arrived. Each group that leaves pays its share of what the collector owes.
//!
//! A write changes the mapping when it starts. What it does to dies and channels happens at its own
//! time ([`Flash::arrive`], [`Flash::leave`]): nothing is reserved ahead of what comes before it.

use trimbench_core::{Instant, Nanos};

use crate::collector::Collector;
use crate::config::SsdConfig;
use crate::counters::Counters;
use crate::mapping::{Deallocated, Mapping, Packing, VictimSearch};
use crate::mapping_cache::MappingCache;
use crate::nand::Nand;
use crate::ssd::TableFault;
use crate::write_buffer::{Position, WriteBuffer};

mod cache;
mod packed;
mod separate;

use cache::Cache;
pub(crate) use packed::PackedUnit;
use separate::Parked;

/// Where a unit was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    group: u32,
    /// Not in the buffer any more.
    on_flash: bool,
}

/// The translation layer of a flash drive.
#[derive(Debug)]
pub(crate) struct Flash {
    mapping: Mapping,
    buffer: WriteBuffer,
    collector: Collector,
    /// Next unit of the host's open superblock, and its end; equal when there is none.
    next: u32,
    end: u32,
    /// Units of a program group, less one: groups begin where `unit & mask == 0`.
    group_mask: u32,
    group_shift: u32,
    /// The SLC cache, if there is one.
    cache: Option<Cache>,
    /// Whether the write point lies in the cache.
    caching: bool,
    /// Whether the choice of the write point may have changed since it was made.
    reconsider: bool,
    /// The write point that is not in use, where hot data is separated.
    parked: Option<Parked>,
}

impl Flash {
    pub(crate) fn new(config: &SsdConfig) -> Self {
        let groups = config.write_buffer.0 / config.geometry.program_bytes.0;
        let group_units = u32::try_from(config.program_units()).expect("checked geometry");
        let superblocks = config.superblocks() + config.cache_superblocks();
        let mut mapping =
            Mapping::new(config.exported_units(), superblocks, config.superblock_slots());
        mapping = mapping.with_policy(config.collector.policy);
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
        Self {
            mapping,
            buffer: WriteBuffer::new(trimbench_core::units::index(groups)),
            collector: Collector::new(config),
            next: 0,
            end: 0,
            group_mask: group_units - 1,
            group_shift: group_units.trailing_zeros(),
            cache: config.slc_cache.map(|cache| Cache::new(cache, config)),
            caching: false,
            reconsider: false,
            parked: config.collector.separate_hot.then(Parked::default),
        }
    }

    /// Decides where one unit of host data goes.
    #[inline]
    pub(crate) fn write(&mut self, lpn: u32, nand: &Nand, counters: &mut Counters) {
        if self.parked.is_some() {
            self.direct(lpn);
        }
        if self.next & self.group_mask == 0 {
            if self.next == self.end || self.reconsider {
                self.begin(nand, counters);
            }
            self.buffer.begin();
        }
        self.mapping.place(lpn, self.next);
        self.next += 1;
        counters.host_written_units += 1;
        counters.cached_units += u64::from(self.caching);
        counters.programmed_units += 1;
        if self.next & self.group_mask == 0 {
            self.fill_group();
        }
    }

    /// Where the data of all writes so far go to.
    #[inline]
    pub(crate) fn placed(&self) -> Position {
        self.buffer.placed()
    }

    /// The data of a write, up to `position`, come over the link by `at`: when they are in the
    /// buffer. `None` if that cannot be known before another group has left.
    #[inline]
    pub(crate) fn arrive(&mut self, position: Position, at: Instant) -> Option<Instant> {
        self.buffer.arrive(position, at)
    }

    /// When the next group leaves for the flash; never while there is none.
    #[inline]
    pub(crate) fn next_leaves_at(&self) -> Instant {
        self.buffer.next_leaves_at()
    }

    /// The group that is due leaves for the flash, behind what the collector owes for it.
    pub(crate) fn leave(&mut self, nand: &mut Nand) {
        let Some(full) = self.buffer.leave() else { return };
        self.collector.pay(full.owes, full.at, nand);
        let programmed_at = nand.program_host(full.group, full.cached, full.at);
        self.buffer.programmed(full.group, programmed_at);
    }

    /// When all data up to `position` are durable; `None` while some of them have not left.
    pub(crate) fn durable_at(&self, position: Position) -> Option<Instant> {
        self.buffer.durable_at(position)
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
        if self.mapping.packing.is_some() {
            return self.locate_packed(ppn, now);
        }
        let group = ppn >> self.group_shift;
        let located = before.filter(|before| before.group == group).unwrap_or_else(|| Located {
            group,
            on_flash: !self.is_filling(group) && !self.buffer.holds(group, now),
        });
        *before = Some(located);
        located.on_flash.then_some(group)
    }

    /// The logical unit whose data a read of `lpn` gives; see [`Mapping::holder`].
    pub(crate) fn holder(&mut self, lpn: u32) -> Option<u32> {
        self.mapping.holder(lpn)
    }

    /// Frees the logical units `[first, end)`.
    pub(crate) fn deallocate(
        &mut self,
        first: u32,
        end: u32,
        counters: &mut Counters,
    ) -> Deallocated {
        let found = self.mapping.deallocate(first, end);
        counters.discarded_mapped_units += found.mapped;
        counters.discarded_cached_units += found.cached;
        counters.discarded_unmapped_units += found.unmapped;
        self.reconsider |= self.cache.is_some();
        found
    }

    /// Pads the open groups, so that they leave; with power-loss protection there is no need to.
    pub(crate) fn pad(&mut self, counters: &mut Counters) {
        if self.mapping.packing.is_some() {
            self.pad_packed(counters);
            return;
        }
        self.pad_group(counters);
        if self.parked.is_some() {
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
        counters: &mut Counters,
    ) {
        self.fold_while_idle(quiet, until, nand, counters);
        let from = quiet + self.collector.idle_after();
        if from < until {
            self.collector.use_idle_time((from, until), &mut self.mapping, nand, counters);
        }
    }

    /// How long the host must be quiet before idle time counts for anything.
    #[inline]
    pub(crate) fn idle_after(&self) -> Nanos {
        let collector = self.collector.idle_after();
        self.cache.as_ref().map_or(collector, |cache| cache.fold_idle_after().min(collector))
    }

    /// How often each superblock was erased.
    pub(crate) fn erases(&self) -> &[u32] {
        self.mapping.erases()
    }

    /// Logical units that hold data.
    pub(crate) fn mapped_units(&mut self) -> u64 {
        self.mapping.mapped_units()
    }

    /// From now on nothing takes time, is owed or goes into the SLC cache: a preconditioning.
    pub(crate) fn begin_untimed(&mut self) {
        self.collector.begin_untimed();
        self.bypass_cache(true);
    }

    /// The end of a preconditioning: the drive is at rest.
    pub(crate) fn end_untimed(&mut self, nand: &Nand, counters: &mut Counters) {
        self.fold_all(nand, counters);
        self.bypass_cache(false);
        self.collector.end_untimed();
        self.buffer.settle();
        self.mapping.rest_translation();
    }

    /// Whether a logical unit holds data.
    pub(crate) fn holds_data(&mut self, lpn: u32) -> bool {
        self.mapping.lookup(lpn).is_some()
    }

    /// The mapping cache, in a drive without DRAM.
    #[inline]
    pub(crate) fn translation(&mut self) -> Option<&mut MappingCache> {
        self.mapping.translation()
    }

    /// Checks the mapping cache, while no command is outstanding.
    pub(crate) fn check_translation(&mut self) {
        self.mapping.check_translation();
    }

    /// Plants a fault in the tables of a unit; whether there is something to break.
    pub(crate) fn plant(&mut self, lpn: u32, fault: TableFault) -> bool {
        self.mapping.plant(lpn, fault)
    }

    /// From now on victims are searched for in this way.
    pub(crate) fn search_victims(&mut self, search: VictimSearch) {
        self.mapping.search_victims(search);
    }

    /// Checks all invariants.
    ///
    /// # Panics
    /// If one does not hold.
    pub(crate) fn check(&mut self, counters: &Counters) {
        assert!(counters.balanced(), "programs are host's, collector's and padding: {counters:?}");
        let left = counters.cached_units - counters.folded_units - counters.discarded_cached_units;
        assert!(self.mapping.cache_valid() <= left, "the cache holds what was written into it");
        let erases: u64 = self.mapping.erases().iter().map(|&erases| u64::from(erases)).sum();
        assert_eq!(erases, counters.erased_superblocks, "every erase wears a superblock");
        let parked = self.cache.as_ref().map_or((0, 0), Cache::parked);
        let apart = self.parked.map_or((0, 0), |parked| (parked.next, parked.end));
        let [moving, resting] = self.collector.write_points();
        let points = [(self.next, self.end), parked, apart, moving, resting];
        let open: Vec<_> = points.into_iter().filter(|(next, end)| next < end).collect();
        self.mapping.check(&open);
    }

    /// A program group begins at the write point, which may have to be another one.
    #[cold]
    fn begin(&mut self, nand: &Nand, counters: &mut Counters) {
        self.reconsider = false;
        let caching = self.chooses_cache(nand, counters);
        if caching != self.caching {
            self.switch();
        }
        if self.next == self.end {
            self.open(nand, counters);
        }
    }

    /// Opens the host's next superblock, collecting first if there is no room.
    fn open(&mut self, nand: &Nand, counters: &mut Counters) {
        if let (true, Some(cache)) = (self.caching, &self.cache) {
            let usable = cache.usable_units();
            self.next = self.mapping.open_cache(usable).expect("the cache was found to have room");
            self.end = self.next + usable;
            return;
        }
        self.collector.make_room(&mut self.mapping, nand, counters);
        self.next =
            self.mapping.open_in(self.region()).expect("the collector left room for the host");
        self.end = self.next + self.mapping.superblock_units();
    }

    /// Whether a group has begun at a write point and is not full.
    #[inline]
    fn is_filling(&self, group: u32) -> bool {
        let fills = |next: u32| next & self.group_mask != 0 && group == next >> self.group_shift;
        fills(self.next) || self.parked.is_some_and(|parked| fills(parked.next))
    }

    /// Gives up the rest of the group that has begun at the write point, so that it can leave.
    fn pad_group(&mut self, counters: &mut Counters) {
        if self.next & self.group_mask == 0 {
            return;
        }
        while self.next & self.group_mask != 0 {
            self.mapping.pad(self.next);
            self.next += 1;
            counters.padding_units += 1;
            counters.programmed_units += 1;
        }
        self.fill_group();
    }

    /// The group that ends at the write point is full.
    fn fill_group(&mut self) {
        let group = (self.next - 1) >> self.group_shift;
        let groups_left = (self.end - self.next) >> self.group_shift;
        self.send(group, groups_left + 1, self.caching);
        if self.next == self.end {
            if self.caching {
                self.mapping.close_cache(self.end);
            } else {
                self.mapping.close(self.end);
            }
        }
    }

    /// A full group is for the flash, with its share of what the collector owes while the host
    /// fills `groups_left` groups.
    #[inline]
    fn send(&mut self, group: u32, groups_left: u32, cached: bool) {
        if self.collector.is_timed() {
            let owes = self.collector.assign_share(groups_left);
            self.buffer.fill(group, owes, cached);
        } else {
            self.buffer.fill_untimed();
        }
    }
}
