//! What stands under the engine's lock: the model, its clock, the bytes, and what is under way.

use std::fmt;
use std::ops::Range;

use trimbench_claim::errno_of;
use trimbench_core::slab::Slab;
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Completion, Content, Data, Drive as _, Errno, Instant, Lba,
    LbaRange, Nanos, Tag,
};
use trimbench_ssd::{Media, TrimmedReads};

use super::{Reply, Request, RequestOutcome, Timed};
use crate::clock::DriveClock;
use crate::delayed::{DelayedDrive, Delays};
use crate::drive::BLOCK;
use crate::faults::{LiveFault, Planted};
use crate::log::{LogEntry, LogEvent, LoggedCommand};
use crate::statistics::{Counted, RequestKind};
use crate::store::Store;

/// Zeroes are written in commands of so many blocks: 1 MiB.
const ZERO_BLOCKS: u64 = 2_048;
/// What a planted fault loses comes in whole ones of these, bytes.
const UNIT: u64 = 4_096;
/// So many blocks are looked at at once for room to give back: 1 MiB.
const RECLAIM_BLOCKS: u64 = 2_048;

/// A reply that is to be sent.
pub(super) struct Due {
    pub(super) reply: Reply,
    pub(super) outcome: RequestOutcome,
    /// `None` of what the model was not asked for.
    pub(super) timed: Option<Timed>,
}

/// A request under way.
struct UnderWay {
    kind: RequestKind,
    arrived: Instant,
    /// Commands of it that have not ended.
    commands: u64,
    outcome: RequestOutcome,
    reply: Reply,
    blocks: Range<u64>,
}

/// The model, its clock, the bytes, and what is under way.
pub(crate) struct State {
    drive: DelayedDrive,
    capacity: u64,
    discard_max: u64,
    clock: DriveClock,
    store: Store,
    planted: Planted,
    requests: Slab<UnderWay>,
    /// The request of each command under way, by its tag.
    commands: Slab<u32>,
    /// The last write's.
    generation: u32,
    /// The machine's time at which the alarm goes off.
    alarm: Nanos,
    stopped: bool,
    log: Option<Vec<LogEntry>>,
    counted: Counted,
    completions: Vec<Completion>,
    /// Blocks that were discarded and may have room to give back.
    discarded: Vec<Range<u64>>,
    /// Those of them that a flush has made durable.
    reclaimable: Vec<Range<u64>>,
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("State")
            .field("requests", &self.requests.count())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Due {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Due").field("timed", &self.timed).finish_non_exhaustive()
    }
}

