//! What all methods have in common: presets, progress, errors, what they hand back.

use std::collections::BTreeMap;

use trimbench_core::rng::Rng;
use trimbench_core::settings::{Setting, SettingError};
use trimbench_core::{
    BlockCommand, Bytes, Capabilities, Caveat, Drive, DriveError, Drives, Errno, FileCommand,
    FilesystemWish, Instant, Interrupt, Nanos, ProvisionError, Provisioner, Target,
};
use trimbench_results::{Figure, Step};
use trimbench_trace::{TraceError, Traces};

use crate::delete_stall::DeleteStall;
use crate::delete_storm::DeleteStorm;
use crate::idle_trim::IdleTrim;
use crate::options::Parameters;
use crate::policy::PolicyLab;
use crate::postmark::Postmark;
use crate::recovery::Recovery;
use crate::replay::Replay;
use crate::runner::RunError;
use crate::settle::Settle;
use crate::steady_state::SteadyState;
use crate::trim_integrity::TrimIntegrity;
use crate::trim_sweep::TrimSweep;

#[cfg(test)]
mod tests;

/// How thorough a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Seconds on an emulated drive, a minute or two on a real one.
    Quick,
    /// What a reviewer would publish.
    Standard,
    /// The source's own parameters.
    Published,
}

impl Preset {
    /// Every preset, in the order of an option's texts in [`Setting::presets`].
    pub const ALL: [Self; 3] = [Self::Quick, Self::Standard, Self::Published];

    /// The name on the command line and in records.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Published => "published",
        }
    }

    /// The preset of this name.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.id() == id)
    }
}

/// A method as the command line lists it.
#[derive(Clone, Copy, Debug)]
pub struct MethodInfo {
    /// Stable id.
    pub id: &'static str,
    /// Raised when its figures change meaning.
    pub version: u32,
    /// One line.
    pub summary: &'static str,
    /// Its options.
    pub options: fn() -> Vec<Setting>,
}

/// Every method, in the order of `trimbench list methods`.
pub const METHODS: &[MethodInfo] = &[
    <DeleteStall as Procedure>::INFO,
    <TrimSweep as Procedure>::INFO,
    <IdleTrim as Procedure>::INFO,
    <Recovery as Procedure>::INFO,
    <SteadyState as Procedure>::INFO,
    <TrimIntegrity as Procedure>::INFO,
    <Settle as Procedure>::INFO,
    <Postmark as Procedure>::INFO,
    <DeleteStorm as Procedure>::INFO,
    <PolicyLab as Procedure>::INFO,
    <Replay as Procedure>::INFO,
];

/// A method with its parameters, as resolved from a preset and what the user set.
pub trait Procedure: Parameters {
    /// The method as the command line lists it.
    const INFO: MethodInfo;

    /// Whether an interrupted session on a real target goes on with its next step. Not where the
    /// steps depend on the state that the ones before left: it then begins anew.
    const RESUMES: bool = true;

