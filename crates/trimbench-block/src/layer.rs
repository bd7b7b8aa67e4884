//! The block layer: from what a filesystem or a program sends to the commands of a device.
//!
//! ```text
//! a sender -> pieces -> merged in its plug -> write-back throttling -> tags -> scheduler -> device
//!                                            (discards only; both make the sender wait)
//! ```
//!
//! A sender that waits sends nothing more until it goes on; several that wait take turns, one piece
//! each. Submission itself takes no time.

use std::collections::VecDeque;

use trimbench_core::slab::Slab;
use trimbench_core::units::narrow;
use trimbench_core::{
    BlockCommand, BlockRequest, Blocks, Bytes, Capabilities, Completion, DISCARD_RANGES_MAX, Errno,
    Instant, Lba, LbaRange, Medium, Model, Nanos, Operation as _, OperationKind, Tag,
};

use crate::config::{DISCARD_BIO_MAX, QueueConfig};
use crate::merge::{Discard, DiscardLimits, Piece};
use crate::scheduler::{Direction, Waiting};
use crate::throttle::Throttle;

mod watch;

#[cfg(test)]
mod tests;

/// Whether anyone waits for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Someone may.
    Foreground,
    /// Nobody does: a scheduler may let it stay behind everything else.
    Patient,
}

/// What became of what a sender sent.
#[derive(Clone, Copy, Debug)]
pub enum QueueEvent<O> {
    /// The sender had to wait, and has got rid of the last piece now.
    Submitted(O),
    /// The device is done with one piece.
    Ended {
        /// Whose piece.
        owner: O,
        /// When.
        at: Instant,
        /// Why it failed, if it did.
        failure: Option<Errno>,
        /// From its submission to its end; `None` for a discard.
        latency: Option<Nanos>,
    },
}

/// A sender, and what it has still to send.
#[derive(Debug)]
struct Sender<O> {
    owner: O,
    since: Instant,
    /// When its next piece came: with the command, or when the piece before it was gone.
    next_since: Instant,
    left: VecDeque<Pending>,
    /// Whether its discards are sent in one plug, and the one that the next may join.
    plugs: bool,
    plug: Option<Discard>,
    /// When the first piece in the plug came.
    plug_since: Instant,
    /// Whether the throttle has admitted its next piece.
    admitted: bool,
}

#[derive(Clone, Copy, Debug)]
enum Pending {
    Discard(Piece),
    Other(BlockCommand, Urgency),
}

/// What goes to the device as one command.
#[derive(Debug)]
struct Request<O> {
    owner: O,
    what: What,
    direction: Direction,
    since: Instant,
    /// When the first of its pieces came to the block layer.
    entered: Instant,
}

#[derive(Debug)]
enum What {
    One(BlockCommand),
    Discard(Discard),
}

impl What {
    fn kind(&self) -> OperationKind {
        match self {
            Self::One(command) => command.kind(),
            Self::Discard(_) => OperationKind::Discard,
        }
    }
}

/// A command that the device has.
#[derive(Clone, Copy, Debug)]
struct Sent<O> {
    owner: O,
    /// When its sender began to submit, when it entered the block layer, when the device got it.
    since: Instant,
    entered: Instant,
    given: Instant,
    direction: Direction,
    kind: OperationKind,
    pieces: u32,
}

/// How a sender stands after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// It sent a piece, and may send the next.
    Sent,
    /// It has nothing left to send.
    Rid,
    /// It waits.
    Waits(Place),
}

/// Where senders wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Throttle,
    Tags,
}

/// A host's block layer over a device. `O` is how the host tells its senders apart.
#[derive(Debug)]
pub struct BlockLayer<M, O> {
    device: M,
    /// In blocks of the device.
    request_max: u64,
    limits: DiscardLimits,
    tags: u32,
    throttle: Option<Throttle>,
    waiting: Waiting<Request<O>>,
    /// Those who wait, in the order in which they go on.
    throttled: VecDeque<Sender<O>>,
    without_tag: VecDeque<Sender<O>>,
    sent: Slab<Sent<O>>,
    foreground: u64,
    completions: Vec<Completion>,
    /// Requests that ended, where they are watched.
    noted: Option<Vec<BlockRequest>>,
}

