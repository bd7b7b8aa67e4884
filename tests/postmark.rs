//! `PostMark`, ours and Debian's, with the same parameters in the same directory.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::program::{BuiltProgram, Output, Run};

/// Parameters: what differs from the program's own, as options of the method `postmark`.
#[derive(Clone, Copy, Debug)]
pub struct PostmarkSet(pub &'static [(&'static str, &'static str)]);

/// The method's options under the names of PostMark's `set`, with the program's own values. Both
/// sizes are of one line there.
const NAMES: [(&str, &str, &str); 10] = [
    ("number", "number", "500"),
    ("transactions", "transactions", "500"),
    ("size-low", "", "500B"),
    ("size-high", "", "10000B"),
    ("subdirectories", "subdirectories", "0"),
    ("read-block", "read", "512B"),
    ("write-block", "write", "512B"),
    ("bias-read", "bias read", "5"),
    ("bias-create", "bias create", "5"),
    ("buffering", "buffering", "true"),
];

impl PostmarkSet {
    /// Ours, one repetition. That the page cache had the files makes the run invalid as a
    /// measurement of TRIM, and is no matter here.
    pub fn run_ours(&self, program: &BuiltProgram, directory: &Path) -> Result<Run> {
        let folder = tempfile::tempdir().context("make a folder for the record")?;
        self.run_ours_into(program, directory, &folder.path().join("run"))
    }

    /// The same, with its record in `folder`.
    pub fn run_ours_into(
        &self,
        program: &BuiltProgram,
        directory: &Path,
        folder: &Path,
    ) -> Result<Run> {
        let target = directory.to_str().context("the directory has a plain name")?;
        // Debian's has all memory, too.
        let mut options = vec!["repetitions=1".to_owned(), "memory=none".to_owned()];
        options.extend(NAMES.map(|(key, ..)| format!("{key}={}", self.value(key))));
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let mut command = program.run_command("postmark", (target, &options), folder);
        let output = program.call(&mut command)?;
        ensure!(matches!(output.status, Some(0 | 4)), "{}", output.complaint());
        Run::read(output, folder)
    }

    /// Debian's.
    pub fn run_debians(&self, program: &BuiltProgram, directory: &Path) -> Result<Output> {
        self.run_script(program, directory, "run\n")
    }

    /// Debian's, which reads its parameters and ends: what a run of it takes beside the files.
    pub fn run_idle(&self, program: &BuiltProgram, directory: &Path) -> Result<Output> {
        self.run_script(program, directory, "")
    }

    fn run_script(&self, program: &BuiltProgram, directory: &Path, run: &str) -> Result<Output> {
        let bytes = |key: &str| self.value(key).trim_end_matches('B');
        let mut text = String::new();
        for (key, name, _) in NAMES.iter().filter(|(_, name, _)| !name.is_empty()) {
            writeln!(text, "set {name} {}", bytes(key))?;
        }
        writeln!(text, "set size {} {}", bytes("size-low"), bytes("size-high"))?;
        writeln!(text, "set location {}\nset report terse\n{run}quit", directory.display())?;
        let file = tempfile::NamedTempFile::new().context("make a file of parameters")?;
        fs::write(&file, text).context("write parameters")?;
        program.call_well(Command::new("postmark").arg(file.path()))
    }

    fn value(&self, wanted: &str) -> &'static str {
        let own = NAMES.iter().find(|(key, ..)| *key == wanted).map(|(_, _, own)| *own);
        let given = self.0.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
        given.or(own).expect("a parameter of PostMark")
    }
}
