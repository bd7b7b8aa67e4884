//! The load without discards: whether the drive serves it, and what its accesses wait by
//! themselves.
//!
//! Accesses arrive whatever became of the earlier ones, so a drive that serves fewer than arrive
//! has a backlog that grows for as long as the load lasts, and every wait beside TRIMs would be the
//! backlog's. The drive *serves* a load if the backlog does not grow: of the accesses that arrive
//! in the last fifth of the row, the median of the reads and that of the writes wait at most a
//! fiftieth of the row's length. A drive that lags behind the arrivals by 2.5 % or more fails that;
//! a single stall that is shorter than half of that fifth does not.

use trimbench_core::{BlockCommand, Instant, Nanos, Next, Operation as _, OperationKind, Workload};
use trimbench_results::{Step, statistics};

use super::row::Seen;
use super::steps::LoadAloneStep;
use trimbench_engine::{DeviceArea, Observer, OpenLoop, Sample, Streams};

/// The row, and the kind of its step.
pub(super) const LOAD_ALONE: &str = "load-alone";
/// How often the load is slowed down, at the most: from 1,000 accesses a second on at least to 63.
pub(super) const SLOWED_MAX: u32 = 4;
/// The last accesses of the row: those of a fifth of it.
const LATE: u64 = 5;
/// They wait at most this part of the row.
const WAIT: u64 = 50;
/// With more outstanding than arrive in this part of the row the load ends: a slow drive would
/// work them off for minutes.
const BACKLOG: u64 = 10;

/// The load of one row without discards.
pub(super) struct LoadAlone {
    load: OpenLoop<DeviceArea>,
    outstanding: u64,
    outstanding_max: u64,
    /// It was ended because of its backlog.
    has_overflowed: bool,
}

impl LoadAlone {
    /// `rate` accesses a second for `length`.
    pub(super) fn new(load: OpenLoop<DeviceArea>, rate: u64, length: Nanos) -> Self {
        let arrivals = length.0 / super::options::gap(rate).0;
        let outstanding_max = (arrivals / BACKLOG).max(1);
        Self { load, outstanding: 0, outstanding_max, has_overflowed: false }
    }
}

impl Streams for LoadAlone {
    type Command = BlockCommand;

    fn next(&mut self, now: Instant) -> (usize, Next<BlockCommand>) {
        if self.outstanding > self.outstanding_max {
            self.load.end();
            self.has_overflowed = true;
        }
        let next = self.load.next(now);
        self.outstanding += u64::from(matches!(next, Next::Issue { .. }));
        (0, next)
    }

    fn completed(&mut self, _: usize, _: &BlockCommand, _: Instant) {
        self.outstanding -= 1;
    }
}

/// What was seen of the load.
pub(super) struct SeenAlone {
    pub(super) load: Seen,
    began: Instant,
    length: Nanos,
    last_completed: Instant,
    /// Responses, in seconds, of reads and of writes that arrived late.
    late: [Vec<f64>; 2],
}

impl Observer<BlockCommand> for SeenAlone {
    fn observe(&mut self, sample: &Sample<BlockCommand>) {
        self.load.observe(sample);
        self.last_completed = self.last_completed.max(sample.completed);
        if sample.intended.since(self.began) >= self.length - Nanos(self.length.0 / LATE) {
            let is_read = sample.command.kind() == OperationKind::Read;
            self.late[usize::from(is_read)].push(sample.response_time().seconds());
        }
    }
}

impl SeenAlone {
    pub(super) fn new(began: Instant, length: Nanos) -> Self {
        let late = [Vec::new(), Vec::new()];
        Self { load: Seen::default(), began, length, last_completed: began, late }
    }

    /// Accesses a second that were served, the backlog included.
    pub(super) fn served(&self) -> f64 {
        self.load.accesses() as f64 / self.duration()
    }

    /// The median wait, in seconds, of the late reads or writes, whichever is longer.
    pub(super) fn late_wait(&self) -> f64 {
        self.late.iter().filter_map(|waits| statistics::median(waits)).fold(0.0, f64::max)
    }

    /// Whether the drive serves `load`.
    pub(super) fn is_served(&self, load: &LoadAlone) -> bool {
        !load.has_overflowed && self.late_wait() <= Nanos(self.length.0 / WAIT).seconds()
    }

    /// Seconds from the beginning until the last access ended.
    pub(super) fn duration(&self) -> f64 {
        self.last_completed.since(self.began).seconds()
    }
}

/// The rate of the rows with a load beside them, by the recorded row without discards; `None` if
/// the drive does not serve it.
pub(super) fn rate_of(alone: &Step) -> Option<u64> {
    let alone: LoadAloneStep = alone.read().ok()?;
    alone.is_served.then_some(alone.load_per_s)
}
