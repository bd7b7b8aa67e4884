//! Raw output: runs programs and stores what they print, unchanged. `captures.ndjson` beside it has
//! the command line, the exit status and the time of each.

use std::cell::{OnceCell, RefCell};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trimbench_results::RunRecord;

use super::Form;
use crate::Repository;
use crate::process::{self, Ended, Signal};
use crate::steps::Deadline;

/// One line for each program that was run, in the order of their ends.
const CAPTURES: &str = "captures.ndjson";

/// A program that was run, and where its output is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    /// Its name among the claim's captures.
    pub name: String,
    /// The command line, with this checkout's folder left out of it.
    pub command: String,
    /// The exit code; `None` if a signal ended it.
    pub status: Option<i32>,
    /// From its start to its end, in seconds, to a millisecond.
    pub elapsed_seconds: f64,
    /// The file of its standard output, in the claim's folder.
    pub output: String,
    /// The file of its standard error, in the claim's folder.
    pub errors: String,
}

/// What a claim measures with.
#[derive(Debug)]
pub struct Context<'a> {
    repository: &'a Repository,
    id: &'static str,
    folder: PathBuf,
    form: Form,
    deadline: Deadline,
    binary: OnceCell<PathBuf>,
    /// Folders that are shown under another name in command lines.
    aliases: RefCell<Vec<(String, String)>>,
}

impl<'a> Context<'a> {
    /// For the claim `id`, whose raw output goes to `folder` and that must be measured by
    /// `deadline`.
    pub fn new(
        repository: &'a Repository,
        id: &'static str,
        (folder, form): (&Path, Form),
        deadline: Deadline,
    ) -> Self {
        let root = repository.root().display().to_string();
        let aliases = vec![
            (folder.display().to_string(), "$RAW".to_owned()),
            (format!("{root}/"), String::new()),
            (root, ".".to_owned()),
        ];
        Self {
            repository,
            id,
            folder: folder.to_owned(),
            form,
            deadline,
            binary: OnceCell::new(),
            aliases: RefCell::new(aliases),
        }
    }

    /// The checkout.
    pub fn repository(&self) -> &Repository {
        self.repository
    }

    /// Where the claim's raw output goes; command lines show it as `$RAW`. Programs may be told to
    /// write there.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// With this program in place of the release build.
    #[must_use]
    pub fn with_program(self, program: &Path) -> Self {
        self.alias(program, "trimbench");
        Self { binary: OnceCell::from(program.to_owned()), ..self }
    }

    /// For another claim, measured as a part of this one: its raw output goes to a folder of its
    /// own in this one's.
    pub fn part(&self, id: &'static str, form: Form) -> Result<Self> {
        let folder = self.folder.join(id);
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        Ok(Context::new(self.repository, id, (&folder, form), self.deadline))
    }

    /// How much is measured.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Whether less than the full form is measured.
    pub fn is_short(&self) -> bool {
        self.form != Form::Full
    }

    /// What is left of the claim's time.
    pub fn remaining(&self) -> Duration {
        self.deadline.remaining()
    }

    /// When the claim must be measured.
    pub fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Shows `path` as `name` in command lines: for folders that are different at every run.
    pub fn alias(&self, path: &Path, name: &str) {
        self.aliases.borrow_mut().insert(0, (path.display().to_string(), name.to_owned()));
    }

    /// The release build of `trimbench`, brought up to date first.
    pub fn binary(&self) -> Result<&Path> {
        if let Some(binary) = self.binary.get() {
            return Ok(binary);
        }
        let mut build = self.repository.command("cargo", &["build", "--release", "--quiet"]);
        process::run_well(&mut build, Some(self.deadline))?;
        let binary = self.repository.target().join("release/trimbench");
        ensure!(binary.exists(), "the release build made no {}", binary.display());
        self.alias(&binary, "trimbench");
        Ok(self.binary.get_or_init(|| binary))
    }

    /// The release build of `trimbench` with `arguments`, as [`Context::capture`] takes it.
    pub fn trimbench(&self, arguments: &[&str]) -> Result<Command> {
        let binary = self.binary()?;
        let mut command = Command::new(binary);
        command.args(arguments).current_dir(self.repository.root());
        Ok(command)
    }

