//! Workloads: closed loops, open loops with constant or Poisson arrivals, a paced serial probe,
//! scripts, and discards as systems send them.

use std::collections::VecDeque;
use std::ops::Range;

use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Instant, Nanos, Next, Ppm, Workload, named_enum};

use crate::area::Area;
use crate::pattern::{Pattern, Places};

mod issuing;
#[cfg(test)]
mod tests;

pub use issuing::{InTurn, IssuePace, Issuing};

/// Bytes of one write when something is filled.
pub const FILL_PIECE: Bytes = Bytes::mib(1);
/// Writes outstanding when something is filled.
pub const FILL_DEPTH: u32 = 8;

/// So many accesses are drawn before they are due: what they need of memory comes meanwhile.
const AHEAD: usize = 8;

/// Random accesses of one size in an area.
#[derive(Clone, Debug)]
pub struct RandomAccess<A> {
    area: A,
    /// Bytes of each access.
    size: Bytes,
    /// Places of that size in the area.
    places: Places,
    read_share: Ppm,
    rng: Rng,
}

impl<A: Area> RandomAccess<A> {
    /// Accesses of `size` bytes at random multiples of `size`, `read_share` of them reads.
    ///
    /// # Panics
    /// If the area does not hold one access.
    pub fn new(area: A, size: Bytes, read_share: Ppm, rng: Rng) -> Self {
        let places = area.length().0 / size.0;
        assert!(places > 0, "the area holds at least one access");
        let places = Places::new(Pattern::Uniform, places);
        Self { area, size, places, read_share, rng }
    }

    /// The same with places drawn by this pattern.
    #[must_use]
    pub fn by(self, pattern: Pattern) -> Self {
        Self { places: Places::new(pattern, self.places.count()), ..self }
    }

    #[inline]
    fn next(&mut self) -> A::Command {
        let access = self.draw();
        self.command(access)
    }

    #[inline]
    fn draw(&mut self) -> Access {
        let offset = Bytes(self.places.draw(&mut self.rng) * self.size.0);
        let is_read = match self.read_share {
            Ppm(0) => false,
            Ppm::ONE => true,
            share => self.rng.chance(share),
        };
        Access { offset, is_read }
    }

    #[inline]
    fn command(&self, access: Access) -> A::Command {
        let Access { offset, is_read } = access;
        if is_read { self.area.read(offset, self.size) } else { self.area.write(offset, self.size) }
    }
}

/// One access that was drawn.
#[derive(Clone, Copy, Debug, Default)]
struct Access {
    offset: Bytes,
    is_read: bool,
}

/// Accesses that were drawn before they are due, first in, first out.
#[derive(Clone, Debug, Default)]
struct Ahead {
    accesses: [Access; AHEAD],
    /// How many came and went so far.
    added: usize,
    taken: usize,
}

impl Ahead {
    #[inline]
    fn is_full(&self) -> bool {
        self.added - self.taken == AHEAD
    }

    #[inline]
    fn add(&mut self, access: Access) {
        self.accesses[self.added % AHEAD] = access;
        self.added += 1;
    }

    #[inline]
    fn take(&mut self) -> Option<Access> {
        (self.taken < self.added).then(|| {
            self.taken += 1;
            self.accesses[(self.taken - 1) % AHEAD]
        })
    }
}

/// A closed loop: `queue_depth` accesses outstanding, until `count` were issued and a time has
/// come.
#[derive(Clone, Debug)]
pub struct ClosedLoop<A> {
    access: RandomAccess<A>,
    ahead: Ahead,
    vacant: u32,
    left: u64,
    until: Instant,
}

impl<A: Area> ClosedLoop<A> {
    /// Keeps `queue_depth` accesses outstanding until `count` were issued.
    pub fn new(access: RandomAccess<A>, queue_depth: u32, count: u64) -> Self {
        Self::lasting(access, queue_depth, count, Instant::START)
    }

