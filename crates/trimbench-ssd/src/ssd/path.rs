//! The path of reads, writes and flushes through the drive.
//!
//! ```text
//! read:   controller -> [translation pages] -> dies -> channels -> link -> + latency
//! write:  controller -> [translation pages] -> link -> [reads of the rest of its units] -> buffer
//!         -> + latency
//! flush:  controller -> programs of all that came before -> + latency
//! ```
//!
//! A command reserves a resource when it reaches it, not earlier: otherwise commands in between
//! would wait for something that has not begun. Of the shared resources, only the controller is
//! reserved when a command starts (it serves in that order), and the link towards the drive if
//! nothing else uses it. Compared with an exact event simulation (`docs/model/README.md`).

pub(super) mod translation;

use std::collections::VecDeque;

use trimbench_core::units::narrow;
use trimbench_core::{Bytes, Data, Instant, LbaRange, Nanos};

use super::{PIECE_BYTES, Ssd, UnitSpan, pieces_of};
use crate::config::LinkDuplex;
use crate::events::Action;
use crate::ftl::Located;
use crate::nand::Cells;
use crate::slots::{BySlot, Slot};
use crate::write_buffer::Position;
use translation::{PageReads, PendingPage, Then, Waiter};

/// Commands on their way.
#[derive(Debug, Default)]
pub(super) struct Path {
    /// What the controller has accepted, in the order in which it is through with it.
    accepted: VecDeque<(Instant, Accepted)>,
    /// What the command in each slot fetches, if anything.
    fetches: BySlot<Fetch>,
    /// Writes and flushes whose end depends on groups that have not left, in their order.
    blocked: VecDeque<BlockedWrite>,
    /// Flushes that wait for programs of groups that have not left.
    flushing: VecDeque<BlockedWrite>,
    /// What the command in each slot needs of the map, in a drive without DRAM.
    waiters: BySlot<Waiter>,
}

/// A command that goes on when the controller is through with it.
#[derive(Clone, Copy, Debug)]
enum Accepted {
    Read(Slot, LbaRange),
    Write(Slot, Incoming),
    Flush(Slot, Position),
    /// A read or a write that first needs its translation pages.
    LookUp(Slot),
}

/// What a write still needs when its data have come over the link.
#[derive(Clone, Copy, Debug)]
enum Incoming {
    /// A place in the buffer.
    Whole(Position),
    /// The same, and before it reads of these program groups, one after the other.
    Partial(Position, [Option<u32>; 2]),
    /// It is written where it is.
    InPlace(UnitSpan),
}

/// What a command needs from the flash.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    purpose: Purpose,
    parts_left: u32,
    latest: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// The data of a read.
    Data,
    /// What a write needs before its data count as written.
    Incoming(Incoming),
    /// A translation page.
    Page(PendingPage),
    /// The translation pages of a TRIM.
    Discard(PageReads),
}

#[derive(Clone, Copy, Debug)]
struct BlockedWrite {
    slot: Slot,
    position: Position,
    /// When its data came over the link.
    at: Instant,
    is_flush: bool,
}

impl Path {
    fn fetch(&mut self, slot: Slot, purpose: Purpose) {
        self.fetches.set(slot, Fetch { purpose, parts_left: 0, latest: Instant::START });
    }

    fn fetch_of(&mut self, slot: Slot) -> &mut Fetch {
        self.fetches.of(slot)
    }

    /// When the controller is through with the next command.
    pub(super) fn next_accepted(&self) -> Instant {
        self.accepted.front().map_or(Instant::NEVER, |(at, _)| *at)
    }
}

impl Ssd {
    /// The controller is through with a command at `at`.
    fn pass(&mut self, at: Instant, accepted: Accepted) {
        self.path.accepted.push_back((at, accepted));
        self.begins_at = self.begins_at.min(at);
    }

    #[inline(never)]
    pub(super) fn start_read(&mut self, at: Instant, slot: Slot, range: LbaRange) {
        let accepted = self.controller.reserve(at, self.config.host.command);
        if self.config.mapping_cache.is_some() {
            self.look_up(accepted, slot, self.unit.span(range), Then::Read(range));
            return;
        }
        self.pass(accepted, Accepted::Read(slot, range));
    }

    #[inline(never)]
    pub(super) fn start_flush(&mut self, at: Instant, slot: Slot) {
        let accepted = self.controller.reserve(at, self.config.host.command);
        match &mut self.flash {
            Some(flash) if !self.config.power_loss_protection => {
                flash.pad(&mut self.counters);
                let flush = Accepted::Flush(slot, flash.buffer.placed());
                if let Some(contents) = &mut self.contents {
                    contents.flush_started(slot);
                }
                self.pass(accepted, flush);
            }
            _ => self.finish(accepted, slot),
        }
    }

