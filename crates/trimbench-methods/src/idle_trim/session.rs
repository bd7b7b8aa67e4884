//! The procedure: purge, then round by round empty, time, fill, time.

use trimbench_core::contract::ClassStatistics;
use trimbench_core::rng::Rng;
use trimbench_core::{BlockCommand, Bytes, Caveat, Device, Instant, Nanos, PurgeMeans};
use trimbench_results::{Series, Step};

use super::options::IdleTrim;
use super::steps::{IdlePurgeStep, IdleRoundStep, TimedTrimStep};
use trimbench_engine::{
    ASSUMED_RATE, DeviceRunner, InOrder, Method as _, MethodError, MethodSession, OtherLoad,
    Sample, Shape, Single,
};

/// Points of a curve, at most.
const POINTS: usize = 200;
/// The step that says how the drive was purged, and times the first TRIM after it.
pub(super) const PURGE: &str = "purge";

/// In which pieces the span is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In pieces as large as the device takes.
    OneGo,
    /// In chunks.
    Chunks,
}

impl Way {
    /// The name in records.
    pub const fn id(self) -> &'static str {
        match self {
            Self::OneGo => "one-go",
            Self::Chunks => "chunks",
        }
    }
}

/// One repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Unique in the session.
    pub id: String,
    /// In which pieces.
    pub way: Way,
    /// Bytes of a piece.
    pub piece: Bytes,
}

/// All rounds of a session, in their random order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleTrimPlan {
    /// The rounds.
    pub rounds: Vec<Round>,
    /// What is filled and discarded, from the start of the device.
    pub span: Bytes,
}

impl IdleTrimPlan {
    /// The rounds of `method` on a device of this shape.
    pub fn new(method: &IdleTrim, shape: Shape, rng: &Rng) -> Self {
        let whole = |bytes: Bytes| Bytes(bytes.0 / shape.granularity.0 * shape.granularity.0);
        let span = whole(method.span.of(shape.capacity));
        let mut rounds = Vec::new();
        let mut add = |way: Way, piece: Bytes, repetitions: u32| {
            for repetition in 1..=repetitions {
                let id = format!("{}-{repetition}", way.id());
                rounds.push(Round { id, way, piece });
            }
        };
        add(Way::OneGo, shape.discard_max, method.repetitions);
        if let Some(chunk) = method.chunk {
            let chunk = whole(chunk).max(shape.granularity).min(shape.discard_max);
            add(Way::Chunks, chunk, method.chunk_repetitions);
        }
        rng.split("order").shuffle(&mut rounds);
        Self { rounds, span }
    }
}

/// One timed TRIM of the span.
#[derive(Debug, Default)]
struct Timed {
    issued: ClassStatistics,
    began: Instant,
    ended: Instant,
    longest: Nanos,
    /// Bytes discarded when a command ended.
    curve: Vec<(Instant, Bytes)>,
}

/// A device under the method.
struct Trimmed<'a> {
    method: &'a IdleTrim,
    plan: IdleTrimPlan,
    runner: DeviceRunner<'a>,
}

pub(super) fn run(
    method: &IdleTrim,
    device: &mut dyn Device,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let runner = DeviceRunner::new(device, session.interrupt);
    let plan = IdleTrimPlan::new(method, runner.shape, session.rng);
    let ids = plan.rounds.iter().map(|round| round.id.clone());
    let ids = std::iter::once(PURGE.to_owned()).chain(ids);
    session.plan(ids, method.demand(plan.span, ASSUMED_RATE).time);
    let mut trimmed = Trimmed { method, plan, runner };
    trimmed.establish(session)?;
    for round in trimmed.plan.rounds.clone() {
        if !session.is_done(&round.id) {
            session.announce(&round.id, trimmed.runner.now());
            session.keep(trimmed.round(&round)?)?;
        }
    }
    session.caveat(trimmed.runner.part_of_drive(method.span));
    session.hash(trimmed.runner.trace_hash());
    Ok(())
}