    /// Ids and units of all figures that a run may find: what limits can be set on.
    fn announced_figures(&self) -> Vec<(String, &'static str)>;

    /// Limits that every run is judged by, beside the user's, as `FIGURE=VALUE`: where a figure
    /// above them is a fault of the drive whoever asks.
    fn built_in_limits(&self) -> Vec<String> {
        Vec::new()
    }

    /// The least capacity of a device, or room in a directory, that it needs.
    fn space(&self) -> Bytes;

    /// The capacity of an emulated drive whose target sets none; `None` leaves it to the profile.
    fn emulated_capacity(&self) -> Option<Bytes> {
        None
    }

    /// What a run on a device of this capacity takes.
    fn demand(&self, capacity: Bytes) -> Demand;

    /// The same where the user may have named a trace, which is read to its end for that.
    fn demand_with_traces(
        &self,
        capacity: Bytes,
        _traces: &dyn Traces,
    ) -> Result<Demand, MethodError> {
        Ok(self.demand(capacity))
    }

    /// The same on filesystems that are made for it, on a device of this capacity.
    fn demand_on_filesystems(&self, capacity: Bytes) -> Demand {
        self.demand(capacity)
    }

    /// Whether the target fits, from what it says of itself; the error says why not, and what
    /// would.
    fn fits(&self, capabilities: &Capabilities) -> Result<(), String>;

    /// Runs on a block device, whose content is lost. A method without it fits none.
    fn run_on_device<D>(&self, device: &mut D, _: Context<'_>) -> Result<Found, MethodError>
    where
        D: Target<Command = BlockCommand> + Drive,
    {
        Err(unfit(self, device.capabilities()))
    }

    /// Runs on emulated drives. Unless a method says otherwise on one of them, as on a device.
    fn run_on_drives<D: Drives>(
        &self,
        drives: &D,
        context: Context<'_>,
    ) -> Result<Found, MethodError> {
        self.run_on_device(&mut drives.make(), context)
    }

    /// Runs in a directory. A method without it fits none.
    fn run_in_directory<T>(&self, target: &mut T, _: Context<'_>) -> Result<Found, MethodError>
    where
        T: Target<Command = FileCommand>,
    {
        Err(unfit(self, target.capabilities()))
    }

    /// Runs on filesystems that are made for it. Unless a method says otherwise it is one, made as
    /// mkfs and `mount -o discard` do it, in which it runs as in a directory.
    fn run_on_filesystems<P>(
        &self,
        provisioner: &mut P,
        context: Context<'_>,
    ) -> Result<Found, MethodError>
    where
        P: Provisioner,
    {
        self.fits(provisioner.capabilities()).map_err(|reason| MethodError::Unfit { reason })?;
        provisioner.make(&FilesystemWish::default())?;
        let found = self.run_in_directory(provisioner.files(), context)?;
        provisioner.unmount()?;
        Ok(found)
    }
}

/// What a method that cannot run on a kind of target says of it.
fn unfit(method: &impl Procedure, capabilities: &Capabilities) -> MethodError {
    let reason = method.fits(capabilities).expect_err("a method runs on what it says it fits");
    MethodError::Unfit { reason }
}

/// What a method that works on whole devices says of a directory.
pub const NEEDS_A_DEVICE: &str = "it writes to a whole device: name an emulated drive \
    (`sim:NAME`), a block device or an image file";

/// What a method that works on files says of a device.
pub const NEEDS_A_DIRECTORY: &str = "it works on files: name a directory, or a filesystem that \
    is made for it (`ext4:sim:NAME`)";

/// What targets are assumed to read and write in estimates, bytes a second.
pub(crate) const ASSUMED_RATE: u64 = 500_000_000;

/// What a run of a method takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Bytes that are written, at the most where a criterion may end the run earlier.
    pub written: Bytes,
    /// How long it takes on the target's clock, roughly.
    pub time: Nanos,
}

/// What a running method is given beside its target.
#[expect(missing_debug_implementations, reason = "a monitor is the caller's, and has none")]
pub struct Context<'a> {
    /// Everything random comes from here.
    pub rng: &'a Rng,
    /// The user's wish to stop.
    pub interrupt: &'a Interrupt,
    /// Is shown progress, and keeps steps.
    pub monitor: &'a mut dyn Monitor,
    /// Opens the traces that the user names.
    pub traces: &'a dyn Traces,
    /// Steps of an earlier run of the same plan. None for an emulated target, whose state depends
    /// on all that went before.
    pub done: Vec<Step>,
}

/// Any of the methods, with its parameters.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Method {
    /// How long you notice a deletion.
    DeleteStall(DeleteStall),
    /// The cost of one TRIM.
    TrimSweep(TrimSweep),
    /// Whole-device TRIM, empty and full.
    IdleTrim(IdleTrim),
    /// Does TRIM do what it says, and nothing else?
    TrimIntegrity(TrimIntegrity),
    /// Whether TRIM gives a fragmented drive its speed back.
    Recovery(Recovery),
    /// Sustained performance, and what trimmed space adds to it.
    SteadyState(SteadyState),
    /// How long a drive is slower after a TRIM.
    Settle(Settle),
    /// What a filesystem with many small files costs.
    Postmark(Postmark),
    /// What the next job feels of a mass deletion.
    DeleteStorm(DeleteStorm),
    /// What trim policies cost and bring.
    Policy(PolicyLab),
    /// A trace with and without its TRIMs.
    Replay(Replay),
}

/// Does the same with whichever method it is.
macro_rules! each {
    ($method:expr, $procedure:ident => $result:expr) => {
        match $method {
            Method::DeleteStall($procedure) => $result,
            Method::TrimSweep($procedure) => $result,
            Method::IdleTrim($procedure) => $result,
            Method::TrimIntegrity($procedure) => $result,
            Method::Recovery($procedure) => $result,
            Method::SteadyState($procedure) => $result,
            Method::Settle($procedure) => $result,
            Method::Postmark($procedure) => $result,
            Method::DeleteStorm($procedure) => $result,
            Method::Policy($procedure) => $result,
            Method::Replay($procedure) => $result,
        }
    };
}

