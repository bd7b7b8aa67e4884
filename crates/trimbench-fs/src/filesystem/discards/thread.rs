//! The discard thread of f2fs, after `issue_discard_thread` (fs/f2fs/segment.c, Linux 6.6 to 7.3).
//! By reading only: it was compared with no running kernel.
//!
//! ```text
//! looks -> a round: at most 8 discards, one plug for each class of length, the largest first
//!   ^         | all have ended
//!   |         v
//!   +------ sleeps: 50 ms after a round that sent something; until nothing was asked for 5 s, or
//!           500 ms, if the filesystem was not idle; 60 s if there was nothing to send
//! ```
//!
//! - A checkpoint files what it freed: runs of segments of 2 MiB in which nothing is left, as a
//!   whole; then the rest, each piece within its segment. It wakes the thread if the filesystem is
//!   idle, which it hardly is; so the first round comes when the thread looks anyway.
//! - Idle: no read, write or flush under way, and 5 s since the last command that changed a file or
//!   synced one. This holds for every class: `discard_io_aware_gran` is 512, and the lists count
//!   from 0 to 511.
//! - Candidates below 64 KiB stay, unless more than 80 % of the space is in use; then they follow
//!   the longer ones, by address, and the thread does not sleep for more than 50 ms after a look
//!   that found nothing.
//! - An unmount lets a round end, and then sends rounds one behind the other, of all lengths, for 5
//!   s; what is left is lost.
//!
//! Simplified: candidates that f2fs would have cut when their blocks were allocated are cut when
//! they are about to be discarded; an allocation takes other blocks than those in a round, where
//! f2fs waits for them; the segment in which a log goes on is like any other. Not modelled: the
//! manners of `gc_urgent` and of little memory, which are not idle-aware; `discard_unit`.

use trimbench_core::{BlockCommand, FileCommand, Instant, Model, Nanos};
use trimbench_policy::Issuer;

use super::{Batch, Discards};
use crate::allocator::Allocator;
use crate::candidates::{Candidates, class};
use crate::extent::{Extent, bytes};
use crate::filesystem::FileSystem;
use crate::kind::SEGMENT;

/// Discards of a round (`DEF_MAX_DISCARD_REQUEST`).
pub(super) const ROUND: usize = 8;
/// How long it sleeps (`DEF_MIN_DISCARD_ISSUE_TIME` and so on).
const AFTER_PROGRESS: Nanos = Nanos::from_millis(50);
const WHEN_BUSY: Nanos = Nanos::from_millis(500);
const WITHOUT_WORK: Nanos = Nanos::from_secs(60);
/// From then on after the last request the filesystem is idle (`DEF_IDLE_INTERVAL`).
const IDLE: Nanos = Nanos::from_secs(5);
/// The shortest candidate that is discarded (`DEFAULT_DISCARD_GRANULARITY`), in blocks; in need
/// those below go by address (`DEFAULT_MAX_ORDERED_DISCARD_GRANULARITY`).
const GRANULARITY: u64 = 16;
/// Instead of a class: those that go by address.
const BY_ADDRESS: u64 = 0;
/// Use of the space above which all are discarded, in percent (`DEF_DISCARD_URGENT_UTIL`).
const URGENT: u64 = 80;
/// For how long an unmount goes on (`DEF_UMOUNT_DISCARD_TIMEOUT`).
const UNMOUNT: Nanos = Nanos::from_secs(5);

/// What waits for the thread, and what it is at.
#[derive(Debug, Default)]
pub(crate) struct DiscardThread {
    /// Blocks for data and directories.
    room: u64,
    candidates: Candidates,
    /// What an f2fs that does not discard online has freed since the last FITRIM, which takes it.
    pub(super) untrimmed: Candidates,
    /// When it looks next; `None` before the first command of a mount.
    looks_at: Option<Instant>,
    /// The mount, or the last command that changed a file or synced one.
    requested_at: Option<Instant>,
    /// Where candidates are sought by address.
    position: u64,
    /// How many discards the round under way has sent; `None` while it sleeps.
    round: Option<usize>,
    /// Whether the round could not go on because the filesystem was not idle.
    was_busy: bool,
    /// Whether an unmount makes it send all that it can, and until when.
    stops: bool,
    stops_at: Option<Instant>,
    /// Whether all that is free was discarded, or is a candidate: FITRIM has nothing to add.
    knows_free: bool,
}