    /// Keeps `queue_depth` accesses outstanding until at least `count` were issued *and* it is
    /// `until`.
    pub fn lasting(access: RandomAccess<A>, queue_depth: u32, count: u64, until: Instant) -> Self {
        Self { access, ahead: Ahead::default(), vacant: queue_depth, left: count, until }
    }

    /// Nothing is issued any more.
    pub fn end(&mut self) {
        (self.left, self.until) = (0, Instant::START);
    }
}

impl<A: Area> Workload for ClosedLoop<A> {
    type Command = A::Command;

    #[inline]
    fn next(&mut self, now: Instant) -> Next<A::Command> {
        if self.left == 0 && now >= self.until {
            return Next::Done;
        }
        if self.vacant == 0 {
            return Next::Await;
        }
        self.left = self.left.saturating_sub(1);
        self.vacant -= 1;
        let access = self.ahead.take().unwrap_or_else(|| self.access.draw());
        Next::Issue { intended: now, command: self.access.command(access) }
    }

    #[inline]
    fn upcoming(&mut self) -> Option<A::Command> {
        if self.ahead.is_full() {
            return None;
        }
        let access = self.access.draw();
        self.ahead.add(access);
        Some(self.access.command(access))
    }

    #[inline]
    fn completed(&mut self, _: &A::Command, _: Instant) {
        self.vacant += 1;
    }
}

named_enum! {
    /// How an open loop spaces its arrivals.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Arrivals {
        /// Always the same gap.
        Constant = "constant",
        /// Exponentially distributed gaps.
        Poisson = "poisson",
    }
}

/// An open loop: accesses start on schedule, whatever became of the earlier ones.
#[derive(Clone, Debug)]
pub struct OpenLoop<A> {
    access: RandomAccess<A>,
    arrivals: Arrivals,
    gap: Nanos,
    due: Instant,
    until: Instant,
    gaps: Rng,
}

impl<A: Area> OpenLoop<A> {
    /// Arrivals with a mean gap of `gap`.
    pub fn new(
        access: RandomAccess<A>,
        arrivals: Arrivals,
        gap: Nanos,
        times: Range<Instant>,
    ) -> Self {
        let gaps = access.rng.split("arrivals");
        let Range { start: due, end: until } = times;
        let mut open = Self { access, arrivals, gap, due, until, gaps };
        if arrivals == Arrivals::Poisson {
            open.advance();
        }
        open
    }

    /// Nothing arrives any more.
    pub fn end(&mut self) {
        self.until = Instant::START;
    }

    fn advance(&mut self) {
        let gap = match self.arrivals {
            Arrivals::Constant => self.gap,
            Arrivals::Poisson => self.gaps.exponential(self.gap),
        };
        self.due += gap;
    }
}

impl<A: Area> Workload for OpenLoop<A> {
    type Command = A::Command;

    fn next(&mut self, now: Instant) -> Next<A::Command> {
        if self.due >= self.until {
            return Next::Done;
        }
        if self.due > now {
            return Next::NotBefore(self.due);
        }
        let intended = self.due;
        self.advance();
        Next::Issue { intended, command: self.access.next() }
    }

    fn completed(&mut self, _: &A::Command, _: Instant) {}
}

named_enum! {
    /// How a probe spaces its starts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Spacing {
        /// Each interval is drawn anew.
        Random = "random",
        /// Always the same.
        Constant = "constant",
    }
}

/// A serial paced probe: one access outstanding, started on a grid of `interval`; one that a stall
/// made late starts as soon as the one before has ended, the next on the grid again, so that probe
/// and load keep their phase. A stall delays one access by its length less half an interval on
/// average.
///
/// [`Self::at_random`] draws each interval between its half and its one and a half instead, alike
/// likely, so that the probe keeps step with nothing; then a stall delays one access by its length
/// less 13/24 of an interval on average.
#[derive(Clone, Debug)]
pub struct SerialProbe<A> {
    access: RandomAccess<A>,
    interval: Nanos,
    /// Where random intervals come from; none: a grid.
    intervals: Option<Rng>,
    due: Instant,
    until: Instant,
    outstanding: bool,
}

