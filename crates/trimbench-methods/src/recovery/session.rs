//! The procedure: passes over a fresh, a fragmented, a healed and a trimmed drive.

use trimbench_core::{Bytes, Caveat, Data, Device, Nanos, PurgeMeans};
use trimbench_results::Step;

use super::options::{Recovery, Torture};
use trimbench_engine::{
    ASSUMED_RATE, DeviceArea, DeviceRunner, LoadLength, MethodError, MethodSession, PassSeries,
    PhaseRunner, PhaseStep, Planned, RateCurve, Rounds, SequentialWrite, Single, unobserved,
};

/// Steps of the plan without rounds: 2 purges, 2 fills, 2 tortures, a TRIM and 4 passes.
const STEPS: usize = 11;

/// A drive that is fragmented again and again.
struct Passes<'a, 's> {
    method: &'a Recovery,
    phases: PhaseRunner<'a, 's>,
    span: Bytes,
    /// What passes write and TRIM covers.
    part: Bytes,
    /// Bytes that the first torture wrote, which the later ones repeat.
    tortured: Option<Bytes>,
}

pub(super) fn run(
    method: &Recovery,
    device: &mut dyn Device,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let runner = DeviceRunner::new(device, session.interrupt);
    let span = method.span.on(runner.shape.size, runner.shape.logical_block);
    let means = runner.device.purge_means();
    let steps = STEPS + if method.compare_data.is_some() { 5 } else { 0 };
    let planned = Planned { steps, bytes: method.written(span, ASSUMED_RATE) };
    let phases = PhaseRunner::new(runner, session, planned);
    let mut passes = Passes { method, phases, span, part: method.part_of(span), tortured: None };
    passes.fragment_and_heal()?;
    passes.fragment_and_trim()?;
    if let Some(data) = method.compare_data {
        passes.compare(data)?;
    }
    let runner = passes.phases.runner;
    let part = runner.part_with_spare(method.span);
    let trace_hash = runner.trace_hash();
    session.hash(trace_hash);
    if means == PurgeMeans::Trim {
        session.caveat(Caveat::PurgedByTrim);
    }
    session.caveat(part);
    if method.data != Data::Random {
        session.caveat(Caveat::CompressibleData);
    }
    Ok(())
}

impl Passes<'_, '_> {
    fn fragment_and_heal(&mut self) -> Result<(), MethodError> {
        self.purge(1)?;
        self.pass("fresh", self.method.data)?;
        self.torture(1)?;
        self.pass("fragmented", self.method.data)?;
        self.pass("self-healed", self.method.data)
    }

    fn fragment_and_trim(&mut self) -> Result<(), MethodError> {
        self.purge(2)?;
        self.torture(2)?;
        self.phases.trim("trim", Bytes(0), self.part)?;
        self.phases.runner.rest(self.method.rest)?;
        self.pass("trimmed", self.method.data)
    }

    /// The same drive, tortured alike, as passes with other data see it.
    fn compare(&mut self, data: Data) -> Result<(), MethodError> {
        self.purge(3)?;
        self.pass("fresh-compared", data)?;
        self.torture(3)?;
        self.pass("fragmented-compared", data)
    }

    fn purge(&mut self, number: u32) -> Result<(), MethodError> {
        self.phases.purge(&format!("purge-{number}"), self.span)?;
        self.phases.runner.rest(self.method.rest)
    }

    /// The first bytes in order.
    fn sequential(&self, first: Bytes, data: Data) -> Single<SequentialWrite<DeviceArea>> {
        let area = self.phases.runner.shape.first(first, data);
        Single(SequentialWrite::new(area, self.method.pass_size, self.method.pass_depth))
    }

    /// Writes its part in order and notes the curve; then the drive rests.
    fn pass(&mut self, id: &str, data: Data) -> Result<(), MethodError> {
        let (logical_block, begun) =
            (self.phases.runner.shape.logical_block, self.phases.runner.now());
        let mut curve = PassSeries::new(self.part, self.method.pass_size, logical_block, begun);
        let phase = self.phases.run(id, &mut self.sequential(self.part, data), &mut curve)?;
        let mut step = Step::new(id, "pass");
        phase.store(&mut step);
        curve.store(&mut step);
        self.phases.keep(step)?;
        self.settle(id, self.method.rest)
    }

    /// Fills every block in order, then fragments the drive by random writes.
    fn torture(&mut self, number: u32) -> Result<(), MethodError> {
        let fill = format!("fill-{number}");
        let mut writes = self.sequential(self.span, self.method.data);
        let phase = self.phases.run(&fill, &mut writes, &mut unobserved)?;
        self.phases.keep_phase(&fill, "fill", &phase)?;
        let id = format!("torture-{number}");
        let of_bytes = |bytes| Some(LoadLength { bytes, time: Nanos::ZERO });
        let length = match (self.tortured, self.method.torture) {
            (Some(bytes), _) => of_bytes(bytes),
            (None, Torture::Share(share)) => of_bytes(Bytes(share.of(self.span.0))),
            (None, Torture::Time(time)) => Some(LoadLength { bytes: Bytes(0), time }),
            (None, Torture::Steady) => None,
        };
        match length {
            Some(length) => self.random_writes(&id, length)?,
            None => self.until_steady(&id)?,
        }
        self.settle(&id, self.method.torture_rest())
    }

    fn random_writes(&mut self, id: &str, length: LoadLength) -> Result<(), MethodError> {
        let load = self.method.load(self.span);
        let begun = self.phases.runner.now();
        let mut curve = RateCurve::new(length.bytes.pieces(load.access), begun);
        let phase = load.once(&mut self.phases, id, length, &mut curve)?;
        let mut step = Step::new(id, "torture");
        phase.store(&mut step);
        curve.store(&mut step, 0.0, 0.0, load.access);
        self.phases.keep(step)?;
        self.note_tortured(phase.written);
        Ok(())
    }

    fn until_steady(&mut self, id: &str) -> Result<(), MethodError> {
        let before = self.phases.session.steps().len();
        let (load, length) = (self.method.load(self.span), Recovery::rounds(self.span));
        let step = |number| Step::new(format!("{id}-{number}"), "torture");
        Rounds::default().until_steady(&mut self.phases, &load, length, step)?;
        let rounds = self.phases.session.steps()[before..].iter();
        let written = rounds.filter_map(|step| step.read::<PhaseStep>().ok()?.written_bytes);
        let written = written.fold(Bytes(0), |sum, bytes| sum + bytes);
        self.note_tortured(written);
        Ok(())
    }

    /// The later tortures write as much as the first: what differs between two passes is then what
    /// was done in between.
    fn note_tortured(&mut self, bytes: Bytes) {
        if self.tortured.is_none() {
            let to_come = if self.method.compare_data.is_some() { 3 } else { 2 };
            let spared =
                self.method.torture_assumed(self.span, ASSUMED_RATE).saturating_sub(bytes.0);
            self.phases.forgo(0, spared * to_come);
            self.tortured = Some(bytes);
        }
    }

    /// What was written is on the medium, and the drive rests.
    fn settle(&mut self, id: &str, rest: Nanos) -> Result<(), MethodError> {
        self.phases.runner.flush(id)?;
        self.phases.runner.rest(rest)
    }
}