impl DiscardThread {
    /// Of a filesystem with so many blocks, that mkfs has discarded, or not.
    pub(super) fn new(knows_free: bool, room: u64) -> Self {
        Self { room, knows_free, ..Self::default() }
    }

    /// Blocks that wait.
    pub(super) fn pending(&self) -> u64 {
        self.candidates.total()
    }

    /// When the thread looks next; never while there are no candidates, or a round is under way.
    pub(super) fn next_event(&self) -> Instant {
        let asleep = self.round.is_none() && !self.candidates.is_empty();
        self.looks_at.filter(|_| asleep).unwrap_or(Instant::NEVER)
    }

    /// Forgets what waits. Returns how many blocks.
    pub(super) fn drop_candidates(&mut self) -> u64 {
        self.candidates.clear()
    }

    /// An unmount, after which f2fs knows on the device whether `all` that is free was discarded
    /// (`CP_TRIMMED_FLAG`).
    pub(super) fn give_up(&mut self, all: bool) {
        self.untrimmed.clear();
        self.knows_free &= all;
    }

    /// All that is free, but neither discarded nor a candidate, becomes one; how many blocks.
    pub(super) fn file_free_space(
        &mut self,
        allocator: &Allocator,
        longest: u64,
        online: bool,
    ) -> u64 {
        if std::mem::replace(&mut self.knows_free, true) {
            return 0;
        }
        let to = if online { &mut self.candidates } else { &mut self.untrimmed };
        let all = Extent::new(0, allocator.total());
        allocator.free_runs(all).map(|free| to.file(free, longest)).sum()
    }

    /// Candidates came (`wake_up_discard_thread`); so many commands are under way that are no
    /// discards.
    pub(super) fn wake(&mut self, foreground: u64, now: Instant) {
        if self.round.is_some() {
            return;
        }
        self.sleeps_on(now);
        let largest = self.candidates.largest();
        if largest.is_some_and(|largest| largest.length >= GRANULARITY)
            && self.is_idle(foreground, now)
        {
            self.looks_at = Some(now);
        }
    }

    /// A command came: the first one is the mount, or comes right after it.
    pub(crate) fn starts(&mut self, now: Instant) {
        if self.looks_at.is_none() {
            self.looks_at = Some(now + AFTER_PROGRESS);
            self.requested_at = Some(now);
        }
    }

    /// A command ended (`f2fs_update_time`).
    pub(crate) fn note_request(&mut self, command: FileCommand, now: Instant) {
        let counts = !matches!(
            command,
            FileCommand::Read { .. } | FileCommand::Load { .. } | FileCommand::SyncFilesystem
        );
        if counts {
            self.requested_at = Some(now);
        }
    }

    fn idle_at(&self) -> Instant {
        self.requested_at.map_or(Instant::START, |last| last + IDLE)
    }

    /// When it would look after a sleep that was not disturbed.
    fn sleeps_on(&mut self, now: Instant) {
        let looks_at = self.looks_at.expect("a command came before");
        if looks_at < now {
            let slept = now.since(looks_at).0.div_ceil(WITHOUT_WORK.0);
            self.looks_at = Some(looks_at + WITHOUT_WORK.times(slept));
        }
    }

    fn is_idle(&self, foreground: u64, now: Instant) -> bool {
        foreground == 0 && now >= self.idle_at()
    }

    /// Whether an unmount has waited for long enough.
    fn is_over(&self, now: Instant) -> bool {
        self.stops_at.is_some_and(|at| now > at)
    }
}

