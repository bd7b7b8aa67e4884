//! The volatile write buffer: acknowledges writes early, and makes them wait when it is full.
//!
//! Model: the host's data are a stream of program groups. Group number `n`, from 0, waits until the
//! program of the group `n - places` in the order of leaving has ended. A group leaves for the
//! flash when its last unit has arrived; with one frontier groups leave in the order in which they
//! begin; with two, the group of the unused frontier keeps its place. Programs of one drive end in
//! about the order of their start, so the circle of places waits for the oldest.
//!
//! Where data go is decided when a write starts, but when they arrive only later: the buffer knows
//! both ends of that interval. For a write that needs a place whose program has not even begun, no
//! end can be given; it asks again when a group has left.
//!
//! A drive may give a place away when the program of its group begins (`buffer_frees_early`).

use std::collections::VecDeque;

use trimbench_core::Instant;
use trimbench_core::units::index;

use filter::GroupFilter;

mod filter;

#[cfg(test)]
mod tests;

/// No group.
const NO_GROUP: u32 = u32::MAX;

/// How far into the stream of groups: how many have been begun, and how many of them are full. The
/// others are open: at most one for each frontier of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    begun: u64,
    full: u64,
}

/// A group that is full and has not left for the flash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullGroup {
    pub(crate) group: u32,
    /// How many operations of the collector go to the flash before it.
    pub(crate) owes: u32,
    /// It lies in the SLC cache.
    pub(crate) cached: bool,
    /// How many groups had been begun when it was filled.
    begun: u64,
    /// When its last unit is in the buffer; never while that is not known.
    pub(crate) at: Instant,
}

/// When the program of the group ends that a place had last, when it begins, and when another group
/// may have the place.
#[derive(Clone, Copy, Debug)]
struct Place {
    programmed: Instant,
    begun: Instant,
    free: Instant,
}

#[derive(Debug)]
pub(crate) struct WriteBuffer {
    places: Vec<Place>,
    /// The last group of each place: beside them, because it is looked for often.
    groups: Vec<u32>,
    /// Whether a place is free when the program of its group begins.
    frees_early: bool,
    /// Which groups are full and have not left, or are in `groups`.
    filter: GroupFilter,
    /// Whether writes replace older data in it.
    absorbs: bool,
    /// Where the data of all writes so far go to.
    placed: Position,
    /// What of it has a time.
    arrived: Position,
    /// Groups that have left.
    left: u64,
    /// Those after them, in their order.
    full: VecDeque<FullGroup>,
    /// When the last group that began found its place.
    room_at: Instant,
    /// When the last group leaves whose time is known.
    last_leaves_at: Instant,
    /// The latest end of any program of host data.
    last_program: Instant,
}

impl WriteBuffer {
    /// Room for `groups` program groups, at least one.
    pub(crate) fn new(groups: usize) -> Self {
        debug_assert!(groups > 0);
        let start = Instant::START;
        let empty = Place { programmed: start, begun: start, free: start };
        Self {
            places: vec![empty; groups],
            groups: vec![NO_GROUP; groups],
            frees_early: false,
            filter: GroupFilter::new(groups),
            absorbs: false,
            placed: Position::default(),
            arrived: Position::default(),
            left: 0,
            full: VecDeque::new(),
            room_at: Instant::START,
            last_leaves_at: Instant::START,
            last_program: Instant::START,
        }
    }

    /// The same, whose places are free when programs begin.
    pub(crate) fn freeing_early(self, frees_early: bool) -> Self {
        Self { frees_early, ..self }
    }

    /// The same, in which writes may replace older data.
    pub(crate) fn absorbing(self, absorbs: bool) -> Self {
        Self { absorbs, ..self }
    }

    /// Whether writes replace older data in it.
    #[inline]
    pub(crate) fn absorbs(&self) -> bool {
        self.absorbs
    }

