//! Runs a plan: provisions each target, drives the method, keeps every step.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use trimbench_core::rng::Rng;
use trimbench_core::{
    Bytes, Capabilities, Caveat, Clock, Drives as _, Interrupt, Medium, Provisioner, Target, exit,
};
use trimbench_methods::method::KeepFailed;
use trimbench_methods::{Context, Found, Method, MethodError, Monitor, Stage};
use trimbench_results::{
    Outcome, Program, Provenance, RunRecord, SCHEMA, Session as SessionRecord, Step, TargetRecord,
};
use trimbench_ssd::MODEL_VERSION;
use trimbench_target::{
    Description, EmulatedSpec, RealSpec, TargetError, TargetSpec, provision_device,
    provision_directory,
};

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
    (store, format): (&Store, OutputFormat),
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
        result = one_session((plan, session), &mut keeper, interrupt)
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
    watch: Option<Box<dyn Fn() -> Result<(), TargetError>>>,
    /// Whether it was said that the record cannot be kept.
    warned: bool,
}

impl Keeper<'_> {
    /// Puts the session's record in its place.
    fn place(&mut self, session: SessionRecord) -> Result<(), Failure> {
        self.record.sessions.truncate(self.index);
        self.record.sessions.push(session);
        self.store.save(self.record)
    }

    /// The same for a real target, whose earlier session is gone on with: the steps that are not
    /// measured again.
    fn place_real(
        &mut self,
        mut record: SessionRecord,
        method: &Method,
    ) -> Result<Vec<Step>, Failure> {
        let earlier = self.record.sessions.get(self.index);
        if let Some(session) = earlier {
            check_same(&session.target.identity, &record.target.identity)?;
        }
        let done = earlier.map_or_else(Vec::new, |session| session.steps.clone());
        let mut done = if method.resumes() { done } else { Vec::new() };
        let changed = Caveat::TargetChanged.id();
        done.retain(|step| !step.caveats.iter().any(|id| id == changed));
        record.steps.clone_from(&done);
        self.place(record)?;
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
    fn finish(&mut self, found: Found, emulated: bool) -> Result<(), Failure> {
        let session = self.session();
        session.steps = found.steps;
        session.figures = found.figures;
        for caveat in found.caveats {
            if !session.caveats.iter().any(|id| id == caveat.id()) {
                session.caveats.push(caveat.id().to_owned());
            }
        }
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
    (plan, session): (&Plan, &Session),
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
    match &session.target {
        TargetSpec::Emulated(spec) => on_emulated((plan, session, spec), keeper, (&rng, interrupt)),
        TargetSpec::Modelled(spec) => {
            let made = spec.provision(session.method.space(), plan.seed)?;
            on_modelled((plan, session), made.target, &made.description, keeper, (&rng, interrupt))
        }
        TargetSpec::Pool(spec) => {
            let made = spec.provision(session.method.space(), plan.seed)?;
            on_modelled((plan, session), made.target, &made.description, keeper, (&rng, interrupt))
        }
        TargetSpec::Real(spec) => on_filesystems((plan, session, spec), keeper, (&rng, interrupt)),
        TargetSpec::Directory(path) => {
            in_directory((plan, session, path), keeper, (&rng, interrupt))
        }
        TargetSpec::Device(path) => on_device((plan, session, path), keeper, (&rng, interrupt)),
    }
}

fn on_emulated(
    (plan, session, spec): (&Plan, &Session, &EmulatedSpec),
    keeper: &mut Keeper<'_>,
    (rng, interrupt): (&Rng, &Interrupt),
) -> Result<(), Failure> {
    let method = &session.method;
    let drives = spec.drives(method.space())?;
    keeper.place(session_record(session, &drives.description, drives.capabilities()))?;
    if keeper.leave_out(plan, method, drives.capabilities())? {
        return Ok(());
    }
    let context =
        Context { rng, interrupt, monitor: keeper, traces: &TraceFiles, done: Vec::new() };
    let found = method.run_on_drives(&drives, context)?;
    keeper.finish(found, true)
}

fn on_modelled(
    (plan, session): (&Plan, &Session),
    mut filesystems: impl Provisioner,
    description: &Description,
    keeper: &mut Keeper<'_>,
    (rng, interrupt): (&Rng, &Interrupt),
) -> Result<(), Failure> {
    let method = &session.method;
    let capabilities = filesystems.capabilities().clone();
    keeper.place(session_record(session, description, &capabilities))?;
    if keeper.leave_out(plan, method, &capabilities)? {
        return Ok(());
    }
    let context =
        Context { rng, interrupt, monitor: keeper, traces: &TraceFiles, done: Vec::new() };
    match method.run_on_filesystems(&mut filesystems, context) {
        Err(MethodError::Unfit { reason }) => keeper.leave_out_for(plan, reason),
        found => keeper.finish(found?, true),
    }
}

fn in_directory(
    (plan, session, path): (&Plan, &Session, &Path),
    keeper: &mut Keeper<'_>,
    (rng, interrupt): (&Rng, &Interrupt),
) -> Result<(), Failure> {
    let mut directory = provision_directory(path, plan.seed, session.method.space())?;
    say_cleaned(directory.cleaned);
    if directory.promised > Bytes(0) {
        error_line(&format!(
            "{} of `{}` are promised to other runs that are under way in its filesystem",
            directory.promised,
            path.display()
        ));
    }
    let capabilities = directory.target.capabilities().clone();
    let mut record = session_record(session, &directory.description, &capabilities);
    record.environment_before = directory.environment;
    let done = keeper.place_real(record, &session.method)?;
    let found = match keeper.leave_out(plan, &session.method, &capabilities) {
        Ok(true) => return directory.target.close().map_err(Failure::target),
        Err(failure) => Err(failure),
        Ok(false) => {
            let context = Context { rng, interrupt, monitor: keeper, traces: &TraceFiles, done };
            session.method.run_in_directory(&mut directory.target, context).map_err(Failure::from)
        }
    };
    // Closing cleans up, so it comes before any error is looked at.
    let closed = directory.target.close().map_err(Failure::target);
    keeper.session().environment_after = trimbench_linux::environment(path).unwrap_or_default();
    match (found, closed) {
        (Ok(found), closed) => keeper.finish(found, false).and(closed),
        (Err(error), closed) => {
            if let Err(failure) = closed {
                failure.print();
            }
            Err(error)
        }
    }
}

fn on_filesystems(
    (plan, session, spec): (&Plan, &Session, &RealSpec),
    keeper: &mut Keeper<'_>,
    (rng, interrupt): (&Rng, &Interrupt),
) -> Result<(), Failure> {
    let mut filesystems = spec.provision(&plan.consent, plan.seed, interrupt)?;
    say_cleaned(filesystems.cleaned);
    let capabilities = filesystems.target.capabilities().clone();
    let mut record = session_record(session, &filesystems.description, &capabilities);
    record.environment_before.clone_from(&filesystems.environment);
    let done = keeper.place_real(record, &session.method)?;
    if keeper.leave_out(plan, &session.method, &capabilities)? {
        return Ok(());
    }
    let context = Context { rng, interrupt, monitor: keeper, traces: &TraceFiles, done };
    let found = session.method.run_on_filesystems(&mut filesystems.target, context);
    keeper.session().environment_after = filesystems.environment_now();
    keeper.finish(found?, false)
}

/// What killed runs had left is gone.
fn say_cleaned(count: usize) {
    if count > 0 {
        error_line(&format!("removed what {count} crashed run(s) had left"));
    }
}

fn on_device(
    (plan, session, path): (&Plan, &Session, &Path),
    keeper: &mut Keeper<'_>,
    (rng, interrupt): (&Rng, &Interrupt),
) -> Result<(), Failure> {
    let mut device = provision_device(path, &plan.consent, plan.purge, plan.seed)?;
    let capabilities = device.target.capabilities().clone();
    let mut record = session_record(session, &device.description, &capabilities);
    record.environment_before.clone_from(&device.environment);
    let done = keeper.place_real(record, &session.method)?;
    if keeper.leave_out(plan, &session.method, &capabilities)? {
        return Ok(());
    }
    // A file that was cut off or a disk that was exchanged may have taken every command.
    keeper.watch = Some(Box::new(device.watch()));
    let context = Context { rng, interrupt, monitor: keeper, traces: &TraceFiles, done };
    let found = session.method.run_on_device(&mut device.target, context);
    keeper.session().environment_after = device.environment_now();
    let found = found?;
    device.still_same().map_err(|error| {
        Failure::from(error).context("it changed while it was measured: do not use the steps")
    })?;
    keeper.finish(found, false)
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
    description: &Description,
    capabilities: &Capabilities,
) -> SessionRecord {
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
                set: provenance.set,
            }),
        },
        state: description.state.clone(),
        environment_before: BTreeMap::new(),
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
