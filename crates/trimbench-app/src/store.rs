//! The directory of a run: `run.json`, always written as a whole; `steps.ndjson`, to which each
//! step on a real target is appended until its session ends; and `host.json`, which holds
//! everything that differs between two runs of one seed.
//!
//! What was measured is never lost in silence: steps that cannot be read are an error, and lines
//! that are not believed stay, in a file of their own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trimbench_claim::{AppendedFile, Durability, Inode, OutputDirectory, OutputError, Replaces};
use trimbench_core::Errno;
use trimbench_core::text::{from_text, shell_path, shell_word};
use trimbench_results::{
    KeptStep, RecordError, RejectedLine, RunRecord, Salvaged, Step, StepOrigin,
};

use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// Where runs go that are given no directory: below this one.
pub const RUNS: &str = "trimbench-runs";
/// The record's file.
pub const RECORD: &str = "run.json";
/// The steps of a session on a real target that goes on.
const STEPS: &str = "steps.ndjson";
/// What is true of this machine and this time only.
const HOST: &str = "host.json";
/// What is said of a record whose seal is wrong.
const CHANGED: &str = "was changed after it was written";
/// The page of the run.
pub const PAGE: &str = "report.html";

/// Where one run is kept: a directory that is held from the start of the run to its end, whatever
/// becomes of its name.
#[derive(Debug)]
pub struct Store {
    directory: OutputDirectory,
    /// By name: the files that this process wrote, or read and understood. What else has one of our
    /// names is somebody's, and is set aside.
    own: RefCell<BTreeMap<&'static str, Inode>>,
    /// What was set aside and not yet told.
    set_aside: RefCell<Vec<SetAside>>,
}

/// A file that had one of our names and was not written by this run: it has another name now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Where it was.
    pub path: PathBuf,
    /// Its name now, in the same directory.
    pub kept_as: PathBuf,
}

