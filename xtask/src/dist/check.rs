//! `dist --check`: a Debian that knows nothing of Rust gets the package and the archive.
//!
//! The root is a temporary folder, and what runs in it has mounts and processes of its own: when
//! that ends, however it ends, nothing is mounted and nothing runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::{PROGRAMS, Release, VERSION};
use crate::process::{output, run, run_well};
use crate::setup::{self, Tool};
use crate::steps::timed;

const TOOLS: [Tool; 2] = [
    Tool { program: "debootstrap", package: "debootstrap", purpose: "a fresh Debian" },
    Tool { program: "lintian", package: "lintian", purpose: "the rules of Debian packages" },
];
/// What shows man pages and completes command lines.
const INCLUDED: &str = "--include=man-db,bash-completion,zsh,fish";
const SCRIPT: &str = include_str!("fresh_debian.sh");
/// Runs whose records must have the same bytes, whatever built the program.
const RUNS: [&str; 2] = [
    "delete-stall trim-sweep idle-trim --target sim:generic-nvme-tlc,capacity=2GiB \
     --target sim:vendor2,capacity=2GiB",
    "delete-stall --target ext4:sim:generic-nvme-tlc,capacity=4GiB",
];

/// Whether all is well.
pub(super) fn check(release: &Release) -> Result<bool> {
    ensure!(rustix::process::geteuid().is_root(), "`dist --check` needs root: it makes a chroot");
    let missing = setup::install_missing(&TOOLS)?;
    ensure!(missing.is_empty(), "missing: {}", missing.join("; "));
    let names = [release.platform.package(), release.platform.archive() + ".tar.gz"];
    for name in &names {
        ensure!(release.folder.join(name).exists(), "no {name}: run `cargo xtask dist`");
    }
    let sums = ["--check", "--quiet", "SHA256SUMS"];
    run_well(Command::new("sha256sum").args(sums).current_dir(&release.folder), None)?;
    timed("release build", || build_release(release)).0?;
    let mut lintian = Command::new("lintian");
    lintian.args(["--fail-on", "error", "--show-overrides", "--allow-root", &names[0]]);
    let lintian = timed("lintian", || run_well(lintian.current_dir(&release.folder), None)).0;

    let root = tempfile::tempdir().context("make a folder for a fresh Debian")?;
    let root = root.path();
    timed("fresh Debian", || debootstrap(root)).0?;
    for name in &names {
        fs::copy(release.folder.join(name), root.join("tmp").join(name))?;
    }
    let used = timed("use", || Ok(run(&mut inside(root, &names), None)?.success())).0?;
    let same = timed("records", || records_are_same(release, root)).0?;
    Ok(lintian.is_ok() && used && same)
}

fn debootstrap(root: &Path) -> Result<()> {
    // The mirror that this machine has its packages from.
    let mut indices = Command::new("apt-get");
    indices.args(["indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"]);
    let indices = output(&mut indices)?;
    let mirror = indices.lines().find_map(|line| line.strip_prefix("Debian "));
    let mirror = mirror.context("apt has packages from no mirror of Debian")?;
    let mut command = Command::new("unshare");
    command.args(["--mount", "debootstrap", "--variant=minbase", INCLUDED, "stable"]);
    run_well(command.arg(root).arg(mirror).stdout(Stdio::null()), None).map(drop)
}

/// The script, in the root.
fn inside(root: &Path, names: &[String]) -> Command {
    let enter = "mount -t proc proc \"$0/proc\" && exec chroot \"$0\" bash -c \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter]).arg(root);
    command.args([SCRIPT, "fresh_debian.sh"]).args(names).arg(VERSION).args(RUNS);
    command.env_clear().env("PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin");
    command.envs([("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("MANWIDTH", "80")]);
    command
}

/// Builds what the records are compared with. The commit is part of a record.
fn build_release(release: &Release) -> Result<()> {
    let build = ["build", "--release", "--locked", "--package", "trimbench"];
    run_well(&mut release.repository.command("cargo", &build), None)?;
    let commit = |program: PathBuf| {
        let version = output(Command::new(program).arg("--version"))?;
        Ok::<_, anyhow::Error>(version.lines().nth(1).unwrap_or_default().to_owned())
    };
    let ours = commit(release_program(release))?;
    let theirs = commit(release.program(PROGRAMS[0], release.platform))?;
    ensure!(ours == theirs, "this is {ours}, the release is {theirs}: run `cargo xtask dist`");
    Ok(())
}

fn release_program(release: &Release) -> PathBuf {
    release.repository.target().join("release/trimbench")
}

/// Compares the records with those of the program of `cargo build --release`.
fn records_are_same(release: &Release, root: &Path) -> Result<bool> {
    let records = root.join("tmp/records");
    let mut all_same = true;
    for (number, arguments) in (1..).zip(RUNS) {
        let folder = records.join(format!("release-{number}"));
        let mut command = Command::new(release_program(release));
        command.arg("run").args(arguments.split_whitespace()).args(["--seed", "1", "--output"]);
        run_well(command.arg(&folder).stdout(Stdio::null()).stderr(Stdio::null()), None)?;
        let ours = fs::read(folder.join("run.json")).context("read a record")?;
        for name in ["package", "archive"] {
            let theirs = fs::read(records.join(format!("{name}-{number}/run.json")));
            let same = theirs.is_ok_and(|theirs| theirs == ours);
            let mark = if same { "ok     " } else { "FAILED " };
            println!("{mark} run.json of the {name}, as the release build: run {arguments}");
            all_same &= same;
        }
    }
    Ok(all_same)
}
