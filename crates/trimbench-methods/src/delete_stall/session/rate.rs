//! Runs the search for the highest rate of deletion: the load while chunks are deleted at a
//! constant rate.

use trimbench_core::{Bytes, DeviceStatistics, Instant, Nanos, Status};
use trimbench_results::Step;

use super::super::rate::{ALONE, CONFIRMATION, LONGER, Pace, TRY, search, verdict};
use super::super::steps::{RateDeletionStep, RateTryStep};
use super::super::subject::StallSubject;
use super::{Deletions, SAMPLE_EVERY, discarded};
use trimbench_engine::{
    LimitedTail, MethodError, MethodSession, OpenLoop, PacedScripts, RandomAccess, RateLength,
    Sample, Several, Stage,
};

/// Of the streams of a part, chunks and load, the second.
const LOAD: usize = 1;

/// One try.
struct Try {
    id: String,
    kind: &'static str,
    /// Bytes of a chunk and a second; `None`: the load alone.
    deletion: Option<(Bytes, u64)>,
    /// In lengths of the shortest.
    length: u64,
}

/// A part of a try: so many chunks from the `number`-th on.
struct Part {
    number: u64,
    /// Bytes of a chunk; none for the load alone.
    chunk: Bytes,
    pace: Pace,
    chunks: u64,
}

impl Part {
    fn size(&self) -> Bytes {
        Bytes(self.chunk.0 * self.chunks)
    }
}

/// What became of parts.
#[derive(Clone, Copy, Default)]
struct Outcome {
    /// Chunks whose deletion began in time.
    issued: u64,
    /// Their bytes, and those that were discarded.
    deleted: Bytes,
    discarded: Bytes,
    /// How long the deletions were meant to take, and how long their discards took.
    deleting: Nanos,
    discarding: Nanos,
}

impl Outcome {
    fn add(&mut self, part: Self) {
        self.issued += part.issued;
        self.deleted += part.deleted;
        self.discarded += part.discarded;
        self.deleting += part.deleting;
        self.discarding += part.discarding.max(part.deleting);
    }

    /// The shares of `planned` chunks of so many bytes, at so many bytes a second.
    fn of(&self, planned: u64, (chunk, rate): (Bytes, u64)) -> RateDeletionStep {
        RateDeletionStep {
            chunk_bytes: chunk,
            deletion_bytes_per_s: rate,
            issued_of_planned_ratio: self.issued as f64 / planned as f64,
            discarded_of_deleted_ratio: self.discarded.0 as f64 / self.deleted.0.max(1) as f64,
            deletion_over_discard_time_ratio: self.deleting.0 as f64 / self.discarding.0 as f64,
        }
    }
}

/// What the device's counters show of the discards of a part.
struct Discarding {
    before: DeviceStatistics,
    bytes: Bytes,
    first: Instant,
    last: Instant,
}

impl Discarding {
    fn new(before: DeviceStatistics) -> Self {
        Self { before, bytes: Bytes(0), first: Instant::START, last: Instant::START }
    }

    fn note(&mut self, now: Instant, statistics: DeviceStatistics) {
        let bytes = discarded(self.before, statistics);
        if bytes != self.bytes {
            if self.bytes == Bytes(0) {
                self.first = now;
            }
            (self.bytes, self.last) = (bytes, now);
        }
    }

    /// From the first that was seen to the last, less what lies between two looks.
    fn time(&self) -> Nanos {
        Nanos((self.last - self.first).0.saturating_sub(SAMPLE_EVERY.0))
    }
}

