//! What all methods have in common: presets, progress, errors, what they hand back.

use trimbench_core::{Caveat, Errno, Instant, Nanos, Target};
use trimbench_results::{Figure, Step};

use crate::options::{OptionError, OptionInfo};
use crate::runner::RunError;

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
    /// Every preset, in the order of [`OptionInfo::presets`].
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
    pub options: &'static [OptionInfo],
}

/// Every method, in the order of `trimbench list methods`.
pub const METHODS: &[MethodInfo] = &[crate::delete_stall::INFO];

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

/// The record of a step could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep what was measured: {0}")]
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
    Option(#[from] OptionError),
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

/// Lets a wall-clock target be told from a virtual one without naming either.
pub fn is_virtual<T: Target>(target: &T) -> bool {
    target.capabilities().clock == trimbench_core::Clock::Virtual
}