impl<A: Area> SerialProbe<A> {
    /// One probe an interval.
    pub fn new(access: RandomAccess<A>, interval: Nanos, times: Range<Instant>) -> Self {
        let Range { start: due, end: until } = times;
        Self { access, interval, intervals: None, due, until, outstanding: false }
    }

    /// The same with intervals drawn at random.
    #[must_use]
    pub fn at_random(self) -> Self {
        Self { intervals: Some(self.access.rng.split("intervals")), ..self }
    }

    /// It starts nothing any more.
    pub fn end(&mut self) {
        self.until = Instant::START;
    }

    /// When the next is due after one that started at `now`.
    fn advance(&mut self, now: Instant) {
        let interval = self.interval;
        self.due = match &mut self.intervals {
            Some(rng) => now + Nanos(interval.0 / 2 + rng.below(interval.0)),
            None => self.due + interval.times((now - self.due).0 / interval.0 + 1),
        };
    }
}

impl<A: Area> Workload for SerialProbe<A> {
    type Command = A::Command;

    fn next(&mut self, now: Instant) -> Next<A::Command> {
        if now >= self.until || self.due >= self.until {
            return Next::Done;
        }
        if self.outstanding {
            return Next::Await;
        }
        if self.due > now {
            return Next::NotBefore(self.due);
        }
        self.outstanding = true;
        self.advance(now);
        Next::Issue { intended: now, command: self.access.next() }
    }

    fn completed(&mut self, _: &A::Command, _: Instant) {
        self.outstanding = false;
    }
}

/// Groups of commands: those of a group are issued together, the next group when all of the group
/// before have ended.
#[derive(Clone, Debug)]
pub struct Script<C> {
    start: Instant,
    groups: VecDeque<VecDeque<C>>,
    outstanding: usize,
}

impl<C> Script<C> {
    /// Begins at `start`.
    pub fn new(start: Instant, groups: impl IntoIterator<Item = Vec<C>>) -> Self {
        let groups = groups.into_iter().filter(|group| !group.is_empty());
        Self { start, groups: groups.map(VecDeque::from).collect(), outstanding: 0 }
    }
}

impl<C> Workload for Script<C> {
    type Command = C;

    fn next(&mut self, now: Instant) -> Next<C> {
        if now < self.start {
            return Next::NotBefore(self.start);
        }
        if self.groups.front().is_some_and(VecDeque::is_empty) {
            if self.outstanding > 0 {
                return Next::Await;
            }
            self.groups.pop_front();
        }
        match self.groups.front_mut().and_then(VecDeque::pop_front) {
            Some(command) => {
                self.outstanding += 1;
                Next::Issue { intended: now, command }
            }
            None => Next::Done,
        }
    }

    fn completed(&mut self, _: &C, _: Instant) {
        self.outstanding -= 1;
    }
}

/// Writes an area in order with a few commands outstanding: once, or again and again.
#[derive(Clone, Debug)]
pub struct SequentialWrite<A> {
    area: A,
    piece: Bytes,
    next: Bytes,
    vacant: u32,
    /// When to end, if it begins anew at the area's end.
    until: Option<Instant>,
}

impl<A: Area> SequentialWrite<A> {
    /// Pieces of `piece` bytes, `queue_depth` of them outstanding.
    pub fn new(area: A, piece: Bytes, queue_depth: u32) -> Self {
        Self { area, piece, next: Bytes(0), vacant: queue_depth, until: None }
    }

    /// The same again and again, issuing nothing from `until` on.
    #[must_use]
    pub fn circling(self, until: Instant) -> Self {
        Self { until: Some(until), ..self }
    }
}

impl<A: Area> Workload for SequentialWrite<A> {
    type Command = A::Command;

    fn next(&mut self, now: Instant) -> Next<A::Command> {
        let ends = self.next >= self.area.length();
        if self.until.map_or(ends, |until| now >= until) {
            return Next::Done;
        }
        if ends {
            self.next = Bytes(0);
        }
        if self.vacant == 0 {
            return Next::Await;
        }
        let length = self.piece.min(self.area.length() - self.next);
        let command = self.area.write(self.next, length);
        self.next += length;
        self.vacant -= 1;
        Next::Issue { intended: now, command }
    }

