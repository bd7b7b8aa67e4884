//! The drive as a whole: admission, the host interface and the commands.
//!
//! Model: up to `queue_depth` commands are in the drive; more wait in the host, in order. A command
//! occupies the controller, then the link, then flash or buffer. A blocking TRIM waits at the head
//! of the waiting commands until the drive is empty, and nothing starts beside it.
//!
//! Units: time in nanoseconds on the caller's clock, space in mapping units. Logical blocks have
//! 512 bytes; a write of part of a unit reads the rest of it first.

use std::collections::{BTreeMap, VecDeque};

use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{
    BlockCommand, Bytes, Capabilities, Clock, Completion, DISCARD_RANGES_MAX, Data,
    DeviceStatistics, DrainRule, Instant, LbaRange, Medium, Model, Nanos, Operation, Rejected,
    Status, Storage, Support, Tag,
};

use crate::config::{DriveConfigError, LinkDuplex, Media, SsdConfig, WHOLE};
use crate::contents::Contents;
use crate::counters::DriveCounters;
use crate::events::{Action, Events};
use crate::ftl::Ftl;
use crate::nand::{Nand, Rate, Resource};
use crate::slots::{InFlight, Slot, Slots};
use crate::streams::WriteStreams;
use crate::trim::{Backlog, Granules, Tail};
use crate::unit::{LOGICAL_BLOCK, PIECE_BYTES, UnitSize, UnitSpan, pieces_of};
use discard::Turns;
use path::Path;

mod discard;
mod drive;
mod path;
mod planted;
mod precondition;

pub use planted::Overreach;
pub use precondition::PreconditionStep;

#[cfg(test)]
pub(crate) mod tests;

/// An emulated SSD. Made by [`SsdConfig::build`]; fresh out of the box, at rest.
#[derive(Debug)]
pub struct Ssd {
    config: SsdConfig,
    capabilities: Capabilities,
    /// `None` on a medium that is overwritten in place.
    flash: Option<Ftl>,
    nand: Nand,
    controller: Resource,
    /// Towards the drive, and towards the host; the same one where the link is half duplex.
    link_in: Resource,
    link_out: Resource,
    link_rate: Rate,
    backlog: Backlog,
    turns: Turns,
    tail: Tail,
    granules: Granules,
    unit: UnitSize,
    events: Events,
    path: Path,
    /// When the next of those things begins that are no events: a slice of put-off TRIM work, a
    /// command that the controller is through with, a group that leaves for the flash.
    begins_at: Instant,
    slots: Slots,
    waiting: VecDeque<(InFlight, BlockCommand)>,
    /// The ranges of discards that have not started and have several.
    lists: BTreeMap<Tag, Box<[LbaRange]>>,
    /// A blocking TRIM is in the drive: nothing else may start.
    alone: bool,
    last_activity: Instant,
    /// The latest instant that the drive was told.
    now: Instant,
    counters: DriveCounters,
    statistics: DeviceStatistics,
    /// `None` before the first stamped write.
    contents: Option<Box<Contents>>,
    overreach: Overreach,
    /// [`Drive::fill_from`](trimbench_core::Drive::fill_from) fills nothing.
    stays_empty: bool,
    streams: Option<WriteStreams>,
    /// `None` where every command takes the same latency.
    jitter: Option<Rng>,
}

impl SsdConfig {
    /// Checks all values and makes a fresh drive.
    pub fn build(self) -> Result<Ssd, DriveConfigError> {
        self.check()?;
        Ok(Ssd::new(self))
    }

    /// What such a drive can do.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            clock: Clock::Virtual,
            medium: Medium::Device { capacity: self.capacity, logical_block: LOGICAL_BLOCK },
            discard: Support::Native,
            discard_max: self.trim.command_max,
            discard_granularity: self.discard_granularity(),
            queue_depth: self.host.queue_depth,
            drain: DrainRule::IMMEDIATE,
        }
    }
}

impl Ssd {
    /// A fresh drive of checked numbers.
    pub(crate) fn new(config: SsdConfig) -> Self {
        Self {
            flash: (config.media == Media::Flash).then(|| Ftl::new(&config)),
            nand: Nand::new(&config),
            controller: Resource::default(),
            link_in: Resource::default(),
            link_out: Resource::default(),
            link_rate: Rate::new(config.host.link_rate.0),
            backlog: Backlog::new(&config.trim),
            turns: Turns::default(),
            tail: Tail::default(),
            granules: Granules::new(&config),
            unit: config.unit(),
            events: Events::default(),
            path: Path::default(),
            begins_at: Instant::NEVER,
            slots: Slots::default(),
            now: Instant::START,
            waiting: VecDeque::new(),
            lists: BTreeMap::new(),
            alone: false,
            last_activity: Instant::START,
            counters: DriveCounters::default(),
            statistics: DeviceStatistics::default(),
            contents: None,
            overreach: Overreach::default(),
            stays_empty: false,
            streams: config.write_streams.map(WriteStreams::new),
            jitter: (config.host.jitter > Nanos::ZERO).then(|| Rng::new(0).split("jitter")),
            capabilities: config.capabilities(),
            config,
        }
    }