    #[expect(clippy::inline_always, reason = "a call costs more than what it does")]
    #[inline(always)]
    pub(super) fn start_write(&mut self, at: Instant, slot: Slot, range: LbaRange, data: Data) {
        let span = self.unit.span(range);
        self.counters.host_written += Bytes(pieces_of(range) * PIECE_BYTES);
        let scattered = match &mut self.streams {
            Some(streams) => streams.write(span.first, span.end),
            None => Nanos::ZERO,
        };
        let accepted = self.controller.reserve(at, self.config.host.command + scattered);
        let incoming = self.place(span, data);
        if self.config.mapping_cache.is_some() {
            self.look_up(accepted, slot, span, Then::Write(incoming));
            return;
        }
        // Only writes use this direction of a full duplex link, in the order of the controller, and
        // what a flush before it pads goes to the flash before it.
        if self.config.host.duplex == LinkDuplex::Full && self.path.accepted.is_empty() {
            self.send(accepted, slot, incoming);
        } else {
            self.pass(accepted, Accepted::Write(slot, incoming));
        }
    }

    /// Decides where the data of a write go.
    #[expect(clippy::inline_always, reason = "a call costs more than what it does")]
    #[inline(always)]
    fn place(&mut self, span: UnitSpan, data: Data) -> Incoming {
        let percent = self.stored_percent(data);
        let Some(flash) = &mut self.flash else {
            let written = u64::from(span.end - span.first);
            self.counters.host_written_units += written;
            self.counters.programmed_units += written;
            return Incoming::InPlace(span);
        };
        let mut rest = [None; 2];
        for (part, lpn) in rest.iter_mut().zip(span.partial()) {
            *part = flash.locate(lpn, self.now);
        }
        for lpn in span.first..span.end {
            flash.write(lpn, percent, (&self.nand, self.now), &mut self.counters);
        }
        let placed = flash.buffer.placed();
        if rest == [None; 2] { Incoming::Whole(placed) } else { Incoming::Partial(placed, rest) }
    }

    /// A write's data go over the link.
    #[expect(clippy::inline_always, reason = "a call costs more than what it does")]
    #[inline(always)]
    fn send(&mut self, from: Instant, slot: Slot, incoming: Incoming) {
        let transfer = self.link_rate.span(self.slots.command(slot).bytes.0);
        let at = self.link_in.reserve(from, transfer);
        if let Incoming::Whole(position) = incoming {
            self.settle(BlockedWrite { slot, position, at, is_flush: false });
        } else {
            self.path.fetch(slot, Purpose::Incoming(incoming));
            self.events.add(at, Action::Fetched(slot));
        }
    }

    /// The next command that the controller is through with goes on.
    pub(super) fn accept(&mut self) {
        match self.path.accepted.pop_front() {
            None => {}
            Some((at, Accepted::Read(slot, range))) => self.read(at, slot, range),
            Some((at, Accepted::Write(slot, incoming))) => self.send(at, slot, incoming),
            Some((at, Accepted::Flush(slot, position))) => {
                self.settle(BlockedWrite { slot, position, at, is_flush: true });
            }
            Some((at, Accepted::LookUp(slot))) => self.translate(at, slot),
        }
    }

    fn read(&mut self, at: Instant, slot: Slot, range: LbaRange) {
        let span = self.unit.span(range);
        self.counters.host_read_units += u64::from(span.end - span.first);
        self.path.fetch(slot, Purpose::Data);
        // Neighbours in one program group come with one read of the die.
        let (mut current, mut located): (Option<(u32, u32)>, _) = (None, None);
        for lpn in span.first..span.end {
            let group = self.group_of(lpn, at, &mut located);
            let pieces = narrow(self.unit.pieces_within(lpn, range));
            current = match (current, group) {
                (Some((open, so_far)), Some(group)) if open == group => {
                    Some((open, so_far + pieces))
                }
                (before, group) => {
                    self.sense(slot, before, at);
                    group.map(|group| (group, pieces))
                }
            };
        }
        self.sense(slot, current, at);
        if self.path.fetch_of(slot).parts_left == 0 {
            self.fetched(at, slot);
        }
    }

    /// The program group in which a unit lies; `None` if no flash is involved.
    fn group_of(&mut self, lpn: u32, now: Instant, before: &mut Option<Located>) -> Option<u32> {
        match &mut self.flash {
            Some(flash) => flash.locate_beside(lpn, now, before),
            None => Some(lpn / narrow(self.config.program_units())),
        }
    }

    /// Starts the die phase of a part of what is fetched.
    fn sense(&mut self, slot: Slot, part: Option<(u32, u32)>, at: Instant) {
        let Some((group, pieces)) = part else { return };
        let die = self.nand.die_of(group);
        let (sensed, pieces) = match &mut self.flash {
            // Where there is compression, a piece is a unit.
            Some(flash) => {
                (flash.sense(group, at, &mut self.nand), flash.mapping.transferred(group, pieces))
            }
            None => (self.nand.sense(Cells::Data, die, at), pieces),
        };
        self.await_part(sensed, slot, die, pieces);
    }

