//! The drive as a whole: admission, the host interface and the commands.
//!
//! Model: up to `queue_depth` commands are in the drive; more wait in the host, in order. A command
//! occupies the controller, then the link, then flash or buffer. A blocking TRIM waits at the head
//! of the waiting commands until the drive is empty, and nothing starts beside it.
//!
//! Units: time in nanoseconds on the caller's clock, space in mapping units of 4 KiB. Logical
//! blocks have 512 bytes; a write of part of a unit reads the rest of it first.

use std::collections::VecDeque;

use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{
    BlockCommand, BlockSize, Bytes, Capabilities, Clock, Completion, Data, DrainRule, Instant,
    LbaRange, Medium, Model, Nanos, Operation, Rejected, Statistics, Status, Support, Tag,
};

use crate::config::{LinkDuplex, Media, SsdConfig, TrimMode, UNIT_BYTES};
use crate::contents::{Contents, UNIT_BLOCKS};
use crate::counters::Counters;
use crate::events::{Action, Events, InFlight};
use crate::flash::{Flash, PackedUnit};
use crate::nand::{Nand, Rate, Resource};
use crate::trim::{Backlog, Granules, work};

mod drive;
mod planted;
pub use planted::{Overreach, TableFault};

#[cfg(test)]
pub(crate) mod tests;

/// Logical block of all emulated drives.
const LOGICAL_BLOCK: BlockSize = BlockSize::SECTOR;
const _: () = assert!(UNIT_BLOCKS == UNIT_BYTES / LOGICAL_BLOCK.bytes().0);

/// An emulated SSD. Made by [`SsdConfig::build`]; fresh out of the box, at rest.
#[derive(Debug)]
pub struct Ssd {
    config: SsdConfig,
    capabilities: Capabilities,
    /// `None` on a medium that is overwritten in place.
    flash: Option<Flash>,
    nand: Nand,
    controller: Resource,
    /// Towards the drive, and towards the host; the same one where the link is half duplex.
    link_in: Resource,
    link_out: Resource,
    link_rate: Rate,
    backlog: Backlog,
    granules: Granules,
    events: Events,
    reads: Reads,
    waiting: VecDeque<(InFlight, BlockCommand)>,
    in_flight: u32,
    /// A blocking TRIM is in the drive: nothing else may start.
    alone: bool,
    last_activity: Instant,
    counters: Counters,
    statistics: Statistics,
    /// `None` before the first stamped write.
    contents: Option<Box<Contents>>,
    overreach: Overreach,
}

/// A step of a preconditioning: what happens to one mapping unit of 4 KiB, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is written.
    Write(u32),
    /// It is discarded.
    Discard(u32),
}

/// How often the superblocks of a drive were erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EraseCounts {
    /// Of the superblock that was erased least.
    pub least: u32,
    /// Of the one that was erased most.
    pub most: u32,
    /// Of all together.
    pub total: u64,
    /// How many there are, the collector's reserve and a fixed SLC cache included.
    pub superblocks: u64,
}

impl EraseCounts {
    /// Erases a superblock.
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.superblocks as f64
    }
}

/// Reads whose parts are on different dies.
#[derive(Debug, Default)]
struct Reads {
    entries: Vec<PartialRead>,
    vacant: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct PartialRead {
    command: InFlight,
    parts_left: u32,
    latest: Instant,
}

impl Reads {
    fn add(&mut self, command: InFlight) -> u32 {
        let entry = PartialRead { command, parts_left: 0, latest: Instant::START };
        if let Some(index) = self.vacant.pop() {
            self.entries[index as usize] = entry;
            index
        } else {
            self.entries.push(entry);
            narrow(self.entries.len() as u64 - 1)
        }
    }
}

/// The mapping units that a range of logical blocks touches.
#[derive(Clone, Copy, Debug)]
struct UnitSpan {
    first: u32,
    /// One past the last.
    end: u32,
    /// The first unit is covered in part only; likewise the last.
    head_partial: bool,
    tail_partial: bool,
}

impl UnitSpan {
    fn of(range: LbaRange) -> Self {
        let (start, end) = (range.start().0, range.end().0);
        Self {
            first: narrow(start / UNIT_BLOCKS),
            end: narrow(end.div_ceil(UNIT_BLOCKS)),
            head_partial: !start.is_multiple_of(UNIT_BLOCKS),
            tail_partial: !end.is_multiple_of(UNIT_BLOCKS),
        }
    }

