//! The procedure: purge, then at each point empty, write, trim, load; and the same for its twin.

use trimbench_core::contract::ClassStatistics;
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Data, Device, Nanos, Ppm};
use trimbench_results::{Series, Step};

use super::analysis::settled_after;
use super::options::{Reference, Settle};
use super::steps::{SettleIdleStep, SettlePaceStep, SettlePointStep};
use trimbench_engine::settings::{whole, whole_percent};
use trimbench_engine::{
    ASSUMED_RATE, Bracket, Demand, DeviceRunner, FILL_DEPTH, FILL_PIECE, Method as _, MethodError,
    MethodSession, Phase, PhaseRunner, Planned, SequentialWrite, Shape, Single, SliceCurve, UNIT,
    unobserved,
};

/// The kind of step that is a point.
pub(super) const POINT: &str = "point";
/// That of a point whose load began after an idle time.
pub(super) const IDLE: &str = "idle";
/// The id of the step that says how the drive was purged begins so.
const PURGE: &str = "purge";

/// One point of the plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Unique in the session.
    pub id: String,
    /// Shares of the span in percent: what is trimmed, and what is written before.
    pub percents: (u32, u32),
    /// Bytes that are trimmed, from the start of the device.
    pub range: Bytes,
    /// Bytes that are written before, from the start of the device.
    pub written: Bytes,
}

/// All points of a session, in their random order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettlePlan {
    /// The points.
    pub points: Vec<Point>,
    /// What is used of the device.
    pub span: Bytes,
}

impl SettlePlan {
    /// The points of `method` on a device of this shape.
    pub fn new(method: &Settle, shape: Shape, rng: &Rng) -> Self {
        let span = method.span.on(shape.size, shape.logical_block);
        let percent = |share| whole_percent(share).expect("checked when it was read");
        // Whole units of the TRIM, and room for one access.
        let unit = shape.granularity.0.max(method.access.0).next_multiple_of(UNIT);
        let range = |share: Ppm| Bytes((share.of(span.0) / unit * unit).max(unit)).min(span);
        let mut points = Vec::new();
        for &trimmed in &method.ranges {
            for &before in &method.written {
                let percents = (percent(trimmed), percent(before));
                let written = whole(Bytes(before.of(span.0)), shape.logical_block);
                let id = format!("trimmed-{}-written-{}", percents.0, percents.1);
                points.push(Point { id, percents, range: range(trimmed), written });
            }
        }
        rng.split("order").shuffle(&mut points);
        Self { points, span }
    }
}

/// A device under the method.
struct Settling<'a, 's> {
    method: &'a Settle,
    phases: PhaseRunner<'a, 's>,
    span: Bytes,
}

pub(super) fn run(
    method: &Settle,
    device: &mut dyn Device,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let runner = DeviceRunner::new(device, session.interrupt);
    let SettlePlan { points, span } = SettlePlan::new(method, runner.shape, session.rng);
    let size = runner.shape.size;
    let Demand { written, time } = method.demand(size, ASSUMED_RATE);
    let halvings = method.idle_halvings;
    let planned = Planned { steps: points.len() + 1 + index(halvings.into()), bytes: written.0 };
    let mut phases = PhaseRunner::new(runner, session, planned);
    let purge = phases.purge_id(PURGE);
    let ids = points.iter().map(|point| point.id.clone());
    let ids = ids.chain((1..=halvings).map(idle_id));
    phases.session.plan(std::iter::once(purge.clone()).chain(ids), time);
    if !phases.session.is_done(&purge) {
        phases.purge(PURGE, span)?;
    }
    let mut settling = Settling { method, phases, span };
    for point in &points {
        if !settling.phases.session.is_done(&point.id) {
            let step = settling.measure(point)?;
            settling.phases.keep(step)?;
        }
    }
    if let Some(largest) = points.iter().max_by_key(|point| point.percents) {
        settling.halve_idle_time(largest)?;
    }
    let runner = settling.phases.runner;
    let part = runner.part_of_drive(method.span);
    let trace_hash = runner.trace_hash();
    session.hash(trace_hash);
    session.caveat(part);
    Ok(())
}

fn idle_id(number: u32) -> String {
    format!("{IDLE}-{number}")
}