/// The record of an earlier run, as far as it is believed.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedRecord {
    /// With the steps that were kept since it was written.
    pub record: RunRecord,
    /// What is not believed of which file, each in a sentence without a full stop.
    pub flaws: Vec<String>,
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
    fn of(directory: OutputDirectory) -> Self {
        Self { directory, own: RefCell::default(), set_aside: RefCell::default() }
    }

    /// A new directory, or an empty one. It is this run's alone until the store is dropped.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let directory = OutputDirectory::create(path).map_err(|error| unmade(path, error))?;
        let store = Self::of(directory).lock()?;
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

    /// A new directory in `parent`, which is made if it is not there. Its name is the time, with a
    /// number behind it if several runs begin in one second.
    pub fn create_below(parent: &Path) -> Result<Self, Failure> {
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let numbered = (2..).map(|number| format!("{time}-{number}"));
        Self::create_one_of(parent, std::iter::once(time.clone()).chain(numbered))
    }

    /// A new directory in `parent`, by the first of `names` that is free.
    fn create_one_of(
        parent: &Path,
        names: impl IntoIterator<Item = String>,
    ) -> Result<Self, Failure> {
        let unmade = |error| unmade(parent, error);
        let parent = OutputDirectory::create(parent).map_err(unmade)?;
        for name in names {
            match parent.make(OsStr::new(&name)) {
                Err(OutputError::Exists { .. }) => {}
                made => return Self::of(made.map_err(unmade)?).lock(),
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
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let record = path.file_name().is_some_and(|name| name == RECORD);
        let directory = match path.parent() {
            Some(parent) if record && path.is_file() => parent,
            _ => path,
        };
        match OutputDirectory::open(directory) {
            Ok(directory) => Ok(Self::of(directory)),
            Err(error) => {
                let record = directory.join(RECORD);
                Err(unreadable(error).context(format!("cannot read `{}`", record.display())))
            }
        }
    }

    /// The directory as it was named.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where the directory is by now: as it was named, if it is still there.
    pub fn whereabouts(&self) -> PathBuf {
        self.directory.whereabouts()
    }

    /// Removes what this run made: nothing was measured. What cannot be removed stays.
    pub fn discard(&self) {
        for file in [RECORD, STEPS, HOST] {
            self.remove_own(file);
        }
        self.directory.remove_made();
    }

    /// Reads the record, with the steps that were kept since it was written.
    pub fn load(&self) -> Result<LoadedRecord, Failure> {
        let loaded = self.read(RunRecord::from_json)?;
        let named = |flaw: &String| format!("{}: {flaw}", self.shown());
        let flaws = loaded.flaws().iter().map(named).collect();
        Ok(LoadedRecord { record: loaded.content, flaws })
    }

    /// What was set aside since the last call. It is for the user to know.
    pub fn take_set_aside(&self) -> Vec<SetAside> {
        self.set_aside.take()
    }

    /// The same, to go on with the run: an error if somebody changed the record, or if lines of
    /// kept steps are not believed. These are set aside first, and the steps of the other lines are
    /// in the record then.
    pub(crate) fn load_to_resume(&self) -> Result<RunRecord, Failure> {
        let loaded = self.read(RunRecord::from_json)?;
        if loaded.is_changed {
            let error = anyhow::anyhow!("{} {CHANGED}", self.shown());
            let hint = "the run goes on from an unchanged copy only; or start a new run";
            return Err(Failure::usage(error).with_hint(hint));
        }
        let Some(first) = loaded.rejected.first() else { return Ok(loaded.content) };
        let count = loaded.rejected.len();
        let RejectedLine { line, reason } = first;
        self.write_record(&loaded.content)?;
        let aside = self.directory.set_aside(OsStr::new(STEPS)).map_err(unsaved)?;
        let error = anyhow::anyhow!(
            "{count} of the lines in `{STEPS}` of {} are not believed: line {line} {}",
            shell_path(self.path()),
            reason.words()
        );
        Err(Failure::usage(error).with_hint(format!(
            "all lines are kept in `{}`, and the steps of the others are in the record; resume \
             once more to measure what is missing",
            self.path().join(aside).display()
        )))
    }

    /// Reads what can be understood of the record: for reports, never to go on with the run.
    pub fn salvage(&self) -> Result<Salvaged, Failure> {
        let loaded = self.read(RunRecord::salvage)?;
        let found = loaded.flaws();
        let mut salvaged = loaded.content;
        salvaged.flaws.extend(found);
        Ok(salvaged)
    }

    /// Why the record cannot be read as a whole; `None` if it can.
    pub fn refusal(&self) -> Option<Failure> {
        self.read(RunRecord::from_json).err()
    }

    /// The lines of the steps that were kept; none where there is no such file.
    fn kept_steps(&self) -> Result<(Vec<u8>, Option<Inode>), Failure> {
        match self.directory.read_file(OsStr::new(STEPS)) {
            Err(error) if error.errno() == Some(Errno::ENOENT) => Ok((Vec::new(), None)),
            Ok((bytes, inode)) => Ok((bytes, Some(inode))),
            Err(error) => {
                let hint = "make it readable, or move it elsewhere: what it holds is then measured \
                            again";
                let failure =
                    Failure::usage(error).context("steps were measured that cannot be read");
                Err(failure.with_hint(hint))
            }
        }
    }

    /// The record's file, for messages.
    fn shown(&self) -> String {
        format!("`{}`", self.path().join(RECORD).display())
    }

    /// Begins the file that the steps of a session are appended to.
    pub(crate) fn begin_steps(&self) -> Result<StepFile, Failure> {
        let replaces = self.replaced(STEPS).map_err(unsaved)?;
        let file = self.directory.append_to(OsStr::new(STEPS), replaces).map_err(unsaved)?;
        self.own.borrow_mut().insert(STEPS, file.inode());
        Ok(StepFile(file))
    }

    fn read<T: HasRecord>(
        &self,
        parse: fn(&[u8]) -> Result<T, RecordError>,
    ) -> Result<Loaded<T>, Failure> {
        // In this order: the steps go once the record has them.
        let (steps, of_steps) = self.kept_steps()?;
        let (bytes, of_record) =
            self.directory.read_file(OsStr::new(RECORD)).map_err(unreadable)?;
        let mut content = parse(&bytes).map_err(|error: RecordError| {
            let hint = error.hint();
            Failure::usage(error).context(self.shown()).with_hint(hint)
        })?;
        let record = content.record();
        let is_changed = !record.is_unchanged(&bytes);
        let rejected = record.add_kept(&steps);
        let mut own = self.own.borrow_mut();
        own.insert(RECORD, of_record);
        // With a line that is not believed it is set aside.
        own.extend(of_steps.filter(|_| rejected.is_empty()).map(|inode| (STEPS, inode)));
        Ok(Loaded { content, is_changed, rejected })
    }

    /// Writes the record, whole or not at all, and on the disk when this returns.
    pub(crate) fn save(&self, record: &RunRecord) -> Result<(), Failure> {
        self.write_record(record)?;
        // The record has all of them. Left behind, they would be known to be there twice.
        self.remove_own(STEPS);
        Ok(())
    }

    /// Removes a file that is ours. What cannot be removed stays.
    fn remove_own(&self, name: &'static str) {
        let is_own = |found: &Option<Inode>| found.is_some() && *found == self.own_inode(name);
        if self.directory.inode_of(OsStr::new(name)).is_ok_and(|found| is_own(&found)) {
            let _ = self.directory.remove(OsStr::new(name));
        }
    }

    fn own_inode(&self, name: &str) -> Option<Inode> {
        self.own.borrow().get(name).copied()
    }

    fn write_record(&self, record: &RunRecord) -> Result<(), Failure> {
        self.replace(RECORD, &record.to_json(), Durability::Durable).map_err(unsaved)
    }

    /// What is true of the machine and time of an earlier run, as keys and texts; empty where it is
    /// not known. No figure depends on it.
    pub fn host(&self) -> BTreeMap<String, String> {
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
        let (bytes, inode) = self.directory.read_file(OsStr::new(HOST)).ok()?;
        let host = serde_json::from_slice(&bytes).ok()?;
        self.own.borrow_mut().insert(HOST, inode);
        Some(host)
    }

    /// Writes what is true of this machine and this time.
    pub(crate) fn save_host(&self, host: &Host) -> Result<(), Failure> {
        let mut bytes = serde_json::to_vec_pretty(host).expect("it is texts and finite numbers");
        bytes.push(b'\n');
        self.replace(HOST, &bytes, Durability::Durable)
            .map_err(|error| Failure::target(error).context("cannot write `host.json`"))
    }

    /// Writes the page of the run, unless something else has its name: what `is_page` does not
    /// know.
    pub fn save_page(&self, page: &str, is_page: fn(&[u8]) -> bool) -> Result<(), Failure> {
        debug_assert!(is_page(page.as_bytes()), "it would not be replaced later");
        let path = self.path().join(PAGE);
        match self.directory.read_file(OsStr::new(PAGE)) {
            Ok((there, inode)) if is_page(&there) => {
                self.own.borrow_mut().insert(PAGE, inode);
            }
            Ok(_) => {
                let error = anyhow::anyhow!("`{}` was not written by trimbench", path.display());
                return Err(Failure::usage(error).with_hint("rename it, or add `--no-report`"));
            }
            Err(error) if error.errno() == Some(Errno::ENOENT) => {}
            Err(error) => {
                let failure = Failure::usage(error).context("a file is where the report would be");
                return Err(failure.with_hint("rename it, or add `--no-report`"));
            }
        }
        self.replace(PAGE, page.as_bytes(), Durability::Later)
            .map_err(|error| Failure::target(error).context("cannot write the report"))
    }

    fn replace(
        &self,
        name: &'static str,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), OutputError> {
        let replaces = self.replaced(name)?;
        let inode = self.directory.write(OsStr::new(name), bytes, replaces, durability)?;
        self.own.borrow_mut().insert(name, inode);
        Ok(())
    }

    /// What a file of ours takes the place of: of its own last state. What is not ours is set aside
    /// first.
    fn replaced(&self, name: &str) -> Result<Replaces, OutputError> {
        match self.directory.inode_of(OsStr::new(name))? {
            None => Ok(Replaces::Nothing),
            found if found == self.own_inode(name) => {
                Ok(found.map_or(Replaces::Nothing, Replaces::File))
            }
            Some(_) => {
                let kept_as = self.directory.set_aside(OsStr::new(name))?.into();
                let path = self.path().join(name);
                self.set_aside.borrow_mut().push(SetAside { path, kept_as });
                Ok(Replaces::Nothing)
            }
        }
    }
}

impl fmt::Display for SetAside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, kept_as) = (self.path.display(), self.kept_as.display());
        write!(formatter, "`{path}` was not written by this run: it is kept as `{kept_as}`")
    }
}