impl Discards {
    /// A checkpoint freed these extents, which are in order and do not touch
    /// (`f2fs_clear_prefree_segments`). Without the thread FITRIM wants to know them.
    fn file(&mut self, freed: &[Extent], allocator: &Allocator, longest: u64, online: bool) {
        let (mut segments, mut pieces): (Vec<Extent>, Vec<Extent>) = (Vec::new(), Vec::new());
        for part in freed.iter().flat_map(|extent| extent.pieces_within(Some(SEGMENT))) {
            let segment = Extent::new(part.start / SEGMENT * SEGMENT, SEGMENT);
            if allocator.free_run(segment.start, segment.end()) != Some(segment) {
                pieces.push(part);
                continue;
            }
            match segments.last_mut() {
                Some(last) if last.end() > segment.start => {}
                Some(last) if last.end() == segment.start => last.length += SEGMENT,
                _ => segments.push(segment),
            }
        }
        let Self { thread, counters, .. } = self;
        let parts = segments.iter().chain(&pieces);
        if !online {
            for extent in parts.filter(|_| thread.knows_free) {
                thread.untrimmed.file(*extent, longest);
            }
            return;
        }
        let candidates = &mut thread.candidates;
        // Candidates that were allocated and freed again meanwhile.
        let again: u64 = freed.iter().map(|extent| candidates.overlap(*extent)).sum();
        let filed: u64 = parts.map(|extent| candidates.file(*extent, longest)).sum();
        let total: u64 = freed.iter().map(|extent| extent.length).sum();
        counters.reused += bytes(again);
        counters.freed += bytes(filed + again - total);
    }

    /// The candidate whose turn it is, and its class.
    fn next_candidate(&mut self, allocator: &Allocator, freed: u64) -> Option<(Extent, u64)> {
        let largest = self.thread.candidates.largest()?;
        if largest.length >= GRANULARITY || self.thread.stops_at.is_some() {
            return Some((largest, class(largest.length)));
        }
        if !self.is_urgent(allocator, freed) {
            return None;
        }
        let next = self.thread.candidates.ending_behind(self.thread.position);
        if next.is_none() {
            self.thread.position = 0;
        }
        next.map(|next| (next, BY_ADDRESS))
    }