impl<O> Sender<O> {
    fn new(owner: O, left: VecDeque<Pending>, plugs: bool, since: Instant) -> Self {
        Self {
            owner,
            since,
            next_since: since,
            left,
            plugs,
            plug: None,
            plug_since: since,
            admitted: false,
        }
    }
}

impl<O> Request<O> {
    fn new(owner: O, command: BlockCommand, urgency: Urgency, since: Instant) -> Self {
        let direction = match (command.kind(), urgency) {
            (OperationKind::Read, _) => Direction::Read,
            (_, Urgency::Patient) => Direction::Patient,
            (_, Urgency::Foreground) => Direction::Write,
        };
        Self { owner, what: What::One(command), direction, since, entered: since }
    }
}

impl<M: Model<Command = BlockCommand>, O: Copy + PartialEq> BlockLayer<M, O> {
    /// Over a block device; `None` if it is none.
    pub fn new(device: M, config: &QueueConfig) -> Option<Self> {
        let capabilities = device.capabilities();
        let Medium::Device { logical_block, .. } = capabilities.medium else { return None };
        let block = logical_block.bytes().0;
        let blocks = |bytes: Bytes| (bytes.0 / block).max(1);
        let granularity = blocks(capabilities.discard_granularity);
        let longest = config.discard_max.map_or(capabilities.discard_max, |most| {
            most.min(capabilities.discard_max).max(capabilities.discard_granularity)
        });
        let command_max = blocks(longest);
        let tags = config.tags(capabilities.queue_depth);
        Some(Self {
            request_max: blocks(config.request_max),
            limits: DiscardLimits {
                bio_max: blocks(DISCARD_BIO_MAX),
                command_max,
                granularity,
                segments: device.discard_ranges().clamp(1, DISCARD_RANGES_MAX),
            },
            tags,
            throttle: config.write_back_throttling.map(|target| Throttle::new(target, tags)),
            waiting: Waiting::new(config.scheduler, capabilities.queue_depth.max(1)),
            throttled: VecDeque::new(),
            without_tag: VecDeque::new(),
            sent: Slab::default(),
            foreground: 0,
            completions: Vec::new(),
            noted: None,
            device,
        })
    }

    /// The device.
    pub fn device(&self) -> &M {
        &self.device
    }

    /// The device, to put it into a stated condition. Commands to it are the block layer's.
    pub fn device_mut(&mut self) -> &mut M {
        &mut self.device
    }

    /// The device by itself.
    ///
    /// # Panics
    /// If requests are under way or wait.
    pub fn into_device(self) -> M {
        assert!(self.is_idle(), "the block layer is in use");
        self.device
    }

    /// What the device can do.
    pub fn capabilities(&self) -> &Capabilities {
        self.device.capabilities()
    }

