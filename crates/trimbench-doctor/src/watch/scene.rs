//! An observation, made ready for questions: when discards were in flight on each disk, and when
//! each showed signs of life.

use trimbench_core::{Nanos, OperationKind};

use super::busy::BusyIntervals;
use super::observation::{ThreadWait, WatchObservation, WatchSource, WatchedRequest};

/// One place that waits: a disk, or all of them together for what waits above them.
#[derive(Debug, Default)]
pub(super) struct WatchedPlace {
    /// When the disk had discards.
    pub(super) discards: BusyIntervals,
    /// The same without what may be the disk's standing still. With tracepoints it is the same,
    /// because their order tells; by counters no discard takes longer here than half of all do.
    pub(super) own_time: BusyIntervals,
    /// When a request other than a discard ended, sorted.
    pub(super) ends: Vec<Nanos>,
}

/// What the analysis asks of an observation.
#[derive(Debug)]
pub(super) struct WatchScene<'a> {
    pub(super) seen: &'a WatchObservation,
    /// One a disk, then all disks together.
    places: Vec<WatchedPlace>,
    /// When any request was under way at all, except reads of the watch.
    pub(super) under_way: BusyIntervals,
}

impl<'a> WatchScene<'a> {
    pub(super) fn new(seen: &'a WatchObservation) -> Self {
        let disks = seen.disks.len().max(1);
        let (mut discards, mut own_time) =
            (vec![Vec::new(); disks + 1], vec![Vec::new(); disks + 1]);
        let usual = match seen.source {
            WatchSource::Tracepoints => Nanos(u64::MAX),
            WatchSource::Counters => median_of_discards(seen),
        };
        let mut ends = vec![Vec::new(); disks + 1];
        let mut under_way = Vec::new();
        for request in &seen.requests {
            let end = request.end(seen.span);
            if !request.is_own {
                under_way.push((request.entered, end));
            }
            for place in [usize::from(request.disk).min(disks - 1), disks] {
                if request.kind != OperationKind::Discard {
                    ends[place].extend(request.completed);
                } else if let Some(issued) = request.issued {
                    discards[place].push((issued, end));
                    own_time[place].push((issued.max(end.saturating_sub(usual)), end));
                }
            }
        }
        let place = |((discards, own_time), mut ends): ((Vec<_>, Vec<_>), Vec<_>)| {
            ends.sort_unstable();
            let discards = BusyIntervals::of(discards);
            WatchedPlace { discards, own_time: BusyIntervals::of(own_time), ends }
        };
        let places = discards.into_iter().zip(own_time).zip(ends).map(place).collect();
        Self { seen, places, under_way: BusyIntervals::of(under_way) }
    }

    /// The place of a disk.
    pub(super) fn disk(&self, disk: u16) -> usize {
        usize::from(disk).min(self.above() - 1)
    }

    /// The place of what waits above all disks.
    pub(super) fn above(&self) -> usize {
        self.places.len() - 1
    }

    pub(super) fn place(&self, place: usize) -> &WatchedPlace {
        &self.places[place]
    }

    /// Whether a discard was in flight on its disk at any time while it was under way.
    pub(super) fn is_with_discards(&self, request: &WatchedRequest) -> bool {
        let end = request.end(self.seen.span);
        self.place(self.disk(request.disk)).discards.covered(request.entered, end) > Nanos::ZERO
    }

    /// Whether no request accounts for this wait: none was under way for nine tenths of it, or the
    /// kernel says that it waits for a frozen filesystem.
    pub(super) fn is_above(&self, wait: &ThreadWait) -> bool {
        let busy = self.under_way.covered(wait.from, wait.to);
        let span = wait.to.saturating_sub(wait.from);
        wait.seems_frozen() || busy.times(10) < span
    }
}

/// What half of the discards take, each counted for itself.
fn median_of_discards(seen: &WatchObservation) -> Nanos {
    let discards = seen.requests.iter().filter(|it| it.kind == OperationKind::Discard);
    let mut all: Vec<(Nanos, u64)> =
        discards.map(|it| (it.took(seen.span), u64::from(it.count))).collect();
    all.sort_unstable();
    let count: u64 = all.iter().map(|it| it.1).sum();
    let mut passed = 0;
    let middle = all.iter().find(|it| {
        passed += it.1;
        passed * 2 >= count
    });
    middle.map_or(Nanos::ZERO, |it| it.0)
}