impl<S: StallSubject> Deletions<'_, S> {
    /// Searches every chunk of the grid; what was tried before counts. Nothing without a limit.
    pub(super) fn rates(&mut self, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        let Some(limit) = self.method.p999_limit else { return Ok(()) };
        let mut measure = |deletions: &mut Self, what: Try| -> Result<bool, MethodError> {
            if !session.is_done(&what.id) {
                let (now, left) = (deletions.target.now(), deletions.method.shortest_try());
                let done = session.steps().len();
                let stage = Stage { done, total: done + 1, text: &what.id, now, left };
                session.show(&stage);
                session.keep(deletions.attempt(&what, limit)?)?;
            }
            let kept = session.step(&what.id).and_then(|step| step.read().ok());
            Ok(kept.as_ref().and_then(verdict) == Some(true))
        };
        let alone = Try { id: ALONE.to_owned(), kind: ALONE, deletion: None, length: 1 };
        if measure(self, alone)? {
            for &chunk in &self.method.rate_chunks {
                search(self.method.rate_max.0).run(|rate, length| {
                    let (kind, length) = match length {
                        RateLength::Tried => (TRY, 1),
                        RateLength::Confirmed => (CONFIRMATION, LONGER),
                    };
                    let id = format!("{kind}-{chunk}-{rate}");
                    measure(self, Try { id, kind, deletion: Some((chunk, rate)), length })
                })?;
            }
        }
        Ok(())
    }

    /// The load beside chunks at a pace, part by part: each deletes as much as the victim holds,
    /// which is written anew before.
    fn attempt(&mut self, what: &Try, limit: Nanos) -> Result<Step, MethodError> {
        let method = self.method;
        let time = method.shortest_try().times(what.length);
        let (chunk, pace) = match what.deletion {
            Some((chunk, rate)) => (chunk, Pace::new(chunk, rate, time)),
            None => (Bytes(0), Pace::alone(time)),
        };
        let room = method.sizes.last().copied().unwrap_or(chunk);
        let per_part = (room.0 / chunk.0.max(1)).max(1).min(pace.chunks);
        let mut tail = LimitedTail::new((pace.time(), pace.interval), method.gap, limit);
        let expected = pace.time().0 / method.gap.0;
        let mut before = 0;
        let mut all = Outcome::default();
        while before < pace.chunks && !tail.has_failed(expected) {
            let chunks = per_part.min(pace.chunks - before);
            let part = Part { number: before, chunk, pace, chunks };
            all.add(self.part(&what.id, &part, &mut tail)?);
            before += chunks;
        }
        let deletion = what.deletion.map(|it| all.of(before, it));
        let tried = RateTryStep { tail: tail.measured(), deletion };
        Ok(Step::of(what.id.clone(), what.kind, &tried))
    }

    /// One part: deletes it beside the load, which goes on until the discards are over.
    fn part(
        &mut self,
        id: &str,
        part: &Part,
        tail: &mut LimitedTail,
    ) -> Result<Outcome, MethodError> {
        let method = self.method;
        let files = self.make_chunks(part)?;
        self.idle(method.rest)?;
        self.quiet()?;
        let begin = self.target.now();
        let from = begin + method.lead;
        let end = from + part.pace.interval.times(part.chunks);
        let rng = self.rng.split(id).split(&format!("part {}", part.number));
        let access = RandomAccess::new(
            self.subject.load_area(),
            method.access,
            method.read_share,
            rng.split("load"),
        );
        let mut load = OpenLoop::new(access, method.arrivals, method.gap, begin..Instant::NEVER);
        let deletions = match part.size() {
            Bytes(0) => Vec::new(),
            size => self.subject.delete_chunks(size, part.chunk),
        };
        let mut chunks = PacedScripts::new(deletions, part.pace.interval, from..end);
        let counted_before = part.pace.interval.times(part.number);
        let last = Nanos(part.pace.interval.times(part.chunks).0.saturating_sub(1));
        let mut failure = None;
        let mut observer = |sample: &Sample<S::Command>| {
            if let Status::Failed(errno) = sample.status {
                failure = Some(errno);
            }
            if sample.stream == LOAD && sample.intended >= from {
                let after = sample.intended.since(from);
                if sample.intended < end {
                    tail.note(counted_before + after, sample.response_time());
                } else {
                    tail.note_behind(counted_before + last, sample.response_time());
                }
            }
        };
        let mut seen = Discarding::new(self.target.statistics());
        let drain = self.target.capabilities().drain;
        loop {
            let now = self.target.now();
            seen.note(now, self.target.statistics());
            let deleted = Bytes(part.chunk.0 * chunks.started());
            let is_over = seen.bytes >= deleted && now >= seen.last + drain.quiet;
            if now >= end && (is_over || now >= end + drain.timeout) {
                break;
            }
            let until = if now < end { end.min(now + SAMPLE_EVERY) } else { now + SAMPLE_EVERY };
            let mut streams = Several(vec![&mut chunks, &mut load]);
            self.runner.run_until(self.target, &mut streams, &mut observer, until)?;
        }
        load.end();
        let mut streams = Several(vec![&mut chunks, &mut load]);
        self.runner.finish(self.target, &mut streams, &mut observer)?;
        if let Some(errno) = failure {
            return Err(MethodError::Broken { step: id.to_owned(), count: 1, errno });
        }
        let issued = chunks.started();
        // What could not be deleted in time, so that each part begins alike.
        for deletion in chunks.into_rest() {
            self.script(deletion)?;
        }
        for (ordinal, _) in files {
            self.script(self.subject.tidy(ordinal))?;
        }
        Ok(Outcome {
            issued,
            deleted: Bytes(part.chunk.0 * issued),
            discarded: seen.bytes,
            deleting: part.pace.interval.times(part.chunks),
            discarding: seen.time(),
        })
    }

    /// Writes what a part deletes, and makes it durable; the files.
    fn make_chunks(&mut self, part: &Part) -> Result<Vec<(u32, Bytes)>, MethodError> {
        let files = match part.size() {
            Bytes(0) => Vec::new(),
            size => self.subject.chunk_files(size, part.chunk),
        };
        for &(ordinal, size) in &files {
            self.script(self.subject.make(ordinal))?;
            let area = self.subject.victim_area(ordinal, size);
            self.fill(area)?;
        }
        // Of a filesystem it makes all of them durable.
        if let Some(&(ordinal, _)) = files.last() {
            self.script(self.subject.settle(ordinal))?;
        }
        Ok(files)
    }
}
