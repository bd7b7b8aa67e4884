//! Runs a plan and saves its results.
//!
//! Sessions on emulated targets are independent: they run concurrently, as many as there are jobs,
//! and the record, the output and the exit code are those of sequential sessions. A session on a
//! real target is alone on the machine.

mod identity;
mod quiet;
mod recorder;
mod session;
mod side_by_side;

use trimbench_core::{Bytes, Errno, Interrupt, exit};
use trimbench_engine::Slots;
use trimbench_results::cards::cards;
use trimbench_results::{Outcome, Program, RunRecord, SCHEMA};
use trimbench_ssd::MODEL_VERSION;

use crate::args::OutputFormat;
use crate::failure::Failure;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::store::Store;
pub(crate) use quiet::TargetBusy;
use recorder::Recorder;

/// What this program is, for the record.
pub(crate) fn program() -> Program {
    Program {
        name: "trimbench".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("TRIMBENCH_COMMIT").to_owned(),
        model_version: MODEL_VERSION,
    }
}

/// The record of a plan of which nothing has been done. Its id is random if a target is real.
pub(crate) fn fresh_record(plan: &Plan) -> Result<RunRecord, Failure> {
    let run_id = plan.has_real_targets().then(random_id).transpose();
    let run_id = run_id.map_err(|errno| {
        Failure::target(anyhow::anyhow!("cannot read random numbers from `/dev/urandom`: {errno}"))
    })?;
    Ok(RunRecord {
        schema: SCHEMA,
        program: program(),
        run_id,
        seed: plan.seed,
        outcome: Outcome::Running,
        advice: Vec::new(),
        plan: plan.sessions.iter().map(|session| session.planned.clone()).collect(),
        sessions: Vec::new(),
    })
}

/// 128 bits in hexadecimal digits.
fn random_id() -> Result<String, Errno> {
    Ok(format!("{:016x}{:016x}", trimbench_claim::random()?, trimbench_claim::random()?))
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Why it ended early, if it did.
    pub(crate) result: Result<(), Failure>,
    /// Whether all of the record is kept.
    pub(crate) kept: Result<(), Failure>,
}

/// Runs what of the plan is not finished in `record`. The record is saved whatever happens.
pub(crate) fn run(
    plan: &Plan,
    record: &mut RunRecord,
    store: &Store,
    show: (OutputFormat, &Progress),
    interrupt: &Interrupt,
) -> Ended {
    let before = record.clone();
    record.outcome = Outcome::Running;
    record.advice.clear();
    let mut recorder = Recorder::new(plan, record, store, show);
    let result = all(plan, &mut recorder, interrupt);
    let sessions = &record.sessions;
    let result = if result.is_ok() && sessions.iter().all(|session| session.left_out.is_some()) {
        let error = anyhow::anyhow!("no method fits: nothing was measured");
        Err(Failure::target(error).with_hint("the messages above say what each method needs"))
    } else {
        result
    };
    record.outcome = match &result {
        Ok(()) => Outcome::Complete,
        Err(failure) if failure.code == exit::INTERRUPTED => Outcome::Interrupted,
        Err(failure) => Outcome::Failed { message: failure.message() },
    };
    if result.is_err() && record.sessions == before.sessions && !before.sessions.is_empty() {
        // Nothing was begun: what the record says of its end is still so.
        record.outcome = before.outcome;
    }
    record.advice = cards(record);
    Ended { result, kept: store.save(record) }
}

/// Runs all sessions that are not finished, up to the first that fails.
fn all(plan: &Plan, recorder: &mut Recorder<'_>, interrupt: &Interrupt) -> Result<(), Failure> {
    let open: Vec<usize> =
        (0..plan.sessions.len()).filter(|index| !recorder.is_finished(*index)).collect();
    let is_emulated = |index: &usize| plan.sessions[*index].target.emulated_drive().is_some();
    for stretch in open.chunk_by(|one, next| is_emulated(one) && is_emulated(next)) {
        if stretch.iter().all(is_emulated) {
            side_by_side::run(plan, stretch, recorder, interrupt)?;
        } else {
            for &index in stretch {
                // It has no emulated drives.
                let slots = Slots::new(1, Bytes(0));
                recorder.begin(index);
                let mut alone = recorder::Alone::new(recorder, index);
                let ended = session::run(plan, index, &mut alone, (interrupt, &slots));
                recorder.end(index, ended)?;
            }
        }
    }
    Ok(())
}