impl State {
    pub(super) fn new(
        drive: DelayedDrive,
        store: Store,
        (machine, slow_down): (Nanos, u32),
        logs: bool,
    ) -> Self {
        let config = drive.ssd().config();
        Self {
            capacity: config.capacity.0,
            discard_max: (config.trim.command_max.0 / BLOCK * BLOCK).max(BLOCK),
            clock: DriveClock::start(machine, slow_down),
            drive,
            store,
            planted: Planted::default(),
            requests: Slab::default(),
            commands: Slab::default(),
            generation: 1,
            alarm: Nanos::ZERO,
            stopped: false,
            log: logs.then(Vec::new),
            counted: Counted::default(),
            completions: Vec::new(),
            discarded: Vec::new(),
            reclaimable: Vec::new(),
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Brings the drive to the instant at which the machine's clock shows `machine`; that instant.
    pub(super) fn advance(&mut self, machine: Nanos, due: &mut Vec<Due>) -> Instant {
        let now = self.clock.at(machine);
        self.advance_to(now, due);
        now
    }

    /// Does everything that is due up to and including `now`.
    pub(super) fn advance_to(&mut self, now: Instant, due: &mut Vec<Due>) {
        // Whatever was under way at the end has been answered.
        while !self.stopped && self.drive.next_event() <= now {
            let next = self.drive.next_event();
            let mut completions = std::mem::take(&mut self.completions);
            self.drive.advance(next, &mut completions);
            for completion in completions.drain(..) {
                let failure = completion.status.failure();
                self.completed(completion.tag, completion.at, failure, due);
            }
            self.completions = completions;
        }
    }

    /// When the alarm is to go off, by the machine's clock: with what happens next, at the latest
    /// then.
    pub(super) fn next_alarm(&mut self, latest: Nanos) -> Nanos {
        self.alarm = self.clock.machine_time(self.drive.next_event()).min(latest);
        self.alarm
    }

    /// The same, if that is earlier than it is set to.
    pub(super) fn earlier_alarm(&mut self) -> Option<Nanos> {
        let next = self.clock.machine_time(self.drive.next_event());
        let is_earlier = next < self.alarm;
        self.alarm = self.alarm.min(next);
        is_earlier.then_some(next)
    }

    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.stopped
    }

    pub(super) fn take_log(&mut self) -> Vec<LogEntry> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn note(&mut self, at: Instant, event: LogEvent) {
        if let Some(log) = &mut self.log {
            log.push(LogEntry { at: at.since_start().0, event });
        }
    }

    /// What was counted, with what the drive counts now.
    pub(super) fn counted(&mut self) -> Counted {
        let (counters, wear) = (self.drive.ssd().counters(), self.drive.ssd_mut().wear());
        Counted {
            power_is_off: self.planted.power_is_off,
            under_way: self.requests.count(),
            discard_backlog: counters.trim_work_pending.0,
            host_written: wear.map_or(0, |wear| wear.host_written.0),
            media_written: wear.map_or(0, |wear| wear.media_written.0),
            ..self.counted
        }
    }

    /// Takes a request.
    pub(super) fn submit(
        &mut self,
        now: Instant,
        request: Request<'_>,
        reply: Reply,
        due: &mut Vec<Due>,
    ) {
        let refuse = |errno, reply, due: &mut Vec<Due>| {
            due.push(Due { reply, outcome: Err(errno), timed: None });
        };
        if self.planted.power_is_off || self.stopped {
            return refuse(Errno::EIO, reply, due);
        }
        let (kind, blocks) = match self.blocks_of(request) {
            Ok(found) => found,
            Err(errno) => return refuse(errno, reply, due),
        };
        let is_idle = match kind {
            RequestKind::Flush => self.planted.flushes_lie,
            RequestKind::Discard => self.planted.discards_are_ignored || blocks.is_empty(),
            _ => blocks.is_empty(),
        };
        if is_idle {
            return due.push(Due { reply, outcome: Ok(Vec::new()), timed: None });
        }
        let begun = match request {
            Request::Read { .. } => self.read(&blocks),
            Request::Write { data, .. } => self.write(now, &blocks, data),
            Request::ZeroFreeing { .. } => {
                self.zero_what_stays(&blocks);
                Ok(Vec::new())
            }
            _ => Ok(Vec::new()),
        };
        // A read that fails takes its time; a write whose bytes have no room is not begun.
        if let (Err(errno), RequestKind::Write) = (&begun, kind) {
            return refuse(*errno, reply, due);
        }
        let number = self.requests.add(UnderWay {
            kind,
            arrived: now,
            commands: 0,
            outcome: begun,
            reply,
            blocks: blocks.clone(),
        });
        self.command(now, number, kind, &blocks);
        let under_way = self.requests.count();
        self.counted.most_under_way = self.counted.most_under_way.max(under_way);
    }

    /// The commands of a request.
    fn command(&mut self, now: Instant, number: u32, kind: RequestKind, blocks: &Range<u64>) {
        let piece = match kind {
            RequestKind::Discard => self.discard_max / BLOCK,
            RequestKind::Zero => ZERO_BLOCKS,
            RequestKind::Read | RequestKind::Write | RequestKind::Flush => u64::MAX,
        };
        let mut first = blocks.start;
        loop {
            let end = blocks.end.min(first.saturating_add(piece));
            let range = range_of(&(first..end));
            let command = match (kind, range) {
                (RequestKind::Flush, _) | (_, None) => BlockCommand::Flush,
                (RequestKind::Read, Some(range)) => BlockCommand::Read(range),
                (RequestKind::Write, Some(range)) => {
                    BlockCommand::Write { range, data: Data::Stamped(self.generation) }
                }
                (RequestKind::Zero, Some(range)) => {
                    BlockCommand::Write { range, data: Data::Compressible(0) }
                }
                (RequestKind::Discard, Some(range)) => BlockCommand::Discard(range),
            };
            let tag = self.commands.add(number);
            self.requests.get(number).commands += 1;
            let logged = LoggedCommand::of(command);
            self.note(now, LogEvent::Submitted { tag, command: logged });
            self.drive.submit(now, Tag(tag), command).expect("the range was checked");
            first = end;
            if first >= blocks.end {
                return;
            }
        }
    }

    /// What a discard of these blocks does not free reads as zeroes from now on: parts of granules,
    /// and all where nothing is ever freed. Not if discarded blocks are to read as something else.
    fn zero_what_stays(&mut self, blocks: &Range<u64>) {
        let config = self.drive.ssd().config();
        if config.contents.reads != TrimmedReads::Zeroes {
            return;
        }
        let frees = config.media == Media::Flash && config.trim.mode.frees();
        let size = config.discard_granularity().0 / BLOCK;
        let offset = config.trim.alignment.0 / BLOCK;
        if !frees {
            return self.zero(blocks.clone());
        }
        for piece in pieces(blocks, self.discard_max / BLOCK) {
            let [head, tail] = parts_of_granules(&piece, size, offset);
            self.zero(head);
            self.zero(tail);
        }
    }

    /// These blocks read as zeroes from now on. What does already takes no memory.
    fn zero(&mut self, blocks: Range<u64>) {
        for piece in pieces(&blocks, RECLAIM_BLOCKS) {
            let is_zero = |content: &Content| *content == Content::Zeroes;
            if !self.contents(piece.clone()).iter().all(is_zero)
                && let Some(range) = range_of(&piece)
            {
                self.drive.ssd_mut().hold_zeroes(range);
            }
        }
    }

    /// The blocks that a request is about.
    fn blocks_of(&self, request: Request<'_>) -> Result<(RequestKind, Range<u64>), Errno> {
        let (kind, offset, length) = match request {
            Request::Read { offset, length } => (RequestKind::Read, offset, length),
            Request::Write { offset, data } => (RequestKind::Write, offset, data.len() as u64),
            Request::Zero { offset, length } => (RequestKind::Zero, offset, length),
            Request::Discard { offset, length } | Request::ZeroFreeing { offset, length } => {
                (RequestKind::Discard, offset, length)
            }
            Request::Flush => return Ok((RequestKind::Flush, 0..0)),
        };
        let end =
            offset.checked_add(length).filter(|end| *end <= self.capacity).ok_or(Errno::EINVAL)?;
        let is_whole = offset.is_multiple_of(BLOCK) && length.is_multiple_of(BLOCK);
        if is_whole { Ok((kind, offset / BLOCK..end / BLOCK)) } else { Err(Errno::EINVAL) }
    }

    fn read(&mut self, blocks: &Range<u64>) -> RequestOutcome {
        if !self.planted.read(&bytes_of(blocks)) {
            return Err(Errno::EIO);
        }
        let contents = self.contents(blocks.clone());
        self.store.read(&contents).map_err(errno_of)
    }

    fn write(&mut self, now: Instant, blocks: &Range<u64>, data: &[u8]) -> RequestOutcome {
        // 0 says that nothing was written.
        let generation = self.generation.checked_add(1).unwrap_or(1);
        if let Err(error) = self.store.write(blocks.start, data, generation) {
            // What is there now is half of each.
            self.planted.add_unreadable(bytes_of(blocks));
            return Err(errno_of(error));
        }
        self.generation = generation;
        if self.store.wants_pruning() {
            self.prune(now);
        }
        self.planted.written(&bytes_of(blocks));
        Ok(Vec::new())
    }

    /// The next write has the generation after this one.
    #[cfg(test)]
    pub(super) fn begin_generations_at(&mut self, last: u32) {
        self.generation = last;
    }

    /// What the model says that these blocks hold.
    pub(super) fn contents(&mut self, blocks: Range<u64>) -> Vec<Content> {
        contents_of(&mut self.drive, blocks)
    }

    /// A command has ended.
    fn completed(
        &mut self,
        Tag(tag): Tag,
        at: Instant,
        failure: Option<Errno>,
        due: &mut Vec<Due>,
    ) {
        self.note(at, LogEvent::Completed { tag, failed: failure.is_some() });
        let number = self.commands.remove(tag);
        let request = self.requests.get(number);
        request.commands -= 1;
        if let Some(errno) = failure {
            request.outcome = Err(errno);
        }
        if request.commands > 0 {
            return;
        }
        let UnderWay { kind, arrived, mut outcome, reply, blocks, .. } =
            self.requests.remove(number);
        let bytes = (blocks.end - blocks.start) * BLOCK;
        if kind != RequestKind::Read {
            self.store.change(&blocks);
        }
        match kind {
            RequestKind::Flush if outcome.is_ok() => outcome = self.flushed(at),
            RequestKind::Discard | RequestKind::Zero if outcome.is_ok() => self.discarded(blocks),
            _ => {}
        }
        let (took, instant) = (at.since(arrived), self.clock.machine_time(at));
        let timed = Timed { kind, bytes, took, due: instant };
        due.push(Due { reply, outcome, timed: Some(timed) });
    }
}

impl State {
    /// Nothing is under way any more: keeps what the drive holds, where a file does.
    pub(super) fn keep_all(&mut self) -> std::io::Result<()> {
        self.reclaimable.append(&mut self.discarded);
        while self.reclaim(None) {}
        self.keep()
    }