    /// The units that are covered whole, as `(first, end)`; empty if there are none.
    fn whole(self) -> (u32, u32) {
        let first = self.first + u32::from(self.head_partial);
        let end = self.end - u32::from(self.tail_partial);
        (first, end.max(first))
    }

    /// The units that are covered in part.
    fn partial(self) -> impl Iterator<Item = u32> {
        let head = self.head_partial.then_some(self.first);
        let last = self.end - 1;
        let tail =
            (self.tail_partial && !(self.head_partial && last == self.first)).then_some(last);
        head.into_iter().chain(tail)
    }
}

impl Ssd {
    /// A fresh drive of checked numbers.
    pub(crate) fn new(config: SsdConfig) -> Self {
        let capabilities = Capabilities {
            clock: Clock::Virtual,
            medium: Medium::Device { capacity: config.capacity, logical_block: LOGICAL_BLOCK },
            discard: Support::Native,
            discard_max: config.trim.command_max,
            discard_granularity: config.trim.granularity,
            queue_depth: config.host.queue_depth,
            drain: DrainRule::IMMEDIATE,
        };
        Self {
            flash: (config.media == Media::Flash).then(|| Flash::new(&config)),
            nand: Nand::new(&config),
            controller: Resource::default(),
            link_in: Resource::default(),
            link_out: Resource::default(),
            link_rate: Rate::new(config.host.link_rate.0),
            backlog: Backlog::new(&config.trim),
            granules: Granules::new(&config.trim),
            events: Events::default(),
            reads: Reads::default(),
            waiting: VecDeque::new(),
            in_flight: 0,
            alone: false,
            last_activity: Instant::START,
            counters: Counters::default(),
            statistics: Statistics::default(),
            contents: None,
            overreach: Overreach::default(),
            capabilities,
            config,
        }
    }

    /// The drive's numbers.
    pub fn config(&self) -> &SsdConfig {
        &self.config
    }

    /// What the drive has counted.
    pub fn counters(&self) -> Counters {
        Counters { trim_work_pending: self.backlog.pending(), ..self.counters }
    }

    /// How evenly the drive is worn since it was made or purged; `None` on a medium that is never
    /// erased. Walks all superblocks.
    pub fn erase_counts(&self) -> Option<EraseCounts> {
        let erases = self.flash.as_ref()?.erases();
        Some(EraseCounts {
            least: *erases.iter().min()?,
            most: *erases.iter().max()?,
            total: erases.iter().map(|&erases| u64::from(erases)).sum(),
            superblocks: erases.len() as u64,
        })
    }

    /// Logical units of 4 KiB that hold data; on a medium that is overwritten in place, none is
    /// ever known to hold none.
    pub fn mapped_units(&mut self) -> u64 {
        self.flash.as_mut().map_or(self.config.capacity.0 / UNIT_BYTES, Flash::mapped_units)
    }

    /// Whether the logical unit of this number, of 4 KiB, holds data. On a medium that is
    /// overwritten in place each does.
    pub fn holds_data(&mut self, unit: u64) -> bool {
        self.flash.as_mut().is_none_or(|flash| flash.holds_data(narrow(unit)))
    }

    /// Secure erase or format: as fresh out of the box. The drive must be idle.
    ///
    /// # Panics
    /// If commands are outstanding.
    pub fn purge(&mut self) {
        assert!(self.in_flight == 0 && self.waiting.is_empty(), "a purge needs an idle drive");
        if self.flash.is_some() {
            self.flash = Some(Flash::new(&self.config));
        }
        self.nand = Nand::new(&self.config);
        self.backlog.clear();
        self.contents = None;
        self.events.clear();
        self.counters = Counters::default();
    }

    /// Preconditioning: writes `[start, start + length)` (whole units) in order, in no time. The
    /// drive must be idle; it is at rest afterwards.
    ///
    /// # Panics
    /// If the range ends beyond the drive.
    pub fn precondition_sequential(&mut self, start: Bytes, length: Bytes) {
        assert!(start.0 + length.0 <= self.config.capacity.0, "preconditioning beyond the drive");
        let first = narrow(start.0 / UNIT_BYTES);
        let end = narrow((start.0 + length.0) / UNIT_BYTES);
        self.precondition_with((first..end).map(Change::Write));
    }

