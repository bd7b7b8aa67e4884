//! Attempts to make the program destroy, lose or misstate something: each sets up a trap on images,
//! loop devices, mounts and namespaces of its own, runs the program, and looks at what was lost.
//!
//! The files are sorted by what goes wrong.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

/// The rest of a test has the machine's loop devices, mounts and tracefs `alone` or `beside`
/// others; it is skipped where the machine lacks something.
macro_rules! machine {
    ($lock:ident, $needs:expr) => {
        fn here() {}
        let lock = tests::machine::$lock;
        let Some(_machine) = crate::machine(std::any::type_name_of_val(&here), $needs, lock) else {
            return;
        };
    };
}

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

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use tests::Need;
use tests::machine::MachineLock;

/// The program under attack.
const PROGRAM: &str = env!("CARGO_BIN_EXE_trimbench");
/// An emulated drive for [`quick`] runs.
const DRIVE: &str = "sim:vendor2,capacity=1GiB";

/// The machine where it has all this: for [`machine!`], which names a function within the test.
fn machine(within: &str, needs: &[Need], lock: fn() -> MachineLock) -> Option<MachineLock> {
    let test = within.split_once("::").and_then(|(_, path)| path.rsplit_once("::"));
    let (test, _) = test.expect("a test is in a module");
    tests::requires(test, needs).then(lock)
}

/// The program with these arguments, in `folder`.
fn command(folder: &Path, arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(folder);
    // Other load is there: other tests.
    let is_run = arguments.first().is_some_and(|first| first.as_ref() == "run");
    command.args(is_run.then_some(["--quiet-wait", "0s"]).into_iter().flatten());
    command.env_remove("NO_COLOR").env("LC_ALL", "C.UTF-8");
    command
}

/// Runs it to its end.
fn trimbench(folder: &Path, arguments: &[impl AsRef<OsStr>]) -> Output {
    command(folder, arguments).output().expect("the program was built")
}

/// The arguments of a session of some 20 steps that takes a tenth of a second and touches 5 MiB.
fn quick<T: AsRef<OsStr>>(more: &[T]) -> Vec<&OsStr> {
    let line = "run trim-integrity --no-report --set region=4MiB --set guard=512KiB";
    line.split(' ').map(OsStr::new).chain(more.iter().map(AsRef::as_ref)).collect()
}

/// Runs a method that overwrites the first megabytes of the target at once.
fn overwrite(target: &Path, destroy: &Path) -> Output {
    trimbench(tests::scratch().path(), &quick(&overwriting(target, destroy)))
}

fn overwriting<'a>(target: &'a Path, destroy: &'a Path) -> [&'a OsStr; 6] {
    let [option, consent, output, run] =
        ["--target", "--destroy", "--output", "run"].map(OsStr::new);
    [option, target.as_os_str(), consent, destroy.as_os_str(), output, run]
}

/// What the program printed to stderr, for messages.
fn complaint(output: &Output) -> String {
    format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
}

/// That it ended with this code.
#[track_caller]
fn ended(output: &Output, code: i32) {
    assert!(output.status.code() == Some(code), "{}", complaint(output));
}

/// That it measured something to the end, valid or not.
#[track_caller]
fn measured(output: &Output) {
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", complaint(output));
}

/// That these words are in what it said.
#[track_caller]
fn says(output: &Output, words: &str) {
    let said = complaint(output);
    assert!(said.contains(words), "not `{words}`: {said}");
}

/// That it ended as refusals do, and said why.
#[track_caller]
fn refused(output: &Output, why: &str) {
    ended(output, 3);
    says(output, why);
}

/// A folder, by its whole name.
fn folder() -> (TempDir, PathBuf) {
    let folder = tests::scratch();
    let path = folder.path().canonicalize().expect("it is there");
    (folder, path)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary names are ASCII")
}