impl Trimmed<'_> {
    /// Purges the drive, says how, and times the TRIM of what was never written.
    fn establish(&mut self, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        if session.is_done(PURGE) {
            return Ok(());
        }
        session.announce("purging", self.runner.now());
        let means = self.runner.device.purge_means();
        self.runner.purge(self.runner.shape.origin + self.plan.span)?;
        let mut step = Step::new(PURGE, format!("purge-by-{}", means.id()));
        let (mut never_written, mut curve) = (None, None);
        if means == PurgeMeans::Trim {
            // What was never written cannot be told from what was trimmed.
            step.caveat(Caveat::PurgedByTrim);
        } else {
            self.runner.rest(self.method.rest)?;
            let timed = self.timed(self.runner.shape.discard_max, &mut step)?;
            (never_written, curve) = (Some(timed.0), timed.1);
        }
        let span_bytes = self.plan.span;
        step.store(&IdlePurgeStep { span_bytes, never_written, trimmed_never_written: curve });
        session.keep(step)
    }

    /// One repetition. It begins with a TRIM that is not timed, so that it does not matter what
    /// was before it.
    fn round(&mut self, round: &Round) -> Result<Step, MethodError> {
        let (shape, span) = (self.runner.shape, self.plan.span);
        let mut step = Step::new(round.id.clone(), round.way.id());
        self.runner.all(&round.id, shape.discards(Bytes(0), span, shape.discard_max), 1)?;
        self.runner.rest(self.method.rest)?;
        let (empty, trimmed_empty) = self.timed(round.piece, &mut step)?;
        let from = self.runner.now();
        self.runner.fill(&round.id, shape.area(Bytes(0), span))?;
        let fill_s = self.runner.now().since(from).seconds();
        self.runner.rest(self.method.rest)?;
        let (full, trimmed_full) = self.timed(round.piece, &mut step)?;
        step.store(&IdleRoundStep {
            span_bytes: span,
            device_bytes: Some(shape.size),
            piece_bytes: round.piece,
            queue_depth: self.method.queue_depth,
            fill_s,
            empty,
            full,
            trimmed_empty,
            trimmed_full,
        });
        Ok(step)
    }

    /// Discards the span in pieces; what it took, and its curve. The step gets the caveats.
    fn timed(
        &mut self,
        piece: Bytes,
        step: &mut Step,
    ) -> Result<(TimedTrimStep, Option<Series>), MethodError> {
        let (shape, span) = (self.runner.shape, self.plan.span);
        let pieces = shape.discards(Bytes(0), span, piece);
        let before = self.runner.device.statistics();
        let mut timed = Timed { began: self.runner.now(), ..Timed::default() };
        let mut observer = |sample: &Sample<BlockCommand>| {
            if let BlockCommand::Discard(range) = sample.command {
                timed.issued.completed += 1;
                timed.issued.bytes += range.length().bytes(shape.logical_block);
                timed.ended = timed.ended.max(sample.completed);
                timed.longest = timed.longest.max(sample.latency());
                timed.curve.push((sample.completed, timed.issued.bytes));
            }
        };
        let mut discards = Single(InOrder::new(pieces, self.method.queue_depth));
        self.runner.run(&step.id, &mut discards, &mut observer)?;
        let counted = self.runner.discards_since(before, timed.issued, step)?;
        let after = self.runner.device.statistics();
        step.caveat(OtherLoad::before(before).caveat(self.runner.device, after, Bytes(0)));
        let values = TimedTrimStep {
            trim_s: timed.ended.since(timed.began).seconds(),
            command_s_max: timed.longest.seconds(),
            commands_issued: timed.issued.completed,
            commands_completed: counted.completed,
            bytes_completed: counted.bytes,
        };
        Ok((values, timed.curve()))
    }
}

impl Timed {
    /// GB discarded against time.
    fn curve(&self) -> Option<Series> {
        // The first and the last point, and as many between as fit.
        let every = self.curve.len().div_ceil(POINTS).max(1);
        let chosen = self
            .curve
            .iter()
            .enumerate()
            .filter(|(index, _)| (index + 1) % every == 0 || index + 1 == self.curve.len());
        let points = chosen
            .map(|(_, (at, bytes))| (at.since(self.began).seconds(), Some(bytes.gigabytes())));
        let start = (0.0, Some(0.0));
        let (x, y) = std::iter::once(start).chain(points).unzip();
        Series::new("s", "GB", x, y)
    }
}
