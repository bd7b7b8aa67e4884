//! The directory of a run: `run.json`, always written as a whole; `steps.ndjson`, to which each
//! step on a real target is appended until its session ends; and `host.json`, which holds
//! everything that differs between two runs of one seed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trimbench_core::text::{from_text, shell_word};
use trimbench_linux::{AppendedFile, Durability, OutputDirectory, OutputError, Replaces};
use trimbench_report::PAGE_MARK;
use trimbench_results::{KeptStep, RecordError, RunRecord, Salvaged, Step};

use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// The record's file.
const RECORD: &str = "run.json";
/// The steps of a session on a real target that goes on.
const STEPS: &str = "steps.ndjson";
/// What is true of this machine and this time only.
const HOST: &str = "host.json";
/// The page of the run.
pub(crate) const PAGE: &str = "report.html";

/// Where one run is kept: a directory that is held from the start of the run to its end, whatever
/// becomes of its name.
#[derive(Debug)]
pub(crate) struct Store {
    directory: OutputDirectory,
}

/// The file that steps are appended to.
#[derive(Debug)]
pub(crate) struct StepFile(AppendedFile);

/// What `host.json` holds.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Host {
    pub(crate) command: Vec<String>,
    pub(crate) started_unix_s: f64,
    pub(crate) ended_unix_s: Option<f64>,
    pub(crate) debug_build: bool,
    pub(crate) environment: BTreeMap<String, String>,
    /// How long sessions on real targets took; absent in runs of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sessions: Vec<SessionTime>,
}

/// How long a session took that was begun and ended by one run.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct SessionTime {
    /// Its place in the plan.
    pub(crate) index: usize,
    /// Seconds of wall time.
    pub(crate) took_s: f64,
}