    /// Runs a program to its end and keeps what it prints. Its exit code is kept, not judged; to
    /// run out of time is an error.
    pub fn capture(&self, name: &str, command: &mut Command) -> Result<Capture> {
        self.capture_with(name, command, |command| process::run(command, Some(self.deadline)))
    }

    /// As [`Context::capture`], and sends the program `signal` as soon as `when` holds. An error if
    /// it ended before that.
    pub fn capture_signalled(
        &self,
        name: &str,
        command: &mut Command,
        signal: Signal,
        when: impl Fn() -> bool,
    ) -> Result<Capture> {
        self.capture_with(name, command, |command| {
            process::run_signalled(command, Some(self.deadline), signal, &when)
        })
    }

    /// As [`Context::capture_well`], and the most memory that was resident of the program, KiB.
    pub fn capture_weighed(&self, name: &str, command: &mut Command) -> Result<u64> {
        let mut memory = None;
        let capture = self.capture_with(name, command, |command| {
            let (ended, peak) = process::run_weighed(command, Some(self.deadline))?;
            memory = peak;
            Ok(ended)
        })?;
        self.well(&capture)?;
        memory.with_context(|| format!("`{}` ended before a look at its memory", capture.command))
    }

    /// Computes lines in this process and keeps each as JSON, as the output of a program of this
    /// name is kept.
    pub fn keep<T: Serialize>(
        &self,
        name: &str,
        compute: impl FnOnce() -> Result<Vec<T>>,
    ) -> Result<()> {
        eprintln!("  {name}");
        let begun = Instant::now();
        let lines = compute()?;
        let elapsed_seconds = milliseconds(begun.elapsed());
        let mut text = String::new();
        for line in &lines {
            text += &serde_json::to_string(line).context("write a line")?;
            text.push('\n');
        }
        let output = format!("{name}.stdout");
        let path = self.folder.join(&output);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        let short = if self.is_short() { " --short" } else { "" };
        self.append(&Capture {
            name: name.to_owned(),
            command: format!("cargo xtask evidence {}{short}", self.id),
            status: Some(0),
            elapsed_seconds,
            errors: String::new(),
            output,
        })
    }

    fn capture_with(
        &self,
        name: &str,
        command: &mut Command,
        run: impl FnOnce(&mut Command) -> Result<Ended>,
    ) -> Result<Capture> {
        let (output, errors) = (format!("{name}.stdout"), format!("{name}.stderr"));
        let create = |file: &str| {
            let path = self.folder.join(file);
            File::create(&path).with_context(|| format!("create {}", path.display()))
        };
        command.stdout(create(&output)?).stderr(create(&errors)?);
        let shown = self.shown(command);
        ensure!(!self.remaining().is_zero(), "no time is left for `{shown}`");
        eprintln!("  {shown}");
        let ended = run(command)?;
        let Some(status) = ended.status else {
            bail!("`{shown}` {}", ended.describe());
        };
        let capture = Capture {
            name: name.to_owned(),
            command: shown,
            status: status.code(),
            elapsed_seconds: milliseconds(ended.elapsed),
            output,
            errors,
        };
        self.append(&capture)?;
        Ok(capture)
    }

    /// As [`Context::capture`], and an error unless the program ends with exit code 0.
    pub fn capture_well(&self, name: &str, command: &mut Command) -> Result<Capture> {
        let capture = self.capture(name, command)?;
        self.well(&capture)?;
        Ok(capture)
    }

    /// An error, with what the program said, unless it ended with exit code 0.
    fn well(&self, capture: &Capture) -> Result<()> {
        if let Err(error) = capture.expect_status(0) {
            bail!("{error}: {}", self.complaint(capture));
        }
        Ok(())
    }

    /// The line in which a program says what is wrong, or else its last one.
    fn complaint(&self, capture: &Capture) -> String {
        let errors = fs::read_to_string(self.folder.join(&capture.errors)).unwrap_or_default();
        let mut lines = errors.lines().filter(|line| !line.is_empty());
        let named = lines.clone().find(|line| line.starts_with("error"));
        named.or_else(|| lines.next_back()).unwrap_or("it said nothing").to_owned()
    }

    fn shown(&self, command: &Command) -> String {
        let mut shown = process::show(command);
        for (path, name) in self.aliases.borrow().iter() {
            shown = shown.replace(path, name);
        }
        shown
    }