    /// Keeps which units hold data, where a file does.
    fn keep(&mut self) -> std::io::Result<()> {
        let Self { store, drive, .. } = self;
        store.keep(|offset| drive.ssd_mut().holds_data(Bytes(offset)))
    }

    /// These blocks hold nothing any more.
    fn discarded(&mut self, blocks: Range<u64>) {
        let may_come_back = self.store.keeps_old();
        let all = if may_come_back { &mut self.discarded } else { &mut self.reclaimable };
        match all.last_mut() {
            Some(last) if last.end == blocks.start => last.end = blocks.end,
            _ => all.push(blocks),
        }
    }

    /// A flush has ended.
    fn flushed(&mut self, now: Instant) -> RequestOutcome {
        self.reclaimable.append(&mut self.discarded);
        self.prune(now);
        // What is zero now must be zero in the file before it is said to be durable.
        while self.store.is_kept() && self.reclaim(Some(now)) {}
        self.keep().map(|()| Vec::new()).map_err(errno_of)
    }

    /// Bytes of old versions that are kept.
    #[cfg(test)]
    pub(super) fn kept_bytes(&self) -> u64 {
        self.store.overwritten_bytes()
    }

    /// Forgets old versions that nothing brings back.
    pub(super) fn prune(&mut self, now: Instant) {
        let Self { store, drive, .. } = self;
        store.prune(|blocks, generations| {
            let range = range_of(&blocks).expect("a write has blocks");
            drive.may_hold(range, generations, now)
        });
    }