impl StepFile {
    /// Appends the step at this place of its session: on the disk when this returns.
    pub(crate) fn append(
        &mut self,
        origin: &StepOrigin,
        sequence: usize,
        step: &Step,
    ) -> Result<(), Failure> {
        let line = KeptStep::new(origin.clone(), sequence, step.clone()).to_line();
        self.0.append(&line).map_err(unsaved)
    }
}

/// What was read of a run's directory.
struct Loaded<T> {
    content: T,
    /// Somebody changed the record after it was written.
    is_changed: bool,
    /// Lines of kept steps that are not believed.
    rejected: Vec<RejectedLine>,
}

/// What a record can be found in.
trait HasRecord {
    fn record(&mut self) -> &mut RunRecord;
}

impl HasRecord for RunRecord {
    fn record(&mut self) -> &mut RunRecord {
        self
    }
}

impl HasRecord for Salvaged {
    fn record(&mut self) -> &mut RunRecord {
        &mut self.record
    }
}

impl<T> Loaded<T> {
    /// What is not believed, each in a sentence without a full stop.
    fn flaws(&self) -> Vec<String> {
        let changed = self.is_changed.then(|| CHANGED.to_owned());
        let left_out = |it: &RejectedLine| {
            format!("line {} of `{STEPS}` {}: it is left out", it.line, it.reason.words())
        };
        changed.into_iter().chain(self.rejected.iter().map(left_out)).collect()
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
