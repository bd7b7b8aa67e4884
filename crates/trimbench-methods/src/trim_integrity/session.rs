//! The procedure: for each case write everything, read it, trim, read again and again, rewrite.

use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{BlockCommand, Bytes, Content, Data, Device, DriveError, Interrupt};
use trimbench_results::Step;

use super::cases::{Case, Cut, plan};
use super::layout::{Layout, range};
use super::options::TrimIntegrity;
use super::steps::TrimIntegrityStep;
use super::survey::{Generations, Survey};
use trimbench_engine::{ASSUMED_RATE, DeviceRunner, MethodError, MethodSession, RunError};

/// Bytes of one write, and of one piece of reading.
const PIECE: Bytes = Bytes::mib(1);

/// A device under the method.
struct Surveyed<'a> {
    method: &'a TrimIntegrity,
    layout: Layout,
    runner: DeviceRunner<'a>,
    interrupt: &'a Interrupt,
    contents: Vec<Content>,
}

/// Runs the method on a device, whose start is overwritten.
pub(super) fn run(
    method: &TrimIntegrity,
    device: &mut dyn Device,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let layout = Layout::new(method, device.capabilities(), device.discard_alignment())
        .map_err(|reason| MethodError::Unfit { reason })?;
    let mut cases = plan(method);
    // Nothing is lost by a cut here; a target that cannot be cut says so before anything is done.
    match device.power_cut() {
        Ok(()) => {}
        Err(DriveError::Refused { .. }) => cases.retain(|case| case.cut.is_none()),
        Err(error) => return Err(broken(error.into(), "power-cut")),
    }
    session.plan(
        cases.iter().map(|case| case.id.clone()),
        method.estimate(cases.len() as u64, ASSUMED_RATE),
    );
    let (rng, interrupt) = (session.rng, session.interrupt);
    let runner = DeviceRunner::new(device, interrupt);
    let mut surveyed = Surveyed { method, layout, runner, interrupt, contents: Vec::new() };
    for (place, case) in cases.iter().enumerate() {
        if session.is_done(&case.id) {
            continue;
        }
        session.announce(&case.id, surveyed.runner.now());
        let first = 3 * narrow(place as u64) + 1;
        let generations = Generations { old: first, neighbour: first + 1, new: first + 2 };
        let rng = rng.split(&case.id);
        let step = surveyed.case(case, generations, rng);
        session.keep(step.map_err(|error| broken(error, &case.id))?)?;
    }
    session.hash(surveyed.runner.trace_hash());
    Ok(())
}

/// A target that fails its commands is broken, and the step says where.
fn broken(error: MethodError, step: &str) -> MethodError {
    match error {
        MethodError::Drive(DriveError::Failed { errno, .. }) => {
            MethodError::Broken { step: step.to_owned(), count: 1, errno }
        }
        other => other,
    }
}

impl Surveyed<'_> {
    fn case(
        &mut self,
        case: &Case,
        generations: Generations,
        mut rng: Rng,
    ) -> Result<Step, MethodError> {
        let layout = self.layout;
        let discards = case.discards(&layout, &mut rng);
        let promise = self.runner.device.trim_promise();
        let held = case.cut != Some(Cut::BeforeFlush);
        let mut survey = Survey::new(&layout, &discards, held, promise, generations);
        let trimmed: u64 = discards.iter().map(|discard| discard.length().0).sum();
        let discard_count = discards.len() as u64;

        self.write(&case.id, &[(0, layout.span)], generations.old)?;
        self.read(|block, content| survey.before(block, content))?;
        let before = self.runner.device.statistics().discard.bytes;
        let discards = discards.into_iter().map(BlockCommand::Discard).collect();
        self.runner.all(&case.id, discards, self.method.queue_depth)?;
        if held {
            self.runner.flush(&case.id)?;
        }
        if case.cut.is_some() {
            self.runner.device.power_cut()?;
        }
        let after = self.runner.device.statistics().discard.bytes;
        for pass in 0..self.method.reads {
            self.read(|block, content| survey.after(block, content, pass == 0))?;
        }
        let neighbours = survey.rewrite_neighbours();
        self.write(&case.id, &neighbours, generations.neighbour)?;
        self.read(|block, content| survey.after(block, content, false))?;
        self.write(&case.id, &survey.trimmed(), generations.new)?;
        self.read(|block, content| survey.rewritten(block, content))?;
        let found = TrimIntegrityStep {
            promise_code: super::analysis::code(promise),
            granularity_bytes: layout.bytes(layout.granule),
            discards: discard_count,
            discarded_bytes: layout.bytes(trimmed),
            discarded_bytes_device: after.saturating_sub(before),
            blocks: survey.found(held),
        };
        Ok(Step::of(case.id.clone(), "trim", &found))
    }

    /// Stamps the blocks of these runs, and makes them durable.
    fn write(&mut self, id: &str, runs: &[(u64, u64)], generation: u32) -> Result<(), MethodError> {
        let piece = PIECE.blocks_floor(self.layout.logical_block).0;
        let pieces = runs.iter().flat_map(|&(start, end)| {
            let starts = (start..end).step_by(trimbench_core::units::index(piece));
            starts.filter_map(move |from| range(from, end.min(from + piece)))
        });
        let data = Data::Stamped(generation);
        let writes = pieces.map(|range| BlockCommand::Write { range, data }).collect();
        self.runner.all(id, writes, self.method.queue_depth)?;
        self.runner.flush(id)
    }

    /// Reads the whole span once.
    fn read(&mut self, mut observe: impl FnMut(u64, Content)) -> Result<(), MethodError> {
        let piece = PIECE.blocks_floor(self.layout.logical_block).0;
        let mut next = 0;
        while let Some(range) = range(next, self.layout.span.min(next + piece)) {
            if self.interrupt.requested() {
                return Err(RunError::Interrupted.into());
            }
            self.contents.clear();
            self.runner.device.examine(range, &mut self.contents)?;
            assert_eq!(self.contents.len() as u64, range.length().0, "one content for each block");
            for (block, &content) in (next..).zip(&self.contents) {
                observe(block, content);
            }
            next = range.end().0;
        }
        Ok(())
    }
}