    /// Whether so much is in use that small candidates are discarded too. `freed`: blocks that
    /// transactions have freed.
    fn is_urgent(&self, allocator: &Allocator, freed: u64) -> bool {
        let batches = self.batches.iter().flat_map(|batch| &batch.extents);
        let discarding: u64 = batches.map(|extent| extent.length).sum();
        let room = self.thread.room;
        let used = room - (allocator.available() + freed + discarding);
        used * 100 / room > URGENT
    }
}

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// A checkpoint freed these extents: the thread learns of them.
    pub(crate) fn file_candidates(&mut self, freed: &[Extent], now: Instant) {
        let online = self.config.discard == Some(Issuer::F2fs);
        self.discards.file(freed, &self.allocator, self.lower.discard_max(), online);
        if online {
            self.discards.thread.wake(self.lower.foreground(), now);
        }
    }

    /// The thread begins a round.
    pub(super) fn thread_looks(&mut self, now: Instant) {
        self.discards.thread.round = Some(0);
        self.discards.thread.was_busy = false;
        self.send_round(now);
    }

    /// Sends plug after plug until the round is full. It waits while one cannot be submitted.
    pub(super) fn send_round(&mut self, now: Instant) {
        let Some(mut sent) = self.discards.thread.round else { return };
        while sent < ROUND
            && !self.discards.is_submitting(&self.lower)
            && !self.discards.thread.is_over(now)
        {
            let plug = self.next_plug(ROUND - sent, now);
            if plug.is_empty() {
                break;
            }
            sent += plug.len();
            self.discards.send_batch(&mut self.lower, None, plug, now);
        }
        self.discards.thread.round = Some(sent);
        if self.discards.online_batches().next().is_none() {
            self.end_round(now);
        }
    }

    /// All discards of a plug ended: of the thread, or of FITRIM.
    pub(super) fn plug_ended(&mut self, plug: &Batch, now: Instant) {
        match plug.trim {
            Some(slot) => self.trim_f2fs_goes_on(slot, plug.extents.len(), now),
            None if self.discards.online_batches().next().is_none() => self.end_round(now),
            None => {}
        }
    }

    /// An unmount ends the thread, and the discards that it left (`f2fs_issue_discard_timeout`).
    pub(super) fn stop_thread(&mut self, now: Instant) {
        self.discards.thread.stops = true;
        if self.discards.thread.round.is_none() {
            self.unmount_round(now);
        }
    }

    fn unmount_round(&mut self, now: Instant) {
        self.discards.thread.stops_at.get_or_insert(now + UNMOUNT);
        self.thread_looks(now);
    }

    /// All discards of a round have ended.
    fn end_round(&mut self, now: Instant) {
        let thread = &mut self.discards.thread;
        let sent = thread.round.take().expect("a round was under way");
        if thread.stops {
            if thread.stops_at.is_none() || (sent > 0 && !thread.is_over(now)) {
                return self.unmount_round(now);
            }
            self.discards.give_up(self.config.discard.is_some());
            let DiscardThread { knows_free, room, .. } = self.discards.thread;
            self.discards.thread = DiscardThread::new(knows_free, room);
            return;
        }
        let sleep = if sent > 0 && !thread.candidates.is_empty() {
            AFTER_PROGRESS
        } else if sent == 0 && thread.was_busy {
            let idle_at = thread.idle_at();
            if now < idle_at { idle_at - now } else { WHEN_BUSY }
        } else if !thread.candidates.is_empty()
            && self.discards.is_urgent(&self.allocator, self.journal.freed())
        {
            AFTER_PROGRESS
        } else {
            WITHOUT_WORK
        };
        self.discards.thread.looks_at = Some(now + sleep);
    }

    /// The discards of the next plug, at most so many.
    fn next_plug(&mut self, most: usize, now: Instant) -> Vec<Extent> {
        let (longest, foreground) = (self.lower.discard_max(), self.lower.foreground());
        let (mut plug, mut its_class): (Vec<Extent>, Option<u64>) = (Vec::new(), None);
        let freed = self.journal.freed();
        while plug.len() < most
            && let Some((candidate, class)) = self.discards.next_candidate(&self.allocator, freed)
            && (plug.is_empty() || its_class == Some(class))
        {
            let Discards { thread, counters, .. } = &mut self.discards;
            let free: Vec<Extent> = self.allocator.free_runs(candidate).collect();
            if free != [candidate] {
                let left: u64 = free.iter().map(|part| part.length).sum();
                counters.reused += bytes(candidate.length - left);
                thread.candidates.leave(candidate, &free);
                continue;
            }
            // An unmount does not wait until the filesystem is idle; dirty pages have room beside
            // it in any case.
            let may_send = thread.stops_at.is_some() || thread.is_idle(foreground, now);
            if candidate.length > self.allocator.available() || !may_send {
                thread.was_busy = true;
                break;
            }
            thread.candidates.remove(candidate.start);
            its_class = Some(class);
            if class == BY_ADDRESS {
                thread.position = candidate.end();
            }
            let (pieces, rest) = cut(candidate, longest, most - plug.len());
            if let Some(rest) = rest {
                thread.candidates.file(rest, longest);
            }
            for piece in pieces {
                self.allocator.withhold(piece);
                plug.push(piece);
            }
        }
        plug
    }
}

/// At most so many pieces of a candidate, none longer than `longest`, and what is left of it.
pub(super) fn cut(
    candidate: Extent,
    longest: u64,
    most: usize,
) -> (impl Iterator<Item = Extent>, Option<Extent>) {
    let end = candidate.end().min(candidate.start + longest * most as u64);
    let rest = (end < candidate.end()).then(|| Extent::between(end, candidate.end()));
    (Extent::between(candidate.start, end).pieces(longest), rest)
}