impl Method {
    /// The parameters of a preset of the method `info`, with the user's settings on top; keys of
    /// other methods are left out.
    pub fn resolve(
        info: &MethodInfo,
        preset: Preset,
        set: &BTreeMap<String, String>,
    ) -> Result<Self, SettingError> {
        let options = (info.options)();
        let known = |key: &&String| options.iter().any(|option| option.key == **key);
        let set = set.iter().filter(|(key, _)| known(key));
        let set = &set.map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(match info.id {
            crate::delete_stall::ID => Self::DeleteStall(DeleteStall::resolve(preset, set)?),
            crate::trim_sweep::ID => Self::TrimSweep(TrimSweep::resolve(preset, set)?),
            crate::idle_trim::ID => Self::IdleTrim(IdleTrim::resolve(preset, set)?),
            crate::trim_integrity::ID => Self::TrimIntegrity(TrimIntegrity::resolve(preset, set)?),
            crate::recovery::ID => Self::Recovery(Recovery::resolve(preset, set)?),
            crate::steady_state::ID => Self::SteadyState(SteadyState::resolve(preset, set)?),
            crate::settle::ID => Self::Settle(Settle::resolve(preset, set)?),
            crate::postmark::ID => Self::Postmark(Postmark::resolve(preset, set)?),
            crate::delete_storm::ID => Self::DeleteStorm(DeleteStorm::resolve(preset, set)?),
            crate::policy::ID => Self::Policy(PolicyLab::resolve(preset, set)?),
            crate::replay::ID => Self::Replay(Replay::resolve(preset, set)?),
            other => unreachable!("`{other}` is in the list of methods and not here"),
        })
    }

    /// The method as the command line lists it.
    pub fn info(&self) -> &'static MethodInfo {
        fn of<P: Procedure>(_: &P) -> &'static MethodInfo {
            &P::INFO
        }
        each!(self, procedure => of(procedure))
    }

    /// The name of the trace file that it replays, if it does.
    pub fn trace(&self) -> Option<&str> {
        match self {
            Self::Replay(replay) => replay.trace.as_deref(),
            _ => None,
        }
    }

    /// See [`Procedure::RESUMES`].
    pub fn resumes(&self) -> bool {
        fn of<P: Procedure>(_: &P) -> bool {
            P::RESUMES
        }
        each!(self, procedure => of(procedure))
    }

    /// See [`Parameters::to_map`].
    pub fn to_map(&self) -> BTreeMap<String, String> {
        each!(self, procedure => procedure.to_map())
    }

    /// See [`Procedure::announced_figures`].
    pub fn announced_figures(&self) -> Vec<(String, &'static str)> {
        each!(self, procedure => procedure.announced_figures())
    }

    /// See [`Procedure::built_in_limits`].
    pub fn built_in_limits(&self) -> Vec<String> {
        each!(self, procedure => procedure.built_in_limits())
    }

    /// See [`Procedure::space`].
    pub fn space(&self) -> Bytes {
        each!(self, procedure => procedure.space())
    }

    /// See [`Procedure::emulated_capacity`].
    pub fn emulated_capacity(&self) -> Option<Bytes> {
        each!(self, procedure => procedure.emulated_capacity())
    }

    /// See [`Procedure::demand_with_traces`].
    pub fn demand_with_traces(
        &self,
        capacity: Bytes,
        traces: &dyn Traces,
    ) -> Result<Demand, MethodError> {
        each!(self, procedure => procedure.demand_with_traces(capacity, traces))
    }

    /// See [`Procedure::demand_on_filesystems`].
    pub fn demand_on_filesystems(&self, capacity: Bytes) -> Demand {
        each!(self, procedure => procedure.demand_on_filesystems(capacity))
    }

    /// See [`Procedure::fits`].
    pub fn fits(&self, capabilities: &Capabilities) -> Result<(), String> {
        each!(self, procedure => procedure.fits(capabilities))
    }

    /// See [`Procedure::run_on_device`].
    pub fn run_on_device<D>(
        &self,
        device: &mut D,
        context: Context<'_>,
    ) -> Result<Found, MethodError>
    where
        D: Target<Command = BlockCommand> + Drive,
    {
        each!(self, procedure => procedure.run_on_device(device, context))
    }

    /// See [`Procedure::run_on_drives`].
    pub fn run_on_drives<D: Drives>(
        &self,
        drives: &D,
        context: Context<'_>,
    ) -> Result<Found, MethodError> {
        each!(self, procedure => procedure.run_on_drives(drives, context))
    }

    /// See [`Procedure::run_in_directory`].
    pub fn run_in_directory<T>(
        &self,
        target: &mut T,
        context: Context<'_>,
    ) -> Result<Found, MethodError>
    where
        T: Target<Command = FileCommand>,
    {
        each!(self, procedure => procedure.run_in_directory(target, context))
    }

    /// See [`Procedure::run_on_filesystems`].
    pub fn run_on_filesystems<P>(
        &self,
        provisioner: &mut P,
        context: Context<'_>,
    ) -> Result<Found, MethodError>
    where
        P: Provisioner,
    {
        each!(self, procedure => procedure.run_on_filesystems(provisioner, context))
    }
}

