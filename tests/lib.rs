//! Everything that tests trimbench beyond unit tests.
//!
//! - What a test requires of the machine ([`requires`]), loop devices and filesystems on them,
//!   disks that can be made slow ([`slow_disk`]), and the program as a process ([`program`]).
//! - A table of attempts ([`obstacles`]), random emulated drives ([`soak`]), and some that are
//!   trimmed by the law of `trimpace` ([`paced_drives`]).
//! - What filesystems send to a device whose discards take a known time, the kernel's and the
//!   modelled ones ([`discards`]).
//!
//! A test that cannot run says `SKIP name: reason` on stderr and returns; `xtask` compares the
//! skips with a reviewed list.

#![expect(clippy::print_stderr, reason = "tests report what they skip")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "child processes are timed by the wall clock; nothing here runs inside a simulation"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use trimbench_results::RunRecord;

pub mod blk_tracer;
pub mod client_drives;
mod control_group;
pub mod cut_filesystem;
pub mod discards;
pub mod durable_files;
pub mod expectation;
pub mod fuse_image;
pub mod killed_trims;
mod loops;
pub mod machine;
pub mod methods;
pub mod nbd;
pub mod obstacles;
pub mod operations;
pub mod paced_drives;
pub mod planted;
pub mod policies;
pub mod pools;
pub mod postmark;
pub mod program;
pub mod report_page;
pub mod s0;
pub mod slow_disk;
pub mod soak;
pub mod stalled;
pub mod superblocks;
pub mod theory;
mod tracefs;
pub mod tracepoints;
pub mod write_log;
pub mod writer;

pub use control_group::ControlGroup;
pub use loops::{LoopDevice, LoopFilesystem, Mounted, is_mounted, unmount};
pub use methods::{methods_in_directories, methods_on_drives, methods_on_files};
use xtask::process;

/// Something that not every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To be the superuser.
    Root,
    /// Loop devices that can be set up.
    Loop,
    /// A program on the search path.
    Program(&'static str),
    /// A type of filesystem that the kernel can mount.
    Filesystem(&'static str),
    /// Disks in memory (zram) that can be added: block devices that are no loop devices.
    RamDisk,
    /// FUSE filesystems that can be mounted.
    Fuse,
    /// Block tracepoints.
    Tracing,
    /// A kernel of this version or later.
    Linux(u32, u32),
    /// A running system whose root directory lies on a block device.
    RootDevice,
    /// A control group that limits the time of processors can be made.
    ProcessorQuota,
    /// A control group for requests of block devices can be made.
    RequestGroup,
    /// A control group that limits memory can be made.
    MemoryLimit,
    /// Chromium, and what drives it: [`browser_python`].
    Browser,
}

/// The record of the run in this folder, with the steps that were kept since it was written; `None`
/// where there is none that can be read.
pub fn kept_record(run: &Path) -> Option<RunRecord> {
    // Whoever opens a pipe waits for its other end.
    let read = |name: &str| {
        let path = run.join(name);
        let is_file = std::fs::symlink_metadata(&path).is_ok_and(|it| it.is_file());
        is_file.then(|| std::fs::read(path).ok()).flatten()
    };
    // In this order: the steps go once the record has them.
    let steps = read("steps.ndjson").unwrap_or_default();
    let mut record = RunRecord::from_json(&read("run.json")?).ok()?;
    record.add_kept(&steps);
    Some(record)
}

/// Whether the machine has all of `needs`; says what is missing.
pub fn requires(test: &str, needs: &[Need]) -> bool {
    let missing = missing(needs);
    if let Some(reason) = &missing {
        eprintln!("SKIP {test}: {reason}");
    }
    missing.is_none()
}

/// What the machine lacks of `needs`, first of all.
pub fn missing(needs: &[Need]) -> Option<String> {
    needs.iter().find_map(|need| need.missing())
}

impl Need {
    fn missing(self) -> Option<String> {
        match self {
            Self::Root => {
                let user = Command::new("id").arg("-u").output().ok()?;
                (user.stdout.trim_ascii() != b"0").then(|| "not root".to_owned())
            }
            Self::Loop => {
                let there = Path::new("/dev/loop-control").exists();
                let free = Command::new("losetup").arg("--find").output();
                let usable = there && free.is_ok_and(|output| output.status.success());
                (!usable).then(|| "no loop device".to_owned())
            }
            Self::Program(name) => {
                let there = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
                    .iter()
                    .any(|folder| Path::new(folder).join(name).exists());
                (!there).then(|| format!("no {name}"))
            }
            Self::RamDisk => {
                let there = Path::new("/sys/class/zram-control/hot_add").exists();
                (!there).then(|| "no zram".to_owned())
            }
            Self::Fuse => (!Path::new("/dev/fuse").exists()).then(|| "no FUSE".to_owned()),
            Self::Tracing => {
                let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
                let there = known.lines().any(|line| line == "nodev\ttracefs");
                (!there).then(|| "the kernel has no tracefs".to_owned())
            }
            Self::Linux(major, minor) => {
                let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
                let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
                let running = (parts.next()?.ok()?, parts.next()?.ok()?);
                (running < (major, minor)).then(|| format!("Linux is older than {major}.{minor}"))
            }
            Self::RootDevice => {
                let there = obstacles::root_device().is_some();
                (!there).then(|| "the root directory is not on a block device".to_owned())
            }
            Self::ProcessorQuota => {
                let reason = "no control group limits the time of processors";
                ControlGroup::of_processor(100).is_err().then(|| reason.to_owned())
            }
            Self::MemoryLimit => {
                let reason = "no control group limits memory";
                ControlGroup::of_memory(64).is_err().then(|| reason.to_owned())
            }
            Self::RequestGroup => {
                let reason = "no control group for requests of block devices";
                ControlGroup::of_requests().is_err().then(|| reason.to_owned())
            }
            Self::Browser => Self::Program("chromium").missing().or_else(|| {
                let reason = "nothing that drives Chromium: run `cargo xtask setup`";
                browser_python().is_none().then(|| reason.to_owned())
            }),
            Self::Filesystem(name) => {
                let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
                let there = known.lines().any(|line| line.split('\t').next_back() == Some(name));
                (!there).then(|| format!("the kernel has no {name}"))
            }
        }
    }
}

/// The interpreter of the environment that `cargo xtask setup` makes in the target folder, in which
/// the running test lies, too.
pub fn browser_python() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let python = program.ancestors().map(|folder| folder.join("python/bin/python"));
    python.into_iter().find(|python| python.exists())
}

/// The blocks of code in this language on a page of Markdown, in order.
pub fn code_blocks<'a>(page: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!("```{language}\n");
    let begins: Vec<_> = page.match_indices(&begin).map(|(at, _)| at + begin.len()).collect();
    begins.into_iter().filter_map(|at| Some(page[at..].split_once("```")?.0))
}

/// A folder for images: in memory, so that no disk is slow where none is meant to be.
///
/// # Panics
/// If there is no room for it.
pub fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").expect("/dev/shm is writable")
}

/// Runs a program and returns what it printed.
///
/// # Panics
/// If it fails.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?} failed: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Which block of 4 KiB of the disk this block of the file is.
///
/// # Panics
/// If the file has nothing there, or there is no `filefrag`.
pub fn place_on_disk(path: &Path, block: u64) -> u64 {
    let path = path.to_str().expect("temporary names are ASCII");
    let table = run("filefrag", &["-v", "-b4096", path]);
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
