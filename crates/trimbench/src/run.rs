//! Runs a plan: provisions each target, drives the method, keeps every step.

use std::collections::BTreeMap;

use trimbench_core::rng::Rng;
use trimbench_core::{Capabilities, Clock, Interrupt, Medium, Target, exit};
use trimbench_methods::delete_stall::{self, DeviceSubject, DirectorySubject};
use trimbench_methods::method::KeepFailed;
use trimbench_methods::{Found, MethodError, Monitor, Stage};
use trimbench_results::{
    Outcome, Program, Provenance, RunRecord, SCHEMA, Session as SessionRecord, Step, TargetRecord,
};
use trimbench_ssd::MODEL_VERSION;
use trimbench_target::{Description, TargetSpec, provision_directory};

use crate::args::OutputFormat;
use crate::failure::Failure;
use crate::output::{data, error_line};
use crate::plan::{Plan, Session};
use crate::progress::Progress;
use crate::store::Store;

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

/// Runs what of the plan is not finished in `record`. The record is saved whatever happens; an
/// error says why the run ended early.
pub(crate) fn run(
    plan: &Plan,
    record: &mut RunRecord,
    (store, format): (&Store, OutputFormat),
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    record.outcome = Outcome::Running;
    let mut result = Ok(());
    for (index, session) in plan.sessions.iter().enumerate() {
        if record.sessions.get(index).is_some_and(|session| session.finished) {
            continue;
        }
        let mut keeper = Keeper { record, store, format, index, progress: None };
        result = one_session((plan, session), &mut keeper, interrupt)
            .map_err(|failure| failure.context(format!("`{}`", session.planned.target)));
        if let Some(progress) = &keeper.progress {
            progress.end();
        }
        if result.is_err() {
            break;
        }
    }
    record.outcome = match &result {
        Ok(()) => Outcome::Complete,
        Err(failure) if failure.code == exit::INTERRUPTED => Outcome::Interrupted,
        Err(failure) => Outcome::Failed { message: failure.message() },
    };
    let saved = store.save(record).map_err(Failure::target);
    result.and(saved)
}

/// Keeps the steps of one session in the record.
struct Keeper<'a> {
    record: &'a mut RunRecord,
    store: &'a Store,
    format: OutputFormat,
    index: usize,
    progress: Option<Progress>,
}

impl Keeper<'_> {
    /// Puts the session's record in its place.
    fn place(&mut self, session: SessionRecord) -> Result<(), Failure> {
        self.record.sessions.truncate(self.index);
        self.record.sessions.push(session);
        self.store.save(self.record).map_err(Failure::target)
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
        self.store.save(self.record).map_err(Failure::target)
    }
}

impl Monitor for Keeper<'_> {
    fn stage(&mut self, stage: &Stage<'_>) {
        if let Some(progress) = &self.progress {
            progress.stage(stage);
        }
    }

    fn keep(&mut self, step: &Step) -> Result<(), KeepFailed> {
        self.session().steps.push(step.clone());
        self.event("step", step);
        self.store.save(self.record).map_err(|error| KeepFailed(error.into()))
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
    let title = format!("{} on {}", session.planned.method, session.planned.target);
    let count = plan.sessions.len();
    let index = keeper.index + 1;
    let method = &session.method;
    match &session.target {
        TargetSpec::Emulated(spec) => {
            let title = format!("{title}, profile {:016x}", spec.profile_hash());
            keeper.progress = Some(Progress::begin(&title, (index, count), Clock::Virtual));
            let mut drive = spec.provision(method.needed())?;
            let capabilities = drive.target.capabilities().clone();
            let record = session_record(session, &drive.description, &capabilities);
            keeper.place(record)?;
            let Medium::Device { logical_block, .. } = capabilities.medium else {
                unreachable!("an emulated drive is a device");
            };
            let subject = DeviceSubject::new(method, logical_block, capabilities.discard_max);
            let target = (&mut drive.target, subject);
            let found = delete_stall::run(method, target, (&rng, interrupt), keeper, Vec::new())?;
            keeper.finish(found, true)
        }
        TargetSpec::Directory(path) => {
            keeper.progress = Some(Progress::begin(&title, (index, count), Clock::Wall));
            let mut directory = provision_directory(path, plan.seed)?;
            if directory.cleaned > 0 {
                error_line(&format!("removed what {} crashed run(s) had left", directory.cleaned));
            }
            let capabilities = directory.target.capabilities().clone();
            let mut record = session_record(session, &directory.description, &capabilities);
            record.environment_before = directory.environment;
            let earlier = keeper.record.sessions.get(keeper.index);
            if earlier.is_some_and(|session| session.target.identity != record.target.identity) {
                let error = anyhow::anyhow!(
                    "the directory is on another filesystem or device than when the run was begun"
                );
                return Err(Failure::usage(error)
                    .with_hint("mount the same filesystem again, or begin anew"));
            }
            let done = earlier.map_or_else(Vec::new, |session| session.steps.clone());
            record.steps.clone_from(&done);
            keeper.place(record)?;
            let subject = DirectorySubject::new(method, capabilities.drain.force);
            let target = (&mut directory.target, subject);
            let found = delete_stall::run(method, target, (&rng, interrupt), keeper, done);
            // Closing cleans up, so it comes before any error is looked at.
            let closed = directory.target.close().map_err(Failure::target);
            let after = trimbench_linux::environment(path).unwrap_or_default();
            keeper.session().environment_after = after;
            match (found, closed) {
                (Ok(found), closed) => keeper.finish(found, false).and(closed),
                (Err(error), closed) => {
                    if let Err(failure) = closed {
                        failure.print();
                    }
                    Err(error.into())
                }
            }
        }
    }
}

fn session_record(
    session: &Session,
    description: &Description,
    capabilities: &Capabilities,
) -> SessionRecord {
    let caveats = description.caveats.iter().map(|caveat| caveat.id().to_owned());
    let clock = match capabilities.clock {
        Clock::Virtual => "virtual",
        Clock::Wall => "wall",
    };
    let debug = (cfg!(debug_assertions) && capabilities.clock == Clock::Wall)
        .then(|| trimbench_core::Caveat::DebugBuild.id().to_owned());
    SessionRecord {
        plan: session.planned.clone(),
        method_version: delete_stall::INFO.version,
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
        environment_before: BTreeMap::new(),
        environment_after: BTreeMap::new(),
        steps: Vec::new(),
        figures: Vec::new(),
        caveats: caveats.chain(debug).collect(),
        trace_hash: None,
        finished: false,
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
