//! The emulated drive as a block device: whether the model does what it does in virtual time, how
//! late its answers are, whether it holds what was written, and what it survives.

mod arrivals;
mod beside_discard;
mod direct;
mod exact;
mod hostile;
mod kills;
mod lateness;
mod speed;
mod speed_nbd;
mod verify;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use trimbench_attach::{Attachment, InitialState};
use trimbench_core::Bytes;
use trimbench_ssd::{Profile, SsdConfig};
use xtask::process;

use crate::entry::Subject;
use crate::fio::jobs;
use crate::lab::Lab;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "attach",
    title: "The emulated drive as a block device, against itself in virtual time",
    entries: &[
        exact::ENTRY,
        arrivals::ENTRY,
        lateness::ENTRY,
        beside_discard::ENTRY,
        speed::ENTRY,
        speed_nbd::ENTRY,
        verify::ENTRY,
        kills::ENTRY,
        hostile::ENTRY,
    ],
};

/// What decides what an attached drive does.
const SOURCES: &[&str] = &[
    "crates/trimbench-core",
    "crates/trimbench-ssd",
    "crates/trimbench-attach",
    "crates/trimbench-nbdkit",
    "crates/trimbench/src/attach.rs",
    "profiles",
];
const CAPACITY: Bytes = Bytes::gib(4);

/// The numbers of a profile, with a capacity that fits into memory.
fn config(profile: &str) -> Result<SsdConfig> {
    let profile = Profile::built_in(profile).with_context(|| format!("no profile {profile}"))?;
    Ok(SsdConfig { capacity: CAPACITY, ..profile.config })
}

/// The drive, each block of it written once.
fn filled(config: SsdConfig) -> Attachment {
    Attachment { state: InitialState::Filled, ..Attachment::new(config) }
}

/// The first job of fio on a device, with these arguments.
fn fio(lab: &Lab<'_>, device: &Path, arguments: &[&str]) -> Result<Value> {
    let mut fio = Command::new("fio");
    fio.args(["--output-format=json", "--direct=1", "--ioengine=io_uring"]);
    fio.arg(format!("--filename={}", device.display())).arg("--name=job").args(arguments);
    let output = lab.call_well(fio.current_dir(lab.folder()))?;
    let mut jobs = jobs(&output.stdout).with_context(|| format!("`{}`", output.command))?;
    ensure!(!jobs.is_empty(), "`{}` ran nothing", output.command);
    Ok(jobs.swap_remove(0))
}

/// The jobs of fio, of which there are so many, by what it printed.
fn jobs_of<const COUNT: usize>(printed: &str) -> Result<[Value; COUNT]> {
    let jobs = jobs(printed)?;
    let count = jobs.len();
    jobs.try_into().ok().with_context(|| format!("{count} jobs of fio, not {COUNT}"))
}

/// A profile with settings, as it is named on a command line.
fn with_settings(profile: &str, settings: &[(&str, &str)]) -> String {
    let settings = settings.iter().map(|(key, value)| format!(",{key}={value}"));
    profile.to_owned() + &settings.collect::<String>()
}

/// The release build of the plugin of nbdkit, brought up to date first.
pub(crate) fn plugin(lab: &Lab<'_>) -> Result<PathBuf> {
    let words = ["build", "--release", "--quiet", "--package", "trimbench-nbdkit"];
    let mut build = lab.repository().command("cargo", &words);
    process::run_well(&mut build, Some(lab.deadline()))?;
    let plugin = lab.repository().target().join("release/libtrimbench_nbdkit.so");
    ensure!(plugin.exists(), "the release build made no {}", plugin.display());
    Ok(plugin)
}
