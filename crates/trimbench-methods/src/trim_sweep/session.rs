//! The procedure: purge, then row by row prepare, rest and measure.

use trimbench_core::contract::ClassStatistics;
use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Caveat, Device, DeviceStatistics, Instant, LbaRange, PurgeMeans};
use trimbench_results::Step;

use super::load_alone::{LOAD_ALONE, LoadAlone, SLOWED_MAX, SeenAlone, rate_of};
use super::options::{TrimSweep, gap};
use super::plan::{Row, SweepKind, SweepSlot, TrimSweepPlan, filled};
use super::row::{ACCESS, Seen, Side};
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
        step.set("rows", self.plan.rows.len() as f64);
        if means == PurgeMeans::Trim {
            // What was never written cannot be told from what was trimmed.
            step.set("never_written_rows", 0.0);
            step.caveat(Caveat::PurgedByTrim);
        }
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
        step.set("size_bytes", row.size.0 as f64);
        step.set("queue_depth", f64::from(row.queue_depth));
        step.set("commands_planned", ranges.len() as f64);
        step.set("alignment_bytes", self.alignment(row).0 as f64);
        if let Some(rate) = self.load_rate.filter(|_| row.kind.is_loaded()) {
            step.set("load_per_s", rate as f64);
        }
        let before = self.runner.device.statistics();
        let seen = self.measure(row, ranges)?;
        self.judge(row, &seen, before, &mut step)?;
        let bytes = Bytes(seen.blocks() * self.runner.shape.logical_block.bytes().0);
        seen.store(&mut step, bytes);
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
            self.load_rate = rate_of(self.method, step);
        }
        let (Some(asked), true) = (self.method.asked_rate(), self.plan.has_load()) else {
            return Ok(());
        };
        if session.is_done(LOAD_ALONE) {
            return Ok(());
        }
        session.announce(LOAD_ALONE, self.runner.now());
        let mut step = Step::new(LOAD_ALONE, LOAD_ALONE);
        step.set("asked_per_s", asked as f64);
        let mut rate = asked;
        for slowed in 0..=SLOWED_MAX {
            self.runner.rest(self.method.rest)?;
            let (before, now) = (self.runner.device.statistics(), self.runner.now());
            let length = self.method.loaded_time_max(rate);
            let load = self.load(&format!("{LOAD_ALONE}-{slowed}"), rate, now + length);
            let mut load = LoadAlone::new(load, rate, length);
            let mut seen = SeenAlone::new(now, length);
            self.runner.run(LOAD_ALONE, &mut load, &mut seen)?;
            let is_served = seen.is_served(&load);
            if slowed == 0 {
                step.measure("asked_served_per_s", seen.served());
            }
            let lower = rounded(seen.served() / 2.0).min(rate / 2);
            let is_last = slowed == SLOWED_MAX || lower == 0 || !self.method.is_load_adapted();
            if is_served || is_last {
                self.load_rate = Some(rate).filter(|_| is_served);
                step.set("load_per_s", rate as f64);
                let after = self.runner.device.statistics();
                let other = OtherLoad::before(before);
                step.caveat(other.caveat(self.runner.device, after, seen.accessed()));
                seen.store(&mut step, is_served);
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

    /// Notes what the counters say, and what invalidates or limits the row.
    fn judge(
        &mut self,
        row: &Row,
        seen: &Seen,
        before: DeviceStatistics,
        step: &mut Step,
    ) -> Result<(), MethodError> {
        let bytes = Bytes(seen.blocks() * self.runner.shape.logical_block.bytes().0);
        let issued =
            ClassStatistics { completed: seen.commands(), bytes, ..ClassStatistics::default() };
        let counted = self.runner.discards_since(before, issued, step)?;
        step.measure("commands_issued", issued.completed as f64);
        step.measure("commands_completed", counted.completed as f64);
        step.measure("discarded_bytes_issued", issued.bytes.0 as f64);
        step.measure("discarded_bytes_completed", counted.bytes.0 as f64);
        if !row.kind.is_loaded() && seen.outstanding() < QUEUE_FULL * f64::from(row.queue_depth) {
            step.caveat(Caveat::QueueNotFull);
        }
        let after = self.runner.device.statistics();
        step.caveat(OtherLoad::before(before).caveat(self.runner.device, after, seen.accessed()));
        Ok(())
    }

    /// The largest power of two that all discards of the row begin and end at.
    fn alignment(&self, row: &Row) -> Bytes {
        let shape = &self.runner.shape;
        if row.kind.is_unaligned() { shape.logical_block.bytes() } else { shape.granularity }
    }
}
