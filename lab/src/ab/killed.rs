//! `trimbench run ab` is killed at a random moment, and `trimbench restore` makes good what was
//! left.

use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tests::LoopFilesystem;
use tests::Need::{Filesystem, Loop, Program, Root};
use tests::program::BuiltProgram;
use trimbench_claim::mounts::mount_of;

use crate::attempts::Attempts;
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "killed",
    title: "After SIGKILL of `trimbench run ab` at a random moment, `trimbench restore` leaves the \
            mount as it was",
    needs: &[
        Root,
        Loop,
        Filesystem("ext4"),
        Filesystem("btrfs"),
        Program("mkfs.ext4"),
        Program("mkfs.btrfs"),
    ],
    sources: super::SOURCES,
    run,
};

/// Kills in the short form and in full.
const KILLS: [u64; 2] = [10, 200];
/// Type, and options that a careless remount would change.
const FILESYSTEMS: [(&str, &str); 2] = [
    ("ext4", "nodiscard,lazytime,noatime,commit=17"),
    ("btrfs", "nodiscard,noatime,flushoncommit"),
];
const MEBIBYTES: u64 = 512;
const SETTINGS: [&str; 6] =
    ["deletes=8MiB", "span=16MiB", "arms=discard", "window=200ms", "rest=0s", "lead=10ms"];
/// A kill comes within this of the start, in ms: in the preparation, or in one of the first visits.
const WITHIN_MS: u64 = 12_000;

/// What a kill came to.
struct MountKill {
    /// The option in force was not the one of before.
    was_switched: bool,
    /// All options are as before.
    is_as_before: bool,
    /// `trimbench restore` ended well.
    is_restored: bool,
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let program = lab.program()?.clone();
    let made = FILESYSTEMS
        .map(|(kind, options)| Mutex::new(LoopFilesystem::new(kind, MEBIBYTES, options)));
    let count = lab.form(KILLS[0], KILLS[1]);
    let workers = made.len();
    let attempts = Attempts { name: "killed ab", count, workers, deadline: lab.deadline() };
    let kills = attempts.make(|_, number| {
        let which = usize::try_from(number).context("it is small")? % made.len();
        let filesystem = made[which].lock().unwrap_or_else(PoisonError::into_inner);
        let after = attempts.random(number).below(WITHIN_MS);
        kill(&program, &filesystem, (number, Duration::from_millis(after)))
    })?;
    let number =
        |holds: fn(&MountKill) -> bool| kills.iter().filter(|kill| holds(kill)).count() as f64;
    let all = Bar::Equals(kills.len() as f64);
    let note = format!("{} came while the mount was switched", number(|it| it.was_switched));
    let figure = |what: &str, good| Figure::new(what, (good, ""), all);
    Ok(vec![
        figure("kills at random moments", kills.len() as f64).with_note(note),
        figure("`trimbench restore` ends well", number(|it| it.is_restored)),
        figure("all options of the mount as before", number(|it| it.is_as_before)),
    ])
}

/// Starts a run, kills it after so long, and has it put right.
fn kill(
    program: &BuiltProgram,
    filesystem: &LoopFilesystem,
    (seed, after): (u64, Duration),
) -> Result<MountKill> {
    let options = || anyhow::Ok(mount_of(filesystem.path())?.options);
    let before = options()?;
    let folder = tempfile::tempdir_in("/dev/shm").context("make a folder in /dev/shm")?;
    let target = filesystem.path().to_str().context("a name in ASCII")?;
    let place = folder.path().join("run");
    let mut command = program.run_command("ab", (target, &SETTINGS), &place);
    // The seed draws which arm is visited first.
    command
        .args(["--switch-mount", "--seed", &seed.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut child = command.stderr(Stdio::null()).spawn().context("start `trimbench run ab`")?;
    thread::sleep(after);
    child.kill()?;
    child.wait()?;
    let was_switched = options()? != before;
    let restored = program.call(&mut program.command(&["restore"]))?;
    Ok(MountKill {
        was_switched,
        is_as_before: options()? == before,
        is_restored: restored.status == Some(0),
    })
}