    fn completed(&mut self, _: &A::Command, _: Instant) {
        self.vacant += 1;
    }
}

/// The commands of a list, in its order: as many outstanding as asked for, as fast as they end or
/// at a pace.
#[derive(Clone, Debug)]
pub struct InOrder<C> {
    commands: std::vec::IntoIter<C>,
    vacant: u32,
    outstanding: u32,
    pace: Nanos,
    due: Instant,
    until: Instant,
}

impl<C> InOrder<C> {
    /// Keeps `queue_depth` of the commands outstanding until all were issued.
    pub fn new(commands: Vec<C>, queue_depth: u32) -> Self {
        Self {
            commands: commands.into_iter(),
            vacant: queue_depth,
            outstanding: 0,
            pace: Nanos::ZERO,
            due: Instant::START,
            until: Instant::NEVER,
        }
    }

    /// The same, starting at `start` and then at least `pace` after the start before; one that was
    /// made late starts as soon as there is room, and later ones do not catch up.
    #[must_use]
    pub fn paced(self, start: Instant, pace: Nanos) -> Self {
        Self { due: start, pace, ..self }
    }

    /// The same, issuing nothing from `until` on.
    #[must_use]
    pub fn until(self, until: Instant) -> Self {
        Self { until, ..self }
    }

    /// Whether nothing will be issued at `now` or later and nothing is outstanding.
    pub fn is_over(&self, now: Instant) -> bool {
        self.outstanding == 0 && (self.commands.len() == 0 || now >= self.until)
    }
}

impl<C> Workload for InOrder<C> {
    type Command = C;

    fn next(&mut self, now: Instant) -> Next<C> {
        if self.commands.len() == 0 || now >= self.until {
            return Next::Done;
        }
        if self.vacant == 0 {
            return Next::Await;
        }
        if self.due > now {
            return Next::NotBefore(self.due);
        }
        let Some(command) = self.commands.next() else { return Next::Done };
        self.vacant -= 1;
        self.outstanding += 1;
        self.due = now + self.pace;
        Next::Issue { intended: now, command }
    }

    fn completed(&mut self, _: &C, _: Instant) {
        self.vacant += 1;
        self.outstanding -= 1;
    }
}

/// Scripts of a list, one after the other, each at least `pace` after the start of the one before;
/// one that was made late starts as soon as that has ended, and later ones do not catch up.
#[derive(Clone, Debug)]
pub struct PacedScripts<C> {
    waiting: std::vec::IntoIter<Vec<Vec<C>>>,
    current: Option<Script<C>>,
    started: u64,
    pace: Nanos,
    due: Instant,
    until: Instant,
}

impl<C> PacedScripts<C> {
    /// One after the other at this pace.
    pub fn new(scripts: Vec<Vec<Vec<C>>>, pace: Nanos, times: Range<Instant>) -> Self {
        let Range { start: due, end: until } = times;
        Self { waiting: scripts.into_iter(), current: None, started: 0, pace, due, until }
    }

    /// Scripts that have begun.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// Those that have not.
    pub fn into_rest(self) -> impl Iterator<Item = Vec<Vec<C>>> {
        self.waiting
    }
}

impl<C> Workload for PacedScripts<C> {
    type Command = C;

    fn next(&mut self, now: Instant) -> Next<C> {
        if let Some(script) = &mut self.current {
            match script.next(now) {
                Next::Done => self.current = None,
                next => return next,
            }
        }
        if self.waiting.len() == 0 || now >= self.until {
            return Next::Done;
        }
        if self.due > now {
            return Next::NotBefore(self.due);
        }
        let Some(script) = self.waiting.next() else { return Next::Done };
        self.started += 1;
        self.due = now + self.pace;
        self.current.insert(Script::new(now, script)).next(now)
    }

    fn completed(&mut self, command: &C, at: Instant) {
        if let Some(script) = &mut self.current {
            script.completed(command, at);
        }
    }
}
