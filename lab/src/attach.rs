//! The emulated drive as a block device: whether the model does what it does in virtual time, and
//! how late its answers are.

mod exact;
mod lateness;
mod speed;

use anyhow::{Context as _, Result};
use trimbench_attach::{AttachedDrive, Attachment, InitialState};
use trimbench_core::Bytes;
use trimbench_core::fault::FaultPlan;
use trimbench_ssd::{Overreach, Profile, SsdConfig};

use crate::entry::Subject;

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
fn attach(config: SsdConfig, logs: bool) -> Result<AttachedDrive> {
    let attachment = Attachment {
        config,
        faults: FaultPlan::default(),
        overreach: Overreach::default(),
        backing: None,
        state: InitialState::Filled,
        slow_down: 1,
        logs,
    };
    Ok(AttachedDrive::attach(attachment)?)
}