/// Where a method is, for a live display.
#[derive(Clone, Debug)]
pub struct Stage<'a> {
    /// Steps done.
    pub done: usize,
    /// Steps in total.
    pub total: usize,
    /// What is being done.
    pub text: &'a str,
    /// The target's time.
    pub now: Instant,
    /// The plan's estimate of what is left, on the target's clock.
    pub left: Nanos,
}

/// The outside of a running method: it is shown progress and keeps what was measured.
pub trait Monitor {
    /// The method reached another stage.
    fn stage(&mut self, stage: &Stage<'_>);

    /// A step was measured: keep it. An error ends the run; what was kept before is kept.
    fn keep(&mut self, step: &Step) -> Result<(), KeepFailed>;
}

/// The record of a step could not be kept, or there is no sense in another one.
#[derive(Debug, thiserror::Error)]
#[error("the run cannot go on")]
pub struct KeepFailed(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// What a method found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// All steps, those kept before a resume included, in plan order, with what the analysis added.
    pub steps: Vec<Step>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// Caveats on the session.
    pub caveats: Vec<Caveat>,
    /// The runner's hash over everything that happened.
    pub trace_hash: u64,
}

/// Why a method ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MethodError {
    /// An option is wrong.
    #[error(transparent)]
    Option(#[from] SettingError),
    /// The target does not fit the method; nothing was measured.
    #[error("this target does not fit the method: {reason}")]
    Unfit {
        /// Why, and what would.
        reason: String,
    },
    /// The run ended early.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The record could not be kept.
    #[error(transparent)]
    Keep(#[from] KeepFailed),
    /// The drive could not be put into a stated condition, or asked what it holds.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// A filesystem could not be made, mounted or unmounted.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// A trace cannot be read; passes that were measured before are kept.
    #[error("the trace cannot be read")]
    Trace(#[from] TraceError),
    /// A trace cannot be replayed on this target; nothing was written.
    #[error("the trace cannot be replayed here: {reason}")]
    Unreplayable {
        /// Why, and what to do.
        reason: String,
    },
    /// An operation on a file failed; the filesystem may be full by now.
    #[error(
        "`{step}`: {operation} of file {file} failed: {errno}; what was measured before is kept"
    )]
    File {
        /// The step in which it happened.
        step: String,
        /// What was tried.
        operation: &'static str,
        /// The file's name.
        file: u32,
        /// The target's reason.
        errno: Errno,
    },
    /// The target fails its commands.
    #[error("{count} commands failed during `{step}`, the last with {errno}; the target is broken")]
    Broken {
        /// The step in which it happened.
        step: String,
        /// How many commands.
        count: u64,
        /// The last error.
        errno: Errno,
    },
}

impl MethodError {
    /// The failure of a command on a file.
    pub(crate) fn of_file(step: &str, command: FileCommand, errno: Errno) -> Self {
        let operation = match command {
            FileCommand::Create { .. } | FileCommand::Store { .. } => "creation",
            FileCommand::Append { .. } => "extension",
            FileCommand::Write { .. } => "writing",
            FileCommand::Read { .. } | FileCommand::Load { .. } => "reading",
            FileCommand::Unlink { .. } => "deletion",
            FileCommand::Fsync { .. } => "fsync",
            _ => "sync",
        };
        let file = command.file().map_or(0, |file| file.0);
        Self::File { step: step.to_owned(), operation, file, errno }
    }
}

/// Lets a wall-clock target be told from a virtual one without naming either.
pub fn is_virtual<T: Target>(target: &T) -> bool {
    target.capabilities().clock == trimbench_core::Clock::Virtual
}