    /// The die phase of a part of what a command fetches ends at `sensed`.
    fn await_part(&mut self, sensed: Instant, slot: Slot, die: u32, pieces: u32) {
        self.path.fetch_of(slot).parts_left += 1;
        self.events.add(sensed, Action::Sensed { slot, die, pieces });
    }

    /// The die phase of a part ended.
    pub(super) fn sensed(&mut self, at: Instant, slot: Slot, die: u32, pieces: u32) {
        let transferred = self.nand.transfer(die, pieces, at);
        let fetch = self.path.fetch_of(slot);
        fetch.latest = fetch.latest.max(transferred);
        fetch.parts_left -= 1;
        if fetch.parts_left == 0 {
            self.events.add(fetch.latest, Action::Fetched(slot));
        }
    }

    /// Nothing more is on its way for this command.
    pub(super) fn fetched(&mut self, at: Instant, slot: Slot) {
        match self.path.fetch_of(slot).purpose {
            Purpose::Page(coming) => self.page_arrived(at, slot, coming),
            Purpose::Discard(reads) => self.read_pages(at, slot, reads),
            Purpose::Data => {
                let transfer = self.link_rate.span(self.slots.command(slot).bytes.0);
                let done = self.link_out().reserve(at, transfer);
                self.finish(done, slot);
            }
            Purpose::Incoming(Incoming::Partial(position, [first, second]))
                if first.or(second).is_some() =>
            {
                let left = if first.is_some() { [second, None] } else { [None; 2] };
                let purpose = Purpose::Incoming(Incoming::Partial(position, left));
                self.path.fetch_of(slot).purpose = purpose;
                let pieces = self.unit.pieces();
                self.sense(slot, first.or(second).map(|group| (group, pieces)), at);
            }
            Purpose::Incoming(Incoming::Partial(position, _) | Incoming::Whole(position)) => {
                self.settle(BlockedWrite { slot, position, at, is_flush: false });
            }
            Purpose::Incoming(Incoming::InPlace(span)) => {
                let done = self.write_in_place(span, at);
                self.finish(done, slot);
            }
        }
    }

    fn write_in_place(&mut self, span: UnitSpan, at: Instant) -> Instant {
        let group_units = narrow(self.config.program_units());
        let groups = span.first / group_units..=(span.end - 1) / group_units;
        let programmed =
            groups.map(|group| self.nand.program(Cells::Data, self.nand.die_of(group), at, None));
        programmed.max().unwrap_or(at)
    }

    /// The data of a write have come, or a flush is accepted: it ends as soon as it can.
    #[expect(clippy::inline_always, reason = "a call costs more than what it does")]
    #[inline(always)]
    fn settle(&mut self, blocked: BlockedWrite) {
        let BlockedWrite { slot, position, at, is_flush } = blocked;
        if !self.path.blocked.is_empty() || !self.try_settle(slot, position, at, is_flush) {
            self.path.blocked.push_back(BlockedWrite { slot, position, at, is_flush });
        }
    }

    /// Whether it is known when the write ends, or when the flush has all data in the buffer. Told
    /// the parts of a [`BlockedWrite`], which stay in registers.
    #[inline]
    fn try_settle(&mut self, slot: Slot, position: Position, at: Instant, is_flush: bool) -> bool {
        let flash = self.flash.as_mut().expect("only flash has a buffer");
        let arrived = flash.buffer.arrive(position, at);
        self.begins_at = self.begins_at.min(flash.buffer.next_leaves_at());
        let Some(arrived) = arrived else { return false };
        if is_flush {
            self.path.flushing.push_back(BlockedWrite { slot, position, at: arrived, is_flush });
            self.try_flush();
        } else {
            let pieces = self.slots.command(slot).bytes.0.div_ceil(PIECE_BYTES);
            let acknowledged = flash.paced(arrived, pieces);
            self.finish(acknowledged, slot);
        }
        true
    }

    /// Ends the flushes all of whose data have left for the flash.
    fn try_flush(&mut self) {
        let Some(flash) = &self.flash else { return };
        while let Some(&BlockedWrite { slot, position, at, .. }) = self.path.flushing.front() {
            let Some(durable) = flash.buffer.durable_at(position) else { return };
            self.path.flushing.pop_front();
            self.events.add(at.max(durable) + self.config.host.latency, Action::Flushed(slot));
        }
    }

    /// When the next group leaves for the flash.
    pub(super) fn next_leaves_at(&self) -> Instant {
        self.flash.as_ref().map_or(Instant::NEVER, |flash| flash.buffer.next_leaves_at())
    }

    /// A group leaves for the flash: what waited for that goes on.
    pub(super) fn leave(&mut self) {
        if let Some(flash) = &mut self.flash {
            flash.leave(&mut self.nand);
        }
        while let Some(&BlockedWrite { slot, position, at, is_flush }) = self.path.blocked.front()
            && self.try_settle(slot, position, at, is_flush)
        {
            self.path.blocked.pop_front();
        }
        self.try_flush();
    }
}
