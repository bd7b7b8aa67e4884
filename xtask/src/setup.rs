//! Step `setup`: the programs that gated tests use, installed where possible, named where not.
//!
//! A missing program never fails this step: the tests that need it skip, by name and with the
//! reason, and `tests/allowed-skips.txt` decides whether that is acceptable.

mod guest;
mod python;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::ValueEnum;

use crate::{Repository, process};

pub use guest::{guest_file, guest_tree};

/// What can be set up for beyond the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Extra {
    /// `cargo xtask lab`: peers, a C compiler, what compiles the observer in the kernel
    Lab,
    /// `cargo xtask guest`, and tests in guests: an emulator and a sandbox; kernels and programs of
    /// administrators are unpacked in the target folder, not installed
    Guest,
}

/// A program, the Debian package that brings it, and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// Its name, or its absolute path.
    pub(crate) program: &'static str,
    /// The package's name.
    pub(crate) package: &'static str,
    /// The end of a sentence: needed for what.
    pub(crate) purpose: &'static str,
}

const FOR_TESTS: [Tool; 17] = [
    Tool { program: "mkfs.ext4", package: "e2fsprogs", purpose: "tests on ext4" },
    Tool { program: "mkfs.xfs", package: "xfsprogs", purpose: "tests on XFS" },
    Tool { program: "mkfs.btrfs", package: "btrfs-progs", purpose: "tests on btrfs" },
    Tool { program: "mount", package: "mount", purpose: "tests on mounted filesystems" },
    Tool { program: "losetup", package: "mount", purpose: "tests on loop devices" },
    Tool { program: "fstrim", package: "util-linux", purpose: "tests of FITRIM" },
    Tool { program: "udevadm", package: "udev", purpose: "the test of a rule that is advised" },
    Tool { program: "systemctl", package: "systemd", purpose: "the test of a timer, likewise" },
    Tool { program: "postmark", package: "postmark", purpose: "tests of PostMark: the peer" },
    Tool { program: "blkparse", package: "blktrace", purpose: "tests of traces: the peer" },
    Tool { program: "fio", package: "fio", purpose: "tests of traces, and `lab speed`: the peer" },
    Tool { program: "nbdkit", package: "nbdkit", purpose: "tests of emulated drives over NBD" },
    Tool { program: "nbdcopy", package: "libnbd-bin", purpose: "likewise: a client of theirs" },
    Tool { program: "qemu-img", package: "qemu-utils", purpose: "likewise: a client of theirs" },
    Tool { program: "blkid", package: "util-linux", purpose: "tests that look for signatures" },
    Tool { program: "chromium", package: "chromium", purpose: "tests of the HTML report" },
    Tool { program: "python3", package: "python3-venv", purpose: "tests of the HTML report" },
];
/// No program, but found as one: it is an absolute path.
const BPF_HEADER: &str = "/usr/include/bpf/bpf_helpers.h";
const FOR_LAB: [Tool; 4] = [
    Tool { program: "gcc", package: "gcc", purpose: "`lab speed`: the yardstick" },
    Tool { program: "clang", package: "clang", purpose: "`lab safety`: the observer" },
    Tool { program: BPF_HEADER, package: "libbpf-dev", purpose: "`lab safety`: the observer" },
    Tool { program: "addpart", package: "util-linux", purpose: "`lab safety`" },
];

const FOR_GUEST: [Tool; 2] = [
    Tool { program: "bwrap", package: "bubblewrap", purpose: "guests: the sandbox round them" },
    Tool { program: "qemu-system-x86_64", package: "qemu-system-x86", purpose: "guests" },
];

/// Administrators' programs are outside the search path of ordinary users in some distributions.
const ALSO_IN: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Installs what is missing, when root and apt-get are there; else says what is missing.
pub fn run(repository: &Repository, extra: Option<Extra>) -> Result<()> {
    let wanted = wanted(extra);
    let absent = install_missing(&wanted)?;
    for tool in &absent {
        println!("setup: missing: {tool}");
    }
    if absent.is_empty() {
        println!("setup: all {} programs are there", wanted.len());
    }
    if extra == Some(Extra::Guest)
        && let Err(error) = guest::unpack(repository)
    {
        println!("setup: missing: what guests consist of: {error:#}");
    }
    if let Err(error) = python::run(repository) {
        println!("setup: missing: nextest, and what drives Chromium: {error:#}");
    }
    Ok(())
}

/// Where nextest is, if it could be installed.
pub fn nextest(repository: &Repository) -> PathBuf {
    repository.target().join(python::ENVIRONMENT).join("bin/cargo-nextest")
}

/// Installs which of these are missing, where that is possible; describes what is missing then.
pub(crate) fn install_missing(wanted: &[Tool]) -> Result<Vec<String>> {
    let mut absent = missing(wanted, is_there);
    if !absent.is_empty() && can_install() {
        install(&packages(&absent))?;
        absent = missing(wanted, is_there);
    }
    Ok(absent.into_iter().map(describe).collect())
}

fn can_install() -> bool {
    rustix::process::geteuid().is_root() && is_there("apt-get")
}

fn wanted(extra: Option<Extra>) -> Vec<Tool> {
    let mut wanted = FOR_TESTS.to_vec();
    match extra {
        Some(Extra::Lab) => wanted.extend(FOR_LAB),
        Some(Extra::Guest) => wanted.extend(FOR_GUEST),
        None => {}
    }
    wanted
}

fn missing(wanted: &[Tool], is_there: impl Fn(&str) -> bool) -> Vec<Tool> {
    wanted.iter().copied().filter(|tool| !is_there(tool.program)).collect()
}

fn packages(tools: &[Tool]) -> Vec<&'static str> {
    let mut packages: Vec<_> = tools.iter().map(|tool| tool.package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn describe(tool: Tool) -> String {
    let Tool { program, package, purpose } = tool;
    format!("{program} (package {package}), for {purpose}")
}

/// Whether a program is in the search path or where administrators' programs are.
pub fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(ALSO_IN.iter().map(Into::into));
    folders.into_iter().any(|folder| is_file(&folder.join(program)))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}

/// A failed installation is reported and survived: what it leaves missing is named afterwards.
fn install(packages: &[&str]) -> Result<()> {
    println!("setup: apt-get installs {}", packages.join(", "));
    if !process::run(&mut apt(&[&["install"], packages].concat()), None)?.success() {
        // The package lists of a fresh machine are empty or old.
        process::run(&mut apt(&["update"]), None)?;
        process::run(&mut apt(&[&["install"], packages].concat()), None)?;
    }
    Ok(())
}

fn apt(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(["--quiet", "--quiet", "--yes", "--no-install-recommends"]).args(arguments);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

#[cfg(test)]
mod tests;