impl Store {
    /// A new directory, or an empty one.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let directory = OutputDirectory::create(path).map_err(|error| unmade(path, error))?;
        let store = Self { directory }.lock()?;
        if !store.directory.is_empty().map_err(|error| unmade(path, error))? {
            let name = path.display();
            let is_run = store.directory.read(OsStr::new(RECORD)).is_ok();
            let (text, hint) = if is_run {
                let resume = format!("trimbench run --resume {}", shell_word(path));
                (
                    format!("`{name}` has the record of another run, and is not empty"),
                    format!("`{resume}` continues it; for a new run name another directory"),
                )
            } else {
                (
                    format!("the run directory `{name}` is not empty"),
                    "name a new directory, or an empty one".to_owned(),
                )
            };
            return Err(Failure::usage(anyhow::anyhow!(text)).with_hint(hint));
        }
        Ok(store)
    }

    /// A new directory in `parent`, by the first of `names` that is free.
    pub(crate) fn create_one_of(
        parent: &Path,
        names: impl IntoIterator<Item = String>,
    ) -> Result<Self, Failure> {
        let unmade = |error| unmade(parent, error);
        let parent = OutputDirectory::create(parent).map_err(unmade)?;
        for name in names {
            match parent.make(OsStr::new(&name)) {
                Err(OutputError::Exists { .. }) => {}
                made => return Self { directory: made.map_err(unmade)? }.lock(),
            }
        }
        Err(Failure::usage(anyhow::anyhow!("every name in `{}` is taken", parent.path().display())))
    }

    /// Takes the directory for this run alone, until the program ends, and removes what killed runs
    /// had begun to write there.
    pub(crate) fn lock(self) -> Result<Self, Failure> {
        if !self.directory.lock() {
            let text = format!("another run is in progress in `{}`", self.path().display());
            let hint = "wait for it, or name another directory";
            return Err(Failure::usage(anyhow::anyhow!(text)).with_hint(hint));
        }
        // What cannot be listed or removed does no harm.
        let _ = self.directory.sweep(&[RECORD, STEPS, HOST, PAGE]);
        Ok(self)
    }

    /// The directory of an earlier run; the `run.json` in it means the same.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let record = path.file_name().is_some_and(|name| name == RECORD);
        let directory = match path.parent() {
            Some(parent) if record && path.is_file() => parent,
            _ => path,
        };
        match OutputDirectory::open(directory) {
            Ok(directory) => Ok(Self { directory }),
            Err(error) => {
                let record = directory.join(RECORD);
                Err(unreadable(error).context(format!("cannot read `{}`", record.display())))
            }
        }
    }

    /// The directory as it was named.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where the directory is by now: as it was named, if it is still there.
    pub(crate) fn whereabouts(&self) -> PathBuf {
        self.directory.whereabouts()
    }

    /// Removes what this run made: nothing was measured. What cannot be removed stays.
    pub(crate) fn discard(&self) {
        for file in [RECORD, STEPS, HOST] {
            let _ = self.directory.remove(OsStr::new(file));
        }
        self.directory.remove_made();
    }

    /// Reads the record, with the steps that were kept since it was written.
    pub(crate) fn load(&self) -> Result<RunRecord, Failure> {
        let mut record = self.read(RunRecord::from_json)?;
        record.add_kept(&self.kept_steps());
        Ok(record)
    }

    /// Reads what can be understood of the record: for reports, never to go on with the run.
    pub(crate) fn salvage(&self) -> Result<Salvaged, Failure> {
        let mut salvaged = self.read(RunRecord::salvage)?;
        if let Some(line) = salvaged.record.add_kept(&self.kept_steps()) {
            salvaged.flaws.push(format!(
                "line {line} of `{STEPS}` cannot be understood: it and those after it are left out"
            ));
        }
        Ok(salvaged)
    }

    /// The lines of the steps that were kept; none where there is no such file.
    fn kept_steps(&self) -> Vec<u8> {
        self.directory.read(OsStr::new(STEPS)).unwrap_or_default()
    }

    /// Begins the file that the steps of a session are appended to.
    pub(crate) fn begin_steps(&self) -> Result<StepFile, Failure> {
        let file = self.directory.append_to(OsStr::new(STEPS), Replaces::AnyFile);
        file.map(StepFile).map_err(unsaved)
    }

    fn read<T>(&self, parse: fn(&[u8]) -> Result<T, RecordError>) -> Result<T, Failure> {
        let bytes = self.directory.read(OsStr::new(RECORD)).map_err(unreadable)?;
        parse(&bytes).map_err(|error: RecordError| {
            let hint = error.hint();
            let path = self.path().join(RECORD);
            Failure::usage(error).context(format!("`{}`", path.display())).with_hint(hint)
        })
    }

    /// Writes the record, whole or not at all, and on the disk when this returns.
    pub(crate) fn save(&self, record: &RunRecord) -> Result<(), Failure> {
        self.replace(RECORD, &record.to_json(), Durability::Durable).map_err(unsaved)?;
        // The record has all of them. Left behind, they would be known to be there twice.
        let _ = self.directory.remove(OsStr::new(STEPS));
        Ok(())
    }

    /// What is true of the machine and time of an earlier run, as keys and texts; empty where it is
    /// not known. No figure depends on it.
    pub(crate) fn host(&self) -> BTreeMap<String, String> {
        let Some(host) = self.kept_host() else { return BTreeMap::new() };
        let mut texts = host.environment;
        let command: Vec<String> =
            host.command.iter().map(|word| shell_word(from_text(word))).collect();
        texts.insert("command".to_owned(), command.join(" "));
        texts.insert("debug-build".to_owned(), host.debug_build.to_string());
        texts
    }

    /// How long the sessions of an earlier run took, as far as it says so.
    pub(crate) fn session_times(&self) -> Vec<SessionTime> {
        self.kept_host().map_or_else(Vec::new, |host| host.sessions)
    }

    fn kept_host(&self) -> Option<Host> {
        let bytes = self.directory.read(OsStr::new(HOST)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes what is true of this machine and this time.
    pub(crate) fn save_host(&self, host: &Host) -> Result<(), Failure> {
        let mut bytes = serde_json::to_vec_pretty(host).expect("it is texts and finite numbers");
        bytes.push(b'\n');
        self.replace(HOST, &bytes, Durability::Durable)
            .map_err(|error| Failure::target(error).context("cannot write `host.json`"))
    }

    /// Writes the page of the run, unless something else has its name.
    pub(crate) fn save_page(&self, page: &str) -> Result<(), Failure> {
        if let Ok(there) = self.directory.read(OsStr::new(PAGE))
            && !there.starts_with(PAGE_MARK.as_bytes())
        {
            let path = self.path().join(PAGE);
            let error = anyhow::anyhow!("`{}` was not written by trimbench", path.display());
            return Err(Failure::usage(error).with_hint("rename it, or add `--no-report`"));
        }
        self.replace(PAGE, page.as_bytes(), Durability::Later)
            .map_err(|error| Failure::target(error).context("cannot write the report"))
    }

    fn replace(&self, name: &str, bytes: &[u8], durability: Durability) -> Result<(), OutputError> {
        self.directory.write(OsStr::new(name), bytes, Replaces::AnyFile, durability)
    }
}

impl StepFile {
    /// Appends a step of the session at this index: on the disk when this returns.
    pub(crate) fn append(&mut self, session: usize, step: &Step) -> Result<(), Failure> {
        let line = KeptStep { session, step: step.clone() }.to_line();
        self.0.append(&line).map_err(unsaved)
    }
}

fn unsaved(error: OutputError) -> Failure {
    Failure::target(error).context("cannot save the record")
}

fn unmade(path: &Path, error: OutputError) -> Failure {
    Failure::target(error)
        .context(format!("cannot create the run directory `{}`", path.display()))
        .with_hint("choose another directory with `--output DIR`")
}

fn unreadable(error: OutputError) -> Failure {
    Failure::usage(error).with_hint("name the directory of a run: it holds a `run.json`")
}
