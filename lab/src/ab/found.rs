//! What `ab` says of ext4 on a disk whose discards take 20 ms, and on one where they cost nothing;
//! and of the same disks while they become slower.

use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tests::Need::{Filesystem, Loop, Program, Root};
use tests::program::{BuiltProgram, record};
use tests::slow_disk::{SlowDevice, SlowDisk};
use trimbench_core::exit;
use trimbench_results::{RunRecord, Session, Verdict};
use xtask::steps::Deadline;

use crate::attempts::Attempts;
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "found",
    title: "Discards of 20 ms each are found, and none that cost nothing, on a steady disk and on \
            one that becomes slower by 30 %",
    needs: &[Root, Loop, Filesystem("ext4"), Program("mkfs.ext4")],
    sources: super::SOURCES,
    run,
};

/// Runs of each kind in the short form and in full.
const RUNS: [u64; 2] = [1, 10];
/// Runs at a time, each on a disk of its own. One takes a tenth of a processor, and waits else.
const WORKERS: usize = 5;
/// A p99.9 takes 10,000 reads and writes a visit.
const SETTINGS: [&str; 8] = [
    "deletes=1GiB",
    "span=64MiB",
    "rate=2000",
    "window=5500ms",
    "rest=100ms",
    "lead=100ms",
    "fsync-interval=20ms",
    "blocks-max=9",
];
const MEBIBYTES: u64 = 2_560;
/// How long a discard stops the disk.
const COST: Duration = Duration::from_millis(20);
/// What each read and write takes at first, and by how much more in the end.
const SERVICE: Duration = Duration::from_micros(500);
const DRIFT: f64 = 0.3;
/// About how long a run takes, over which the disk drifts.
const RUN: Duration = Duration::from_secs(230);
const LOOK: Duration = Duration::from_millis(500);
/// Runs of ten that may tell of any difference where there is none: each does with 5 % at most.
const FALSE_MAX: f64 = 2.0;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let runs = lab.form(RUNS[0], RUNS[1]);
    let mut figures = Vec::new();
    for drift in lab.form(&[0.0][..], &[0.0, DRIFT][..]) {
        let on = if *drift > 0.0 { " while it becomes slower by 30 %" } else { "" };
        let costly = sessions(lab, runs, (COST, *drift))?;
        let found = costly.iter().filter(|session| differs(session)).count();
        let noticed = costly.iter().filter(|session| is_claimed(session)).count();
        let what = format!("discards of 20 ms each are found{on}");
        let note = format!("{noticed} say that they are noticed; {}", told(&costly));
        figures.push(count(&what, found, runs, Bar::Equals(runs as f64)).with_note(note));
        let free = sessions(lab, runs, (Duration::ZERO, *drift))?;
        let claimed = free.iter().filter(|session| is_claimed(session)).count();
        let what = format!("a noticeable difference is claimed where discards cost nothing{on}");
        figures.push(count(&what, claimed, runs, Bar::Equals(0.0)).with_note(told(&free)));
        let any = free.iter().filter(|session| differs(session)).count();
        let what = format!("any difference is claimed where discards cost nothing{on}");
        figures.push(count(&what, any, runs, Bar::AtMost(FALSE_MAX)));
    }
    Ok(figures)
}

fn count(what: &str, found: usize, runs: u64, bar: Bar) -> Figure {
    Figure::new(format!("{what}, of {runs} runs"), (found as f64, ""), bar)
}

/// The headlines, one after the other.
fn told(sessions: &[Session]) -> String {
    let shown = sessions.iter().filter_map(|it| Some(it.headline()?.shown().text()));
    format!("added to the p99.9: {}", shown.collect::<Vec<_>>().join("; "))
}

/// Whether a difference is said to be noticed.
fn is_claimed(session: &Session) -> bool {
    verdicts(session).any(|verdict| matches!(verdict, Verdict::MoreThanIsNoticed { .. }))
}

/// Whether any difference is told.
fn differs(session: &Session) -> bool {
    verdicts(session).any(|verdict| !matches!(verdict, Verdict::NoDifferenceFound { .. }))
}

fn verdicts(session: &Session) -> impl Iterator<Item = &Verdict> {
    session.figures.iter().filter_map(|figure| figure.verdict.as_ref())
}

fn sessions(lab: &Lab<'_>, count: u64, disk: (Duration, f64)) -> Result<Vec<Session>> {
    let (deadline, program) = (lab.deadline(), lab.program()?.clone());
    let attempts = Attempts { name: "runs of ab", count, workers: WORKERS, deadline };
    attempts.make(|_, number| {
        let memory = tempfile::tempdir_in("/dev/shm").context("make a folder in /dev/shm")?;
        session(&program, &memory.path().join("run"), (number + 1, deadline), disk)
    })
}

/// A run on a disk whose discards stop it for so long, and that becomes slower by this share.
fn session(
    program: &BuiltProgram,
    place: &Path,
    (seed, deadline): (u64, Deadline),
    (cost, drift): (Duration, f64),
) -> Result<Session> {
    let device = SlowDevice::stopped_by_discards(MEBIBYTES, cost);
    let disk = SlowDisk::on(device, "ext4", &["-q"], "nodiscard");
    disk.delay(SERVICE);
    let target = disk.path().to_str().context("a name in ASCII")?;
    let mut command = program.run_command("ab", (target, &SETTINGS), place);
    command.args(["--switch-mount", "--seed", &seed.to_string()]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.context("start `trimbench run ab`")?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if deadline.remaining().is_zero() {
            child.kill()?;
            child.wait()?;
            bail!("`trimbench run ab` did not end in time");
        }
        let share = (begun.elapsed().as_secs_f64() / RUN.as_secs_f64()).min(1.0);
        disk.delay(SERVICE.mul_f64(1.0 + drift * share));
        thread::sleep(LOOK);
    };
    // Another process may have had the processor; what is said is judged all the same.
    let ends = [exit::DONE, exit::INVALID].map(i32::from);
    if !status.code().is_some_and(|code| ends.contains(&code)) {
        bail!("`trimbench run ab` ended with {status}");
    }
    let RunRecord { mut sessions, .. } = record(place)?;
    sessions.pop().context("a record without a session")
}
