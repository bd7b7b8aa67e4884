//! The procedure: for each case write everything, read it, trim, read again and again, rewrite.

use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{BlockCommand, Bytes, Content, Data, Device, DriveError, Interrupt};
use trimbench_results::{Harm, Step};

use super::cases::{Case, Cut, plan};
use super::layout::{Layout, range};
use super::options::TrimIntegrity;
use super::survey::{Counts, FirstRead, Generations, Survey};
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
        let mut step = Step::new(case.id.clone(), "trim");
        step.set("promise_code", super::analysis::code(promise));
        step.set("granularity_bytes", layout.bytes(layout.granule).0 as f64);
        step.set("discards", discards.len() as f64);
        let trimmed: u64 = discards.iter().map(|discard| discard.length().0).sum();
        step.set("discarded_bytes", layout.bytes(trimmed).0 as f64);

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
        step.measure("discarded_bytes_device", after.saturating_sub(before).0 as f64);
        for pass in 0..self.method.reads {
            self.read(|block, content| survey.after(block, content, pass == 0))?;
        }
        let neighbours = survey.rewrite_neighbours();
        self.write(&case.id, &neighbours, generations.neighbour)?;
        self.read(|block, content| survey.after(block, content, false))?;
        self.write(&case.id, &survey.trimmed(), generations.new)?;
        self.read(|block, content| survey.rewritten(block, content))?;
        store(&survey, held, &mut step);
        Ok(step)
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

/// Puts what was found into the step; TRIMs that are not `held` may have been undone.
fn store(survey: &Survey, held: bool, step: &mut Step) {
    let counts = survey.counts();
    let Counts { kept, inner, edge, unwritten, lost, unstable, broken, foreign, lost_at } = counts;
    let FirstRead { zeroes, ones, old, stale, other, edge_kept } = survey.first_read;
    for (key, count) in [
        ("neighbour_blocks", kept),
        (Harm::NeighboursLost.key(), lost),
        (Harm::WritesLost.key(), unwritten),
        ("trimmed_blocks", inner + edge),
        ("whole_blocks", inner),
        ("whole_blocks_zeroes", zeroes),
        ("whole_blocks_ones", ones),
        ("whole_blocks_old_data", old),
        ("whole_blocks_stale_data", stale),
        ("whole_blocks_other", other),
        (if held { "edge_blocks" } else { "unflushed_blocks" }, edge),
        (if held { "edge_blocks_old_data" } else { "unflushed_blocks_undone" }, edge_kept),
        ("trimmed_blocks_unstable", unstable),
        (Harm::ForeignRead.key(), foreign),
        (Harm::PromiseBroken.key(), broken),
        (Harm::RewrittenLost.key(), survey.rewritten_lost),
    ] {
        step.measure(key, count as f64);
    }
    if let Some(block) = lost_at {
        step.measure("lost_lba_first", block as f64);
    }
}
