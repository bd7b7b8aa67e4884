//! Runs a plan: provisions each target, drives the method, keeps every step.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use trimbench_core::rng::Rng;
use trimbench_core::{Capabilities, Caveat, Clock, Interrupt, Medium, exit};
use trimbench_methods::method::KeepFailed;
use trimbench_methods::{Context, Found, Method, MethodError, Monitor, Stage};
use trimbench_results::{
    Outcome, Program, Provenance, RunRecord, SCHEMA, Session as SessionRecord, Step, TargetRecord,
};
use trimbench_ssd::MODEL_VERSION;
use trimbench_target::{OpenTarget, Opened, Opening, Watch};

use crate::args::OutputFormat;
use crate::failure::Failure;
use crate::output::{data, error_line};
use crate::plan::{Plan, Session};
use crate::progress::Progress;
use crate::store::Store;
use crate::trace::TraceFiles;

#[cfg(test)]
mod tests;

/// What a target is, as records have it.
type Identity = BTreeMap<String, String>;

/// What this program is, for the record.
pub(crate) fn program() -> Program {
    Program {
        name: "trimbench".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("TRIMBENCH_COMMIT").to_owned(),
        model_version: MODEL_VERSION,
    }
}

/// The record of a plan of which nothing has been done.
pub(crate) fn fresh_record(plan: &Plan) -> RunRecord {
    RunRecord {
        schema: SCHEMA,
        program: program(),
        seed: plan.seed,
        outcome: Outcome::Running,
        plan: plan.sessions.iter().map(|session| session.planned.clone()).collect(),
        sessions: Vec::new(),
    }
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
    format: OutputFormat,
    interrupt: &Interrupt,
) -> Ended {
    let before = record.clone();
    record.outcome = Outcome::Running;
    let mut result = Ok(());
    for (index, session) in plan.sessions.iter().enumerate() {
        if record.sessions.get(index).is_some_and(|session| session.finished) {
            continue;
        }
        let mut keeper =
            Keeper { record, store, format, index, progress: None, watch: None, warned: false };
        result = one_session(plan, session, &mut keeper, interrupt)
            .map_err(|failure| failure.on(&session.planned.target));
        if let Some(progress) = &keeper.progress {
            progress.end();
        }
        if result.is_err() {
            break;
        }
    }
    if result.is_ok() && record.sessions.iter().all(|session| session.left_out.is_some()) {
        let error = anyhow::anyhow!("no method fits: nothing was measured");
        result = Err(Failure::target(error).with_hint("see above what each of them needs"));
    }
    record.outcome = match &result {
        Ok(()) => Outcome::Complete,
        Err(failure) if failure.code == exit::INTERRUPTED => Outcome::Interrupted,
        Err(failure) => Outcome::Failed { message: failure.message() },
    };
    if result.is_err() && record.sessions == before.sessions && !before.sessions.is_empty() {
        // Nothing was begun: what the record says of its end is still so.
        record.outcome = before.outcome;
    }
    Ended { result, kept: store.save(record) }
}

/// What follows a whole device wherever it is attached; a partition has them of its disk.
const LASTING: [&str; 5] = ["serial", "wwid", "eui", "nguid", "uuid"];
/// What the kernel may name anew at the next start.
const GIVEN_NAMES: [&str; 4] = ["path", "device-name", "device-number", "by-id"];
/// How the drive is purged, which is no part of what it is.
const PURGED_BY: &str = "purged-by";

/// Refuses a target that is not the one on which the session was begun, or is purged otherwise.
///
/// A device that has something lasting may have got other names from the kernel meanwhile.
fn check_same(then: &Identity, now: &Identity) -> Result<(), Failure> {
    let differs = |key: &str| then.get(key) != now.get(key);
    let lasting = LASTING.iter().any(|key| then.contains_key(*key));
    // A directory has the serial number of the disk that it is on.
    let is_disk = then.contains_key("device-number") && !then.contains_key("partition-of");
    let renamed = lasting && is_disk;
    let is_free = |key: &str| renamed && GIVEN_NAMES.contains(&key);
    let keys: BTreeSet<&str> = then.keys().chain(now.keys()).map(String::as_str).collect();
    let mut changed: Vec<&str> =
        keys.into_iter().filter(|key| differs(key) && !is_free(key)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    if changed == [PURGED_BY] {
        let means = |identity: &Identity| identity.get(PURGED_BY).cloned().unwrap_or_default();
        let error = anyhow::anyhow!(
            "the drive was purged by {} when the run was begun, and would be by {}",
            means(then),
            means(now)
        );
        return Err(Failure::usage(error).with_hint("give `--purge` as then, or begin anew"));
    }
    changed.retain(|key| *key != PURGED_BY);
    let error = anyhow::anyhow!(
        "the target is another one, or on another one, than when the run was begun: {} differs",
        changed.join(", ")
    );
    Err(Failure::usage(error).with_hint("attach or mount the same one again, or begin anew"))
}

/// Keeps the steps of one session in the record.
struct Keeper<'a> {
    record: &'a mut RunRecord,
    store: &'a Store,
    format: OutputFormat,
    index: usize,
    progress: Option<Progress>,
    /// Tells whether the target is still the one that is measured.
    watch: Option<Watch>,
    /// Whether it was said that the record cannot be kept.
    warned: bool,
}