    /// Gives back the room of up to [`RECLAIM_BLOCKS`] blocks that hold nothing, or zeroes: their
    /// bytes go. Whether there is more to do. `None` for now: nothing comes back any more.
    pub(super) fn reclaim(&mut self, now: Option<Instant>) -> bool {
        let Some(blocks) = self.reclaimable.last_mut() else { return false };
        let piece = blocks.start..blocks.end.min(blocks.start + RECLAIM_BLOCKS);
        blocks.start = piece.end;
        if blocks.is_empty() {
            self.reclaimable.pop();
        }
        // Bytes are in the file before the model knows of their write.
        let is_written = |under_way: &UnderWay| {
            under_way.kind == RequestKind::Write
                && under_way.blocks.start < piece.end
                && piece.start < under_way.blocks.end
        };
        if self.requests.iter().any(is_written) {
            self.discarded.push(piece);
            return true;
        }
        let contents = self.contents(piece.clone());
        let is_empty = |content: &Content| *content == Content::Zeroes;
        let mut first = piece.start;
        for held in contents.chunk_by(|one, next| is_empty(one) == is_empty(next)) {
            let part = first..first + held.len() as u64;
            first = part.end;
            if !is_empty(&held[0]) {
                continue;
            }
            let range = range_of(&part);
            let stays = |now| range.is_none_or(|it| self.drive.is_durable(it, now));
            if now.is_none_or(stays) {
                // What is not given back is only room.
                let _ = self.store.punch(part);
            } else {
                self.discarded.push(part);
            }
        }
        true
    }