    /// Preconditioning: writes and discards single units in this order, in no time. A discard frees
    /// what it would as a command. The drive must be idle; it is at rest afterwards.
    ///
    /// # Panics
    /// If a unit lies beyond the drive.
    pub fn precondition_with(&mut self, changes: impl Iterator<Item = Change>) {
        self.contents = None;
        self.fill(changes, Data::Random);
    }

    /// Preconditioning: writes `count` units at uniformly random addresses, in no time. The drive
    /// must be idle; it is at rest afterwards.
    pub fn precondition_random(&mut self, count: u64, rng: &mut Rng) {
        let units = self.config.exported_units();
        self.precondition_with((0..count).map(|_| Change::Write(narrow(rng.below(units)))));
    }

    /// Makes the changes in no time and without a trace in the contents; the drive is at rest
    /// afterwards.
    fn fill(&mut self, changes: impl Iterator<Item = Change>, data: Data) {
        let (acts, granules) = (self.acts_on_discards(), self.granules);
        let compression = self.config.compression.as_ref();
        let percent = compression.map(|compression| compression.stored_percent(data));
        let Some(flash) = &mut self.flash else { return };
        let (start, counters) = (Instant::START, &mut self.counters);
        let mut resting = Nand::new(&self.config);
        flash.begin_untimed();
        for change in changes {
            match (change, percent) {
                (Change::Write(lpn), None) => {
                    flash.write(lpn, start, &mut resting, counters);
                }
                (Change::Write(lpn), Some(percent)) => {
                    flash.write_packed(PackedUnit { lpn, percent }, start, &mut resting, counters);
                }
                (Change::Discard(lpn), _) => {
                    counters.discards += 1;
                    let (first, end) = granules.within((lpn, lpn + 1));
                    if acts {
                        flash.deallocate(first, end, counters);
                    }
                }
            }
        }
        flash.end_untimed(&resting, counters);
        self.nand = Nand::new(&self.config);
    }

    /// Checks every invariant of the drive. Slow: it walks all tables.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn check(&mut self) {
        if let Some(flash) = &mut self.flash {
            flash.check(&self.counters);
        }
    }

    /// Starts a command that the drive has room for.
    fn start(&mut self, at: Instant, command: InFlight, what: BlockCommand) {
        self.in_flight += 1;
        match what {
            BlockCommand::Write { range, data } => {
                if self.contents.is_some() || matches!(data, Data::Stamped(_)) {
                    self.keep(range, data);
                }
                self.start_write(at, command, range, data);
            }
            BlockCommand::Read(range) => self.start_read(at, command, range),
            BlockCommand::Discard(range) => self.start_discard(at, command, range),
            BlockCommand::Flush => {
                if let Some(contents) = &mut self.contents {
                    contents.flushed();
                }
                let accepted = self.controller.reserve(at, self.config.host.command);
                let flash = self.flash.as_mut();
                let durable = flash.map_or(accepted, |flash| {
                    flash.flush(accepted, &mut self.nand, &mut self.counters)
                });
                self.finish(durable, command);
            }
        }
    }

    #[inline]
    fn start_write(&mut self, at: Instant, command: InFlight, range: LbaRange, data: Data) {
        let accepted = self.controller.reserve(at, self.config.host.command);
        let transfer = self.link_rate.span(command.bytes.0);
        let mut done = self.link_in.reserve(accepted, transfer);
        let span = UnitSpan::of(range);
        if let Some(flash) = &mut self.flash {
            for lpn in span.partial() {
                if let Some(group) = flash.locate(lpn, done) {
                    let die = self.nand.die_of(group);
                    let sensed = flash.sense(group, done, &mut self.nand);
                    done = self.nand.transfer(die, flash.transferred(group, 1), sensed);
                }
            }
            if let Some(compression) = &self.config.compression {
                let percent = compression.stored_percent(data);
                for lpn in span.first..span.end {
                    let unit = PackedUnit { lpn, percent };
                    done = flash.write_packed(unit, done, &mut self.nand, &mut self.counters);
                }
            } else {
                for lpn in span.first..span.end {
                    done = flash.write(lpn, done, &mut self.nand, &mut self.counters);
                }
            }
        } else {
            done = self.write_in_place(span, done);
        }
        self.finish(done, command);
    }

    fn write_in_place(&mut self, span: UnitSpan, from: Instant) -> Instant {
        let group_units = narrow(self.config.program_units());
        let groups = span.first / group_units..=(span.end - 1) / group_units;
        let written = u64::from(span.end - span.first);
        self.counters.host_written_units += written;
        self.counters.programmed_units += written;
        let mut done = from;
        for group in groups {
            done = done.max(self.nand.program(self.nand.die_of(group), from));
        }
        done
    }

