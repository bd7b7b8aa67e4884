//! The volatile write buffer: acknowledges writes early, and makes them wait when it is full.
//!
//! Model: room for a whole number of program groups, used in a circle. A group's place is free
//! again when its program has ended. A partly filled group stays until it fills or a flush pads it.
//! Programs of one drive end in about the order of their start, so the circle waits for the oldest.

use trimbench_core::Instant;

/// One place: which group is or was in it, and until when.
#[derive(Clone, Copy, Debug)]
struct Place {
    group: u32,
    programmed_at: Instant,
}

/// The buffer.
#[derive(Debug)]
pub(crate) struct WriteBuffer {
    places: Vec<Place>,
    next: usize,
    /// The latest end of any program of host data.
    last_program: Instant,
}

impl WriteBuffer {
    /// Room for `groups` program groups, at least one.
    pub(crate) fn new(groups: usize) -> Self {
        debug_assert!(groups > 0);
        let empty = Place { group: u32::MAX, programmed_at: Instant::START };
        Self { places: vec![empty; groups], next: 0, last_program: Instant::START }
    }

    /// When a new group finds a place.
    #[inline]
    pub(crate) fn room_at(&self) -> Instant {
        self.places[self.next].programmed_at
    }

    /// A full group begins its program, which ends at `programmed_at`.
    #[inline]
    pub(crate) fn programmed(&mut self, group: u32, programmed_at: Instant) {
        self.places[self.next] = Place { group, programmed_at };
        self.next = (self.next + 1) % self.places.len();
        self.last_program = self.last_program.max(programmed_at);
    }

    /// Forgets the times of all programs: everything that left for the flash is there.
    pub(crate) fn settle(&mut self) {
        *self = Self::new(self.places.len());
    }

    /// When all that left for the flash is durable.
    pub(crate) fn durable_at(&self) -> Instant {
        self.last_program
    }

    /// Whether the data of `group` can be read from the buffer at `now`.
    pub(crate) fn holds(&self, group: u32, now: Instant) -> bool {
        self.last_program > now
            && self.places.iter().any(|place| place.group == group && place.programmed_at > now)
    }
}
