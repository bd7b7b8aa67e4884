//! Attempts to make the program destroy, lose or misstate something: each sets up a trap on images,
//! loop devices, mounts and namespaces of its own, runs the program, and says what was lost.
//!
//! [`attacks`] is the table. A row knows the program only by its path, so that a binary of an
//! earlier commit can be held against the same rows (`cargo xtask evidence safe.1`): there it must
//! tell of a loss, with the program of this commit it must not.
//!
//! The rows are sorted by what goes wrong, one file for each item of the list that they came from.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::Need;

mod converted;
mod facts;
mod inodes;
mod leftovers;
mod made;
mod numbers;
mod outputs;
mod printed;
mod recorded;
mod replaced;
mod reserve;
mod running;
mod runs;
mod text;
mod unreadable;

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Its name: a sentence about what must not happen, in `snake_case`.
    pub name: &'static str,
    /// What the machine must have.
    pub needs: &'static [Need],
    /// Sets the trap, runs the program and looks at what came of it.
    ///
    /// # Errors
    /// What was destroyed, lost or misstated, in words.
    ///
    /// # Panics
    /// If the trap could not be set: the row then says nothing about the program.
    pub run: fn(&Tool) -> Result<(), String>,
}

/// The program under attack.
#[derive(Clone, Debug)]
pub struct Tool {
    program: PathBuf,
}

/// Every row.
pub fn attacks() -> impl Iterator<Item = Attack> {
    let files = [
        unreadable::ATTACKS,
        outputs::ATTACKS,
        replaced::ATTACKS,
        converted::ATTACKS,
        made::ATTACKS,
        inodes::ATTACKS,
        facts::ATTACKS,
        printed::ATTACKS,
        recorded::ATTACKS,
        reserve::ATTACKS,
        leftovers::ATTACKS,
        text::ATTACKS,
        numbers::ATTACKS,
    ];
    files.into_iter().flatten().copied()
}

impl Tool {
    /// The program at `program`.
    pub fn new(program: &Path) -> Self {
        Self { program: program.to_owned() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// The program with these arguments, in `folder`.
    pub fn command(&self, folder: &Path, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(folder);
        // Other load is there: other tests.
        let is_run = arguments.first().is_some_and(|first| first.as_ref() == "run");
        command.args(is_run.then_some(["--quiet-wait", "0s"]).into_iter().flatten());
        command.env_remove("NO_COLOR").env("LC_ALL", "C.UTF-8");
        command
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn run(&self, folder: &Path, arguments: &[impl AsRef<OsStr>]) -> Output {
        self.command(folder, arguments).output().expect("the program was built")
    }
}

/// What the program printed to stderr, for messages.
pub fn complaint(output: &Output) -> String {
    format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
}

/// Which block of 4 KiB of the disk this block of the file is.
///
/// # Panics
/// If the file has nothing there, or there is no `filefrag`.
pub fn place_on_disk(path: &Path, block: u64) -> u64 {
    let table = crate::run("filefrag", &["-v", "-b4096", text(path)]);
    // `   0:        0..      15:      34816..     34831:     16:             last,eof`
    let extents = table.lines().filter_map(|line| {
        let mut numbers = line.split([':', '.', ' ']).filter_map(|word| word.parse::<u64>().ok());
        let [_, first, last, place] = std::array::from_fn(|_| numbers.next());
        Some((first?..=last?, place?))
    });
    let mut found = extents.filter(|(range, _)| range.contains(&block));
    let (range, place) = found.next().unwrap_or_else(|| panic!("no block {block} in {table}"));
    place + block - range.start()
}

/// A row.
const fn attack(
    name: &'static str,
    needs: &'static [Need],
    run: fn(&Tool) -> Result<(), String>,
) -> Attack {
    Attack { name, needs, run }
}

/// `Ok` if `holds`, else what was lost.
fn unless(holds: bool, lost: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(lost()) }
}

/// Runs a method that overwrites the first megabytes of the target at once.
fn overwrite(tool: &Tool, target: &Path, destroy: &Path) -> Output {
    let folder = crate::scratch();
    tool.run(folder.path(), &arguments(target, destroy))
}

fn arguments(target: &Path, destroy: &Path) -> Vec<String> {
    let line = "run trim-integrity --set region=4MiB --set guard=512KiB --no-report --output run";
    let named = ["--target", text(target), "--destroy", text(destroy)];
    line.split(' ').chain(named).map(str::to_owned).collect()
}

/// That it ended as refusals do, and said why.
fn refused(output: &Output, why: &str) -> Result<(), String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let right = output.status.code() == Some(3) && said.contains(why);
    unless(right, || format!("not refused with `{why}`: {}", complaint(output)))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary names are ASCII")
}
