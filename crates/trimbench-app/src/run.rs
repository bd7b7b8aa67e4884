//! Runs a plan and keeps its results.
//!
//! Sessions on emulated targets are independent: they run concurrently, as many as there are jobs,
//! and the record, what is told of it and the outcome are those of sequential sessions. A session
//! on a real target is alone on the machine.

mod heat_watch;
mod identity;
mod late_answers;
mod machine_settings;
mod quiet;
mod recorder;
mod session;
mod side_by_side;
#[cfg(test)]
mod tests;

use trimbench_core::{Bytes, Errno, Interrupt, exit};
use trimbench_engine::Slots;
use trimbench_results::cards::cards;
use trimbench_results::{Outcome, Program, RunRecord, SCHEMA};

use crate::failure::Failure;
use crate::monitor::{RunMonitor, RunWarning};
use crate::options::PlanOptions;
use crate::plan::Plan;
use crate::store::{Host, SessionTime, Store};
pub use quiet::TargetBusy;
use recorder::Recorder;

/// A run that is not over: its plan, its record, and where that is kept.
#[derive(Debug)]
pub struct OpenRun {
    plan: Plan,
    record: RunRecord,
    store: Option<Store>,
    command: Vec<String>,
    /// Whether an earlier process began it.
    is_resumed: bool,
}

/// Who runs.
#[derive(Clone, Debug)]
pub struct RunCaller {
    /// What the record says of it; a run is resumed by the same program only.
    pub program: Program,
    /// The words by which it was called, for `host.json`.
    pub command: Vec<String>,
}

/// How a run ended that has measured something.
#[derive(Debug)]
pub struct RunEnd {
    /// Why it ended early, if it did.
    pub result: Result<(), Failure>,
    /// Whether all of the record is kept, if it was to be.
    pub kept: Result<(), Failure>,
    /// Whether what is true of machine and time is kept, if it was to be.
    pub host_kept: Result<(), Failure>,
}

impl OpenRun {
    /// A new run of the plan. What the store of a run that cannot be begun has made is removed;
    /// without a store, the record is in memory only.
    pub fn new(plan: Plan, caller: RunCaller, store: Option<Store>) -> Result<Self, Failure> {
        let RunCaller { program, command } = caller;
        let saved = |record: RunRecord| {
            store.iter().try_for_each(|store| store.save(&record)).map(|()| record)
        };
        let record = fresh_record(&plan, program)
            .and_then(saved)
            .inspect_err(|_| store.iter().for_each(Store::discard))?;
        Ok(Self { plan, record, store, command, is_resumed: false })
    }

    /// Goes on with the run that is kept in `store`. Plan and seed come from its record; the
    /// options say what is permitted, which limits there are, and what no result depends on.
    pub fn resumed(
        store: Store,
        options: &PlanOptions,
        caller: RunCaller,
    ) -> Result<Self, Failure> {
        let store = store.lock()?;
        let record = store.load_to_resume()?;
        let RunCaller { program, command } = caller;
        check_program(&record.program, &program)?;
        let changed = |error| {
            let hint = "the record was changed after it was written; use an unchanged copy";
            Failure::usage(error).with_hint(hint)
        };
        if let Some(index) = record.stray_session() {
            return Err(changed(anyhow::anyhow!(
                "session {index} of the record does not match the record's plan"
            )));
        }
        let plan = Plan::recorded(record.seed, &record.plan, options)?;
        if record.run_id.is_none() && plan.has_real_targets() {
            return Err(changed(anyhow::anyhow!(
                "the record of a run on a real target has lost its `run_id`"
            )));
        }
        plan.check_traces()?;
        Ok(Self { plan, record, store: Some(store), command, is_resumed: true })
    }

    /// What is measured.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What was measured.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Where it is kept; `None` if nowhere.
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// What was measured, as a value of its own.
    pub fn into_record(self) -> RunRecord {
        self.record
    }

