//! The server is killed under a mounted filesystem that is written to.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ::tests::Need::{Filesystem, Fuse, Loop, Program, Root};
use ::tests::{Mounted, is_mounted};
use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use trimbench_core::rng::Rng;
use xtask::process;

use super::SOURCES;
use crate::detached::DetachedDrive;
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "kills",
    title: "After SIGKILL of the server its filesystem is unmounted at once, and nothing is left",
    needs: &[Root, Loop, Fuse, Filesystem("ext4"), Program("mkfs.ext4")],
    sources: SOURCES,
    run,
};

/// Kills, in the short form and in full.
const KILLS: [u64; 2] = [10, 500];
const PROFILES: [&str; 3] = ["generic-nvme-tlc", "generic-sata-tlc", "vendor2"];
/// The server is killed within so many ms of the first write.
const WITHIN_MS: u64 = 500;
/// The most that an unmount may take, s.
const UNMOUNT_MAX: f64 = 1.0;
/// What goes with its last user has gone after so long.
const PATIENCE: Duration = Duration::from_secs(2);
/// Threads that write.
const WRITERS: u32 = 2;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let count = lab.form(KILLS[0], KILLS[1]);
    let (mut longest, mut longest_stop): (f64, f64) = (0.0, 0.0);
    let (mut left, mut before) = (Vec::new(), None::<PathBuf>);
    for number in 0..count {
        ensure!(!process::interrupted(), "interrupted after {number} kills");
        let profile = PROFILES[usize::try_from(number % 3).expect("it is small")];
        let served = start(lab, profile)?;
        // This was the next start after the kill before.
        left.extend(before.take().and_then(|socket| left_socket(&socket)));
        let killed = kill(&served, lab, &mut Rng::new(1).split(&format!("kill {number}")))?;
        longest = longest.max(killed.unmount.as_secs_f64());
        longest_stop = longest_stop.max(killed.stop.as_secs_f64());
        left.extend(killed.left);
        before = Some(served.socket().to_owned());
    }
    let last = start(lab, PROFILES[0])?;
    left.extend(before.and_then(|socket| left_socket(&socket)));
    drop(last);
    let note = format!(
        "{count} kills; the writers ended at most {longest_stop:.2} s after the kill that they saw"
    );
    Ok(vec![
        Figure::new("the longest unmount", (longest, "s"), Bar::AtMost(UNMOUNT_MAX))
            .with_note(note),
        Figure::new("mounts, devices, sockets left", (left.len() as f64, ""), Bar::Equals(0.0))
            .with_note(left.join("; ")),
    ])
}

fn start<'a>(lab: &'a Lab<'a>, profile: &str) -> Result<DetachedDrive<'a>> {
    DetachedDrive::start(lab, &[profile, "--capacity", "1GiB"])
}

/// The socket of a killed server, if it is still there.
fn left_socket(socket: &Path) -> Option<String> {
    socket.exists().then(|| socket.display().to_string())
}

/// What came of a kill.
struct Killed {
    /// From the kill until nobody wrote any more.
    stop: Duration,
    unmount: Duration,
    left: Vec<String>,
}

/// Kills its server while a filesystem on it is written to, and unmounts that.
fn kill(drive: &DetachedDrive<'_>, lab: &Lab<'_>, rng: &mut Rng) -> Result<Killed> {
    let node = drive.node().to_str().context("a device has a name")?;
    process::run_well(Command::new("mkfs.ext4").args(["-q", node]), Some(lab.deadline()))?;
    let folder = tempfile::tempdir_in(lab.folder())?;
    let mounted = Mounted::new(&["-o", "discard", node], folder.path());
    let after = Duration::from_millis(rng.below(WITHIN_MS));
    let stop = thread::scope(|scope| {
        for number in 0..WRITERS {
            let folder = folder.path();
            scope.spawn(move || write_until_it_fails(folder, number));
        }
        thread::sleep(after);
        kill_process(drive.process(), Signal::KILL).context("kill the server")?;
        anyhow::Ok(Instant::now())
    });
    let stop = stop?.elapsed();
    let begun = Instant::now();
    let is_unmounted = process::quietly(Command::new("umount").arg(folder.path()));
    let unmount = begun.elapsed();
    let mut left = Vec::new();
    if !is_unmounted || is_mounted(folder.path()) {
        left.push(format!("a mount of {node}"));
    }
    drop(mounted);
    let name = drive.node().file_name().context("a device has a name")?.to_string_lossy();
    let below = PathBuf::from(format!("/sys/block/{name}/loop/backing_file"));
    let begun = Instant::now();
    let is_there = || below.exists() || is_alive(drive.process());
    while is_there() && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(10));
    }
    if is_there() {
        left.push(format!("{node} or its process"));
    }
    Ok(Killed { stop, unmount, left })
}

/// Writes files, makes them durable and deletes every other one, until something fails.
fn write_until_it_fails(folder: &Path, writer: u32) {
    let data = vec![u8::try_from(writer).unwrap_or(0) + 1; 256 << 10];
    let write = |path: &Path| {
        let mut file = fs::File::create(path)?;
        file.write_all(&data)?;
        file.sync_all()
    };
    for number in 0_u64.. {
        let path = |number: u64| folder.join(format!("{writer}-{}", number % 64));
        if write(&path(number)).is_err() {
            return;
        }
        // The first ones are written again before they are deleted.
        let _ = fs::remove_file(path(number / 2));
    }
}

/// Whether the process is there, and not only its number.
fn is_alive(process: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
