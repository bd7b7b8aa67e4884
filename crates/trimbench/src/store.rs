//! The directory of a run: `run.json`, written whole after every step, and `host.json` beside it,
//! which holds what differs between two runs of one seed.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use trimbench_core::exit;
use trimbench_linux::{Durability, atomic_write};
use trimbench_results::{RecordError, RunRecord, Salvaged};

use crate::failure::Failure;

/// The record's file.
const RECORD: &str = "run.json";
/// What is true of this machine and this time only.
const HOST: &str = "host.json";

/// Where one run is kept.
#[derive(Debug)]
pub(crate) struct Store {
    directory: PathBuf,
    /// The directories that this run made, the innermost first.
    made: Vec<PathBuf>,
    /// Held while a run writes here, so that a second one does not.
    lock: Option<File>,
}

/// What `host.json` holds.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Host {
    pub(crate) command: Vec<String>,
    pub(crate) started_unix_s: f64,
    pub(crate) ended_unix_s: Option<f64>,
    pub(crate) debug_build: bool,
    pub(crate) environment: BTreeMap<String, String>,
}

impl Store {
    /// A new directory, or an empty one.
    pub(crate) fn create(directory: &Path) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure { code: exit::TARGET, error: error.into(), hint: None }
                .context(format!("cannot make the run directory `{}`", directory.display()))
                .with_hint("name another place with `--output DIR`")
        };
        let missing = directory.ancestors().take_while(|path| !path.exists());
        let made = missing.map(Path::to_owned).filter(|path| path.file_name().is_some()).collect();
        std::fs::create_dir_all(directory).map_err(failed)?;
        let mut entries = std::fs::read_dir(directory).map_err(failed)?;
        if entries.next().is_some() {
            let text = format!("the run directory `{}` is not empty", directory.display());
            let hint = "name a new one, or go on with the run in it with `--resume DIR`";
            return Err(Failure::usage(anyhow::anyhow!(text)).with_hint(hint));
        }
        Self { directory: directory.to_owned(), made, lock: None }.lock()
    }

    /// Takes the directory for this run alone, until the program ends.
    pub(crate) fn lock(mut self) -> Result<Self, Failure> {
        // A filesystem without locks, or a directory that is not there: what comes next will say.
        let Ok(file) = File::open(&self.directory) else { return Ok(self) };
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let text = format!("another run is at work in `{}`", self.directory.display());
            let hint = "wait for it, or name another directory";
            return Err(Failure::usage(anyhow::anyhow!(text)).with_hint(hint));
        }
        self.lock = Some(file);
        Ok(self)
    }

    /// The directory of an earlier run; the `run.json` in it means the same.
    pub(crate) fn open(directory: &Path) -> Self {
        let record = directory.file_name().is_some_and(|name| name == RECORD);
        let directory = match directory.parent() {
            Some(parent) if record && directory.is_file() => parent,
            _ => directory,
        };
        Self { directory: directory.to_owned(), made: Vec::new(), lock: None }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Removes what this run made: nothing was measured. What cannot be removed stays.
    pub(crate) fn discard(&self) {
        for file in [RECORD, HOST] {
            let _ = std::fs::remove_file(self.directory.join(file));
        }
        for directory in &self.made {
            // Never one with content.
            let _ = std::fs::remove_dir(directory);
        }
    }

    /// Reads the record.
    pub(crate) fn load(&self) -> Result<RunRecord, Failure> {
        self.read(RunRecord::from_json)
    }

    /// Reads what can be understood of the record: for reports, never to go on with the run.
    pub(crate) fn salvage(&self) -> Result<Salvaged, Failure> {
        self.read(RunRecord::salvage)
    }

    fn read<T>(&self, parse: fn(&[u8]) -> Result<T, RecordError>) -> Result<T, Failure> {
        let path = self.directory.join(RECORD);
        let bytes = std::fs::read(&path).map_err(|error| {
            Failure::usage(error)
                .context(format!("cannot read `{}`", path.display()))
                .with_hint("name the directory of a run: it holds a `run.json`")
        })?;
        parse(&bytes).map_err(|error: RecordError| {
            let hint = error.hint();
            Failure::usage(error).context(format!("`{}`", path.display())).with_hint(hint)
        })
    }

    /// Writes the record, whole or not at all, and on the disk when this returns.
    pub(crate) fn save(&self, record: &RunRecord) -> anyhow::Result<()> {
        self.write(record, Durability::Durable)
    }

    /// The same without waiting for the disk: for steps that take less to measure again.
    pub(crate) fn save_soon(&self, record: &RunRecord) -> anyhow::Result<()> {
        self.write(record, Durability::Later)
    }

    fn write(&self, record: &RunRecord, durability: Durability) -> anyhow::Result<()> {
        let path = self.directory.join(RECORD);
        atomic_write(&path, &record.to_json(), durability).context("cannot keep the record")
    }

    /// What is true of the machine and time of an earlier run, as keys and texts; empty where it is
    /// not known. No figure depends on it.
    pub(crate) fn host(&self) -> BTreeMap<String, String> {
        let bytes = std::fs::read(self.directory.join(HOST)).unwrap_or_default();
        let Ok(host) = serde_json::from_slice::<Host>(&bytes) else { return BTreeMap::new() };
        let mut texts = host.environment;
        texts.insert("command".to_owned(), host.command.join(" "));
        texts.insert("debug-build".to_owned(), host.debug_build.to_string());
        texts
    }

    /// Writes what is true of this machine and this time.
    pub(crate) fn save_host(&self, host: &Host) -> anyhow::Result<()> {
        let path = self.directory.join(HOST);
        let mut bytes = serde_json::to_vec_pretty(host)?;
        bytes.push(b'\n');
        atomic_write(&path, &bytes, Durability::Durable).context("cannot write the host's part")
    }
}