    /// The drive's numbers.
    pub fn config(&self) -> &SsdConfig {
        &self.config
    }

    /// What the drive has counted.
    pub fn counters(&self) -> DriveCounters {
        let mut counters =
            DriveCounters { trim_work_pending: self.backlog.pending(), ..self.counters };
        if let Some(packing) = self.flash.as_ref().and_then(|flash| flash.mapping.packing()) {
            counters = packing.account(counters);
        }
        DriveCounters { programmed: self.unit.bytes(counters.programmed_units), ..counters }
    }

    /// Mapping units that hold data; on a medium that is overwritten in place, none is
    /// ever known to hold none.
    pub fn mapped_units(&mut self) -> u64 {
        let all = self.config.exported_units();
        self.flash.as_mut().map_or(all, |flash| flash.mapping.mapped_units())
    }

    /// Whether the mapping unit at `offset` holds data. On a medium that is overwritten in place
    /// each does.
    pub fn holds_data(&mut self, offset: Bytes) -> bool {
        let (flash, lpn) = (self.flash.as_mut(), narrow(self.unit.units(offset)));
        flash.is_none_or(|flash| flash.mapping.lookup(lpn).is_some())
    }

    /// Secure erase or format: as fresh out of the box. The drive must be idle.
    ///
    /// # Panics
    /// If commands are outstanding.
    pub fn purge(&mut self) {
        assert!(self.is_idle(), "a purge needs an idle drive");
        // The old tables go first: both at once may be more than the machine has.
        if self.flash.take().is_some() {
            self.flash = Some(Ftl::new(&self.config));
        }
        self.nand = Nand::new(&self.config);
        self.backlog.clear();
        self.turns = Turns::default();
        self.tail = Tail::default();
        self.contents = None;
        self.streams = self.config.write_streams.map(WriteStreams::new);
        self.events.clear();
        self.path = Path::default();
        self.counters = DriveCounters::default();
        self.plan();
    }

    /// Checks every invariant of the drive. Slow: it walks all tables.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn check(&mut self) {
        let counters = self.counters();
        if let Some(flash) = &mut self.flash {
            flash.check(&counters);
            if self.slots.taken() == 0 {
                flash.mapping.check_translation();
            }
        }
    }

    /// How much of its size a unit of such data takes on the flash, in percent.
    #[inline]
    fn stored_percent(&self, data: Data) -> u32 {
        self.config.compression.map_or(WHOLE, |compression| compression.stored_percent(data))
    }

    /// Starts a command that the drive has room for.
    #[expect(clippy::inline_always, reason = "a call costs more than what it does")]
    #[inline(always)]
    fn start(&mut self, at: Instant, slot: Slot, what: BlockCommand) {
        match what {
            BlockCommand::Write { range, data } => {
                if self.contents.is_some() || matches!(data, Data::Stamped(_)) {
                    self.keep(range, data);
                }
                self.start_write(at, slot, range, data);
            }
            BlockCommand::Read(range) => self.start_read(at, slot, range),
            BlockCommand::Discard(range) => {
                match self.lists.remove(&self.slots.command(slot).tag) {
                    Some(ranges) => self.start_discard(at, slot, &ranges),
                    None => self.start_discard(at, slot, &[range]),
                }
            }
            BlockCommand::Flush => self.start_flush(at, slot),
        }
    }

    #[inline]
    fn finish(&mut self, at: Instant, slot: Slot) {
        let jitter = match &mut self.jitter {
            Some(rng) => rng.exponential(self.config.host.jitter),
            None => Nanos::ZERO,
        };
        self.events.add(at + self.config.host.latency + jitter, Action::Complete(slot));
    }

    /// Starts waiting commands as long as there is room.
    #[inline(never)]
    fn admit(&mut self, at: Instant) {
        while self.slots.taken() < self.config.host.queue_depth && !self.alone {
            let blocking = match self.waiting.front() {
                None => return,
                Some((_, what)) => self.blocks(*what),
            };
            if blocking && self.slots.taken() > 0 {
                return;
            }
            if let Some((command, what)) = self.waiting.pop_front() {
                let slot = self.slots.take(command);
                self.start(at, slot, what);
            }
        }
    }

    fn complete(&mut self, at: Instant, slot: Slot, out: &mut Vec<Completion>) {
        let command = self.slots.leave(slot);
        self.alone = false;
        self.last_activity = at;
        if let Some(class) = self.statistics.class_mut(command.kind) {
            class.completed += 1;
            class.bytes += command.bytes;
            class.time = class.time.saturating_add(at - command.submitted);
        }
        out.push(Completion { tag: command.tag, at, status: Status::Done });
        if !self.waiting.is_empty() {
            self.admit(at);
        }
    }

    /// Gives the collector the idle time before `now`.
    #[inline]
    fn use_idle_time(&mut self, now: Instant) {
        if self.slots.taken() > 0 {
            return;
        }
        if let Some(flash) = &mut self.flash {
            let quiet = self.last_activity;
            if quiet + flash.idle_after() < now {
                flash.use_idle_time(quiet, now, &mut self.nand, &mut self.counters);
            }
        }
    }

    /// When the next thing begins that is no event.
    fn planned(&self) -> Instant {
        self.backlog.next_slice().min(self.next_leaves_at()).min(self.path.next_accepted())
    }

    /// Looks anew when that is.
    fn plan(&mut self) {
        self.begins_at = self.planned();
    }

    fn begin(&mut self) {
        let at = self.begins_at;
        self.now = at;
        if self.backlog.next_slice() == at {
            self.run_slice();
        } else if self.next_leaves_at() == at {
            self.leave();
        } else {
            self.accept();
        }
        self.plan();
    }

    /// Whether no command is in the drive or waits for it.
    fn is_idle(&self) -> bool {
        self.slots.taken() == 0 && self.waiting.is_empty()
    }

    fn link_out(&mut self) -> &mut Resource {
        match self.config.host.duplex {
            LinkDuplex::Half => &mut self.link_in,
            LinkDuplex::Full => &mut self.link_out,
        }
    }

    /// The bytes of a valid command, or why it is not one.
    #[inline]
    fn validate(&self, command: BlockCommand) -> Result<Bytes, Rejected> {
        use BlockCommand::{Discard, Flush, Read, Write};
        match command {
            Read(range) | Write { range, .. } => self.within(range),
            Discard(range) => self.validate_discard(&[range]),
            Flush => Ok(Bytes(0)),
        }
    }

    #[inline]
    fn within(&self, range: LbaRange) -> Result<Bytes, Rejected> {
        let capacity = self.config.capacity.blocks_floor(LOGICAL_BLOCK);
        let fits = range.end().0 <= capacity.0;
        let length = range.length().bytes(LOGICAL_BLOCK);
        if fits { Ok(length) } else { Err(Rejected::OutOfRange { range, capacity }) }
    }

    #[inline]
    fn take(&mut self, now: Instant, tag: Tag, what: BlockCommand, bytes: Bytes) {
        self.now = now;
        self.use_idle_time(now);
        self.last_activity = now;
        let command = InFlight { tag, kind: what.kind(), bytes, submitted: now };
        let room = self.slots.taken() < self.config.host.queue_depth
            && self.waiting.is_empty()
            && !self.alone
            && (self.slots.taken() == 0 || !self.blocks(what));
        if room {
            let slot = self.slots.take(command);
            self.start(now, slot, what);
        } else {
            self.waiting.push_back((command, what));
        }
    }
}

