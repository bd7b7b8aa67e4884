//! Runs the search for the highest rate of deletion: the load beside chunks at a pace.

use trimbench_core::{Bytes, Instant, Nanos, Status, Target};
use trimbench_results::Step;

use super::super::rate::{ALONE, CONFIRMATION, LONGER, Pace, TRY, Tails, search, verdict};
use super::super::subject::Subject;
use super::Session;
use crate::method::{MethodError, Monitor, Stage};
use crate::runner::{Sample, Several};
use crate::workload::{InOrder, OpenLoop, RandomAccess};

/// Chunks outstanding: the next one waits until the device has done with the one before.
const CHUNKS_OUTSTANDING: u32 = 1;

/// Streams of a part.
const CHUNKS: usize = 0;

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
    /// Bytes that are deleted; none for the load alone.
    size: Bytes,
    chunk: Bytes,
    pace: Pace,
    chunks: u64,
}

impl<T, S> Session<'_, T, S>
where
    S: Subject,
    T: Target<Command = S::Command>,
{
    /// Searches every chunk of the grid, and takes from `done` what was measured before; all tries,
    /// in their order. Nothing without a limit.
    pub(super) fn rates(
        &mut self,
        monitor: &mut dyn Monitor,
        done: &[Step],
    ) -> Result<Vec<Step>, MethodError> {
        let Some(limit) = self.method.p999_limit else { return Ok(Vec::new()) };
        let mut steps: Vec<Step> = Vec::new();
        let mut measure = |session: &mut Self, what: Try| -> Result<bool, MethodError> {
            let step = if let Some(step) = done.iter().find(|step| step.id == what.id) {
                step.clone()
            } else {
                let (now, left) = (session.target.now(), session.method.shortest_try());
                let (done, total) = (steps.len(), steps.len() + 1);
                monitor.stage(&Stage { done, total, text: &what.id, now, left });
                let step = session.attempt(&what, limit)?;
                monitor.keep(&step)?;
                step
            };
            let kept = verdict(&step) == Some(true);
            steps.push(step);
            Ok(kept)
        };
        let alone = Try { id: ALONE.to_owned(), kind: ALONE, deletion: None, length: 1 };
        if measure(self, alone)? {
            for &chunk in &self.method.rate_chunks {
                search(self.method.rate_max.0, |rate, confirms| {
                    let (kind, length) = if confirms { (CONFIRMATION, LONGER) } else { (TRY, 1) };
                    let id = format!("{kind}-{chunk}-{rate}");
                    measure(self, Try { id, kind, deletion: Some((chunk, rate)), length })
                })?;
            }
        }
        Ok(steps)
    }

    /// The load beside chunks at a pace, part by part: each deletes as much as the victim holds,
    /// which is written anew before.
    fn attempt(&mut self, what: &Try, limit: Nanos) -> Result<Step, MethodError> {
        let method = self.method;
        let mut step = Step::new(what.id.clone(), what.kind);
        let time = method.shortest_try().times(what.length);
        let (chunk, pace) = match what.deletion {
            Some((chunk, rate)) => {
                step.set("chunk_bytes", chunk.0 as f64);
                step.set("deletion_bytes_per_s", rate as f64);
                (chunk, Pace::new(chunk, rate, time))
            }
            None => (Bytes(0), Pace::alone(time)),
        };
        let room = method.sizes.last().copied().unwrap_or(chunk);
        let per_part = (room.0 / chunk.0.max(1)).max(1).min(pace.chunks);
        let mut tails = Tails::new(pace, method.gap, limit);
        let expected = pace.time().0 / method.gap.0;
        let (mut before, mut issued) = (0, 0);
        while before < pace.chunks && !tails.has_failed(expected) {
            let chunks = per_part.min(pace.chunks - before);
            let size = if what.deletion.is_some() { Bytes(chunk.0 * chunks) } else { Bytes(0) };
            let part = Part { number: before, size, chunk, pace, chunks };
            issued += self.part(&what.id, &part, &mut tails)?;
            before += chunks;
        }
        tails.store(&mut step);
        if what.deletion.is_some() {
            step.measure("issued_of_planned_ratio", issued as f64 / before as f64);
        }
        Ok(step)
    }

    /// One part; how many chunks were issued in time.
    fn part(&mut self, id: &str, part: &Part, tails: &mut Tails) -> Result<u64, MethodError> {
        let method = self.method;
        if part.size.0 > 0 {
            let area = self.subject.victim_area(0, part.size);
            self.fill(area)?;
        }
        self.script(self.subject.settle(0))?;
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
        let mut load = OpenLoop::new(access, method.arrivals, method.gap, (begin, end));
        let deletes = part.size.0 > 0;
        let pieces = deletes.then(|| self.subject.pieces(part.size, part.chunk));
        let chunks = InOrder::new(pieces.unwrap_or_default(), CHUNKS_OUTSTANDING);
        let mut chunks = chunks.paced(from, part.pace.interval).until(end);
        let mut streams = Several(vec![&mut chunks, &mut load]);
        let counted_before = part.pace.interval.times(part.number);
        let mut issued = 0;
        let mut failure = None;
        let mut observer = |sample: &Sample<S::Command>| {
            if let Status::Failed(errno) = sample.status {
                failure = Some(errno);
            }
            if sample.stream == CHUNKS {
                issued += 1;
            } else if sample.intended >= from {
                let after = counted_before + sample.intended.since(from);
                tails.note(after, sample.response_time());
            }
        };
        self.runner.run_until(self.target, &mut streams, &mut observer, Instant::NEVER)?;
        match failure {
            None => Ok(issued),
            Some(errno) => Err(MethodError::Broken { step: id.to_owned(), count: 1, errno }),
        }
    }
}
