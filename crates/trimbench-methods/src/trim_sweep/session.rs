//! The procedure: purge, then row by row prepare, rest and measure.

use trimbench_core::contract::ClassStatistics;
use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Caveat, Device, DeviceStatistics, Instant, LbaRange, PurgeMeans};
use trimbench_results::Step;

use super::load_alone::{LOAD_ALONE, LoadAlone, SLOWED_MAX, SeenAlone, rate_of};
use super::options::{TrimSweep, gap};
use super::plan::{Row, SweepKind, SweepSlot, TrimSweepPlan, filled};
use super::row::{ACCESS, Seen, Side};
use super::steps::{LoadAloneStep, SweepPurgeStep, TrimRowStep, TrimRowTimesStep};
use trimbench_core::units::rounded;
use trimbench_engine::{
    ASSUMED_RATE, Arrivals, DeviceArea, DeviceRunner, Method as _, MethodError, MethodSession,
    OpenLoop, OtherLoad, RandomAccess,
};

/// The step that says how the drive was purged.
const PURGE: &str = "purge";
/// Discards outstanding while content is discarded to prepare.
const PREPARE_DEPTH: u32 = 8;
/// With fewer outstanding on average, as a share of what was asked for, the queue was not full.
const QUEUE_FULL: f64 = 0.8;

/// A device under the method.
struct Sweep<'a> {
    method: &'a TrimSweep,
    plan: TrimSweepPlan,
    runner: DeviceRunner<'a>,
    rng: &'a Rng,
    /// What lies before was discarded since the purge.
    cursor: Bytes,
    /// Accesses a second beside the discards, once the load alone has shown what the drive serves.
    load_rate: Option<u64>,
}

pub(super) fn run(
    method: &TrimSweep,
    device: &mut dyn Device,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let runner = DeviceRunner::new(device, session.interrupt);
    let means = runner.device.purge_means();
    let rng = session.rng;
    let plan = TrimSweepPlan::new(method, runner.shape, means != PurgeMeans::Trim, rng);
    let estimate = method.demand(runner.shape.capacity, ASSUMED_RATE).time;
    session.plan(step_ids(&plan), estimate);
    let mut sweep = Sweep { method, plan, runner, rng, cursor: Bytes(0), load_rate: None };
    let is_open = |row: &Row, session: &MethodSession<'_>| !session.is_done(&row.id);
    if sweep.plan.rows.iter().any(|row| is_open(row, session)) {
        sweep.establish(means, session)?;
    }
    sweep.rows(|row| row.kind == SweepKind::NeverWritten, session)?;
    if sweep.plan.rows.iter().any(|row| is_open(row, session)) {
        sweep.fill()?;
        sweep.load_alone(session)?;
        if sweep.plan.has_load() && sweep.load_rate.is_none() {
            sweep.plan.leave_out_load();
            session.plan(step_ids(&sweep.plan), estimate);
        }
    }
    sweep.rows(|_| true, session)?;
    session.hash(sweep.runner.trace_hash());
    Ok(())
}

/// All steps in their order: the load alone is behind what was never written.
fn step_ids(plan: &TrimSweepPlan) -> Vec<String> {
    let never = plan.rows.iter().take_while(|row| row.kind == SweepKind::NeverWritten).count();
    let mut ids: Vec<String> = plan.rows.iter().map(|row| row.id.clone()).collect();
    if plan.has_load() {
        ids.insert(never, LOAD_ALONE.to_owned());
    }
    ids.insert(0, PURGE.to_owned());
    ids
}