    fn start_read(&mut self, at: Instant, command: InFlight, range: LbaRange) {
        let accepted = self.controller.reserve(at, self.config.host.command);
        let span = UnitSpan::of(range);
        self.counters.host_read_units += u64::from(span.end - span.first);
        let read = self.reads.add(command);
        // Neighbours in one program group come with one read of the die.
        let mut current: Option<(u32, u32)> = None;
        for lpn in span.first..span.end {
            let group = self.group_of(lpn, accepted);
            current = match (current, group) {
                (Some((open, units)), Some(group)) if open == group => Some((open, units + 1)),
                (before, group) => {
                    self.sense(read, before, accepted);
                    group.map(|group| (group, 1))
                }
            };
        }
        self.sense(read, current, accepted);
        if self.reads.entries[read as usize].parts_left == 0 {
            self.finish_read(read, accepted);
        }
    }

    /// The program group in which a unit lies; `None` if no flash is involved.
    fn group_of(&mut self, lpn: u32, now: Instant) -> Option<u32> {
        match &mut self.flash {
            Some(flash) => flash.locate(lpn, now),
            None => Some(lpn / narrow(self.config.program_units())),
        }
    }

    /// Starts the die phase of a part of a read.
    fn sense(&mut self, read: u32, part: Option<(u32, u32)>, from: Instant) {
        let Some((group, units)) = part else { return };
        let die = self.nand.die_of(group);
        let (sensed, units) = match &self.flash {
            Some(flash) => {
                (flash.sense(group, from, &mut self.nand), flash.transferred(group, units))
            }
            None => (self.nand.sense(die, from), units),
        };
        self.reads.entries[read as usize].parts_left += 1;
        self.events.add(sensed, Action::Sensed { read, die, units });
    }

    fn sensed(&mut self, at: Instant, read: u32, die: u32, units: u32) {
        let transferred = self.nand.transfer(die, units, at);
        let entry = &mut self.reads.entries[read as usize];
        entry.latest = entry.latest.max(transferred);
        entry.parts_left -= 1;
        if entry.parts_left == 0 {
            let latest = entry.latest;
            self.finish_read(read, latest);
        }
    }

    /// Sends what was read to the host.
    fn finish_read(&mut self, read: u32, from: Instant) {
        let command = self.reads.entries[read as usize].command;
        self.reads.vacant.push(read);
        let transfer = self.link_rate.span(command.bytes.0);
        let done = self.link_out().reserve(from, transfer);
        self.finish(done, command);
    }

    fn start_discard(&mut self, at: Instant, command: InFlight, range: LbaRange) {
        let trim = self.config.trim;
        let (first, end) = self.reach(self.granules.within(UnitSpan::of(range).whole()));
        let acts = self.acts_on_discards();
        if acts && self.contents.is_some() {
            self.journal(first, end);
        }
        let cost = match &mut self.flash {
            Some(flash) if acts => {
                work(&trim, command.bytes, flash.deallocate(first, end, &mut self.counters))
            }
            _ => Nanos::ZERO,
        };
        self.counters.discards += 1;
        let overhead = self.config.host.command + trim.command;
        let now = if trim.mode == TrimMode::Background {
            self.backlog.add(at, cost);
            overhead
        } else {
            self.counters.trim_work_done += cost;
            overhead + cost
        };
        self.alone = trim.mode == TrimMode::Blocking;
        let done = self.controller.reserve(at, now);
        self.finish(done, command);
    }

    /// Whether a discard frees anything.
    fn acts_on_discards(&self) -> bool {
        !matches!(self.config.trim.mode, TrimMode::None | TrimMode::Ignored)
    }

    /// The units that a TRIM of `[first, end)` frees: others only with a planted fault.
    fn reach(&self, (first, end): (u32, u32)) -> (u32, u32) {
        let units = |length: Bytes| narrow(length.0 / UNIT_BYTES);
        let beyond = end.saturating_add(units(self.overreach.behind));
        let last = narrow(self.config.exported_units());
        (first.saturating_sub(units(self.overreach.before)), beyond.min(last))
    }

    #[inline]
    fn finish(&mut self, at: Instant, command: InFlight) {
        self.events.add(at + self.config.host.latency, Action::Complete(command));
    }

