//! Turns records of a trace into commands for a device, one after the other, in constant memory.
//!
//! Reads and TRIMs are stripped or kept, TRIMs synthesised, addresses fitted, and TRIMs above the
//! device's limit split into several commands, so that all of them arrives. Windows and counts
//! refer to the trace, not to the commands that a pass issues, so window `k` of two passes is the
//! same part of the trace.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use trimbench_core::{BlockCommand, Bytes, Data, Nanos};
use trimbench_trace::{Record, RecordKind, TraceError, TraceSource};

use super::fit::Fit;
use super::options::{Replay, ReplayedTrims};
use super::steps::ReplayFeedStep;
use super::synthesis::Synthesis;

/// A command for the device. Its parts, for one that is passed on whole through memory costs more
/// than it takes to make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    /// When it was issued in the trace.
    pub(super) time: Nanos,
    pub(super) kind: RecordKind,
    /// Start and end in bytes; without meaning for a flush.
    range: (u64, u64),
}

/// Where windows of the trace end, in commands other than TRIMs since its beginning: counted by who
/// feeds, awaited by who measures.
#[derive(Debug)]
pub(super) struct Boundaries {
    /// The first that has not been reached; never while none is known.
    next: Cell<u64>,
    later: RefCell<VecDeque<u64>>,
}

impl Boundaries {
    pub(super) fn new() -> Self {
        Self { next: Cell::new(u64::MAX), later: RefCell::default() }
    }

    /// A window ends after so many commands other than TRIMs.
    fn add(&self, commands: u64) {
        if self.next.get() == u64::MAX {
            self.next.set(commands);
        } else {
            self.later.borrow_mut().push_back(commands);
        }
    }

    /// Whether the next window has ended when so many have; then the one after it is the next.
    #[inline]
    pub(super) fn pass(&self, commands: u64) -> bool {
        if commands < self.next.get() {
            return false;
        }
        self.next.set(self.later.borrow_mut().pop_front().unwrap_or(u64::MAX));
        true
    }
}

/// The commands of a pass.
pub(super) struct Feed<'a> {
    source: Box<dyn TraceSource + 'a>,
    batch: Vec<Record>,
    next: usize,
    /// The source failed: nothing comes any more.
    error: Option<TraceError>,
    fit: Fit,
    trims: ReplayedTrims,
    keep_reads: bool,
    data: Data,
    synthesis: Option<Synthesis>,
    /// The rest of a TRIM that was split, and synthesised ones.
    pieces: VecDeque<Planned>,
    boundaries: &'a Boundaries,
    window: u64,
    window_of_writes: bool,
    /// Commands that count in windows before the next boundary.
    until_boundary: u64,
    /// Commands other than TRIMs handed out.
    others: u64,
    /// What became of the trace so far.
    pub(super) counts: ReplayFeedStep,
}

impl<'a> Feed<'a> {
    /// The commands of a pass on a device.
    pub(super) fn new(
        method: &Replay,
        trims: ReplayedTrims,
        source: Box<dyn TraceSource + 'a>,
        fit: Fit,
        boundaries: &'a Boundaries,
    ) -> Self {
        let synthesis = (trims == ReplayedTrims::Synthesised)
            .then(|| Synthesis::new(Bytes(fit.room), method.trim_after));
        Self {
            source,
            batch: Vec::new(),
            next: 0,
            error: None,
            fit,
            trims,
            keep_reads: method.keep_reads,
            data: method.data,
            synthesis,
            pieces: VecDeque::new(),
            boundaries,
            window: method.window,
            window_of_writes: method.window_of_writes,
            until_boundary: method.window,
            others: 0,
            counts: ReplayFeedStep::default(),
        }
    }

    #[inline]
    pub(super) fn command(&self, planned: &Planned) -> BlockCommand {
        let range = || self.fit.blocks(planned.range);
        match planned.kind {
            RecordKind::Read => BlockCommand::Read(range()),
            RecordKind::Write => BlockCommand::Write { range: range(), data: self.data },
            RecordKind::Discard => BlockCommand::Discard(range()),
            RecordKind::Flush => BlockCommand::Flush,
        }
    }

    /// Why the trace ended early.
    pub(super) fn take_error(&mut self) -> Option<TraceError> {
        self.error.take()
    }

    /// The next command; `None` at the end of the trace, or where it cannot be read.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Planned> {
        loop {
            if !self.pieces.is_empty() {
                return self.pieces.pop_front();
            }
            let Some(&record) = self.batch.get(self.next) else {
                if self.refill() {
                    continue;
                }
                return None;
            };
            self.next += 1;
            let planned = self.plan(&record);
            self.count(record.kind, planned.is_some());
            if planned.is_some() {
                return planned;
            }
        }
    }

    /// Reads on; whether there is more.
    fn refill(&mut self) -> bool {
        self.next = 0;
        if let Err(error) = self.source.read(&mut self.batch) {
            self.batch.clear();
            self.error = Some(error);
        }
        !self.batch.is_empty()
    }

    /// Counts a record of the trace in its window.
    #[inline]
    fn count(&mut self, kind: RecordKind, issued: bool) {
        if kind != RecordKind::Discard && issued {
            self.others += 1;
        }
        let counts = match kind {
            RecordKind::Write => true,
            RecordKind::Flush | RecordKind::Discard => !self.window_of_writes,
            RecordKind::Read => !self.window_of_writes && self.keep_reads,
        };
        if counts {
            self.until_boundary -= 1;
            if self.until_boundary == 0 {
                self.until_boundary = self.window;
                self.boundaries.add(self.others);
            }
        }
    }

    /// The command for a record, the first one of several.
    #[inline]
    fn plan(&mut self, record: &Record) -> Option<Planned> {
        let (time, kind) = (record.time, record.kind);
        match kind {
            RecordKind::Flush => return Some(Planned { time, kind, range: (0, 0) }),
            RecordKind::Read if !self.keep_reads => {
                self.counts.stripped_read_count += 1;
                return None;
            }
            RecordKind::Discard if self.trims != ReplayedTrims::Kept => {
                self.counts.stripped_trim_count += 1;
                return None;
            }
            RecordKind::Read | RecordKind::Write | RecordKind::Discard => {}
        }
        let fitted = self.fit.fit(record);
        self.counts.altered_count += u64::from(fitted.altered);
        let Some(range) = fitted.range else {
            self.counts.dropped_count += 1;
            return None;
        };
        if kind == RecordKind::Discard {
            self.discard(time, range);
            return self.pieces.pop_front();
        }
        if self.synthesis.is_some() {
            self.synthesise(time, range, kind == RecordKind::Write);
        }
        Some(Planned { time, kind, range })
    }

    /// A TRIM comes next, in as many commands as the device needs.
    fn discard(&mut self, time: Nanos, range: (u64, u64)) {
        let before = self.pieces.len();
        let kind = RecordKind::Discard;
        self.pieces.extend(self.fit.pieces(range).map(|range| Planned { time, kind, range }));
        self.counts.split_trim_count += u64::from(self.pieces.len() > before + 1);
    }

    /// TRIMs of what is due come after an access.
    fn synthesise(&mut self, time: Nanos, range: (u64, u64), writes: bool) {
        let Some(mut synthesis) = self.synthesis.take() else { return };
        synthesis.access(range, writes);
        while let Some(due) = synthesis.due() {
            self.counts.synthesised_trim_count += 1;
            self.discard(time, due);
        }
        self.synthesis = Some(synthesis);
    }
}