    /// Whether nothing is under way and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.sent.count() == 0 && self.throttled.is_empty() && self.without_tag.is_empty()
    }

    /// Requests under way that are no discards.
    pub fn foreground(&self) -> u64 {
        self.foreground
    }

    /// The longest discard command, in blocks of the device.
    pub fn discard_max(&self) -> u64 {
        self.limits.command_max.min(self.limits.bio_max)
    }

    /// Whether this owner waits to send more.
    pub fn is_submitting(&self, owner: O) -> bool {
        self.throttled.iter().chain(&self.without_tag).any(|sender| sender.owner == owner)
    }

    /// Takes a command; in how many pieces it ends. What waits in a scheduler goes on its way with
    /// [`Self::dispatch`].
    pub fn submit(
        &mut self,
        now: Instant,
        owner: O,
        command: BlockCommand,
        urgency: Urgency,
    ) -> u32 {
        let range = match command {
            BlockCommand::Discard(range) => return self.discard(now, owner, &[range], false),
            BlockCommand::Read(range) | BlockCommand::Write { range, .. } => Some(range),
            BlockCommand::Flush => None,
        };
        let (mut waiting, mut count) = (VecDeque::new(), 0);
        let mut rest = range;
        loop {
            let part = rest.map(|range| split(range, self.request_max));
            let piece = match (command, part) {
                (BlockCommand::Read(_), Some((first, _))) => BlockCommand::Read(first),
                (BlockCommand::Write { data, .. }, Some((range, _))) => {
                    BlockCommand::Write { range, data }
                }
                _ => command,
            };
            count += 1;
            if self.tags > 0 && self.without_tag.is_empty() && waiting.is_empty() {
                self.tags -= 1;
                self.queue(now, Request::new(owner, piece, urgency, now));
            } else {
                waiting.push_back(Pending::Other(piece, urgency));
            }
            rest = part.and_then(|(_, rest)| rest);
            if rest.is_none() {
                break;
            }
        }
        if !waiting.is_empty() {
            self.without_tag.push_back(Sender::new(owner, waiting, false, now));
        }
        count
    }

    /// Takes discards, in their order, together in one plug if `plugs`; in how many pieces they
    /// end. See [`Self::submit`] for what waits in a scheduler.
    pub fn discard(&mut self, now: Instant, owner: O, ranges: &[LbaRange], plugs: bool) -> u32 {
        let limits = self.limits;
        let pieces = ranges.iter().flat_map(|range| limits.pieces(*range));
        let left: VecDeque<_> = pieces.map(Pending::Discard).collect();
        let count = narrow(left.len() as u64);
        let mut sender = Sender::new(owner, left, plugs, now);
        if !self.throttled.is_empty() {
            // Nobody overtakes those who wait.
            self.throttled.push_back(sender);
            return count;
        }
        loop {
            match self.turn(&mut sender, now) {
                Turn::Sent => continue,
                Turn::Rid => {}
                Turn::Waits(place) => self.queue_at(place).push_back(sender),
            }
            break;
        }
        count
    }

    /// When something happens next.
    pub fn next_event(&self) -> Instant {
        let window = self.throttle.as_ref().map_or(Instant::NEVER, Throttle::next_event);
        self.device.next_event().min(window)
    }

    /// Does what is due at `now`, and appends what became of what was sent. What waits in a
    /// scheduler stays there until [`Self::dispatch`], so that what the caller sends on these
    /// events comes first.
    pub fn advance(&mut self, now: Instant, out: &mut Vec<QueueEvent<O>>) {
        self.device.advance(now, &mut self.completions);
        let mut completions = std::mem::take(&mut self.completions);
        let mut wakes = false;
        for Completion { tag, at, status } in completions.drain(..) {
            let sent = self.sent.remove(tag.0);
            self.note_end(&sent, at);
            wakes |= self.ended(tag.0, sent, at);
            let latency = (sent.kind != OperationKind::Discard).then(|| at.since(sent.since));
            let Sent { owner, pieces, .. } = sent;
            let failure = status.failure();
            out.extend((0..pieces).map(|_| QueueEvent::Ended { owner, at, failure, latency }));
        }
        self.completions = completions;
        if let Some(throttle) = &mut self.throttle
            && throttle.next_event() <= now
        {
            wakes |= throttle.end_window(now);
        }
        self.take_turns(now, Place::Tags, out);
        if wakes {
            self.take_turns(now, Place::Throttle, out);
        }
    }

    /// Gives the device as much of what waits in the scheduler as it may have.
    pub fn dispatch(&mut self, now: Instant) {
        while let Some(request) = self.waiting.pop(now) {
            self.give(now, request);
        }
    }

    /// A command of the device ended; whether those whom the throttle holds back are woken.
    fn ended(&mut self, tag: u32, sent: Sent<O>, at: Instant) -> bool {
        self.tags += 1;
        self.waiting.ended(sent.direction, at);
        self.foreground -= u64::from(sent.kind != OperationKind::Discard);
        let Some(throttle) = &mut self.throttle else { return false };
        match sent.kind {
            OperationKind::Read => throttle.read_ended(tag, at.since(sent.given)),
            OperationKind::Write => throttle.write_ended(),
            OperationKind::Discard => return throttle.discard_ended(),
            OperationKind::Flush | OperationKind::Metadata => {}
        }
        false
    }

    /// Those who wait at a place take turns, a piece each, as long as the first can send.
    fn take_turns(&mut self, now: Instant, place: Place, out: &mut Vec<QueueEvent<O>>) {
        while let Some(mut sender) = self.queue_at(place).pop_front() {
            match self.turn(&mut sender, now) {
                Turn::Rid => out.push(QueueEvent::Submitted(sender.owner)),
                Turn::Waits(at) if at == place => {
                    self.queue_at(place).push_front(sender);
                    return;
                }
                Turn::Waits(other) => self.queue_at(other).push_back(sender),
                // Who has nothing left to send ends its plug, and waits for nobody's turn.
                Turn::Sent if sender.left.is_empty() => {
                    self.unplug(&mut sender, now);
                    out.push(QueueEvent::Submitted(sender.owner));
                }
                Turn::Sent => {
                    if !self.queue_at(place).is_empty() {
                        self.unplug(&mut sender, now);
                    }
                    self.queue_at(place).push_back(sender);
                }
            }
        }
    }

    fn queue_at(&mut self, place: Place) -> &mut VecDeque<Sender<O>> {
        match place {
            Place::Throttle => &mut self.throttled,
            Place::Tags => &mut self.without_tag,
        }
    }

    /// A sender sends its next piece if it can. Who waits leaves nothing in its plug.
    fn turn(&mut self, sender: &mut Sender<O>, now: Instant) -> Turn {
        let Some(&next) = sender.left.front() else {
            self.unplug(sender, now);
            return Turn::Rid;
        };
        if let (Pending::Discard(piece), Some(plug)) = (next, &mut sender.plug)
            && plug.merges(piece, self.limits)
        {
            sender.left.pop_front();
            sender.next_since = now;
            return Turn::Sent;
        }
        if let (Pending::Discard(_), Some(throttle)) = (next, &mut self.throttle) {
            sender.admitted = sender.admitted || throttle.admits(now);
            if !sender.admitted {
                self.unplug(sender, now);
                return Turn::Waits(Place::Throttle);
            }
        }
        if self.tags == 0 {
            self.unplug(sender, now);
            return Turn::Waits(Place::Tags);
        }
        self.tags -= 1;
        sender.admitted = false;
        sender.left.pop_front();
        let entered = std::mem::replace(&mut sender.next_since, now);
        match next {
            Pending::Discard(piece) => {
                self.unplug(sender, now);
                sender.plug = Some(Discard::new(piece));
                sender.plug_since = entered;
                if !sender.plugs {
                    self.unplug(sender, now);
                }
            }
            Pending::Other(command, urgency) => {
                let request = Request::new(sender.owner, command, urgency, sender.since);
                self.queue(now, Request { entered, ..request });
            }
        }
        Turn::Sent
    }

    /// What a sender holds in its plug goes on its way.
    fn unplug(&mut self, sender: &mut Sender<O>, now: Instant) {
        let Some(discard) = sender.plug.take() else { return };
        let what = What::Discard(discard);
        let (owner, since, entered) = (sender.owner, sender.since, sender.plug_since);
        self.queue(now, Request { owner, what, direction: Direction::Write, since, entered });
    }

    fn queue(&mut self, now: Instant, request: Request<O>) {
        let flush = matches!(request.what, What::One(BlockCommand::Flush));
        if flush || self.waiting.passes(request.direction) {
            self.give(now, request);
        } else {
            self.waiting.push(now, request.direction, request);
        }
    }

    /// The device gets a request.
    fn give(&mut self, now: Instant, request: Request<O>) {
        let Request { owner, what, direction, since, entered } = request;
        let kind = what.kind();
        let pieces = match &what {
            What::One(_) => 1,
            What::Discard(discard) => discard.pieces,
        };
        let given = now;
        let tag = self.sent.add(Sent { owner, since, entered, given, direction, kind, pieces });
        self.waiting.sent(direction);
        self.foreground += u64::from(kind != OperationKind::Discard);
        if let Some(throttle) = &mut self.throttle {
            match kind {
                OperationKind::Read => throttle.read_begins(tag, now),
                OperationKind::Write => throttle.write_begins(now),
                _ => {}
            }
        }
        let taken = match what {
            What::One(command) => self.device.submit(now, Tag(tag), command),
            What::Discard(discard) => match discard.ranges.as_slice() {
                [range] => self.device.submit(now, Tag(tag), BlockCommand::Discard(*range)),
                ranges => self.device.submit_discard(now, Tag(tag), ranges),
            },
        };
        taken.expect("the block layer stays within its device and that device's limits");
    }
}

/// The first blocks of a range, at most `longest`, and the rest.
fn split(range: LbaRange, longest: u64) -> (LbaRange, Option<LbaRange>) {
    let part = |start, length| LbaRange::new(Lba(start), Blocks(length));
    let (start, length) = (range.start().0, range.length().0);
    if length <= longest {
        return (range, None);
    }
    let first = part(start, longest).expect("a request has at least one block");
    (first, part(start + longest, length - longest))
}
