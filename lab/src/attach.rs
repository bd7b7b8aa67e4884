//! The emulated drive as a block device: whether the model does what it does in virtual time, and
//! how late its answers are.

mod exact;
mod lateness;
mod speed;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;
use trimbench_attach::{Attachment, InitialState};
use trimbench_core::Bytes;
use trimbench_ssd::{Profile, SsdConfig};

use crate::entry::Subject;
use crate::fio::only_job;
use crate::lab::Lab;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "attach",
    title: "The emulated drive as a block device, against itself in virtual time",
    entries: &[exact::ENTRY, lateness::ENTRY, speed::ENTRY],
};

/// Crates whose code decides what an attached drive does.
const SOURCES: &[&str] =
    &["crates/trimbench-core", "crates/trimbench-ssd", "crates/trimbench-attach", "profiles"];
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

/// The only job of fio on a device, with these arguments.
fn fio(lab: &Lab<'_>, device: &Path, arguments: &[&str]) -> Result<Value> {
    let mut fio = Command::new("fio");
    fio.args(["--name=job", "--direct=1", "--ioengine=io_uring", "--output-format=json"]);
    fio.arg(format!("--filename={}", device.display())).args(arguments);
    let output = lab.call_well(fio.current_dir(lab.folder()))?;
    only_job(&output.stdout).with_context(|| format!("read what `{}` printed", output.command))
}
