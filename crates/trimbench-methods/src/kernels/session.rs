//! The procedure: for each system a filesystem for the deletions, and another for the wear.

use trimbench_core::{
    Account, Bytes, Caveat, FileCommand, Files, FilesystemSpec, Instant, Medium, ProvisionError,
    Provisioner,
};
use trimbench_results::{Step, StepTable};

use super::NEEDS_A_MODEL;
use super::options::{Kernels, LOADED, LOG};
use super::systems::ComparedSystem;
use super::{deletion, wear};
use trimbench_engine::{
    ASSUMED_RATE, Churn, FILL_DEPTH, FILL_PIECE, FileArea, InOrder, Method as _, MethodError,
    MethodSession, Runner, SequentialWrite, Single,
};

/// Kinds of steps: the two of a system, and the one of a system that cannot be made here.
pub(super) const DELETION: &str = "deletion";
pub(super) const WEAR: &str = "wear";
pub(super) const SKIPPED: &str = "skipped";

/// The state of the drive before each filesystem: the same for all.
const START_STATE: u32 = 1;

pub(super) fn run(
    method: &Kernels,
    provisioner: &mut dyn Provisioner,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let systems = check(method, provisioner, session)?;
    let Medium::Directory { available: room, .. } = provisioner.capabilities().medium else {
        unreachable!("it fits filesystems only");
    };
    let kinds = if method.drive_writes > 0 { &[DELETION, WEAR][..] } else { &[DELETION] };
    let of = |system: ComparedSystem| {
        let wears = move |kind: &&&str| **kind != WEAR || system.allocates_as_modelled();
        kinds.iter().filter(wears).map(move |kind| (system, *kind))
    };
    let steps: Vec<(ComparedSystem, &str)> = systems.iter().copied().flat_map(of).collect();
    let estimate = method.demand(room, ASSUMED_RATE).time;
    session.plan(steps.iter().map(|(system, kind)| step_id(*system, kind)), estimate);
    let mut runner = Runner::new(session.interrupt.clone());
    let mut now = Instant::START;
    for (system, kind) in steps {
        let id = step_id(system, kind);
        if session.is_done(&id) {
            continue;
        }
        session.announce(&id, now);
        let rng = session.rng;
        let churn = Churn::new(method.files_in(room), rng.split("files"));
        let mut life = SystemLife { method, system, room, churn, runner: &mut runner, id };
        provisioner.make(&filesystem_spec(method, system))?;
        life.fill(provisioner.files())?;
        now = provisioner.files().now();
        let step = match kind {
            DELETION => deletion::measure(&mut life, provisioner, rng)?,
            _ => wear::measure(&mut life, provisioner)?,
        };
        session.keep(step)?;
    }
    session.hash(runner.trace_hash());
    Ok(())
}

/// The id of a system's step.
pub(super) fn step_id(system: ComparedSystem, kind: &str) -> String {
    format!("{}-{kind}", system.id())
}

fn filesystem_spec(method: &Kernels, system: ComparedSystem) -> FilesystemSpec {
    FilesystemSpec {
        discard: system.discard(),
        settle: method.rest,
        start_state: Some(START_STATE),
        ..FilesystemSpec::default()
    }
}

/// The systems that can be made here. One that cannot is an error if it was named; else a step says
/// that it was skipped.
fn check(
    method: &Kernels,
    provisioner: &dyn Provisioner,
    session: &mut MethodSession<'_>,
) -> Result<Vec<ComparedSystem>, MethodError> {
    let mut made = Vec::new();
    let mut first: Option<ProvisionError> = None;
    for &system in &method.systems {
        match provisioner.check(&filesystem_spec(method, system)) {
            Ok(()) => made.push(system),
            Err(error) if method.named => {
                return Err(method.values.wrong("systems", error.reason).into());
            }
            Err(error) => {
                first.get_or_insert(error);
                let id = step_id(system, SKIPPED);
                if !session.is_done(&id) {
                    session.keep(Step::new(id, SKIPPED))?;
                }
            }
        }
    }
    match first {
        Some(error) if made.iter().all(|system| system.id() == "none") => Err(error.into()),
        _ => Ok(made),
    }
}

/// A filesystem of one system, from its making to its end.
pub(super) struct SystemLife<'a> {
    pub(super) method: &'a Kernels,
    pub(super) system: ComparedSystem,
    /// What files can take on the target's own filesystem: the measure of everything.
    pub(super) room: Bytes,
    pub(super) churn: Churn,
    pub(super) runner: &'a mut Runner<FileCommand>,
    /// Of the step.
    pub(super) id: String,
}

impl SystemLife<'_> {
    /// Writes the foreground's files and the others, and rests.
    fn fill(&mut self, files: &mut Files<'_>) -> Result<(), MethodError> {
        let create = [LOADED, LOG].map(|file| FileCommand::Create { file });
        self.play(files, create.into())?;
        let area = FileArea { file: LOADED, length: self.method.span };
        let mut loaded = Single(SequentialWrite::new(area, FILL_PIECE, FILL_DEPTH));
        self.runner.prepare(files, &mut loaded)?;
        let budget = self.method.files_in(self.room).budget;
        let mut commands = self.churn.grow(budget);
        commands.push(FileCommand::SyncFilesystem);
        self.play(files, commands)?;
        let rested = files.now() + self.method.rest;
        Ok(self.runner.idle_until(files, rested)?)
    }

    /// Commands one after the other.
    pub(super) fn play(
        &mut self,
        files: &mut Files<'_>,
        commands: Vec<FileCommand>,
    ) -> Result<(), MethodError> {
        Ok(self.runner.prepare(files, &mut Single(InOrder::new(commands, 1)))?)
    }

    /// The step that holds these values.
    pub(super) fn step<T: StepTable>(&self, kind: &str, values: &T) -> Step {
        let mut step = Step::of(self.id.clone(), kind, values);
        if !self.system.is_compared() {
            step.caveat(Caveat::ByReadingOnly);
        }
        step
    }
}

/// What a program does after a deletion: it waits until the space is free, and discards it.
pub(super) const TRIM: [FileCommand; 2] = [FileCommand::SyncFilesystem, FileCommand::TrimFreeSpace];

/// What the filesystem's maker knows of it.
pub(super) fn account(provisioner: &mut dyn Provisioner) -> Result<Account, MethodError> {
    let found = provisioner.account();
    found.ok_or_else(|| MethodError::Unfit { reason: NEEDS_A_MODEL.into() })
}