    /// A group is begun.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.placed.begun += 1;
    }

    /// An open group is full.
    #[inline]
    pub(crate) fn fill(&mut self, group: u32, owes: u32, cached: bool) {
        self.fill_untimed();
        self.filter.add(group);
        let begun = self.placed.begun;
        self.full.push_back(FullGroup { group, owes, cached, begun, at: Instant::NEVER });
    }

    /// The same where no time passes, until [`Self::settle`]: the group is on the flash.
    #[inline]
    pub(crate) fn fill_untimed(&mut self) {
        debug_assert!(self.placed.full < self.placed.begun, "only an open group fills");
        self.placed.full += 1;
    }

    /// Where the data of all writes so far go to.
    #[inline]
    pub(crate) fn placed(&self) -> Position {
        self.placed
    }

    /// Takes all data up to `position`, which the host has sent by `at`: when they are in the
    /// buffer. `None` if that cannot be known before another group has left.
    #[inline]
    pub(crate) fn arrive(&mut self, position: Position, at: Instant) -> Option<Instant> {
        while self.arrived.begun < position.begun || self.arrived.full < position.full {
            let fills = self.full.get_mut(index(self.arrived.full - self.left));
            if let Some(full) = fills.filter(|full| full.begun == self.arrived.begun) {
                self.last_leaves_at = at.max(self.room_at).max(self.last_leaves_at);
                full.at = self.last_leaves_at;
                self.arrived.full += 1;
            } else {
                let room = self.room_at(self.arrived.begun)?;
                self.room_at = self.room_at.max(room);
                self.arrived.begun += 1;
            }
        }
        Some(at.max(self.room_at))
    }

    /// When the group of this number finds its place; `None` while nobody knows.
    fn room_at(&self, number: u64) -> Option<Instant> {
        let places = self.places.len() as u64;
        (number < self.left + places).then(|| self.places[index(number % places)].free)
    }

    /// When the next group leaves for the flash; never while there is none.
    #[inline]
    pub(crate) fn next_leaves_at(&self) -> Instant {
        self.full.front().map_or(Instant::NEVER, |group| group.at)
    }

    /// The next group that leaves; to be followed by [`Self::programmed`].
    pub(crate) fn leave(&mut self) -> Option<FullGroup> {
        self.full.pop_front()
    }

    /// The group that left last ends its program at `programmed_at`, which began at
    /// `begun_at`.
    pub(crate) fn programmed(&mut self, group: u32, programmed_at: Instant, begun_at: Instant) {
        let free = if self.frees_early { begun_at } else { programmed_at };
        let place = index(self.left % self.places.len() as u64);
        let before = std::mem::replace(&mut self.groups[place], group);
        if before != NO_GROUP {
            self.filter.remove(before);
        }
        self.places[place] = Place { programmed: programmed_at, begun: begun_at, free };
        self.left += 1;
        self.last_program = self.last_program.max(programmed_at);
    }

    /// The program of `group`, which has not ended at `now`, ends at `programmed_at`.
    pub(crate) fn postponed(&mut self, group: u32, now: Instant, programmed_at: Instant) {
        for (place, last) in self.places.iter_mut().zip(&self.groups) {
            if *last == group && place.programmed > now {
                let later = programmed_at.since(place.programmed);
                for instant in [&mut place.free, &mut place.begun] {
                    if *instant > now {
                        *instant += later;
                    }
                }
                place.programmed = programmed_at;
            }
        }
        self.last_program = self.last_program.max(programmed_at);
    }

    /// Everything that left for the flash is there, and nothing waits; an open group stays open.
    pub(crate) fn settle(&mut self) {
        let open = Position { begun: self.placed.begun - self.placed.full, full: 0 };
        let (frees_early, absorbs) = (self.frees_early, self.absorbs);
        let fresh = Self::new(self.places.len());
        *self = Self { placed: open, arrived: open, frees_early, absorbs, ..fresh };
    }

    /// When all data up to `position` are durable; `None` while some of them have not left.
    pub(crate) fn durable_at(&self, position: Position) -> Option<Instant> {
        (self.left >= position.full).then_some(self.last_program)
    }

    /// Whether the full group `group` is in the buffer at `now` and its program has not begun.
    #[inline]
    pub(crate) fn awaits(&self, group: u32, now: Instant) -> bool {
        self.is_here(group, now, |place| place.begun)
    }

    /// Whether the data of the full group `group` can be read from the buffer at `now`.
    #[inline]
    pub(crate) fn holds(&self, group: u32, now: Instant) -> bool {
        self.is_here(group, now, |place| place.programmed)
    }

    /// Whether the full group `group` has not left, or is in a place of which `until` says more
    /// than `now`.
    #[inline]
    fn is_here(&self, group: u32, now: Instant, until: impl Fn(&Place) -> Instant) -> bool {
        self.filter.may_hold(group) && self.has(group, now, until)
    }

    /// The same, looked up in all places.
    #[cold]
    fn has(&self, group: u32, now: Instant, until: impl Fn(&Place) -> Instant) -> bool {
        let lasts = |(_, place): (_, &Place)| until(place) > now;
        let mut places = self.groups.iter().zip(&self.places).filter(|(last, _)| **last == group);
        self.full.iter().any(|full| full.group == group)
            || (self.last_program > now && places.any(lasts))
    }
}