impl Settling<'_, '_> {
    /// Looks for the shortest idle time behind the TRIM of this point after which the load is at
    /// its pace at once: between none, and the settling time under load.
    fn halve_idle_time(&mut self, point: &Point) -> Result<(), MethodError> {
        let pace = |step: &Step| step.read::<SettlePaceStep>().ok();
        let loaded = self.phases.session.step(&point.id).and_then(pace);
        let Some(loaded) = loaded else { return Ok(()) };
        let Some(longest) = settled_after(self.method, &loaded) else { return Ok(()) };
        let ends = Bracket { passes: Nanos::from_seconds(longest), fails: Nanos::ZERO };
        let Settle { slice, idle_halvings, .. } = *self.method;
        let middle = |it: Bracket<Nanos>| {
            (it.passes > slice).then(|| Nanos(it.fails.0.midpoint(it.passes.0)))
        };
        let mut number = 0;
        ends.halved(idle_halvings, middle, |idle| {
            number += 1;
            let id = idle_id(number);
            if !self.phases.session.is_done(&id) {
                let step = self.measure_after(point, &loaded, (id.clone(), idle))?;
                self.phases.keep(step)?;
            }
            let step = self.phases.session.step(&id).expect("it was kept");
            let after = pace(step).and_then(|pace| settled_after(self.method, &pace));
            Ok(after == Some(0.0))
        })
        .map(|_| ())
    }

    /// The point again, with a load that begins after an idle time; `loaded` has its twin.
    fn measure_after(
        &mut self,
        point: &Point,
        loaded: &SettlePaceStep,
        (id, idle): (String, Nanos),
    ) -> Result<Step, MethodError> {
        let mut step = Step::new(id, IDLE);
        self.empty_and_write(point)?;
        self.phases.discard(&point.id, Bytes(0), point.range)?;
        self.phases.runner.rest(idle)?;
        let pace = SettlePaceStep { trimmed: self.load(point, &mut step)?, ..loaded.clone() };
        step.store(&SettleIdleStep { idle_s: idle.seconds(), pace });
        Ok(step)
    }

    /// One point, with its twin if there is one.
    fn measure(&mut self, point: &Point) -> Result<Step, MethodError> {
        let mut step = Step::new(point.id.clone(), POINT);
        let before = self.phases.runner.device.statistics();
        let emptied = self.empty_and_write(point)?;
        if self.method.reference == Reference::Twin {
            // The twin rests after its TRIM too. What the drive does at rest must not count.
            self.phases.runner.rest(self.method.rest)?;
        }
        let trim = self.phases.discard(&point.id, Bytes(0), point.range)?;
        let trimmed = self.load(point, &mut step)?;
        let mut issued = ClassStatistics::default();
        for phase in [&emptied, &trim] {
            issued.completed += phase.commands;
            issued.bytes += phase.discarded;
        }
        // Only now: the counters may lag, and the load must follow the TRIM at once.
        self.phases.runner.discards_since(before, issued, &mut step)?;
        let (twin, placebo) = match self.method.reference {
            Reference::Twin => (self.twin(point, &mut step)?, self.twin(point, &mut step)?),
            Reference::Plateau => (None, None),
        };
        let slice_s = self.method.slice.seconds();
        step.store(&SettlePointStep {
            trimmed_percent: point.percents.0,
            written_percent: point.percents.1,
            range_bytes: point.range,
            written_bytes: point.written,
            trim_s: trim.ended.since(trim.begun).seconds(),
            pace: SettlePaceStep { slice_s, trimmed, twin, placebo },
        });
        Ok(step)
    }

    /// The curve of a twin, which rests after its TRIM.
    fn twin(&mut self, point: &Point, step: &mut Step) -> Result<Option<Series>, MethodError> {
        self.empty_and_write(point)?;
        self.phases.discard(&point.id, Bytes(0), point.range)?;
        self.phases.runner.rest(self.method.rest)?;
        self.load(point, step)
    }

    /// Trims the span, rests, writes what the point says, and rests again; the TRIM.
    fn empty_and_write(&mut self, point: &Point) -> Result<Phase, MethodError> {
        let Self { method, phases, span } = self;
        let emptied = phases.discard(&point.id, Bytes(0), *span)?;
        phases.runner.rest(method.rest)?;
        if point.written.0 > 0 {
            let area = phases.runner.shape.first(point.written, Data::Random);
            let mut writes = Single(SequentialWrite::new(area, FILL_PIECE, FILL_DEPTH));
            phases.run(&point.id, &mut writes, &mut unobserved)?;
            phases.runner.flush(&point.id)?;
            phases.runner.rest(method.rest)?;
        }
        Ok(emptied)
    }

    /// Writes the range that was trimmed, in order and again and again, for the window; the curve.
    fn load(&mut self, point: &Point, step: &mut Step) -> Result<Option<Series>, MethodError> {
        let Self { method, phases, .. } = self;
        let shape = phases.runner.shape;
        let area = shape.first(point.range, Data::Random);
        let begun = phases.runner.now();
        let writes = SequentialWrite::new(area, method.access, method.queue_depth);
        let mut writes = Single(writes.circling(begun + method.window));
        let mut slices = SliceCurve::new(begun, method.slice, method.slices(), shape.logical_block);
        let phase = phases.run(&point.id, &mut writes, &mut slices)?;
        step.caveat(phase.other_load);
        Ok(slices.curve())
    }
}
