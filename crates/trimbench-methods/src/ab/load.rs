//! What runs in a visit: the reads and writes of an open loop, and two programs that wait for each
//! of their commands.

use std::collections::VecDeque;
use std::rc::Rc;

use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Bytes, FileCommand, FileId, Instant, Nanos, Next, Workload};

use super::options::Ab;
use trimbench_engine::{Area as _, FileArea, MethodError, OpenLoop, RandomAccess, Script, Several};
use trimbench_trace::{Record, RecordKind, Traces};

/// The file that reads and writes go to.
pub(super) const DATA: FileId = FileId(0);
/// The file that is written and synced as a database's log.
pub(super) const LOG: FileId = FileId(1);
/// The first of the files that are deleted.
pub(super) const FIRST_VICTIM: u32 = 2;

/// Size of the log; it is written in a circle, so that a commit changes no size.
pub(super) const LOG_LENGTH: Bytes = Bytes::mib(1);
/// Reads and writes of a trace are whole multiples of this: the file is opened for direct I/O.
const BLOCK: u64 = 4_096;
/// Reads and writes of a trace that are kept in memory: some 100 MB.
const TRACED_MAX: usize = 2_000_000;
/// What a commit writes.
const COMMIT: Bytes = Bytes(4_096);

/// A program that does one job after the other, one each interval. The commands of a job go one
/// after the other. A job that takes longer than the interval delays the next one, whose time
/// counts from its own start.
pub(super) struct SerialJobs<'a> {
    /// The commands of the next job.
    job: Box<dyn FnMut() -> Vec<FileCommand> + 'a>,
    interval: Nanos,
    due: Instant,
    until: Instant,
    left: VecDeque<FileCommand>,
    is_outstanding: bool,
    begun: Instant,
    /// When each began, and how long it took.
    pub(super) done: Vec<(Instant, Nanos)>,
}

impl<'a> SerialJobs<'a> {
    fn new(
        interval: Nanos,
        (begin, until): (Instant, Instant),
        job: impl FnMut() -> Vec<FileCommand> + 'a,
    ) -> Self {
        Self {
            job: Box::new(job),
            interval,
            due: begin,
            until,
            left: VecDeque::new(),
            is_outstanding: false,
            begun: begin,
            done: Vec::new(),
        }
    }
}

impl Workload for SerialJobs<'_> {
    type Command = FileCommand;

    fn next(&mut self, now: Instant) -> Next<FileCommand> {
        if self.is_outstanding {
            return Next::Await;
        }
        if self.left.is_empty() {
            if now >= self.until || self.due >= self.until {
                return Next::Done;
            }
            if self.due > now {
                return Next::NotBefore(self.due);
            }
            self.left = (self.job)().into();
            self.begun = now;
            self.due += self.interval.times((now - self.due).0 / self.interval.0 + 1);
        }
        let command = self.left.pop_front().expect("a job has commands");
        self.is_outstanding = true;
        Next::Issue { intended: now, command }
    }

    fn completed(&mut self, _: &FileCommand, at: Instant) {
        self.is_outstanding = false;
        if self.left.is_empty() {
            self.done.push((self.begun, at.since(self.begun)));
        }
    }
}

/// All that runs in a visit.
pub(super) struct VisitLoad<'a> {
    pub(super) deletion: Script<FileCommand>,
    pub(super) accesses: Accesses,
    pub(super) commits: Option<SerialJobs<'a>>,
    pub(super) starts: Option<SerialJobs<'a>>,
}

impl VisitLoad<'_> {
    /// Its streams: [`DELETION`](super::watch::DELETION), [`ACCESSES`](super::watch::ACCESSES),
    /// and the programs.
    pub(super) fn streams(&mut self) -> Several<'_, FileCommand> {
        let mut streams: Vec<&mut dyn Workload<Command = FileCommand>> =
            vec![&mut self.deletion, &mut self.accesses];
        for jobs in [&mut self.commits, &mut self.starts].into_iter().flatten() {
            streams.push(jobs);
        }
        Several(streams)
    }
}

/// A read or write of a trace: when it starts, after the beginning of the load, and what it is.
pub(super) type TracedAccess = (Nanos, FileCommand);

/// The reads and writes: drawn, or those of a trace.
pub(super) enum Accesses {
    Drawn(OpenLoop<FileArea>),
    Traced { all: Rc<[TracedAccess]>, next: usize, begin: Instant },
}

impl Accesses {
    pub(super) fn of(
        method: &Ab,
        traced: &Rc<[TracedAccess]>,
        rng: &Rng,
        (begin, until): (Instant, Instant),
    ) -> Self {
        if method.trace.is_some() {
            return Self::Traced { all: Rc::clone(traced), next: 0, begin };
        }
        let area = FileArea { file: DATA, length: method.span };
        let rng = rng.split("accesses");
        let access = RandomAccess::new(area, method.access, method.read_share, rng);
        Self::Drawn(OpenLoop::new(access, method.arrivals, method.gap, begin..until))
    }
}