    /// Plants a fault, or takes it back.
    pub(super) fn plant(
        &mut self,
        now: Instant,
        fault: &LiveFault,
        due: &mut Vec<Due>,
    ) -> Result<(), String> {
        if self.stopped {
            return Err("the drive has ended".to_owned());
        }
        match fault {
            LiveFault::PowerCut => self.cut_power(now, due)?,
            LiveFault::PowerOn => self.planted.power_is_off = false,
            LiveFault::LyingFlush(lies) => self.planted.flushes_lie = *lies,
            LiveFault::IgnoredDiscards(ignored) => self.planted.discards_are_ignored = *ignored,
            LiveFault::Unreadable { ranges, good_reads } => {
                self.planted.make_unreadable(ranges.clone(), *good_reads);
            }
            LiveFault::Stall { after, span } => {
                let machine = trimbench_linux::monotonic_time();
                let from = machine.saturating_add(Nanos(*after));
                self.clock.stall(machine, from, Nanos(*span));
            }
            LiveFault::Slow(delay) => {
                self.delay(now, Delays { commands: Nanos(*delay), ..self.drive.delays() });
            }
            LiveFault::SlowDiscards(delay) => {
                self.delay(now, Delays { discards: Nanos(*delay), ..self.drive.delays() });
            }
            LiveFault::NeighbourLost { before, behind } => {
                if !before.is_multiple_of(UNIT) || !behind.is_multiple_of(UNIT) {
                    return Err(format!("what is lost beside a discard is a multiple of {UNIT} B"));
                }
                self.drive.lose_neighbours(Bytes(*before), Bytes(*behind));
                let (before, behind) = (*before, *behind);
                self.note(now, LogEvent::NeighbourLost { before, behind });
            }
            LiveFault::OldDataAfterDiscard(old) => {
                let reads = if *old { TrimmedReads::OldData } else { TrimmedReads::Zeroes };
                self.drive.ssd_mut().read_discarded(reads);
            }
        }
        Ok(())
    }

    fn delay(&mut self, now: Instant, delays: Delays) {
        self.drive.delay(now, delays);
        let Delays { commands, discards } = delays;
        self.note(now, LogEvent::Slowed { commands: commands.0, discards: discards.0 });
    }

    fn cut_power(&mut self, now: Instant, due: &mut Vec<Due>) -> Result<(), String> {
        if self.planted.power_is_off {
            return Err("the power is off already".to_owned());
        }
        self.planted.power_is_off = true;
        self.note(now, LogEvent::PowerCut);
        let mut lost = Vec::new();
        self.drive.cut_power(now, |tag| lost.push(tag));
        for tag in lost {
            self.completed(tag, now, Some(Errno::EIO), due);
        }
        let Self { store, drive, .. } = self;
        let restored = store.restore(|blocks| contents_of(drive, blocks));
        // Any unit may hold something else than before.
        self.store.change(&(0..self.capacity / BLOCK));
        restored.map_err(|error| format!("what the drive held cannot be brought back: {error}"))
    }

    /// Every request under way ends with an error.
    pub(super) fn fail_all(&mut self, due: &mut Vec<Due>) {
        let requests = std::mem::take(&mut self.requests);
        due.extend(requests.into_things().map(|request| Due {
            reply: request.reply,
            outcome: Err(Errno::EIO),
            timed: None,
        }));
    }
}

/// What the model says that these blocks hold.
fn contents_of(drive: &mut DelayedDrive, blocks: Range<u64>) -> Vec<Content> {
    let mut contents = Vec::new();
    if let Some(range) = range_of(&blocks) {
        drive.ssd_mut().examine(range, &mut contents).expect("within the drive, which keeps them");
    }
    contents
}

/// These blocks as a range; `None` if there are none.
fn range_of(blocks: &Range<u64>) -> Option<LbaRange> {
    LbaRange::new(Lba(blocks.start), Blocks(blocks.end - blocks.start))
}

/// The same blocks in pieces of at most so many.
fn pieces(blocks: &Range<u64>, most: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let end = blocks.end;
    let step = usize::try_from(most).unwrap_or(usize::MAX);
    (blocks.start..end).step_by(step).map(move |first| first..end.min(first.saturating_add(most)))
}

/// What of these blocks lies before their first whole granule, and behind the last one. Granules of
/// `size` blocks begin `offset` blocks from the start of the drive, which holds none before.
fn parts_of_granules(blocks: &Range<u64>, size: u64, offset: u64) -> [Range<u64>; 2] {
    let up = blocks.start.saturating_sub(offset).div_ceil(size) * size + offset;
    let down = blocks.end.saturating_sub(offset) / size * size + offset;
    if up < down { [blocks.start..up, down..blocks.end] } else { [blocks.clone(), 0..0] }
}

fn bytes_of(blocks: &Range<u64>) -> Range<u64> {
    blocks.start * BLOCK..blocks.end * BLOCK
}
