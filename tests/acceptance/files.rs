//! Claims about files: PostMark on real directories, the published tables from fitted drives, the
//! modelled ext4 compared with the real one, deletions on newly made filesystems, the time after a
//! TRIM, stall attribution, the deletion storm of \[S3\], and trim policies.

pub(super) mod deletions;
pub(super) mod kernel;
pub(super) mod lines;
pub(super) mod policies;
pub(super) mod postmark;
pub(super) mod settle;
pub(super) mod stalls;
pub(super) mod table;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::Context;
use super::runs::UNLOOKED;

/// Parameters of PostMark: a name, and what differs from the program's own, as the options of the
/// method `postmark`.
#[derive(Clone, Copy, Debug)]
struct Set {
    name: &'static str,
    options: &'static [(&'static str, &'static str)],
}

/// The method's options under the names of PostMark's `set`, with the program's own values.
const NAMES: [(&str, &str, &str); 9] = [
    ("number", "number", "500"),
    ("transactions", "transactions", "500"),
    ("size-low", "", "500B"),
    ("size-high", "", "10000B"),
    ("subdirectories", "subdirectories", "0"),
    ("read-block", "read", "512B"),
    ("write-block", "write", "512B"),
    ("bias-read", "bias read", "5"),
    ("bias-create", "bias create", "5"),
];

impl Set {
    fn value(&self, key: &str) -> Option<&'static str> {
        self.options.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// Ours, `repetitions` times, with its record in the raw output.
    fn ours(&self, context: &Context<'_>, directory: &Path, repetitions: u32) -> Result<Command> {
        let mut command = context.trimbench(&["run", "postmark", "--target"])?;
        command.arg(directory).args(UNLOOKED);
        command.arg("--set").arg(format!("repetitions={repetitions}"));
        for (key, _, own) in NAMES {
            command.arg("--set").arg(format!("{key}={}", self.value(key).unwrap_or(own)));
        }
        command.arg("--set").arg(format!("buffering={}", self.buffering()));
        Ok(command)
    }

    /// Debian's, as a configuration file for it.
    fn peer(&self, context: &Context<'_>, directory: &Path) -> Result<Command> {
        self.script(context, directory, (self.name, "run\n"))
    }

    /// Debian's, which reads its parameters and ends: what a run of it takes beside the files.
    fn idle_peer(&self, context: &Context<'_>, directory: &Path) -> Result<Command> {
        self.script(context, directory, (&format!("{}-idle", self.name), ""))
    }

    fn script(
        &self,
        context: &Context<'_>,
        directory: &Path,
        (name, run): (&str, &str),
    ) -> Result<Command> {
        let mut text = String::new();
        let bytes = |value: &str| value.trim_end_matches('B').to_owned();
        for (key, name, own) in NAMES {
            let value = bytes(self.value(key).unwrap_or(own));
            if !name.is_empty() {
                writeln!(text, "set {name} {value}")?;
            }
        }
        let size = |key, own| bytes(self.value(key).unwrap_or(own));
        writeln!(text, "set size {} {}", size("size-low", "500B"), size("size-high", "10000B"))?;
        writeln!(text, "set buffering {}", self.buffering())?;
        writeln!(text, "set location {}\nset report terse\n{run}quit", directory.display())?;
        let file = context.folder().join(format!("{name}.pmrc"));
        fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
        let mut command = Command::new("postmark");
        command.arg(file);
        Ok(command)
    }

    fn buffering(&self) -> &'static str {
        self.value("buffering").unwrap_or("true")
    }
}

/// The terse line in what PostMark printed.
fn terse_line(printed: &str) -> Result<&str> {
    let is_terse = |line: &&str| {
        let fields = line.split_whitespace().map(str::parse::<f64>);
        fields.clone().count() == 13 && fields.into_iter().all(|field| field.is_ok())
    };
    printed.lines().rfind(is_terse).context("PostMark printed no terse line")
}

/// Its numbers.
fn numbers(line: &str) -> Result<[f64; 13]> {
    let fields: Vec<f64> =
        line.split_whitespace().map(str::parse).collect::<Result<_, _>>().context("a number")?;
    ensure!(fields.len() == 13, "{} numbers in `{line}`", fields.len());
    Ok(fields.try_into().expect("they were counted"))
}