impl Sweep<'_> {
    /// Purges the drive, and says how. Rows that are done need it no more.
    fn establish(
        &mut self,
        means: PurgeMeans,
        session: &mut MethodSession<'_>,
    ) -> Result<(), MethodError> {
        session.announce("purging", self.runner.now());
        self.runner.device.purge()?;
        if session.is_done(PURGE) {
            return Ok(());
        }
        let mut step = Step::new(PURGE, format!("purge-by-{}", means.id()));
        // What was never written cannot be told from what was trimmed.
        let by_trim = means == PurgeMeans::Trim;
        let never_written_rows = by_trim.then_some(0);
        step.store(&SweepPurgeStep { rows: self.plan.rows.len() as u64, never_written_rows });
        step.caveat(by_trim.then_some(Caveat::PurgedByTrim));
        session.keep(step)
    }

    /// Writes what the load accesses, and what else is to be full.
    fn fill(&mut self) -> Result<(), MethodError> {
        let length = filled(self.method, &self.runner.shape);
        if length.0 == 0 {
            return Ok(());
        }
        let area = self.runner.shape.area(Bytes(0), length);
        self.runner.fill("fill", area)
    }

    /// Measures those of the rows that are not measured yet.
    fn rows(
        &mut self,
        of: impl Fn(&Row) -> bool,
        session: &mut MethodSession<'_>,
    ) -> Result<(), MethodError> {
        for row in self.plan.rows.clone() {
            if of(&row) && !session.is_done(&row.id) {
                session.announce(&row.id, self.runner.now());
                session.keep(self.row(&row)?)?;
            }
        }
        Ok(())
    }

    /// One row: prepares, rests, measures.
    fn row(&mut self, row: &Row) -> Result<Step, MethodError> {
        let slots = self.slots(row)?;
        self.prepare(row, &slots)?;
        self.runner.rest(self.method.rest)?;
        let ranges = self.plan.discards(row, &slots);
        let mut step = Step::new(row.id.clone(), row.kind.id());
        let commands_planned = ranges.len() as u64;
        let before = self.runner.device.statistics();
        let mut seen = self.measure(row, ranges)?;
        let (issued, counted) = self.judge(row, &seen, before, &mut step)?;
        let (span, is_loaded) = (seen.span().seconds(), seen.accesses() > 0);
        // Paced discards say nothing of what the drive could do.
        let rate = |count: u64| (!is_loaded).then(|| count as f64 / span);
        step.store(&TrimRowStep {
            size_bytes: row.size,
            queue_depth: row.queue_depth,
            commands_planned,
            alignment_bytes: self.alignment(row),
            load_per_s: self.load_rate.filter(|_| row.kind.is_loaded()),
            commands_issued: issued.completed,
            commands_completed: counted.completed,
            discarded_bytes_issued: issued.bytes,
            discarded_bytes_completed: counted.bytes,
            duration_s: span,
            outstanding_mean: Some(seen.outstanding()),
            commands_per_s: rate(issued.completed),
            discarded_bytes_per_s: rate(issued.bytes.0),
            latency_s: seen.latency(),
            load: is_loaded.then(|| seen.load()),
        });
        let response_time = is_loaded.then_some(seen.response);
        step.store(&TrimRowTimesStep { latency: seen.histogram, response_time });
        Ok(step)
    }

    /// Where the row discards; purges again when all of the device has been used up.
    fn slots(&mut self, row: &Row) -> Result<Vec<SweepSlot>, MethodError> {
        let slots = if let Some(slots) = self.plan.slots(self.method, row, self.cursor) {
            slots
        } else {
            self.runner.device.purge()?;
            self.plan
                .slots(self.method, row, Bytes(0))
                .expect("each row by itself fits the device: the plan counts its slots")
        };
        if let (SweepKind::NeverWritten, Some(last)) = (row.kind, slots.last()) {
            self.cursor = last.start + last.length + self.runner.shape.granularity;
        }
        Ok(slots)
    }

    fn prepare(&mut self, row: &Row, slots: &[SweepSlot]) -> Result<(), MethodError> {
        let shape = self.runner.shape;
        if row.kind == SweepKind::NeverWritten {
            return Ok(());
        }
        if row.kind.is_mapped() {
            let areas = slots.iter().map(|slot| shape.area(slot.start, slot.length));
            return self.runner.fill_all(&row.id, areas);
        }
        let depth = if row.kind.is_whole() { 1 } else { PREPARE_DEPTH };
        let discards = slots.iter();
        let discards =
            discards.flat_map(|slot| shape.discards(slot.start, slot.length, shape.discard_max));
        self.runner.all(&row.id, discards.collect(), depth)?;
        self.runner.flush(&row.id)
    }

    /// The accesses of the row `id`, `rate` a second, from now until `until`.
    fn load(&self, id: &str, rate: u64, until: Instant) -> OpenLoop<DeviceArea> {
        let area = self.runner.shape.area(Bytes(0), self.method.load_span);
        let access = RandomAccess::new(area, ACCESS, self.method.read_share, self.rng.split(id));
        // Random gaps: else the discards would meet always the same part of them.
        OpenLoop::new(access, Arrivals::Poisson, gap(rate), self.runner.now()..until)
    }

    /// Finds out whether the drive serves the load by itself. A rate that is not given is lowered
    /// to half of what the drive served until it does.
    fn load_alone(&mut self, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        if let Some(step) = session.step(LOAD_ALONE) {
            self.load_rate = rate_of(step);
        }
        let (Some(asked), true) = (self.method.asked_rate(), self.plan.has_load()) else {
            return Ok(());
        };
        if session.is_done(LOAD_ALONE) {
            return Ok(());
        }
        session.announce(LOAD_ALONE, self.runner.now());
        let mut step = Step::new(LOAD_ALONE, LOAD_ALONE);
        let (mut rate, mut asked_served) = (asked, None);
        for slowed in 0..=SLOWED_MAX {
            self.runner.rest(self.method.rest)?;
            let (before, now) = (self.runner.device.statistics(), self.runner.now());
            let length = self.method.loaded_time_max(rate);
            let load = self.load(&format!("{LOAD_ALONE}-{slowed}"), rate, now + length);
            let mut load = LoadAlone::new(load, rate, length);
            let mut seen = SeenAlone::new(now, length);
            self.runner.run(LOAD_ALONE, &mut load, &mut seen)?;
            let is_served = seen.is_served(&load);
            asked_served.get_or_insert(seen.served());
            let lower = rounded(seen.served() / 2.0).min(rate / 2);
            let is_last = slowed == SLOWED_MAX || lower == 0 || !self.method.is_load_adapted();
            if is_served || is_last {
                self.load_rate = Some(rate).filter(|_| is_served);
                let after = self.runner.device.statistics();
                let other = OtherLoad::before(before);
                step.caveat(other.caveat(self.runner.device, after, seen.load.accessed()));
                step.caveat((!is_served).then_some(Caveat::Overloaded));
                step.store(&LoadAloneStep {
                    asked_per_s: asked,
                    load_per_s: rate,
                    asked_served_per_s: asked_served,
                    served_per_s: Some(seen.served()),
                    late_response_s_p50: seen.late_wait(),
                    is_served,
                    duration_s: seen.duration(),
                    load: seen.load.load(),
                    response_time: seen.load.response,
                });
                break;
            }
            rate = lower;
        }
        session.keep(step)
    }

    fn measure(&mut self, row: &Row, ranges: Vec<LbaRange>) -> Result<Seen, MethodError> {
        let now = self.runner.now();
        let rate = self.load_rate.filter(|_| row.kind.is_loaded());
        let load = rate.map(|rate| (self.load(&row.id, rate, Instant::NEVER), rate));
        let mut side = Side::new(self.method, ranges, row.queue_depth, load, now);
        let mut seen = Seen::default();
        self.runner.run(&row.id, &mut side, &mut seen)?;
        Ok(seen)
    }

    /// The discards that were issued and those that the device counted; notes what invalidates or
    /// limits the row.
    fn judge(
        &mut self,
        row: &Row,
        seen: &Seen,
        before: DeviceStatistics,
        step: &mut Step,
    ) -> Result<(ClassStatistics, ClassStatistics), MethodError> {
        let bytes = Bytes(seen.blocks() * self.runner.shape.logical_block.bytes().0);
        let issued =
            ClassStatistics { completed: seen.commands(), bytes, ..ClassStatistics::default() };
        let counted = self.runner.discards_since(before, issued, step)?;
        if !row.kind.is_loaded() && seen.outstanding() < QUEUE_FULL * f64::from(row.queue_depth) {
            step.caveat(Caveat::QueueNotFull);
        }
        let after = self.runner.device.statistics();
        step.caveat(OtherLoad::before(before).caveat(self.runner.device, after, seen.accessed()));
        Ok((issued, counted))
    }

    /// The largest power of two that all discards of the row begin and end at.
    fn alignment(&self, row: &Row) -> Bytes {
        let shape = &self.runner.shape;
        if row.kind.is_unaligned() { shape.logical_block.bytes() } else { shape.granularity }
    }
}