impl Keeper<'_> {
    /// Puts the session's record in its place. Of an earlier session on the same real target the
    /// steps are kept that are not measured again.
    fn place(&mut self, mut record: SessionRecord, method: &Method) -> Result<Vec<Step>, Failure> {
        let mut done = Vec::new();
        let is_real = record.target.clock == clock_name(Clock::Wall);
        if let Some(earlier) = self.record.sessions.get(self.index).filter(|_| is_real) {
            check_same(&earlier.target.identity, &record.target.identity)?;
            if method.resumes() {
                let changed = Caveat::TargetChanged.id();
                let is_whole = |step: &&Step| step.caveats.iter().all(|id| id != changed);
                done.extend(earlier.steps.iter().filter(is_whole).cloned());
            }
        }
        record.steps.clone_from(&done);
        self.record.sessions.truncate(self.index);
        self.record.sessions.push(record);
        self.store.save(self.record)?;
        Ok(done)
    }

    fn session(&mut self) -> &mut SessionRecord {
        &mut self.record.sessions[self.index]
    }

    fn event(&self, kind: &str, content: &impl serde::Serialize) {
        if self.format == OutputFormat::Ndjson {
            let event = serde_json::json!({ "event": kind, "session": self.index, kind: content });
            data(&format!("{event}\n"));
        }
    }

    /// Whether the method does not fit the target; the session is then ended with the reason. Where
    /// the methods were named, that is an error instead.
    fn leave_out(
        &mut self,
        plan: &Plan,
        method: &Method,
        capabilities: &Capabilities,
    ) -> Result<bool, Failure> {
        let Err(reason) = method.fits(capabilities) else { return Ok(false) };
        self.leave_out_for(plan, reason).map(|()| true)
    }

    /// The same for a reason that only the method's beginning showed.
    fn leave_out_for(&mut self, plan: &Plan, reason: String) -> Result<(), Failure> {
        if plan.named {
            return Err(MethodError::Unfit { reason }.into());
        }
        error_line(&format!("{} is left out: {reason}", self.session().plan.method));
        let session = self.session();
        session.left_out = Some(reason);
        session.finished = true;
        self.store.save(self.record)
    }

    /// Ends the session with what was found.
    fn finish(&mut self, found: Found) -> Result<(), Failure> {
        let session = self.session();
        session.steps = found.steps;
        session.figures = found.figures;
        for caveat in found.caveats {
            if !session.caveats.iter().any(|id| id == caveat.id()) {
                session.caveats.push(caveat.id().to_owned());
            }
        }
        let emulated = session.target.clock == clock_name(Clock::Virtual);
        session.trace_hash = emulated.then(|| format!("{:016x}", found.trace_hash));
        session.finished = true;
        for figure in &self.record.sessions[self.index].figures {
            self.event("figure", figure);
        }
        self.store.save(self.record)
    }

    /// Saves a step. What costs no wear is measured to the end of the session even if it cannot be
    /// kept: it will be printed. A real target is not written to for that.
    fn save_step(&mut self) -> Result<(), Failure> {
        // An emulated session is run again from its start whatever was kept of it.
        if self.session().target.clock != clock_name(Clock::Virtual) {
            return self.store.save(self.record);
        }
        if let Err(failure) = self.store.save_soon(self.record)
            && !self.warned
        {
            self.warned = true;
            error_line(&format!("error: {}; measuring goes on", failure.message()));
        }
        Ok(())
    }
}

impl Monitor for Keeper<'_> {
    fn stage(&mut self, stage: &Stage<'_>) {
        if let Some(progress) = &self.progress {
            progress.stage(stage);
        }
    }

    fn keep(&mut self, step: &Step) -> Result<(), KeepFailed> {
        if let Some(progress) = &mut self.progress {
            progress.step(step);
        }
        // Whatever it was that the step measured: it is kept, and marked.
        let changed = self.watch.as_ref().and_then(|watch| watch().err());
        let mut step = step.clone();
        if changed.is_some() {
            step.caveat(Caveat::TargetChanged);
        }
        self.event("step", &step);
        self.session().steps.push(step);
        self.save_step().map_err(|failure| KeepFailed(failure.error.into()))?;
        changed.map_or(Ok(()), |error| Err(KeepFailed(Box::new(error))))
    }
}

