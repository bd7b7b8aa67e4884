//! What waits in the host for its turn at the device.

use std::collections::VecDeque;

use trimbench_core::units::narrow;
use trimbench_core::{Instant, Nanos};

use crate::config::Scheduler;

/// A slice of CFQ's: the time after which writes get one in beside reads, and after which each time
/// one more is let into the device (`cfq_slice_sync`, block/cfq-iosched.c).
const SLICE: Nanos = Nanos::from_millis(100);
/// Requests of one direction that mq-deadline takes in a row (`fifo_batch`).
const BATCH: u32 = 16;
/// Batches of reads that writes wait for (`writes_starved`).
const STARVED: u32 = 2;

/// What kind of request the scheduler sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    /// Writes and discards.
    Write,
    /// A write that nobody waits for.
    Patient,
}

/// The requests that wait.
#[derive(Debug)]
pub(crate) struct Waiting<R> {
    scheduler: Scheduler,
    /// Requests that the device works on at once.
    depth: u32,
    under_way: u32,
    reads: VecDeque<R>,
    writes: VecDeque<R>,
    /// What mq-deadline takes at present, how many of it, and how often reads went first.
    reading: bool,
    batch: u32,
    starved: u32,
    /// Writes that nobody waits for, since when, and how many of their kind the device has.
    patient: VecDeque<(Instant, R)>,
    patient_under_way: u32,
    /// Reads that the device has, and when it last had one.
    reads_under_way: u32,
    last_read: Instant,
}

impl<R> Waiting<R> {
    pub(crate) fn new(scheduler: Scheduler, depth: u32) -> Self {
        Self {
            scheduler,
            depth,
            under_way: 0,
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            reading: false,
            batch: 0,
            starved: 0,
            patient: VecDeque::new(),
            patient_under_way: 0,
            reads_under_way: 0,
            last_read: Instant::START,
        }
    }

    /// Whether a request of this kind goes to the device without a wait.
    pub(crate) fn passes(&self, direction: Direction) -> bool {
        match self.scheduler {
            Scheduler::None => true,
            Scheduler::Cfq => direction != Direction::Patient,
            Scheduler::MqDeadline => false,
        }
    }

    pub(crate) fn push(&mut self, now: Instant, direction: Direction, request: R) {
        match (self.scheduler, direction) {
            (Scheduler::Cfq, _) => self.patient.push_back((now, request)),
            (_, Direction::Read) => self.reads.push_back(request),
            (_, Direction::Write | Direction::Patient) => self.writes.push_back(request),
        }
    }

    /// The next one that may go to the device.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<R> {
        match self.scheduler {
            Scheduler::None => None,
            Scheduler::MqDeadline => self.pop_by_deadline(),
            Scheduler::Cfq => {
                let (since, _) = self.patient.front()?;
                if self.patient_under_way >= self.patient_most(now, *since) {
                    return None;
                }
                self.patient.pop_front().map(|(_, request)| request)
            }
        }
    }

    /// All that wait, of each kind in its order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &R> {
        let patient = self.patient.iter().map(|(_, request)| request);
        self.reads.iter().chain(&self.writes).chain(patient)
    }

    pub(crate) fn sent(&mut self, direction: Direction) {
        self.under_way += 1;
        self.reads_under_way += u32::from(direction == Direction::Read);
        self.patient_under_way += u32::from(direction == Direction::Patient);
    }

    pub(crate) fn ended(&mut self, direction: Direction, at: Instant) {
        self.under_way -= 1;
        self.patient_under_way -= u32::from(direction == Direction::Patient);
        if direction == Direction::Read {
            self.reads_under_way -= 1;
            self.last_read = at;
        }
    }

    /// `__dd_dispatch_request`.
    fn pop_by_deadline(&mut self) -> Option<R> {
        if self.under_way >= self.depth {
            return None;
        }
        let goes_on = if self.reading { !self.reads.is_empty() } else { !self.writes.is_empty() };
        if !goes_on || self.batch >= BATCH {
            self.batch = 0;
            let (reads, writes) = (!self.reads.is_empty(), !self.writes.is_empty());
            self.reading = reads && !(writes && self.starved >= STARVED);
            self.starved = if self.reading { self.starved + u32::from(writes) } else { 0 };
        }
        self.batch += 1;
        if self.reading { self.reads.pop_front() } else { self.writes.pop_front() }
    }

    /// How many writes that nobody waits for CFQ gives the device, the first of those that wait
    /// having waited since `since`.
    fn patient_most(&self, now: Instant, since: Instant) -> u32 {
        if self.reads_under_way > 0 {
            u32::from(now - since >= SLICE)
        } else {
            narrow(((now - self.last_read).0 / SLICE.0).max(1))
        }
    }
}