impl Workload for Accesses {
    type Command = FileCommand;

    fn next(&mut self, now: Instant) -> Next<FileCommand> {
        match self {
            Self::Drawn(drawn) => drawn.next(now),
            Self::Traced { all, next, begin } => {
                let Some((after, command)) = all.get(*next).copied() else { return Next::Done };
                let intended = *begin + after;
                if intended > now {
                    return Next::NotBefore(intended);
                }
                *next += 1;
                Next::Issue { intended, command }
            }
        }
    }

    fn completed(&mut self, _: &FileCommand, _: Instant) {}
}

/// The reads and writes of the method's trace for as long as a visit lasts, at its own times, again
/// from its beginning if it is shorter. Its addresses wrap around the file; its TRIMs are left out,
/// because the visit has a deletion of its own. None without a trace.
pub(super) fn read_accesses(
    method: &Ab,
    traces: &dyn Traces,
) -> Result<Rc<[TracedAccess]>, MethodError> {
    let Some(name) = &method.trace else { return Ok(Rc::new([])) };
    let unfit = |reason: &str| MethodError::Unreplayable { reason: reason.to_owned() };
    let mut source = traces.open(name)?;
    if !source.is_timed() {
        return Err(unfit("it has no times, by which a load is paced"));
    }
    let (length, mut all, mut batch) = (method.lead + method.window, Vec::new(), Vec::new());
    let (mut last, mut has_more) = (Nanos::ZERO, true);
    while has_more && last < length {
        source.read(&mut batch)?;
        has_more = !batch.is_empty();
        for record in batch.iter().filter(|record| record.length > Bytes(0)) {
            last = last.max(record.time);
            let command = in_file(record, method.span);
            all.extend(command.filter(|_| record.time < length).map(|it| (record.time, it)));
        }
        if all.len() > TRACED_MAX {
            return Err(unfit("it has more reads and writes in a visit than are kept in memory"));
        }
    }
    if all.is_empty() || last == Nanos::ZERO {
        return Err(unfit("no read or write of it falls into a visit"));
    }
    let once = all.len();
    for round in 1..=length.0 / last.0 {
        let later = |(after, command): TracedAccess| (after + last.times(round), command);
        let next: Vec<TracedAccess> = all[..once].iter().copied().map(later).collect();
        all.extend(next.into_iter().filter(|(after, _)| *after < length));
        if all.len() > TRACED_MAX {
            return Err(unfit("it is too short: it would be repeated too often in a visit"));
        }
    }
    Ok(all.into())
}

/// A record as a command to the file; `None` of a TRIM or flush.
fn in_file(record: &Record, span: Bytes) -> Option<FileCommand> {
    let length = Bytes(record.length.0.next_multiple_of(BLOCK).min(span.0 / BLOCK * BLOCK));
    let places = (span.0 - length.0) / BLOCK + 1;
    let offset = Bytes(record.offset.0 / BLOCK % places * BLOCK);
    match record.kind {
        RecordKind::Read => Some(FileCommand::Read { file: DATA, offset, length }),
        RecordKind::Write => Some(FileCommand::Write { file: DATA, offset, length }),
        RecordKind::Discard | RecordKind::Flush => None,
    }
}

/// A database: a small write to its log, then an fsync.
pub(super) fn commits<'a>(
    method: &Ab,
    (begin, until): (Instant, Instant),
) -> Option<SerialJobs<'a>> {
    let mut next = 0;
    let job = move || {
        let offset = Bytes(next % LOG_LENGTH.0);
        next += COMMIT.0;
        let write = FileCommand::Write { file: LOG, offset, length: COMMIT };
        vec![write, FileCommand::Fsync { file: LOG }]
    };
    Some(SerialJobs::new(method.fsync_interval?, (begin, until), job))
}

/// The start of a program: what it reads next is known when it has what it read before.
pub(super) fn starts<'a>(
    method: &Ab,
    rng: &Rng,
    (begin, until): (Instant, Instant),
) -> Option<SerialJobs<'a>> {
    let (area, size) = (FileArea { file: DATA, length: method.span }, method.access);
    let (places, reads) = (method.span.0 / size.0, index(method.start_reads.into()));
    let mut rng = rng.split("starts");
    let job = move || {
        let read = |_| area.read(Bytes(rng.below(places) * size.0), size);
        (0..reads).map(read).collect()
    };
    Some(SerialJobs::new(method.start_interval?, (begin, until), job))
}
