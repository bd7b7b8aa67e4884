//! What a plan is made of, before anything of it is resolved or checked.

use std::ffi::OsString;
use std::path::PathBuf;

use trimbench_core::{Bytes, Nanos};
use trimbench_devices::{Consent, PurgeChoice};
use trimbench_engine::Preset;

/// What is to be measured, and how, as a user says it. By default every method on four emulated
/// drives.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Ids of methods; if there are none, all but those that run only by name, and one that does
    /// not fit its target is left out.
    pub methods: Vec<String>,
    /// Targets as `--target` takes them; if there are none, emulated drives.
    pub targets: Vec<OsString>,
    /// The id of a preset.
    pub preset: String,
    /// What is set of methods, each as `KEY=VALUE`; a value may be a path of any bytes.
    pub settings: Vec<OsString>,
    /// Capacity of emulated drives that do not say theirs.
    pub capacity: Option<Bytes>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Limits as `--limit` takes them: on figures, on verdicts, or by a name.
    pub limits: Vec<String>,
    /// What may be destroyed.
    pub consent: Consent,
    /// How block devices are purged.
    pub purge: PurgeChoice,
    /// What the run does about others that use a real target.
    pub quiet: QuietOptions,
    /// Bytes a second that targets are assumed to read and write, above zero; only forecasts of
    /// time go by it. `None`: 500 MB.
    pub assumed_rate: Option<Bytes>,
    /// The directory of an earlier run that forecasts of time go by.
    pub timed_by: Option<PathBuf>,
    /// How many emulated drives are measured at a time; `None`: one for each processor. No result
    /// depends on it.
    pub jobs: Option<u32>,
    /// The `trimbench` program, which serves a drive that is to be attached for a run.
    pub drive_server: Option<PathBuf>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            methods: Vec::new(),
            targets: Vec::new(),
            preset: Preset::Quick.id().to_owned(),
            settings: Vec::new(),
            capacity: None,
            seed: 1,
            limits: Vec::new(),
            consent: Consent::default(),
            purge: PurgeChoice::default(),
            quiet: QuietOptions::default(),
            assumed_rate: None,
            timed_by: None,
            jobs: None,
            drive_server: None,
        }
    }
}

/// What a run does about others that use its real target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietOptions {
    /// How long a session on a real target waits for others to stop using it, at most; zero: it
    /// does not look for them.
    pub wait: Nanos,
    /// Whether to measure a target that others use; the results are then invalid.
    pub busy_ok: bool,
}

impl QuietOptions {
    /// Whether there is a look at all.
    pub fn looks(self) -> bool {
        self.wait > Nanos::ZERO
    }
}

impl Default for QuietOptions {
    fn default() -> Self {
        Self { wait: Nanos::from_secs(60), busy_ok: false }
    }
}