impl Storage for Ssd {
    type Command = BlockCommand;

    #[inline]
    fn prefetch(&self, command: &BlockCommand) {
        if let (Some(flash), BlockCommand::Write { range, .. }) = (&self.flash, command) {
            flash.prefetch_write(self.unit.span(*range).first);
        }
    }

    fn statistics(&self) -> DeviceStatistics {
        let outstanding = u64::from(self.slots.taken()) + self.waiting.len() as u64;
        DeviceStatistics { outstanding, ..self.statistics }
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for Ssd {
    #[inline]
    fn submit(&mut self, now: Instant, tag: Tag, what: BlockCommand) -> Result<(), Rejected> {
        let bytes = self.validate(what)?;
        self.take(now, tag, what, bytes);
        Ok(())
    }

    fn submit_discard(
        &mut self,
        now: Instant,
        tag: Tag,
        ranges: &[LbaRange],
    ) -> Result<(), Rejected> {
        let bytes = self.validate_discard(ranges)?;
        let (count, maximum) = (ranges.len(), DISCARD_RANGES_MAX);
        let (Some(first), true) = (ranges.first(), count <= maximum) else {
            return Err(Rejected::DiscardRanges { count, maximum });
        };
        self.lists.insert(tag, ranges.into());
        self.take(now, tag, BlockCommand::Discard(*first), bytes);
        Ok(())
    }

    fn discard_ranges(&self) -> usize {
        self.config.trim.ranges as usize
    }

    #[inline]
    fn next_event(&self) -> Instant {
        debug_assert_eq!(self.begins_at, self.planned(), "nothing begins unseen");
        self.events.next_at().min(self.begins_at)
    }

    #[inline]
    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        while self.next_event() <= now {
            // What begins with a completion begins before it: it is already in the way.
            if self.begins_at <= self.events.next_at() {
                self.begin();
            } else if let Some((at, action)) = self.events.take() {
                self.now = at;
                match action {
                    Action::Complete(slot) => self.complete(at, slot, out),
                    Action::Flushed(slot) => {
                        if let Some(contents) = &mut self.contents {
                            contents.flush_ended(slot);
                        }
                        self.complete(at, slot, out);
                    }
                    Action::Sensed { slot, die, pieces } => self.sensed(at, slot, die, pieces),
                    Action::Fetched(slot) => self.fetched(at, slot),
                    Action::NextTrim => self.next_trim(at),
                }
            }
        }
        self.now = now;
    }
}