    /// Starts waiting commands as long as there is room.
    fn admit(&mut self, at: Instant) {
        while self.in_flight < self.config.host.queue_depth && !self.alone {
            let blocking = match self.waiting.front() {
                None => return,
                Some((_, what)) => self.blocks(*what),
            };
            if blocking && self.in_flight > 0 {
                return;
            }
            if let Some((command, what)) = self.waiting.pop_front() {
                self.start(at, command, what);
            }
        }
    }

    fn blocks(&self, what: BlockCommand) -> bool {
        self.config.trim.mode == TrimMode::Blocking && matches!(what, BlockCommand::Discard(_))
    }

    fn complete(&mut self, at: Instant, command: InFlight, out: &mut Vec<Completion>) {
        self.in_flight -= 1;
        self.alone = false;
        self.last_activity = at;
        if let Some(class) = self.statistics.class_mut(command.kind) {
            class.completed += 1;
            class.bytes += command.bytes;
            class.time += at - command.submitted;
        }
        out.push(Completion { tag: command.tag, at, status: Status::Done });
        if !self.waiting.is_empty() {
            self.admit(at);
        }
    }

    /// Gives the collector the idle time before `now`.
    #[inline]
    fn use_idle_time(&mut self, now: Instant) {
        if self.in_flight > 0 {
            return;
        }
        if let Some(flash) = &mut self.flash {
            let quiet = self.last_activity;
            if quiet + flash.idle_after() < now {
                flash.use_idle_time(quiet, now, &mut self.nand, &mut self.counters);
            }
        }
    }

    /// A slice of put-off TRIM work.
    fn run_slice(&mut self) {
        let at = self.backlog.next_slice();
        let before = self.backlog.pending();
        let stolen = self.backlog.run_slice(self.in_flight == 0);
        self.counters.trim_work_done += before - self.backlog.pending();
        if stolen > Nanos::ZERO {
            self.controller.reserve(at, stolen);
            self.nand.occupy_dies(at, stolen);
        }
    }

    fn link_out(&mut self) -> &mut Resource {
        match self.config.host.duplex {
            LinkDuplex::Half => &mut self.link_in,
            LinkDuplex::Full => &mut self.link_out,
        }
    }

    /// The bytes of a valid command, or why it is not one.
    fn validate(&self, command: BlockCommand) -> Result<Bytes, Rejected> {
        use BlockCommand::{Discard, Flush, Read, Write};
        let range = match command {
            Read(range) | Write { range, .. } | Discard(range) => range,
            Flush => return Ok(Bytes(0)),
        };
        let capacity = self.config.capacity.blocks_floor(LOGICAL_BLOCK);
        if range.end().0 > capacity.0 {
            return Err(Rejected::OutOfRange { range, capacity });
        }
        let length = range.length().bytes(LOGICAL_BLOCK);
        let maximum = self.config.trim.command_max;
        if matches!(command, Discard(_)) && length > maximum {
            return Err(Rejected::DiscardTooLarge { length, maximum });
        }
        Ok(length)
    }
}

impl Model for Ssd {
    type Command = BlockCommand;

    #[inline]
    fn submit(&mut self, now: Instant, tag: Tag, what: BlockCommand) -> Result<(), Rejected> {
        let bytes = self.validate(what)?;
        self.use_idle_time(now);
        self.last_activity = now;
        let command = InFlight { tag, kind: what.kind(), bytes, submitted: now };
        let room = self.in_flight < self.config.host.queue_depth
            && self.waiting.is_empty()
            && !self.alone
            && (self.in_flight == 0 || !self.blocks(what));
        if room {
            self.start(now, command, what);
        } else {
            self.waiting.push_back((command, what));
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Instant {
        self.events.next_at().min(self.backlog.next_slice())
    }

    #[inline]
    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        loop {
            // A slice that begins with a completion begins before it: it is already in the way.
            let slice_at = self.backlog.next_slice();
            if slice_at <= now && slice_at <= self.events.next_at() {
                self.run_slice();
                continue;
            }
            match self.events.take_due(now) {
                None => return,
                Some((at, Action::Complete(command))) => self.complete(at, command, out),
                Some((at, Action::Sensed { read, die, units })) => {
                    self.sensed(at, read, die, units);
                }
            }
        }
    }

    fn statistics(&self) -> Statistics {
        let outstanding = u64::from(self.in_flight) + self.waiting.len() as u64;
        Statistics { outstanding, ..self.statistics }
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}
