//! The way of commands through the map of a drive without DRAM.
//!
//! Model: after the controller, a read or a write needs its translation pages, one after the other.
//! One that is cached costs nothing. One that is not is sensed on its die and goes over its channel;
//! who needs it meanwhile waits for the same read. A write updates its pages as it finds them, and
//! makes those that were nowhere, without a read. Then a read goes on to its data, a write to the
//! link.
//!
//! The page that goes for one that arrives is programmed at that instant, if it was updated. The
//! command does not wait for this program, but the next that uses its die or channel does; and while
//! as many such programs are under way as there are dies, the page that arrives waits.
//!
//! A TRIM updates the cache when it starts, as it does the map. The pages that it had to read for
//! that are charged behind the controller, as many at once as there are dies; in the background they
//! become work like the rest.

use trimbench_core::{Instant, LbaRange, Nanos};

use super::{Accepted, Incoming, Purpose, Ssd, UnitSpan};
use crate::events::{Action, InFlight};
use crate::mapping_cache::{Found, MappingCache};

/// Nobody.
const NONE: u32 = u32::MAX;

/// A command on its way through its translation pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    command: InFlight,
    then: Then,
    /// The page that it needs next, and one past its last.
    page: u32,
    end: u32,
    /// Who waits behind it for the same page.
    next: u32,
}

/// What a command does that has its pages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Then {
    Read(LbaRange),
    Write(Incoming),
}

/// A translation page that is fetched, and who waits for it, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    page: u32,
    first: u32,
    last: u32,
}

/// Translation pages that a TRIM must still read, and the die of the next.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::ssd) struct PageReads {
    left: u32,
    die: u32,
}

impl Ssd {
    /// A command is over with the controller at `accepted`, and then needs the pages of `span`.
    pub(super) fn look_up(
        &mut self,
        accepted: Instant,
        command: InFlight,
        span: UnitSpan,
        then: Then,
    ) {
        let pages = self.translation().pages_of(span.first, span.end);
        let waiter = Waiter { command, then, page: pages.start, end: pages.end, next: NONE };
        let waiter = self.path.add_waiter(waiter);
        self.path.accepted.push_back((accepted, Accepted::LookUp(waiter)));
    }

    /// A command goes on through its pages, as far as it can.
    pub(super) fn translate(&mut self, at: Instant, waiter: u32) {
        let Waiter { command, then, mut page, end, .. } = self.path.waiters[waiter as usize];
        let updates = matches!(then, Then::Write(_));
        while page < end {
            let found = self.translation().reach(page, updates);
            let on_flash = match found {
                Found::Cached => None,
                Found::Nowhere if !updates => None,
                Found::Coming(fetch) => {
                    self.wait_for(fetch, waiter, page);
                    return;
                }
                Found::Nowhere => Some(false),
                Found::OnFlash => Some(true),
            };
            if let Some(on_flash) = on_flash {
                let coming = Coming { page, first: NONE, last: NONE };
                let fetch = self.path.add(command, Purpose::Page(coming));
                self.translation().expect(page, fetch);
                self.wait_for(fetch, waiter, page);
                if on_flash {
                    self.counters.map_pages_read += 1;
                    self.sense_page(fetch, self.nand.die_of(page), at);
                } else {
                    self.events.add(at, Action::Fetched { fetch });
                }
                return;
            }
            page += 1;
        }
        self.path.vacant_waiters.push(waiter);
        match then {
            Then::Read(range) => self.read(at, command, range),
            Then::Write(incoming) => self.send(at, command, incoming),
        }
    }

    /// A page is in the controller: it goes into the cache, and who waited for it goes on.
    pub(super) fn page_arrived(&mut self, at: Instant, fetch: u32, coming: Coming) {
        let room_at = self.translation().room_at(at);
        if room_at > at {
            self.events.add(room_at, Action::Fetched { fetch });
            return;
        }
        let gone = self.translation().arrive(coming.page);
        self.write_back(gone, at);
        self.path.vacant.push(fetch);
        let mut waiter = coming.first;
        while waiter != NONE {
            let next = std::mem::replace(&mut self.path.waiters[waiter as usize].next, NONE);
            self.translate(at, waiter);
            waiter = next;
        }
    }

    /// A TRIM that starts at `at` frees the units `[first, end)`: adds the pages that it must read.
    pub(in crate::ssd) fn trim_pages(
        &mut self,
        (first, end): (u32, u32),
        at: Instant,
        reads: &mut PageReads,
    ) {
        for page in self.translation().pages_of(first, end) {
            let trimmed = self.translation().trim(page, (first, end));
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
    pub(in crate::ssd) fn finish_discard(
        &mut self,
        at: Instant,
        command: InFlight,
        reads: PageReads,
    ) {
        if reads.left == 0 {
            self.finish(at, command);
        } else {
            let fetch = self.path.add(command, Purpose::Discard(reads));
            self.events.add(at, Action::Fetched { fetch });
        }
    }

    /// The next reads of a TRIM, one on each die; or its end.
    pub(super) fn read_pages(&mut self, at: Instant, fetch: u32, reads: PageReads) {
        if reads.left == 0 {
            let command = self.path.fetches[fetch as usize].command;
            self.path.vacant.push(fetch);
            self.finish(at, command);
            return;
        }
        let now = reads.left.min(self.nand.die_count());
        for offset in 0..now {
            self.sense_page(fetch, self.nand.die_of(reads.die + offset), at);
        }
        let die = self.nand.die_of(reads.die + now);
        let left = PageReads { left: reads.left - now, die };
        self.path.fetches[fetch as usize].purpose = Purpose::Discard(left);
    }

    /// A command that cannot go on without the page waits for the fetch that brings it.
    fn wait_for(&mut self, fetch: u32, waiter: u32, page: u32) {
        self.path.waiters[waiter as usize].page = page;
        let Purpose::Page(coming) = &mut self.path.fetches[fetch as usize].purpose else {
            unreachable!("a page comes with a fetch of its own");
        };
        let last = std::mem::replace(&mut coming.last, waiter);
        if last == NONE {
            coming.first = waiter;
        } else {
            self.path.waiters[last as usize].next = waiter;
        }
    }

    /// Starts the read of a page.
    fn sense_page(&mut self, fetch: u32, die: u32, at: Instant) {
        let units = self.nand.map_units();
        let flash = self.flash.as_mut().expect("only flash has a map");
        let sensed = flash.sense_map(die, at, &mut self.nand);
        self.path.fetches[fetch as usize].parts_left += 1;
        self.events.add(sensed, Action::Sensed { fetch, die, units });
    }

    /// The page that had to go, if it was updated, is programmed.
    fn write_back(&mut self, gone: Option<u32>, at: Instant) {
        let Some(page) = gone else { return };
        let programmed_at = self.nand.program_map(self.nand.die_of(page), at);
        self.translation().written_back(programmed_at);
        self.counters.map_pages_programmed += 1;
    }

    fn translation(&mut self) -> &mut MappingCache {
        let flash = self.flash.as_mut().expect("only flash has a map");
        flash.translation().expect("only called in a drive with a mapping cache")
    }
}

impl super::Path {
    fn add_waiter(&mut self, waiter: Waiter) -> u32 {
        if let Some(index) = self.vacant_waiters.pop() {
            self.waiters[index as usize] = waiter;
            index
        } else {
            self.waiters.push(waiter);
            trimbench_core::units::narrow(self.waiters.len() as u64 - 1)
        }
    }
}
