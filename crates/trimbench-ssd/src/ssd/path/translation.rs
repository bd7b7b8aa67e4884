//! The path of commands through the map of a drive without DRAM.
//!
//! Model: after the controller, a read or a write needs its translation pages, one after the other.
//! A cached page costs nothing. Any other is sensed on its die and sent over its channel; commands
//! that need it meanwhile wait for the same read. A write updates its pages, and creates those
//! without a location, without a read. Then a read continues to its data, a write to the link.
//!
//! If the page that is evicted for the new one was updated, it is programmed at that instant. The
//! command does not wait for this program, but the next command that uses its die or channel does.
//! While as many such programs are in flight as there are dies, the new page waits.
//!
//! A TRIM updates the cache when it starts, as it does the map. The reads of its pages are charged
//! after the controller, as many at once as there are dies; in background mode they become work
//! like the rest.

use std::ops::Range;

use trimbench_core::{Instant, LbaRange, Nanos};

use super::{Accepted, Incoming, Path, Purpose, Ssd, UnitSpan};
use crate::events::Action;
use crate::mapping::{MappingCache, PageLookup};
use crate::nand::Cells;
use crate::slots::Slot;

/// A command on its way through its translation pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    then: Then,
    /// The page that it needs next, and one past its last.
    page: u32,
    end: u32,
    /// Who waits behind it for the same page.
    next: Option<Slot>,
}

/// What a command does that has its pages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Then {
    Read(LbaRange),
    Write(Incoming),
}

/// A translation page that is fetched by the first that needs it, and the last that waits for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingPage {
    page: u32,
    last: Slot,
}

/// Translation pages that a TRIM must still read, and the die of the next.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::ssd) struct PageReads {
    left: u32,
    die: u32,
}

impl Ssd {
    /// A command is over with the controller at `accepted`, and then needs the pages of `span`.
    #[inline(never)]
    pub(super) fn look_up(&mut self, accepted: Instant, slot: Slot, span: UnitSpan, then: Then) {
        let pages = self.translation().pages_of(span.first, span.end);
        self.path.waiters.set(slot, Waiter { then, page: pages.start, end: pages.end, next: None });
        self.pass(accepted, Accepted::LookUp(slot));
    }

    /// A command goes on through its pages, as far as it can.
    pub(super) fn translate(&mut self, at: Instant, slot: Slot) {
        let Waiter { then, mut page, end, .. } = *self.path.waiter(slot);
        let updates = matches!(then, Then::Write(_));
        while page < end {
            let on_flash = match self.translation().reach(page, updates) {
                PageLookup::Cached => None,
                PageLookup::Nowhere if !updates => None,
                PageLookup::Loading(first) => {
                    self.path.waiter(slot).page = page;
                    self.path.join(first, slot);
                    return;
                }
                PageLookup::Nowhere => Some(false),
                PageLookup::OnFlash => Some(true),
            };
            if let Some(on_flash) = on_flash {
                self.path.waiter(slot).page = page;
                self.fetch_page(slot, page, on_flash, at);
                return;
            }
            page += 1;
        }
        match then {
            Then::Read(range) => self.read(at, slot, range),
            Then::Write(incoming) => self.send(at, slot, incoming),
        }
    }

    /// The command is the first that needs the page.
    fn fetch_page(&mut self, slot: Slot, page: u32, on_flash: bool, at: Instant) {
        self.path.fetch(slot, Purpose::Page(PendingPage { page, last: slot }));
        self.translation().expect(page, slot);
        if on_flash {
            self.counters.map_pages_read += 1;
            self.sense_page(slot, self.nand.die_of(page), at);
        } else {
            self.events.add(at, Action::Fetched(slot));
        }
    }

    /// A page is in the controller: it goes into the cache, and who waited for it goes on.
    pub(super) fn page_arrived(&mut self, at: Instant, slot: Slot, coming: PendingPage) {
        let room_at = self.translation().room_at(at);
        if room_at > at {
            self.events.add(room_at, Action::Fetched(slot));
            return;
        }
        let gone = self.translation().arrive(coming.page);
        self.write_back(gone, at);
        let mut waits = Some(slot);
        while let Some(slot) = waits {
            waits = self.path.waiter(slot).next.take();
            self.translate(at, slot);
        }
    }

    /// A TRIM that starts at `at` frees these units: adds the pages that it must read.
    pub(in crate::ssd) fn trim_pages(
        &mut self,
        freed: &Range<u32>,
        at: Instant,
        reads: &mut PageReads,
    ) {
        for page in self.translation().pages_of(freed.start, freed.end) {
            let trimmed = self.translation().trim(page, freed);
            self.write_back(trimmed.writes_back, at);
            if trimmed.loads {
                if reads.left == 0 {
                    reads.die = self.nand.die_of(page);
                }
                reads.left += 1;
                self.counters.map_pages_read += 1;
            }
        }
    }

    /// How long these reads take when nothing else is done.
    pub(in crate::ssd) fn time_of(&self, reads: PageReads) -> Nanos {
        self.nand.map_reads(reads.left)
    }

    /// The controller is through with a TRIM at `at`: it ends with the reads of its pages.
    pub(in crate::ssd) fn finish_discard(&mut self, at: Instant, slot: Slot, reads: PageReads) {
        if reads.left == 0 {
            self.finish(at + self.config.trim.latency, slot);
        } else {
            self.path.fetch(slot, Purpose::Discard(reads));
            self.events.add(at, Action::Fetched(slot));
        }
    }

    /// The next reads of a TRIM, one on each die; or its end.
    pub(super) fn read_pages(&mut self, at: Instant, slot: Slot, reads: PageReads) {
        if reads.left == 0 {
            self.finish(at + self.config.trim.latency, slot);
            return;
        }
        let now = reads.left.min(self.nand.die_count());
        for offset in 0..now {
            self.sense_page(slot, self.nand.die_of(reads.die + offset), at);
        }
        let die = self.nand.die_of(reads.die + now);
        let left = PageReads { left: reads.left - now, die };
        self.path.fetch_of(slot).purpose = Purpose::Discard(left);
    }

    /// Starts the read of a page.
    fn sense_page(&mut self, slot: Slot, die: u32, at: Instant) {
        let pieces = self.nand.map_pieces();
        let flash = self.flash.as_mut().expect("only flash has a map");
        let sensed = flash.sense_cells(Cells::Map, die, at, &mut self.nand);
        self.await_part(sensed, slot, die, pieces);
    }

    /// The page that had to go, if it was updated, is programmed.
    fn write_back(&mut self, gone: Option<u32>, at: Instant) {
        let Some(page) = gone else { return };
        let die = self.nand.die_of(page);
        let programmed_at = self.nand.program(Cells::Map, die, at, None);
        self.translation().written_back(programmed_at);
        self.counters.map_pages_programmed += 1;
    }

    fn translation(&mut self) -> &mut MappingCache {
        let flash = self.flash.as_mut().expect("only flash has a map");
        flash.mapping.translation().expect("only called in a drive with a mapping cache")
    }
}

impl Path {
    fn waiter(&mut self, slot: Slot) -> &mut Waiter {
        self.waiters.of(slot)
    }

    /// The command in this slot waits for the page that the `first` fetches.
    fn join(&mut self, first: Slot, slot: Slot) {
        let Purpose::Page(coming) = &mut self.fetch_of(first).purpose else {
            unreachable!("a page comes with the fetch of the first that needs it");
        };
        let last = std::mem::replace(&mut coming.last, slot);
        self.waiter(last).next = Some(slot);
    }
}