fn one_session(
    plan: &Plan,
    session: &Session,
    keeper: &mut Keeper<'_>,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    if interrupt.requested() {
        let error = MethodError::Run(trimbench_methods::RunError::Interrupted);
        return Err(error.into());
    }
    let rng = Rng::new(plan.seed).split(&session.planned.method);
    let mut title = format!("{} on {}", session.planned.method, session.planned.target);
    if let Some(drive) = session.target.emulated_drive() {
        let _ = write!(title, ", profile {:016x}", drive.profile_hash());
    }
    let clock =
        if session.target.emulated_drive().is_some() { Clock::Virtual } else { Clock::Wall };
    let place = (keeper.index + 1, plan.sessions.len());
    keeper.progress = Some(Progress::begin(&title, place, clock));
    let method = &session.method;
    let opening = Opening {
        consent: &plan.consent,
        purge: plan.purge,
        seed: plan.seed,
        space: method.space(),
        interrupt,
    };
    let mut opened = session.target.open(&opening)?;
    opened.notes.iter().for_each(|note| error_line(note));
    let capabilities = opened.target.capabilities().clone();
    let done = keeper.place(session_record(session, &opened, &capabilities), method)?;
    let found = match keeper.leave_out(plan, method, &capabilities) {
        Ok(true) => return opened.close().1.map_err(Failure::from),
        Ok(false) => {
            // A file that was cut off or a disk that was exchanged may have taken every command.
            keeper.watch = opened.watch();
            let (rng, traces) = (&rng, &TraceFiles);
            let context = Context { rng, interrupt, monitor: keeper, traces, done };
            match measure(method, &mut opened.target, context) {
                // Only the beginning showed it. A model needs no closing.
                Err(MethodError::Unfit { reason }) if clock == Clock::Virtual => {
                    return keeper.leave_out_for(plan, reason);
                }
                found => found.map_err(Failure::from),
            }
        }
        Err(failure) => Err(failure),
    };
    let found = found.and_then(|found| {
        let same = opened.still_same().map_err(Failure::from);
        let changed = "it changed while it was measured: do not use the steps";
        same.map(|()| found).map_err(|failure| failure.context(changed))
    });
    // Closing cleans up, so it comes before any error is looked at.
    let (environment, closed) = opened.close();
    keeper.session().environment_after = environment;
    match found {
        Ok(found) => keeper.finish(found).and(closed.map_err(Failure::from)),
        Err(error) => {
            if let Err(failure) = closed {
                Failure::from(failure).print();
            }
            Err(error)
        }
    }
}

/// Runs the method on a target of whatever kind.
fn measure(
    method: &Method,
    target: &mut Opened,
    context: Context<'_>,
) -> Result<Found, MethodError> {
    match target {
        Opened::Drives(drives) => method.run_on_drives(drives, context),
        Opened::Modelled(filesystems) => method.run_on_filesystems(filesystems, context),
        Opened::Pool(pools) => method.run_on_filesystems(pools, context),
        Opened::Real(filesystems) => method.run_on_filesystems(filesystems, context),
        Opened::Directory(directory) => method.run_in_directory(directory, context),
        Opened::Device(device) => method.run_on_device(device, context),
    }
}

/// A clock's name in records.
fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Virtual => "virtual",
        Clock::Wall => "wall",
    }
}

fn session_record(
    session: &Session,
    opened: &OpenTarget,
    capabilities: &Capabilities,
) -> SessionRecord {
    let description = &opened.description;
    let caveats = description.caveats.iter().map(|caveat| caveat.id().to_owned());
    let clock = clock_name(capabilities.clock);
    let debug = (cfg!(debug_assertions) && capabilities.clock == Clock::Wall)
        .then(|| Caveat::DebugBuild.id().to_owned());
    SessionRecord {
        plan: session.planned.clone(),
        method_version: session.method.info().version,
        target: TargetRecord {
            name: description.name.clone(),
            kind: description.kind.to_owned(),
            clock: clock.to_owned(),
            identity: description.identity.clone(),
            capabilities: capability_texts(capabilities),
            provenance: description.provenance.map(|provenance| Provenance {
                sourced: provenance.sourced,
                fitted: provenance.fitted,
                assumed: provenance.assumed,
            }),
        },
        state: description.state.clone(),
        environment_before: opened.environment.clone(),
        environment_after: BTreeMap::new(),
        steps: Vec::new(),
        figures: Vec::new(),
        caveats: caveats.chain(debug).collect(),
        trace_hash: None,
        finished: false,
        left_out: None,
    }
}

fn capability_texts(capabilities: &Capabilities) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::from([
        ("discard".to_owned(), format!("{:?}", capabilities.discard).to_lowercase()),
        ("discard-max".to_owned(), capabilities.discard_max.to_string()),
        ("discard-granularity".to_owned(), capabilities.discard_granularity.to_string()),
        ("queue-depth".to_owned(), capabilities.queue_depth.to_string()),
    ]);
    match capabilities.medium {
        Medium::Device { capacity, logical_block } => {
            texts.insert("capacity".to_owned(), capacity.to_string());
            texts.insert("logical-block".to_owned(), logical_block.to_string());
        }
        Medium::Directory { fs_block, .. } => {
            texts.insert("fs-block".to_owned(), fs_block.to_string());
        }
    }
    texts
}