    fn append(&self, capture: &Capture) -> Result<()> {
        let line = serde_json::to_string(capture).context("write a capture")?;
        let path = self.folder.join(CAPTURES);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| writeln!(file, "{line}"))
            .with_context(|| format!("append to {}", path.display()))
    }
}

impl Capture {
    /// An error unless it ended with this exit code.
    pub fn expect_status(&self, code: i32) -> Result<&Self> {
        let Self { command, status, .. } = self;
        match status {
            Some(status) if *status == code => Ok(self),
            Some(status) => bail!("`{command}` ended with exit code {status}, not {code}"),
            None => bail!("`{command}` was ended by a signal"),
        }
    }
}

/// A folder of raw output, to be read.
#[derive(Clone, Debug)]
pub struct Raw {
    folder: PathBuf,
    form: Form,
}

impl Raw {
    /// The raw output in `folder`, of a measurement in this form.
    pub fn new(folder: &Path, form: Form) -> Self {
        Self { folder: folder.to_owned(), form }
    }

    /// That of another claim, which was measured as a part of this one.
    #[must_use]
    pub fn part(&self, id: &str, form: Form) -> Self {
        Self::new(&self.folder.join(id), form)
    }

    /// How much was measured.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Whether less than the full form was measured.
    pub fn is_short(&self) -> bool {
        self.form != Form::Full
    }

    /// What a program said, with the folder as `$RAW`: for notes, which are of no machine.
    pub fn shown(&self, text: &str) -> String {
        text.replace(&*self.folder.to_string_lossy(), "$RAW")
    }

    /// The programs that were run, in the order of their ends.
    pub fn captures(&self) -> Result<Vec<Capture>> {
        let text = self.text(CAPTURES)?;
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().with_context(|| format!("read {CAPTURES}"))
    }

    /// The program that was run under this name.
    pub fn capture(&self, name: &str) -> Result<Capture> {
        let mut captures = self.captures()?.into_iter();
        captures
            .find(|capture| capture.name == name)
            .with_context(|| format!("no capture `{name}`"))
    }

    /// The program that was run under this name, whose figure stands in [`Raw::captures`] itself:
    /// its time or its exit code.
    pub fn capture_itself(&self, name: &str) -> Result<Capture> {
        self.capture(name).map(|capture| Capture { output: CAPTURES.to_owned(), ..capture })
    }

    /// The text of a file in the folder.
    pub fn text(&self, file: &str) -> Result<String> {
        let path = self.folder.join(file);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    }

    /// The lines of JSON that were printed under this name, by a program that ended well; at least
    /// one.
    pub fn lines<T: DeserializeOwned>(&self, name: &str) -> Result<(Capture, Vec<T>)> {
        let capture = self.capture(name)?;
        capture.expect_status(0)?;
        let text = self.text(&capture.output)?;
        // A step of `cargo xtask` prints other lines, too.
        let lines = text.lines().filter(|line| line.starts_with('{')).map(serde_json::from_str);
        let lines: Vec<T> =
            lines.collect::<Result<_, _>>().with_context(|| format!("read {}", capture.output))?;
        ensure!(!lines.is_empty(), "{} has no lines", capture.output);
        Ok((capture, lines))
    }

    /// The bytes of a file in the folder.
    pub fn bytes(&self, file: &str) -> Result<Vec<u8>> {
        let path = self.folder.join(file);
        fs::read(&path).with_context(|| format!("read {}", path.display()))
    }

    /// A run record in the folder: its `run.json`, or a copy of one.
    pub fn record(&self, file: &str) -> Result<RunRecord> {
        RunRecord::from_json(&self.bytes(file)?).with_context(|| format!("read {file}"))
    }

    /// A file in the folder as JSON.
    pub fn json(&self, file: &str) -> Result<Value> {
        serde_json::from_str(&self.text(file)?).with_context(|| format!("read {file} as JSON"))
    }

    /// A number in a file of JSON, by its pointer (RFC 6901): `/steps/0/stutter_seconds_per_gb`.
    pub fn number(&self, file: &str, pointer: &str) -> Result<f64> {
        let value = self.json(file)?;
        let found = value.pointer(pointer).with_context(|| format!("{file} has no {pointer}"))?;
        found.as_f64().with_context(|| format!("{pointer} in {file} is no number: {found}"))
    }
}

/// A span in seconds, to a millisecond.
fn milliseconds(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests;