    /// Measures what is not finished. What was measured is kept, whatever happens. An error:
    /// nothing was measured, and nothing is left of a new run in its store.
    pub fn measure(
        &mut self,
        monitor: &mut dyn RunMonitor,
        interrupt: &Interrupt,
    ) -> Result<RunEnd, Failure> {
        let started = now();
        // Those of a resumed run that were done by then are known.
        let mut times = self.store.as_ref().map_or_else(Vec::new, Store::session_times);
        self.save_host((started, None), &times, monitor)?;
        let (result, kept) = self.run(&mut times, monitor, interrupt);
        let measured = self.record.sessions.iter().any(|session| !session.steps.is_empty());
        let result = match result {
            Err(failure) if !measured && !self.is_resumed => {
                self.store.iter().for_each(Store::discard);
                return Err(failure);
            }
            result => result,
        };
        let host_kept = self.save_host((started, Some(now())), &times, monitor);
        Ok(RunEnd { result, kept, host_kept })
    }

    /// Runs what is not finished, and saves the record whatever happens: whether all was measured,
    /// and whether all of it is kept.
    fn run(
        &mut self,
        times: &mut Vec<SessionTime>,
        monitor: &mut dyn RunMonitor,
        interrupt: &Interrupt,
    ) -> (Result<(), Failure>, Result<(), Failure>) {
        let Self { plan, record, store, .. } = self;
        let before = record.clone();
        record.outcome = Outcome::Running;
        record.advice.clear();
        let mut recorder = Recorder::new(plan, record, store.as_ref(), monitor);
        let result = all(plan, &mut recorder, interrupt);
        times.extend(recorder.times());
        let sessions = &record.sessions;
        let result = if result.is_ok() && sessions.iter().all(|session| session.left_out.is_some())
        {
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
        let kept = kept(store.as_ref(), monitor, |store| store.save(record));
        (result, kept)
    }

    /// Writes down what is true of this machine and this time.
    fn save_host(
        &self,
        (started, ended): (f64, Option<f64>),
        sessions: &[SessionTime],
        monitor: &mut dyn RunMonitor,
    ) -> Result<(), Failure> {
        kept(self.store.as_ref(), monitor, |store| {
            store.save_host(&Host {
                command: self.command.clone(),
                started_unix_s: started,
                ended_unix_s: ended,
                debug_build: cfg!(debug_assertions),
                environment: trimbench_claim::inspect::environment(&store.whereabouts())
                    .unwrap_or_default(),
                sessions: sessions.to_vec(),
            })
        })
    }
}

/// Refuses to go on with what another program began.
fn check_program(then: &Program, now: &Program) -> Result<(), Failure> {
    if then == now {
        return Ok(());
    }
    let error = anyhow::anyhow!(
        "the run was begun by {} {} (commit {}, model version {}), and this is {} {} (commit {}, \
         model version {})",
        then.name,
        then.version,
        then.commit,
        then.model_version,
        now.name,
        now.version,
        now.commit,
        now.model_version
    );
    let hint = "figures of different versions are not comparable: build that commit, or start a \
                new run";
    Err(Failure::usage(error).with_hint(hint))
}

/// The record of a plan of which nothing has been done. Its id is random if a target is real.
fn fresh_record(plan: &Plan, program: Program) -> Result<RunRecord, Failure> {
    let run_id = plan.has_real_targets().then(random_id).transpose();
    let run_id = run_id.map_err(|errno| {
        Failure::target(anyhow::anyhow!("cannot read random numbers from `/dev/urandom`: {errno}"))
    })?;
    Ok(RunRecord {
        schema: SCHEMA,
        program,
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

/// Seconds since 1970.
fn now() -> f64 {
    trimbench_linux::wall_time_unix().seconds()
}

/// Saves something if there is a store, and reports the files that the store set aside for it.
fn kept(
    store: Option<&Store>,
    monitor: &mut dyn RunMonitor,
    keep: impl FnOnce(&Store) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(store) = store else { return Ok(()) };
    let kept = keep(store);
    for set_aside in store.take_set_aside() {
        monitor.warning(&RunWarning::SetAside(set_aside));
    }
    kept
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
